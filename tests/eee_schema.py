"""The published schemas of Every Eval Ever, to validate records with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).resolve().parents[2] / "shared/mirror/every_eval_ever"


@cache
def _validator(name: str, place: tuple[str, ...]) -> jsonschema.Draft7Validator:
    whole = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    node = whole
    for key in place:
        node = node[key]
    return jsonschema.Draft7Validator({**node, "$defs": whole.get("$defs", {})})


def errors(name: str, values: Iterable[Any], *place: str) -> list[str]:
    """What the schema `eval` or `instance_level_eval`, or a part of it, finds wrong."""
    check = _validator(name, place)
    return [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for value in values
        for error in check.iter_errors(value)
    ]
