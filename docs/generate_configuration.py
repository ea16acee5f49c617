"""Write docs/configuration.md and workflow/schemas/config.schema.json from the classes of the settings.

python docs/generate_configuration.py           writes them
python docs/generate_configuration.py --check   fails if they are not what the classes say
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/configuration.md"
SCHEMA = ROOT / "workflow/schemas/config.schema.json"
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.planning.json_schema import schema, tag  # noqa: E402

Node = Mapping[str, Any]

PREAMBLE = """\
<!-- Written by docs/generate_configuration.py from the classes of the settings; change these, not this. -->

# Configuration

`config.yaml` holds the default run, on the embedded sample. A file that `--configfile` names is merged into
it: mappings key by key, while lists and single values are replaced. If one `--configfile` names several
files, later ones win, so name your own after a preset. A run warns if a later file replaces what `run`
selected. The models, tokenizers, embedders and translators of `config.yaml` stay defined, and `run` chooses
which of them run. If an entry of yours has the name of one of these, but another `backend`, `kind` or `name`,
it takes nothing from it. `--config` sets values on the command line, behind the targets:
`--config 'benchmarks={mlneedle: {questions: 5}}'`.

For each key, this page has the value that holds if no file has the key. A benchmark's key may have two: its
default, and its value *on the sample*. If your files leave a benchmark its data, all values on the sample
hold. If they choose data of your own or the paper's (`needles`, `source` or `data`, marked *chooses the
data*), all defaults hold.

Paths are relative to the folder in which the workflow runs (`--directory`, or the folder in which Snakemake
was started); `~/` begins a path in your home folder. If a `chat_template` is not there, the workflow's own
files are searched.

An editor that knows JSON Schema checks a file while you write it: name `workflow/schemas/config.schema.json`
as its schema. The whole configuration is checked before any work starts. A mistake ends the run with one
sentence that names the key and, for a misspelt name, the nearest known one. Numbers have the limits below. A
text has at most 200 characters, a path 4,095 bytes, and a text that may have several lines 50,000 characters;
no value has control characters. A configuration file has at most 1,000,000 bytes. YAML reads `1e-5` as a
text: write `1.0e-5`. Results hold the configuration, so a value that looks like a key or a password is
refused wherever it stands. Name the environment variable that holds the key (`key_env`, HF_TOKEN).

`<name>` is a name of your choice. It becomes part of file names: letters, digits, `.`, `-` and `_`, at most
100 characters, and no two that differ only in case.
"""


DEMO = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def page(described: Node) -> str:
    """The page, in Markdown: a section for each top-level key, a list for each object or kind."""
    required = described.get("required", ())
    contents = " · ".join(f"[`{key}`](#{key})" for key in described["properties"])
    parts = [PREAMBLE, f"{contents}\n"]
    for key, node in described["properties"].items():
        parts.append(f"## `{key}`\n")
        if _is_group(node):
            parts += [f"{_description(node)}\n", *_lists(key, node)]
        else:
            parts.append(_list([(key, node, key in required)]))
    return "\n".join(parts)


def _is_group(node: Node) -> bool:
    entry = node.get("additionalProperties")
    return "properties" in node or (
        isinstance(entry, Mapping) and bool({"properties", "oneOf"} & entry.keys())
    )


def _lists(path: str, node: Node) -> Iterator[str]:
    """The lists of a group of keys, each under its heading if there are several."""
    entry = node.get("additionalProperties")
    children = node.get("properties", {})
    if isinstance(entry, Mapping):
        yield from _entries(f"{path}.<name>", entry)
    elif all(_is_group(child) for child in children.values()):
        for key, child in children.items():
            yield f"### `{path}.{key}`\n"
            yield from [f"{_description(child)}\n"] if _description(child) else []
            yield _list(list(_rows(child)), f"{path}.{key}")
    else:
        yield _list(list(_rows(node)), path)


def _entries(path: str, entry: Node) -> Iterator[str]:
    """The list of an entry's keys, or one for each of the kinds of entries."""
    if "oneOf" not in entry:
        yield f"### `{path}`\n"
        yield _list(list(_rows(entry)))
        return
    yield f"### `{path}`\n"
    if tag(entry) == "backend":
        yield _list(list(_rows(_of_all_backends(entry))))
    else:
        yield _list(_of_all_kinds(entry["oneOf"]))


def _of_all_kinds(choices: Sequence[Node]) -> list[tuple[str, Node, bool]]:
    """The keys of all kinds; if kinds describe a key differently, an entry for each description."""
    rows: list[tuple[str, dict[str, Any], bool]] = []
    kinds = [choice["properties"]["kind"] for choice in choices]
    for kind, choice in zip(kinds, choices, strict=True):
        for key, node, required in _rows(choice):
            if key == "kind":
                continue
            same = [own for name, own, must in rows if (name, must) == (key, required)]
            same = [own for own in same if {**own, "takers": None} == {**node, "takers": None}]
            if same:
                same[0]["takers"].append(kind["const"])
            else:
                rows.append((key, {**node, "takers": [kind["const"]]}, required))
    for _, node, _ in rows:
        if len(node["takers"]) == len(kinds):
            del node["takers"]
    rows.sort(key=lambda row: "takers" in row[1])
    about = " ".join(f"`{kind['const']}`: {_description(kind)}" for kind in kinds)
    names = [kind["const"] for kind in kinds]
    return [("kind", {"enum": names, "description": about}, True), *rows]


def _of_all_backends(entry: Node) -> Node:
    """One schema with the keys of all backends, each with the names of those that take it."""
    choices = [choice["properties"] for choice in entry["oneOf"]]
    nodes: dict[str, dict[str, Any]] = {}
    takers: dict[str, list[str]] = {}
    backends = []
    for keys in choices:
        own = keys["backend"]
        backends += (names := own.get("enum") or [own["const"]])
        for key in keys:
            nodes[key] = dict(keys[key])
            takers[key] = takers.get(key, []) + names
    for key, names in takers.items():
        if names != backends:
            nodes[key]["takers"] = names
    nodes["backend"] = {"description": "The program that answers the prompts.", "enum": backends}
    required = [key for key in nodes if all(key in one["required"] for one in entry["oneOf"])]
    of_all_first = dict(sorted(nodes.items(), key=lambda node: "takers" in node[1]))
    return {"properties": of_all_first, "required": required}


def _rows(node: Node, prefix: str = "") -> Iterator[tuple[str, Node, bool]]:
    """(key, schema, whether it is required) of a group's keys, with those of inner groups."""
    for key, child in node["properties"].items():
        if "properties" in child:
            if _description(child):
                about = {key: child[key] for key in ("description", "takers") if key in child}
                yield prefix + key, {"type": "mapping", **about}, False
            yield from _rows(child, f"{prefix}{key}.")
        else:
            yield prefix + key, child, key in node.get("required", ())
            entry = child.get("additionalProperties")
            if isinstance(entry, Mapping) and "properties" in entry:
                yield from _rows(entry, f"{prefix}{key}.<name>.")


def _of_the_demo(path: str) -> object:
    """What config.yaml has at a dotted path; None if it has nothing."""
    found: Any = DEMO
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _list(rows: list[tuple[str, Node, bool]], path: str = "") -> str:
    """An entry for each key: a table's cells would be wider than a screen."""
    lines = []
    for key, node, required in rows:
        default = f"; default {_code(node['default'])}" if "default" in node else ""
        demo = _of_the_demo(f"{path}.{key}") if path.startswith(("run", "benchmarks")) else None
        if demo is not None and path == "run":
            default, required = f"; default {_code(demo)}", False
        elif demo not in (None, node.get("default")) and node.get("type") != "mapping":
            default += f"; on the sample {_code(demo)}"
        default += "; *chooses the data*" if node.get("chooses_data") else ""
        values = _values(node) + ("; *required*" if required else default)
        takers = f"; with {', '.join(map(_code, node['takers']))}" if "takers" in node else ""
        lines.append(f"- **`{key}`** ({values}{takers}): {_description(node)}".removesuffix(": "))
    return "\n".join(lines) + "\n"


def _values(node: Node) -> str:
    """What a key takes, in words."""
    if "oneOf" in node:
        return "; or ".join(map(_values, node["oneOf"]))
    if "enum" in node:
        return ", ".join(map(_code, node["enum"]))
    if "const" in node:
        return _code(node["const"])
    types = node.get("type", "any value")
    return " or ".join(
        _of_type(name, node) for name in ([types] if isinstance(types, str) else types)
    )


def _of_type(name: str, node: Node) -> str:
    if name == "array":
        fixed = "minItems" in node and node["minItems"] == node.get("maxItems")
        return f"list of {node['minItems'] if fixed else ''} {_values(node['items'])}".replace(
            "  ", " "
        )
    words = {"string": "text", "boolean": "`true`, `false`", "null": "`null`"}
    text = words.get(name, name)
    if name in ("integer", "number"):
        bounds = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}"}
        found = [words.format(node[key]) for key, words in bounds.items() if key in node]
        text = " ".join([text, " and ".join(found)]).strip()
    return text


def _description(node: Node) -> str:
    return " ".join(node.get("description", "").split())


def _code(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1 << 20)
    return f"`{text.strip().removesuffix('...').strip()}`"


def files() -> dict[Path, str]:
    """The files to write, with their texts. In the schema a field has a line."""
    return {PAGE: page(schema()), SCHEMA: json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"}


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    check = parser.parse_args().check
    for file, text in files().items():
        if not check:
            file.write_text(text, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            name = f"{file.parent.name}/{file.name}"
            sys.exit(f"{name} is out of date: run python docs/generate_configuration.py")


if __name__ == "__main__":
    main()
