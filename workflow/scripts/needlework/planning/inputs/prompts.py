"""The prompts of a run, and the files that they are built from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from needlework.benchmarks.benchmark import load_benchmark
from needlework.contract import SliceSettings
from needlework.planning.chosen import known_lengths, lengths_of, models_of
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.corpora import Corpora
from needlework.planning.layout import corpus_files, resource

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


class PromptFiles(TypedDict):
    """The files of the prompts of a benchmark in a tokenizer."""

    instances: list[str]
    corpora: list[str]
    documents: list[str]


class Prompts(Inputs):
    """The prompts of a run, and the files that they are built from."""

    def __init__(self, config: Configuration, corpora: Corpora) -> None:
        super().__init__(config)
        self.corpora = corpora
        # Many models have the same prompts.
        self.of = cache(self._of)

    def slices(self, benchmark: str) -> list[str]:
        """The names of a benchmark's slices: a file of instances each."""
        return list(load_benchmark(benchmark).plan.slices(self.settings(benchmark)))

    @property
    def tokenizers(self) -> list[str]:
        """The tokenizers in which this run's prompts are built."""
        run = self.config.run
        return list(dict.fromkeys([*map(self.tokenizer, run.models), *run.tokenizers]))

    def tokenizer(self, model: str) -> str:
        """The name of the tokenizer in which a model's prompts are measured."""
        return self.config.models[model].tokenizer

    def baselines(self, benchmark: str) -> list[str]:
        """The smallest slices that name every question that is asked."""
        return load_benchmark(benchmark).plan.baseline_slices(self.settings(benchmark))

    def slice_settings(self, benchmark: str, tokenizer: str, name: str) -> SliceSettings:
        """The settings on which the instances of a slice depend, besides files and tokenizer."""
        lengths = {
            length
            for name, model in models_of(self.config)
            if model.tokenizer == tokenizer
            for length in lengths_of(self.config, name, benchmark)
        }
        if tokenizer in self.config.run.tokenizers:
            lengths |= set(known_lengths(self.config, benchmark) or ())
        return load_benchmark(benchmark).plan.settings(
            self.settings(benchmark), name, sorted(lengths)
        )

    def slice_tables(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The tables ("corpus/language") that a slice is built from, by the benchmark's names."""
        reads = load_benchmark(benchmark).plan.reads
        slice_settings = self.slice_settings(benchmark, tokenizer, name)
        return {kind: _tables(pairs) for kind, pairs in reads(slice_settings).items()}

    def slice_searches(self, benchmark: str, tokenizer: str, name: str) -> list[str]:
        """The languages whose distractors a slice has."""
        slice_settings = self.slice_settings(benchmark, tokenizer, name)
        return list(load_benchmark(benchmark).plan.searches(slice_settings))

    def quoted(self, benchmark: str) -> list[str]:
        """All tables ("corpus/language") that a benchmark's prompts can refer to."""
        return _tables(load_benchmark(benchmark).plan.quotes(self.settings(benchmark)))

    def templates(self, benchmark: str) -> list[str]:
        """The benchmark's prompt templates."""
        return sorted(str(path) for path in Path(resource(f"prompts/{benchmark}")).glob("*.txt"))

    def _of(self, benchmark: str, tokenizer: str) -> PromptFiles:
        """The prompts of a benchmark in a tokenizer, and all files that they quote."""
        slices = [f"{benchmark}/{tokenizer}/{name}.parquet" for name in self.slices(benchmark)]
        return {
            "instances": [f"results/instances/{name}" for name in slices],
            "corpora": corpus_files(self.quoted(benchmark)),
            "documents": [f"results/documents/{name}" for name in slices],
        }

    def prompts_of_models(self, benchmark: str) -> dict[str, PromptFiles]:
        """The prompts that the run's models are asked, by tokenizer."""
        tokenizers = dict.fromkeys(map(self.tokenizer, self.models))
        return {tokenizer: self.of(benchmark, tokenizer) for tokenizer in tokenizers}

    def built_from(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The corpora from which a slice is built, by the benchmark's names for them."""
        tables = self.slice_tables(benchmark, tokenizer, name)
        return {kind: corpus_files(own) for kind, own in tables.items()}

    def books(self, benchmark: str) -> dict[str, list[str]]:
        """The text files that a benchmark's prompts are cut from, by language."""
        quoted = load_benchmark(benchmark).plan.quotes(self.settings(benchmark))
        return {
            lang: [file for file in self.corpora.sources(corpus, lang) if file.endswith(".txt")]
            for corpus, lang in quoted
        }

    @property
    def text_tokenizer(self) -> str:
        """The tokenizer whose prompts are the texts that are counted in all tokenizers."""
        run = self.config.run
        return run.tokenizers[0] if run.tokenizers else self.tokenizer(run.models[0])

    def instances(self, model: str, benchmark: str) -> list[str]:
        """The prompts that a model is asked, without the documents that they quote."""
        return self.of(benchmark, self.tokenizer(model))["instances"]


def _tables(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{corpus}/{lang}" for corpus, lang in pairs]
