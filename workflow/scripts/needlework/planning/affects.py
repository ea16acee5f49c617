"""What each key of the configuration affects, as its schema says (keyword `affects`).

A key without the keyword affects what its section says. From this follow the parameters of jobs: what
affects only speed makes nothing anew.

| `affects` | |
|---|---|
| files | which files are downloaded or read |
| prompts | prompts, and all that comes after |
| answers | a model's answers |
| scores | scores of answers, and translations |
| results | tables and figures |
| speed | how fast, or with how much memory |
| place | where a model or a file is reached |
| nothing | estimates, keys |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from needlework.planning.schema import alternative, schema


def affecting(section: str, entry: Mapping[str, Any], *kinds: str) -> dict[str, Any]:
    """The keys of an entry that affect one of `kinds`.

    `section` is its place in the configuration, such as "models" or "sources.mmarco"; entries of a
    registry have their schema there.
    """
    return _select(section, entry, lambda kind: kind in kinds)


def not_affecting(section: str, entry: Mapping[str, Any], *kinds: str) -> dict[str, Any]:
    """The keys of an entry that affect anything but `kinds`."""
    return _select(section, entry, lambda kind: kind not in kinds)


def _select(
    section: str, entry: Mapping[str, Any], wanted: Callable[[str], bool]
) -> dict[str, Any]:
    node = _node(section, entry)
    usual, keys = node.get("affects", ""), node.get("properties", {})
    return {
        key: value
        for key, value in entry.items()
        if wanted(keys.get(key, {}).get("affects", usual))
    }


def _node(section: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Mapping[str, Any] = schema()
    for name in section.split("."):
        node = node["properties"].get(name, {})
    node = node.get("additionalProperties") or node
    return alternative(node, entry) or node
