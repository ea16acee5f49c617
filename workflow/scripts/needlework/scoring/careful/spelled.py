"""Numbers in words: the number that is looked for is spelled in each language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from num2words import CONVERTER_CLASSES, num2words

from needlework.scoring.careful.words import COMMA, Words, mapping, read, split

# What num2words does not say: "two" before a noun.
_MORE = {"zh": {"两": 2}, "de": {"ein": 1, "eine": 1}, "en": {"dozen": 12}}
# References are read up to this number, with a word such as "million" behind it.
_MOST = 130
_LONGEST_NUMBER = 15
# So many letters tell that a word may be a number.
_BEGINNING = 3


def is_cardinal(text: Words, number: int, langs: Iterable[str]) -> bool:
    """Whether a reference is only a number, in digits or as a cardinal in words."""
    letters = "".join(text.bare)
    return letters == str(number) or any(letters == _spelled(number, lang) for lang in langs)


def is_spelled(lang: str) -> bool:
    """Whether the numbers of a language can be spelled, by num2words or by resources/numbers/words.yaml."""
    return lang in CONVERTER_CLASSES or lang in mapping("numbers/words.yaml")


def numbers_of(references: Iterable[Words]) -> tuple[int, ...]:
    """The whole numbers of references, in digits."""
    words = {word for each in references for word in each.words if word.isdecimal()}
    return tuple(sorted(int(word) for word in words if len(word) <= _LONGEST_NUMBER))


def with_digits(text: Words, langs: tuple[str, ...]) -> Words:
    """A reference with its number words replaced by digits."""
    forms = _merged(_small(lang) for lang in langs) if _may_count(text, langs) else {}
    return _scaled(_replaced(text, langs, forms), langs)


def with_sought(
    text: Words,
    langs: tuple[str, ...],
    numbers: tuple[int, ...],
    cardinals: frozenset[int] = frozenset(),
) -> Words:
    """An answer in which `numbers` that are written in words are replaced by digits.

    For numbers in `cardinals`, ordinals are not replaced: "second" is not 2. A large number that the answer
    already has in digits is not searched for in words, since spelling takes time.
    """
    left = [n for n in numbers if n < _MOST or str(n) not in text.words]
    forms: dict[str, int] = {}
    if left and _may_count(text, langs):
        forms = {
            form: n
            for lang in langs
            for n in left
            for form in _forms(n, lang, ordinals=n not in cardinals)
        }
    return _scaled(_replaced(text, langs, forms), langs)


def _may_count(text: Words, langs: tuple[str, ...]) -> bool:
    """Whether a word of a text begins as a number word does."""
    begun = {word[:_BEGINNING] for word in text.bare}
    return any(not begun.isdisjoint(_beginnings(lang)) for lang in langs)


@cache
def _beginnings(lang: str) -> frozenset[str]:
    """What the number words of a language begin with."""
    words = set(_number_words(lang)) | set(_MORE.get(lang, ()))
    words |= {word for n in range(21) for word in read(_say(n, lang, ordinal=True)).bare}
    words |= {_part(word, (lang,)) for word in words}
    return frozenset(word[:_BEGINNING] for word in words if not word[0].isdigit())


def _merged(tables: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return {form: number for table in tables for form, number in table.items()}


def _replaced(text: Words, langs: tuple[str, ...], forms: Mapping[str, int]) -> Words:
    """A text with each longest run of words that is a number's spelling as that number."""
    if not forms:
        return text
    begins, longest = frozenset(form[:2] for form in forms), max(map(len, forms))
    joints, words = _joints(langs), text.words
    made: list[tuple[str, int]] = []
    known = frozenset(word for lang in langs for word in _number_words(lang)) - joints
    i = 0
    while i < len(words):
        if text.bare[i][:2] not in begins:
            made.append((words[i], i))
            i += 1
            continue
        said, found, end = "", None, i
        for place in range(i, len(words)):
            if place > i and text.gaps[place] > COMMA:
                break
            if not (said and text.bare[place] in joints):
                said += _part(text.bare[place], langs)
            if len(said) > longest:
                break
            if said in forms and text.bare[place] not in joints:
                found, end = forms[said], place + 1
        if found is not None and (_beside(text, i - 1, i, known) or _beside(text, end, end, known)):
            found = None
        made.append((words[i], i) if found is None else (str(found), i))
        i = i + 1 if found is None else end
    return _of(text, made)


def _beside(text: Words, place: int, joint: int, known: frozenset[str]) -> bool:
    """Whether a number goes on with a further number word ("forty-two" is no forty)."""
    return 0 <= place < len(text.words) and text.gaps[joint] < COMMA and text.bare[place] in known


@cache
def _number_words(lang: str) -> frozenset[str]:
    """The words that numbers are made of."""
    every = (read(_say(number, lang)).bare for number in (*range(101), 200, 1000))
    return frozenset(word for words in every for word in words) - _joints((lang,))


@lru_cache(maxsize=65536)
def _say(number: int, lang: str, ordinal: bool = False) -> str:
    """A number in a language's words; empty if it cannot be spelled."""
    listed = mapping("numbers/words.yaml").get(lang)
    if listed is not None:
        return "" if ordinal else _of_parts(number, listed)
    if lang not in CONVERTER_CLASSES:
        return ""
    try:
        said = num2words(number, lang=lang, to="ordinal" if ordinal else "cardinal")
    except (NotImplementedError, OverflowError, KeyError, IndexError, TypeError, ValueError):
        # Some languages have no ordinals, or no words for so large a number.
        return ""
    return str(said).replace("\u00ad", "")


def _of_parts(number: int, listed: Mapping[int, str]) -> str:
    """A number by a table of words: those up to 100, and the words for larger units."""
    if number in listed and number < 100:
        return split(listed[number])[0]
    for unit in sorted((u for u in listed if u >= 100), reverse=True):
        if number >= unit:
            many, rest = divmod(number, unit)
            words = [_of_parts(many, listed), split(listed[unit])[0]]
            return " ".join([*words, *([_of_parts(rest, listed)] if rest else [])])
    return ""


def _of(text: Words, made: Sequence[tuple[str, int]]) -> Words:
    if len(made) == len(text.words):
        return Words([word for word, _ in made], text.gaps, text.capitals)
    places = [place for _, place in made]
    gaps = [text.gaps[place] for place in places] + text.gaps[-1:]
    return Words([word for word, _ in made], gaps, [text.capitals[place] for place in places])


def _scaled(text: Words, langs: tuple[str, ...]) -> Words:
    """A text with "4.8 million" as one number."""
    if not any(word[0].isdigit() for word in text.words):
        return text
    scales = _merged(_scales(lang) for lang in reversed(langs))
    made: list[tuple[str, int]] = []
    for i, word in enumerate(text.words):
        before = made[-1][0] if made else ""
        scale = scales.get(text.bare[i])
        if scale and before.replace(".", "", 1).isdecimal() and len(before) < _LONGEST_NUMBER:
            value = round(float(before) * scale, 6)
            made[-1] = (str(int(value)) if value == int(value) else repr(value), made[-1][1])
        else:
            made.append((word, i))
    return _of(text, made)


@cache
def _joints(langs: tuple[str, ...]) -> frozenset[str]:
    """The words for "and", which some writers leave out of a number."""
    listed = (mapping(f"phrases/{lang}.yaml").get("and", "") for lang in langs)
    return frozenset(
        word for each in listed for phrase in split(each) for word in read(phrase).bare
    )


def _part(word: str, langs: tuple[str, ...]) -> str:
    """A word without the "and" that Arabic writes before it."""
    return (
        word[1:] if "ar" in langs and len(word) > 2 and word[0] == "و" and word[1] != "ا" else word
    )


@lru_cache(maxsize=65536)
def _spelled(number: int, lang: str, ordinal: bool = False) -> str:
    """A number's letters side by side, as a language spells it."""
    words = read(_say(number, lang, ordinal)).bare
    return "".join(_part(word, (lang,)) for word in words if word not in _joints((lang,)))


@lru_cache(maxsize=65536)
def _forms(number: int, lang: str, ordinals: bool = True) -> frozenset[str]:
    """The ways to spell a number: as a cardinal, an ordinal, and a year in hundreds."""
    made = {_spelled(number, lang)}
    if ordinals:
        made.add(_spelled(number, lang, ordinal=True))
    # A table may list several words for a number.
    listed = mapping("numbers/words.yaml").get(lang, {}).get(number, "")
    made |= {"".join(read(word).bare) for word in split(listed)}
    hundreds, rest = divmod(number, 100)
    if 10 < hundreds < 100 and hundreds % 10:
        before, behind = _spelled(hundreds, lang), _spelled(rest, lang) if rest else ""
        hundred = _spelled(200, lang).removeprefix(_spelled(2, lang))
        made |= {before + hundred + behind} | ({before + behind} if rest > 9 else set())
    # Spanish shortens "uno" before a thousand and a million; not all writers do.
    made |= {form.replace("unomil", "unmil") for form in made if lang == "es"}
    made |= {form for form, value in _MORE.get(lang, {}).items() if value == number}
    return frozenset(form for form in made if form and not any(map(str.isdigit, form)))


@cache
def _small(lang: str) -> dict[str, int]:
    """The spellings of small numbers."""
    numbers = (*range(_MOST), *range(200, 1000, 100))
    return {form: number for number in numbers for form in _forms(number, lang)}


@cache
def _scales(lang: str) -> dict[str, int]:
    """The words for a thousand and more, in all forms that stand behind 1, 2 and 5."""
    found: dict[str, int] = {}
    for power in (3, 5, 6, 7, 9, 12):
        for many in (1, 2, 5):
            word = _spelled(many * 10**power, lang)
            short = word.removeprefix(_spelled(many, lang))
            if short and (short != word or many == 1):
                found.setdefault(short, 10**power)
    return found
