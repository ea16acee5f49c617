"""Configurations over one another: the demo's, the user's files, and the values of the command line."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from needlework.planning.configuration import BENCHMARKS
from needlework.planning.json_schema import Node, alternative, schema, values


def layered(demo: Mapping[str, Any], given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The demo's configuration with the user's configuration files over it, in order.

    The demo's settings of a benchmark are those of the embedded sample. If the user chooses other data for
    the benchmark, none of the demo's settings of this benchmark is kept. If the user's entry of the same
    name, such as a model, is another one (keys `backend`, `kind` and `name`), none of the demo's entry is
    kept.
    """
    found = copy.deepcopy(dict(demo))
    files = [each for each in given if isinstance(each, Mapping)]
    for name, usual in _choosing_data().items():
        sample = found["benchmarks"].get(name, {})
        if _differs(
            files, "benchmarks", name, usual | {k: sample[k] for k in usual if k in sample}
        ):
            found["benchmarks"].pop(name, None)
    for registry in ("models", "tokenizers", "embedders", "translators"):
        for name, entry in list(found.get(registry, {}).items()):
            if _differs(
                files, registry, name, {k: entry.get(k) for k in ("backend", "kind", "name")}
            ):
                del found[registry][name]
    for each in files:
        _merge(found, each)
    return found


def _choosing_data() -> dict[str, dict[str, Any]]:
    """The defaults of the keys of each benchmark that choose its data."""
    found: dict[str, dict[str, Any]] = {name: {} for name in BENCHMARKS}
    for name, own in BENCHMARKS.items():
        for key, field in own.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra.get("chooses_data"):
                found[name][key] = to_jsonable_python(field.default)
    return found


def _differs(
    files: Iterable[Mapping[str, Any]], section: str, name: str, usual: Mapping[str, Any]
) -> bool:
    """Whether one of the user's files has other values of the `usual` keys in the block of this name."""
    return any(
        own.get(key, value) != value
        for each in files
        for own in [block(each, section, name)]
        for key, value in usual.items()
    )


def block(given: Mapping[str, Any], section: str, name: str) -> Mapping[str, Any]:
    """The block with this name in a section of a file, such as `models`; empty if there is none."""
    blocks = given.get(section)
    own = blocks.get(name) if isinstance(blocks, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Lay `other` over `into` as Snakemake does: mappings key by key, all else replaced."""
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


# Values of the command line


def command_line_values(arguments: Iterable[str]) -> dict[str, Any]:
    """The values that `--config` sets (words such as `run={limit: 2}`), with the types that the schema has.

    Snakemake itself reads everything but single numbers as text.
    """
    import yaml

    found: dict[str, Any] = {}
    for argument in arguments:
        key, _, text = argument.partition("=")
        try:
            value = yaml.load(text, yaml.BaseLoader) if text else None  # noqa: S506
        except yaml.YAMLError:
            value = text
        found[key] = read_as(value, schema()["properties"].get(key, {}))
    return found


def read_as(value: Any, node: Mapping[str, Any]) -> Any:
    """A value whose parts are texts, with the types of a node of the schema.

    A text becomes a number, for example, if the node takes numbers.
    """
    if isinstance(value, Mapping):
        keys: dict[str, Any] = {}
        chosen = alternative(node, value)
        for choice in [chosen] if chosen else _with_alternatives(node):
            keys = {**keys, **choice.get("properties", {})}
        others = node.get("additionalProperties")
        others = others if isinstance(others, Mapping) else {}
        return {key: read_as(item, keys.get(key, others)) for key, item in value.items()}
    if isinstance(value, list):
        items: Mapping[str, Any] = next(
            (n["items"] for n in _with_alternatives(node) if "items" in n), {}
        )
        return [read_as(item, items) for item in value]
    return value if value is None else _scalar(value, _with_alternatives(node))


def _with_alternatives(node: Mapping[str, Any]) -> list[Node]:
    return [node, *node.get("oneOf", ())]


def _scalar(text: str, nodes: Iterable[Mapping[str, Any]]) -> Any:
    """A text as YAML reads it, if one of the nodes takes a value of that type, else as it is."""
    import yaml

    try:
        value = yaml.safe_load(text) if text else text
    except (yaml.YAMLError, ValueError):
        return text
    if isinstance(value, str):
        try:
            # YAML reads an exponent only with a point and a sign.
            number = float(text)
        except ValueError:
            return text
    else:
        number = value
    kinds = {
        "string": str,
        "boolean": bool,
        "null": type(None),
        "integer": int,
        "number": int | float,
    }
    for node in nodes:
        types = node.get("type", ())
        types = {types} if isinstance(types, str) else {*types}
        if value in values(node) or not (types or "oneOf" in node or values(node)):
            return value
        for kind in types - {"string", "array", "object"}:
            if isinstance(number, kinds[kind]) and isinstance(number, bool) == (kind == "boolean"):
                return number
    return text
