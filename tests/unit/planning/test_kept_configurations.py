"""Configurations mean what they meant: journals, parameters and identities hold their values."""

from __future__ import annotations

from typing import Any

import pytest

from kept_configurations import kept, made, with_difference

KEPT = kept()


def without_later_keys(now: Any, before: Any) -> Any:
    """`now` without the keys that `before` lacks."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {k: without_later_keys(now[k], before[k]) for k in now if k in before}
    return now


@pytest.mark.parametrize("name", [None, *KEPT["cases"]])
def test_a_configuration_has_the_values_that_were_kept(name, root, monkeypatch) -> None:
    monkeypatch.chdir(root)
    case = KEPT["cases"][name] if name else {"given": None, "differs": {}}
    before = with_difference(KEPT["validated"], case["differs"])
    now = made(KEPT["demo"], case["given"])
    assert without_later_keys(now, before) == before
