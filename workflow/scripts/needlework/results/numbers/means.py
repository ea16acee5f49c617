"""The means of a run: of each model in each benchmark, by metric and by language."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlencode

from needlework.answer_states import UNANSWERED
from needlework.records import NO_FACTORS
from needlework.results import stats
from needlework.results.answer_languages import of_language
from needlework.results.numbers.tables import Mean

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

EXPLORER = "explorer/index.html"
# The columns of scores that say how long prompts are, and what they count.
SIZES = {"length": "tokens", "n_documents": "documents", "n_pairs": "pairs"}
# What an answer is, whatever rates it.
KEYS = ["model", "instance_id", "sample"]


def means(
    benchmark: str,
    scores: pd.DataFrame,
    closed_book: tuple[str, Any],
    designed: Collection[str] = (),
) -> Iterator[Mean]:
    """The rows of MEANS of a benchmark: headlines, the tasks that these leave out, then metrics.

    `scores` are of the models that are shown. `designed` are the tasks of the headline, if any was asked.
    `closed_book` is a column, and its value for prompts without texts: if there are other prompts, prompts
    without texts are in no mean. Skipped and failed requests are in no mean.
    """
    given = headline(scores, designed, closed_book)
    for model, mine in given.groupby("model", sort=False):
        tasks = [task for task in designed if task in set(mine["task"])]
        view = {"model": str(model), "task": sorted(mine["task"].unique())}
        found = _mean(mine)
        head: Mean = {
            "benchmark": benchmark,
            "model": str(model),
            "kind": "headline",
            "metric": " and ".join(mine["metric"].unique()),
            "tasks": " ".join(tasks),
            "by": "",
            "language": "",
            "first_metric": True,
            **found,
            "size": _size(mine),
            "link": explorer(benchmark, view),
        }
        yield head
        asked = scores[scores["model"] == model]
        for task, own in _lower(asked, mine, found["ci_low"], closed_book):
            yield {**head, "kind": "left out", "tasks": task, **own, "size": "", "link": ""}
    yield from _by_metric(benchmark, scores, closed_book, designed)


def headline(
    scores: pd.DataFrame, designed: Collection[str], closed_book: tuple[str, Any]
) -> pd.DataFrame:
    """The scores that the explorer shows first: first metrics, in the `designed` tasks or in all."""
    given = scores.drop_duplicates(KEYS)
    given = given[~given["finish_reason"].isin(UNANSWERED)]
    if tasks := set(designed) & set(given["task"]):
        given = given[given["task"].isin(tasks)]
    column, value = closed_book
    with_texts = given[given[column] != value]
    return given if with_texts.empty else with_texts


class Estimated(TypedDict):
    """The mean of some scores, as part of a row of MEANS or POINTS."""

    value: float
    ci_low: float
    ci_high: float
    n: int
    n_questions: int


def estimated(values: npt.ArrayLike, questions: stats.Labels) -> Estimated:
    """The mean of `values`, with its interval over questions."""
    found = stats.estimate(values, questions)
    return {
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n": found.n,
        "n_questions": found.n_questions,
    }


def _mean(scores: pd.DataFrame) -> Estimated:
    return estimated(scores["value"].to_numpy(), scores["example_id"].to_numpy())


def _size(scores: pd.DataFrame) -> str:
    """How long the prompts are: "512 to 2,048 tokens and 10 documents"."""
    sizes = []
    for column, unit in SIZES.items():
        if column in scores and not (values := scores.loc[scores[column] > 0, column]).empty:
            low, high = int(values.min()), int(values.max())
            sizes.append(f"{low:,} {unit}" if low == high else f"{low:,} to {high:,} {unit}")
    return " and ".join(sizes)


def _lower(
    scores: pd.DataFrame,
    given: pd.DataFrame,
    least: float,
    closed_book: tuple[str, Any],
) -> Iterator[tuple[str, Estimated]]:
    """The tasks that a model's headline leaves out, and their means, below `least`: its interval's end."""
    column, value = closed_book
    for task in dict.fromkeys(scores["task"]):
        own = headline(scores[scores["task"] == task], (), closed_book)
        alone = (own[column] == value).all()
        if task not in set(given["task"]) and not alone and own["value"].mean() < least:
            yield str(task), _mean(own)


def _by_metric(
    benchmark: str,
    scores: pd.DataFrame,
    closed_book: tuple[str, Any],
    designed: Collection[str],
) -> Iterator[Mean]:
    """The rows of each metric, first metrics first; designed tasks apart from others."""
    first = scores.drop_duplicates(KEYS)
    # Those of designed tasks first.
    firsts = list(first.loc[first["task"].isin(list(designed)), "metric"].unique())
    firsts += [metric for metric in first["metric"].unique() if metric not in firsts]
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    factor = language_factor(given)
    column, value = closed_book
    # The explorer shows one metric of many, or filters by the one that each answer has.
    several = len(first) < len(scores)
    for metric in [*firsts, *(m for m in given["metric"].unique() if m not in firsts)]:
        own = given[given["metric"] == metric]
        read, filters = own[own[column] != value], {}
        if 0 < len(read) < len(own):
            own, filters = read, {column: sorted(read[column].unique())}
        state = {"m": str(metric)} if several else {}
        if not several and len(firsts) > 1:
            filters = {"metric": metric, **filters}
        tasks = list(own["task"].unique())
        parts = [[t for t in designed if t in tasks], [t for t in tasks if t not in designed]]
        for part in parts if all(parts) else [[]]:
            asked = own[own["task"].isin(part)] if part else own
            of_part = {**filters, **({"task": sorted(part)} if part else {})}
            for model, mine in asked.groupby("model", sort=False):
                view = {"model": str(model), **of_part}
                for language, cell in _by_language(mine, asked, factor):
                    link = view | ({str(factor): language} if language else {})
                    yield {
                        "benchmark": benchmark,
                        "model": str(model),
                        "kind": "metric",
                        "metric": str(metric),
                        "tasks": " ".join(map(str, part)),
                        "by": of_language(factor or "lang"),
                        "language": language,
                        "first_metric": metric in firsts,
                        **_mean(cell),
                        "size": "",
                        "link": explorer(benchmark, link, **state),
                    }


def _by_language(
    mine: pd.DataFrame, asked: pd.DataFrame, factor: str | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """A model's scores, then those in each language, if `asked` has two or more."""
    yield "", mine
    languages: Sequence[Any] = [] if factor is None else sorted(asked[factor].dropna().unique())
    for language in languages if len(languages) > 1 else ():
        if len(own := mine[mine[factor] == language]):
            yield str(language), own


def language_factor(scores: pd.DataFrame) -> str | None:
    """The first factor that is a language and varies; None where there is none."""
    for name in scores.columns:
        if name not in NO_FACTORS and "lang" in name and scores[name].nunique() > 1:
            return str(name)
    return None


def explorer(benchmark: str, filters: Mapping[str, object], **state: str) -> str:
    """The address of a view of the explorer, relative to results/; a list is of labels that it shows."""
    said = {"b": benchmark, **state} | {f"f.{name}": label for name, label in filters.items()}
    return f"{EXPLORER}#{urlencode(said, doseq=True)}"
