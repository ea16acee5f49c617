"""Numbers in one form: digits without groups, number words, units (resources/numbers/)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from needlework.scoring.careful.tables import rows, split
from needlework.scoring.careful.writings import fold
from needlework.scoring.metrics.numbers import chinese_number

_DIGIT = re.compile("[0-9零一二三四五六七八九十百千〇两십백천]")
# What any of the patterns below asks for in ASCII.
_WRITTEN_OTHERWISE = re.compile(
    r"\d(?:[-,.' _/\n][\d]|[,.]0|(?:st|nd|rd|th|er|[kK])\b|%| ?[kK]\b| ?[AaPp]\.?[Mm]\b|[:.]\d\d ?[AaPp])"
)
# Groups of three with one separator, Indian groups, groups of four.
_GROUPED = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}([,.' _·])\d{3}(?:\1\d{3})*(?![\d]|[.,]\d{1,2}(?!\d))"
)
_GROUPED_CENTS = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}(?:([,.' _·])\d{3})(?:\1\d{3})*(?=[.,]\d{1,2}(?!\d))"
)
_INDIAN = re.compile(r"\d(?<![\d.,]\d)\d?(?:,\d{2})+,\d{3}(?!\d)")
_FOURS = re.compile(r"\d(?<![\d.,]\d)\d{0,2}(?:([,_ ])\d{4})+(?!\d|\.\d)")
_UNEVEN = re.compile(r"(?<![\d.,_-])(\d{1,3})[-_](\d{3})(?:[-_](\d{3}))*(?![\d_-])")
_ISO_DATE = re.compile(r"(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])")
_DATE = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\d/-]|\.\d)")
_DIGIT_BY_DIGIT = re.compile(r"(?<![\d.,-])\d(?:(?:-\d){3,}|(?: \d){4,})(?![\d-]|[.,]\d)")
_SPACED_LINE = re.compile(r"(?<=\d)\n(?=\d{3}(?!\d))")
_ZEROS = re.compile(r"(?<=\d)[.,]0+(?!\d)(?![.,]\d)")
_DECIMAL_COMMA = re.compile(r",(?<=\d,)(?=\d{1,2}(?!\d|,\d))")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|ème|º|ª|°)\b")
_MYRIADS = re.compile(r"(?<![\d.])(?:(\d{1,4}) ?[억亿億] ?)?(\d{1,4}) ?[만万萬] ?(\d{1,4})?(?!\d)")
_HUNDRED_MILLIONS = re.compile(r"(\d+(?:\.\d+)?) ?[억亿億](?!\d)")
_DECIMAL_MYRIADS = re.compile(r"(\d+\.\d+) ?[만万]")
_THOUSANDS = re.compile(r"(?<=\d) ?[kK]\b(?!\.?[mgb])")
_PM = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d{2}))? ?([AaPp])\.?[Mm]\b\.?")
_HALF_PAST = re.compile(r"(?<=点)半")
_HANGUL_NUMERALS = re.compile(
    "[영공일이삼사오육륙칠팔구십백천만억]{5,}(?: [영공일이삼사오육륙칠팔구십백천만억]{2,})*"
)
_HANGUL_TO_HAN = str.maketrans(
    "영공일이삼사오육륙칠팔구십백천만억", "零零一二三四五六六七八九十百千万亿"
)
_PERCENT = re.compile(r"百分之 ?(\d+(?:\.\d+)?)")
_NUMERALS = re.compile("[〇零一二三四五六七八九十百千万亿两]{2,40}|十")
_SIGNS = str.maketrans({"%": " percent ", "٪": " percent ", "％": " percent "})


def in_digits(text: str) -> str:
    """A folded text with its numbers in digits without separators of groups."""
    if not _DIGIT.search(text) or (text.isascii() and not _WRITTEN_OTHERWISE.search(text)):
        return text
    if "m" in text or "M" in text:
        text = _PM.sub(_of_day, text)
    if "-" in text or "/" in text or "." in text:
        text = _DATE.sub(_day_first, _ISO_DATE.sub(r"\1年\2月\3日", text))
    if not text.isascii():
        text = _HANGUL_NUMERALS.sub(_of_hangul, text)
        text = _NUMERALS.sub(lambda found: str(chinese_number(found.group())), text)
        text = _PERCENT.sub(r"\1%", text)
        text = _HALF_PAST.sub("30分", text)
        text = _DECIMAL_MYRIADS.sub(lambda n: _written(float(n[1]) * 10**4), text)
        text = _MYRIADS.sub(_of_myriads, text)
        text = _HUNDRED_MILLIONS.sub(lambda n: _written(float(n[1]) * 10**8), text)
    if "\n" in text:
        text = _SPACED_LINE.sub(" ", text)
    text = _DIGIT_BY_DIGIT.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    for pattern in (_INDIAN, _GROUPED_CENTS, _GROUPED, _FOURS):
        text = pattern.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _UNEVEN.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _DECIMAL_COMMA.sub(".", _ZEROS.sub("", text))
    return _THOUSANDS.sub("000", _ORDINAL.sub("", text)).translate(_SIGNS)


def _of_hangul(match: re.Match[str]) -> str:
    """A number in Korean letters in digits."""
    return str(chinese_number(match.group().replace(" ", "").translate(_HANGUL_TO_HAN)))


def _of_myriads(match: re.Match[str]) -> str:
    parts = zip(match.groups(default="0"), (10**8, 10**4, 1), strict=True)
    return str(sum(unit * int(part) for part, unit in parts))


def _of_day(match: re.Match[str]) -> str:
    """A time with am or pm as one of 24 hours."""
    hour = int(match[1]) % 12 + 12 * (match[3].lower() == "p")
    return f"{hour}:{match[2] or '00'}"


def _day_first(match: re.Match[str]) -> str:
    """A date in numbers: the day first, unless that can be no month."""
    day, _, month, year = match.groups()
    if int(month) > 12 >= int(day):
        day, month = month, day
    return f"{year}年{int(month)}月{int(day)}日" if 0 < int(month) <= 12 else match.group()


_ROMAN = re.compile("(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")


def _roman(word: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[letter] for letter in word]
    return sum(
        -value if any(later > value for later in values[i + 1 : i + 2]) else value
        for i, value in enumerate(values)
    )


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))


@cache
def _units() -> dict[str, str]:
    table = {}
    for unit, listed in rows("numbers/units.tsv"):
        for word in split(listed):
            table[fold(word).casefold()] = unit
    return table


def in_one_form(words: Sequence[str], capitals: Sequence[bool]) -> list[str]:
    """Words with Roman numerals in digits, and units in one form."""
    made: list[str] = []
    for place, word in enumerate(words):
        roman = capitals[place] and _ROMAN.fullmatch(word)
        named = place and capitals[place - 1] and len(words[place - 1]) > 2
        made.append(
            str(_roman(word)) if roman and (len(word) > 1 or named) else _units().get(word, word)
        )
    return made
