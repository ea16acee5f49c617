"""How answers are translated."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import PathText, Settings, Text, by, key, tagged
from needlework.settings.endpoints import KeyVariable, Url


class Translation(Settings):
    """How answers are translated into English before they are scored."""

    translator: Text = key("none")
    """The translator, by its name under `translators`."""


class NoneTranslator(Settings):
    """Answers stay as they are."""

    kind: Literal["none"]


class NllbTranslator(Settings):
    """An NLLB model, run here."""

    kind: Literal["nllb"]
    name: PathText
    """Its name on the hub, or a local folder."""
    revision: Text | None = key(None)
    """The commit on the hub."""
    device: Text = key("auto", affects="speed")
    """`auto` takes a GPU if there is one; with `cpu` the job asks for no GPU, and for more cores."""


class GoogleTranslator(Settings):
    """Google's Cloud Translation (MLNeedle's translator)."""

    kind: Literal["google"]
    key_env: KeyVariable = key("GOOGLE_TRANSLATE_API_KEY", affects="nothing")
    """The environment variable that holds the API key."""
    base_url: Url = key("https://translation.googleapis.com", affects="place")
    """The endpoint."""


class LlmTranslator(Settings):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["llm"]
    name: Text
    """The model's name at the endpoint."""
    base_url: Url = key(affects="place")
    """The endpoint's address, up to /v1 and including it."""
    key_env: KeyVariable | None = key("OPENAI_API_KEY", affects="nothing")
    """The environment variable that holds the API key; null if the endpoint needs none."""


Translator = Annotated[
    Annotated[NoneTranslator, tagged("none")]
    | Annotated[NllbTranslator, tagged("nllb")]
    | Annotated[GoogleTranslator, tagged("google")]
    | Annotated[LlmTranslator, tagged("llm")],
    by("kind"),
]
