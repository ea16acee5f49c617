"""ONERULER: books, nouns, words and prompts of 26 languages, and of further languages in the same layout.

Released at github.com/mungg/OneRuler. The embedded sample and a user's folder (docs/adding-a-language.md)
have the same files with shorter names. Files are UTF-8; a byte order mark is dropped.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.data import sentences
from needlework.data.corpora.books import book_table
from needlework.errors import UserError

logger = logging.getLogger(__name__)

NOUNS = pa.schema([("row", pa.int32()), ("noun", pa.string())])
WORDS = pa.schema([("word", pa.string()), ("pos", pa.string())])
PROMPTS = pa.schema([("key", pa.string()), ("text", pa.string())])

# The texts of niah.txt that the seven tasks use, each with its placeholders.
NIAH_KEYS: dict[str, tuple[str, ...]] = {
    "task": ("context",),
    "needle_numbers": ("key", "value"),
    "question_single_numbers": ("query1",),
    "question_multi_numbers": ("query1", "query2"),
    "please_list": (),
    "if_no_numbers": (),
    "answer_prefix": (),
    "answer_numbers": (),
    "none": (),
}
# Texts for values that are words, which no task uses: they are allowed, and not read.
_UNUSED_KEYS = frozenset(
    {"needle_words", "question_single_words", "question_multi_words", "if_no_words", "answer_words"}
)
# Placeholders that may occur twice: the released Vietnamese cwe.txt has the list of words twice.
_MAY_REPEAT = frozenset({"cwe"})

# The order in which the released code takes the parts of speech.
PARTS_OF_SPEECH = ("noun", "adjective", "verb")
# Cells that pandas, which the released code reads with, takes for missing. Two dictionaries have one:
# "null" (hu) and "nan" (vi).
_MISSING = frozenset(
    (
        "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|"
        "N/A|NA|NULL|NaN|None|n/a|nan|null"
    ).split("|")
)

# The list of nouns in a user's folder; the released one has another name.
OWN_NOUNS = "nouns.tsv"

# The tasks hide four nouns at the most, and one asks for a fifth; ten words are asked for.
LEAST_NOUNS = 5
LEAST_WORDS = 11

ENGLISH_LISTS = {"noun": "nounlist.txt", "adjective": "adjectivelist.txt", "verb": "verblist.txt"}


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """The corpus (`..._books`, `..._nouns`, `..._words` or `..._prompts`) in `lang`, for `read_corpus`.

    Words in English need no file: they come from the package wonderwords.
    """
    part = corpus.rpartition("_")[2]
    if part == "words" and lang == "en" and not files:
        return english_words()
    paths = [Path(file) for file in files]
    if files:
        logger.info("reading %s", ", ".join(files))
    return {"books": books, "nouns": nouns, "words": words, "prompts": prompts}[part](lang, paths)


def books(lang: str, paths: Sequence[Path]) -> pa.Table:
    """BOOKS with one row: the text of all books, cut into sentences.

    In `text`, white space is folded, and a space stands between sentences (in zh and ja nothing).
    `sentence_starts` are offsets in characters; the first is 0. A file `sentences.json` beside the book adds
    to a language's rules: `joiner` and `abbreviations`.

    Raises UserError if there is no text, or it has fewer than two sentences.
    """
    texts = [path for path in paths if path.suffix == ".txt"]
    if not texts:
        raise _lacks(lang, "book", "{lang}/book.txt", paths)
    own = [path for path in paths if path.name == "sentences.json"]
    rules = _rules(lang, own[0]) if own else sentences.rules(lang)
    return book_table(["\n".join(map(_read, texts))], lang, rules, str(texts[0]))


def _rules(lang: str, path: Path) -> sentences.Rules:
    own = _json_object(path, lang)
    abbreviations, joiner = own.pop("abbreviations", []), own.pop("joiner", None)
    if own:
        raise UserError(
            f"{path}: the unknown key {next(iter(own))!r} for {lang!r}: it may have `joiner` and "
            "`abbreviations`."
        )
    if joiner not in (None, "", " "):
        raise UserError(f'{path}: `joiner` for {lang!r} is {joiner!r}: set it to " " or "".')
    if not isinstance(abbreviations, list) or not all(isinstance(a, str) for a in abbreviations):
        raise UserError(
            f"{path}: `abbreviations` for {lang!r} is not a list of words: make it one."
        )
    return sentences.rules(lang, abbreviated=abbreviations, joiner=joiner)


def nouns(lang: str, paths: Sequence[Path]) -> pa.Table:
    """NOUNS in the file's order: the column `lang` of a table with one noun a row and one language a column.

    Rows are numbered from 0 and mean the same in every language. If a cell is empty, its row is left out, but
    keeps its number; so does an empty line. White space around the nouns is dropped, as in the released code.

    Equal nouns of the released list stay, and the log names them (up to four of 100). The choice between them
    depends on both languages of a pair, so it is made where prompts are built.

    Raises UserError if the column is missing, or has fewer than LEAST_NOUNS different nouns. In a user's own
    list, a noun may not stand in two rows, of this column or of another that is read from the list: a
    question for it would have two answers.
    """
    if not paths:
        raise _lacks(lang, "list of nouns", OWN_NOUNS, paths)
    path = paths[0]
    lines = [line.split("\t") for line in _read(path).replace("\r\n", "\n").split("\n")]
    header = [name.strip() for name in lines[0]]
    if header.count(lang) != 1:
        known = ", ".join(name for name in header if name != "definition")
        many = "several columns" if lang in header else "no column"
        raise UserError(f"{path} has {many} {lang!r}: give it one; it has {known}.")

    def cells(name: str) -> list[tuple[int, str]]:
        """The cells of a column that are not empty, with their rows. The header is line 1, row 0 line 2."""
        at = header.index(name)
        found = ((row, line[at].strip()) for row, line in enumerate(lines[1:]) if at < len(line))
        return [(row, noun) for row, noun in found if noun]

    rows, first = cells(lang), dict[str, int]()
    repeated = [
        f"{noun!r} in lines {first[noun.casefold()] + 2} and {row + 2}"
        for row, noun in rows
        if first.setdefault(noun.casefold(), row) != row
    ]
    different = len(rows) - len(repeated)
    again = f" (again: {', '.join(repeated)})" if repeated else ""
    if different < LEAST_NOUNS:
        raise UserError(
            f"{path}: the column {lang!r} has {different} different nouns, but the tasks need "
            f"{LEAST_NOUNS}{again}: add some."
        )
    if path.name == OWN_NOUNS:
        # Languages without a folder beside the list are not read.
        others = [n for n in header if n != lang and n and (path.parent / n).is_dir()]
        for name in (lang, *others):
            for row, noun in cells(name):
                other = first.get(noun.casefold(), row)
                if other != row:
                    raise UserError(
                        f"{path}: the noun {noun!r} of the column {lang!r} stands in line {other + 2}, and "
                        f"in line {row + 2} of the column {name!r}: a question for it would have two "
                        "answers. Take another word, or leave one of the two cells empty."
                    )
    if repeated:
        logger.info("%s, %s: %d different nouns of %d%s", path, lang, different, len(rows), again)
    return pa.table(list(map(list, zip(*rows, strict=True))), schema=NOUNS)


def words(lang: str, paths: Sequence[Path]) -> pa.Table:
    """WORDS, sorted: the usable words of a dictionary with the columns `words` and `pos`, each word once.

    As in the released code (common_words_extraction.py), a word is not usable if it has a digit, if its part
    of speech is not exactly noun, adjective or verb ("verb,noun" is not), or if pandas takes the cell for
    missing. Letter case, and spaces and hyphens inside a word, stay. If a word has several parts of speech,
    the first is taken. Unlike in the released code, white space around a word is dropped.

    Raises UserError if there is no dictionary, or it has fewer than LEAST_WORDS usable words.
    """
    if not paths:
        raise _lacks(lang, "dictionary", "{lang}/words.csv", paths)
    path = paths[0]
    lines = csv.DictReader(io.StringIO(_read(path), newline=""))
    for column in ("words", "pos"):
        if column not in (lines.fieldnames or ()):
            raise UserError(f"{path}: the dictionary in {lang!r} has no column {column!r}: add it.")
    try:
        found = [
            (word, line["pos"])
            for line in lines
            if line["pos"] in PARTS_OF_SPEECH
            and line["words"] not in _MISSING
            and (word := (line["words"] or "").strip())
            and not re.search(r"\d", word)
        ]
    except csv.Error as error:
        raise UserError(
            f"{path}: the dictionary in {lang!r} is not valid CSV ({error}): correct it."
        ) from None
    made = _words_table(found)
    if made.num_rows < LEAST_WORDS:
        raise UserError(
            f"{path}: the dictionary in {lang!r} has {made.num_rows} usable words (nouns, adjectives and "
            f"verbs without a digit), but the tasks need {LEAST_WORDS}: add some."
        )
    return made


def english_words() -> pa.Table:
    """WORDS of the lists of the package wonderwords, which the released code uses for English."""
    lists = resources.files("wonderwords") / "assets"
    return _words_table(
        (word.strip(), pos)
        for pos, name in ENGLISH_LISTS.items()
        for word in (lists / name).read_text(encoding="utf-8").splitlines()
        if word.strip()
    )


def _words_table(found: Iterable[tuple[str, str]]) -> pa.Table:
    parts: dict[str, str] = {}
    for word, pos in sorted(found, key=lambda pair: PARTS_OF_SPEECH.index(pair[1])):
        parts.setdefault(word, pos)
    rows = sorted(parts.items())
    return pa.table([[word for word, _ in rows], [pos for _, pos in rows]], schema=WORDS)


def prompts(lang: str, paths: Sequence[Path]) -> pa.Table:
    """PROMPTS: the texts NIAH_KEYS from niah.txt, and the text `cwe` from cwe.txt if that file exists.

    A text has each of its placeholders once (`cwe` may have its own more than once), and no other brace.
    Raises UserError if a text is missing, is not text, or has other placeholders.
    """
    niah = next((path for path in paths if path.name in ("niah.txt", "niah.json")), None)
    if niah is None:
        raise _lacks(lang, "prompts of the tasks with needles", "{lang}/niah.json", paths)
    texts = _json_object(niah, lang)
    for key in texts:
        if key not in NIAH_KEYS and key not in _UNUSED_KEYS:
            raise UserError(f"{niah}: the unknown key {key!r} for {lang!r}: remove or correct it.")
    for key, placeholders in NIAH_KEYS.items():
        if key not in texts:
            raise UserError(f"{niah}: the key {key!r} for {lang!r} is missing: add it.")
        _check_text(f"{niah}: {key!r} for {lang!r}", key, texts[key], placeholders)
    rows = {key: texts[key] for key in NIAH_KEYS}
    for cwe in (path for path in paths if path.name == "cwe.txt"):
        rows["cwe"] = _read(cwe)
        _check_text(f"{cwe}: the prompt for {lang!r}", "cwe", rows["cwe"], ("context",))
    return pa.table([list(rows), list(rows.values())], schema=PROMPTS)


def _check_text(where: str, key: str, text: object, placeholders: Collection[str]) -> None:
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{where} is empty or not a text: write one.")
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError:
        raise UserError(
            f"{where} has a brace that does not belong to a placeholder: remove it."
        ) from None
    found = [
        name + (f"!{conversion}" if conversion else "") + (specification or "")
        for _, name, specification, conversion in pieces
        if name is not None
    ]
    wanted = " and ".join(f"{{{name}}}" for name in placeholders) or "no placeholder"
    for name in found:
        if name not in placeholders:
            raise UserError(f"{where} has the unknown placeholder {{{name}}}: it takes {wanted}.")
    for name in placeholders:
        times = found.count(name)
        if times == 0:
            raise UserError(f"{where} lacks the placeholder {{{name}}}: add it.")
        if times > 1 and key not in _MAY_REPEAT:
            raise UserError(f"{where} has the placeholder {{{name}}} {times} times: keep one.")
    if "{{" in text or "}}" in text:
        raise UserError(f"{where} has a doubled brace: remove it.")


def _json_object(path: Path, lang: str) -> dict[str, Any]:
    try:
        found = json.loads(_read(path))
    except ValueError as error:
        raise UserError(f"{path} for {lang!r} is not valid JSON ({error}): correct it.") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} for {lang!r} is not a JSON object of texts by key: make it one.")
    return found


def _lacks(lang: str, what: str, name: str, paths: Sequence[Path]) -> UserError:
    """`paths` are the files that there are; where none is, the folder is known by its key alone."""
    folder = str(paths[0].parent.parent) if paths else "the folder of sources.oneruler.folder"
    return UserError(
        f"there is no {what} for the language {lang!r}: {name.format(lang=lang)} is missing in {folder} "
        "(see docs/adding-a-language.md)."
    )


def _read(path: Path) -> str:
    try:
        # Not `read_text`, which would also change a lone carriage return.
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not in UTF-8: save it in that encoding.") from None
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: run the rule that downloads it, or add it."
        ) from None
