"""Configurations mean what they meant: journals, parameters and identities hold their values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kept_configurations import FILE, made, with_difference

KEPT = json.loads(FILE.read_text(encoding="utf-8"))


def without_later_keys(now: Any, before: Any) -> Any:
    """`now` without the keys that `before` lacks."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {k: without_later_keys(now[k], before[k]) for k in now if k in before}
    return now


# Keys that went since they were kept.
GONE = (("records",), ("run", "limit"))


def without_gone(config: Any) -> Any:
    """A configuration without the keys that went; a number as `run.limit` stays."""
    for *blocks, key in GONE:
        block = config
        for name in blocks:
            block = block.get(name, {})
        if isinstance(block.get(key), dict):
            del block[key]
    return config


@pytest.mark.parametrize("name", [None, *KEPT["cases"]])
def test_a_configuration_has_the_values_that_were_kept(
    name: str | None, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    case = KEPT["cases"][name] if name else {"given": {}, "differs": {}}
    before = without_gone(with_difference(KEPT["validated"], case["differs"]))
    now = made(without_gone(KEPT["demo"]), without_gone(case["given"]))
    assert without_later_keys(now, before) == before
