"""Metrics that several benchmarks use: words and numbers of an answer, and exact accuracy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from needlework.data.comparison.normalisation import contains, normalise

# The words of an answer to ONERULER, in any script.

# Scripts that are written without spaces: Han, kana; Thai, Lao, Burmese and Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
# Letters that are written in two ways: Persian ones with an Arabic keyboard, ё and œ without theirs.
_SAME = str.maketrans(
    {"ي": "ی", "ى": "ی", "ك": "ک", "ё": "е", "œ": "oe", "æ": "ae", "ʹ": "'", "\u02bc": "'"}
)
_MOST_DIGITS = 1000
_HYPHENS = frozenset("-'\u2010\u2011\u2019\u02bc\u05be")
# A hyphen or an apostrophe holds letters together, and nothing else.
_LOOSE_JOINER = re.compile(r"(?<![^\s\d-])-|-(?![^\s\d-])")


def number_of(digits: str) -> int:
    """The number in decimal digits. If it has very many, only the first are read: more than a reference has.

    Python converts at most 4,300 digits, and a model can write more.
    """
    return int(digits.lstrip("0")[:_MOST_DIGITS] or "0")


def words_of(text: str) -> list[str]:
    """The words of `text`, folded; in a script without spaces, the runs of letters without a break."""
    if text.isascii():
        text = text.lower().encode().translate(_KEPT_ASCII).decode()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = text.translate(_SAME).translate(_KEPT)
    if "-" in text:
        text = _LOOSE_JOINER.sub(" ", text)
    return (text if text.isascii() else UNSPACED_RUN.sub(r" \g<0> ", text)).split()


class _Kept(dict[int, str | int | None]):
    """The table of `str.translate`, filled as characters are met (there are 1.1 million)."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf":
            # The joiners of Persian and Hindi are written or left out at will.
            new = ""
        elif category[0] in "LMN":
            new = character
        else:
            new = "-" if character in _HYPHENS else " "
        self[code] = new
        return new


_KEPT = _Kept()
# ASCII is translated as bytes, ten times as fast.
_KEPT_ASCII = "".join(str(_KEPT[code]) for code in range(128)).encode().ljust(256)


# Numbers in an answer, in any script's digits and however their groups are parted.

# They look back only behind a first character: the search for one is many times faster so.
_GROUPED = re.compile(r"\d(?<!\d\d)\d{0,2}([,.' ])\d{3}(?:\1\d{3})*(?!\d)")
_APART = re.compile("[0-9][,.' ][0-9]")
# It takes a list of two-digit numbers, too so that no group is looked at twice.
_GROUPED_INDIAN = re.compile(r"\d(?<!\d\d)\d?(?:,\d{2}(?=,))+(,\d{3}(?!\d))?")
_NUMBER = re.compile("[0-9][0-9]+")
# As LaTeX sets them apart: 1{,}234 1\,234 1\ 234.
_LATEX_GROUP = re.compile(r"[{\\](?<=\d.)(?:(?<=\{)[,.]\}|(?<=\\)[,;: !])(?=\d{3})")
# A number with spaces between its groups, and whether it goes on in the next line. It takes all groups in
# either case, so that no group is looked at twice.
_SPACED = re.compile(r"\d(?<!\d\d)\d{0,2}(?: \d{3})+(\n\d{3}(?!\d))?")
_MYRIADS = re.compile(r"(?<!\d)(?:(\d{1,4}) ?[억亿億] ?)?(\d{1,4}) ?[만万萬] ?(\d{1,4})?(?!\d)")
_DIGITS = {c: n for n, cs in enumerate(("零〇", *"一二三四五六七八九")) for c in cs} | {
    "两": 2,
    "兩": 2,
}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_LARGE_UNITS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_NUMERALS = re.compile(f"[{''.join([*_DIGITS, *_UNITS, *_LARGE_UNITS])}]{{5,40}}")
_SEPARATORS = str.maketrans({"\u066c": ",", "\u060c": ",", "\u066b": ".", "\u2019": "'"})


def numbers(text: str) -> set[int]:
    """The numbers of two digits or more in `text`, in any script's digits, grouped or not.

    Numbers as LaTeX writes them are read too, and numbers with a unit of ten thousand (482만 1937). Chinese
    numerals are read if they have five characters or more; shorter ones are parts of words.
    """
    text = _LATEX_GROUP.sub(",", unicodedata.normalize("NFKC", text))
    if not text.isascii():
        text = text.translate(_DIGIT_TABLE).translate(_SEPARATORS)
    if "\n" in text:
        text = _SPACED.sub(lambda match: match.group().replace("\n", " "), text)
    if not text.isascii():
        text = _NUMERALS.sub(lambda match: str(chinese_number(match.group())), text)
        text = _MYRIADS.sub(_in_digits, text)
    if _APART.search(text):
        text = _GROUPED_INDIAN.sub(
            lambda match: match.group().replace(",", "") if match[1] else match.group(), text
        )
        text = _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    return {number_of(digits) for digits in _NUMBER.findall(text)}


def _in_digits(match: re.Match[str]) -> str:
    """A number with units of 10^8 and 10^4 in digits."""
    value = 0
    for part, unit in zip(match.groups(default="0"), (10**8, 10**4, 1), strict=True):
        value += unit * int(part)
    return str(value)


def chinese_number(numeral: str) -> int:
    """The number in Chinese numerals, with units or digit by digit."""
    if not any(character in _UNITS or character in _LARGE_UNITS for character in numeral):
        return number_of("".join(str(_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _UNITS:
            # 十 alone is 10.
            section += (digit or 1) * _UNITS[character]
            digit = 0
        else:
            total += (section + digit) * _LARGE_UNITS[character]
            section = digit = 0
    return total + section + digit


class _Digits(dict[int, str | int]):
    """The table of `str.translate` for digits of any script, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        value = unicodedata.decimal(character, None)
        if value is not None:
            new = str(value)
        else:
            new = "" if unicodedata.category(character) == "Cf" else character
        self[code] = new
        return new


_DIGIT_TABLE = _Digits()


# Exact accuracy: an answer is right if it contains an accepted answer (MLNeedle, section 2.4).

_normalised_reference = lru_cache(maxsize=65536)(normalise)


def exact_accuracy(
    prediction: str, translated: str | None, references: Iterable[str]
) -> tuple[float, str]:
    """1.0 if the answer or its English translation holds any reference, else 0.0; and the verdict.

    The verdict is "match:raw:<i>" or "match:translated:<i>" with the index of the first reference that was
    found (the answer itself is searched first), "no_match", or "empty" if both texts are empty but for
    punctuation.
    """
    references = [_normalised_reference(reference) for reference in references]
    empty = True
    for name, said in (("raw", prediction), ("translated", translated or "")):
        text = normalise(said)
        empty = empty and not text
        for index, reference in enumerate(references):
            if contains(reference, text):
                return 1.0, f"match:{name}:{index}"
    return 0.0, "empty" if empty else "no_match"
