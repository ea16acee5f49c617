"""The keys of models of the backend `vllm`."""

from __future__ import annotations

from typing import Literal

from needlework.settings.base import (
    PathText,
    key,
)
from needlework.settings.models import OfHub


class Vllm(OfHub):
    """A model that vLLM runs."""

    backend: Literal["vllm"]
    name: PathText = key("A model of the hub, or a local folder.")
    lora: PathText | None = key("A LoRA adapter, by its name on the hub or its local folder.", None)
