"""The files that `--configfile` names: checked before Snakemake reads them, and named in errors by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.errors import UserError
from needlework.planning.values import MOST_CHARACTERS, MOST_NESTED, quoted

# A thousand models have a fifth of this. Snakemake's own parser reads some 200,000 bytes a second.
MOST_BYTES = 1_000_000
# The values of a file, with aliases written out. The published setups have a few hundred.
MOST_VALUES = 100_000


def read_nodes(file: str | Path) -> Any:
    """The values of a file as YAML's nodes, which know their lines.

    Raises UserError if Snakemake could not read the file. Then the file is no YAML or no UTF-8, is too large
    or nests too deeply, a value contains itself or has a wrong type, or a key stands twice.
    """
    import yaml

    shown, loader, depth, count = _shown(file), safe_yaml.loader(), 0, 0
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UserError(f"{shown} has more than {MOST_BYTES:,} bytes: shorten it.")
        text = content.decode("utf-8")
        # The parser calls itself for each level, in C.
        for event in yaml.parse(text, Loader=loader):
            count += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_NESTED or count > MOST_VALUES:
                raise UserError(f"{shown} nests values too deeply, or has too many: shorten it.")
        reader = loader(text)
        root = reader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise UserError(f"{shown} holds no keys: write `key: value`, or leave the file out.")
        _check_nodes(root, reader, shown)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise UserError(f"{shown} {why}: correct --configfile.") from None
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} is 0x{error.object[error.start]:02x}"
        raise UserError(f"{shown} is not UTF-8 ({byte}): save it in UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        # A bracket that is not closed is found at the end of the file.
        mark: Any = ("flow" in str(error.context) and error.context_mark) or error.problem_mark
        raise UserError(
            f"{shown}:{mark.line + 1}: this is no YAML ({error.problem}): correct the brackets or the "
            "indentation, which takes spaces alone, or put a text with `: ` or ` #` in quotes."
        ) from None
    except yaml.YAMLError:
        raise UserError(f"{shown} is no YAML: save it as plain text in UTF-8.") from None
    return root


def _check_nodes(root: Any, reader: Any, shown: str) -> None:
    """Raise UserError for a key that stands twice, a value that is none of its type, or too many of them."""
    todo, count = [(root, 0)], 0
    while todo:
        (node, depth), count = todo.pop(), count + 1
        line = f"{shown}:{node.start_mark.line + 1}"
        if depth > MOST_NESTED or count > MOST_VALUES:
            raise UserError(
                f"{line}: a value contains itself, or is repeated by aliases (`*`) more than "
                f"{MOST_VALUES:,} times: write it out."
            )
        parts = node.value if isinstance(node.value, list) else []
        if node.id == "mapping":
            # YAML would keep the last of two equal keys.
            lines: dict[str, int] = {}
            for key in (key for key, _ in parts if key.id == "scalar" and key.value != "<<"):
                at = key.start_mark.line + 1
                if first := lines.get(key.value):
                    said = f"the key {quoted(key.value)} stands already at line {first}"
                    raise UserError(f"{shown}:{at}: {said}: make one of them.")
                lines[key.value] = at
            parts = [part for pair in parts for part in pair]
        elif node.id == "scalar" and len(node.value) > MOST_CHARACTERS:
            raise UserError(f"{line}: a text has over {MOST_CHARACTERS:,} characters: shorten it.")
        elif node.id == "scalar" and not node.tag.endswith((":str", ":merge")):
            try:
                reader.construct_object(node)
            except Exception:  # the constructors of types have many
                kind = f"cannot be read as its type ({node.tag.rpartition(':')[2]})"
                said = f"{line}: {quoted(node.value)} {kind}: put a text in quotes."
                raise UserError(said) from None
        todo += [(part, depth + 1) for part in parts]


def _shown(file: str | Path) -> str:
    """A file as a user names it: below the current folder without that folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def located(error: UserError, files: Sequence[str | Path], values: Any) -> str:
    """The message of an error, after the user's file and the line of its key.

    `files` are the files of `--configfile`; the last one wins. `values` are the keys that `--config` sets.
    """
    message = str(error)
    path = ".".join(getattr(error, "path", ())) or _first_key(message)
    best, place = 0, ""
    for file in reversed(files):
        try:
            length, line = _find(read_nodes(file), path)
        except UserError:
            continue
        if length > best:
            best, place = length, f"{_shown(file)}:{line}: "
    if values and _is_in(values, path):
        place = "--config: "
    return f"{place}{message}"


def _first_key(message: str) -> str:
    """The first dotted key that a message names, and what follows it; "" where there is none."""
    found = re.search(r"(?<![\w./])[a-z]+\.(?=[\w(])", message)
    return message[found.start() :] if found else ""


def _find(root: Any, path: str) -> tuple[int, int]:
    """How much of a dotted path a file has, in characters, and at which line that ends.

    Names may hold dots. Nothing is found unless at most the path's last part is missing.
    """
    node, at, line = root, 0, 0
    while node is not None and not isinstance(node.value, str):
        if node.id == "mapping":
            parts = [(key.value, key, value) for key, value in node.value]
        else:
            parts = [(str(number), value, value) for number, value in enumerate(node.value)]
        rest = path[at:]
        fitting = [p for p in parts if isinstance(p[0], str) and _begins(rest, p[0])]
        if not fitting:
            break
        name, marked, node = max(fitting, key=lambda part: len(part[0]))
        at, line = at + len(name) + 1, marked.start_mark.line + 1
    missing = re.match(r"[\w-]*(\.\w)?", path[at:])
    return (0, 0) if missing and missing[1] and at < len(path) else (at, line)


def _begins(text: str, name: str) -> bool:
    return text.startswith(name) and not re.match(r"[\w-]", text[len(name) :])


def _is_in(values: Any, path: str) -> bool:
    """Whether `--config` sets the key at a dotted path, or a part of it."""
    while isinstance(values, dict):
        fitting = [key for key in values if _begins(path, str(key))]
        if not fitting:
            return False
        key = max(fitting, key=len)
        values, path = values[key], path[len(key) + 1 :]
    return True
