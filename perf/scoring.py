"""Score a million answers of each benchmark: how fast, in what memory, and whether as formerly.

    python perf/scoring.py [--answers 1000000]

Answers are made up: half of them right, of the length of the papers' answers; ONERULER's give two scores
each, MLNeedle's have a translation each. Each benchmark is scored in a process of its own, reading included.
In the same run: the same files with the code of the commit `machine.FORMER`, whose scores must be the same.
Only a million answers are written to perf/scoring.json.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "perf"))

import machine  # noqa: E402

sys.path.insert(0, str(ROOT / "workflow/scripts"))

import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402

from needlework.benchmarks.benchmark import load_benchmark  # noqa: E402
from needlework.benchmarks.parts import load_part  # noqa: E402
from needlework.records import (  # noqa: E402
    GENERATIONS,
    TRANSLATIONS,
    file_digest,
    read_table,
    write_table,
)
from needlework.scoring.scores import (  # noqa: E402
    ANSWER_COLUMNS,
    TRANSLATION_COLUMNS,
    read_answers,
)

BENCHMARKS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "mlneedle": (["exact", "existence"], {"metric": "containment"}),
    "lost_in_the_middle": (["multi_document_qa", "key_value"], {}),
    "oneruler": (["niah_single", "niah_none", "cwe_easy", "niah_multikey"], {}),
}
QUESTIONS = 1000
LANGUAGES = ["en", "de", "fr", "zh"]
WORDS = [f"word{i}" for i in range(3000)]
ANSWER = (
    "The passages say that the town lies on the river {}, which flows to the sea. The answer is {}, and it "
    "was built in 1889 or so."
)


def references(task: str, draw: random.Random) -> list[str]:
    """Accepted answers of a task."""
    if task == "existence":
        return ["Yes"]
    if task == "niah_none":
        return ["none"]
    if task == "key_value":
        return [f"{draw.getrandbits(128):032x}"]
    if task.startswith("cwe"):
        return draw.sample(WORDS, 10)
    if task.startswith("niah"):
        return [str(draw.randrange(10**6, 10**7))]
    return [f"Gustave {draw.choice(WORDS)}", draw.choice(WORDS)]


def answer(task: str, accepted: list[str], draw: random.Random) -> str:
    """An answer to a task, right in half of the cases."""
    said = accepted if draw.random() < 0.5 else references(task, draw)
    if task.startswith("cwe"):
        listed = "\n".join(f"{i}. {word}" for i, word in enumerate(said, start=1))
        return f"<Answer> {listed} </Answer>"
    if task.startswith("niah"):
        return f"The special magic number in the text is {said[0]}. <Answer> {said[0]} </Answer>"
    return ANSWER.format(draw.randrange(9999), said[0])


def make(benchmark: str, n: int, folder: Path) -> None:
    """Write instances, answers and, where there are any, translations."""
    tasks, _ = BENCHMARKS[benchmark]
    factors = columns(benchmark)
    draw = random.Random(0)

    def factor(name: str, kind: str, i: int) -> Any:
        if name.endswith("lang"):
            return LANGUAGES[i % 4]
        return {"string": "none", "bool": bool(i & 1), "int32": i % 10, "double": i % 10 / 10}[kind]

    ids = [f"{i:064x}" for i in range(n)]
    own = [tasks[i % len(tasks)] for i in range(n)]
    # Each question comes at many places.
    questions = [references(tasks[i % len(tasks)], draw) for i in range(QUESTIONS * len(tasks))]
    accepted = [questions[i % len(questions)] for i in range(n)]
    instances = {
        "instance_id": ids,
        "task": own,
        "example_id": [f"{i // len(tasks) % QUESTIONS}" for i in range(n)],
        "references": accepted,
        **{name: [factor(name, kind, i) for i in range(n)] for name, kind in factors.items()},
    }
    kinds = {name: pa.type_for_alias(kind) for name, kind in factors.items()}
    schema = pa.schema(
        [
            (name, kinds.get(name, pa.list_(pa.string()) if name == "references" else pa.string()))
            for name in instances
        ]
    )
    write_table(pa.table(instances, schema=schema), folder / "instances.parquet")
    order = draw.sample(range(n), n)
    texts = [answer(own[i], accepted[i], draw) for i in order]
    answers = {
        "request_key": ids,
        "instance_id": [ids[i] for i in order],
        "sample": [0] * n,
        "text": texts,
        "finish_reason": ["stop"] * n,
        "prompt_tokens": [8000] * n,
        "cached_tokens": [0] * n,
        "completion_tokens": [30] * n,
        "reasoning_tokens": [None] * n,
        "error": [None] * n,
        "raw_text": [None] * n,
        "outcome": [None] * n,
        "remarks": [None] * n,
        "reasoning": [None] * n,
    }
    write_table(pa.table(answers, schema=GENERATIONS), folder / "generations.parquet")
    if benchmark == "mlneedle":
        translated = {
            **{name: answers[name] for name in ("instance_id", "sample")},
            "lang": ["de"] * n,
            # Formerly a verdict was read in the answer first: none has another translation.
            "text": [
                text if own[i] == "existence" else text.replace("answer", "reply")
                for i, text in zip(order, texts, strict=True)
            ],
        }
        write_table(pa.table(translated, schema=TRANSLATIONS), folder / "translations.parquet")


def columns(benchmark: str) -> dict[str, str]:
    """The factors' Arrow types."""
    return load_benchmark(benchmark).columns


def score(benchmark: str, folder: Path) -> dict[str, Any]:
    """Score the files of a folder, as the rule does; what it took."""
    scoring = load_part(benchmark, "scores")
    own = load_benchmark(benchmark)
    further = [name for name in own.scored_by if name not in own.columns]
    wanted = ["instance_id", "task", "example_id", "references", *own.columns]
    translations = folder / "translations.parquet"
    with machine.measured() as took:
        instances = read_table(folder / "instances.parquet", wanted).combine_chunks()
        for name in further:
            instances = instances.append_column(
                name, pa.nulls(len(instances), pa.list_(pa.string()))
            )
        scores = scoring.score(
            instances,
            read_answers(folder / "generations.parquet", ANSWER_COLUMNS, instances),
            read_answers(translations, TRANSLATION_COLUMNS, instances)
            if translations.exists()
            else None,
            model="model",
            settings=BENCHMARKS[benchmark][1],
        )
        write_table(scores, folder / "scores.parquet")
    # The former code knows neither careful verdicts nor the language of answers.
    beside = pc.equal(scores["metric"], "careful")
    new = [name for name in ("answered_in", "outcome") if name in scores.column_names]
    compared = scores.filter(pc.invert(beside)).drop_columns(new)
    write_table(compared, folder / "compared.parquet")
    return {**took, "scores": scores.num_rows, "digest": file_digest(folder / "compared.parquet")}


def main() -> None:
    """Measure, and write perf/scoring.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument(
        "--bare", nargs=2, metavar=("BENCHMARK", "FOLDER"), help="score what is there"
    )
    args = parser.parse_args()
    if args.bare:
        print(json.dumps(score(args.bare[0], Path(args.bare[1]))))
        return
    result: dict[str, Any] = {"answers": args.answers}
    for benchmark in BENCHMARKS:
        with tempfile.TemporaryDirectory() as folder:
            make(benchmark, args.answers, Path(folder))
            bare = [sys.executable, __file__, "--bare", benchmark, folder]
            made = json.loads(subprocess.run(bare, check=True, stdout=subprocess.PIPE).stdout)
            former = machine.former_way(__file__, benchmark, folder)
        if made.pop("digest") != former["digest"]:
            sys.exit(f"{benchmark}: the scores are others than the former ones")
        result[benchmark] = made | {
            "former_way_seconds": former["seconds"],
            "former_way_cpu_seconds": former["cpu_seconds"],
            "former_way_peak_mib": former["peak_mib"],
            "times_as_fast": round(former["seconds"] / made["seconds"], 1),
        }
    result |= {
        "limits": {"seconds": 30, "peak_mib": 1024},
        "machine": machine.describe(["pyarrow"]),
    }
    text = json.dumps(result, indent=1)
    if args.answers == 1_000_000:
        (ROOT / "perf/scoring.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
