"""The form in which answers are compared, and when a text contains an answer.

Scoring and the choice of distractors use it; a distractor must contain no accepted answer. It is a module of
its own so that a change of scoring does not rebuild prompts.
"""

from __future__ import annotations

import re
import unicodedata

# Hyphens, apostrophes and dots of other scripts that stand inside words as the ASCII ones do.
_SAME_AS = {
    **dict.fromkeys("\u2010\u2011", "-"),
    **dict.fromkeys("\u2018\u2019\u05f3", "'"),
    **dict.fromkeys("\u00b7\u2022\u2027\u30fb", "."),
    **dict.fromkeys("\u066b\u066c", ","),
}
# The tatweel only stretches a line, and Arabic is written with or without the vowel marks.
_OPTIONAL = frozenset("\u0640\u0670") | {chr(code) for code in range(0x064B, 0x0653)}

_JOINERS = "'.,-"
# They look back only once a joiner is found: the search for one is many times faster so.
_WITHIN_NUMBER = re.compile(r"['.,](?<=[0-9].)(?=[0-9])")
_WITHIN_WORD = re.compile(rf"['.-](?<=[^\s{_JOINERS}].)(?=[^\s{_JOINERS}])")
_BETWEEN_DIGITS = re.compile(r"-(?<=[0-9].)(?=[0-9])")
_OTHER_JOINERS = re.compile(rf"[{_JOINERS}]")
# What the patterns within numbers and words ask for.
_JOINED = re.compile(rf"[{_JOINERS}](?<=[^\s{_JOINERS}].)(?=[^\s{_JOINERS}])")


class _Characters(dict[int, str]):
    """The table of `str.translate`, filled as characters are met (there are 1.1 million)."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in _JOINERS:
            new = character
        elif character in _SAME_AS:
            new = _SAME_AS[character]
        elif character in _OPTIONAL or category == "Cf":
            new = ""
        elif category == "Nd":
            new = str(unicodedata.decimal(character))
        elif category.startswith("P"):
            new = " "
        else:
            new = character
        self[code] = new
        return new


_CHARACTERS = _Characters()
# The same of ASCII, which is translated as bytes, ten times as fast.
_ASCII = "".join(map(_CHARACTERS.__getitem__, range(128))).encode().ljust(256)
_APART = bytes.maketrans(_JOINERS.encode(), b" " * len(_JOINERS))


def normalise(text: str) -> str:
    """`text` in the form in which answers are compared, the same for every language.

    - NFKC, case folded, white space collapsed and stripped.
    - Decimal digits of every script become ASCII digits.
    - Invisible format characters, the Arabic tatweel and the Arabic vowel marks go. Other
      diacritics stay: in Vietnamese or Hindi they make another word.
    - Punctuation (Unicode category P) goes without a trace inside a word or a number
      ("U.S." -> "us", "O'Neill" -> "oneill", "co-op" -> "coop", "1,000" and "1.000" -> "1000", so
      also "19.42" -> "1942"). Everywhere else it separates and becomes a space
      ("and/or" -> "and or", "Paris,France" -> "paris france", "1914-1918" -> "1914 1918").
    - Symbols (category S: "$", "+", "°") stay.

    The result for a character depends only on its direct neighbours. So a piece of a text that is cut
    at word boundaries is still a piece of it afterwards. The function is idempotent.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if text.isascii():
        coded = text.encode().translate(_ASCII)
        text = coded.decode()
        if not _JOINED.search(text):
            return " ".join(coded.translate(_APART).decode().split())
    else:
        text = text.translate(_CHARACTERS)
    text = _WITHIN_NUMBER.sub("", text)
    text = _BETWEEN_DIGITS.sub(" ", text)
    text = _WITHIN_WORD.sub("", text)
    text = _OTHER_JOINERS.sub(" ", text)
    # Characters that something held apart may compose now.
    return unicodedata.normalize("NFC", " ".join(text.split()))


def contains(reference: str, prediction: str) -> bool:
    """Whether `prediction` holds `reference`, both already normalised.

    An empty reference (an answer made of punctuation) is in no text.
    """
    return bool(reference) and reference in prediction
