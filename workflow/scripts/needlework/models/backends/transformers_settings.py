"""The keys of models of the backend `transformers`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from needlework.settings.base import PathText, Settings, key
from needlework.settings.models import OfHub, OnDevice


class RopeScaling(Settings):
    """The scaling of rotary positions, and what else config.json has of it."""

    model_config = ConfigDict(extra="allow")

    rope_type: Literal["linear", "dynamic", "yarn", "llama3", "longrope"]
    """The kind of scaling."""
    factor: float = key(ge=1, le=1_000_000)
    """The factor by which the model's own context is extended."""


class Transformers(OfHub, OnDevice):
    """A model that Transformers runs."""

    backend: Literal["transformers"]
    name: PathText
    """A model of the hub, or a local folder."""
    config: dict[str, Any] = key({})
    """Values that replace those of the model's config.json, such as `{max_seq_len: 16384}` for an MPT
    model."""
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = key("auto")
    """The type of the weights; `auto` is the checkpoint's own."""
    rope_scaling: RopeScaling | None = key(None)
    """The scaling of rotary positions beyond the trained context, as in config.json: `{rope_type:
    dynamic, factor: 4.0}` (dynamic NTK; prompts are then answered one at a time) or `{rope_type: yarn,
    factor: 4.0, original_max_position_embeddings: 32768}`. Null is the model's own."""
