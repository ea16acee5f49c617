"""Whether a passage holds an answer to a question that best_subspan_em scores.

It does if the metric would accept the passage as an answer ("commissioner" holds "the Commission"). It also
does if the passage has the answer in another writing ("٣" and "3", "co-op" with a hyphen of another script):
the metric does not find such an answer, but a model does.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from needlework.data.comparison import normalisation, subspan_normalisation


def normalise(text: str) -> tuple[str, str]:
    """`text` in both forms in which it is compared: the metric's form, and one form for all writings."""
    return subspan_normalisation.normalise(text), normalisation.normalise(text)


def contains(reference: tuple[str, str], text: tuple[str, str]) -> bool:
    """Whether `text` holds `reference` in either form, both already normalised.

    An empty reference ("*") is in no text. The metric finds it in every text, so that no passage would be
    left.
    """
    return any(part and part in whole for part, whole in zip(reference, text, strict=True))


class Text:
    """A text that is searched for answers. It is normalised only if it may hold one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._normalised: tuple[str, str] | None = None
        self._letters: tuple[bytes, bytes] | None = None

    @property
    def normalised(self) -> tuple[str, str]:
        """The text in both forms."""
        if self._normalised is None:
            self._normalised = normalise(self._text)
        return self._normalised

    @property
    def letters(self) -> tuple[bytes, bytes]:
        """The ASCII letters, digits and spaces of each form, with articles."""
        if self._letters is None:
            text = self._text
            if text.isascii() or all(map(_silent, _foreign(text))):
                first = second = _letters(text)
            else:
                folded = unicodedata.normalize("NFKC", text).casefold()
                folded = unicodedata.normalize("NFKC", folded)
                first = _letters(text.lower())
                second = _letters(_DECIMAL.sub(_ascii_digit, folded))
            self._letters = first, second
        return self._letters

    def shows(self, words: str) -> bool:
        """Whether the text has `words` (letters, digits, spaces) in a form that normalisation keeps."""
        lower = self._text.lower()
        end = lower.find(words) + len(words)
        # A mark behind the last letter may be composed with it.
        return end >= len(words) and lower[end : end + 1].isascii()


class SoughtAnswer:
    """An answer that is looked for in texts."""

    def __init__(self, answer: str) -> None:
        self._normalised = first, second = normalise(answer)
        # A word of a form stands among the form's letters. Composition takes letters from what is not
        # ASCII, so the second form tells nothing then.
        self._first = [_letters(word) for word in first.split()] or [b"-"]
        self._second = [_letters(word) for word in second.split()] if second.isascii() else []
        if not second:
            self._second = [b"-"]
        self._plain = bool(second) and not _OTHER.search(second)

    def held_by(self, text: Text) -> bool:
        """Whether a text holds the answer, as `contains` on the normalised forms."""
        first, second = text.letters
        if not _all_in(self._first, first) and not _all_in(self._second, second):
            return False
        if self._plain and text.shows(self._normalised[1]):
            return True
        return contains(self._normalised, text.normalised)


_SPACES = " \n"
_OTHERS = bytes(code for code in range(128) if not chr(code).isalnum() and chr(code) not in _SPACES)
_LOWER = bytes(range(256)).lower()
_ASCII = bytes(range(128))
_OTHER = re.compile(r"[^a-z0-9 ]")
_DECIMAL = re.compile(r"[^\D0-9]")


def _ascii_digit(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found[0]))


def _letters(text: str) -> bytes:
    return text.encode("ascii", "ignore").translate(_LOWER, _OTHERS)


def _foreign(text: str) -> str:
    """The characters that are not ASCII."""
    found = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return found.decode("utf-8", "surrogatepass")


@cache
def _silent(character: str) -> bool:
    """Whether neither form makes an ASCII letter or digit of it, or composes one with it."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())
    return not any(
        c.isdecimal() or unicodedata.combining(c) or (c.isascii() and c.isalnum())
        for c in character.lower() + folded
    )


def _all_in(words: list[bytes], letters: bytes) -> bool:
    for word in words:  # noqa: SIM110  # twice as fast as all() of so few
        if word not in letters:
            return False
    return True
