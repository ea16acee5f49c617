"""Build the prompts of every setting of Lost in the Middle for one model: how fast, in what memory and bytes.

    python perf/lost_in_the_middle.py [--small]

2,655 questions among 10, 20 and 30 documents at every index of the paper, its ablations, the open-domain
case study, closed book and oracle, and 500 key-value examples of 75, 140 and 300 pairs at every index,
with and without the key before them; random distractors are passages of other questions. In two
processes, one slice at a time, as the workflow does. Questions are the released ones; documents and pairs
are stand-ins of the released size, made of the oracle file (`tests/lost_in_the_middle_data.py`), which is
taken from a mirror of the sources. Beside it, on some of the same prompts, what the naive way adds:
tokenizing every prompt as a whole; and in the same run the former way, with the code of that commit.
`--small` takes a tenth, to try the script.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("perf", "tests")]

import machine  # noqa: E402

sys.path.insert(0, str(ROOT / "workflow/scripts"))

import yaml  # noqa: E402

import lost_in_the_middle_data as data  # noqa: E402
from machine import describe, peak_memory_mib  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import corpus as nq_open  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import pairs_corpus as key_value  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import plan  # noqa: E402
from needlework.benchmarks.lost_in_the_middle import prompts as construct  # noqa: E402
from needlework.planning.config import validated  # noqa: E402
from needlework.prompts.spans import Documents, render  # noqa: E402
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer  # noqa: E402
from needlework.records import read_table, write_table  # noqa: E402

TEMPLATES = sorted(str(p) for p in (ROOT / "resources/prompts/lost_in_the_middle").glob("*.txt"))
PROCESSES = 2
# The naive way is measured on one prompt of so many.
NAIVE_EVERY = 200


def configuration(small: bool) -> dict:
    """The paper's settings, with random distractors from other questions."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["benchmarks"]["lost_in_the_middle"] = {
        "random_from": "other_questions",
        "examples": 50 if small else 500,
    }
    return validated(config)["benchmarks"]["lost_in_the_middle"]


def tokenizer(folder: Path) -> Tokenizer:
    """The paper's GPT-3.5-Turbo encoding; sums are kept in a folder."""
    config = {"kind": "tiktoken", "encoding": "cl100k_base"}
    return load_tokenizer("cl100k", config, machine.counting(folder))


def corpus(name: str, folder: Path) -> Path:
    """Where a corpus table is."""
    return folder / "corpora" / f"{name}.parquet"


CORPORA = {
    "nq_open": data.ORACLE,
    "nq_open_released": data.documents_path(30, 0),
    "nq_open_retrieved": data.RETRIEVAL,
    "nq_open_released_passages": data.documents_path(30, 0),
    "nq_open_retrieved_passages": data.RETRIEVAL,
    **{f"key_value_{n}": data.pairs_path(n) for n in plan.RELEASED_PAIRS},
}


def read_corpus(name: str, folder: Path) -> None:
    """Read a stand-in into a corpus table, as a job of the workflow does once."""
    module = key_value if name.startswith("key_value") else nq_open
    write_table(module.table(name, "en", [folder / CORPORA[name]], {}), corpus(name, folder))


def build(slice_settings: Mapping[str, Any], folder: Path) -> dict:
    """Build and write a slice; what it took, reading its tables included."""
    start = time.perf_counter()
    tables = {
        kind: {lang: read_table(corpus(table, folder)) for table, lang in wanted}
        for kind, wanted in plan.reads(slice_settings).items()
    }
    built = construct.build(slice_settings, tables, TEMPLATES, tokenizer(folder))
    path = folder / "instances" / f"{slice_settings['slice']}.parquet"
    write_table(built.instances, path, page_bytes=1 << 26)
    n_tokens = built.instances["n_tokens"].to_pylist()
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "prompts": len(n_tokens),
        "tokens": sum(n_tokens),
        "bytes": path.stat().st_size,
        "peak_mib": peak_memory_mib(),
    }


def naive(name: str, folder: Path, small: bool) -> dict:
    """Tokenize some prompts of a slice as a whole: seconds, tokens, and how many lengths differ."""
    slice_settings = plan.settings(configuration(small), name, [])
    documents = Documents()
    for wanted in plan.reads(slice_settings).values():
        for table, lang in wanted:
            documents.add(f"{table}/{lang}", read_table(corpus(table, folder)))
    rows = read_table(folder / "instances" / f"{name}.parquet", ["prompt", "n_tokens"])
    rows = rows.take(list(range(0, rows.num_rows, NAIVE_EVERY))).to_pylist()
    prompts = [render(row["prompt"], documents) for row in rows]
    count = tokenizer(folder).count
    start = time.perf_counter()
    found = [count(prompt) for prompt in prompts]
    return {
        "seconds": time.perf_counter() - start,
        "tokens": sum(found),
        "prompts": len(found),
        "wrong": sum(a != row["n_tokens"] for a, row in zip(found, rows, strict=True)),
    }


def texts(folder: Path, small: bool) -> Iterator[str]:
    """The texts of which the prompts are made: questions, documents and pairs."""
    own = configuration(small)
    tables = {
        table
        for name in plan.slices(own)
        for wanted in plan.reads(plan.settings(own, name, [])).values()
        for table, _ in wanted
    }
    for name in sorted(tables):
        table = read_table(corpus(name, folder))
        for column in {"text", "title", "question", "context"}.intersection(table.column_names):
            yield from table[column].to_pylist()


def in_two_processes(function, names: list[Any], *arguments: object) -> list[dict]:
    """`function` of each slice (its name or settings), in two processes that begin afresh with each."""
    with ProcessPoolExecutor(PROCESSES, max_tasks_per_child=1) as pool:
        return list(pool.map(function, names, *([argument] * len(names) for argument in arguments)))


def stand_ins(folder: Path, mirror: Path, small: bool) -> None:
    """Make the stand-ins of the released size, or a tenth of it."""
    if not mirror.is_dir():
        sys.exit(f"{mirror} is not there: this measurement needs a mirror of the sources.")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    cl100k = mirror.resolve() / "tokenizers/cl100k_base.tiktoken"
    (folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").symlink_to(cl100k)
    oracle = data.read(mirror / data.ORACLE)[: 266 if small else None]
    results = data.retrieval(oracle, 60, distinct=True)
    data.write(folder / data.ORACLE, oracle)
    data.write(folder / data.RETRIEVAL, results)
    data.write(folder / data.documents_path(30, 0), data.documents(results, 30, 0))
    for n in plan.RELEASED_PAIRS:
        data.write(folder / data.pairs_path(n), data.pairs(n, 50 if small else 500))


def full_set(folder: Path, small: bool) -> tuple[dict, dict[str, dict]]:
    """Read the corpora and build all slices; what they took together, and each slice."""
    own = configuration(small)
    # Jobs get these as parameters.
    names = {name: plan.settings(own, name, []) for name in plan.slices(own)}
    with machine.measured() as took:
        start = time.perf_counter()
        with ProcessPoolExecutor(PROCESSES) as pool:
            list(pool.map(read_corpus, CORPORA, [folder] * len(CORPORA)))
        reading = time.perf_counter() - start
        slices = in_two_processes(build, [*names.values()], folder)
    total = {key: sum(made[key] for made in slices) for key in slices[0]}
    made = {
        "questions": 266 if small else 2655,
        **took,
        "of_which_seconds_reading_corpora": round(reading, 1),
        "prompts": total["prompts"],
        "tokens": total["tokens"],
        "tokens_per_second": round(total["tokens"] / took["seconds"]),
        "peak_mib_a_process": round(max(made["peak_mib"] for made in slices)),
        "megabytes": round(total["bytes"] / 1e6, 1),
        "bytes_a_prompt": round(total["bytes"] / total["prompts"]),
    }
    return made, dict(zip(names, slices, strict=True))


def main() -> None:
    """Measure, and write perf/lost_in_the_middle.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth; writes nothing")
    parser.add_argument("--bare", action="store_true", help="the full set alone, by no other way")
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stand_ins(Path(folder), args.mirror, args.small)
        made, slices = full_set(Path(folder), args.small)
        if args.bare:
            print(json.dumps(made))
            return
        whole = in_two_processes(naive, list(slices), Path(folder), args.small)
        count = tokenizer(Path(folder)).count
        once = machine.counted_once(texts(Path(folder), args.small), count)
    small = ["--small"] if args.small else []
    former = machine.former_way(__file__, "--mirror", str(args.mirror.resolve()), *small)
    assert all(made[key] == former[key] for key in ("prompts", "tokens", "megabytes"))
    tokens, taken = (sum(one[key] for one in whole) for key in ("tokens", "seconds"))
    result = {
        "machine": describe(["pyarrow", "tiktoken"]),
        "processes": PROCESSES,
        **made,
        "former_way_seconds": former["seconds"],
        "former_way_cpu_seconds": former["cpu_seconds"],
        "former_way_seconds_reading_corpora": former["of_which_seconds_reading_corpora"],
        "times_as_fast": round(former["seconds"] / made["seconds"], 1),
        "limits": {"times_as_fast": 2, "gib": 4, "megabytes": 100},
        "bound": once,
        "slices": slices,
        "naive": {
            "prompts_measured": sum(one["prompts"] for one in whole),
            "lengths_that_differ": sum(one["wrong"] for one in whole),
            # Without reading, building and writing, which ours has.
            "seconds_of_tokenizing_alone": round(taken / tokens * made["tokens"] / PROCESSES, 1),
        },
    }
    text = json.dumps(result, indent=1)
    if not args.small:
        (ROOT / "perf/lost_in_the_middle.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
