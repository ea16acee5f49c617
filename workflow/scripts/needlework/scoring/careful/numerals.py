"""Numbers in one form: digits without groups, number words, units (resources/numbers/)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from needlework.scoring.careful.tables import mapping, rows, split
from needlework.scoring.careful.writings import bare, fold
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


def of_words(
    words: Sequence[str], capitals: Sequence[bool], langs: Sequence[str]
) -> tuple[list[str], list[int]]:
    """Words with their number words as numbers and units in one form, and the place of each in `words`."""
    split, places = _split(words, capitals, langs)
    known = [_number_words(lang) for lang in langs]
    made: list[str] = []
    starts: list[int] = []
    i = 0
    while i < len(split):
        value, end = _number_at(split, i, known)
        made.append(_units().get(split[i], split[i]) if value is None else _written(value))
        starts.append(places[i])
        i = end if value is not None else i + 1
    return made, starts


def _split(
    words: Sequence[str], capitals: Sequence[bool], langs: Sequence[str]
) -> tuple[list[str], list[int]]:
    """Words with glued number words apart and Roman numerals in digits, and the place of each."""
    made: list[str] = []
    places: list[int] = []
    patterns = [pattern for lang in langs if (pattern := _glued(lang))]
    for place, word in enumerate(words):
        parts = [word]
        if capitals[place] and _ROMAN.fullmatch(word):
            if len(word) > 1 or (place and capitals[place - 1] and len(words[place - 1]) > 2):
                parts = [str(_roman(word))]
        elif len(word) > _GLUED:
            for pattern in patterns:
                parts = [part for part in pattern.split(bare(word)) if part]
        made += parts
        places += [place] * len(parts)
    return made, places


# A shorter word is one number word.
_GLUED = 8
_ROMAN = re.compile("(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")


def _roman(word: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[letter] for letter in word]
    return sum(
        -value if any(later > value for later in values[i + 1 : i + 2]) else value
        for i, value in enumerate(values)
    )


@cache
def _glued(lang: str) -> re.Pattern[str] | None:
    """What splits a language's number words; None where they are not glued."""
    listed = mapping("numbers/words.yaml").get(lang, {}).get("glued")
    return re.compile("(" + "|".join(split(listed)) + ")") if listed else None


def _number_at(
    words: Sequence[str], start: int, known: Sequence[dict[str, float]]
) -> tuple[float | None, int]:
    """The number that begins at `start`, and where it ends; None without one."""
    total, section, any_found, i = 0.0, 0.0, False, start
    while i < len(words):
        word = words[i]
        if word[0].isdigit():
            if any_found or len(word) > 15 or not _is_number(word):
                break
            section, any_found = float(word), True
        else:
            value = _value(word, known)
            if value == _AND and any_found and i + 1 < len(words):
                following = _value(words[i + 1], known)
                if following is None or following < 0:
                    break
            elif value is None or value == _AND:
                break
            else:
                added = _with(section, value)
                if added is None or (not any_found and value in (_TENS, _TEENS)):
                    break
                if value >= 1000:
                    total, section = total + (section or 1) * value, 0.0
                else:
                    section = added
                any_found = True
        i += 1
    return (total + section, i) if any_found else (None, start)


_AND, _TENS, _TEENS = -1, -10, -11


def _with(section: float, value: float) -> float | None:
    """A number below 1,000 and what its next word makes of it; None where they are two numbers."""
    digit = section % 10
    if value == _TENS:
        return section + 9 * digit
    if value == _TEENS or (value == 10 and digit and section < 10):
        return section + 10
    if value == 20 and section % 100 == 4:
        # French 80.
        return section + 76
    if value < 10:
        return section + value if digit == 0 else None
    if value < 20:
        return section + value if section % 100 in (0, 60, 80) else None
    if value < 100:
        return section + value if section % 100 == 0 else _units_first(section, value)
    if value == 100:
        return (
            section * 100
            if 0 < section < 100
            else section - digit + digit * 100
            if digit
            else section + 100
        )
    return section + value


def _units_first(section: float, value: float) -> float | None:
    """Arabic and Dutch say the units before the tens."""
    return section + value if 0 < section % 100 < 10 else None


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


def _value(word: str, known: Sequence[dict[str, float]]) -> float | None:
    return next((found for table in known if (found := table.get(word)) is not None), None)


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))


_SPECIAL = {"and": _AND, "tens": _TENS, "teens": _TEENS}


@cache
def _number_words(lang: str) -> dict[str, float]:
    """The values of a language's number words; negative ones of words with a rule of their own."""
    table: dict[str, float] = {}
    given = mapping("numbers/words.yaml").get(lang, {})
    for value, listed in given.items():
        if value == "glued":
            continue
        for word in split(str(listed)):
            for form in {fold(word).casefold(), bare(fold(word).casefold())}:
                table.setdefault(form, _SPECIAL.get(value, value))
    if lang == "de":
        table |= _german(table)
    return table


def _german(table: dict[str, float]) -> dict[str, float]:
    """German numbers below 1,000, which are one word."""
    small = {word: int(value) for word, value in table.items() if 0 < value < 20 and word != "eins"}
    tens = {word: int(value) for word, value in table.items() if 20 <= value < 100}
    below = dict(small) | tens
    below |= {
        f"{one}und{ten}": a + b for one, a in small.items() if a < 10 for ten, b in tens.items()
    }
    made: dict[str, float] = {}
    for hundreds, a in {
        "": 1,
        **{word: value for word, value in small.items() if value < 10},
    }.items():
        made[f"{hundreds}hundert"] = 100 * a
        made |= {f"{hundreds}hundert{word}": 100 * a + value for word, value in below.items()}
    return made | {word: value for word, value in below.items() if word not in table}


@cache
def number_words() -> frozenset[str]:
    """The number words of all languages, without accents."""
    every = (_number_words(lang) for lang in mapping("numbers/words.yaml"))
    return frozenset(bare(word) for table in every for word, value in table.items() if value >= 0)


@cache
def _units() -> dict[str, str]:
    table = {}
    for unit, listed in rows("numbers/units.tsv"):
        for word in split(listed):
            table[fold(word).casefold()] = unit
    return table
