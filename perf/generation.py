"""What our generate job takes beyond a bare loop over the same engine, and whether the answers are the same.

    python perf/generation.py [--prompts 3000] [--rounds 3]

Writes perf/generation.json. vLLM on the CPU (`make setup-vllm`) with the tests' tiny model, raw prompts of
about 1,000 tokens whose neighbours share a prefix, 64 new tokens at most. The bare loop gets rendered prompts
in the same order and hands them to the engine at once. The job reads instance files, orders, renders, hashes,
journals every answer and writes the table. Both are whole processes, from the start of Python to the end of
the engine, a round of each after the other; the shortest of each counts. Target: at most 5% more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf", "tests/engines")]

import pyarrow as pa  # noqa: E402
from jobs import PYTHON, SCRIPTS, Job, environment  # noqa: E402

from machine import describe  # noqa: E402
from needlework.models.generation import InstanceRequests  # noqa: E402
from needlework.prompts.spans import Documents, Span, literal  # noqa: E402
from needlework.records import PASSAGES, instances_schema, write_table  # noqa: E402

NEW_TOKENS, DOCUMENTS, QUESTIONS = 64, 32, 6
ENGINE = {"dtype": "float32", "enforce_eager": True, "max_model_len": 2048, "seed": 0}
SAMPLING = {"temperature": 0.7, "top_k": 50, "top_p": 1.0, "seed": 0}

BARE = """
import json, sys, time
sys.path.append(sys.argv[1])
from vllm import EngineArgs, LLMEngine, SamplingParams
from vllm.inputs import tokens_input
from vllm.sampling_params import RequestOutputKind
from needlework.models.backends.base import sample_seed

if __name__ == "__main__":
    given = json.load(open(sys.argv[2]))
    engine = LLMEngine.from_engine_args(EngineArgs(**given["engine"]))
    tokenizer = engine.get_tokenizer()
    start = time.perf_counter()
    for n, prompt in enumerate(given["prompts"]):
        parameters = SamplingParams(
            temperature=given["temperature"], top_k=given["top_k"], top_p=given["top_p"],
            seed=sample_seed(given["seed"], prompt, 0), max_tokens=given["new_tokens"],
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        engine.add_request(str(n), tokens_input(tokenizer.encode(prompt)), parameters)
    found = {}
    while engine.has_unfinished_requests():
        for output in engine.step():
            found[int(output.request_id)] = output.outputs[0].text
    seconds = time.perf_counter() - start
    engine.engine_core.shutdown()
    with open(sys.argv[3], "w") as file:
        json.dump({"seconds": seconds, "texts": [found[n] for n in range(len(found))]}, file)
"""


def make(folder: Path, n: int) -> tuple[Path, Path, dict[str, str]]:
    """Instances, their corpus and its documents: every few questions share their documents."""
    texts = [
        f"House {i} was built in {1500 + i % 400}. Nobody lives there. It has {i % 9} passages. "
        for i in range(n // QUESTIONS * DOCUMENTS + DOCUMENTS)
    ]
    corpus = folder / "corpora/made/en.parquet"
    rows = [{"passage_id": str(i), "text": text} for i, text in enumerate(texts)]
    write_table(pa.Table.from_pylist(rows, schema=PASSAGES), corpus)
    instances = []
    # The questions on the same documents stand far from each other.
    for i in sorted(range(n), key=lambda i: i % QUESTIONS):
        first = i // QUESTIONS * DOCUMENTS
        shown = range(first, first + DOCUMENTS)
        spans = [Span("distractor", f"made/en/{d}", 0, len(texts[d])) for d in shown]
        spans.append(
            literal("question", f"Question: When was house {first + i % DOCUMENTS} built?")
        )
        instances.append(
            {
                "instance_id": f"{i:05}",
                "benchmark": "made",
                "task": "exact",
                "length": 512,
                "example_id": str(i),
                "prompt": [span._asdict() for span in spans],
                "references": ["1501"],
                "metric": "exact",
                "max_new_tokens": NEW_TOKENS,
                "n_tokens": 1000,
            }
        )
    file = folder / "instances.parquet"
    write_table(pa.Table.from_pylist(instances, schema=instances_schema({"length": "int32"})), file)
    return file, corpus, Documents.read({"made/en": str(corpus)})


def run_bare(folder: Path, model: Path, prompts: list[str]) -> dict[str, Any]:
    """Seconds of the whole process and of its loop, and the texts."""
    engine = {**ENGINE, "model": str(model), "enable_prefix_caching": True}
    # As the backend sets it, for the CPU's sake.
    engine["enable_chunked_prefill"] = False
    given = {"engine": engine, "prompts": prompts, "new_tokens": NEW_TOKENS, **SAMPLING}
    (folder / "bare.json").write_text(json.dumps(given), encoding="utf-8")
    (folder / "bare.py").write_text(BARE, encoding="utf-8")
    start = time.perf_counter()
    subprocess.run(
        [PYTHON, folder / "bare.py", SCRIPTS, folder / "bare.json", folder / "found.json"],
        env=environment(),
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - start
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return {"seconds": seconds, "loop": found["seconds"], "texts": found["texts"]}


def run_job(folder: Path, model: Path, corpus: Path, instances: Path) -> dict[str, Any]:
    """Seconds of the whole job, and the texts by instance."""
    entry = {
        "backend": "vllm",
        "name": str(model),
        "tokenizer": "words",
        "context": 2048,
        "chat": False,
        "sampling": SAMPLING,
        "engine": ENGINE,
        "lengths": [512],
    }
    start = time.perf_counter()
    with Job(folder, entry, corpus, instances) as job:
        said = job.finish(seconds=3600)
        seconds = time.perf_counter() - start
        if job.process.returncode:
            raise SystemExit(f"{said}\n{job.log()[-3000:]}")
        rows = job.table().to_pylist()
    return {"seconds": seconds, "texts": {row["instance_id"]: row["text"] for row in rows}}


def main() -> None:
    """Measure, print and write perf/generation.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perf-generation-") as name:
        folder = Path(name)
        maker = ROOT / "tests/engines/tiny_model.py"
        subprocess.run([PYTHON, maker, folder], check=True, capture_output=True)
        model = folder / "model"
        instances, corpus, documents = make(folder, options.prompts)
        requests = list(InstanceRequests([instances], documents))
        bare, jobs = [], []
        for n in range(options.rounds):
            bare.append(run_bare(folder, model, [request.prompt for request in requests]))
            jobs.append(run_job(folder / f"job-{n}", model, corpus, instances))
            print(f"bare {bare[-1]['seconds']:.1f} s, job {jobs[-1]['seconds']:.1f} s", flush=True)
    named = dict(zip((request.instance_id for request in requests), bare[0]["texts"], strict=True))
    same = sum(jobs[0]["texts"][name] == text for name, text in named.items())
    seconds = {
        what: min(run["seconds"] for run in runs) for what, runs in (("bare", bare), ("job", jobs))
    }
    result = {
        "prompts": options.prompts,
        "rounds": options.rounds,
        "bare_seconds": [round(run["seconds"], 1) for run in bare],
        "of_which_its_loop": [round(run["loop"], 1) for run in bare],
        "job_seconds": [round(run["seconds"], 1) for run in jobs],
        "overhead": round(seconds["job"] / seconds["bare"] - 1, 3),
        # What the whole job takes more, set against the loop alone.
        "overhead_of_the_loop": round(
            (seconds["job"] - seconds["bare"]) / min(run["loop"] for run in bare), 3
        ),
        # Batches differ, and with them the order of sums.
        "same_answers": f"{same} of {len(named)}",
        "limit": 0.05,
        "machine": describe(["pyarrow"]),
    }
    text = json.dumps(result, indent=1)
    (ROOT / "perf/generation.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
