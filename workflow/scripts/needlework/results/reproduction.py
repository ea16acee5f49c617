"""All numbers that the papers print beside ours: a table and a picture of verdicts, or reasons for none.

A result's CSV names the printed number beside a cell in the column `published_cell` (of the number in
`value`), or `published_cell_<statistic>` (of the number in `<statistic>`). Planning does not import this.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from needlework.errors import UserError
from needlework.factor import in_1000
from needlework.results.drawing.grid import figure_of, wrapped
from needlework.results.drawing.picture import evenly
from needlework.results.drawing.style import COLOURS, COLUMN, PAGE, style
from needlework.results.numbers.means import explorer
from needlework.results.published import COVERED, JUDGED, cell_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    *("benchmark", "table", "row", "column", "published", "value", "ci_low", "ci_high"),
    *("verdict", "reason", "result", "link"),
)
REASON_COLUMNS = ("paper", "table", "row", "column", "note", "reason")
WITHOUT = "cannot tell"
NOT_MADE = "this run does not have the paper's model or prompts"
_CELL = "published_cell"


class Reproduced(TypedDict):
    """A benchmark with numbers beside the paper's: its files of results and scores, and its factors."""

    title: str
    factors: list[str]
    published: str | None
    results: dict[str, str]
    scores: list[str]


@dataclass(frozen=True)
class Reason:
    """Why no run can have a verdict on some printed numbers.

    All fields except `reason` are shell patterns.
    """

    table: str
    row: str
    column: str
    note: str
    reason: str

    def holds(self, *place: str) -> bool:
        """Whether it is of the number with this table, row, column and note."""
        patterns = (self.table, self.row, self.column, self.note)
        return all(map(fnmatchcase, place, patterns))


@dataclass(frozen=True)
class Agreement:
    """How our numbers compare with the numbers in some tables of a paper."""

    # Each table of the paper, with the result that shows it, or "".
    tables: Mapping[str, str]
    covers: int
    below: int
    above: int
    # How many numbers cannot be compared, and the most frequent reason.
    cannot_tell: int
    reason: str

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.covers + self.below + self.above + self.cannot_tell


def read_reasons(path: str | Path) -> dict[str, list[Reason]]:
    """The reasons of resources/reasons.csv, by paper. Raises UserError if a line is none."""
    path = Path(path)
    found: dict[str, list[Reason]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if len(row) != len(REASON_COLUMNS) or not all(row):
                raise UserError(
                    f"{path}, line {number}: it must have the columns {', '.join(REASON_COLUMNS)}, none "
                    "of them empty: correct it."
                )
            if number > 1:
                found.setdefault(row[0], []).append(Reason(*row[1:]))
    return found


def reason_of(reasons: Iterable[Reason], *place: str) -> str | None:
    """The first reason that holds for a printed number (`Reason.holds`); None if there is none."""
    return next((each.reason for each in reasons if each.holds(*place)), None)


class _Found(NamedTuple):
    """Ours beside a printed number: the value and its interval, what is said of it, and where it is shown."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    verdict: str
    reason: str
    result: str | None
    link: str | None


_NAN = float("nan")
_NOT_FOUND = _Found(_NAN, _NAN, _NAN, WITHOUT, NOT_MADE, None, None)


def reproduced(
    benchmark: str,
    published: pd.DataFrame,
    results: Mapping[str, pd.DataFrame],
    reasons: Sequence[Reason],
    shown: Mapping[str, set[str]],
) -> pd.DataFrame:
    """A row for each number of `published` (COLUMNS), with the verdict of the first result that has one.

    `results` are by name as their CSV files have them. `shown` are the values of the scores' factors, by
    column: what a link to the explorer can name.
    """
    import pandas as pd

    best: dict[str, _Found] = {}
    for name, frame in results.items():
        for cell, found in _cells(name, frame, benchmark, shown):
            if cell not in best or _rank(found) < _rank(best[cell]):
                best[cell] = found
    made = []
    for number in published.drop_duplicates(["table", "row", "column"]).itertuples():
        place = (number.table, number.row, number.column)
        found = best.get(cell_name(*place), _NOT_FOUND)
        if found.verdict == WITHOUT:
            never = reason_of(reasons, *place, number.note)
            found = found._replace(reason=_both(never, found.reason))
        labels = dict(zip(("table", "row", "column"), place, strict=True))
        made.append(
            {"benchmark": benchmark, **labels, "published": number.value, **found._asdict()}
        )
    return pd.DataFrame(made, columns=list(COLUMNS))


def _both(never: str | None, ours: str) -> str:
    """The reason why no run has a verdict, if any, and then those of this run, each once."""
    if never and ours == NOT_MADE:
        return never
    return "; ".join(dict.fromkeys([*([never] if never else []), *ours.split("; ")]))


def _rank(found: _Found) -> tuple[bool, bool, bool, int]:
    """A verdict comes first, then a number of ours, then what has the fewest reasons against it.

    A count of tokens that is the paper's in one of the run's tokenizers is so in any order of these.
    """
    no_value = found.value != found.value
    differs = found.verdict == "differs"
    return found.verdict == WITHOUT, differs, no_value, found.reason.count(";")


def _cells(
    name: str, frame: pd.DataFrame, benchmark: str, shown: Mapping[str, set[str]]
) -> Iterator[tuple[str, _Found]]:
    """The printed numbers beside rows of ours, and what is said of them."""
    for column in (c for c in frame.columns if c == _CELL or c.startswith(f"{_CELL}_")):
        statistic = column.removeprefix(_CELL).removeprefix("_")
        own = frame[frame[column].notna()]
        if "source" in own:
            own = own[own["source"] == "ours"]
        for row in own.to_dict("records"):
            verdict, reason = _verdict(row, statistic)
            ends = ("ci_low", "ci_high") if statistic in ("", "n_tokens") else ()
            low, high = (row.get(end) for end in ends) if ends else (None, None)
            value, link = row[statistic or "value"], _link(benchmark, row, shown)
            yield row[column], _Found(value, low, high, verdict, reason, name, link)


def _verdict(row: Mapping[str, Any], statistic: str) -> tuple[str, str]:
    """One of JUDGED or WITHOUT, and why. A row of several statistics names those that differ."""
    said = row.get(f"comparison_{statistic}", row["comparison"])
    kind, _, rest = said.partition(": ")
    if kind == "differs" and rest:
        return ("differs" if statistic in rest.split(", ") else "equals"), ""
    return kind, rest


def _link(benchmark: str, row: Mapping[str, Any], shown: Mapping[str, set[str]]) -> str:
    """The prompts behind a row, in the explorer: by all of its labels that scores have as factors."""
    labels = {name: _label(value) for name, value in row.items()}
    # Lengths beside a mean over them stand in a column of their own.
    labels.setdefault("length", labels.get("column", ""))
    filters = {name: labels[name] for name in shown if labels.get(name) in shown[name]}
    state = {"m": filters.pop("metric")} if "metric" in filters else {}
    return explorer(benchmark, filters, **state)


def _label(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """The number of each verdict and reason, by printed table."""
    found = table.fillna({"reason": ""})
    by = ["benchmark", "table", "verdict", "reason"]
    return found.groupby(by, sort=False).size().rename("n").reset_index()


def coverage(table: pd.DataFrame) -> str:
    """A sentence on how many printed numbers are covered; without verdicts, the most frequent reason."""
    judged = table[table["verdict"].isin(JUDGED)]
    if judged.empty:
        why = table["reason"].value_counts()
        most = f", most often because {why.index[0]}" if len(why) else ""
        return f"None of the {len(table):,} printed numbers can be compared with this run{most}."
    covered = int(judged["verdict"].isin(COVERED).sum())
    left = len(table) - len(judged)
    return f"{covered:,} of {len(judged):,} printed numbers are covered; {left:,} more have no verdict."


def agreement(printed: pd.DataFrame) -> str:
    """How many of the numbers with a verdict ours cover, in a line; "" if no number has one."""
    judged = printed[printed["verdict"].isin(JUDGED)]
    if judged.empty:
        return ""
    found = _agreement("", judged)
    papers = "paper" if judged["benchmark"].nunique() == 1 else "papers"
    return (
        f"Agreement with the {papers}: {found.covers:,} of {found.total:,} numbers covered, "
        f"{found.below:,} below, {found.above:,} above"
    )


def agreements(printed: pd.DataFrame) -> list[Agreement]:
    """How our numbers compare with a paper's printed numbers, by table.

    `printed` are a benchmark's rows of COLUMNS. Tables without a verdict share an entry if
    their most frequent reason is the same. If no table has a verdict, the list is empty.
    """
    made: list[Agreement] = []
    nowhere: dict[str, Agreement] = {}
    for name, rows in printed.groupby("table", sort=False):
        found = _agreement(str(name), rows)
        if found.cannot_tell < found.total:
            made.append(found)
        elif found.reason in nowhere:
            first = nowhere[found.reason]
            nowhere[found.reason] = replace(
                first,
                tables={**first.tables, **found.tables},
                cannot_tell=first.cannot_tell + found.cannot_tell,
            )
        else:
            nowhere[found.reason] = found
    return [*made, *nowhere.values()] if made else []


def _agreement(name: str, rows: pd.DataFrame) -> Agreement:
    """`Agreement` of one table. A number without an interval equals the paper's, or is below or above it."""
    verdicts = rows["verdict"]
    differs = verdicts == "differs"
    less = rows["value"].astype(float) < rows["published"].astype(float)
    reasons = rows.loc[verdicts == WITHOUT, "reason"].value_counts()
    results = rows["result"].dropna()
    return Agreement(
        tables={name: results.iloc[0] if len(results) else ""},
        covers=int(verdicts.isin(COVERED).sum()),
        below=int(((verdicts == "below") | (differs & less)).sum()),
        above=int(((verdicts == "above") | (differs & ~less)).sum()),
        cannot_tell=int(reasons.sum()),
        reason=str(reasons.index[0]) if len(reasons) else "",
    )


# Above these, printed numbers are counts and not shares.
LARGEST_SHARE = 1.0
# Panels side by side, and inches: how tall one is, and what stands above and below all.
MOST, HEIGHT, AROUND = 3, 1.9, 0.85
# So many intervals in a panel hide the dots.
MOST_INTERVALS = 400
# The least difference that an axis reaches to: percent points of shares, percent of counts.
LEAST_REACH = 1.0
NOTE = (
    "Filled: our 95% interval over questions covers the paper's number, or ours equals it. Hollow: it does "
    "not. Grey: the two cannot be compared. Dots beyond the axis stand at its edge."
)


def picture(table: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """The picture of `reproduction.reproduced` of all benchmarks, whose titles are by name.

    Each benchmark has a panel of shares, with differences in percent points; all counts are in one, with
    differences in percent of the paper's number.
    """
    panels = list(_panels(table, titles))
    rows = evenly(panels, MOST)
    width = COLUMN if len(panels) < MOST else PAGE
    tall = HEIGHT * len(rows) * (1.4 if len(panels) == 1 else 1)
    with style():
        figure = figure_of(width, AROUND + tall)
        figure.suptitle(wrapped(coverage(table), width), fontsize=8)
        grid = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        for axes_row, row in zip(grid, rows, strict=True):
            for axes in axes_row[len(row) :]:
                axes.set_axis_off()
            for axes, (title, dots) in zip(axes_row, row, strict=False):
                _dots_panel(axes, title, dots)
        figure.supxlabel(wrapped(NOTE, width), fontsize=6)
        figure.supylabel("ours minus the paper's number", fontsize=7.5)
    return figure


def comparable(table: pd.DataFrame) -> bool:
    """Whether any number has a verdict."""
    return bool(table["verdict"].isin(JUDGED).any())


def _panels(table: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The dots of each panel that has a verdict: numbers that both sides have, and their differences."""
    there = table[table["value"].notna()]
    counts = (there["published"].abs() > LARGEST_SHARE) | (there["value"].abs() > LARGEST_SHARE)
    for name, title in titles.items():
        dots = there[~counts & (there["benchmark"] == name)]
        if comparable(dots):
            yield title, _differences(dots, 100 * dots["published"], 0.01)
    if comparable(there[counts]):
        # A count of 0 stands beside those of 1.
        dots = there[counts]
        size = dots["published"].abs().clip(lower=1)
        yield COUNTS, _differences(dots, size, size / 100)


def _differences(dots: pd.DataFrame, x: pd.Series, unit: pd.Series | float) -> pd.DataFrame:
    """With the place across, and our number and its interval less the paper's number, in this unit."""
    ends = {
        name: (dots[column].astype(float) - dots["published"]) / unit
        for name, column in (("y", "value"), ("low", "ci_low"), ("high", "ci_high"))
    }
    return dots.assign(x=x, **ends)


COUNTS = "Counts"


def _dots_panel(axes: Axes, title: str, dots: pd.DataFrame) -> None:
    """One panel: dots with a verdict above the grey ones."""
    from matplotlib.ticker import NullLocator

    judged, covered = dots["verdict"].isin(JUDGED), dots["verdict"].isin(COVERED)
    known = dots[judged & dots["ci_low"].notna()]
    known = known if len(known) <= MOST_INTERVALS else known.iloc[:0]
    seen = [dots.loc[judged, "y"], known["low"], known["high"]]
    reach = max(LEAST_REACH, *(1.08 * float(each.abs().max()) for each in seen if len(each)))
    axes.axhline(0, color="#555555", linewidth=0.7, zorder=1)
    lines = known["x"], known["low"], known["high"]
    axes.vlines(*lines, color=COLOURS[0], linewidth=0.5, alpha=0.5, zorder=2)
    looks = (
        (~judged, "#c4c4c4", "none", 2),
        (judged & ~covered, COLOURS[1], "none", 4),
        (judged & covered, COLOURS[0], COLOURS[0], 3),
    )
    for own, edge, face, order in looks:
        some = dots[own]
        y = some["y"].clip(-reach, reach)
        marks = axes.scatter(some["x"], y, s=9, linewidths=0.7, alpha=0.8)
        marks.set(facecolors=face, edgecolors=edge, zorder=order, urls=some["link"].tolist())
    axes.set_ylim(-1.04 * reach, 1.04 * reach)
    if title == COUNTS:
        axes.set(xscale="log", xlim=(dots["x"].min() / 1.4, dots["x"].max() * 1.4))
        axes.xaxis.set_major_formatter(lambda number, _: in_1000(int(number)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(ylabel="%", xlabel="the paper's number")
    else:
        axes.set(ylabel="points", xlabel="the paper's number (%)")
        axes.set_xlim(min(float(dots["x"].min()), 0.0) - 4, 104)
    axes.set_title(f"{title}: {int(covered.sum()):,} of {int(judged.sum()):,}")
