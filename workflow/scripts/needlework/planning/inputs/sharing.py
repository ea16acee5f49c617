"""The inputs of prompts for other programs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.prompts import Prompts

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


class Sharing(Inputs):
    """The inputs of prompts for other programs."""

    def __init__(self, config: Configuration, prompts: Prompts) -> None:
        super().__init__(config)
        self.prompts = prompts

    def exported(self) -> list[str]:
        """The prompts of the run for other programs."""
        return [
            f"results/export/{name}/{tokenizer}/{part}.{ending}"
            for name in self.benchmarks
            for tokenizer, part in product(self.prompts.tokenizers, self.prompts.slices(name))
            for ending in ("jsonl", "parquet")
        ]
