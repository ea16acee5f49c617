"""What every translator offers, and how one is found by its kind.

A translator is one module in this folder with a `TRANSLATOR`: a subclass of `Translator`. It is
imported by name at run time, so an edit of one translator is no change of the others.
"""

from __future__ import annotations

import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from needlework.entry import Entry
from needlework.errors import UserError


class Translator(ABC):
    """A way into English, made from one block under `translators` of the configuration."""

    # How many texts `translate` takes at once.
    batch_size = 1
    # Whether `translate` asks which language a text is in; telling it costs seconds.
    needs_languages = True

    def __init__(self, config: Entry) -> None:
        self.config = config

    @abstractmethod
    def identity(self) -> Mapping[str, object] | None:
        """The settings on which every translation depends, as JSON values without secrets.

        None where a translation costs nothing, so that there is no point in keeping it.
        """

    def check(self) -> None:
        """Raise UserError, before any work, where the key or the model is known to be missing.

        Needs the standard library alone: Snakemake's own process checks, which has no more.
        """
        return None

    @abstractmethod
    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """The texts in English, in their order.

        `languages` are their ISO 639-1 codes, "und" where unknown. Raises UserError where the
        translator fails for good. A model is loaded on the first call.
        """

    def arriving(
        self, texts: Sequence[str], languages: Sequence[str]
    ) -> Generator[Mapping[int, str], None, None]:
        """As `translate`, but each translation as it comes, by its text's place.

        What has come, and may have cost money, is yielded before an error is raised. Once it is
        closed, nothing more is sent.
        """
        yield dict(zip(range(len(texts)), self.translate(texts, languages), strict=True))

    def cleaned(self, translation: str) -> str:
        """`translation` without what else the translator wrote.

        The journal keeps all of it, so that better cleaning needs no new request.
        """
        return translation


def translator_kinds() -> list[str]:
    """The kinds of translators: the other modules of this package."""
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return sorted(modules - {"__init__", "base", "http"})


def load_translator(config: Entry) -> Translator:
    """The translator of one block under `translators`; nothing is loaded yet.

    Raises UserError where there is no such kind.
    """
    kind, kinds = config["kind"], translator_kinds()
    if kind not in kinds:
        nearest = difflib.get_close_matches(str(kind), kinds, n=1, cutoff=0)
        raise UserError(
            f"there is no translator of the kind {kind!r} (translators.*.kind): did you mean "
            f"{nearest[0]!r}? There are {', '.join(kinds)}."
        )
    return importlib.import_module(f"needlework.scoring.translators.{kind}").TRANSLATOR(config)


def check_translator(config: Entry) -> None:
    """Raise UserError, before any work, where this block's translator is known not to work here."""
    load_translator(config).check()
