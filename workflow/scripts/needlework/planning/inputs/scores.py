"""The inputs of scores and of translations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.affects import affecting, not_affecting
from needlework.planning.chosen import metric_of, metrics_of
from needlework.planning.inputs.base import ANSWER_TABLES, Inputs
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.layout import corpus_files, resource

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.translation import Translator


class Scores(Inputs):
    """The inputs of scores and of translations."""

    def __init__(self, config: Configuration, prompts: Prompts) -> None:
        super().__init__(config)
        self.prompts = prompts

    def translated(self, benchmark: str) -> bool:
        """Whether a benchmark's answers are scored in English too."""
        own = load_benchmark(benchmark).scoring
        read = any(metric.translated for metric in metrics_of(self.config, benchmark))
        return read and own.translated(self.settings(benchmark))

    def scoring_files(self, benchmark: str) -> dict[str, list[str]]:
        """The resources that a benchmark's scorer reads, by its arguments."""
        own = metrics_of(self.config, benchmark)
        return {name: [resource(path)] for each in own for name, path in each.files.items()}

    def embedder(self, benchmark: str) -> str:
        """The kind of embedder that a benchmark's metrics need; "" if they need none."""
        own = metrics_of(self.config, benchmark)
        return next((metric.embedder["kind"] for metric in own if metric.embedder), "")

    def scoring_tables(self, benchmark: str) -> dict[str, list[str]]:
        """The tables ("corpus/language") that a benchmark's scorer reads, by its arguments."""
        read = load_benchmark(benchmark).scoring.scores_read
        return {read: self.prompts.quoted(benchmark)} if read else {}

    def scored_by(self, benchmark: str) -> list[str]:
        """The columns of instances that scores are made of; most of them are kept in the scores."""
        own = load_benchmark(benchmark)
        return [*own.columns, *own.scoring.scored_by]

    def scoring_settings(self, benchmark: str) -> dict[str, Any]:
        """The settings that a benchmark's scores depend on besides prompts and answers."""
        return affecting(f"benchmarks.{benchmark}", self.settings(benchmark), "scores")

    def metrics_beside(self, benchmark: str) -> list[str]:
        """The metrics that are in the scores only: no result shows them."""
        chosen = metric_of(self.config, benchmark)
        own = load_benchmark(benchmark).scoring.metrics
        return [name for name, metric in own.items() if metric.beside and name != chosen]

    @property
    def translator(self) -> Translator:
        """The entry of the translator that this run uses."""
        return self.config.translators[self.config.translation.translator]

    @property
    def translator_settings(self) -> dict[str, Any]:
        """The settings of a translator on which its translations depend."""
        return not_affecting("translators", self.translator, "place", "nothing", "speed")

    def score_files(self, benchmark: str) -> list[str]:
        """The scores of the run's models on a benchmark."""
        return [f"results/scores/{model}/{benchmark}.parquet" for model in self.models]

    def answers_of_models(self, models: Iterable[str]) -> list[str]:
        """The scores of models on the run's benchmarks, then their answers."""
        return [
            f"results/{kind}/{model}/{name}.parquet"
            for kind, model, name in product(ANSWER_TABLES, models, self.benchmarks)
        ]

    def translation_files(self, model: str, benchmark: str) -> list[str]:
        """A model's translated answers, if the benchmark scores them."""
        found = [f"results/translations/{model}/{benchmark}.parquet"]
        return found if self.translated(benchmark) else []

    def translations(self) -> list[str]:
        """The translated answers of the run."""
        pairs = product(self.models, self.benchmarks)
        return [path for model, name in pairs for path in self.translation_files(model, name)]

    def similarity_files(self, model: str, benchmark: str) -> list[str]:
        """The similarity of needles and distractors, if the run asks for it."""
        wanted = self.config.retrieval.similarity and load_benchmark(benchmark).plan.search
        return (
            [f"results/similarity/{benchmark}/{self.prompts.tokenizer(model)}.parquet"]
            if wanted
            else []
        )

    def scorer_files(self, benchmark: str) -> dict[str, list[str]]:
        """The phrases, or quoted tables, that the benchmark's metric reads, by its names for them."""
        tables = self.scoring_tables(benchmark)
        read = {name: corpus_files(own) for name, own in tables.items()}
        return self.scoring_files(benchmark) | read
