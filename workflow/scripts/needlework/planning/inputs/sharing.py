"""What is handed on: records, and prompts for other programs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.chosen import metric_of
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.facts import Facts
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.inputs.results import Results
from needlework.planning.inputs.scores import Scores
from needlework.planning.layout import paths, result_file

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


class Sharing(Inputs):
    """What is handed on: records, and prompts for other programs."""

    def __init__(
        self,
        config: Configuration,
        prompts: Prompts,
        scores: Scores,
        results: Results,
        facts: Facts,
    ) -> None:
        super().__init__(config)
        self.prompts = prompts
        self.scores = scores
        self.results = results
        self.facts = facts

    def recorded(self, benchmark: str) -> dict[str, Any]:
        """The inputs of a benchmark's records: the arguments of `exchange.Recorded`."""
        own = load_benchmark(benchmark)
        return {
            "name": benchmark,
            "title": own.title,
            "paper": own.paper,
            "data": own.run.data(self.settings(benchmark))[0],
            "metric": metric_of(self.config, benchmark) or "score",
            "published": self.facts.paper(benchmark),
            "results": {
                result.name: (result_file(benchmark, result, "csv"), result.label, result.bounds)
                for result in self.results.filled(benchmark)
                if result.needs == "scores"
            },
            "answers": {
                model: (
                    f"results/generations/{model}/{benchmark}.parquet",
                    f"results/scores/{model}/{benchmark}.parquet",
                    self.prompts.of(benchmark, self.prompts.tokenizer(model))["instances"],
                )
                for model in self.models
            },
        }

    def records_inputs(self) -> dict[str, list[str]]:
        """The files of the records: numbers, scores and answers, prompts, and the papers' numbers."""
        recorded = [self.recorded(name) for name in self.benchmarks]
        return {
            "results": [shown[0] for own in recorded for shown in own["results"].values()],
            "answers": self.scores.answers_of_models(self.models),
            "instances": paths(
                [
                    [own["instances"] for own in self.prompts.prompts_of_models(name).values()]
                    for name in self.benchmarks
                ]
            ),
            "published": paths([own["published"] for own in recorded]),
        }

    def exported(self) -> list[str]:
        """The prompts of the run for other programs."""
        return [
            f"results/export/{name}/{tokenizer}/{part}.{ending}"
            for name in self.benchmarks
            for tokenizer, part in product(self.prompts.tokenizers, self.prompts.slices(name))
            for ending in ("jsonl", "parquet")
        ]
