"""Every number that the papers print beside ours: its verdict, or the reason why it has none.

A result's CSV names the printed number beside a cell in the column `published_cell` (of the number in
`value`), or `published_cell_<statistic>` (of that in `<statistic>`). Planning does not import this.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.errors import UserError
from needlework.results.overview import explorer
from needlework.results.published import cell_name

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("benchmark", "table", "row", "column", "published", "value", "ci_low", "ci_high"),
    *("verdict", "reason", "result", "link"),
)
REASON_COLUMNS = ("paper", "table", "row", "column", "note", "reason")
# Where ours is the paper's number, as far as both are known.
COVERED = ("covers", "equals")
JUDGED = (*COVERED, "below", "above", "differs")
WITHOUT = "cannot tell"
NOT_MADE = "this run does not have the paper's model or prompts"
_CELL = "published_cell"


@dataclass(frozen=True)
class Reason:
    """Why no run can have a verdict on some printed numbers; all but `reason` are patterns as in a shell."""

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
    """How our numbers compare with those in tables of a paper.

    tables: each with the result that shows it, or "". cannot_tell: how many cannot be compared; reason: the
    most frequent reason of these.
    """

    tables: Mapping[str, str]
    covers: int
    below: int
    above: int
    cannot_tell: int
    reason: str

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.covers + self.below + self.above + self.cannot_tell


def read_reasons(path: str | Path) -> dict[str, list[Reason]]:
    """The reasons of resources/reasons.csv, by paper. UserError if a line is none."""
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
    """The first reason of a printed number (as `Reason.holds` has it), if it has any."""
    return next((each.reason for each in reasons if each.holds(*place)), None)


def compared(
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

    best: dict[str, dict[str, Any]] = {}
    for name, frame in results.items():
        for cell, found in _cells(name, frame, benchmark, shown):
            if cell not in best or _rank(found) < _rank(best[cell]):
                best[cell] = found
    made = []
    for number in published.drop_duplicates(["table", "row", "column"]).itertuples():
        place = (number.table, number.row, number.column)
        found = best.get(cell_name(*place), {"verdict": WITHOUT, "reason": NOT_MADE})
        if found["verdict"] == WITHOUT:
            never = reason_of(reasons, *place, number.note)
            found = found | {"reason": _both(never, found["reason"])}
        labels = dict(zip(("table", "row", "column"), place, strict=True))
        made.append({"benchmark": benchmark, **labels, "published": number.value, **found})
    return pd.DataFrame(made, columns=list(COLUMNS))


def _both(never: str | None, ours: str) -> str:
    """The reason why no run has a verdict, if any, and then those of this run, each once."""
    if never and ours == NOT_MADE:
        return never
    return "; ".join(dict.fromkeys([*([never] if never else []), *ours.split("; ")]))


def _rank(found: Mapping[str, Any]) -> tuple[bool, bool, bool, int]:
    """A verdict comes first, then a number of ours, then what has the fewest reasons against it.

    A count of tokens that is the paper's in one of the run's tokenizers is so in any order of these.
    """
    no_value = found["value"] != found["value"]
    differs = found["verdict"] == "differs"
    return found["verdict"] == WITHOUT, differs, no_value, found["reason"].count(";")


def _cells(
    name: str, frame: pd.DataFrame, benchmark: str, shown: Mapping[str, set[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
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
            yield (
                row[column],
                {
                    "value": row[statistic or "value"],
                    **{"ci_low": low, "ci_high": high, "verdict": verdict, "reason": reason},
                    "result": name,
                    "link": _link(benchmark, row, shown),
                },
            )


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
    """How many numbers of each printed table have which verdict, or which reason."""
    found = table.fillna({"reason": ""})
    by = ["benchmark", "table", "verdict", "reason"]
    return found.groupby(by, sort=False).size().rename("n").reset_index()


def summary(table: pd.DataFrame) -> str:
    """How many of the printed numbers are covered; without any verdict the reason that most of them have."""
    judged = table[table["verdict"].isin(JUDGED)]
    if judged.empty:
        why = table["reason"].value_counts()
        most = f", most often because {why.index[0]}" if len(why) else ""
        return f"None of the {len(table):,} printed numbers can be compared with this run{most}."
    covered = int(judged["verdict"].isin(COVERED).sum())
    left = len(table) - len(judged)
    return f"{covered:,} of {len(judged):,} printed numbers are covered; {left:,} more have no verdict."


def agreements(printed: pd.DataFrame) -> list[Agreement]:
    """How our numbers compare with those that a paper prints, table by table.

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
