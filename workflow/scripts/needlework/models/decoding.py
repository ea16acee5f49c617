"""How a model decodes, in words: a paper's number holds for one way of decoding."""

from __future__ import annotations

from needlework.entry import Entry

GREEDY = "greedy"
_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p"}


def decoding(entry: Entry) -> str:
    """GREEDY, or the values with which a model of the configuration is sampled.

    Fields of `request` override `sampling`, as they do at the endpoint. With a null temperature the
    endpoint chooses.
    """
    values = {**entry["sampling"], **entry.get("request", {})}
    if values["temperature"] is None:
        return "the endpoint's own"
    if values["temperature"] == 0:
        return GREEDY
    return ", ".join(f"{_NAMES[key]} {values[key]:g}" for key in _NAMES if values[key] is not None)
