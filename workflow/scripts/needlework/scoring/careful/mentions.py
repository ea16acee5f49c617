"""Where a text mentions a reference, in whatever order, inflection or writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from needlework.data.resources import resource_rows
from needlework.scoring.careful.phrases import endings
from needlework.scoring.careful.words import (
    ARTICLES,
    COLON,
    COMMA,
    MOST_REFERENCES,
    QUOTE,
    Words,
    bare,
    fold,
    hangul,
    reference,
    split,
    unspaced,
    with_umlauts,
    without_umlauts,
)

# Dates in words: a day, a month by its name in any language, a year, in any order (resources/numbers/).

# Between the parts of a date.
_BETWEEN = frozenset("of de del di du den the le el der den o a i jour din ngay tanggal".split())
_CHINESE = {
    "年": "year",
    "月": "month",
    "日": "day",
    "号": "day",
    "년": "year",
    "월": "month",
    "일": "day",
}


class Date(NamedTuple):
    """A date; missing parts are 0."""

    day: int
    month: int
    year: int

    def within(self, other: Date) -> bool:
        """Whether another date has all parts of this date, with equal values."""
        return all(mine in (0, theirs) for mine, theirs in zip(self, other, strict=True))


def dates_in(words: Sequence[str]) -> Iterator[tuple[int, int, Date]]:
    """(start, end, date) of each date: a month's name next to a number, or numbers with 年, 月, 日."""
    names = months()
    end_of_last = 0
    for place, word in enumerate(words):
        if place < end_of_last:
            continue
        if word in _CHINESE and place and words[place - 1].isdecimal():
            start, end, parts = _east_asian(words, place - 1)
            if parts.month:
                yield start, end, parts
                end_of_last = end
            continue
        month = names.get(word)
        if month is None and word.isdecimal() and _vietnamese(words, place):
            month = int(word)
        if month is None:
            continue
        day, year, start, end = 0, 0, place, place + 1
        if place and words[place - 1] == "thang":
            start = place - 1
        # Days and years before the month, then behind it.
        for step in (-1, 1):
            at, skipped = (start - 1 if step < 0 else end), 0
            while 0 <= at < len(words) and (not day or not year):
                token = words[at].rstrip(".")
                if token in _BETWEEN or token in ("nam", "ngay", "tahun", "عام", "سنه"):
                    skipped += 1
                    if skipped > 2:
                        break
                elif (
                    token.isdecimal() and 1 <= int(token[:5]) <= 31 and len(token) <= 2 and not day
                ):
                    day, skipped = int(token), 0
                    start, end = min(start, at), max(end, at + 1)
                elif token.isdecimal() and len(token) in (3, 4) and not year:
                    year, skipped = int(token), 0
                    start, end = min(start, at), max(end, at + 1)
                else:
                    break
                at += step
        if day or year:
            yield start, end, Date(day, month, year)
            end_of_last = end


def _vietnamese(words: Sequence[str], place: int) -> bool:
    """Whether a number is a month ("tháng 3")."""
    return place > 0 and words[place - 1] == "thang" and int(words[place][:3]) <= 12


def _east_asian(words: Sequence[str], start: int) -> tuple[int, int, Date]:
    parts = {"year": 0, "month": 0, "day": 0}
    at = start
    while at + 1 < len(words) and words[at].isdecimal() and words[at + 1] in _CHINESE:
        if len(words[at]) > 4:
            break
        parts[_CHINESE[words[at + 1]]] = int(words[at])
        at += 2
    return start, at, Date(parts["day"], parts["month"], parts["year"])


@cache
def months() -> dict[str, int]:
    """The names of months in all languages, without accents."""
    table: dict[str, int] = {}
    for _, number, listed in resource_rows("numbers/months.tsv"):
        for name in split(listed):
            table.setdefault(bare(fold(name).lower()), int(number))
    # Words of many languages that are no month's name by themselves.
    for word in ("set", "an", "kun", "sat"):
        table.pop(word, None)
    return table


Span = tuple[int, int]
# Prefixes that Arabic writes without a space: the, and, with, for, as, then.
_ARABIC_PREFIXES = frozenset("ال و ف ب ك ل وال فال بال كال لل ول وب وبال ولل".split())
_ARABIC = re.compile("[\u0600-\u06ff]")
# A shorter word has no endings, and a shorter family name stands for nobody.
_FEWEST_LETTERS = 3
_LONGEST_ENDING = 8
# They make another place of a place's name.
_PREFIXES = frozenset("new south north east west papua equatorial upper lower".split())
# Words that do not tell one name from another.
GENERIC = frozenset(
    (
        "city river lake desert county state states university college school war battle island islands "
        "street church treaty company band team club party act law theory king queen prince mount "
        "mountain sea ocean bay cup bridge tower park hall house square airport station road museum "
        "league award prize north south east west new san saint st jr sr ii iii iv group museum "
        "century "
    ).split()
)
_HONORIFICS = frozenset(
    "president king queen prince princess pope saint professor emperor captain general senator "
    "mr mrs ms dr sir dame lord pandit shri पंडित जी श्री".split()
)
_LINKS = frozenset("of the de la del di du der von van and & in y e et und".split())


def mentions(text: Words, wanted: Words, langs: tuple[str, ...], original: str = "") -> list[Span]:
    """The spans of words that mention a reference, in order."""
    if not wanted.words:
        return []
    if wanted.cyrillic != text.cyrillic:
        text, wanted = text.in_latin(), wanted.in_latin()
    if date := _date(tuple(wanted.words)):
        return [(start, end) for start, end, said in dates_in(text.bare) if date.within(said)]
    found = _side_by_side(text, wanted, langs)
    if not found and original and (other := without_umlauts(original)) != original:
        found = _side_by_side(text, reference(other), langs)
    if not found and original and (other := with_umlauts(original)) != original.casefold():
        spans = _side_by_side(text, reference(other), langs)
        # In German and Danish a letter without its marks is another; in Serbian đ has the form d.
        serbian = "đ" in other and "sr" in langs
        found = [s for s in spans if serbian or text.words[slice(*s)] != text.bare[slice(*s)]]
    if not found and len(wanted.words) > 1:
        found = _in_other_order(text, wanted) or _by_family_name(text, wanted)
    return [span for span in found if not _of_another_name(text, *span, wanted)]


@lru_cache(maxsize=MOST_REFERENCES)
def _date(words: tuple[str, ...]) -> Date | None:
    """The date that a reference is, and nothing else."""
    plain = [bare(word) for word in words]
    found = list(dates_in(plain))
    return found[0][2] if len(found) == 1 and found[0][:2] == (0, len(words)) else None


def _side_by_side(text: Words, wanted: Words, langs: tuple[str, ...]) -> list[Span]:
    """Where the words of a reference stand, however they are hyphenated, spaced or inflected."""
    if not all(stem in text.joined for stem in wanted.stems):
        return []
    letters, exact = wanted.joined, _spaced(wanted.words)
    target, added, places = _spaced(wanted.bare), endings(langs), text.content
    found: list[Span] = []
    may_begin = text.begun.get(letters[0], ())
    for first in range(len(places)) if _ARABIC.match(letters) else may_begin:
        place = places[first]
        if found and place < found[-1][1]:
            continue
        at = _begin(text.bare[place], letters)
        if at is None:
            continue
        end = _end(text, first, at, (target, exact), added)
        if end is None:
            end = _inflected(text, places[first : first + len(wanted.words)], wanted, added)
        if end is not None:
            found.append((place, end))
    return found


def _end(
    text: Words, first: int, at: int, wanted: tuple[str, str], added: frozenset[str]
) -> int | None:
    """Where a reference ends that begins in the word `text.content[first]`; None where its letters differ."""
    target, exact = wanted
    plain = said = ""
    before = ""
    for index in range(first, len(text.content)):
        place = text.content[index]
        word = text.bare[place]
        # The parts of a time or a ratio hold together.
        numbers = before[-1:].isdigit() and word[0].isdigit()
        most_firm = COLON if numbers else COMMA
        if len(before) > 1 and text.gaps[place] > most_firm:
            return None
        if before and word[0].isdigit() and before[-1].isdigit():
            plain, said = f"{plain} ", f"{said} "
        cut = 0 if before else at
        plain, said = plain + word[cut:], said + text.words[place][cut:]
        if _same(plain, said, target, exact, added):
            return place + 1
        if not target.startswith(plain) and not (
            plain.startswith(target) and len(plain) <= len(target) + _LONGEST_ENDING
        ):
            return None
        before = word
    return None


def _inflected(
    text: Words, places: Sequence[int], wanted: Words, added: frozenset[str]
) -> int | None:
    """Where the words of a reference end, each with an ending of its own; None where they differ."""
    if len(places) < len(wanted.words):
        return None
    if len(wanted.words) == 1 and text.bare[places[0]] == wanted.bare[0]:
        # The same letters with other accents are another word.
        return None
    for place, word in zip(places, wanted.bare, strict=True):
        if not _stems(text.bare[place], added) & _stems(word, added):
            return None
    if any(text.gaps[place] > QUOTE for place in places[1:]):
        return None
    return places[-1] + 1


@lru_cache(maxsize=8192)
def _stems(word: str, added: frozenset[str]) -> frozenset[str]:
    """A word, and what is left of it without each of the endings."""
    cut = {
        word[: -len(ending)]
        for ending in added
        if word.endswith(ending) and len(word) - len(ending) >= _FEWEST_LETTERS
    }
    return frozenset({word, *cut}) if not word[0].isdigit() else frozenset({word})


def _of_another_name(text: Words, start: int, end: int, wanted: Words) -> bool:
    """Whether a mention is part of a longer name (George Washington Carver, Papua New Guinea)."""
    if (
        start
        and text.gaps[start] < QUOTE
        and text.capitals[start]
        and text.bare[start - 1] in _PREFIXES
    ):
        return text.capitals[start - 1]
    if text.words[end : end + 2] == ["in", "law"]:
        return True
    if len(wanted.words) < 2 or end >= len(text.words) or not all(wanted.capitals):
        return False
    if all(text.capitals):
        return text.gaps[end] < QUOTE and text.bare[end] not in GENERIC and end - start == 2
    return (
        text.gaps[end] < QUOTE
        and text.capitals[end]
        and text.capitals[start]
        and len(text.words[end]) > 2
        and text.bare[end] not in GENERIC
        and text.capitals[end + 1 : end + 2] != [True]
    )


def _begin(word: str, letters: str) -> int | None:
    """Where in a word a reference may begin: 0, or behind an Arabic prefix; None where it cannot."""
    if word[0] == letters[0]:
        return 0
    if _ARABIC.match(word):
        for length in range(1, 4):
            if word[length:].startswith(letters[:3]) and word[:length] in _ARABIC_PREFIXES:
                return length
    return None


def _spaced(words: Sequence[str]) -> str:
    """Words side by side; numbers are not glued to each other."""
    joined = words[0]
    for before, word in pairwise(words):
        joined += " " * (word[0].isdigit() and before[-1].isdigit()) + word
    return joined


def _same(plain: str, said: str, target: str, exact: str, added: frozenset[str]) -> bool:
    """Whether two writings are of one word: accents may be left out, but not be others."""
    if plain == target:
        return said in (exact, plain) or exact == target or bare(said) != plain
    if not plain.startswith(target):
        return False
    ending = plain[len(target) :]
    if hangul(target[-1]):
        return bool(_KOREAN.fullmatch(ending))
    if target[-1].isdigit() or unspaced(target[-1]):
        return target[-1].isdigit() and ending in added and not ending.isdigit()
    return len(target) > _FEWEST_LETTERS and ending in added


_KOREAN = re.compile(
    "(?:은|는|이|가|을|를|와|과|도|의|에|에서|로|으로|라고|이라고|입니다|이다|이며|예요|이에요|였습니다|이었습니다|였다|이었다|부터|까지|만|요|고|인)*"
)


def _in_other_order(text: Words, wanted: Words) -> list[Span]:
    """Where the words of a reference stand close together in another order ("the Versailles Treaty")."""
    if not all(stem in text.joined for stem in wanted.stems if stem not in _LINKS):
        return []
    asked = [w for w in wanted.bare if w not in _LINKS]
    numbers = sum(w[0].isdigit() for w in asked)
    if len(asked) < 2 or numbers > 1 or numbers == len(asked) - 1 or any(map(unspaced, asked)):
        return []
    need = frozenset(asked)
    if not need <= set(text.bare):
        return []
    size = len(wanted.words) + 2
    found: list[Span] = []
    places = [i for i, word in enumerate(text.bare) if word in need]
    for i, start in enumerate(places):
        end = start
        seen: set[str] = set()
        for place in places[i:]:
            if place - start >= size or any(
                gap > COMMA for gap in text.gaps[start + 1 : place + 1]
            ):
                break
            seen.add(text.bare[place])
            end = place + 1
            if seen == need:
                break
        between = text.bare[start:end]
        # "George H. W. Bush" is no "George W. Bush".
        initials = any(len(w) == 1 for w in asked)
        alone = all(w in need or w in _LINKS or (len(w) == 1 and not initials) for w in between)
        if seen == need and alone and (not found or found[-1][1] <= start):
            found.append((start, end))
    return found


def _by_family_name(text: Words, wanted: Words) -> list[Span]:
    """Where the last of a person's names stands for all ("composed by Verdi")."""
    own = [i for i, name in enumerate(wanted.bare) if name not in _PARTICLES]
    names = [wanted.bare[i] for i in own]
    if not 2 <= len(names) <= 4 or names[-1] != wanted.bare[-1] or names[-1] not in text.bare:
        return []
    if not all(wanted.capitals[i] for i in own) or GENERIC & set(names):
        return []
    if names[-1][0].isdigit() or len(names[-1]) < _FEWEST_LETTERS:
        return []
    found = [i for i, w in enumerate(text.bare) if w == names[-1] and text.capitals[i]]
    return [(i, i + 1) for i in found if not _has_other_name(text, i)]


def _has_other_name(text: Words, place: int) -> bool:
    """Whether another name stands right beside a family name, or before its particles."""
    end = place + 1
    while place and text.gaps[place] < QUOTE and text.bare[place - 1] in _PARTICLES:
        place -= 1
    before = place and text.gaps[place] < QUOTE and text.capitals[place - 1]
    behind = end < len(text.words) and text.gaps[end] < QUOTE and text.capitals[end]
    return bool(before and text.bare[place - 1] not in _HONORIFICS | _OPENING) or bool(behind)


# They stand before family names.
_PARTICLES = frozenset("van von der den ten ter zu zum af de di du da bin ibn".split())
# Words that begin a sentence and are no name.
_OPENING = frozenset("the by and but when if it was because according in of for".split())


def partly(text: Words, wanted: Words) -> bool:
    """Whether a text contains so much of a reference that it may mean it in other words or forms."""
    named = [word for word in wanted.bare if word not in _LINKS and word not in ARTICLES]
    asked = [word for word in named if word not in GENERIC and word not in _HONORIFICS] or named
    if not asked or any(map(unspaced, asked)):
        return False
    if len(named) > 1 and all(wanted.capitals) and "".join(w[0] for w in named) in text.bare:
        return True
    # A single word of the same letters has other accents: it is another word.
    others = set(text.bare) - (set(asked) if len(named) == 1 else set())
    here = [word for word in asked if any(akin(word, said) for said in others)]
    return 3 * sum(map(len, here)) >= 2 * sum(map(len, asked))


def akin(one: str, other: str) -> bool:
    """Whether two words begin alike, as the inflected forms of a word do."""
    if one == other:
        return True
    if one[0].isdigit() or other[0].isdigit() or one[0] != other[0]:
        return False
    same = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    least = _FEWEST_LETTERS if len(one) <= 4 else max(4, 0.6 * len(one))
    return same >= least and max(len(one), len(other)) - same <= 4
