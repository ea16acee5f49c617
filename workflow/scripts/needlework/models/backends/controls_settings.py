"""The keys of models of the backend `controls`."""

from __future__ import annotations

from typing import Literal

from needlework.settings.models import ModelSettings


class Controls(ModelSettings):
    """A control, which computes its answers without a model."""

    backend: Literal["lexical", "oracle", "empty"]
