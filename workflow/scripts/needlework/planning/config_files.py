"""The files that `--configfile` names, checked before Snakemake reads them and ends in a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.errors import UserError
from needlework.planning.quoting import quoted
from needlework.planning.values import MOST_CHARACTERS, MOST_LEVELS

# A thousand models have a fifth of this. Snakemake's own parser reads some 200,000 bytes a second.
MOST_BYTES = 1_000_000
# The published setups have a few hundred.
MOST_VALUES = 1_000_000


def check_arguments(arguments: Sequence[str]) -> None:
    """End Snakemake with one sentence if it could not read a configuration file of its command line."""
    try:
        check_cache_folder()
        for file in named(arguments):
            check_file(file)
    except UserError as error:
        sys.exit(f"Error: {error}")


def check_cache_folder() -> None:
    """Raise UserError if Snakemake cannot make the folder for its caches, as without a home."""
    if not sys.platform.startswith("linux"):
        return
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "snakemake")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except (OSError, RuntimeError):
        writable = False
    if not writable:
        raise UserError(
            f"Snakemake cannot write its caches to {folder}: set the environment variable XDG_CACHE_HOME to "
            "a folder that you can write."
        )


def named(arguments: Sequence[str]) -> list[str]:
    """The files that follow `--configfile` or `--configfiles`, as Snakemake's command line takes them."""
    files: list[str] = []
    following = False
    for argument in arguments:
        option, _, value = argument.partition("=")
        if argument.startswith("-"):
            following = option in ("--configfile", "--configfiles")
            files += [value] if following and value else []
        elif following:
            files.append(argument)
    return files


def check_folder(*folders: Path) -> None:
    """Raise UserError where Snakemake cannot use the path of a run's folder, or of the workflow."""
    for folder in folders:
        if any(brace in str(folder) for brace in "{}"):
            raise UserError(
                f"{folder} has a brace in its path, and Snakemake takes what stands in braces for a "
                "wildcard: run in another folder (--directory), or rename this one."
            )


def check_file(file: str | Path) -> None:
    """Raise UserError if Snakemake could not read a configuration file, or would take minutes for it.

    So it is no text in UTF-8, is too large, nests too deeply, a value contains itself or is none of its type,
    or a key stands twice. What is no YAML, Snakemake refuses in one sentence of its own.
    """
    import yaml

    try:
        size = Path(file).stat().st_size
        if size > MOST_BYTES:
            raise UserError(
                f"{file} has {size:,} bytes, but a configuration has at most {MOST_BYTES:,}: shorten it, "
                "and put data into files of their own."
            )
        text = Path(file).read_text(encoding="utf-8")
        # Parsed in C where possible; events tell of nesting before anything is built from them.
        loader = safe_yaml.loader()
        _check_depth(yaml.parse(text, Loader=loader), file)
        reader = loader(text)
        try:
            node = reader.get_single_node()
            _check_node(node, file)
            _check_scalars(node, reader, file)
        finally:
            reader.dispose()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): correct --configfile."
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file} is not UTF-8 (byte {error.start + 1} is 0x{error.object[error.start]:02x}): save "
            "it in UTF-8."
        ) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        return


def _check_depth(events: Iterable[Any], file: str | Path) -> None:
    """Raise UserError if values are nested so deeply that reading them would exhaust the stack."""
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_LEVELS:
            raise UserError(f"{file} nests values too deeply: flatten it.")


def _check_scalars(root: Any, reader: Any, file: str | Path) -> None:
    """Raise UserError if a number, a date or a tagged value is none, which YAML finds as it makes it."""
    import yaml

    todo, seen = [] if root is None else [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not isinstance(node.value, str):
            for part in node.value:
                todo += part if isinstance(part, tuple) else [part]
            continue
        line = node.start_mark.line + 1
        if len(node.value) > MOST_CHARACTERS:
            raise UserError(
                f"{file}: the value at line {line} has {len(node.value):,} characters, but the most is "
                f"{MOST_CHARACTERS:,}: shorten it."
            )
        if node.tag == "tag:yaml.org,2002:str":
            continue
        kind = node.tag.rpartition(":")[2]
        try:
            reader.construct_object(node)
        except yaml.YAMLError:
            continue
        except Exception:  # the constructors of types have many
            raise UserError(
                f"{file}: the value at line {line}, {quoted(node.value)}, cannot be read as its type "
                f"({quoted(kind)}): correct it, or put a text in quotes."
            ) from None


def _check_node(root: Any, file: str | Path) -> None:
    """Raise UserError if a value contains itself, or all would be too many with their aliases written out."""
    # How many values each node is, by its identity; 0 while its own parts are counted.
    sizes: dict[int, int] = {}
    stack = [] if root is None else [root]
    while stack:
        node = stack[-1]
        parts = [] if isinstance(node.value, str) else node.value
        parts = [part for some in parts for part in (some if isinstance(some, tuple) else (some,))]
        if id(node) not in sizes:
            sizes[id(node)] = 0
            if node.id == "mapping":
                _check_keys([key for key, _ in node.value], file)
            if inside := next((part for part in parts if sizes.get(id(part)) == 0), None):
                raise UserError(
                    f"{file}: the value at line {inside.start_mark.line + 1} contains itself (an anchor "
                    "`&` and an alias `*`): write it out."
                )
            stack += [part for part in parts if id(part) not in sizes]
        elif sizes[id(stack.pop())] == 0:
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
            if sizes[id(node)] > MOST_VALUES:
                raise UserError(
                    f"{file}: the value at line {node.start_mark.line + 1} holds more than "
                    f"{MOST_VALUES:,} values, aliases written out: repeat less."
                )


def _check_keys(keys: Sequence[Any], file: str | Path) -> None:
    """Raise UserError if a key stands twice: YAML would keep the last and drop the others."""
    lines: dict[str, int] = {}
    for key in keys:
        if not isinstance(key.value, str) or key.tag == "tag:yaml.org,2002:merge":
            continue
        line = key.start_mark.line + 1
        if first := lines.get(key.value):
            raise UserError(
                f"{file}: the key {quoted(key.value)} stands at line {first} and again at line {line}: "
                "make one of them."
            )
        lines[key.value] = line
