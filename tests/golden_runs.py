"""Golden runs: each benchmark's results from fixed scores, all their CSVs kept in tests/golden.

    python tests/golden_runs.py              writes the files of all benchmarks anew
    python tests/golden_runs.py m4le         of one

tests/golden/README.md says when a file may change. The scores are `golden()` of each of `factories`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "workflow/scripts")]

from needlework.benchmarks.benchmark import load_benchmark  # noqa: E402
from needlework.benchmarks.parts import names  # noqa: E402
from needlework.results import published  # noqa: E402
from needlework.results.result import Context  # noqa: E402

FOLDER = ROOT / "tests/golden"
# What numbers are written with, and how far two of them may lie apart.
DIGITS, NEAR = 6, 2e-5
# Cells of a file that a message names.
NAMED = 12


@cache
def _run(benchmark: str) -> tuple[Mapping[str, pd.DataFrame], Mapping[str, Any], pd.DataFrame]:
    """The rows by what results need, the run, and the paper's numbers."""
    rows, run = import_module(f"factories.{benchmark}").golden()
    paper = published.load(ROOT / f"resources/published/{benchmark}.csv")
    return {**rows, "published": paper}, run, paper


@cache
def table(benchmark: str, result: str) -> pd.DataFrame:
    """The numbers of a result from the fixed scores. Not to be changed."""
    rows, _, _ = _run(benchmark)
    return changed(benchmark, result, rows[load_benchmark(benchmark).by_name[result].needs])


def changed(benchmark: str, result: str, rows: pd.DataFrame, **run: Any) -> pd.DataFrame:
    """The numbers of a result from other rows, in a run of which this differs."""
    _, own, paper = _run(benchmark)
    return load_benchmark(benchmark).by_name[result](rows, Context(paper, {**own, **run}))


def run(benchmark: str) -> Mapping[str, Any]:
    """The run of the fixed scores."""
    return _run(benchmark)[1]


def paper(benchmark: str) -> pd.DataFrame:
    """The paper's numbers."""
    return _run(benchmark)[2]


def scores(benchmark: str) -> pd.DataFrame:
    """The fixed scores. Not to be changed."""
    return _run(benchmark)[0]["scores"]


def made(benchmark: str, result: str) -> str:
    """The CSV of a result from the fixed scores."""
    found = table(benchmark, result)
    return found.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")


def kept(benchmark: str, result: str) -> str:
    """The committed CSV of a result."""
    return (FOLDER / benchmark / f"{result}.csv").read_text(encoding="utf-8")


def differences(expected: str, found: str) -> list[str]:
    """What two CSVs differ in: columns, rows by their first columns, and cells by row and column."""
    old, new = (
        pd.read_csv(StringIO(text), dtype=str, keep_default_na=False) for text in (expected, found)
    )
    if list(old) != list(new):
        return [f"columns: expected {', '.join(old)}; found {', '.join(new)}"]
    keys = _keys(old)
    rows = [_by_key(frame, keys) for frame in (old, new)]
    said = [f"the row {key} is missing" for key in rows[0] if key not in rows[1]]
    said += [f"the row {key} is new" for key in rows[1] if key not in rows[0]]
    for key in (key for key in rows[0] if key in rows[1]):
        said += [f"{key}, {cell}" for cell in _cells(rows[0][key], rows[1][key])]
    if not said and list(rows[0]) != list(rows[1]):
        said.append("the rows stand in another order")
    return said


def _keys(frame: pd.DataFrame) -> list[str]:
    """The first columns, as many as tell the rows apart."""
    columns = list(frame)
    for n in range(1, len(columns)):
        if not frame.duplicated(columns[:n]).any():
            return columns[:n]
    return columns


def _by_key(frame: pd.DataFrame, keys: list[str]) -> dict[str, dict[str, str]]:
    """The rows by the text of these columns."""
    labelled = frame[keys].to_dict("records")
    texts = [", ".join(f"{k}={v}" for k, v in one.items() if v) for one in labelled]
    return dict(zip(texts, frame.to_dict("records"), strict=True))


def _cells(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for column, value in old.items():
        if not _same(value, new[column]):
            yield f"{column}: expected {value or 'nothing'}, found {new[column] or 'nothing'}"


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=NEAR, abs_tol=1e-12)
    except ValueError:
        return False


def message(benchmark: str, result: str) -> str:
    """What differs in a result, with what to do; "" if nothing does."""
    said = differences(kept(benchmark, result), made(benchmark, result))
    if not said:
        return ""
    more = [f"... and {len(said) - NAMED} more"] if len(said) > NAMED else []
    lines = "\n  ".join([*said[:NAMED], *more])
    return (
        f"tests/golden/{benchmark}/{result}.csv: {len(said)} differences\n  {lines}\n"
        "If they are meant, see tests/golden/README.md."
    )


def main() -> None:
    """Write the files of these benchmarks, and remove those of results that are gone."""
    for benchmark in sys.argv[1:] or names():
        (FOLDER / benchmark).mkdir(parents=True, exist_ok=True)
        results = [result.name for result in load_benchmark(benchmark).results]
        for path in (FOLDER / benchmark).glob("*.csv"):
            if path.stem not in results:
                path.unlink()
        for result in results:
            path = FOLDER / benchmark / f"{result}.csv"
            path.write_text(made(benchmark, result), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
