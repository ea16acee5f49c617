"""mLongRR's tables of needles, cities and prompts, which a user's folder may extend.

It needs only the standard library, so that planning can check for missing entries. Of several files with
one name, a later one replaces the entries of earlier ones.

- `needles.csv`: lang, wording (`paper`, `released`; empty for both), needle with {city} and {number}.
- `cities.csv`: row, and a column for each language; en has the English names, and may be left out.
- `prompts.csv`: prompt (its name), n_needles (3 stands for three and more), question (`number`, `city`),
  lang, asks (the question within the text), unanswerable (what answers it where there is no needle),
  text with {text} for the haystack. Other braces are text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from needlework.data.words import marks
from needlework.errors import UserError

# Needles of a prompt from which on prompts are the same.
MANY = 3


class Prompt(NamedTuple):
    """A prompt around a haystack, cut at its question. `unanswerable` may be empty."""

    head: str
    middle: str
    asks: str
    tail: str
    unanswerable: str


class PromptKey(NamedTuple):
    """What identifies a prompt."""

    prompt: str
    n_needles: int
    question: str
    lang: str


# The longest cell, in characters: a haystack of 64,000 tokens has 300,000.
LONGEST_CELL = 1 << 26


def read_rows(path: str | Path, columns: Collection[str]) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises UserError if it lacks one of `columns`."""
    # The limit is the whole process's.
    usual = csv.field_size_limit(LONGEST_CELL)
    try:
        # Line ends within cells become \n, too.
        with open(path, encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, strict=True)
            for column in columns:
                if column not in (rows.fieldnames or ()):
                    raise UserError(f"{path} has no column {column!r}: add it.")
            found = []
            for row in rows:
                if None in row or None in row.values():
                    raise UserError(
                        f"{path}, line {rows.line_num}: the row has more or fewer cells than the header: "
                        "correct it."
                    )
                found.append(row)
            return found
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: run the rule that downloads it, or add it."
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not in UTF-8: save it in that encoding.") from None
    except csv.Error as error:
        raise UserError(
            f"{path} is not valid CSV ({error}): correct it, or delete it and run again."
        ) from None
    finally:
        csv.field_size_limit(usual)


def named(paths: Iterable[str | Path], name: str) -> list[Path]:
    """The paths in `paths` with the file name `name`."""
    return [path for path in map(Path, paths) if path.name == name]


def needles(paths: Iterable[str | Path], wording: str) -> dict[str, str]:
    """The needle of each language in a wording, with {city} and {number}.

    A language without that wording has the released wording. Raises UserError if a placeholder is missing.
    """
    found: dict[str, str] = {}
    for path in named(paths, "needles.csv"):
        own: dict[str, dict[str, str]] = {}
        for row in read_rows(path, ("lang", "wording", "needle")):
            for placeholder in ("{city}", "{number}"):
                if row["needle"].count(placeholder) != 1:
                    raise UserError(
                        f"{path}: the needle for {row['lang']!r} must contain {placeholder} once, and is "
                        f"{row['needle']!r}."
                    )
            own.setdefault(row["lang"], {})[row["wording"]] = row["needle"]
        for lang, by_wording in own.items():
            known = (by_wording.get(key) for key in (wording, "", "released", "paper"))
            found[lang] = next(needle for needle in known if needle)
    return found


def cities(paths: Iterable[str | Path], lang: str) -> list[tuple[str, str]]:
    """The English name of each city and its name in `lang`, in the order of the table.

    If the table has no column `en`, the names in `lang` also serve as the English names. Raises UserError if
    no table has the language, or a name is missing. Raises it also if a name is part of another name, since a
    right answer could not be told from a wrong one. The same name may stand in two rows.
    """
    tables = [path for path in named(paths, "cities.csv") if lang in _header(path)]
    if not tables:
        raise UserError(
            f"there are no names of cities in {lang!r}: add a column for it to cities.csv in the folder of "
            "sources.mlongrr.folder."
        )
    path = tables[-1]
    columns = ("en", lang) if "en" in _header(path) else (lang, lang)
    found = [(row[columns[0]].strip(), row[lang].strip()) for row in read_rows(path, ("row", lang))]
    for number, pair in enumerate(found, start=2):
        if not all(pair) or re.search("[/|]", "".join(pair)):
            raise UserError(
                f"{path}, line {number}: a name in {' or '.join(dict.fromkeys(columns))} is empty, or has "
                "the character / or |: correct it."
            )
    for column, language in enumerate(columns):
        names = sorted({pair[column] for pair in found})
        for name, other in permutations(names, 2):
            if name_pattern(name).search(other.casefold()):
                raise UserError(
                    f"{path}: the city {name!r} is part of the name {other!r} in {language!r}, so that an "
                    "answer with the one names the other: take another city."
                )
    return found


@lru_cache(maxsize=4096)
def name_pattern(name: str) -> re.Pattern[str]:
    """A pattern that finds a name in casefolded text: a whole word, or anywhere in scripts without spaces."""
    small = name.casefold()
    unspaced = r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
    if name.isascii():
        return re.compile(rf"(?<!\w){re.escape(small)}(?!\w)")
    before = "" if re.match(unspaced, small) else rf"(?<![\w{marks()}])"
    after = rf"(?![{marks()}])" if re.search(rf"{unspaced}\Z", small) else rf"(?![\w{marks()}])"
    return re.compile(before + re.escape(small) + after)


def prompts(paths: Iterable[str | Path]) -> dict[PromptKey, Prompt]:
    """All prompts. Raises UserError if one lacks {text} or its question, or has either twice."""
    found: dict[PromptKey, Prompt] = {}
    columns = ("prompt", "n_needles", "question", "lang", "asks", "unanswerable", "text")
    for path in named(paths, "prompts.csv"):
        for row in read_rows(path, columns):
            where = f"{path}: the prompt {row['prompt']!r} for {row['lang']!r}"
            if not re.fullmatch(r"[1-9]\d?", row["n_needles"]):
                raise UserError(f"{where} has {row['n_needles']!r} needles: write 1, 2 or 3.")
            head, *rest = row["text"].split("{text}")
            if len(rest) != 1:
                raise UserError(
                    f"{where} must contain {{text}}, the place of the haystack, once: correct it."
                )
            middle, *tail = rest[0].split(row["asks"]) if row["asks"] else [rest[0]]
            if len(tail) != 1:
                raise UserError(
                    f"{where} must contain its question once after the haystack "
                    f"({row['asks']!r}): correct it."
                )
            key = PromptKey(row["prompt"], int(row["n_needles"]), row["question"], row["lang"])
            found[key] = Prompt(head, middle, row["asks"], tail[0], row["unanswerable"])
    return found


def languages(paths: Sequence[str | Path]) -> set[str]:
    """The languages that have a needle, cities or a prompt in the tables."""
    columns = {column for path in named(paths, "cities.csv") for column in _header(path)}
    asked = {key.lang for key in prompts(paths)}
    return {*needles(paths, ""), *columns - {"row"}, *asked}


def _header(path: Path) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise UserError(f"{path} cannot be read as CSV in UTF-8: correct it.") from None
