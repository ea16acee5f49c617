"""Where every file lies, and which files and settings each step of a configuration needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

from needlework.benchmarks.contract import Result, Search
from needlework.config import lengths_of
from needlework.corpora.languages import folder_languages
from needlework.engine_arguments import answer_arguments, gpus
from needlework.registry import Source, load_registry

ROOT = Path(__file__).resolve().parents[3]


class Corpus(NamedTuple):
    """Where a corpus comes from: the module that reads it, and the source and its part.

    `files` are the patterns of its files, with the language for `{lang}`: of a corpus without a source
    in resources/sample, of one that has languages of the user's own in the folder that
    `sources.<source>.folder` names. A package holds the languages of `packaged`. `resources` are files of
    resources/ that its reader needs first. Where `benchmark` is given, its plan says what else the corpus
    depends on, and may name the files.
    """

    reader: str
    source: str | None = None
    part: str | None = None
    files: tuple[str, ...] = ()
    packaged: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    benchmark: str | None = None


# What ONERULER has of a language, in the embedded sample and in a user's folder.
_BOOKS = ("{lang}/book.txt", "{lang}/sentences.json")
_NOUNS = ("nouns.tsv",)
_WORDS = ("{lang}/words.csv",)
_PROMPTS = ("{lang}/niah.json", "{lang}/cwe.txt")


def _in_sample(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"oneruler/{pattern}" for pattern in patterns)


# The wording around what a row of M4LE holds.
_FRAMES = ("m4le/frames.yaml",)

_CORPORA = {
    "m4le_2024": Corpus("m4le", "m4le", "2024", resources=_FRAMES, benchmark="m4le"),
    "m4le_2023": Corpus("m4le", "m4le", "2023", resources=_FRAMES, benchmark="m4le"),
    "m4le_constructed": Corpus("m4le", resources=_FRAMES, benchmark="m4le"),
    "m4le_sample": Corpus("m4le", files=("m4le/*.yaml",), resources=_FRAMES, benchmark="m4le"),
    "mlqa": Corpus("mlqa", "mlqa"),
    "mlqa_passages": Corpus("titled", "mlqa"),
    "xquad": Corpus("xquad", "xquad"),
    "xquad_passages": Corpus("titled", "xquad"),
    "mmarco": Corpus("mmarco", "mmarco"),
    "sample_questions": Corpus("sample", files=("*.json",)),
    "sample_passages": Corpus("sample", files=("*.json",)),
    "nq_open": Corpus("nq_open", "lost-in-the-middle", "oracle"),
    "nq_open_released": Corpus("nq_open", "lost-in-the-middle", "documents"),
    "nq_open_released_passages": Corpus("nq_open", "lost-in-the-middle", "documents"),
    "nq_open_retrieved": Corpus("nq_open", "lost-in-the-middle", "retrieval"),
    "nq_open_retrieved_passages": Corpus("nq_open", "lost-in-the-middle", "retrieval"),
    "wikipedia": Corpus("wikipedia", "wikipedia"),
    "key_value_75": Corpus("key_value", "lost-in-the-middle", "key_value_75"),
    "key_value_140": Corpus("key_value", "lost-in-the-middle", "key_value_140"),
    "key_value_300": Corpus("key_value", "lost-in-the-middle", "key_value_300"),
    "oneruler_books": Corpus("oneruler", "oneruler", "books", _BOOKS),
    "oneruler_nouns": Corpus("oneruler", "oneruler", "nouns", _NOUNS),
    "oneruler_words": Corpus("oneruler", "oneruler", "words", _WORDS, packaged=("en",)),
    "oneruler_prompts": Corpus("oneruler", "oneruler", "prompts", _PROMPTS),
    "sample_books": Corpus("oneruler", files=_in_sample(_BOOKS)),
    "sample_nouns": Corpus("oneruler", files=_in_sample(_NOUNS)),
    "sample_words": Corpus("oneruler", files=_in_sample(_WORDS)),
    "sample_prompts": Corpus("oneruler", files=_in_sample(_PROMPTS)),
}


def resource(path: str) -> str:
    """A path below resources/, relative where the workflow runs in its own folder.

    So a clone elsewhere, with the results of another one, has the same inputs.
    """
    found = ROOT / "resources" / path
    return str(found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found)


# What runs a neural network here: on a GPU where there is one, unless its `device` is the CPU.
_NEURAL = {"vllm", "transformers", "sentence-transformers", "nllb"}
# CPU cores of a network without a GPU; more help a CPU little. Snakemake lowers it to `--cores`.
CPU_THREADS = 16


def job_gpus(entry: Mapping[str, Any]) -> int:
    """How many GPUs the job of a model, an embedder or a translator asks for; `entry` is its block."""
    kind = entry.get("backend") or entry["kind"]
    if kind == "vllm":
        return gpus(entry["engine"])
    return int(kind in _NEURAL and entry["device"] != "cpu")


def job_threads(entry: Mapping[str, Any]) -> int:
    """How many CPU cores it asks for: one where nothing is computed but requests and words.

    Beside GPUs, cores load the weights, cut texts into tokens, and feed each GPU.
    """
    kind = entry.get("backend") or entry["kind"]
    if kind not in _NEURAL:
        return 1
    own = job_gpus(entry)
    return 4 + 2 * own if own else CPU_THREADS


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

    def corpora(self, tables: Iterable[tuple[str, str]]) -> list[str]:
        """Several tables, each given by its corpus and language."""
        return [self.corpus(corpus, lang) for corpus, lang in tables]

    def corpus_sources(self, corpus: str, lang: str) -> list[str]:
        """The files that a corpus table is read from."""
        own = _CORPORA[corpus]
        needed = [resource(path) for path in own.resources]
        return needed + self._corpus_files(own, corpus, lang)

    def _corpus_files(self, own: Corpus, corpus: str, lang: str) -> list[str]:
        if own.benchmark is not None:
            settings = self.settings(own.benchmark)
            named = self.plan(own.benchmark).corpus_files(settings, corpus, lang)
            if named is not None:
                return named
        folder = resource("sample") if own.source is None else self._folder(own.source)
        if own.source is None or lang in folder_languages(folder):
            patterns = [pattern.format(lang=lang) for pattern in own.files]
            return [str(file) for each in patterns for file in sorted(Path(folder).glob(each))]
        if lang in own.packaged:
            return []
        files = self.sources[own.source].of(lang, own.part)
        return [f"results/sources/{file.id}" for file in files]

    def _folder(self, source: str) -> str | None:
        """The folder of a user's own languages of a source."""
        return self.config["sources"].get(source, {}).get("folder")

    def corpus_settings(self, corpus: str) -> dict[str, Any]:
        """What a corpus table depends on besides its files; how much was fetched is not part of it."""
        benchmark = _CORPORA[corpus].benchmark
        if benchmark is not None:
            return self.plan(benchmark).corpus_settings(self.settings(benchmark))
        own = self.config["sources"].get(_CORPORA[corpus].source, {})
        return {key: value for key, value in own.items() if key not in ("prefix_mb", "folder")}

    def corpus_reader(self, corpus: str) -> str:
        """The name of the module in needlework/corpora that reads a corpus."""
        return _CORPORA[corpus].reader

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

    def search(self, benchmark: str, lang: str) -> Search:
        """How a benchmark finds its distractors in a language."""
        return self.plan(benchmark).search(self.settings(benchmark), lang)

    def search_inputs(
        self, benchmark: str, retrieval: str, lang: str, shard: str
    ) -> dict[str, str | list[str]]:
        """What ranks the passages of a shard: texts and answers, and vectors where they are used."""
        search = self.search(benchmark, lang)
        needed: dict[str, str | list[str]] = {
            "passages": self.corpus(search.haystack, lang),
            "questions": self.corpora(
                (search.needles, answer_lang) for answer_lang in search.answer_languages
            ),
        }
        if retrieval == "semantic":
            needed["question_vectors"] = self.embeddings(search.needles, search.question_lang)
            needed["passage_vectors"] = self.embeddings(search.haystack, lang, shard)
        return needed

    def distractor_inputs(self, benchmark: str, lang: str) -> dict[str, str | list[str]]:
        """The rankings of all shards of a language, and what their rows are."""
        search = self.search(benchmark, lang)
        return {
            "questions": self.corpus(search.needles, search.question_lang),
            "passages": self.corpus(search.haystack, lang),
            "rankings": [
                f"results/distractors/{benchmark}/{lang}.{retrieval}.{shard}.npy"
                for retrieval in search.kinds
                for shard in self.shards
            ],
        }

    def embedding_gpus(self, embedder: str) -> int:
        """How many GPUs an embedding job takes."""
        return job_gpus(self.config["embedders"][embedder])

    def embedding_threads(self, embedder: str) -> int:
        """How many CPU cores an embedding job takes."""
        return job_threads(self.config["embedders"][embedder])

    # Instances

    def instances(self, benchmark: str, tokenizer: str) -> list[str]:
        """The instance files of a benchmark for a tokenizer."""
        return self._slices("instances", benchmark, tokenizer)

    def documents(self, benchmark: str, tokenizer: str) -> list[str]:
        """The files of what the construction of a benchmark's prompts made itself."""
        return self._slices("documents", benchmark, tokenizer)

    def _slices(self, kind: str, benchmark: str, tokenizer: str) -> list[str]:
        slices = self.plan(benchmark).slices(self.settings(benchmark))
        return [f"results/{kind}/{benchmark}/{tokenizer}/{name}.parquet" for name in slices]

    @property
    def tokenizers(self) -> list[str]:
        """The tokenizers in which this run's prompts are built."""
        run = self.config["run"]
        return list(dict.fromkeys([*map(self.tokenizer, run["models"]), *run["tokenizers"]]))

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
        if tokenizer in self.config["run"]["tokenizers"]:
            lengths |= set(self.settings(benchmark).get("lengths", []))
        return self.plan(benchmark).settings(self.settings(benchmark), name, sorted(lengths))

    def slice_inputs(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The files of a slice."""
        plan = self.plan(benchmark)
        chosen = self.slice_settings(benchmark, tokenizer, name)
        found = [
            f"results/distractors/{benchmark}/{lang}.parquet" for lang in plan.searches(chosen)
        ]
        return {
            **{kind: self.corpora(tables) for kind, tables in plan.corpora(chosen).items()},
            "distractors": found,
            "templates": self.templates(benchmark),
        }

    def table_names(self, benchmark: str, tokenizer: str, name: str) -> list[str]:
        """The names of a slice's inputs that are tables, by language each."""
        return [
            kind for kind in self.slice_inputs(benchmark, tokenizer, name) if kind != "templates"
        ]

    def templates(self, benchmark: str) -> list[str]:
        """The benchmark's prompt templates."""
        return sorted(str(path) for path in Path(resource(f"prompts/{benchmark}")).glob("*.txt"))

    # Models

    def model_settings(self, model: str) -> dict[str, Any]:
        """What a model's answers depend on: its entry, without what only chooses, names or speeds."""
        entry = self.config["models"][model]
        naming = {
            "tokenizer",
            "lengths",
            "published",
            "base_url",
            "key_env",
            "gated",
            "throughput",
            "price",
        }
        speed = {
            "concurrency",
            "timeout",
            "batch_size",
            "device",
            "batch",
            "batch_limits",
            "shards",
        }
        settings = {key: value for key, value in entry.items() if key not in naming | speed}
        return settings | {"engine": answer_arguments(entry["engine"])}

    def generation_gpus(self, model: str) -> int:
        """How many GPUs a model's job takes."""
        return job_gpus(self.config["models"][model])

    def generation_threads(self, model: str) -> int:
        """How many CPU cores a model's job takes."""
        return job_threads(self.config["models"][model])

    def generation_inputs(self, benchmark: str, model: str) -> dict[str, list[str]]:
        """A model's prompts, the corpora that they are rendered from, and the files it names."""
        entry = self.config["models"][model]
        return {
            "instances": self.instances(benchmark, self.tokenizer(model)),
            **self.document_inputs(benchmark, self.tokenizer(model)),
            "answers": [entry["answers"]] if entry["answers"] else [],
            "chat_template": [entry["chat_template"]] if entry["chat_template"] else [],
        }

    def generation_shards(self, benchmark: str, model: str) -> list[str]:
        """The parts of a model's answers, where they are cut."""
        n = self.config["models"][model]["shards"]
        return [f"results/generations/{model}/{benchmark}.{i}-of-{n}.parquet" for i in range(n)]

    def document_inputs(self, benchmark: str, tokenizer: str) -> dict[str, list[str]]:
        """The files of all documents that a benchmark's prompts refer to."""
        plan = self.plan(benchmark)
        return {
            "corpora": self.corpora(plan.documents(self.settings(benchmark))),
            "documents": self.documents(benchmark, tokenizer),
        }

    # Translation

    def answer_corpora(self, benchmark: str) -> list[str]:
        """The questions of a benchmark in all languages whose answers are accepted."""
        own = self.settings(benchmark)
        return self.corpora((own["needles"], lang) for lang in own["answer_languages"])

    def scoring_inputs(self, benchmark: str, model: str) -> dict[str, str | list[str]]:
        """A model's prompts and answers, in English too where the benchmark scores that."""
        needed: dict[str, str | list[str]] = {
            "instances": self.instances(benchmark, self.tokenizer(model)),
            "generations": f"results/generations/{model}/{benchmark}.parquet",
        }
        if self.plan(benchmark).TRANSLATED:
            needed["translations"] = f"results/translations/{model}/{benchmark}.parquet"
        return needed

    def scoring_settings(self, benchmark: str) -> dict[str, Any]:
        """What a benchmark's scores depend on besides prompts and answers."""
        return self.plan(benchmark).scoring_settings(self.settings(benchmark))

    @property
    def translator(self) -> dict[str, Any]:
        """The entry of the translator that this run uses."""
        return self.config["translators"][self.config["translation"]["translator"]]

    @property
    def translator_settings(self) -> dict[str, Any]:
        """What translations depend on: the translator's entry, without where it is and how fast."""
        unsaid = {"base_url", "key_env", "batch_size", "device"}
        return {key: value for key, value in self.translator.items() if key not in unsaid}

    @property
    def translation_gpus(self) -> int:
        """How many GPUs a job takes that translates."""
        return job_gpus(self.translator)

    @property
    def translation_threads(self) -> int:
        """How many CPU cores a job takes that translates."""
        return job_threads(self.translator)

    # Results

    def scores(self, benchmark: str) -> list[str]:
        """The scores of every model of this run."""
        return [
            f"results/scores/{model}/{benchmark}.parquet" for model in self.config["run"]["models"]
        ]

    def result_rows(self, benchmark: str, needs: str) -> list[str]:
        """What tables and figures are made of, by what they need (`Result.needs`)."""
        if needs == "ceilings":
            return [f"results/translation_ceilings/{benchmark}.parquet"]
        if needs == "instances":
            return [file for name in self.tokenizers for file in self.instances(benchmark, name)]
        if needs == "token_counts":
            return [f"results/token_counts/{benchmark}/{name}.parquet" for name in self.tokenizers]
        return self.scores(benchmark)

    def result_settings(self, benchmark: str, needs: str) -> dict[str, Any]:
        """What tables and figures of such rows need to know of the run; of ceilings, nothing."""
        return {} if needs == "ceilings" else self.plan(benchmark).result_settings(self.config)

    def published(self, benchmark: str) -> str:
        """The paper's numbers."""
        return resource(f"published/{benchmark}.csv")

    @property
    def text_tokenizer(self) -> str:
        """The tokenizer whose prompts are the texts that are counted in all tokenizers."""
        run = self.config["run"]
        return run["tokenizers"][0] if run["tokenizers"] else self.tokenizer(run["models"][0])

    def results(self, benchmark: str, kind: Literal["tables", "figures"]) -> dict[str, Result]:
        """The tables or figures that this configuration fills: one tokenizer is not compared."""
        found = getattr(self.plan(benchmark), kind)(self.settings(benchmark))
        several = len(self.tokenizers) > 1
        return {name: r for name, r in found.items() if several or r.needs != "token_counts"}

    def unfilled(self) -> dict[str, str]:
        """The tables and figures, as targets, that this configuration leaves empty, and what fills them."""
        found, run = {}, self.config["run"]["benchmarks"]
        for benchmark in self.config["benchmarks"]:
            plan, where = self.plan(benchmark), f"benchmarks.{benchmark}"
            for kind in ("tables", "figures"):
                filled = self.results(benchmark, kind) if benchmark in run else {}
                for name, result in getattr(plan, kind.upper()).items():
                    if name in filled:
                        continue
                    if benchmark not in run:
                        remedy = f"add {benchmark} to run.benchmarks"
                    elif result.needs == "token_counts":
                        remedy = "it compares tokenizers, so name a second one in run.tokenizers"
                    else:
                        remedy = f"{where} asks for none of its prompts (docs/configuration.md)"
                    found[f"{benchmark}_{name}"] = f"{result.title}: {remedy}."
        return found

    def results_by_needs(
        self, benchmark: str, kind: Literal["tables", "figures"]
    ) -> dict[str, dict[str, Result]]:
        """The tables or figures that this configuration fills, by what they need."""
        found: dict[str, dict[str, Result]] = {}
        for name, result in self.results(benchmark, kind).items():
            found.setdefault(result.needs, {})[name] = result
        return found

    def tables(self, benchmark: str) -> list[str]:
        """Every table of a benchmark, and what its prompts are like."""
        names = self.results(benchmark, "tables")
        return [
            *[f"results/tables/{benchmark}/{n}.{x}" for n in names for x in ("csv", "tex")],
            *[f"results/tables/{benchmark}/prompts-{t}.csv" for t in self.tokenizers],
        ]

    def figures(self, benchmark: str) -> list[str]:
        """Every figure of a benchmark."""
        names = self.results(benchmark, "figures")
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
