"""The interface of translators, and how a translator is found by its kind.

A translator is one module in this folder with a `TRANSLATOR`: a subclass of `Translator`. It is imported
by name at run time, so that an edit of one translator does not change the digest of the others.
"""

from __future__ import annotations

import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.services.endpoints import revealed

if TYPE_CHECKING:
    from needlework.settings import translation


class Translator(ABC):
    """A translator into English, made from one block under `translators` of the configuration."""

    # How many texts `translate` takes at once.
    batch_size = 1
    # Whether `translate` asks which language a text is in; telling it costs seconds.
    needs_languages = True

    def __init__(self, config: translation.Translator) -> None:
        self.config = config

    @abstractmethod
    def identity(self) -> Mapping[str, object] | None:
        """The settings on which every translation depends, as JSON values without secrets.

        None if translations cost nothing, so that they need not be cached.
        """

    def check(self) -> None:
        """Raise UserError, before any work, if the key or the model is known to be missing.

        Needs only the standard library, since Snakemake's own process calls it.
        """
        return None

    @abstractmethod
    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """The texts in English, in their order.

        `languages` are their ISO 639-1 codes, "und" if unknown. Raises UserError if the translator fails for
        good. A model is loaded on the first call.
        """

    def arriving(
        self, texts: Sequence[str], languages: Sequence[str]
    ) -> Generator[Mapping[int, str], None, None]:
        """As `translate`, but yields each translation when it arrives, with the index of its text.

        Translations that have arrived, and may have cost money, are yielded before an error is raised. After
        the generator is closed, nothing more is sent.
        """
        yield dict(zip(range(len(texts)), self.translate(texts, languages), strict=True))

    def cleaned(self, translation: str) -> str:
        """`translation` without other text that the translator wrote.

        The journal keeps the uncleaned text, so that better cleaning needs no new request.
        """
        return translation


def translator_kinds() -> list[str]:
    """The kinds of translators: the other modules of this package."""
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return sorted(modules - {"__init__", "base", "http"})


def load_translator(config: translation.Translator) -> Translator:
    """The translator of one block under `translators`; nothing is loaded yet.

    Raises UserError if the kind does not exist.
    """
    kind, kinds = config.kind, translator_kinds()
    if kind not in kinds:
        nearest = difflib.get_close_matches(kind, kinds, n=1, cutoff=0)
        raise UserError(
            f"there is no translator of the kind {kind!r} (translators.*.kind): did you mean "
            f"{nearest[0]!r}? There are {', '.join(kinds)}."
        )
    module = importlib.import_module(f"needlework.scoring.translators.{kind}")
    return module.TRANSLATOR(revealed(config))


def check_translator(config: translation.Translator) -> None:
    """Raise UserError, before any work, if this block's translator is known not to work here."""
    load_translator(config).check()
