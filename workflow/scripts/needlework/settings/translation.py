"""How answers are translated."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import (
    PathText,
    Settings,
    Text,
    by,
    key,
    tagged,
)
from needlework.settings.endpoints import KeyVariable, Url


class Translation(Settings):
    """How answers are translated into English before they are scored."""

    translator: Text = key("The translator, by its name under `translators`.", "none")


class NoneTranslator(Settings):
    """Answers stay as they are."""

    kind: Literal["none"] = key("Answers stay as they are.")


class NllbTranslator(Settings):
    """An NLLB model, run here."""

    kind: Literal["nllb"] = key("An NLLB model, run here.")
    name: PathText = key("Its name on the hub, or a local folder.")
    revision: Text | None = key("The commit on the hub.", None)
    device: Text = key(
        "`auto` takes a GPU if there is one; with `cpu` the job asks for no GPU, and for more "
        "cores.",
        "auto",
        affects="speed",
    )


class GoogleTranslator(Settings):
    """Google's Cloud Translation (MLNeedle's translator)."""

    kind: Literal["google"] = key("Google's Cloud Translation (MLNeedle's translator).")
    key_env: KeyVariable = key(
        "The environment variable that holds the API key.",
        "GOOGLE_TRANSLATE_API_KEY",
        affects="nothing",
    )
    base_url: Url = key("The endpoint.", "https://translation.googleapis.com", affects="place")


class LlmTranslator(Settings):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["llm"] = key("A model behind an OpenAI-compatible endpoint.")
    name: Text = key("The model's name at the endpoint.")
    base_url: Url = key("The endpoint's address, up to /v1 and including it.", affects="place")
    key_env: KeyVariable | None = key(
        "The environment variable that holds the API key; null if the endpoint needs none.",
        "OPENAI_API_KEY",
        affects="nothing",
    )


Translator = Annotated[
    Annotated[NoneTranslator, tagged("none")]
    | Annotated[NllbTranslator, tagged("nllb")]
    | Annotated[GoogleTranslator, tagged("google")]
    | Annotated[LlmTranslator, tagged("llm")],
    by("kind"),
]
