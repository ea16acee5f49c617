"""The results that a run fills, and the files that they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import Benchmark, load_benchmark
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.facts import Facts
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.inputs.scores import Scores
from needlework.planning.layout import paths, result_file
from needlework.results.result import Needs, Result

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.results.reproduction import Reproduced


class Results(Inputs):
    """The results that a run fills, and the files that they are made from."""

    def __init__(
        self, config: Configuration, prompts: Prompts, scores: Scores, facts: Facts
    ) -> None:
        super().__init__(config)
        self.prompts = prompts
        self.scores = scores
        self.facts = facts

    def filled(self, benchmark: str) -> list[Result]:
        """The results that this configuration fills: one tokenizer is not compared."""
        config: Any = self.config
        found = load_benchmark(benchmark).filled(config)
        several = len(self.prompts.tokenizers) > 1
        return [result for result in found if several or result.needs != "token_counts"]

    def by_needs(self, benchmark: str) -> dict[Needs, list[Result]]:
        """The results that this configuration fills, by their input (`Result.needs`)."""
        found: dict[Needs, list[Result]] = {}
        for result in self.filled(benchmark):
            found.setdefault(result.needs, []).append(result)
        return found

    def unfilled(self) -> dict[str, str]:
        """The results, as targets, that this configuration leaves empty, and what would fill each."""
        found, run = {}, self.benchmarks
        for benchmark in self.config.benchmarks:
            filled = self.filled(benchmark) if benchmark in run else []
            for result in load_benchmark(benchmark).results:
                if result in filled:
                    continue
                if benchmark not in run:
                    remedy = f"add {benchmark} to run.benchmarks"
                elif result.needs == "token_counts":
                    remedy = "it compares tokenizers, so name a second one in run.tokenizers"
                else:
                    remedy = _remedy(load_benchmark(benchmark), result, self.config)
                found[f"{benchmark}_{result.name}"] = f"{result.label}: {remedy}."
        return found

    def rows(self, benchmark: str) -> dict[Needs, list[str]]:
        """The files that results are made of, by `Result.needs`."""
        counts = f"results/token_counts/{benchmark}"
        return {
            "scores": self.scores.score_files(benchmark),
            "ceilings": [f"results/translation_ceilings/{benchmark}.parquet"],
            "instances": paths(
                [self.prompts.of(benchmark, t)["instances"] for t in self.prompts.tokenizers]
            ),
            "token_counts": [
                f"{counts}/{tokenizer}.parquet" for tokenizer in self.prompts.tokenizers
            ],
            "books": [
                f"{counts}/books/{tokenizer}.parquet" for tokenizer in self.prompts.tokenizers
            ],
            "published": self.facts.published(benchmark),
        }

    def files_of_result(self, benchmark: str, result: Result) -> list[str]:
        """The numbers of a result, and the table or figure in all formats."""
        endings = ("csv", *result.endings)
        return [result_file(benchmark, result, ending) for ending in endings]

    def result_files(self) -> list[str]:
        """The tables and figures of the run's benchmarks, in all formats."""
        return [
            path
            for name in self.benchmarks
            for result in self.filled(name)
            for path in self.files_of_result(name, result)
        ]

    def titles(self) -> dict[str, str]:
        """The titles of the run's results, and of the counts of its prompts, by their CSV files."""
        results = {
            result_file(name, result, "csv"): result.title
            for name in self.benchmarks
            for result in self.filled(name)
        }
        counts = {
            f"results/tables/{name}/prompts-{tokenizer}.csv": f"Prompts in {tokenizer}"
            for name in self.benchmarks
            for tokenizer in self.prompts.tokenizers
        }
        return results | counts

    def reproduced(self, with_models: bool) -> dict[str, Reproduced]:
        """The inputs of the reproduction, by benchmark; without models, no scores."""
        left_out = ("published",) if with_models else ("scores", "ceilings")
        return {
            name: {
                "title": load_benchmark(name).title,
                "factors": list(load_benchmark(name).columns),
                "published": self.facts.paper(name),
                "results": {
                    result.name: result_file(name, result, "csv")
                    for result in self.filled(name)
                    # Printed numbers beside each other say nothing about a run.
                    if result.needs not in left_out
                },
                "scores": self.scores.score_files(name) if with_models else [],
            }
            for name in self.benchmarks
        }


def _remedy(benchmark: Benchmark, result: Result, config: Any) -> str:
    """The keys and values that fill a result."""
    keys: dict[str, str] = {}
    for condition in benchmark.unmet(result, config):
        keys |= benchmark.run.filled_by.get(condition, {})
    if not keys:
        return f"benchmarks.{benchmark.name} builds no prompts for it (docs/configuration.md)"
    return f"set {' and '.join(f'`{key}: {value}`' for key, value in keys.items())}"
