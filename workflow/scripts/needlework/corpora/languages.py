"""Which languages each corpus has, so that a wrong one is an error before any download."""

from __future__ import annotations

_PAPER = ("en", "de", "es", "zh", "vi", "hi", "ar")

CORPUS_LANGUAGES: dict[str, tuple[str, ...]] = {
    "mlqa": _PAPER,
    "xquad": (*_PAPER, "el", "ro", "ru", "th", "tr"),
    "mmarco": (*_PAPER, "fr", "id", "it", "ja", "nl", "pt", "ru"),
    "sample_questions": _PAPER,
    "sample_passages": _PAPER,
}
