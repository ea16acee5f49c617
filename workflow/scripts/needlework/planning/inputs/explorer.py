"""The inputs of the explorer, and of a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.inputs.answers import Answers
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.inputs.scores import Scores
from needlework.planning.layout import paths
from needlework.scoring.metric import meanings

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


class Explorer(Inputs):
    """The inputs of the explorer, and of a judge."""

    def __init__(
        self, config: Configuration, prompts: Prompts, answers: Answers, scores: Scores
    ) -> None:
        super().__init__(config)
        self.prompts, self.answers, self.scores = prompts, answers, scores

    def explored(self, benchmark: str) -> dict[str, Any]:
        """A benchmark in the explorer: the arguments of `explorer.data.Explored`."""
        own = load_benchmark(benchmark)
        return {
            "title": own.title,
            "asked": own.asked,
            "percent": {f.name: f.percent for f in own.factors if f.percent is not None},
            "designed": own.shown.designed,
            "without": "0" if own.shown.designed[0] == "length" else "",
            "held": own.shown.card.held if own.shown.card else (),
            "controls": list(self.answers.readers()),
            "meanings": meanings(own.scoring.metrics.values()),
            "prompts": self.prompts.prompts_of_models(benchmark),
            "answers": {model: self._explored_answers(model, benchmark) for model in self.models},
        }

    def _explored_answers(self, model: str, benchmark: str) -> dict[str, str]:
        """The arguments of `explorer.data.ShownAnswers`."""
        files = {
            "tokenizer": self.prompts.tokenizer(model),
            "scores": f"results/scores/{model}/{benchmark}.parquet",
            "generations": f"results/generations/{model}/{benchmark}.parquet",
        }
        for path in self.scores.translation_files(model, benchmark):
            files["translations"] = path
        return files

    def explorer_inputs(self) -> dict[str, list[str]]:
        """The prompts of the run, and each model's scores, answers and translations."""
        explored = [self.explored(name) for name in self.benchmarks]
        answers = [files for own in explored for files in own["answers"].values()]
        return {
            "prompts": paths([own["prompts"] for own in explored]),
            "answers": [
                path for files in answers for kind, path in files.items() if kind != "tokenizer"
            ],
        }
