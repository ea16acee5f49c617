"""The configuration's classes as JSON Schema (2020-12): for editors, the page of keys, and messages."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from needlework.data.corpora.registry import serving
from needlework.planning.configuration import Configuration, filled
from needlework.settings.base import Settings

Node = Mapping[str, Any]


@lru_cache(None)
def schema() -> dict[str, Any]:
    """The schema of the configuration, without the user's corpora.

    It has keywords of our own: `affects`, `chooses_data`, `path`, and `corpus` for the purpose that corpora
    serve.
    """
    made = Configuration.model_json_schema(schema_generator=_Generator)
    found: dict[str, Any] = _plain(made, made.pop("$defs"))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


class _Generator(GenerateJsonSchema):
    """As pydantic's, with the defaults of lists of blocks, and on what a block's keys have an effect."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made, own = super().model_schema(schema), schema["cls"]
        about = {"kind": made.pop("description", "")} | descriptions(own)
        for key in about.keys() & made.get("properties", {}).keys():
            made["properties"][key].setdefault("description", about[key])
        return {**made, **({"affects": own.affects} if getattr(own, "affects", None) else {})}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if "default_factory" in schema:
            make: Any = schema["default_factory"]
            value = make()
            shown = filled(value, None, with_defaults=False)
            made |= {} if isinstance(value, Settings) else {"default": shown}
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def descriptions(block: type) -> dict[str, str]:
    """The texts below the keys of a block's class, and of the classes that it extends."""
    found = dict(pair for base in block.__bases__ for pair in descriptions(base).items())
    if not issubclass(block, Settings):
        return {}
    for node in _module(inspect.getfile(block)).body:
        if isinstance(node, ast.ClassDef) and node.name == block.__name__:
            for key, text in pairwise(node.body):
                match key, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(said))):
                        found[name] = " ".join(said.split())
    return found


@lru_cache(None)
def _module(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _plain(node: Any, parts: Node) -> Any:
    """A part of pydantic's schema without references, and with a list of types instead of alternatives."""
    if isinstance(node, list):
        return [_plain(part, parts) for part in node]
    if not isinstance(node, Mapping):
        return int(node) if isinstance(node, float) and node.is_integer() else node
    if "$ref" in node:
        whole = parts[node["$ref"].rpartition("/")[2]]
        return _plain({**whole, **{k: v for k, v in node.items() if k != "$ref"}}, parts)
    found = {
        name: {key: _plain(child, parts) for key, child in value.items()}
        if name == "properties"
        else value
        if name == "default"
        else _plain(value, parts)
        for name, value in node.items()
        if name not in ("title", "discriminator")
    }
    if isinstance(found.get("corpus"), str):
        found["enum"] = serving(str(found["corpus"]))
    if {"const", "enum"} & found.keys():
        found.pop("type", None)
    if found.get("additionalProperties") is True:
        del found["additionalProperties"]
    found = _one_of_types(found)
    if found.pop("absent", False):
        del found["default"]
        kind = "enum" if "enum" in found else "type"
        found[kind] = [each for each in found[kind] if each not in (None, "null")]
    return found


def _one_of_types(node: dict[str, Any]) -> dict[str, Any]:
    """A node whose alternatives are told by their types, or null, as one with several types."""
    choices = node.pop("anyOf", None) or node.pop("oneOf", None)
    if not choices:
        return node
    some = [choice for choice in choices if choice != {"type": "null"}]
    null = ["null"] if len(some) < len(choices) else []
    types = [choice.get("type") for choice in some]
    if len(some) > 1 and (not all(isinstance(t, str) for t in types) or len({*types}) < len(types)):
        return {**node, "oneOf": some}
    merged: dict[str, Any] = {}
    for choice in some:
        merged |= choice
    if "enum" in merged:
        return {**merged, **node, "enum": merged["enum"] + [None for _ in null]}
    if len(some) == 1:
        types = types[0] if isinstance(types[0], list) else types
    elif "number" in types:
        types.remove("integer")
    return {**merged, **node, "type": [*types, *null]}


# Reading it


def alternative(node: Node, entry: Any) -> Node | None:
    """The node's alternative for an entry, by its `kind` or `backend`; None if there is none."""
    if not (key := tag(node)) or not isinstance(entry, Mapping):
        return None
    for choice in node["oneOf"]:
        if entry.get(key) in values(choice["properties"][key]):
            return choice
    return None


def tag(node: Node) -> str:
    """The key whose value decides between a node's alternatives (`oneOf`); "" if it has none."""
    choices = node.get("oneOf", ())
    for key in ("kind", "backend"):
        if choices and all(key in choice.get("properties", {}) for choice in choices):
            return key
    return ""


def tags(node: Node) -> list[str]:
    """The values of the key `tag`."""
    return [value for choice in node["oneOf"] for value in values(choice["properties"][tag(node)])]


def values(node: Node) -> list[Any]:
    """The values that a node of the schema allows."""
    return [node["const"]] if "const" in node else list(node.get("enum", ()))


def node_at(path: Sequence[str | int], config: Any) -> Node:
    """The node for the value at a path of a configuration, which decides between alternatives."""
    node: Node = schema()
    value = config
    for part in path:
        node = alternative(node, value) or node
        choices = [node, *node.get("oneOf", ())]
        inner = [
            choice["properties"][part] for choice in choices if part in choice.get("properties", ())
        ]
        key = "items" if isinstance(part, int) else "additionalProperties"
        inner += [choice[key] for choice in choices if isinstance(choice.get(key), Mapping)]
        node = inner[0] if inner else {}
        try:
            value = value[part]
        except (LookupError, TypeError):
            value = None
    return alternative(node, value) or node
