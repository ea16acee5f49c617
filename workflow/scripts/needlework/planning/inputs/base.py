"""The base class of the inputs of all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.contract import block_of

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

# What is made of a model's answers, by the names of folders.
ANSWER_TABLES = ("scores", "generations")


class Inputs:
    """The inputs of some rules, for a validated configuration."""

    def __init__(self, config: Configuration) -> None:
        self.config = config

    @property
    def models(self) -> list[str]:
        """The models of the run."""
        return list(self.config.run.models)

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks of the run."""
        return list(self.config.run.benchmarks)

    def settings(self, benchmark: str) -> Any:
        """A benchmark's block of the configuration, with the run's seed."""
        return block_of(self.config, benchmark)
