"""Phrases of a language that show how an answer is meant, from resources/phrases/."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from needlework.data.resources import RESOURCES
from needlework.scoring.careful.words import COMMA, Words, mapping, read, split, unspaced

_SCRIPTS = (
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[가-힣]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("fa", re.compile("[پچژگ]|\u200c|ی")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("uk", re.compile("[іїєґ]")),
    ("sr", re.compile("[ђћљњџј]")),
    ("vi", re.compile("[ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđ]")),
)


# So many words tell a text's language.
_ENOUGH = 80
# The phrases that go on with each word; those that end here have no name that a word could have.
Branch = dict[str, Any]
_HERE = ""


class Cue(NamedTuple):
    """A phrase found in a text: its kind, its words, and its language."""

    kind: str
    start: int
    end: int
    lang: str


@cache
def languages() -> frozenset[str]:
    """The languages with phrases."""
    return frozenset(path.stem for path in (RESOURCES / "phrases").glob("*.yaml"))


def of_text(text: str, hints: Sequence[str], words: Words) -> tuple[str, ...]:
    """The languages whose phrases are searched: the given ones, those of the text's script, and English."""
    found = [lang for lang in hints if lang in languages()]
    if not text.isascii():
        found += [lang for lang, letters in _SCRIPTS if letters.search(text)]
    if not found or text.isascii() or found == ["en"]:
        found += _by_common_words(words, found)
    return tuple(dict.fromkeys([*found, "en"]))


@cache
def _latin_common() -> dict[str, frozenset[str]]:
    """The common words of the languages in Latin letters."""
    every = {lang: common((lang,)) for lang in sorted(languages())}
    return {lang: words for lang, words in every.items() if any(map(str.isascii, words))}


def _by_common_words(text: Words, known: Sequence[str]) -> list[str]:
    """The language whose common words a text has most often; none where it may be a known one."""
    words, every = set(text.bare[:_ENOUGH]), _latin_common()
    most = max(len(words & every[lang]) for lang in {*known, "en"} & every.keys())
    if most > 1:
        return []
    hits = {lang: len(words & own) for lang, own in every.items()}
    best = max(hits, key=lambda lang: hits[lang])
    return [best] if hits[best] > most else []


@cache
def _table(langs: tuple[str, ...], plain: bool) -> Branch:
    """The phrases word by word; `plain` leaves out their accents."""
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for lang in langs:
        for kind, listed in mapping(f"phrases/{lang}.yaml").items():
            if kind in ("common", "endings", "dropped"):
                continue
            for phrase in split(listed):
                made = read(phrase)
                if words := tuple(made.bare if plain else made.words):
                    found.setdefault((*words, f"#{kind}"), (kind, lang))
    table: Branch = {}
    for key, (kind, lang) in found.items():
        branch = table
        for word in key[:-1]:
            branch = branch.setdefault(word, {})
        branch.setdefault(_HERE, []).append((kind, lang))
    return table


def cues(text: Words, langs: tuple[str, ...]) -> list[Cue]:
    """All phrases in a text, in order. Of overlapping phrases of a kind, only the longest is kept."""
    # A text without any accent may have left them out.
    table = _table(langs, text.words == text.bare)
    found: list[Cue] = []
    last: dict[str, int] = {}
    words, gaps, count = text.words, text.gaps, len(text.words)
    for start in [place for place, word in enumerate(words) if word in table]:
        branch = table[words[start]]
        ends: dict[str, tuple[int, str]] = {}
        end = start + 1
        while branch is not None:
            for kind, lang in branch.get(_HERE, ()):
                ends[kind] = end, lang
            if end >= count or gaps[end] >= COMMA:
                break
            branch = branch.get(words[end])
            end += 1
        for kind, (close, lang) in ends.items():
            if close > last.get(kind, 0):
                found.append(Cue(kind, start, close, lang))
                last[kind] = close
    return found


@cache
def common(langs: tuple[str, ...]) -> frozenset[str]:
    """The most common words of the given languages."""
    return frozenset(
        word
        for lang in langs
        for word in read(mapping(f"phrases/{lang}.yaml").get("common", "")).bare
    )


@cache
def endings(langs: tuple[str, ...]) -> frozenset[str]:
    """The endings that languages add to words, each with the letters that they first remove from a word."""
    kinds = ("endings", "dropped")
    listed = (
        str(mapping(f"phrases/{lang}.yaml").get(kind, "")) for lang in langs for kind in kinds
    )
    return frozenset(ending for each in listed for ending in each.replace(";", " ").split())


def reads_letters(text: Words) -> bool:
    """Whether most words of a text are letters of a script without spaces."""
    if text.joined.isascii():
        return False
    return sum(map(unspaced, text.words)) * 2 > len(text.words)
