"""What a run found, in numbers that one page can show: means, agreement with the papers, warnings."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from needlework.records import read_table, scores_schema
from needlework.results import stats

if TYPE_CHECKING:
    import pandas as pd

EXPLORER = "explorer/index.html"
# Rows of a table that the page shows; its file has all.
MOST_ROWS = 300


@dataclass(frozen=True)
class Cell:
    """A mean with its 95% interval over questions, in [0, 1], and of how many answers it is."""

    value: float
    low: float
    high: float
    n: int
    n_questions: int


@dataclass(frozen=True)
class Grid:
    """Means of one metric: by model, over everything and by language."""

    metric: str
    languages: tuple[str, ...]
    rows: Mapping[str, tuple[Cell | None, ...]]


@dataclass(frozen=True)
class Warning:
    """What is missing or cut, for one model, and where the explorer shows it."""

    model: str
    text: str
    link: str


@dataclass(frozen=True)
class Agreement:
    """How a table's numbers compare with the paper's, and why most of those cannot that cannot."""

    table: str
    covers: int
    below: int
    above: int
    cannot_tell: int
    reason: str


def language_factor(scores: pd.DataFrame) -> str | None:
    """The first factor that is a language and varies; None where there is none."""
    fixed = set(scores_schema({}).names)
    for name in scores.columns:
        if name not in fixed and "lang" in name and scores[name].nunique() > 1:
            return name
    return None


def read_scores(files: Sequence[str]) -> pd.DataFrame:
    """The scores of all models, in the order of `files`."""
    import pandas as pd

    return pd.concat([read_table(file).to_pandas() for file in files], ignore_index=True)


def grids(scores: pd.DataFrame) -> list[Grid]:
    """A grid for each metric. Skipped and failed requests are in no mean."""
    given = scores[~scores["finish_reason"].isin(["skipped", "error"])]
    factor = language_factor(given)
    made = []
    for metric, own in given.groupby("metric", sort=False):
        languages = [] if factor is None else sorted(own[factor].dropna().unique())
        rows = {}
        for model, mine in own.groupby("model", sort=False):
            cells = [_cell(mine)]
            cells += [_cell(mine[mine[factor] == language]) for language in languages]
            rows[str(model)] = tuple(cells)
        made.append(Grid(str(metric), tuple(map(str, languages)), rows))
    return made


def _cell(scores: pd.DataFrame) -> Cell | None:
    if scores.empty:
        return None
    found = stats.estimate(
        scores["value"].to_numpy(), scores["example_id"].to_numpy(), seed=("overview",)
    )
    return Cell(
        found.value, found.ci_low_clustered, found.ci_high_clustered, found.n, found.n_questions
    )


_LOST = {
    "skipped": "do not fit into the context and were not sent",
    "error": "failed",
    "length": "were cut at the limit on new tokens",
}


def warnings(benchmark: str, scores: pd.DataFrame) -> list[Warning]:
    """Requests without an answer and answers that were cut, by model."""
    found = []
    for model, mine in scores.groupby("model", sort=False):
        # An answer with two metrics is one.
        once = mine.drop_duplicates(["instance_id", "sample"])
        for reason, text in _LOST.items():
            n = int((once["finish_reason"] == reason).sum())
            if n:
                link = explorer(benchmark, {"model": str(model), "ended with": reason})
                found.append(Warning(str(model), f"{n:,} of {len(once):,} {text}", link))
        # Benchmarks whose texts can end before a prompt is full say so in this column.
        if "exhausted" in once and (n := int((once["exhausted"] == True).sum())):  # noqa: E712 (or None)
            link = explorer(benchmark, {"model": str(model), "exhausted": "yes"})
            text = "prompts are shorter than asked for, because the texts for them ended"
            found.append(Warning(str(model), f"{n:,} of {len(once):,} {text}", link))
    return found


def explorer(benchmark: str, filters: Mapping[str, str], **state: str) -> str:
    """The address of a view of the explorer, relative to results/."""
    said = {"b": benchmark, **state} | {f"f.{name}": label for name, label in filters.items()}
    return f"{EXPLORER}#{urlencode(said)}"


def read_csv(file: str | Path) -> tuple[list[str], list[list[str]]]:
    """A table's columns and rows as text."""
    with Path(file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    return rows[0], rows[1:]


def agreement(table: str, file: str | Path) -> Agreement | None:
    """What a table's column `comparison` says of this run's numbers; None where it has no such column."""
    head, rows = read_csv(file)
    if "comparison" not in head:
        return None
    place = head.index("comparison")
    verdicts = [row[place] for row in rows if row[place]]
    kinds = Counter(verdict.partition(":")[0] for verdict in verdicts)
    reasons = Counter(
        verdict.partition(": ")[2] for verdict in verdicts if verdict.startswith("cannot tell: ")
    )
    return Agreement(
        table,
        kinds["covers"],
        kinds["below"],
        kinds["above"],
        kinds["cannot tell"],
        reasons.most_common(1)[0][0] if reasons else "",
    )
