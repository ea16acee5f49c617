"""How distractors are found."""

from __future__ import annotations

from typing import Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.contract import Search
from needlework.planning.affects import not_affecting
from needlework.planning.inputs.base import Inputs


class RetrievalInputs(Inputs):
    """How distractors are found."""

    def search(self, benchmark: str, lang: str) -> Search:
        """How a benchmark finds its distractors in a language."""
        search = load_benchmark(benchmark).plan.search
        assert search is not None, f"{benchmark} has no distractors"
        return search(self.settings(benchmark), lang)

    def embedder_settings(self, embedder: str) -> dict[str, Any]:
        """The settings of an embedder on which its vectors depend."""
        return not_affecting("embedders", self.config.embedders[embedder], "speed")

    def search_gpus(self, retrieval: str) -> int:
        """The number of GPUs of a search; 0 for a random choice."""
        return int(retrieval == "semantic" and self.config.retrieval.device == "gpu")

    def vectors(self, corpus: str, lang: str, retrieval: str) -> list[str]:
        """The embeddings of a language of a corpus; none if the choice is random."""
        embedder = self.config.retrieval.embedder
        found = [f"results/embeddings/{embedder}/{corpus}/{lang}.npy"]
        return found if retrieval == "semantic" else []
