"""Codes of languages, and those of a user's own folder."""

from __future__ import annotations

import re
from pathlib import Path

from needlework.errors import UserError
from needlework.folders import entries

# A language's code, as a pattern: of the schema, of folders' names, and of files' names (common.smk).
LANGUAGE = "[a-z0-9]{1,35}"


def folder_languages(folder: str | None, source: str = "oneruler") -> list[str]:
    """The languages of a user's folder (`sources.<source>.folder`): those of its folders.

    UserError if there is no such folder, or a folder in it is not named by a language's code. Hidden
    folders are ignored.
    """
    if folder is None:
        return []
    if not Path(folder).is_dir():
        raise UserError(f"sources.{source}.folder: {folder} is not a folder: correct the path.")
    names = [path.name for path in entries(folder) if path.is_dir()]
    names = [name for name in names if not name.startswith(".")]
    for name in names:
        if not re.fullmatch(LANGUAGE, name):
            raise UserError(
                f"sources.{source}.folder: {Path(folder) / name} is not named by a language's code, "
                "which has small letters and digits only, at most 35: rename it, or move it elsewhere."
            )
    return names
