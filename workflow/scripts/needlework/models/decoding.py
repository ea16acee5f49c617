"""How a model chooses its tokens, in words: a paper's number is of one way of decoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GREEDY = "greedy"
_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p"}


def decoding(entry: Mapping[str, Any]) -> str:
    """GREEDY, or the values with which a model of the configuration is sampled.

    What `request` sends in place of `sampling` counts, as it does for the endpoint; a null temperature
    leaves the choice to the endpoint.
    """
    values = {**entry["sampling"], **entry.get("request", {})}
    if values["temperature"] is None:
        return "the endpoint's own"
    if values["temperature"] == 0:
        return GREEDY
    return ", ".join(f"{_NAMES[key]} {values[key]:g}" for key in _NAMES if values[key] is not None)
