"""The files of answers that a model's key `answers` names.

Planning imports this: the standard library alone.
"""

from __future__ import annotations

from pathlib import Path

from needlework.errors import UserError
from needlework.folders import files_below

ENDINGS = (".jsonl", ".parquet", ".eval", ".json")


def answer_files(given: str | list[str] | None, where: str) -> str | list[str] | None:
    """The same, with the logs below a folder in its place. UserError if a folder has none.

    Beside JSON Lines, a `.json` file says of them what was run, and is no log.
    """
    if given is None or (isinstance(given, str) and not Path(given).is_dir()):
        return given
    found: list[str] = []
    for path in given if isinstance(given, list) else [given]:
        if not Path(path).is_dir():
            found.append(path)
            continue
        below = [file for file in files_below(path) if file.suffix in ENDINGS]
        beside = {file.parent for file in below if file.suffix == ".jsonl"}
        own = [file for file in below if file.suffix != ".json" or file.parent not in beside]
        if not own:
            raise UserError(
                f"{where} names the folder {path}, which holds no {', '.join(ENDINGS)} file: correct the "
                "path."
            )
        found += map(str, own)
    return found
