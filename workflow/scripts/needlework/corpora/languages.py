"""Which languages each corpus has, so that a wrong one is an error before any download."""

from __future__ import annotations

import re
from pathlib import Path

from needlework.corpora.m4le_data.tasks import SLUGS
from needlework.errors import UserError

# A language's code, as a pattern: of the schema, of folders' names, and of files' names (common.smk).
LANGUAGE = "[a-z0-9]+"

_PAPER = ("en", "de", "es", "zh", "vi", "hi", "ar")
_XQUAD = (*_PAPER, "el", "ro", "ru", "th", "tr")

_ONERULER = (
    *(
        "cs",
        "da",
        "de",
        "en",
        "es",
        "fa",
        "fi",
        "fr",
        "hi",
        "hu",
        "it",
        "ja",
        "ko",
        "nl",
        "no",
        "pl",
    ),
    *("pt", "ru", "sr", "st", "sv", "sw", "ta", "uk", "vi", "zh"),
)
_ONERULER_SAMPLE = ("en", "fa", "hi", "ko", "ru", "sw", "zh")

CORPUS_LANGUAGES: dict[str, tuple[str, ...]] = {
    "mlqa": _PAPER,
    "mlqa_passages": _PAPER,
    "xquad": _XQUAD,
    "xquad_passages": _XQUAD,
    "mmarco": (*_PAPER, "fr", "id", "it", "ja", "nl", "pt", "ru"),
    "sample_questions": _PAPER,
    "sample_passages": _PAPER,
    "nq_open": ("en",),
    "nq_open_released": ("en",),
    "nq_open_released_passages": ("en",),
    "nq_open_retrieved": ("en",),
    "nq_open_retrieved_passages": ("en",),
    "wikipedia": ("en",),
    "key_value_75": ("en",),
    "key_value_140": ("en",),
    "key_value_300": ("en",),
    "oneruler_books": _ONERULER,
    "oneruler_nouns": _ONERULER,
    "oneruler_words": _ONERULER,
    "oneruler_prompts": _ONERULER,
    "sample_books": _ONERULER_SAMPLE,
    "sample_nouns": _ONERULER_SAMPLE,
    "sample_words": _ONERULER_SAMPLE,
    "sample_prompts": _ONERULER_SAMPLE,
    # M4LE's tables are of tasks. What is constructed depends on a user's folder.
    "m4le_2024": tuple(SLUGS),
    "m4le_2023": tuple(SLUGS),
    "m4le_constructed": (),
    "m4le_sample": ("sample",),
}


def folder_languages(folder: str | None) -> list[str]:
    """The languages of a user's folder for ONERULER (`sources.oneruler.folder`): those of its folders.

    UserError where there is no such folder, or a folder in it is not named by a language's code. Hidden
    ones are none of ours.
    """
    if folder is None:
        return []
    if not Path(folder).is_dir():
        raise UserError(f"sources.oneruler.folder: {folder} is no folder: mend the path.")
    names = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    names = [name for name in names if not name.startswith(".")]
    for name in names:
        if not re.fullmatch(LANGUAGE, name):
            raise UserError(
                f"sources.oneruler.folder: {Path(folder) / name} is not named by a language's code, "
                "which has small letters and digits only: rename it, or move it elsewhere."
            )
    return names
