"""The draws, requests and comparisons of checkups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.prompts import PromptFiles, Prompts

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.run import Checkup

# What the doctor reads of each turn.
_READ = ("prompts", "generations", "scores")


class Checkups(Inputs):
    """The draws, requests and comparisons of checkups."""

    def __init__(self, config: Configuration, prompts: Prompts) -> None:
        super().__init__(config)
        self.prompts = prompts

    @property
    def by_model(self) -> dict[str, Checkup]:
        """The checkups by the model that is checked."""
        return {checkup.model: checkup for checkup in self.config.run.doctor}

    def asked_models(self) -> list[str]:
        """The models that are asked: those that are checked, and those that they are compared with."""
        both = [m for own in self.config.run.doctor for m in (own.model, own.against)]
        return [m for m in dict.fromkeys(both) if m is not None]

    def factors(self, benchmark: str) -> list[str]:
        """The factors by which the cells of a comparison are counted."""
        by = self.config.doctor.by
        return [name for name in load_benchmark(benchmark).asked if by is None or name in by]

    def questions(self, turn: str) -> list[int | None]:
        """How many questions a model is asked; and how many it is asked again, if `turn` is "again"."""
        own = self.config.doctor
        return [own.questions, own.again] if turn == "again" else [own.questions]

    def drawn_prompts(self, model: str, benchmark: str, turn: str) -> PromptFiles:
        """The prompts that are drawn for a model, and all files that they quote."""
        drawn = f"results/doctor_answers/{model}/{benchmark}/{turn}/prompts.parquet"
        return {**self.prompts.of(benchmark, self.prompts.tokenizer(model)), "instances": [drawn]}

    def answer_files(self, model: str) -> dict[str, dict[str, list[str]]]:
        """By benchmark: what was asked and answered first and again, cells, and files that prompts quote."""
        found = {}
        for name in self.benchmarks:
            folder = f"results/doctor_answers/{model}/{name}"
            quoted = self.prompts.of(name, self.prompts.tokenizer(model))
            found[name] = {
                "cells": [f"{folder}/cells.json"],
                "corpora": quoted["corpora"],
                "documents": quoted["documents"],
                **{
                    f"{kind}_{turn}": [f"{folder}/{turn}/{kind}.parquet"]
                    for turn in ("first", "again")
                    for kind in _READ
                },
            }
        return found

    def read(self, model: str) -> dict[str, dict[str, dict[str, list[str]]]]:
        """`answer_files` of a checked model, and of the one that it is compared with ("other")."""
        against = self.by_model[model].against
        sides = {"served": model, **({"other": against} if against is not None else {})}
        return {side: self.answer_files(name) for side, name in sides.items()}
