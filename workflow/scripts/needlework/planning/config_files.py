"""The files that `--configfile` names: checked before Snakemake reads them, and named in errors by line."""

from __future__ import annotations

import getpass
import math
import os
import re
import reprlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.errors import UserError
from needlework.printable import SECRET, printable

# A thousand models have a fifth of this. Snakemake's own parser reads some 200,000 bytes a second.
MOST_BYTES = 1_000_000
# The values of a file, with aliases written out. The published setups have a few hundred.
MOST_VALUES = 100_000
# Snakemake's options for configuration files, and for single values.
_OF_CONFIGURATION = (("--configfile", "--configfiles"), ("--config", "-C"))


def check_arguments(arguments: Sequence[str]) -> None:
    """End Snakemake with one sentence if it could not read the configuration of its command line."""
    name_user()
    try:
        check_cache_folder()
        for options in _OF_CONFIGURATION:
            _check_once(arguments, *options)
        for file in named(arguments, *_OF_CONFIGURATION[0]):
            # A result that exists is a target too, and no configuration.
            strange = not Path(file).exists() or Path(file).parts[:1] == ("results",)
            _check_target(file, "--configfile", strange, arguments)
            read_nodes(file)
        for value in named(arguments, *_OF_CONFIGURATION[1]):
            _check_target(value, "--config", "=" not in value, arguments)
    except UserError as error:
        sys.exit(f"Error: {one_line(str(error))}")


def name_user() -> None:
    """Give a user without a name, as in many containers, the number for one: Snakemake asks for it."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = str(os.getuid())


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


def named(arguments: Sequence[str], *options: str) -> list[str]:
    """The words that follow one of `options`, up to the next option."""
    words: list[str] = []
    following = False
    for argument in arguments:
        option, _, value = argument.partition("=")
        if argument.startswith("-"):
            following = option in options
            words += [value] if following and value else []
        elif following:
            words.append(argument)
    return words


def _check_once(arguments: Sequence[str], *options: str) -> None:
    """Raise UserError if an option is given twice: Snakemake would take the last one's words alone."""
    if sum(argument.partition("=")[0] in options for argument in arguments) > 1:
        words = SECRET.sub("***", " ".join(map(shlex.quote, named(arguments, *options))))
        raise UserError(
            f"{options[0]} stands twice, and Snakemake would take the last alone: write "
            f"`{options[0]} {words}`."
        )


def _check_target(word: str, option: str, strange: bool, arguments: Sequence[str]) -> None:
    """Raise UserError for a word behind an option that takes it, and is a target of the user's."""
    if strange and re.fullmatch(r"\w+|results/.*", word):
        raise UserError(
            f"{word} stands behind {option}, which takes all words that follow it: name targets before the "
            f"options, as in `snakemake {word} --cores all {option} ...`."
        )


def check_folder(*folders: Path) -> None:
    """Raise UserError where Snakemake cannot use the path of a run's folder, or of the workflow."""
    for folder in folders:
        if any(brace in str(folder) for brace in "{}"):
            raise UserError(
                f"{folder} has a brace in its path, and Snakemake takes what stands in braces for a "
                "wildcard: run in another folder (--directory), or rename this one."
            )


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


# The largest integer: engines and files hold 64 bits.
MOST = 2**63 - 1
# The most characters of a text, for instance of a grammar in `request`, and the most levels of values.
MOST_CHARACTERS, MOST_LEVELS = 100_000, 100
# The most characters of a value in a message.
LONGEST = 120

_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u2028\\u2029\\ufffe\\uffff]"
)
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 2 * LONGEST
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 30


def check_values(config: Any) -> None:
    """Raise UserError for a value or a key's name that is valid nowhere in a configuration."""
    _check(config, "the configuration", 0)


def _check(value: Any, where: str, depth: int) -> None:
    wrong = ""
    if depth > MOST_LEVELS:
        wrong = "nests values too deeply: flatten it"
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in pairs:
            own = str(key) if depth == 0 else f"{where}.{key}"
            _check(str(key), f"a key of {where}", depth)
            _check(item, own[:LONGEST], depth + 1)
    elif isinstance(value, str):
        if len(value) > MOST_CHARACTERS:
            wrong = f"is a text of {len(value):,} characters, but the most is {MOST_CHARACTERS:,}: shorten it"
        elif character := control_character(value):
            wrong = f"is {quoted(value)}, which holds {character}: take it out"
    elif isinstance(value, float) and not math.isfinite(value):
        wrong = f"is {value}, which is not a finite number: correct it"
    elif isinstance(value, int) and abs(value) > MOST:
        wrong = f"is an integer above the largest, {MOST}: correct it"
    elif value is not None and not isinstance(value, int | float):
        wrong = (
            f"is of the type {type(value).__name__}, which YAML makes of dates and of values with a tag such "
            "as `!!binary`: put the text in quotes, without a tag"
        )
    if wrong:
        raise UserError(f"{where} {wrong}.")


def control_character(text: str) -> str:
    """The first control character in a text, or half of a character, in words; "" where there is none.

    Tabs and line breaks are none: a template or a system prompt may hold them.
    """
    found = _CONTROL.search(text)
    if found is None:
        return ""
    half = "half of a character" if "\ud800" <= found[0] <= "\udfff" else "the control character"
    return f"{half} U+{ord(found[0]):04X}"


def quoted(value: Any) -> str:
    """A value's `repr`, cut to LONGEST characters, without anything that looks like a key."""
    text = SECRET.sub("***", _SHORT.repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3].rstrip()}..."


def one_line(message: str) -> str:
    """A message on one line, in which long words, such as paths, are cut."""
    words = re.sub(rf"\S{{{LONGEST},}}", lambda word: f"{word[0][: LONGEST - 3]}...", message)
    return printable(words, lines=False)
