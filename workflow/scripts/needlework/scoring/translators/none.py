"""No translation: answers are scored as they are."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.scoring.translators.base import Translator


class Untranslated(Translator):
    """Every text is its own translation."""

    batch_size = 1 << 20
    needs_languages = False

    def identity(self) -> None:
        """None: translations need not be cached."""
        return None

    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """The texts."""
        return list(texts)


TRANSLATOR = Untranslated
