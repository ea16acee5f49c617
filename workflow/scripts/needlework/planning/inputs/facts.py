"""The facts on a run that results state: data, models, how these answer; and captions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.contract import Run
from needlework.models.engine_arguments import decoding, unlike_papers
from needlework.models.selection import CONTROLS, asks_nothing, in_words
from needlework.planning.chosen import asked_of, lengths_of, metric_of, models_of
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.scores import Scores
from needlework.planning.layout import resource
from needlework.results.result import Needs, Result, told
from needlework.scoring.metric import in_captions

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

# Models that captions name one by one.
MOST_NAMED = 6


class Facts(Inputs):
    """The facts on a run that results state: data, models, how these answer; and captions."""

    def __init__(self, config: Configuration, scores: Scores) -> None:
        super().__init__(config)
        self.scores = scores

    def run_settings(self, benchmark: str, needs: Needs) -> Run:
        """The facts on a run that results of such rows need.

        Ceilings and printed numbers need the data alone. Only scores need how models decode.
        """
        said: Run = {"data": self.data(benchmark)}
        if needs in ("ceilings", "published"):
            return said
        own = load_benchmark(benchmark)
        config: Any = self.config
        entries: Any = dict(models_of(self.config))
        settings: Run = {
            **said,
            "models": self.models,
            "published": {m: e.published for m, e in entries.items() if e.published},
            "setup": {name: self._value(place) for name, place in own.run.setup.items()},
            "unit_of_length": self.unit_of_length,
            "scored_by": self.metrics(benchmark),
            **own.run.run_settings(config),
        }
        if needs == "scores":
            settings["decoding"] = {m: decoding(e) for m, e in entries.items()}
            in_tokens = own.plan.spare(self.settings(benchmark)) is not None
            settings["added"] = {
                model: unlike_papers(
                    entry,
                    config.tokenizers[entry.tokenizer],
                    lengths_of(self.config, model, benchmark) if in_tokens else [],
                )
                for model, entry in entries.items()
            }
            settings["controls"] = [m for m, e in entries.items() if e.backend in CONTROLS]
            settings |= {"asked": self.asked(benchmark), "counted": self.counted(benchmark)}
        return settings

    def metrics(self, benchmark: str) -> str:
        """A description of the metrics that a benchmark's results have; "" if there is one alone."""
        chosen, metrics = (
            metric_of(self.config, benchmark),
            load_benchmark(benchmark).scoring.metrics,
        )
        if chosen is None or not metrics:
            return chosen or ""
        return in_captions(metrics, chosen, getattr(self.settings(benchmark), "tasks", ()))

    @property
    def unit_of_length(self) -> str:
        """The unit of prompt lengths: "words" if all of the run's tokenizers count words, or "tokens"."""
        tokenizers = self.config.tokenizers
        kinds = {tokenizers[model.tokenizer].kind for _, model in models_of(self.config)}
        return "words" if kinds == {"words"} else "tokens"

    def asked(self, benchmark: str) -> str:
        """A description of the models that were asked a part of a benchmark's prompts, and of these parts."""
        return in_words({m: asked_of(self.config, m, benchmark) for m in self.models})

    def data(self, benchmark: str) -> str:
        """Descriptions of the data of a benchmark's prompts and of the paper's data.

        "" if they are the same.
        """
        ours, theirs = load_benchmark(benchmark).run.data(self.settings(benchmark))
        return "" if ours == theirs else f"This run: {ours}. The paper: {theirs}."

    def counted(self, benchmark: str) -> str:
        """A description of the models in a benchmark's means, and of the controls, which are in no mean."""
        config = self.config
        models = [m for m in self.models if not asks_nothing(asked_of(config, m, benchmark))]
        left = [m for m in models if config.models[m].backend in CONTROLS]
        there = [m for m in models if m not in left] or left
        but = f", without the controls ({', '.join(left)})" if left and there != left else ""
        names = ", ".join(there) if len(there) <= MOST_NAMED else f"{len(there)} models"
        return f"Means over models are over {names}{but}."

    def caption(self, benchmark: str, result: Result) -> str:
        """A result's caption, its metric, and the models that were asked (reStructuredText).

        A figure's small print names the models, so its caption does not.
        """
        run: Run = {"counted": self.counted(benchmark)}
        if result.needs == "scores":
            asked = "" if result.kind == "figures" else self.asked(benchmark)
            run = {**self.run_settings(benchmark, "scores"), "data": "", "asked": asked}
        said = told(result, run)
        return f"{result.full_caption} {said.replace('_', chr(92) + '_')}".strip()

    def _value(self, place: str) -> Any:
        """The value at a place of the configuration, lists sorted. `embedder` and `translator` are the
        names or kinds of those that this run uses."""
        if place == "embedder":
            embedder = self.config.embedders[self.config.retrieval.embedder]
            return embedder.kind if embedder.kind == "ngram" else embedder.name
        if place == "translator":
            return self.scores.translator.kind
        value: Any = self.config
        for key in place.split("."):
            value = value[key]
        return sorted(value) if isinstance(value, list) else value

    def published(self, benchmark: str) -> list[str]:
        """The file of the paper's numbers, if the benchmark has any."""
        path = resource(f"published/{benchmark}.csv")
        return [path] if Path(path).is_file() else []

    def paper(self, benchmark: str) -> str | None:
        """The file of the paper's numbers; None if the benchmark has none."""
        return next(iter(self.published(benchmark)), None)
