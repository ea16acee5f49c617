"""The draws, requests and comparisons of audits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.inputs.base import ANSWER_TABLES, Inputs
from needlework.planning.inputs.prompts import PromptFiles, Prompts

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.run import AuditPair


class Audits(Inputs):
    """The draws, requests and comparisons of audits."""

    def __init__(self, config: Configuration, prompts: Prompts) -> None:
        super().__init__(config)
        self.prompts = prompts

    def factors(self, benchmark: str) -> list[str]:
        """The factors by which the cells of an audit are counted."""
        by = self.config.audit.by
        return [name for name in load_benchmark(benchmark).asked if by is None or name in by]

    def questions(self, turn: str) -> list[int | None]:
        """How many questions a model is asked; and how many it is asked again, if `turn` is "again"."""
        audit = self.config.audit
        return [audit.questions, audit.again] if turn == "again" else [audit.questions]

    def audit_prompts(self, model: str, benchmark: str, turn: str) -> PromptFiles:
        """The prompts that are drawn for an audit of a model, and all files that they quote."""
        drawn = f"results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet"
        return {**self.prompts.of(benchmark, self.prompts.tokenizer(model)), "instances": [drawn]}

    def audit_files(self, pair: AuditPair) -> dict[str, dict[str, Any]]:
        """The cells of an audit and both models' scores and answers, first and again, by benchmark."""
        found = {}
        for name in self.benchmarks:
            folders = {
                "base": f"results/audit_answers/{pair.base}/{name}",
                "changed": f"results/audit_answers/{pair.changed}/{name}",
            }
            found[name] = {"cells": f"{folders['base']}/cells.json"} | {
                f"{side}{ending}": [f"{folder}/{turn}/{kind}.parquet" for kind in ANSWER_TABLES]
                for side, folder in folders.items()
                for turn, ending in (("first", ""), ("again", "_again"))
            }
        return found
