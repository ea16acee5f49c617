"""What the inputs of all rules begin with."""

from __future__ import annotations

from typing import Any

from needlework.benchmarks.contract import Config, block_of
from needlework.given import Block, given


class Inputs:
    """What some rules read, for a validated configuration."""

    def __init__(self, config: Config) -> None:
        self.config: Any = config if isinstance(config, Block) else given(config)

    @property
    def models(self) -> list[str]:
        """The models of the run."""
        return list(self.config["run"]["models"])

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks of the run."""
        return list(self.config["run"]["benchmarks"])

    def settings(self, benchmark: str) -> Any:
        """A benchmark's block of the configuration, with the run's seed."""
        return block_of(self.config, benchmark)
