"""Whether a passage holds an answer to a question that best_subspan_em scores.

It does if the metric would accept the passage as an answer ("commissioner" holds "the Commission"). It
also does if the passage has the answer in another writing, which the metric does not see ("٣" and "3",
"co-op" with a hyphen of another script), since a model finds it there all the same.
"""

from __future__ import annotations

import re
import unicodedata

from needlework.data.comparison import normalisation, subspan_normalisation


def normalise(text: str) -> tuple[str, str]:
    """`text` in both forms in which it is compared: the metric's, and the one that knows all writings."""
    return subspan_normalisation.normalise(text), normalisation.normalise(text)


def contains(reference: tuple[str, str], text: tuple[str, str]) -> bool:
    """Whether `text` holds `reference` in either form, both already normalised.

    A reference of which nothing is left ("*") is held by no text, although the metric accepts every text
    for it: no passage would be without it.
    """
    return any(part and part in whole for part, whole in zip(reference, text, strict=True))


class Text:
    """A text that answers are looked for in; it is normalised only if it may hold one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._normalised: tuple[str, str] | None = None
        # The metric's lower case, and the ASCII letters and digits of each form, articles with them.
        self.lower: str | None = None
        self.letters: tuple[bytes, bytes] = b"", b""

    @property
    def normalised(self) -> tuple[str, str]:
        """The text in both forms."""
        if self._normalised is None:
            self._normalised = normalise(self._text)
        return self._normalised

    def reduce(self) -> str:
        """Compute `letters`, and `lower`, which it returns."""
        self.lower = lower = self._text.lower()
        first = second = _letters(lower)
        if not self._text.isascii():
            folded = unicodedata.normalize("NFKC", self._text).casefold()
            folded = unicodedata.normalize("NFKC", folded)
            second = _letters(_DECIMAL.sub(_ascii_digit, folded))
        self.letters = first, second
        return lower


class Answer:
    """An answer that is looked for in texts."""

    def __init__(self, answer: str) -> None:
        self._normalised = first, second = normalise(answer)
        # What stands side by side in a form does so among its letters. The metric's form may lack
        # articles between two words; and composition takes letters from what is not ASCII.
        self._words = [_letters(word) for word in first.split()] if first else [b"-"]
        self._letters = _letters(second) if second.isascii() else b""
        self._plain = bool(second) and not _OTHER.search(second)
        if not second:
            self._letters = b"-"

    def held_by(self, text: Text) -> bool:
        """As `contains` of the normalised forms."""
        lower = text.lower
        if lower is None:
            lower = text.reduce()
        first, second = text.letters
        if self._letters not in second and not all(word in first for word in self._words):
            return False
        # Letters, digits and single spaces of an ASCII text stay as they are.
        if self._plain and lower.isascii() and self._normalised[1] in lower:
            return True
        return contains(self._normalised, text.normalised)


_OTHERS = bytes(code for code in range(128) if not chr(code).isalnum())
_OTHER = re.compile(r"[^a-z0-9 ]")
_DECIMAL = re.compile(r"[^\D0-9]")


def _ascii_digit(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found[0]))


def _letters(text: str) -> bytes:
    return text.encode("ascii", "ignore").translate(None, _OTHERS)
