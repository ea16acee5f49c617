"""The files that `--configfile` names, checked before Snakemake reads them and ends in a traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from needlework.errors import UserError

# The published setups have a few hundred.
MOST_VALUES = 1_000_000


def check_arguments(arguments: Sequence[str]) -> None:
    """End Snakemake with one sentence if it could not read a configuration file of its command line."""
    try:
        for file in named(arguments):
            check_file(file)
    except UserError as error:
        sys.exit(f"Error: {error}")


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


def check_file(file: str | Path) -> None:
    """Raise UserError if a file is no text in UTF-8, a value contains itself, or a key stands twice.

    What is no YAML, Snakemake refuses in one sentence of its own.
    """
    import yaml

    try:
        node = yaml.compose(Path(file).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): correct --configfile."
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file} is not UTF-8 (byte {error.start + 1} is 0x{error.object[error.start]:02x}): save "
            "it in UTF-8."
        ) from None
    except yaml.YAMLError:
        return
    except RecursionError:
        raise UserError(f"{file} nests values too deeply: flatten it.") from None
    _check_node(node, file)


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
                f"{file}: the key {key.value!r} stands at line {first} and again at line {line}: make one "
                "of them."
            )
        lines[key.value] = line
