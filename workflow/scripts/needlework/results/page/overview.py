"""The page of results without its figures: grids of means, and warnings."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from needlework.results.drawing.style import NOTHING
from needlework.results.numbers.means import KEYS, explorer
from needlework.results.numbers.tables import Mean, records

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MeanCell:
    """A mean in [0, 1] with its 95% interval over questions."""

    value: float
    low: float
    high: float
    # The number of answers in the mean, and of their questions.
    n: int
    n_questions: int
    # Where the explorer shows the answers.
    link: str


@dataclass(frozen=True)
class MeanGrid:
    """Means of one metric: by model, over everything and by language."""

    metric: str
    # The tasks in the means; empty if the means have all tasks of the metric.
    tasks: tuple[str, ...]
    # The display name of the languages' column.
    by: str
    languages: tuple[str, ...]
    rows: Mapping[str, tuple[MeanCell | None, ...]]
    # Whether it is the first metric of any answers. Other metrics rate the same answers again.
    headline: bool


@dataclass(frozen=True)
class Warning:
    """A warning about the numbers of a model, or of several, and its link to the explorer."""

    model: str
    text: str
    link: str


def grids(means: pd.DataFrame) -> list[MeanGrid]:
    """A grid for each metric of a benchmark's MEANS; designed tasks and other tasks have separate grids."""
    made = []
    for (metric, tasks), own in means[means["kind"] == "metric"].groupby(
        ["metric", "tasks"], sort=False
    ):
        languages = sorted(set(own["language"]) - {""})
        cells: dict[str, dict[str, MeanCell]] = {}
        row: Mean
        for row in records(own):
            cells.setdefault(row["model"], {})[row["language"]] = cell(row)
        rows = {
            model: tuple(mine.get(language) for language in ["", *languages])
            for model, mine in cells.items()
        }
        first = own.iloc[0]
        made.append(
            MeanGrid(
                metric=str(metric),
                tasks=tuple(str(tasks).split()),
                by=first["by"],
                languages=tuple(languages),
                rows=rows,
                headline=bool(first["first_metric"]),
            )
        )
    return made


def cell(row: Mean) -> MeanCell:
    """The cell of a row of MEANS."""
    ends = row["value"], row["ci_low"], row["ci_high"]
    return MeanCell(*ends, int(row["n"]), int(row["n_questions"]), row["link"])


def warnings(benchmark: str, scores: pd.DataFrame) -> list[Warning]:
    """Per model: prompts that other models were not asked, and prompts that are too short."""
    found, everything = [], _asked(scores)
    short: dict[str, list[str]] = {}
    for model, mine in scores.groupby("model", sort=False):
        # An answer with two metrics is one.
        once = mine.drop_duplicates(KEYS)
        if own := everything - _asked(mine):
            text = (
                f"answered {len(everything) - len(own):,} of {len(everything):,} questions (counted per "
                "task, language and length). Its means cannot be ranked with those of the other models"
            )
            found.append(Warning(str(model), text, explorer(benchmark, {"model": str(model)})))
        # Benchmarks whose texts can end before a prompt is full say so in this column.
        if "exhausted" in once and (n := int((once["exhausted"] == True).sum())):  # noqa: E712 (or None)
            short.setdefault(f"{n:,} of {len(once):,}", []).append(str(model))
    for counted, models in short.items():
        text = f"{counted} prompts are shorter than configured: the haystack texts are too short"
        link = explorer(benchmark, {"model": models, "exhausted": "yes"})
        found.append(Warning(", ".join(models), text, link))
    return found


def asked_apart(scores: pd.DataFrame) -> set[str]:
    """The models that were asked only some of the questions that all models together were asked."""
    everything = _asked(scores)
    by_model = scores.groupby("model", sort=False)
    return {str(model) for model, mine in by_model if _asked(mine) != everything}


def _asked(scores: pd.DataFrame) -> set[tuple[Any, ...]]:
    """What was asked: models with other tokenizers have other prompts of the same questions."""
    fixed = {"example_id", "task", "length"}
    names = [name for name in scores.columns if name in fixed or "lang" in name]
    # As objects: Arrow's strings would be taken one by one.
    columns = (scores[name].astype(str).to_numpy(dtype=object) for name in names)
    return set(zip(*columns, strict=True))


def read_csv(file: str | Path) -> tuple[list[str], list[list[str]]]:
    """A table's columns and rows as text."""
    with Path(file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    return rows[0], rows[1:]


def not_drawn(figure: str | Path) -> str:
    """Why there is nothing to draw in an SVG; "" where something is drawn."""
    text = Path(figure).read_text(encoding="utf-8")
    if f'id="{NOTHING}"' not in text:
        return ""
    # The project's own file, without entities.
    every = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    return " ".join(one.text or "" for one in every).removesuffix(".")
