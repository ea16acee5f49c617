"""Translation by Google's Cloud Translation, Basic edition (v2): the paper's translator."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from needlework.scoring.translators.base import Translator
from needlework.scoring.translators.http import Endpoint
from needlework.services.endpoints import GOOGLE_TRANSLATE, api_key, check_url

if TYPE_CHECKING:
    from needlework.settings.translation import GoogleTranslator

# The service takes at most 128 texts and, of all of them together, 30,000 characters.
MAX_TEXTS = 128
MAX_CHARACTERS = 25_000


class Google(Translator):
    """The service at the key `base_url`, with the API key in the variable that `key_env` names.

    The service detects the source language itself, which it does better on short answers than we can.
    """

    config: GoogleTranslator
    batch_size = MAX_TEXTS

    def identity(self) -> Mapping[str, object]:
        """The service; its model has no version that could be pinned."""
        return {"kind": "google"}

    def check(self) -> None:
        """Raise UserError if the key is missing or the URL is not valid."""
        check_url(self.config.base_url, "translators.google.base_url")
        api_key(self.config.key_env, "the translator google", may_be_none=False)

    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """The texts in English."""
        return [english for some in self.arriving(texts, languages) for english in some.values()]

    def arriving(
        self, texts: Sequence[str], languages: Sequence[str]
    ) -> Generator[dict[int, str], None, None]:
        """The texts in English with their indices, in order; the texts of one request arrive together."""
        first = 0
        for some in _portions(texts):
            yield dict(enumerate(self._request(some), first))
            first += len(some)

    def _request(self, texts: list[str]) -> list[str]:
        def read(body: Any) -> list[str]:
            english = [item["translatedText"] for item in body["data"]["translations"]]
            if len(english) != len(texts) or not all(isinstance(text, str) for text in english):
                raise ValueError
            return english

        return self._endpoint.post({"q": texts, "target": "en", "format": "text"}, read)

    @cached_property
    def _endpoint(self) -> Endpoint:
        self.check()
        return Endpoint(
            self.config.base_url.rstrip("/") + GOOGLE_TRANSLATE,
            translator="google",
            # In a header: a URL ends up in the logs of everything on the way.
            header="X-goog-api-key",
            scheme="",
            secret=api_key(self.config.key_env, "the translator google", may_be_none=False),
        )


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in runs that the service takes at once; a longer text goes alone."""
    portion: list[str] = []
    for text in texts:
        full = len(portion) == MAX_TEXTS or sum(map(len, portion)) + len(text) > MAX_CHARACTERS
        if portion and full:
            yield portion
            portion = []
        portion.append(text)
    if portion:
        yield portion


TRANSLATOR = Google
