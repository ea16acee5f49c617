"""The inputs of report cards and of the page of results."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import load_benchmark
from needlework.models.selection import asks_nothing
from needlework.planning.chosen import asked_of
from needlework.planning.inputs.answers import Answers
from needlework.planning.inputs.base import Inputs
from needlework.planning.inputs.facts import Facts
from needlework.planning.inputs.prompts import Prompts
from needlework.planning.inputs.results import Results
from needlework.planning.inputs.scores import Scores
from needlework.planning.layout import ROOT, paths, resource, result_file
from needlework.results.numbers.tables import TABLES

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration
    from needlework.results.numbers.made import ScoreFiles
    from needlework.results.page.overview_page import Ran, ShownBenchmark, ShownResult

# The styles, scripts and parts of results/index.html.
_OVERVIEW_PARTS = (
    *("means.css", "agreement.css", "front.css", "front.html.j2"),
    *("base.html.j2", "page.css", "benchmark.html.j2", "links.html.j2", "figure.html.j2"),
    "baselines.html.j2",
    *("finding.html.j2", "finding.css", "details.html.j2"),
    *("run.html.j2", "cards.html.j2", "controls.html.j2"),
    *("means.html.j2", "grid.html.j2", "cell.html.j2", "warnings.html.j2"),
    *("agreement.html.j2", "summary.html.j2", "account.html.j2"),
    *("reproduction.html.j2", "own_data.html.j2", "judge.html.j2"),
    *("table.html.j2", "tables.css", "sort.js"),
)


class Pages(Inputs):
    """The inputs of report cards and of the page of results."""

    def __init__(
        self,
        config: Configuration,
        prompts: Prompts,
        answers: Answers,
        scores: Scores,
        results: Results,
        facts: Facts,
    ) -> None:
        super().__init__(config)
        self.prompts = prompts
        self.answers = answers
        self.scores = scores
        self.results = results
        self.facts = facts

    def ran(self, config_files: Iterable[str | Path], values: Iterable[str]) -> Ran:
        """A description of the run: configuration, models, readers and data.

        `config_files` and `values` are from the command line; `values` are the keys of --config.
        """
        models = self.config.models
        return {
            "files": [
                *([_plain_name(file) for file in config_files] or ["config.yaml, the demo's"]),
                *(f"{key} of --config" for key in values),
            ],
            "models": {
                name: f"{_model_words(models[name])}{self._not_asked(name)}"
                for name in self.answers.card_models()
            },
            "readers": self.answers.readers(),
            "notice": self.config.run.notice,
            "data": {
                load_benchmark(name).title: load_benchmark(name).run.data(self.settings(name))[0]
                for name in self.benchmarks
            },
        }

    def _not_asked(self, model: str) -> str:
        """The benchmarks of the run of which a model is asked nothing, in words."""
        left = [
            load_benchmark(name).title
            for name in self.benchmarks
            if asks_nothing(asked_of(self.config, model, name))
        ]
        return f"; not asked: {', '.join(left)}" if left else ""

    def card_files(self) -> list[str]:
        """The pictures, texts and numbers of all report cards; none if the run has no model."""
        models, endings = self.answers.card_models(), ("svg", "pdf", "png", "txt")
        found = [f"results/cards/{model}.{ending}" for model, ending in product(models, endings)]
        forms = product(("page", "phone"), models)
        found += [f"results/cards/{form}/{model}.svg" for form, model in forms]
        return found + [f"results/numbers/{name}.csv" for name in TABLES if found]

    def shown_models(self) -> list[str]:
        """The models that means are of.

        Built-in readers are among them only if the run has no other model.
        """
        return self.answers.card_models() or list(self.models)

    def page_numbers(self) -> dict[str, ScoreFiles]:
        """The inputs of the numbers of cards and page, by benchmark."""
        models, tokenizers = self.shown_models(), self.config.tokenizers
        # The models whose lengths are counted in words.
        in_words = [
            model for model in models if tokenizers[self.prompts.tokenizer(model)].kind == "words"
        ]
        return {
            name: {
                "scores": [f"results/scores/{model}/{name}.parquet" for model in models],
                "published": self.facts.paper(name),
                "run": {**self.facts.run_settings(name, "scores"), "in_words": in_words},
            }
            for name in self.benchmarks
        }

    def overview(self, benchmark: str) -> ShownBenchmark:
        """A benchmark's part of results/index.html."""
        own = load_benchmark(benchmark)
        return {
            "title": own.title,
            "asked": own.asked,
            "data": self.facts.data(benchmark),
            "closed_book": own.shown.closed_book,
            "designed": own.shown.designed[1],
            "task_names": own.task_names,
            "scores": self.scores.score_files(benchmark),
            "tables": self._shown(benchmark, "tables", "csv"),
            "figures": self._shown(benchmark, "figures", "svg"),
        }

    def _shown(self, benchmark: str, kind: str, ending: str) -> dict[str, ShownResult]:
        """The tables or figures of a benchmark by name: files, title and caption."""
        return {
            result.name: {
                "file": result_file(benchmark, result, ending),
                "numbers": result_file(benchmark, result, "csv"),
                "shown": result_file(benchmark, result, result.endings[-1]),
                "title": result.label,
                "caption": self.facts.caption(benchmark, result),
            }
            for result in self.results.filled(benchmark)
            if result.kind == kind
        }

    def overview_results(self) -> list[str]:
        """The files of the tables and figures that results/index.html shows."""
        shown = [self.overview(name)[k] for name in self.benchmarks for k in ("tables", "figures")]
        results = [entry for own in shown for entry in own.values()]
        return paths([[own["numbers"], own["file"], own["shown"]] for own in results])

    def overview_parts(self) -> list[str]:
        """The styles, scripts and parts of results/index.html."""
        return [resource(f"overview/{part}") for part in _OVERVIEW_PARTS]


def _plain_name(path: str | Path) -> str:
    """A path within the repository; of another file the name alone, as where it lies may be private."""
    file = Path(path).absolute()
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else file.name


def _model_words(entry: AnyModel) -> str:
    """What a model is, in words: its name, without a folder of this machine, its revision and its backend."""
    name = entry.name or ""
    name = Path(name).name if name.startswith(("/", "~", "package:")) else name
    revision = entry.revision or ""
    named = f"{name} at {revision[:10]}" if revision else name
    return ", ".join(filter(None, [named, entry.backend]))
