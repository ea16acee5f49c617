"""The keys of models of the backend `replay`."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import ARRAY, BY_TYPE, STRING, DistinctSome, PathText
from needlework.settings.models import ModelSettings


class Replay(ModelSettings):
    """Answers that exist already."""

    backend: Literal["replay"]
    answers: Annotated[
        Annotated[PathText, STRING] | Annotated[DistinctSome[PathText], ARRAY], BY_TYPE
    ]
    """A file of answers, a folder of them, or a list, for all benchmarks: logs of inspect_ai (`.eval`,
    `.json`), samples of lm-eval, outputs of OpenAI's batches, instances of Every Eval Ever, or rows of
    your own (JSON Lines or Parquet). See docs/exchange.md."""
