"""From scores to cells: which answers count, their mean, its certainty, and the paper's number beside it.

The tables and figures of all benchmarks share this. Rows are arrays, since slices of frames are slow and
tables have many cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from needlework import seeding
from needlework.answer_states import ERROR, LENGTH, SKIPPED, UNANSWERED, UNKNOWN
from needlework.results import published as publications
from needlework.results import stats
from needlework.results.columns import MCNEMAR, Compared

if TYPE_CHECKING:
    import pandas as pd

# Answers that are counted apart, by their finish reasons.
LOST = {"skipped": SKIPPED, "error": ERROR, "cut": LENGTH}
# The same by their outcomes (`answer_states`); prompts that a server cut and requests that it refused are
# among the failed ones.
OUTCOMES = ("empty", "prompt_cut", "refused")


def judged(scores: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """A mask of the rows with an answer. Skipped and failed requests say nothing about a model."""
    reasons = scores["finish_reason"].to_numpy(dtype=object)
    value = scores["value"].to_numpy(dtype=np.float64)
    return ~np.isin(reasons, UNANSWERED) & ~np.isnan(value)


def kept(rows: pd.DataFrame, mask: npt.ArrayLike) -> pd.DataFrame:
    """The rows at which `mask` is true.

    If it is true everywhere, `rows` itself is returned, since copies are slow.
    """
    held = np.asarray(mask, dtype=bool)
    return rows if held.all() else rows[held]


def paired(one: pd.DataFrame, two: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The prompts that both models answered, with the columns `value_first` and `value_second`.

    Two answers are paired if the columns `by` are equal. So their prompts are the same, or differ only in the
    compared factor.
    """
    one, two = kept(one, judged(one)), kept(two, judged(two))
    mine, theirs = _keys(one, by), dict(zip(_keys(two, by), two["value"].tolist(), strict=True))
    if len(theirs) < len(two) or len(set(mine)) < len(mine):
        raise ValueError(f"two answers are of one prompt, by {' '.join(by)}")
    # Of the few rows of a cell, `merge` takes twice as long.
    both = one[np.array([key in theirs for key in mine], dtype=bool)].reset_index(drop=True)
    second = np.array([theirs[key] for key in mine if key in theirs], dtype=np.float64)
    return both.rename(columns={"value": "value_first"}).assign(value_second=second)


def _keys(rows: pd.DataFrame, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of these columns, a tuple a row; None where there is none."""
    found = []
    for column in (rows[name] for name in by):
        none = column.isna()
        found.append((column.astype(object).where(~none, None) if none.any() else column).tolist())
    return list(zip(*found, strict=True))


def mcnemar(both: pd.DataFrame) -> dict[str, float | int]:
    """The columns MCNEMAR of the result of `paired`. Without pairs, p is NaN."""
    test = stats.mcnemar(both["value_first"].to_numpy(), both["value_second"].to_numpy())
    p = test.p if test.n else math.nan
    return dict(zip(MCNEMAR, (test.first_only, test.second_only, p), strict=True))


def difference_bounds(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """The least and the greatest possible value of the second mean less the first."""
    return {
        "lowest": second["lowest"] - first["highest"],
        "highest": second["highest"] - first["lowest"],
    }


def contrast(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """The second cell's mean less the first's, with Newcombe's interval (from both cells' intervals)."""
    made = {"value": second["value"] - first["value"]}
    for kind in ("", "_independent"):
        low, high = f"ci_low{kind}", f"ci_high{kind}"
        down = np.hypot(second["value"] - second[low], first[high] - first["value"])
        up = np.hypot(second[high] - second["value"], first["value"] - first[low])
        made |= {low: max(-1.0, made["value"] - down), high: min(1.0, made["value"] + up)}
    counts = {name: first[name] + second[name] for name in first if name.startswith("n")}
    if "value_all" in first:
        made["value_all"] = second["value_all"] - first["value_all"]
    return {
        **made,
        **difference_bounds(first, second),
        "se_independent": float(np.hypot(first["se_independent"], second["se_independent"])),
        **counts,
        "n_questions": max(first["n_questions"], second["n_questions"]),
    }


def compared(
    cell: Mapping[str, float | int],
    number: publications.PrintedNumber | None,
    obstacle: str | None,
    digits: int | None = None,
) -> Compared:
    """COMPARISON of a cell with a published number, by the interval over questions or by equal digits.

    If answers are missing, a mean is not compared, since it is a mean of other prompts.
    """
    published = None if number is None else number.value
    if digits is None:
        missing = cell["n_skipped"] + cell["n_error"]
        if missing > 0:
            obstacle = f"{missing:,} answers are missing"
        ends = float(cell["ci_low"]), float(cell["ci_high"])
        found = publications.compare(float(cell["value"]), *ends, published, obstacle)
    else:
        found = publications.equal(cell["value"], number, digits, obstacle)
    return {
        "published": published,
        "published_n": number.n if number else None,
        "published_cell": number.cell if number else None,
        "comparison": found,
    }


def differences(setup: Mapping[str, object], paper: Mapping[str, object]) -> list[str]:
    """Descriptions of the settings that differ from the paper's. Settings that `paper` lacks are ignored."""
    return [
        f"{key} is {_plain(value)}, in the paper {_plain(paper[key])}"
        for key, value in setup.items()
        if key in paper and value != paper[key]
    ]


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def apart(table: pd.DataFrame, where: npt.ArrayLike, column: str) -> pd.DataFrame:
    """The table with the values of some rows, which are another quantity, in a column of their own.

    `where` selects the rows. The paper's number moves to `published_<column>` and `published_cell_<column>`.
    """
    mask = np.asarray(where, dtype=bool)
    moved = {"value": column, "published": f"published_{column}"}
    moved["published_cell"] = f"published_cell_{column}"
    made = table.assign(**{new: table[old].where(mask) for old, new in moved.items()})
    made = made.assign(**{old: table[old].mask(mask) for old in moved})
    said = table["comparison"].mask(mask & table["comparison"].eq("differs"), f"differs: {column}")
    made = made.assign(comparison=said)
    order = [name for old in table for name in (old, *([moved[old]] if old in moved else []))]
    return made[list(dict.fromkeys(order))]


def frame(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """A tidy table with `columns`. Counts are whole numbers, and missing where there are none."""
    import pandas as pd

    return counted(pd.DataFrame(rows, columns=list(columns)))


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with whole numbers in columns of counts."""
    counts = [n for n in table if n == "n" or str(n).startswith("n_") or str(n).endswith("_n")]
    return table.astype(dict.fromkeys(counts, "Int64"))


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
        """The result of `make` for the whole frame. It is made once for all parts."""
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
        """The part's rows as a frame. For a single column, `column` is faster."""
        return self.table.frame.iloc[self.places]

    def column(self, name: str) -> pd.Series:
        """A column of the part's rows."""
        return self.table.frame[name].iloc[self.places]

    def codes(self, column: str) -> Places:
        """`Table.codes` of the part's rows."""
        return self.table.codes(column)[0][self.places]

    def values(self, column: str) -> list[Any]:
        """The values of a column, each once, sorted; rows without a value have none."""
        _, values = self.table.codes(column)
        present = np.flatnonzero(np.bincount(self.codes(column) + 1))
        return [values[code - 1] for code in present if code > 0]

    def array(self, name: str, make: Callable[[pd.DataFrame], npt.ArrayLike]) -> npt.NDArray[Any]:
        """`Table.array` of the part's rows."""
        return self.table.array(name, make)[self.places]

    def where(self, mask: npt.NDArray[np.bool_]) -> Part:
        """The rows at which `mask` is true; `mask` has one truth value per row of this part."""
        return Part(self.table, self.places[mask])

    def split(self, column: str) -> dict[Hashable, Part]:
        """One part per value of a column. The key of rows without a value is None."""
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
        """The rows that have an answer (`judged`)."""
        return self.where(self.array("given", judged))

    def measure(self, strata: str = "", counted: Part | None = None) -> dict[str, float | int]:
        """The columns `columns.MEASURES` of this part.

        With `strata`, they are of the mean of this column's means. `counted` are the rows that enter the
        mean; by default, all rows with an answer.
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
        """Two means: if every skipped or failed answer were wrong, and if every one were right."""
        counted = self.given if counted is None else counted
        both = counted.joined(self.where(~self.array("given", judged)))
        low, high = stats.bounds(
            both.array("value", lambda frame: frame["value"].astype(float)),
            ~both.array("given", judged),
            both.codes(strata) if strata else None,
        )
        return {"lowest": low, "highest": high}

    def joined(self, other: Part) -> Part:
        """The rows of both, in the table's order."""
        return Part(self.table, np.sort(np.concatenate([self.places, other.places])))

    def lost(self) -> dict[str, float | int]:
        """Counts of requests without an answer, and of cut and empty answers (`LOST`, `OUTCOMES`).

        If it is not known why some answers ended, the number of cut answers is NaN. Scores that were made by
        hand may lack the column `outcome`; then these counts are 0.
        """
        counts = self._counts("finish_reason")
        found: dict[str, float | int] = {
            f"n_{kind}": counts.get(why, 0) for kind, why in LOST.items()
        }
        if counts.get(UNKNOWN):
            found["n_cut"] = np.nan
        counts = self._counts("outcome") if "outcome" in self.table.frame else {}
        return found | {f"n_{kind}": counts.get(kind, 0) for kind in OUTCOMES}

    def _counts(self, column: str) -> dict[Any, int]:
        """How many rows have each value of a column."""
        _, values = self.table.codes(column)
        found = np.bincount(self.codes(column) + 1)[1:].tolist()
        return dict(zip(values, found, strict=False))


def difference(
    one: Part, two: Part, both: pd.DataFrame, strata: str = ""
) -> dict[str, float | int]:
    """`columns.MEASURES` of the second less the first, and MCNEMAR.

    `both` are the pairs of `paired`. Lost answers are counted in `one` and `two` together.
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
        ends = difference_bounds(one.bounds(strata), two.bounds(strata))
    return {**vars(found), **missing, **ends, **mcnemar(both)}


DRAWS = 2000
MOST_KEPT = 1000
"""Rows; samples of so many take 16 MB."""
# Of a matrix, one row a sum of statistics: a value in [0, 1] a row.
OfSums: TypeAlias = Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]]


def measure_of_sums(part: Part, column: str, value_of: OfSums) -> dict[str, float | int]:
    """MEASURES of a function of summed statistics, such as the BLEU of a corpus.

    `column` of the scores has a list of numbers per answer, all of one length. Both intervals are
    `stats.percentiles` of a bootstrap, over answers and over questions; `se` is the bootstrap's over answers.
    If all samples have the same value (for example because no 4-gram is right), the intervals are Clopper and
    Pearson's of that value. `lowest` and `highest` are NaN if an answer is missing, since its contribution to
    the sums is not known.
    """
    given = part.given
    measured: dict[str, float | int] = {
        "n": len(given),
        "n_questions": len(given.values("example_id")),
        **part.lost(),
    }
    measured |= dict.fromkeys(("lowest", "highest"), np.nan)
    ends = ("ci_low_independent", "ci_high_independent", "ci_low", "ci_high")
    if not len(given):
        return {
            "value": np.nan,
            "se_independent": np.nan,
            **dict.fromkeys(ends, np.nan),
            **measured,
        }
    rows = np.array(given.column(column).tolist(), dtype=np.float64)
    codes = given.table.codes("example_id")[0][given.places]
    questions = np.zeros((codes.max() + 1, rows.shape[1]))
    np.add.at(questions, codes, rows)
    answers = _drawn(rows, value_of)
    clustered = _drawn(questions[np.unique(codes)], value_of)
    intervals = [*_interval(answers, len(rows)), *_interval(clustered, measured["n_questions"])]
    value = float(value_of(rows.sum(axis=0, keepdims=True))[0])
    if len(given) == len(part):
        measured |= {"lowest": value, "highest": value}
    return {
        "value": value,
        "se_independent": float(answers.std()),
        **dict(zip(ends, map(float, intervals), strict=True)),
        **measured,
    }


def _drawn(rows: npt.NDArray[np.float64], value_of: OfSums) -> npt.NDArray[np.float64]:
    """The values of samples of the rows, drawn with replacement."""
    n = len(rows)
    return value_of((_kept_times(n) if n <= MOST_KEPT else _times(n)) @ rows)


def _interval(drawn: npt.NDArray[np.float64], n: float) -> tuple[float, float]:
    """The interval of what was drawn of `n` answers or questions."""
    if drawn.min() == drawn.max():
        return stats.clopper_pearson(float(drawn[0]), n)
    return stats.percentiles(drawn, int(n))


def _times(n: int) -> npt.NDArray[np.int64]:
    """How often each of n rows is in each of DRAWS samples."""
    return seeding.rng("bootstrap", "sums", n).multinomial(n, np.full(n, 1 / n), size=DRAWS)


# Cells of a benchmark have as many rows as each other: the same samples serve them all.
_kept_times = lru_cache(maxsize=4)(_times)
