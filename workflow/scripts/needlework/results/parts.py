"""Rows of scores and parts of them as arrays, since slices of frames are slow and tables have many cells."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from needlework.models.accounts import UNKNOWN
from needlework.results import cells, stats

if TYPE_CHECKING:
    import pandas as pd

Places = npt.NDArray[np.intp]


class Table:
    """The rows that the cells of a view are made of."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._codes: dict[str, tuple[Places, list[Any]]] = {}
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def codes(self, column: str) -> tuple[Places, list[Any]]:
        """Each row's value as a number (-1: none), and the values by number, sorted."""
        import pandas as pd

        if column not in self._codes:
            series = self.frame[column]
            kind = series.dtype
            in_order = (
                kind.categories.is_monotonic_increasing
                if isinstance(kind, pd.CategoricalDtype)
                else isinstance(kind, np.dtype) and kind.kind in "biuf"
            )
            # As plain Python values, unless these are sorted and printed alike.
            if not in_order:
                series = series.astype(object)
            codes, found = pd.factorize(series, sort=True)
            values = found.tolist()
            # Whole numbers of which some are missing come as floats.
            if all(isinstance(value, float) and value.is_integer() for value in values):
                values = [int(value) for value in values]
            self._codes[column] = codes, values
        return self._codes[column]

    def array(self, name: str, make: Callable[[pd.DataFrame], npt.ArrayLike]) -> npt.NDArray[Any]:
        """What `make` gives for the whole frame, made once for all parts."""
        if name not in self._arrays:
            self._arrays[name] = np.asarray(make(self.frame))
        return self._arrays[name]

    def all(self) -> Part:
        """All rows as one part."""
        return Part(self, np.arange(len(self.frame)))


class Part:
    """Some rows of a table, by their places."""

    def __init__(self, table: Table, places: Places) -> None:
        self.table, self.places = table, places

    def __len__(self) -> int:
        return len(self.places)

    @property
    def frame(self) -> pd.DataFrame:
        """These rows as a frame. One column of them is `column`, which is faster."""
        return self.table.frame.iloc[self.places]

    def column(self, name: str) -> pd.Series:
        """A column of these rows."""
        return self.table.frame[name].iloc[self.places]

    def codes(self, column: str) -> Places:
        """`Table.codes` of these rows."""
        return self.table.codes(column)[0][self.places]

    def values(self, column: str) -> list[Any]:
        """The values of a column, each once, sorted; rows without a value have none."""
        _, values = self.table.codes(column)
        present = np.flatnonzero(np.bincount(self.codes(column) + 1))
        return [values[code - 1] for code in present if code > 0]

    def array(self, name: str, make: Callable[[pd.DataFrame], npt.ArrayLike]) -> npt.NDArray[Any]:
        """`Table.array` of these rows."""
        return self.table.array(name, make)[self.places]

    def where(self, mask: npt.NDArray[np.bool_]) -> Part:
        """The rows at which `mask`, one truth a row of this part, holds."""
        return Part(self.table, self.places[mask])

    def split(self, column: str) -> dict[Hashable, Part]:
        """A part for each value of a column; rows without a value are at None."""
        values, own = self.table.codes(column)[1], self.codes(column)
        order = np.argsort(own, kind="stable")
        found = own[order]
        starts = [0, *(np.flatnonzero(np.diff(found)) + 1).tolist(), len(found)]
        return {
            None if (code := found[start]) < 0 else values[code]: Part(
                self.table, self.places[order[start:end]]
            )
            for start, end in pairwise(starts)
            if start < end
        }

    @cached_property
    def given(self) -> Part:
        """The rows that have an answer (`cells.judged`)."""
        return self.where(self.array("given", cells.judged))

    def measure(self, strata: str = "", counted: Part | None = None) -> dict[str, float | int]:
        """`columns.MEASURES`; of the mean of a column's means with `strata`.

        `counted` are the rows that are in the mean, where these are not all that have an answer.
        """
        counted = self.given if counted is None else counted
        estimate = stats.estimate(
            counted.array("value", lambda frame: frame["value"].astype(float)),
            counted.codes("example_id"),
            counted.codes(strata) if strata else None,
        )
        ends = {"lowest": estimate.value, "highest": estimate.value}
        if len(self.given) < len(self):
            ends = self.bounds(strata, counted)
        return {**vars(estimate), **self.lost(), **ends}

    def bounds(self, strata: str = "", counted: Part | None = None) -> dict[str, float]:
        """The mean if every skipped or failed answer were wrong, and if every one were right."""
        counted = self.given if counted is None else counted
        both = counted.joined(self.where(~self.array("given", cells.judged)))
        low, high = stats.bounds(
            both.array("value", lambda frame: frame["value"].astype(float)),
            ~both.array("given", cells.judged),
            both.codes(strata) if strata else None,
        )
        return {"lowest": low, "highest": high}

    def joined(self, other: Part) -> Part:
        """The rows of both, in the table's order."""
        return Part(self.table, np.sort(np.concatenate([self.places, other.places])))

    def lost(self) -> dict[str, float | int]:
        """How many requests have no answer, or one that is cut or empty, by `cells.LOST` and `OUTCOMES`.

        How many are cut is NaN where it is not known why some answers ended.
        Scores that were made by hand may lack the column `outcome`: then these counts are 0.
        """
        counts = self._counts("finish_reason")
        found: dict[str, float | int] = {
            f"n_{kind}": counts.get(why, 0) for kind, why in cells.LOST.items()
        }
        if counts.get(UNKNOWN):
            found["n_cut"] = np.nan
        counts = self._counts("outcome") if "outcome" in self.table.frame else {}
        return found | {f"n_{kind}": counts.get(kind, 0) for kind in cells.OUTCOMES}

    def _counts(self, column: str) -> dict[Any, int]:
        """How many rows have each value of a column."""
        _, values = self.table.codes(column)
        found = np.bincount(self.codes(column) + 1)[1:].tolist()
        return dict(zip(values, found, strict=False))


def difference(
    one: Part, two: Part, both: pd.DataFrame, strata: str = ""
) -> dict[str, float | int]:
    """`columns.MEASURES` of the second less the first over what `cells.paired` gives as `both`, and MCNEMAR.

    The counts of lost answers are those of `one` and `two`.
    """
    found = stats.paired_difference(
        both["value_first"].to_numpy(),
        both["value_second"].to_numpy(),
        both["example_id"].to_numpy(),
        both[strata].to_numpy() if strata else None,
    )
    missing = {name: n + two.lost()[name] for name, n in one.lost().items()}
    ends = {"lowest": found.value, "highest": found.value}
    if missing["n_skipped"] + missing["n_error"]:
        ends = cells.difference_bounds(one.bounds(strata), two.bounds(strata))
    return {**vars(found), **missing, **ends, **cells.mcnemar(both)}
