"""A run on a terminal of 80 columns: one line per model."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from needlework.results.numbers.tables import Mean, records

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80
OF_MEANS = "in % [95% interval over n questions]:"
# More pairs of a model and a benchmark than this are a table, and no line each.
MOST_LINES = 10
# Of a model's name, and of a benchmark's title in a column head.
_NAME, _TITLE = 30, 18


def wrapped(text: str) -> str:
    """A sentence in lines of the terminal's width; lines after the first are set in."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def mean_of(mean: Mean) -> str:
    """A row of MEANS in percent with its 95% interval and n: "48 [36, 59], n = 47"."""
    low, value, high = (100 * n for n in (mean["ci_low"], mean["value"], mean["ci_high"]))
    return f"{value:.0f} [{low:.0f}, {high:.0f}], n = {int(mean['n_questions']):,}"


def lower_tasks(means: pd.DataFrame) -> list[str]:
    """The tasks that a model's headline leaves out and that are lower: "existence: 0 [0, 8], n = 9".

    `means` are the model's rows of MEANS in a benchmark.
    """
    left_out: list[Mean] = records(means[means["kind"] == "left out"])
    return [f"{row['tasks']}: {mean_of(row)}" for row in left_out]


class TerminalCell(NamedTuple):
    """A model's score in a benchmark."""

    # With its interval.
    mean: str
    n: int
    metric: str
    # The size of the prompts.
    size: str
    # As `lower_tasks` says it.
    lower: Sequence[str] = ()


def cell_of(means: pd.DataFrame) -> TerminalCell | None:
    """The TerminalCell of a model in a benchmark, from its MEANS; None if it has no answers there."""
    row: Mean
    for row in records(means[means["kind"] == "headline"]):
        mean, n = mean_of(row).partition(", n = ")[0], int(row["n_questions"])
        return TerminalCell(mean, n, row["metric"], row["size"], lower_tasks(means))
    return None


def lines_of_lower_tasks(
    cells: Mapping[str, Mapping[str, TerminalCell | None]], controls: Collection[str]
) -> list[str]:
    """One sentence per model: the tasks that its means leave out because they are lower."""
    said = []
    for model in [model for model in cells if model not in controls] or list(cells):
        own = [
            f"{title} {task}" for title, cell in cells[model].items() if cell for task in cell.lower
        ]
        if own:
            said.append(wrapped(f"Left out, and lower: {model}, {'; '.join(own)}."))
    return said


def lines_to_paste(
    cells: Mapping[str, Mapping[str, TerminalCell | None]], controls: Collection[str], version: str
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
    head = "Mean" if set(models) - set(controls) else "Built-in readers: mean"
    said = ["", f"{head} {OF_MEANS}"]
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
