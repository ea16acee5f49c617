"""The keys of models of the backend `vllm`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from needlework.models.engine_arguments import ELSEWHERE
from needlework.settings.base import PathText, key, wrong
from needlework.settings.models import OfHub


class Vllm(OfHub):
    """A model that vLLM runs."""

    backend: Literal["vllm"]
    name: PathText
    """A model of the hub, or a local folder."""
    lora: PathText | None = key(None)
    """A LoRA adapter, by its name on the hub or its local folder."""

    @model_validator(mode="after")
    def _nothing_is_told_twice(self) -> Self:
        for argument, instead in ELSEWHERE.items():
            if argument in (self.engine.model_extra or {}):
                raise wrong(f".engine.{argument}", f"cannot be set: use {instead}.")
        return self
