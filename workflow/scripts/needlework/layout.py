"""Where every file lies, and which files and settings each step of a configuration needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from needlework.config import lengths_of
from needlework.engine_arguments import answer_arguments, gpus
from needlework.registry import Source, load_registry

ROOT = Path(__file__).resolve().parents[3]

# The source, and the reader's module, of each corpus. The sample has no source: it is in resources/.
_CORPORA = {
    "mlqa": ("mlqa", "mlqa"),
    "xquad": ("xquad", "xquad"),
    "mmarco": ("mmarco", "mmarco"),
    "sample_questions": (None, "sample"),
    "sample_passages": (None, "sample"),
}


def resource(path: str) -> str:
    """A path below resources/, relative where the workflow runs in its own folder.

    So a clone elsewhere, with the results of another one, has the same inputs.
    """
    found = ROOT / "resources" / path
    return str(found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found)


class Layout:
    """The files of a validated configuration, as paths below the working directory."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The registry of published files."""
        return load_registry(resource("sources.yaml"))

    def plan(self, benchmark: str) -> ModuleType:
        """The module that knows a benchmark's slices and what each depends on."""
        return import_module(f"needlework.benchmarks.{benchmark}.plan")

    def settings(self, benchmark: str) -> dict[str, Any]:
        """A benchmark's block of the configuration."""
        return self.config["benchmarks"][benchmark]

    # Corpora

    def source_entry(self, file_id: str) -> dict[str, Any]:
        """What the registry says of a file, for the rule that fetches it."""
        source = self.sources[file_id.split("/")[0]]
        return next(vars(file) for file in source.files if file.id == file_id)

    def corpus(self, corpus: str, lang: str) -> str:
        """The table of a corpus in a language."""
        return f"results/corpora/{corpus}/{lang}.parquet"

    def corpora(self, corpus: str, langs: Iterable[str]) -> list[str]:
        """The tables of a corpus in several languages."""
        return [self.corpus(corpus, lang) for lang in langs]

    def corpus_sources(self, corpus: str, lang: str) -> list[str]:
        """The files that a corpus table is read from."""
        source, _ = _CORPORA[corpus]
        if source is None:
            return sorted(str(path) for path in Path(resource("sample")).glob("*.json"))
        return [f"results/sources/{self.sources[source].file(lang).id}"]

    def corpus_settings(self, corpus: str) -> dict[str, Any]:
        """What a corpus table depends on besides its files; how much was fetched is not part of it."""
        own = self.config["sources"].get(corpus, {})
        return {key: value for key, value in own.items() if key != "prefix_mb"}

    def corpus_reader(self, corpus: str) -> str:
        """The name of the module in needlework/corpora that reads a corpus."""
        return _CORPORA[corpus][1]

    # Retrieval

    @property
    def shards(self) -> list[str]:
        """The names of the parts into which a language's passages are cut."""
        n = self.config["retrieval"]["shards"]
        return [f"{i}-of-{n}" for i in range(n)]

    def embeddings(self, corpus: str, lang: str, shard: str | None = None) -> str:
        """The vectors of a corpus in a language, or of one part of it where there are several."""
        part = lang if shard is None or len(self.shards) == 1 else f"{lang}.{shard}"
        return f"results/embeddings/{self.config['retrieval']['embedder']}/{corpus}/{part}.npy"

    def search_inputs(
        self, benchmark: str, retrieval: str, lang: str, shard: str
    ) -> dict[str, str | list[str]]:
        """What ranks the passages of a shard: texts and answers, and vectors where they are used."""
        own = self.settings(benchmark)
        needed: dict[str, str | list[str]] = {
            "passages": self.corpus(own["haystack"], lang),
            "questions": self.answer_corpora(benchmark),
        }
        if retrieval == "semantic":
            needed["question_vectors"] = self.embeddings(own["needles"], own["question_lang"])
            needed["passage_vectors"] = self.embeddings(own["haystack"], lang, shard)
        return needed

    def distractor_inputs(self, benchmark: str, lang: str) -> dict[str, str | list[str]]:
        """The rankings of all shards of a language, and what their rows are."""
        own = self.settings(benchmark)
        return {
            "questions": self.corpus(own["needles"], own["question_lang"]),
            "passages": self.corpus(own["haystack"], lang),
            "rankings": [
                f"results/distractors/{benchmark}/{lang}.{retrieval}.{shard}.npy"
                for retrieval in own["retrieval"]
                for shard in self.shards
            ],
        }

    def embedding_gpus(self, embedder: str) -> int:
        """How many GPUs an embedding job takes where there are any."""
        return int(self.config["embedders"][embedder]["kind"] != "ngram")

    def answer_corpora(self, benchmark: str) -> list[str]:
        """The questions of a benchmark in all languages whose answers are accepted."""
        own = self.settings(benchmark)
        return self.corpora(own["needles"], own["answer_languages"])

    # Instances

    def instances(self, benchmark: str, tokenizer: str) -> list[str]:
        """The instance files of a benchmark for a tokenizer."""
        slices = self.plan(benchmark).slices(self.settings(benchmark))
        return [f"results/instances/{benchmark}/{tokenizer}/{name}.parquet" for name in slices]

    def tokenizer(self, model: str) -> str:
        """The name of the tokenizer in which a model's prompts are measured."""
        return self.config["models"][model]["tokenizer"]

    def baselines(self, benchmark: str) -> list[str]:
        """The smallest instance files that name every question that is asked."""
        tokenizer = self.tokenizer(self.config["run"]["models"][0])
        names = self.plan(benchmark).baseline_slices(self.settings(benchmark))
        return [f"results/instances/{benchmark}/{tokenizer}/{name}.parquet" for name in names]

    def slice_settings(self, benchmark: str, tokenizer: str, name: str) -> dict[str, Any]:
        """All that the instances of a slice depend on, other than files and the tokenizer."""
        models = self.config["models"]
        lengths = {
            length
            for model in self.config["run"]["models"]
            if models[model]["tokenizer"] == tokenizer
            for length in lengths_of(self.config, model, benchmark)
        }
        return self.plan(benchmark).settings(self.settings(benchmark), name, sorted(lengths))

    def slice_inputs(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The files of a slice."""
        plan, own = self.plan(benchmark), self.settings(benchmark)
        chosen = self.slice_settings(benchmark, tokenizer, name)
        hay = plan.haystack_languages(chosen)
        return {
            "questions": self.corpora(own["needles"], plan.question_languages(chosen)),
            "passages": self.corpora(own["haystack"], hay),
            "distractors": [f"results/distractors/{benchmark}/{lang}.parquet" for lang in hay],
            "templates": self.templates(benchmark),
        }

    def templates(self, benchmark: str) -> list[str]:
        """The benchmark's prompt templates."""
        return sorted(str(path) for path in Path(resource(f"prompts/{benchmark}")).glob("*.txt"))

    # Models

    def model_settings(self, model: str) -> dict[str, Any]:
        """What a model's answers depend on: its entry, without what only chooses, names or speeds."""
        entry = self.config["models"][model]
        naming = {"tokenizer", "lengths", "published", "base_url", "key_env"}
        speed = {"concurrency", "timeout", "batch_size", "device"}
        settings = {key: value for key, value in entry.items() if key not in naming | speed}
        return settings | {"engine": answer_arguments(entry["engine"])}

    def generation_gpus(self, model: str) -> int:
        """How many GPUs a model's job takes."""
        entry = self.config["models"][model]
        if entry["backend"] == "vllm":
            return gpus(entry["engine"])
        return int(entry["backend"] == "transformers" and entry["device"] != "cpu")

    def generation_inputs(self, benchmark: str, model: str) -> dict[str, list[str]]:
        """A model's prompts, the corpora that they are rendered from, and the files it names."""
        own, plan = self.settings(benchmark), self.plan(benchmark)
        entry = self.config["models"][model]
        return {
            "instances": self.instances(benchmark, self.tokenizer(model)),
            "needles": self.corpora(own["needles"], own["needle_languages"]),
            "passages": self.corpora(own["haystack"], plan.passage_languages(own)),
            "answers": [entry["answers"]] if entry["answers"] else [],
            "chat_template": [entry["chat_template"]] if entry["chat_template"] else [],
        }

    # Translation

    @property
    def translator(self) -> dict[str, Any]:
        """The entry of the translator that this run uses."""
        return self.config["translators"][self.config["translation"]["translator"]]

    # Results

    def scores(self, benchmark: str) -> list[str]:
        """The scores of every model of this run."""
        return [
            f"results/scores/{model}/{benchmark}.parquet" for model in self.config["run"]["models"]
        ]

    def table_rows(self, benchmark: str, name: str) -> list[str]:
        """What a table is made of: every model's scores, or what the translator did to gold answers."""
        if name == "translation_ceiling":
            return [f"results/translation_ceilings/{benchmark}.parquet"]
        return self.scores(benchmark)

    def published(self, benchmark: str) -> str:
        """The paper's numbers."""
        return resource(f"published/{benchmark}.csv")

    def tables(self, benchmark: str) -> list[str]:
        """Every table of a benchmark, and what its prompts are like."""
        names = self.plan(benchmark).TABLES
        tokenizers = dict.fromkeys(map(self.tokenizer, self.config["run"]["models"]))
        return [
            *[f"results/tables/{benchmark}/{n}.{x}" for n in names for x in ("csv", "tex")],
            *[f"results/tables/{benchmark}/prompts-{t}.csv" for t in tokenizers],
        ]

    def figures(self, benchmark: str) -> list[str]:
        """Every figure of a benchmark."""
        names = self.plan(benchmark).FIGURES
        return [
            f"results/figures/{benchmark}/{n}.{x}" for n in names for x in ("svg", "pdf", "png")
        ]

    @property
    def final(self) -> list[str]:
        """What `snakemake` without a target makes."""
        return [
            file
            for benchmark in self.config["run"]["benchmarks"]
            for file in [*self.tables(benchmark), *self.figures(benchmark)]
        ]
