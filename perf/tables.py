"""Make the numbers of all tables and figures of a million scores: how fast, in what memory.

    python perf/tables.py [--models N]

The prompts are those of the papers' full sets (MLNeedle's 67,900, Lost in the Middle's 100,960 of questions
and pairs, ONERULER's 36,400 with two scores each), the models as many as make a million scores, and the
values drawn, 0 or 1. For each benchmark one process reads the scores of all models and makes all numbers
that are made of scores, as the workflow's job does. `--models` takes fewer models, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "perf"), str(ROOT / "workflow/scripts")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import yaml  # noqa: E402

import machine  # noqa: E402
from needlework.benchmarks.benchmark import load_benchmark  # noqa: E402
from needlework.planning.config import validated  # noqa: E402
from needlework.planning.layout import Layout  # noqa: E402
from needlework.records import scores_schema, write_table  # noqa: E402
from needlework.results import published  # noqa: E402
from needlework.results.result import Context  # noqa: E402
from needlework.results.rows import result_rows  # noqa: E402

MODELS = {"mlneedle": 15, "lost_in_the_middle": 10, "oneruler": 14}
Prompt = dict[str, Any]


def mlneedle() -> Iterator[Prompt]:
    """Prompts of 100 questions in 7 languages: in 8 haystacks, at 3 positions and 4 lengths; and alone."""
    languages = ["en", "de", "es", "zh", "vi", "hi", "ar"]
    asked = {"question_lang": "en", "needle_present": True, "metric": "containment"}
    places = (("start", 0.0), ("middle", 0.5), ("end", 1.0))
    lengths = (4096, 8192, 16384, 32768)
    for needle, i in product(languages, range(100)):
        own = {**asked, "needle_lang": needle, "example_id": f"{i:03}"}
        none = {"position": "none", "depth": None, "length": 0, "retrieval": "none"}
        yield {**own, **none, "task": "closed_book", "haystack_lang": "none"}
        for haystack, (position, depth), length in product(
            [*languages, "multilingual"], places, lengths
        ):
            cell = {"position": position, "depth": depth, "length": length, "retrieval": "semantic"}
            yield {**own, **cell, "task": "exact", "haystack_lang": haystack}


def lost_in_the_middle() -> Iterator[Prompt]:
    """Prompts of 2,655 questions and 500 examples, at the paper's indices."""
    common = {"lang": "en", "answer_present": None, "unambiguous": None, "length": 0}
    ranked = {"distractors": "retrieved", "order": "relevance", "keys": "none"}
    alone = {"n_documents": 0, "gold_index": None, "distractors": "none", "order": "none"}
    qa = {**common, **ranked, "task": "multi_document_qa", "metric": "best_subspan_em"}
    places = [(10, (0, 4, 9)), (20, (0, 4, 9, 14, 19)), (30, (0, 4, 9, 14, 19, 24, 29))]
    ablations: list[Prompt] = [
        {"query_aware": True},
        {"order": "random"},
        {"distractors": "random"},
    ]
    for i in range(2655):
        own = {**qa, "example_id": f"{i:05}", "query_aware": False}
        yield {**own, **alone, "task": "closed_book"}
        yield {**own, "task": "oracle", "n_documents": 1, "gold_index": 0}
        for n, indices in places:
            for index in indices:
                yield {**own, "n_documents": n, "gold_index": index}
        for changed, index in product(ablations, places[1][1]):
            yield {**own, **changed, "n_documents": 20, "gold_index": index}
    pairs = {**common, **alone, "task": "key_value", "metric": "key_value_accuracy", "keys": "uuid"}
    sizes = [
        (75, (0, 24, 49, 74)),
        (140, (0, 34, 69, 104, 139)),
        (300, (0, 49, 99, 149, 199, 249, 299)),
    ]
    for i, aware, (n, indices) in product(range(500), (False, True), sizes):
        for index in indices:
            own = {"n_documents": n, "gold_index": index, "query_aware": aware}
            yield {**pairs, **own, "example_id": f"{n}-{i:04}"}


def oneruler() -> Iterator[Prompt]:
    """Prompts of 26 languages: 7 tasks, 50 examples at 4 lengths, by both metrics."""
    benchmark = load_benchmark("oneruler")
    languages = next(f for f in benchmark.factors if f.name == "instruction_lang").order
    tasks = {"niah_single": 1, "niah_multikey": 1, "niah_multivalue": 2, "niah_multiquery": 2}
    tasks |= {"niah_none": 0, "cwe_easy": 0, "cwe_hard": 0}
    for lang, task, length, i, metric in product(
        languages, tasks, (8000, 32000, 64000, 128000), range(50), ("strict", "released")
    ):
        yield {
            **{"task": task, "instruction_lang": lang, "context_lang": lang, "length": length},
            "none_option": task.startswith("niah") and task != "niah_single",
            **{"n_needles": tasks[task], "exhausted": False, "metric": metric},
            "example_id": f"{task}-{i:03}",
        }


PROMPTS = {f.__name__: f for f in (mlneedle, lost_in_the_middle, oneruler)}


def files(benchmark: str, models: int) -> Layout:
    """The paths and settings of a run of so many models."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    names = [f"model-{i:02}" for i in range(models)]
    config["models"] |= dict.fromkeys(names, config["models"]["lexical"])
    config["run"] = {"models": names, "benchmarks": [benchmark]}
    return Layout(validated(config))


def scores(benchmark: str, made: Layout) -> list[str]:
    """The score file of each model."""
    return [f"results/scores/{model}/{benchmark}.parquet" for model in made.config["run"]["models"]]


def make(benchmark: str, models: int, folder: Path) -> None:
    """Write the scores of each model."""
    schema = scores_schema(load_benchmark(benchmark).columns)
    prompts = list(PROMPTS[benchmark]())
    n, draw = len(prompts), np.random.default_rng(0)
    columns: dict[str, Any] = {
        name: [prompt.get(name) for prompt in prompts] for name in schema.names
    }
    columns |= {
        "instance_id": [f"{i:064x}" for i in range(n)],
        "sample": [0] * n,
        "finish_reason": ["stop"] * n,
        "completion_tokens": [30] * n,
    }
    made = files(benchmark, models)
    for path, model in zip(scores(benchmark, made), made.config["run"]["models"], strict=True):
        right = draw.random(n) < draw.random()
        columns |= {"model": [model] * n, "value": right.astype(float)}
        columns["verdict"] = np.where(right, "correct", "no_match").tolist()
        table = pa.table({name: columns[name] for name in schema.names}, schema=schema)
        write_table(table, folder / path)


def number(benchmark: str, models: int, folder: Path) -> dict[str, Any]:
    """Make all numbers of the scores, as the rule does; what it took."""
    made, own = files(benchmark, models), load_benchmark(benchmark)
    results = made.results_by_needs(benchmark)["scores"]
    with machine.measured() as took:
        printed = made.published(benchmark)
        context = Context(
            published.load(printed[0]) if printed else published.none(),
            made.run_settings(benchmark, "scores"),
        )
        files_of = [str(folder / path) for path in scores(benchmark, made)]
        rows = result_rows("scores", files_of, own.columns)
        for result in results:
            path = folder / f"{result.name}.csv"
            result(rows, context).to_csv(path, index=False)
    return {"scores": len(rows), "results": len(results), **took}


def main() -> None:
    """Measure, and write perf/tables.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=int)
    parser.add_argument("--bare", nargs=3, metavar=("BENCHMARK", "MODELS", "FOLDER"))
    args = parser.parse_args()
    if args.bare:
        print(json.dumps(number(args.bare[0], int(args.bare[1]), Path(args.bare[2]))))
        return
    result: dict[str, Any] = {"machine": machine.describe(["pandas", "pyarrow"])}
    for benchmark, papers in MODELS.items():
        models = args.models or papers
        with tempfile.TemporaryDirectory() as folder:
            make(benchmark, models, Path(folder))
            bare = [sys.executable, __file__, "--bare", benchmark, str(models), folder]
            made = subprocess.run(bare, check=True, stdout=subprocess.PIPE)
            result[benchmark] = json.loads(made.stdout)
    result["limits"] = {"seconds": 10}
    text = json.dumps(result, indent=1)
    if not args.models:
        (ROOT / "perf/tables.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
