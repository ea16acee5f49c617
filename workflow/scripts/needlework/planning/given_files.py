"""The files that `--configfile` names: checked before Snakemake reads them, and named in errors by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.errors import UserError
from needlework.planning.values import MOST_CHARACTERS, MOST_LEVELS, quoted

# A thousand models have a fifth of this. Snakemake's own parser reads some 200,000 bytes a second.
MOST_BYTES = 1_000_000
# The values of a file, with aliases written out. The published setups have a few hundred.
MOST_VALUES = 100_000


def read_nodes(file: str | Path) -> Any:
    """The values of a file as YAML's nodes, which know their lines.

    Raises UserError if Snakemake could not read the file: it is no YAML or no UTF-8, is too large, nests too
    deeply, a value contains itself or is none of its type, or a key stands twice.
    """
    import yaml

    shown = _shown(file)
    try:
        if (size := Path(file).stat().st_size) > MOST_BYTES:
            raise UserError(
                f"{shown} has {size:,} bytes, but a configuration has at most {MOST_BYTES:,}: shorten it, "
                "and put data into files of their own."
            )
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{shown} cannot be read ({error.strerror}): correct --configfile."
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{shown} is not UTF-8 (byte {error.start + 1} is 0x{error.object[error.start]:02x}): save "
            "it in UTF-8."
        ) from None
    # Parsed in C where possible; events tell of nesting before anything is built from them.
    loader = safe_yaml.loader()
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_LEVELS:
                raise UserError(f"{shown} nests values too deeply: flatten it.")
        reader = loader(text)
        root = reader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise UserError(f"{shown} holds no keys: write `key: value`, or leave the file out.")
        _check_node(root, reader, shown)
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise UserError(_fault(error, text, shown)) from None
    return root


def _check_node(root: Any, reader: Any, shown: str) -> None:
    """Raise UserError for a key that stands twice, a value that is none of its type, or too many of them."""
    todo, count = [(root, 0)], 0
    while todo:
        node, depth = todo.pop()
        line, count = f"{shown}:{node.start_mark.line + 1}", count + 1
        if depth > MOST_LEVELS or count > MOST_VALUES:
            raise UserError(
                f"{line}: a value contains itself, or is repeated by aliases (`*`) more than "
                f"{MOST_VALUES:,} times: write it out."
            )
        if isinstance(node.value, str):
            _check_scalar(node, reader, line)
        elif node.id == "mapping":
            _check_keys([key for key, _ in node.value], shown)
            todo += [(part, depth + 1) for pair in node.value for part in pair]
        else:
            todo += [(part, depth + 1) for part in node.value]


def _check_scalar(node: Any, reader: Any, line: str) -> None:
    if len(node.value) > MOST_CHARACTERS:
        raise UserError(f"{line}: a text has more than {MOST_CHARACTERS:,} characters: shorten it.")
    if node.tag in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
        return
    try:
        reader.construct_object(node)
    except Exception:  # the constructors of types have many
        raise UserError(
            f"{line}: {quoted(node.value)} cannot be read as its type ({node.tag.rpartition(':')[2]}): "
            "correct it, or put a text in quotes."
        ) from None


def _check_keys(keys: Sequence[Any], shown: str) -> None:
    """Raise UserError if a key stands twice: YAML would keep the last and drop the others."""
    lines: dict[str, int] = {}
    for key in keys:
        if not isinstance(key.value, str) or key.tag == "tag:yaml.org,2002:merge":
            continue
        line = key.start_mark.line + 1
        if first := lines.get(key.value):
            raise UserError(
                f"{shown}:{line}: the key {quoted(key.value)} stands already at line {first}: make one of "
                "them."
            )
        lines[key.value] = line


def _fault(error: Any, text: str, shown: str) -> str:
    """What is wrong with a text that is no YAML, and where."""
    mark = getattr(error, "problem_mark", None)
    context = str(getattr(error, "context", "") or "")
    if "flow" in context and error.context_mark:
        # A bracket that is not closed is found at the end of the file.
        mark = error.context_mark
    if mark is None:
        return f"{shown} is no YAML: save it as plain text in UTF-8."
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return f"{shown}:{mark.line + 1}: a tab indents this line: YAML takes spaces alone."
    problem = " ".join(f"{context} {error.problem or ''}".split())
    return (
        f"{shown}:{mark.line + 1}: this is no YAML ({problem}): correct the indentation or the brackets, or "
        "put a text with `: ` or ` #` in quotes."
    )


def _shown(file: str | Path) -> str:
    """A file as a user names it: below the current folder without that folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def located(error: UserError, files: Sequence[str | Path], values: Any) -> str:
    """The message of an error, behind the file and line of the user's at which its key stands.

    files: those of `--configfile`, of which the last wins.
    values: the keys that `--config` sets.
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
