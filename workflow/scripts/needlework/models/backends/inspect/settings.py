"""The keys of models of the backend `inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from needlework.settings.base import BYTES_OF_A_PATH, IS_PATH, OfOthers, key
from needlework.settings.endpoints import url
from needlework.settings.models import Reasoning, Remote


class ReasoningOfProvider(Reasoning):
    """How much a model may reason."""

    elsewhere: ClassVar[Mapping[str, OfOthers]] = {}

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = key(
        absent=True
    )
    """With `inspect`, how much the model reasons, for providers that take an effort."""


class Inspect(Remote):
    """A model of a provider, asked by inspect_ai."""

    backend: Literal["inspect"]
    name: Annotated[str, Field(max_length=BYTES_OF_A_PATH, pattern=r"^[^/]+/.+$"), IS_PATH]
    """A provider and its model, such as anthropic/claude-sonnet-5."""
    chat: Literal[True] = key(True)
    """Only chat models are asked."""
    reasoning: ReasoningOfProvider | None = key(None)
    """For a reasoning model. Reasoning is not part of the answer; its tokens are counted
    (`reasoning_tokens`). Null gives the model no tokens for reasoning, or, with `inspect`, leaves
    reasoning to the provider. For `openai` see `request`."""
    args: dict[str, Any] = key({})
    """Arguments of the provider's client, as inspect_ai names them, such as `{base_url: ...}` or
    `{region_name: ...}`. Another address does not invalidate cached answers; provenance and artifact
    show only addresses of known public services. Keys come only from the provider's environment
    variables."""

    @model_validator(mode="after")
    def _an_address_is_whole(self) -> Self:
        if "base_url" in self.args:
            url(str(self.args["base_url"]), ".args.base_url")
        return self
