"""Whether an answer holds an accepted answer as words of its own: containment without its false verdicts.

The paper's metric (`containment`) stays what it is; this one stands beside it. An accepted answer counts
where it begins and ends at the boundary of a word or a number (Oman is not in Roman, 3 not in 1933, 1.5 is
not 15), and however it is written: with or without accents, hamza, hyphens and articles, groups of digits
or none, a date in any order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from needlework.data.words import marks
from needlework.scoring.metrics.oneruler_words import UNSPACED_RUN

# They look back only behind a first character: the search for one is many times faster so.
_GROUPED = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}(?:([,.' \u2019])\d{3})(?:\1\d{3})*(?![\d]|[.,]\d{1,2}\b(?!\d))"
)
_INDIAN = re.compile(r"\d(?<!\d\d)\d?(?:,\d{2})+,\d{3}(?!\d)")
_DECIMAL_COMMA = re.compile(r",(?<=\d,)(?=\d)")
_ISO_DATE = re.compile(r"(\d(?<!\d\d)\d{3})-(\d{2})-(\d{2})(?!\d)")
_DIGIT = re.compile("[0-9]")
_ORDINAL = re.compile(r"[snrt](?<=\d.)(?:(?<=s)t|(?<=[nr])d|(?<=t)h)\b")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_ARABIC = str.maketrans("أإآٱؤئىةيك", "اااا" + "وي" + "يهيك")
# The tatweel and vowel marks of Arabic, the points of Hebrew, and selectors of a glyph.
_AT_WILL = re.compile(
    "[\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_ARTICLES = frozenset(
    "a an the el la los las un una le les l der die das den dem ein eine lo il gli i o os as".split()
)
# Between the parts of a date.
_OF = frozenset({"of", "de", "del", "di", "du", "den"})
# Letters with the marks on them. The range before the marks, and no way back, make it many times faster.
_LETTERS = rf"[^\W\d_]++(?:[\u0300-\U0001ffff](?<=[{marks()}])[^\W\d_]*+)*+"
_TOKEN = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})*+|\d++(?:\.\d+)?")
_WITH_MARKS = re.compile(rf".[{marks()}]*")
# What any of the patterns of numbers asks for.
_WRITTEN_OTHERWISE = re.compile(r"[0-9](?:[,.' \u2019][0-9]|(?:st|nd|rd|th)\b)")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)")
_ASCII_LETTERS = bytes(code if chr(code).isalpha() else ord(" ") for code in range(128)).ljust(256)
# Korean particles and the copula.
_ENDINGS = re.compile(
    "(?:은|는|이|가|을|를|와|과|도|의|에|에서|로|으로|입니다|이다|이며|예요|이에요|요)*"
)
_HANGUL = re.compile("[가-힣]")


def score(prediction: str, translated: str | None, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the answer or its English translation holds any reference within bounds, and why.

    The verdicts are those of `containment`.
    """
    references, empty = list(references), True
    for name, text in (("raw", prediction), ("translated", translated or "")):
        found = words(text)
        empty = empty and not found
        for index, reference in enumerate(references):
            if holds(found, _words_of_reference(reference)):
                return 1.0, f"match:{name}:{index}"
    return 0.0, "empty" if empty else "no_match"


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text in the form in which they are compared, without articles."""
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = text.translate(_CHARACTERS)
    if _DIGIT.search(text):
        text = _numbers_alike(text)
    found = _tokens(text)
    kept = [word for word in found if word not in _ARTICLES]
    if not text.isascii():
        kept = [word[2:] if word.startswith("ال") and len(word) > 4 else word for word in kept]
    # Articles stay where there is nothing else.
    return tuple(kept or found)


def _numbers_alike(text: str) -> str:
    """A text with its numbers and dates in one form."""
    if "-" in text:
        text = _ISO_DATE.sub(lambda d: f"{d[1]} {_month(d[2])} {int(d[3])}", text)
    if not _WRITTEN_OTHERWISE.search(text):
        return text
    for pattern in (_INDIAN, _GROUPED) if "," in text else (_GROUPED,):
        text = pattern.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    if "," in text:
        text = _DECIMAL_COMMA.sub(".", text)
    return _ORDINAL.sub("", text)


_words_of_reference = lru_cache(maxsize=65536)(words)


def _tokens(text: str) -> list[str]:
    if not text.isascii() or "'" in text:
        return list(_parts(_TOKEN.findall(text)))
    # The same as `_TOKEN` finds, several times faster: letters are split as bytes, between the numbers.
    found: list[str] = []
    for i, part in enumerate(_NUMBER.split(text)):
        found += [part] if i % 2 else part.encode().translate(_ASCII_LETTERS).decode().split()
    return found


def _parts(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        if "'" in token or "’" in token:
            first, *rest = re.split("['’]", token)
            parts = [first, *rest] if first in ("l", "d") else [first + "".join(rest)]
            for part in parts:
                yield from _split(part)
        else:
            yield from _split(token)


def holds(text: Sequence[str], reference: tuple[str, ...]) -> bool:
    """Whether the words of a reference stand in those of a text."""
    if not reference:
        return False
    return _stands(text, reference) or (_is_date(reference) and _stands_as_date(text, reference))


def _stands(text: Sequence[str], wanted: tuple[str, ...]) -> bool:
    """Whether words stand side by side, however they are hyphenated or spaced."""
    letters, whole = _wanted(wanted)
    said = "".join(text)
    if letters not in (said if said.isascii() else _plain(said)):
        return False
    most = len(letters) + 4
    first = _base(whole[0])
    for start, begun in enumerate(text):
        if _base(begun[0]) != first:
            continue
        joined = ""
        for end in range(start, len(text)):
            # Numbers are not glued to each other.
            if end > start and text[end][0].isdigit() and text[end - 1][-1].isdigit():
                joined += " "
            joined += text[end]
            if len(_plain(joined)) > most:
                break
            if _same(joined, whole):
                return True
    return False


@lru_cache(maxsize=65536)
def _wanted(words: tuple[str, ...]) -> tuple[str, str]:
    """The letters of a reference, and its words as `_stands` joins them."""
    return _plain("".join(words)), _spaced(words)


def _spaced(wanted: Sequence[str]) -> str:
    """Words as `_stands` joins them."""
    joined = wanted[0]
    for before, word in pairwise(wanted):
        joined += " " * (word[0].isdigit() and before[-1].isdigit()) + word
    return joined


def _same(said: str, wanted: str) -> bool:
    """Whether two writings are of one word: accents may be left out, but not be others."""
    if said == wanted:
        return True
    if _plain(said) == _plain(wanted) and (said == _plain(said) or wanted == _plain(wanted)):
        return True
    ending = said.removeprefix(wanted)
    return bool(_HANGUL.match(wanted[-1]) and ending != said and _ENDINGS.fullmatch(ending))


@lru_cache(maxsize=65536)
def _is_date(wanted: tuple[str, ...]) -> bool:
    """Whether a reference has a day, a word for the month, and perhaps a year."""
    numbers = [word for word in wanted if word.isdigit()]
    names = [word for word in wanted if not word[0].isdigit()]
    return (
        len(wanted) in (2, 3)
        and len(names) == 1
        and any(1 <= int(number) <= 31 for number in numbers)
        and all(len(number) in (1, 2, 4) for number in numbers)
    )


def _stands_as_date(text: Sequence[str], wanted: Sequence[str]) -> bool:
    parts = [word for word in text if word not in _OF]
    size = len(wanted)
    asked = sorted(_date_part(word) for word in wanted)
    return any(
        sorted(_date_part(word) for word in parts[start : start + size]) == asked
        for start in range(len(parts) - size + 1)
    )


def _date_part(word: str) -> str:
    return word.lstrip("0") if word.isdigit() else word


def _split(token: str) -> Iterator[str]:
    """A token, in scripts without spaces letter by letter: any may begin a word."""
    if token.isascii():
        yield token
        return
    position = 0
    for run in UNSPACED_RUN.finditer(token):
        if token[position : run.start()]:
            yield token[position : run.start()]
        letters = run.group()
        # No mark is a letter: without any, each character is one.
        yield from letters if letters.isalpha() else _WITH_MARKS.findall(letters)
        position = run.end()
    if token[position:]:
        yield token[position:]


def _month(number: str) -> str:
    return _MONTHS[int(number) - 1] if 1 <= int(number) <= 12 else number


@lru_cache(maxsize=65536)
def _base(letter: str) -> str:
    """A letter without accents; no accent stands before it, so writings of one word begin with the same."""
    return unicodedata.normalize("NFD", letter)[0]


@lru_cache(maxsize=65536)
def _plain(word: str) -> str:
    """A word without accents, and without the dot that Hindi writes below letters at will."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    kept = (c for c in parts if not "\u0300" <= c <= "\u036f" and c != "\u093c")
    return unicodedata.normalize("NFC", "".join(kept))


class _Characters(dict[int, str | None]):
    """The table of `str.translate`, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf" or _AT_WILL.match(character):
            new = ""
        elif category == "Nd":
            new = str(unicodedata.decimal(character))
        else:
            new = {"\u066b": ".", "\u066c": ","}.get(character, character.translate(_ARABIC))
        self[code] = new
        return new


_CHARACTERS = _Characters()
