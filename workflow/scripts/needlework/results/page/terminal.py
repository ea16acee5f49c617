"""A run on a terminal of 80 columns: one line per model."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.models.accounts import UNANSWERED

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80
# More pairs of a model and a benchmark than this are a table, and no line each.
MOST_LINES = 10
# The columns of scores that say how long prompts are, and what they count.
SIZES = {"length": "tokens", "n_documents": "documents", "n_pairs": "pairs"}
# Of a model's name, and of a benchmark's title in a column head.
_NAME, _TITLE = 30, 18


def fill(text: str) -> str:
    """A sentence in lines of the terminal's width; lines after the first are set in."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def headline(
    scores: pd.DataFrame, designed: Collection[str], closed_book: tuple[str, Any]
) -> pd.DataFrame:
    """The scores that the explorer shows first: first metrics, in the `designed` tasks or in all.

    `closed_book` is a column and the value in it that marks prompts without texts. They count only if there
    are no other prompts.
    """
    keys = ["model", "instance_id", "sample"]
    given = scores.drop_duplicates([name for name in keys if name in scores])
    given = given[~given["finish_reason"].isin(UNANSWERED)]
    if tasks := set(designed) & set(given["task"]):
        given = given[given["task"].isin(tasks)]
    column, value = closed_book
    with_texts = given[given[column] != value]
    return given if with_texts.empty else with_texts


def mean_of(scores: pd.DataFrame, designed: Collection[str], closed_book: tuple[str, Any]) -> str:
    """A model's mean in the `designed` tasks, or in all, in percent, with its 95% interval and n.

    It is the mean over the answers that the explorer opens on, by the first metric of each.
    """
    from needlework.results import stats  # Snakemake's own process has no numpy

    given = headline(scores, designed, closed_book)
    if given.empty:
        return "-"
    found = stats.estimate(given["value"].to_numpy(), given["example_id"].to_numpy())
    low, high = 100 * found.ci_low, 100 * found.ci_high
    error = f" [{low:.0f}, {high:.0f}]" if low == low else ""
    return f"{100 * found.value:.0f}{error}, n = {found.n_questions:,}"


def lower_tasks(
    scores: pd.DataFrame, designed: Collection[str], closed_book: tuple[str, Any]
) -> list[str]:
    """The tasks that a model's mean leaves out and that lie below its interval: "existence: 0 [0, 8], n = 9".

    Without the prompts that ask without texts.
    """
    from needlework.results import stats

    given = headline(scores, designed, closed_book)
    if given.empty:
        return []
    whole = stats.estimate(given["value"].to_numpy(), given["example_id"].to_numpy())
    least = whole.value if whole.ci_low != whole.ci_low else whole.ci_low
    found = []
    for task in dict.fromkeys(scores["task"]):
        own = headline(scores[scores["task"] == task], (), closed_book)
        alone = (own[closed_book[0]] == closed_book[1]).all()
        if task not in set(given["task"]) and not alone and own["value"].mean() < least:
            found.append(f"{task}: {mean_of(own, (), closed_book)}")
    return found


class Cell(NamedTuple):
    """What a model scores in a benchmark: its mean with interval, n, the metric and the size of prompts.

    lower: as `lower_tasks` says it.
    """

    mean: str
    n: int
    metric: str
    size: str
    lower: Sequence[str] = ()


def cell_of(
    scores: pd.DataFrame, designed: Collection[str], closed_book: tuple[str, Any]
) -> Cell | None:
    """The cell of a model's answers as in `mean_of`; None if there is none."""
    given = headline(scores, designed, closed_book)
    if given.empty:
        return None
    mean, _, n = mean_of(scores, designed, closed_book).partition(", n = ")
    sizes = []
    for column, unit in SIZES.items():
        if column in given and not (values := given.loc[given[column] > 0, column]).empty:
            low, high = int(values.min()), int(values.max())
            sizes.append(f"{low:,} {unit}" if low == high else f"{low:,} to {high:,} {unit}")
    metric = " and ".join(given["metric"].unique())
    asked = int(n.replace(",", "")) if n else len(given)
    lower = lower_tasks(scores, designed, closed_book)
    return Cell(mean, asked, metric, " and ".join(sizes), lower)


def lines_of_lower_tasks(
    cells: Mapping[str, Mapping[str, Cell | None]], controls: Collection[str]
) -> list[str]:
    """One sentence per model on the tasks that its means leave out and that are lower."""
    said = []
    for model in [model for model in cells if model not in controls] or list(cells):
        own = [
            f"{title} {task}" for title, cell in cells[model].items() if cell for task in cell.lower
        ]
        if own:
            said.append(fill(f"Not in these means, and lower: {model}, {'; '.join(own)}."))
    return said


def lines_to_paste(
    cells: Mapping[str, Mapping[str, Cell | None]], controls: Collection[str], version: str
) -> list[str]:
    """A line for each model and benchmark that says all that a reader must know; [] if they are many.

    `cells` are by model and title of the benchmark; `version` names the workflow's code.
    """
    models = [model for model in cells if model not in controls] or list(cells)
    found = [
        (model, title, cell) for model in models for title, cell in cells[model].items() if cell
    ]
    if not 0 < len(found) <= MOST_LINES:
        return []
    rows = [
        (model, title, cell.mean, f"n={cell.n}", cell.metric, cell.size, version)
        for model, title, cell in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            part.ljust(width) for part, width in zip(row, widths, strict=True) if width
        ).rstrip()
        for row in rows
    ]


def lines_of_models(cells: Mapping[str, Mapping[str, str]], controls: Collection[str]) -> list[str]:
    """One line per model with its means (`mean_of`), by benchmark title.

    Controls have lines if there is no other model.

    More benchmarks than fit beside each other are in further blocks.
    """
    models = [model for model in cells if model not in controls] or list(cells)
    asked = [
        title
        for title in next(iter(cells.values()), {})
        if any(cells[m][title] != "-" for m in models)
    ]
    if not asked:
        return []
    kind = "models" if set(models) - set(controls) else "built-in readers"
    said = ["", f"Means in % of the {kind}, 95% intervals over n questions:"]
    names = [_short(model, _NAME) for model in models]
    first = max(map(len, names))
    for titles in _blocks(asked, cells, models, WIDTH - first):
        widths = [_width(title, cells, models) for title in titles]
        heads = [_short(title, _TITLE).rjust(w) for title, w in zip(titles, widths, strict=True)]
        said.append("  ".join([" " * first, *heads]))
        for model, name in zip(models, names, strict=True):
            own = [cells[model][t].rjust(w) for t, w in zip(titles, widths, strict=True)]
            said.append("  ".join([name.ljust(first), *own]))
    return said


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _width(title: str, cells: Mapping[str, Mapping[str, str]], models: Sequence[str]) -> int:
    return max(len(_short(title, _TITLE)), *(len(cells[model][title]) for model in models))


def _blocks(
    titles: Sequence[str],
    cells: Mapping[str, Mapping[str, str]],
    models: Sequence[str],
    room: int,
) -> Iterator[list[str]]:
    """Titles in groups that fit beside each other."""
    block: list[str] = []
    used = 0
    for title in titles:
        width = 2 + _width(title, cells, models)
        if block and used + width > room:
            yield block
            block, used = [], 0
        block.append(title)
        used += width
    if block:
        yield block
