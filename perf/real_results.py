"""The tables of docs/results.md, from a run of presets/smollm2.yaml.

python perf/real_results.py <folder of the run>     prints them in Markdown

Each number is the count of right answers of those given; what was skipped or failed is named. Intervals are
at 95% over questions, p is McNemar's exact test on questions that were asked on both sides.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.records import read_table  # noqa: E402
from needlework.results import cells, parts, stats  # noqa: E402

MODEL = "smollm2-135m"
SAME = ("example_id", "sample", "n_documents")


def main(folder: Path) -> None:
    """Print the tables of the benchmarks that the run has scores of."""
    for name, table in (("lost_in_the_middle", natural_questions), ("mlneedle", xquad)):
        path = folder / f"results/scores/{MODEL}/{name}.parquet"
        if path.is_file():
            print(table(read_table(path).to_pandas()))
    print(provenance(folder))


def natural_questions(scores: pd.DataFrame) -> str:
    """Closed book, the gold document alone, and each kind of distractors at each index."""
    alone = {task: scores[scores["task"] == task] for task in ("closed_book", "oracle")}
    lines = [
        ["closed book", said(alone["closed_book"])],
        ["the answer's document alone", said(alone["oracle"])],
    ]
    text = markdown(["prompt", "right"], lines)
    among = scores[scores["task"] == "multi_document_qa"]
    indices = sorted(among["gold_index"].unique())
    kinds = ("random", "retrieved")
    rows = []
    for kind in kinds:
        own = among[among["distractors"] == kind]
        parts = [own[own["gold_index"] == index] for index in indices]
        rows.append([kind, *map(said, parts), similarity(own)])
    head = ["distractors", *(f"index {int(i)}" for i in indices), "similarity"]
    text += "\n" + markdown(head, rows)
    tests = [["retrieved and random, all", *difference(among, "distractors", *kinds, "gold_index")]]
    for kind in kinds:
        own = among[among["distractors"] == kind]
        for end in (indices[0], indices[-1]):
            found = difference(own, "gold_index", end, indices[len(indices) // 2])
            tests.append([f"{kind}: the middle and index {int(end)}", *found])
    return (
        text + "\n" + markdown(["", "second less first", "only first", "only second", "p"], tests)
    )


def xquad(scores: pd.DataFrame) -> str:
    """By needle language: without passages, the needle alone, and each position."""
    scores = scores[scores["metric"] == "containment"]
    rows = []
    for lang, own in scores.groupby("needle_lang", sort=True):
        exact = own[own["task"] == "exact"]
        parts = [own[own["task"] == "closed_book"], exact[exact["length"] == 0]]
        parts += [exact[exact["position"] == place] for place in ("start", "middle", "end")]
        rows.append([str(lang), *map(said, parts)])
    return markdown(["needle", "closed book", "needle alone", "start", "middle", "end"], rows)


def said(rows: pd.DataFrame) -> str:
    """Right answers of those given, with the interval of the share, and what was lost."""
    given = rows[cells.judged(rows)]
    found = stats.estimate(given["value"], given["example_id"])
    lost = len(rows) - len(given)
    text = f"{int(given['value'].sum())} of {found.n}"
    if found.n:
        text += f" [{found.ci_low_clustered:.3f}, {found.ci_high_clustered:.3f}]"
    return text + (f", {lost} lost" if lost else "")


def similarity(rows: pd.DataFrame) -> str:
    """The mean similarity of needle and distractors, where it was measured."""
    if "similarity" not in rows or rows["similarity"].isna().all():
        return ""
    return f"{rows.drop_duplicates('instance_id')['similarity'].mean():.3f}"


def difference(
    rows: pd.DataFrame, column: str, second: object, first: object, *same: str
) -> list[str]:
    """The second value of a column less the first, with its interval and McNemar's test."""
    one, two = rows[rows[column] == first], rows[rows[column] == second]
    both = cells.paired(one, two, [*SAME, *same])
    found = parts.difference(parts.Table(one).all(), parts.Table(two).all(), both)
    ends = f"[{found['ci_low_clustered']:+.3f}, {found['ci_high_clustered']:+.3f}]"
    counts = [str(found[name]) for name in ("n_first_only", "n_second_only")]
    return [f"{found['value']:+.3f} {ends}", *counts, f"{found['p_mcnemar']:.4f}"]


def provenance(folder: Path) -> str:
    """What the run was made of: sources with their checksums, versions, the engine, the time."""
    lines = []
    for record in sorted((folder / "results/sources").glob("*/**/*.json")):
        source = json.loads(record.read_text(encoding="utf-8"))
        lines.append(f"- {source['id']}: sha256 {source['sha256']}")
    for path in sorted((folder / f"benchmarks/generate_answers/{MODEL}").glob("*.tsv")):
        with path.open(encoding="utf-8") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        lines.append(f"- {path.stem}: {row['h:m:s']} in the last session of the job")
    for path in sorted((folder / f"journal/jobs/{MODEL}").glob("*.jsonl"))[-1:]:
        job = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
        engine = {k: v for k, v in job.get("engine", {}).items() if k != "scheduler"}
        lines.append(f"- engine: {json.dumps(engine, sort_keys=True)}")
    return "\n".join(lines)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
