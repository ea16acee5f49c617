"""Tables that scores are made of, a few words a row: instances, answers and translations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from needlework.records import GENERATIONS, TRANSLATIONS


def instances(factors: Mapping[str, str], *rows: Mapping[str, Any]) -> pa.Table:
    """Rows with the columns that scoring reads and these factors, of which a row may lack some."""
    texts = ("instance_id", "task", "example_id")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in texts),
            ("references", pa.list_(pa.string())),
            *((name, pa.type_for_alias(kind)) for name, kind in factors.items()),
        ]
    )
    named = [{"example_id": f"example of {row['instance_id']}", **row} for row in rows]
    return pa.Table.from_pylist(named, schema=schema)


def generations(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (instance_id, text, finish_reason, sample, raw_text); all but two may be left out."""
    names = ("instance_id", "text", "finish_reason", "sample", "raw_text")
    usual = {"finish_reason": "stop", "sample": 0}
    given = [usual | dict(zip(names, row, strict=False)) for row in rows]
    return pa.Table.from_pylist(given, schema=GENERATIONS)


def translations(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (instance_id, text, sample), of which the last may be left out."""
    names = ("instance_id", "text", "sample")
    given = [{"sample": 0, "lang": "de"} | dict(zip(names, row, strict=False)) for row in rows]
    return pa.Table.from_pylist(given, schema=TRANSLATIONS)
