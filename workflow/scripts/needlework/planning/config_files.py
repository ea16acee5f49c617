"""The words of Snakemake's command line, checked before it reads any file; the profiles name this module."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from needlework.errors import UserError
from needlework.planning.given_files import read_nodes
from needlework.planning.values import one_line
from needlework.printable import SECRET

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
    """Give a user without a name, as in many containers, its number as name.

    Snakemake asks for the name.
    """
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
    """Raise UserError if Snakemake cannot use the path of a run's folder, or of the workflow."""
    for folder in folders:
        if any(brace in str(folder) for brace in "{}"):
            raise UserError(
                f"{folder} has a brace in its path, and Snakemake takes what stands in braces for a "
                "wildcard: run in another folder (--directory), or rename this one."
            )
