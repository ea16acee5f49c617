"""How many answers and scores a condition changes: the numbers of `models.repeatability`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.models.repeatability import REFERENCE
from needlework.results.stats import wilson


def compare(
    answers: Mapping[str, pa.Table], values: Mapping[str, Sequence[Sequence[float]]]
) -> list[dict[str, Any]]:
    """For each condition but the reference: how many answers and scores differ from it, with intervals.

    `answers` are tables in the same order, `values` the scores of all of an answer's metrics in a row.
    An answer that failed or was skipped under either condition is not compared.
    """
    rows = []
    reference = answers[REFERENCE].to_pylist()
    for name, table in answers.items():
        if name == REFERENCE:
            continue
        pairs = [
            (a["text"] != b["text"], u != v)
            for a, b, u, v in zip(
                reference, table.to_pylist(), values[REFERENCE], values[name], strict=True
            )
            if a["error"] is None and b["error"] is None
        ]
        row: dict[str, Any] = {"condition": name, "n": len(pairs)}
        for kind, place in (("answers", 0), ("scores", 1)):
            changed = sum(pair[place] for pair in pairs)
            share = changed / len(pairs) if pairs else float("nan")
            low, high = wilson(share, len(pairs))
            row |= {
                f"{kind}_changed": changed,
                f"{kind}_share": share,
                f"{kind}_ci_low_independent": low,
                f"{kind}_ci_high_independent": high,
            }
        rows.append(row)
    return rows
