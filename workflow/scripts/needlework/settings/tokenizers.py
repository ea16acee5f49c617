"""Tokenizers."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import PathText, Settings, Text, by, key, tagged

RESERVE = key(
    0,
    ge=0,
    le=100_000_000,
    description="Tokens of each length to leave for the models' chat templates and reasoning. It has no "
    "effect on Lost in the Middle, which has no lengths, on M4LE, whose lengths are not in "
    "tokens, and on mLongRR's released haystacks.",
)


class WordsTokenizer(Settings):
    """Words between white space; every character of a script without spaces."""

    kind: Literal["words"]
    reserve: int = RESERVE


class CharactersTokenizer(Settings):
    """Unicode characters."""

    kind: Literal["characters"]
    reserve: int = RESERVE


class TiktokenTokenizer(Settings):
    """OpenAI's tiktoken."""

    kind: Literal["tiktoken"]
    encoding: Text
    """The encoding's name, for instance cl100k_base."""
    reserve: int = RESERVE


class MistralCommonTokenizer(Settings):
    """Mistral's own tokenizers, which the package mistral-common holds."""

    kind: Literal["mistral-common"]
    version: Literal["v1", "v2", "v3", "v7", "tekken"]
    """The tokenizer's version."""
    reserve: int = RESERVE


class HuggingfaceTokenizer(Settings):
    """A tokenizer of the Hugging Face hub, or a local folder."""

    kind: Literal["huggingface"]
    name: PathText
    """Its name on the hub, or the folder."""
    revision: Text | None = key(None)
    """The commit on the hub."""
    trust_remote_code: bool = key(False)
    """Run the code of the hub's repository. Read that code before you set this."""
    ignore_merges: bool | None = key(None)
    """Whether a word of the vocabulary is always one token, even if no merges lead to it. Null keeps
    the tokenizer's own setting. Until spring 2024, when mLongRR was made, Llama 3's setting was false,
    which gives 5% more tokens in Vietnamese."""
    reserve: int = RESERVE


class OpenvinoTokenizer(Settings):
    """The tokenizer in a GGUF file or an OpenVINO folder."""

    kind: Literal["openvino"]
    name: PathText
    """The file or folder, or `package:<distribution>/<path>` for a file or folder of a Python package."""
    reserve: int = RESERVE


Tokenizer = Annotated[
    Annotated[WordsTokenizer, tagged("words")]
    | Annotated[CharactersTokenizer, tagged("characters")]
    | Annotated[TiktokenTokenizer, tagged("tiktoken")]
    | Annotated[MistralCommonTokenizer, tagged("mistral-common")]
    | Annotated[HuggingfaceTokenizer, tagged("huggingface")]
    | Annotated[OpenvinoTokenizer, tagged("openvino")],
    by("kind"),
]
