"""What a run found, in numbers that one page can show: means and warnings."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from xml.etree import ElementTree

from needlework.models.accounts import UNANSWERED
from needlework.records import NO_FACTORS, read_table
from needlework.results import stats
from needlework.results.answer_languages import of_language
from needlework.results.drawing.style import NOTHING

if TYPE_CHECKING:
    import pandas as pd

EXPLORER = "explorer/index.html"


@dataclass(frozen=True)
class Cell:
    """A mean with its 95% interval over questions, in [0, 1], of how many answers; and where they are."""

    value: float
    low: float
    high: float
    n: int
    n_questions: int
    link: str


@dataclass(frozen=True)
class Grid:
    """Means of one metric: by model, over everything and by language.

    tasks: the tasks in the means; empty if these are all tasks of the metric. by: the display name of the
    languages' column. headline: whether it is the first metric of any answers; other metrics rate the same
    answers again.
    """

    metric: str
    tasks: tuple[str, ...]
    by: str
    languages: tuple[str, ...]
    rows: Mapping[str, tuple[Cell | None, ...]]
    headline: bool


@dataclass(frozen=True)
class Warning:
    """A warning about a model's numbers, and its link to the explorer, if any."""

    model: str
    text: str
    link: str


def language_factor(scores: pd.DataFrame) -> str | None:
    """The first factor that is a language and varies; None where there is none."""
    for name in scores.columns:
        if name not in NO_FACTORS and "lang" in name and scores[name].nunique() > 1:
            return name
    return None


def read_scores(files: Sequence[str]) -> pd.DataFrame:
    """The scores of all models, in the order of `files`."""
    import pandas as pd

    return pd.concat([read_table(file).to_pandas() for file in files], ignore_index=True)


def grids(
    benchmark: str,
    scores: pd.DataFrame,
    closed_book: tuple[str, Any],
    designed: Collection[str] = (),
) -> list[Grid]:
    """A grid for each metric, headlines first; two where some of its tasks are `designed` and some are not.

    Skipped and failed requests are in no mean. Nor are prompts that ask without the texts, where there are
    others: those with a certain value in a column, both in `closed_book`.
    """
    first = scores.drop_duplicates(["model", "instance_id", "sample"])
    # Those of designed tasks first.
    headlines = list(first.loc[first["task"].isin(list(designed)), "metric"].unique())
    headlines += [metric for metric in first["metric"].unique() if metric not in headlines]
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    factor = language_factor(given)
    column, value = closed_book
    # The explorer shows one metric of many, or filters by the one that each answer has.
    several = len(first) < len(scores)
    made = []
    for metric in [*headlines, *(m for m in given["metric"].unique() if m not in headlines)]:
        own = given[given["metric"] == metric]
        read, others = own[own[column] != value], {}
        if 0 < len(read) < len(own):
            own, others = read, {column: sorted(read[column].unique())}
        state = {"m": metric} if several else {}
        named = {} if several or len(headlines) == 1 else {"metric": metric}
        tasks = list(own["task"].unique())
        parts = [[t for t in designed if t in tasks], [t for t in tasks if t not in designed]]
        for part in parts if all(parts) else [[]]:
            asked = own[own["task"].isin(part)] if part else own
            filters = {**named, **others, **({"task": sorted(part)} if part else {})}
            languages = [] if factor is None else sorted(asked[factor].dropna().unique())
            languages = languages if len(languages) > 1 else []
            rows = {}
            for model, mine in asked.groupby("model", sort=False):
                view = {"model": str(model), **filters}
                cells = [_cell(mine, explorer(benchmark, view, **state))]
                for language in languages:
                    link = explorer(benchmark, view | {str(factor): language}, **state)
                    cells.append(_cell(mine[mine[factor] == language], link))
                rows[str(model)] = tuple(cells)
            made.append(
                Grid(
                    metric=str(metric),
                    tasks=tuple(map(str, part)),
                    by=of_language(factor or "lang"),
                    languages=tuple(map(str, languages)),
                    rows=rows,
                    headline=metric in headlines,
                )
            )
    return made


def _cell(scores: pd.DataFrame, link: str) -> Cell | None:
    if scores.empty:
        return None
    found = stats.estimate(scores["value"].to_numpy(), scores["example_id"].to_numpy())
    return Cell(
        value=found.value,
        low=found.ci_low,
        high=found.ci_high,
        n=found.n,
        n_questions=found.n_questions,
        link=link,
    )


_LOST = {
    "skipped": "do not fit into the context and were not sent",
    "error": "failed",
    "length": "were cut at the limit on new tokens",
}


def warnings(benchmark: str, scores: pd.DataFrame) -> list[Warning]:
    """Per model: requests without an answer, answers that were cut, prompts of other models, and more."""
    found, everything = [], _asked(scores)
    for model, mine in scores.groupby("model", sort=False):
        # An answer with two metrics is one.
        once = mine.drop_duplicates(["instance_id", "sample"])
        if own := everything - _asked(mine):
            text = (
                f"was asked {len(everything) - len(own):,} of {len(everything):,} (by question, task, "
                "language and length), so its means are of other prompts than those of other models"
            )
            found.append(Warning(str(model), text, explorer(benchmark, {"model": str(model)})))
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


def asked_apart(scores: pd.DataFrame) -> set[str]:
    """The models that were asked less than all of them together."""
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


def explorer(benchmark: str, filters: Mapping[str, Any], **state: str) -> str:
    """The address of a view of the explorer, relative to results/; a list is of labels that it shows."""
    said = {"b": benchmark, **state} | {f"f.{name}": label for name, label in filters.items()}
    return f"{EXPLORER}#{urlencode(said, doseq=True)}"


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
