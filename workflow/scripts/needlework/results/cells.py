"""From scores to cells: which answers count, their mean, its certainty, and the paper's number beside it.

What the tables and figures of all benchmarks share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from needlework.models.accounts import ERROR, LENGTH, SKIPPED, UNANSWERED
from needlework.results import published as publications
from needlework.results import stats
from needlework.results.columns import MCNEMAR

if TYPE_CHECKING:
    import pandas as pd

# Answers that are counted apart, by their finish reasons.
LOST = {"skipped": SKIPPED, "error": ERROR, "cut": LENGTH}
# The same by their outcomes (`models.accounts`); prompts that a server cut and requests that it refused are
# among the failed ones.
OUTCOMES = ("empty", "prompt_cut", "refused")


def judged(scores: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which answers were given: a skipped or failed request tells nothing of a model."""
    reasons = scores["finish_reason"].to_numpy(dtype=object)
    value = scores["value"].to_numpy(dtype=np.float64)
    return ~np.isin(reasons, UNANSWERED) & ~np.isnan(value)


def kept(rows: pd.DataFrame, mask: npt.ArrayLike) -> pd.DataFrame:
    """The rows at which `mask` holds: where it holds everywhere, `rows` itself, since copies are slow."""
    held = np.asarray(mask, dtype=bool)
    return rows if held.all() else rows[held]


def paired(one: pd.DataFrame, two: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The prompts of which both sides have an answer, with `value_first` and `value_second`.

    Two answers are of one prompt, or of two that differ in nothing but what is compared, where they
    agree in the columns `by`.
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
    """MCNEMAR of what `paired` gives; without any pair no p."""
    test = stats.mcnemar(both["value_first"].to_numpy(), both["value_second"].to_numpy())
    p = test.p if test.n else math.nan
    return dict(zip(MCNEMAR, (test.first_only, test.second_only, p), strict=True))


def difference_bounds(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """How small and how large the second less the first can be."""
    return {
        "lowest": second["lowest"] - first["highest"],
        "highest": second["highest"] - first["lowest"],
    }


def contrast(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second of two cells less the first, with Newcombe's interval from the intervals of both."""
    made: dict[str, Any] = {"value": second["value"] - first["value"]}
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
    number: publications.Number | None,
    obstacle: str | None,
    digits: int | None = None,
) -> dict[str, Any]:
    """COMPARISON of a cell with a published number: by the interval over questions, or to so many digits.

    A mean that lacks answers is a mean of other prompts: it is not compared.
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
        "published_n": number and number.n,
        "published_cell": number and number.cell,
        "comparison": found,
    }


def differences(setup: Mapping[str, object], paper: Mapping[str, object]) -> list[str]:
    """Where a run's settings are not the paper's, in words; those that `paper` lacks do not matter."""
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
    """The table with another quantity than its other values in a column of its own, where `where` holds.

    The paper's number moves with it, to `published_<column>` and `published_cell_<column>`.
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
    """A tidy table of these columns; counts are whole numbers, missing where there are none."""
    import pandas as pd

    return counted(pd.DataFrame(rows, columns=list(columns)))


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """The same with whole numbers in columns of counts."""
    counts = [n for n in table if n == "n" or str(n).startswith("n_") or str(n).endswith("_n")]
    return table.astype(dict.fromkeys(counts, "Int64"))
