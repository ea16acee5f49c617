"""Whether an answer to ONERULER says that there is no such number.

A negation is not enough: "I have no idea", "there is no way to tell" and "알 수 없습니다" say nothing about
the numbers. An answer says so if a word for "none" stands by itself, or if what it denies is a number,
or that the text mentions one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from needlework.benchmarks.oneruler.wording import Wording
from needlework.scoring.metrics.words import UNSPACED_RUN, words_of

_HANGUL = re.compile("[\uac00-\ud7a3]")
# NFKC has made one form of the wide and the narrow ones, and full stops of "…".
_SENTENCE_END = re.compile("[.!?。؟۔।॥;؛\r\n]")
_COMMA = re.compile("[,،、]")
# A dash or an apostrophe that joins no two letters.
_LOOSE = re.compile(r"(?<!\S)['’-]+|['’-]+(?!\S)")
# Marks that may stand within a phrase: other marks and symbols end what stands by itself.
_WITHIN = frozenset(",،、'’-\u2010\u2011/")

_SIGN = re.compile(r"([#…~*^.()|?])")
# No more of them in a row, so that an answer that repeats itself is read in no time.
_MOST_SUCH = 6
_MOST_BETWEEN = 80
# Of `~`: words, or characters of a script without spaces.
_FEW_WORDS = r"(?:[^ ,]+ ){0,6}?"
_FEW_CHARACTERS = "[^,]{0,16}?"


def says_none(
    text: str,
    none_words: Iterable[str | Wording],
    quotes: Callable[[str], bool] = lambda text: False,
) -> bool:
    """Whether `text` says that there is no number, in one of the wordings or of the plain phrases.

    A plain phrase (a language's configured words, a prompt's own word) counts wherever it stands as
    words of their own, except where a wording has it among those that count by themselves only. A
    Korean word may have an ending. In scripts without spaces a phrase may stand within others, but a
    single character ("无") stands alone: in "无法" it is part of another word.

    A text that `quotes` what the model has read says nothing, unless all of it is a plain phrase, or one
    that stands by itself.
    """
    given = list(none_words)
    patterns = [_patterns(wording) for wording in given if isinstance(wording, Wording)]
    plain = [words_of(phrase) for phrase in given if isinstance(phrase, str)]
    pieces, sentences = _pieces(text), _sentences(text)
    whole = words_of(text)
    if not (
        whole in plain or any(alone.fullmatch(" ".join(whole)) for alone, _ in patterns)
    ) and quotes(text):
        return False
    for alone, said in patterns:
        if any(map(alone.fullmatch, pieces)) or any(map(said.search, sentences)):
            return True
    spoken = words_of(text)
    return any(
        _holds(spoken, phrase)
        for phrase in plain
        if not any(alone.fullmatch(" ".join(phrase)) for alone, _ in patterns)
    )


def _holds(spoken: Sequence[str], phrase: Sequence[str]) -> bool:
    if len(phrase) == 1 and _HANGUL.match(phrase[0]):
        return any(word.startswith(phrase[0]) for word in spoken)
    if len(phrase) == 1 and len(phrase[0]) > 1 and UNSPACED_RUN.fullmatch(phrase[0]):
        return any(phrase[0] in word for word in spoken)
    n = len(phrase)
    return n > 0 and any(spoken[i : i + n] == phrase for i in range(len(spoken)))


def _pieces(text: str) -> list[str]:
    """What stands by itself in `text`: between marks other than commas, or on a line."""
    text = _LOOSE.sub("\n", unicodedata.normalize("NFKC", text))
    return [" ".join(words_of(part)) for part in text.translate(_ENDS).split("\n")]


class _Ends(dict[int, str]):
    """The table of `str.translate` that puts a line's end for each mark that ends what stands by itself."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        ends = character == "\r" or unicodedata.category(character)[0] in "PS"
        self[code] = new = "\n" if ends and character not in _WITHIN else character
        return new


_ENDS = _Ends()


def _sentences(text: str) -> list[str]:
    """The sentences of `text` as words and commas, which a phrase may end at."""
    sentences = _SENTENCE_END.split(unicodedata.normalize("NFKC", text))
    return [
        " , ".join(" ".join(words_of(part)) for part in _COMMA.split(sentence))
        for sentence in sentences
    ]


@lru_cache(maxsize=64)
def _patterns(wording: Wording) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What counts by itself, and what counts anywhere."""
    unspaced = bool(UNSPACED_RUN.match(wording.number))
    few = _FEW_CHARACTERS if unspaced else _FEW_WORDS
    such, number = (_either(listed, "", few) for listed in (wording.such, wording.number))
    space = " ?" if unspaced else " "
    any_number = f"(?:{such}{space}){{0,{_MOST_SUCH}}}{number}"
    alone, said = (_either(listed, any_number, few) for listed in (wording.alone, wording.said))
    if not unspaced:
        said = rf"(?<!\S){said}(?!\S)"
    return re.compile(alone), re.compile(said)


def _either(listed: str, number: str, few: str) -> str:
    """A regular expression for any of several phrases; `number` is that of `#`, `few` that of `~`."""
    signs = {
        "#": number,
        "…": f".{{0,{_MOST_BETWEEN}}}?",
        "~": few,
        "*": r"\S*",
        ".": "(?= ,|$)",
        "(": "(?:",
        **{sign: sign for sign in "^)|?"},
    }
    phrases = (phrase.strip() for phrase in listed.split(";"))
    made = ("".join(signs.get(x) or _literal(x) for x in _SIGN.split(y)) for y in phrases)
    return f"(?:{'|'.join(made)})"


def _literal(text: str) -> str:
    inner = re.escape(" ".join(words_of(text)))
    before = " " if text.startswith(" ") else ""
    return before + inner + (" " if inner and text.endswith(" ") else "")
