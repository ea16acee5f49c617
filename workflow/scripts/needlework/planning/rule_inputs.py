"""The files that rules read, and what their scripts are told about these files.

A rule names one of these functions where it reads more than a pattern of wildcards can say. Nested mappings
keep the files of a benchmark, model or tokenizer together for the script; `paths` lists them for `input:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple
from functools import cache
from itertools import product
from typing import Any

from needlework.benchmarks.contract import Config
from needlework.models.accounts import read_account
from needlework.models.selection import only_of
from needlework.models.thoughts import MARK_FILES
from needlework.planning.audits import Audit, audits
from needlework.planning.layout import Layout, job_gpus, resource
from needlework.planning.model_checks import lengths_of
from needlework.results.numbers.tables import TABLES
from needlework.results.page.own_data import uses
from needlework.results.result import Needs, Result

# The files of the prompts of a benchmark in a tokenizer: "instances", "corpora" and "documents".
Prompts = dict[str, list[str]]

_ANSWERS = ("scores", "generations")
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


def paths(value: Any) -> list[str]:
    """All paths in nested mappings and lists, in order, without repeats."""
    return list(dict.fromkeys(_leaves(value)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value is not None:
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)


def corpus_files(tables: Iterable[str]) -> list[str]:
    """The files of tables ("corpus/language")."""
    return [f"results/corpora/{table}.parquet" for table in tables]


def result_file(benchmark: str, result: Result, ending: str) -> str:
    """A file of a result: its numbers ("csv"), or the table or figure in a format."""
    return f"results/{result.kind}/{benchmark}/{result.name}.{ending}"


class RuleInputs(Layout):
    """The inputs of the rules for a validated configuration."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.models: list[str] = config["run"]["models"]
        self.benchmarks: list[str] = config["run"]["benchmarks"]
        # Many models have the same prompts.
        self.prompts = cache(self._prompts)

    # Prompts

    def _prompts(self, benchmark: str, tokenizer: str) -> Prompts:
        """The prompts of a benchmark in a tokenizer, and all files that they quote."""
        slices = [f"{benchmark}/{tokenizer}/{name}.parquet" for name in self.slices(benchmark)]
        return {
            "instances": [f"results/instances/{name}" for name in slices],
            "corpora": corpus_files(self.quoted(benchmark)),
            "documents": [f"results/documents/{name}" for name in slices],
        }

    def prompts_of_models(self, benchmark: str) -> dict[str, Prompts]:
        """The prompts that the run's models are asked, by tokenizer."""
        tokenizers = dict.fromkeys(map(self.tokenizer, self.models))
        return {tokenizer: self.prompts(benchmark, tokenizer) for tokenizer in tokenizers}

    def built_from(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The corpora from which a slice is built, by the benchmark's names for them."""
        tables = self.slice_tables(benchmark, tokenizer, name)
        return {kind: corpus_files(own) for kind, own in tables.items()}

    def vectors(self, corpus: str, lang: str, retrieval: str) -> list[str]:
        """The embeddings of a language of a corpus; none if the choice is random."""
        embedder = self.config["retrieval"]["embedder"]
        found = [f"results/embeddings/{embedder}/{corpus}/{lang}.npy"]
        return found if retrieval == "semantic" else []

    def own_data_instances(self) -> list[str]:
        """The files of prompts that are built from the user's own data; they also list what was left out."""
        names = self.benchmarks if own_tables(self) else []
        made = [own for name in names for own in self.prompts_of_models(name).values()]
        return paths([own["instances"] for own in made])

    # Answers and scores

    def instances(self, model: str, benchmark: str) -> list[str]:
        """The prompts that a model is asked, without what they quote."""
        return self.prompts(benchmark, self.tokenizer(model))["instances"]

    def lengths(self, model: str, benchmark: str) -> list[int]:
        """The lengths of the prompts that a model is asked."""
        return lengths_of(self.config, model, benchmark)

    def only(self, model: str, benchmark: str) -> dict[str, list[object]]:
        """The part of a benchmark's prompts that a model is asked; empty if it is asked all."""
        return only_of(self.config, model, benchmark)

    def model_files(self, model: str) -> dict[str, Any]:
        """The user's answers and chat template of a model, and the marks around reasoning and answers."""
        entry = self.config["models"][model]
        return {
            "answers": entry["answers"] or [],
            "chat_template": entry["chat_template"] or [],
            "marks": [resource(file) for file in MARK_FILES],
        }

    def request_state(self, account: str) -> str:
        """A parameter that changes if a job left requests unanswered, by its account; "" at first."""
        found = read_account(account)
        return found.state(self.config["generation"]["again"]) if found else ""

    def judge_state(self, account: str) -> str:
        """As `request_state`; it changes too if the judge failed, so that it is asked again."""
        found = read_account(account)
        return found.name if found and found.failed else self.request_state(account)

    def host_memory(self, model: str) -> int:
        """The memory of a model's job in MB: a GPU's share of the weights passes through the host's."""
        return 8000 + 24000 * job_gpus(self.config["models"][model])

    def estimated(self) -> dict[str, Any]:
        """The parameters of `estimate`: the run's prompts, and what each model is asked."""
        benchmarks, models = self.benchmarks, self.models
        return {
            "files": {name: self.prompts_of_models(name) for name in benchmarks},
            "lengths": {m: {name: self.lengths(m, name) for name in benchmarks} for m in models},
            "only": {m: {name: self.only(m, name) for name in benchmarks} for m in models},
            "factors": {
                name: ["task", "example_id", *self.benchmark(name).columns] for name in benchmarks
            },
            "asked": {name: self.benchmark(name).asked for name in benchmarks},
            "gpus": {m: job_gpus(self.config["models"][m]) for m in (*models, *self.judges)},
            "readers": list(self.readers()),
            "judge": self.judge_files(),
            "audited": list(dict.fromkeys(m for pair in audits(self.config) for m in pair[:2])),
            "audit_questions": {turn: self.audited_questions(turn) for turn in ("first", "again")},
        }

    @property
    def judges(self) -> list[str]:
        """The judge, if there is one."""
        return [self.config["judge"]] if self.config["judge"] else []

    def judge_files(self) -> dict[str, Any]:
        """What the judge's prompts are made of: the answers of known verdict, and a text for each kind."""
        kinds = ("answer", "list", "yes_or_no", "none")
        return {
            "known": resource("judge/known.csv"),
            "templates": [resource(f"judge/{kind}.txt") for kind in kinds],
        }

    def score_files(self, benchmark: str) -> list[str]:
        """The scores of the run's models on a benchmark."""
        return [f"results/scores/{model}/{benchmark}.parquet" for model in self.models]

    def generation_files(self) -> dict[str, dict[str, str]]:
        """The answers of the run, by model and benchmark."""
        return {
            model: {name: f"results/generations/{model}/{name}.parquet" for name in self.benchmarks}
            for model in self.models
        }

    def answers_of_models(self, models: Iterable[str]) -> list[str]:
        """The scores of models on the run's benchmarks, then their answers."""
        return [
            f"results/{kind}/{model}/{name}.parquet"
            for kind, model, name in product(_ANSWERS, models, self.benchmarks)
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
        wanted = self.config["retrieval"]["similarity"] and self.benchmark(benchmark).plan.search
        return [f"results/similarity/{benchmark}/{self.tokenizer(model)}.parquet"] if wanted else []

    def scorer_files(self, benchmark: str) -> dict[str, list[str]]:
        """The phrases, or quoted tables, that the benchmark's metric reads, by its names for them."""
        tables = self.scoring_tables(benchmark)
        read = {name: corpus_files(own) for name, own in tables.items()}
        return self.scoring_files(benchmark) | read

    # Results

    def result_rows(self, benchmark: str) -> dict[Needs, list[str]]:
        """The files that results are made of, by `Result.needs`."""
        counts = f"results/token_counts/{benchmark}"
        return {
            "scores": self.score_files(benchmark),
            "ceilings": [f"results/translation_ceilings/{benchmark}.parquet"],
            "instances": paths([self.prompts(benchmark, t)["instances"] for t in self.tokenizers]),
            "token_counts": [f"{counts}/{tokenizer}.parquet" for tokenizer in self.tokenizers],
            "books": [f"{counts}/books/{tokenizer}.parquet" for tokenizer in self.tokenizers],
            "published": self.published(benchmark),
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
            for result in self.results(name)
            for path in self.files_of_result(name, result)
        ]

    def titles(self) -> dict[str, str]:
        """The titles of the run's results, and of the counts of its prompts, by their CSV files."""
        results = {
            result_file(name, result, "csv"): result.title
            for name in self.benchmarks
            for result in self.results(name)
        }
        counts = {
            f"results/tables/{name}/prompts-{tokenizer}.csv": f"Prompts in {tokenizer}"
            for name in self.benchmarks
            for tokenizer in self.tokenizers
        }
        return results | counts

    def paper(self, benchmark: str) -> str | None:
        """The file of the paper's numbers; None if the benchmark has none."""
        return next(iter(self.published(benchmark)), None)

    def card_files(self) -> list[str]:
        """The pictures, texts and numbers of all report cards; none if the run has no model."""
        models, endings = self.card_models(), ("svg", "pdf", "png", "txt")
        found = [f"results/cards/{model}.{ending}" for model, ending in product(models, endings)]
        forms = product(("page", "phone"), models)
        found += [f"results/cards/{form}/{model}.svg" for form, model in forms]
        return found + [f"results/numbers/{name}.csv" for name in TABLES if found]

    def shown_models(self) -> list[str]:
        """The models that means are of: not the built-in readers, unless there is nothing else."""
        return self.card_models() or list(self.models)

    def page_numbers(self) -> dict[str, dict[str, Any]]:
        """The inputs of the numbers of cards and page, by benchmark."""
        models, kinds = self.shown_models(), self.config["tokenizers"]
        # The models whose lengths are counted in words.
        in_words = [model for model in models if kinds[self.tokenizer(model)]["kind"] == "words"]
        return {
            name: {
                "scores": [f"results/scores/{model}/{name}.parquet" for model in models],
                "published": self.paper(name),
                "run": {**self.run_settings(name, "scores"), "in_words": in_words},
            }
            for name in self.benchmarks
        }

    def reproduced(self, with_models: bool) -> dict[str, dict[str, Any]]:
        """The inputs of the reproduction, by benchmark; without models, no scores."""
        left_out = ("published",) if with_models else ("scores", "ceilings")
        return {
            name: {
                "title": self.benchmark(name).title,
                "factors": list(self.benchmark(name).columns),
                "published": self.paper(name),
                "results": {
                    result.name: result_file(name, result, "csv")
                    for result in self.results(name)
                    # Printed numbers beside each other say nothing about a run.
                    if result.needs not in left_out
                },
                "scores": self.score_files(name) if with_models else [],
            }
            for name in self.benchmarks
        }

    def recorded(self, benchmark: str) -> dict[str, Any]:
        """The inputs of a benchmark's records: the arguments of `exchange.Recorded`."""
        own = self.benchmark(benchmark)
        return {
            "name": benchmark,
            "title": own.title,
            "paper": own.paper,
            "data": own.run.data(self.settings(benchmark))[0],
            "metric": self.settings(benchmark).get("metric") or "score",
            "published": self.paper(benchmark),
            "results": {
                result.name: (result_file(benchmark, result, "csv"), result.label, result.bounds)
                for result in self.results(benchmark)
                if result.needs == "scores"
            },
            "answers": {
                model: (
                    f"results/generations/{model}/{benchmark}.parquet",
                    f"results/scores/{model}/{benchmark}.parquet",
                    self.prompts(benchmark, self.tokenizer(model))["instances"],
                )
                for model in self.models
            },
        }

    def records_inputs(self) -> dict[str, list[str]]:
        """The files of the records: numbers, scores and answers, prompts, and the papers' numbers."""
        recorded = [self.recorded(name) for name in self.benchmarks]
        return {
            "results": [shown[0] for own in recorded for shown in own["results"].values()],
            "answers": self.answers_of_models(self.models),
            "instances": paths(
                [
                    [own["instances"] for own in self.prompts_of_models(name).values()]
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
            for tokenizer, part in product(self.tokenizers, self.slices(name))
            for ending in ("jsonl", "parquet")
        ]

    def explored(self, benchmark: str) -> dict[str, Any]:
        """What the explorer shows of a benchmark: the arguments of `explorer.data.Explored`."""
        own = self.benchmark(benchmark)
        return {
            "title": own.title,
            "asked": own.asked,
            "designed": own.shown.designed,
            "without": "0" if own.shown.designed[0] == "length" else "",
            "held": own.shown.card.held if own.shown.card else (),
            "controls": list(self.readers()),
            "prompts": self.prompts_of_models(benchmark),
            "answers": {model: self._explored_answers(model, benchmark) for model in self.models},
        }

    def _explored_answers(self, model: str, benchmark: str) -> dict[str, str]:
        """The arguments of `explorer.data.Answers`."""
        files = {
            "tokenizer": self.tokenizer(model),
            "scores": f"results/scores/{model}/{benchmark}.parquet",
            "generations": f"results/generations/{model}/{benchmark}.parquet",
        }
        for path in self.translation_files(model, benchmark):
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

    def overview(self, benchmark: str) -> dict[str, Any]:
        """What results/index.html shows of a benchmark."""
        own = self.benchmark(benchmark)
        return {
            "title": own.title,
            "asked": own.asked,
            "data": self.data(benchmark),
            "closed_book": own.shown.closed_book,
            "designed": own.shown.designed[1],
            "task_names": own.task_names,
            "scores": self.score_files(benchmark),
            "tables": self._shown(benchmark, "tables", "csv"),
            "figures": self._shown(benchmark, "figures", "svg"),
        }

    def _shown(self, benchmark: str, kind: str, ending: str) -> dict[str, dict[str, str]]:
        """The tables or figures of a benchmark by name: files, title and caption."""
        return {
            result.name: {
                "file": result_file(benchmark, result, ending),
                "numbers": result_file(benchmark, result, "csv"),
                "shown": result_file(benchmark, result, result.endings[-1]),
                "title": result.label,
                "caption": self.caption(benchmark, result),
            }
            for result in self.results(benchmark)
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

    # Audits

    def audited_factors(self, benchmark: str) -> list[str]:
        """The factors by which the cells of an audit are counted."""
        by = self.config["audit"]["by"]
        return [name for name in self.benchmark(benchmark).asked if by is None or name in by]

    def audited_questions(self, turn: str) -> list[int]:
        """How many questions a model is asked, and how many of these again, if `turn` is "again"."""
        keys = ("questions", "again") if turn == "again" else ("questions",)
        return [self.config["audit"][key] for key in keys]

    def audit_prompts(self, model: str, benchmark: str, turn: str) -> Prompts:
        """The prompts that are drawn for an audit of a model, and all files that they quote."""
        drawn = f"results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet"
        return {**self.prompts(benchmark, self.tokenizer(model)), "instances": [drawn]}

    def audit_files(self, pair: Audit) -> dict[str, dict[str, Any]]:
        """The cells of an audit and both models' scores and answers, first and again, by benchmark."""
        found = {}
        for name in self.benchmarks:
            folders = {
                "base": f"results/audit_answers/{pair.base}/{name}",
                "changed": f"results/audit_answers/{pair.changed}/{name}",
            }
            found[name] = {"cells": f"{folders['base']}/cells.json"} | {
                f"{side}{ending}": [f"{folder}/{turn}/{kind}.parquet" for kind in _ANSWERS]
                for side, folder in folders.items()
                for turn, ending in (("first", ""), ("again", "_again"))
            }
        return found


# The file of a table (`corpus_table`).
_TABLE = re.compile(r"results/corpora/([^/]+)/([^/]+)\.parquet")


def own_tables(files: Layout) -> list[str]:
    """The tables ("corpus/language") of the user's own data that prompts of this run are built from."""
    found = [
        table
        for benchmark in _benchmarks(files)
        for _, tables in _slices(files, benchmark)
        for own in tables.values()
        for table in own
    ]
    return list(dict.fromkeys(own for table in dict.fromkeys(found) for own in _own(files, table)))


def _own(files: Layout, table: str) -> list[str]:
    """The user's table that a table is, or those that it is made of."""
    corpus, lang = table.split("/")
    if files.is_own_corpus(corpus):
        return [table]
    own = map(_TABLE.fullmatch, files.corpus_sources(corpus, lang))
    return [f"{made[1]}/{made[2]}" for made in own if made]


def own_uses(files: Layout) -> list[tuple[Any, ...]]:
    """What the benchmarks need from these tables, as tuples of the fields of `results.page.own_data.Use`."""
    own = set(own_tables(files))
    found = [use for b in _benchmarks(files) for use in uses(b, _slices(files, b))]
    return [astuple(use) for use in found if use.table in own]


def _benchmarks(files: Layout) -> list[str]:
    """The benchmarks of a run that has data of the user's own."""
    return files.config["run"]["benchmarks"] if files.config["corpora"] else []


def _slices(files: Layout, benchmark: str) -> list[tuple[Any, Any]]:
    """The settings of a benchmark's slices, and the tables that they are built from."""
    named = [(benchmark, files.text_tokenizer, name) for name in files.slices(benchmark)]
    return [(files.slice_settings(*each), files.slice_tables(*each)) for each in named]
