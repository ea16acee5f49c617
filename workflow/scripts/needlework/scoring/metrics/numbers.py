"""Numbers in an answer, in any script's digits and however their groups are parted."""

from __future__ import annotations

import re
import unicodedata

from needlework.scoring.metrics.words import number_of

# They look back only behind a first character: the search for one is many times faster so.
_GROUPED = re.compile(r"\d(?<!\d\d)\d{0,2}([,.' ])\d{3}(?:\1\d{3})*(?!\d)")
_APART = re.compile("[0-9][,.' ][0-9]")
# It takes a list of two-digit numbers, too so that no group is looked at twice.
_GROUPED_INDIAN = re.compile(r"\d(?<!\d\d)\d?(?:,\d{2}(?=,))++(,\d{3}(?!\d))?")
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

    As LaTeX writes them too, with a unit of ten thousand (482만 1937), and in Chinese numerals of five
    characters or more; shorter ones are parts of words.
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
        return int("".join(str(_DIGITS[character]) for character in numeral))
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
