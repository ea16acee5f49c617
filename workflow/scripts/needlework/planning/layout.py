"""Where every file lies, and which files and settings each step of a configuration needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from needlework.benchmarks.benchmark import Benchmark, load_benchmark
from needlework.benchmarks.contract import Config, Own, Run, Search, SliceSettings, block_of
from needlework.data.corpora.corpus import Corpus
from needlework.data.corpora.registry import (
    CORPORA,
    folder_languages,
    local_files,
    own_corpus,
    sources,
)
from needlework.folders import matching
from needlework.models.engine_arguments import added, answer_arguments, decoding, gpus
from needlework.models.selection import CONTROLS, READERS, asks_nothing, in_words, only_of
from needlework.planning.affects import affecting, not_affecting
from needlework.planning.model_checks import lengths_of
from needlework.results.result import Needs, Result, told

ROOT = Path(__file__).resolve().parents[4]


def resource(path: str) -> str:
    """A path below resources/, relative where the workflow runs in its own folder.

    So a clone elsewhere, with the results of another one, has the same inputs. A module's `prefix:` moves
    relative paths: those of a commit unpacked below the run's `.snakemake` are absolute.
    """
    found, here = ROOT / "resources" / path, Path.cwd()
    inside = found.is_relative_to(here) and not found.is_relative_to(here / ".snakemake")
    return str(found.relative_to(here) if inside else found)


# Models that captions name one by one.
MOST_NAMED = 6


class Layout:
    """The files of a validated configuration, as paths below the working directory."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def benchmark(self, name: str) -> Benchmark:
        """What a benchmark is."""
        return load_benchmark(name)

    def settings(self, benchmark: str) -> Own:
        """A benchmark's block of the configuration, with the run's seed."""
        return block_of(self.config, benchmark)

    # Corpora

    def source_entry(self, file_id: str) -> dict[str, Any]:
        """The registry's entry of a file, for the rule that fetches it."""
        source = sources()[file_id.split("/")[0]]
        return next(vars(file) for file in source.files if file.id == file_id)

    def corpus_sources(self, corpus: str, lang: str) -> list[str]:
        """The files that a corpus table is read from."""
        if self.is_own_corpus(corpus):
            return self._own(corpus, lang)["files"]
        own = CORPORA[corpus]
        needed = [resource(path) for path in own.resources]
        return needed + self._corpus_files(own, corpus, lang)

    def _corpus_files(self, own: Corpus, corpus: str, lang: str) -> list[str]:
        if own.benchmark and (named := self.benchmark(own.benchmark).plan.corpus_files):
            listed = named(self.settings(own.benchmark), corpus, lang)
            if listed is not None:
                return listed
        folder = resource("sample") if own.source is None else self._folder(own.source)
        extended = bool(own.resources) and own.part is None
        if extended and folder is None:
            return []
        if folder is not None and (
            own.source is None or extended or (own.files and lang in self._folder_languages(own))
        ):
            patterns = [pattern.format(lang=lang) for pattern in own.files]
            found = [str(file) for each in patterns for file in matching(folder, each)]
            return found
        if lang in own.packaged:
            return []
        assert own.source is not None, "the sample was read above"
        files = sources()[own.source].of(lang, own.part)
        return [f"results/sources/{file.id}" for file in files]

    def is_own_corpus(self, corpus: str) -> bool:
        """Whether a corpus is a data set of the user's."""
        return own_corpus(corpus, self.config["corpora"]) is not None

    def _own(self, corpus: str, lang: str) -> dict[str, Any]:
        """The data set of a user's corpus in a language, with the local files that it names."""
        entry = own_corpus(corpus, self.config["corpora"])
        assert entry is not None
        data = entry["languages"][lang]
        return {
            **{key: entry[key] for key in ("kind", "columns", "separator", "rows")},
            **data,
            "files": local_files(data["files"]),
        }

    def _folder_languages(self, corpus: Corpus) -> list[str]:
        """The languages that the user's folder of a corpus's source has."""
        source = corpus.source or ""
        return folder_languages(self._folder(source), source)

    def _folder(self, source: str) -> str | None:
        """The folder of a user's own languages of a source."""
        return self.config["sources"].get(source, {}).get("folder")

    def corpus_settings(self, corpus: str, lang: str) -> Own:
        """A corpus table's settings besides its files, without the amount of data fetched."""
        if self.is_own_corpus(corpus):
            return self._own(corpus, lang)
        source, benchmark = CORPORA[corpus].source, CORPORA[corpus].benchmark
        if benchmark and (settings := self.benchmark(benchmark).plan.corpus_settings):
            return settings(self.settings(benchmark), lang)
        own = not_affecting(f"sources.{source}", self.config["sources"].get(source, {}), "files")
        drawn = source in ("mmarco", "wikipedia")  # passages
        return {**own, "seed": self.config["run"]["seed"]} if drawn else own

    def corpus_reader(self, corpus: str) -> str:
        """The name of the module in needlework/data/corpora that reads a corpus."""
        return "data.corpora.tabular" if self.is_own_corpus(corpus) else CORPORA[corpus].reader

    # Retrieval

    def search(self, benchmark: str, lang: str) -> Search:
        """How a benchmark finds its distractors in a language."""
        search = self.benchmark(benchmark).plan.search
        assert search is not None, f"{benchmark} has no distractors"
        return search(self.settings(benchmark), lang)

    def embedder_settings(self, embedder: str) -> dict[str, Any]:
        """The settings of an embedder on which its vectors depend."""
        return not_affecting("embedders", self.config["embedders"][embedder], "speed")

    def search_gpus(self, retrieval: str) -> int:
        """The number of GPUs of a search; 0 for a random choice."""
        return int(retrieval == "semantic" and self.config["retrieval"]["device"] == "gpu")

    # Instances

    def slices(self, benchmark: str) -> list[str]:
        """The names of a benchmark's slices: a file of instances each."""
        return list(self.benchmark(benchmark).plan.slices(self.settings(benchmark)))

    @property
    def tokenizers(self) -> list[str]:
        """The tokenizers in which this run's prompts are built."""
        run = self.config["run"]
        return list(dict.fromkeys([*map(self.tokenizer, run["models"]), *run["tokenizers"]]))

    def tokenizer(self, model: str) -> str:
        """The name of the tokenizer in which a model's prompts are measured."""
        return self.config["models"][model]["tokenizer"]

    def baselines(self, benchmark: str) -> list[str]:
        """The smallest slices that name every question that is asked."""
        return self.benchmark(benchmark).plan.baseline_slices(self.settings(benchmark))

    def slice_settings(self, benchmark: str, tokenizer: str, name: str) -> SliceSettings:
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
        return self.benchmark(benchmark).plan.settings(
            self.settings(benchmark), name, sorted(lengths)
        )

    def slice_tables(self, benchmark: str, tokenizer: str, name: str) -> dict[str, list[str]]:
        """The tables ("corpus/language") that a slice is built from, by the benchmark's names."""
        reads = self.benchmark(benchmark).plan.reads
        slice_settings = self.slice_settings(benchmark, tokenizer, name)
        return {kind: _tables(pairs) for kind, pairs in reads(slice_settings).items()}

    def slice_searches(self, benchmark: str, tokenizer: str, name: str) -> list[str]:
        """The languages whose distractors a slice has."""
        slice_settings = self.slice_settings(benchmark, tokenizer, name)
        return list(self.benchmark(benchmark).plan.searches(slice_settings))

    def quoted(self, benchmark: str) -> list[str]:
        """All tables ("corpus/language") that a benchmark's prompts can refer to."""
        return _tables(self.benchmark(benchmark).plan.quotes(self.settings(benchmark)))

    def templates(self, benchmark: str) -> list[str]:
        """The benchmark's prompt templates."""
        return sorted(str(path) for path in Path(resource(f"prompts/{benchmark}")).glob("*.txt"))

    # Models

    def model_settings(self, model: str) -> dict[str, Any]:
        """The settings that a model's answers depend on."""
        entry = self.config["models"][model]
        settings = affecting("models", entry, "answers")
        return settings | {"engine": answer_arguments(entry["engine"])}

    def answer_shards(self, model: str) -> list[str]:
        """The names of the parts into which a model's requests are cut."""
        n = self.config["models"][model]["shards"]
        return [f"{i}-of-{n}" for i in range(n)]

    def books(self, benchmark: str) -> dict[str, list[str]]:
        """The text files that a benchmark's prompts are cut from, by language."""
        quoted = self.benchmark(benchmark).plan.quotes(self.settings(benchmark))
        return {
            lang: [file for file in self.corpus_sources(corpus, lang) if file.endswith(".txt")]
            for corpus, lang in quoted
        }

    # Translation

    def translated(self, benchmark: str) -> bool:
        """Whether a benchmark's answers are scored in English too."""
        return self.benchmark(benchmark).scoring.translated(self.settings(benchmark))

    def scoring_files(self, benchmark: str) -> dict[str, list[str]]:
        """The resources that a benchmark's scorer reads, by its arguments."""
        files = self.benchmark(benchmark).scoring.scoring_files
        return {name: [resource(path)] for name, path in files.items()}

    def scoring_tables(self, benchmark: str) -> dict[str, list[str]]:
        """The tables ("corpus/language") that a benchmark's scorer reads, by its arguments."""
        read = self.benchmark(benchmark).scoring.scores_read
        return {read: self.quoted(benchmark)} if read else {}

    def scored_by(self, benchmark: str) -> list[str]:
        """The columns of instances that scores are made of and keep, or are made of alone."""
        own = self.benchmark(benchmark)
        return [*own.columns, *own.scoring.scored_by]

    def scoring_settings(self, benchmark: str) -> dict[str, Any]:
        """The settings that a benchmark's scores depend on besides prompts and answers."""
        return affecting(f"benchmarks.{benchmark}", self.settings(benchmark), "scores")

    def metrics_beside(self, benchmark: str) -> list[str]:
        """The metrics that are in the scores only: no result shows them."""
        chosen = self.settings(benchmark).get("metric")
        return [metric for metric in self.benchmark(benchmark).scoring.beside if metric != chosen]

    @property
    def translator(self) -> dict[str, Any]:
        """The entry of the translator that this run uses."""
        return self.config["translators"][self.config["translation"]["translator"]]

    @property
    def translator_settings(self) -> dict[str, Any]:
        """The settings of a translator on which its translations depend."""
        return not_affecting("translators", self.translator, "place", "nothing", "speed")

    # Results

    def run_settings(self, benchmark: str, needs: Needs) -> Run:
        """The facts on a run that results of such rows need.

        Results of ceilings and printed numbers need only the data.

        How models decode matters to their scores alone.
        """
        said = {"data": self.data(benchmark)}
        if needs in ("ceilings", "published"):
            return said
        models, own = self.config["run"]["models"], self.benchmark(benchmark)
        entries = {model: self.config["models"][model] for model in models}
        settings: dict[str, Any] = {
            **said,
            "models": models,
            "published": {m: e["published"] for m, e in entries.items() if e["published"]},
            "setup": {name: self._value(place) for name, place in own.run.setup.items()},
            "unit_of_length": self.unit_of_length,
            "scored_by": self.settings(benchmark).get("metric", ""),
            **own.run.run_settings(self.config),
        }
        if needs == "scores":
            settings["decoding"] = {m: decoding(e) for m, e in entries.items()}
            in_tokens = own.plan.spare(self.settings(benchmark)) is not None
            settings["added"] = {
                model: added(
                    entry,
                    self.config["tokenizers"][entry["tokenizer"]],
                    lengths_of(self.config, model, benchmark) if in_tokens else [],
                )
                for model, entry in entries.items()
            }
            settings["controls"] = [m for m, e in entries.items() if e["backend"] in CONTROLS]
            settings |= {"asked": self.asked(benchmark), "counted": self.counted(benchmark)}
        return settings

    @property
    def unit_of_length(self) -> str:
        """The unit of prompt lengths: "words" if all of the run's tokenizers count words, or "tokens"."""
        config = self.config
        names = {config["models"][model]["tokenizer"] for model in config["run"]["models"]}
        kinds = {config["tokenizers"][name]["kind"] for name in names}
        return "words" if kinds == {"words"} else "tokens"

    def asked(self, benchmark: str) -> str:
        """A description of the models that were asked a part of a benchmark's prompts, and of these parts."""
        models = self.config["run"]["models"]
        return in_words({model: only_of(self.config, model, benchmark) for model in models})

    def data(self, benchmark: str) -> str:
        """Descriptions of the data of a benchmark's prompts and of the paper's; "" if they are the same."""
        ours, theirs = self.benchmark(benchmark).run.data(self.settings(benchmark))
        return "" if ours == theirs else f"This run: {ours}. The paper: {theirs}."

    def counted(self, benchmark: str) -> str:
        """A description of the models in a benchmark's means, and of the controls that are in none."""
        config, models = self.config, self.config["run"]["models"]
        models = [m for m in models if not asks_nothing(only_of(config, m, benchmark))]
        left = [m for m in models if self.config["models"][m]["backend"] in CONTROLS]
        there = [m for m in models if m not in left] or left
        but = f", without the controls ({', '.join(left)})" if left and there != left else ""
        names = ", ".join(there) if len(there) <= MOST_NAMED else f"{len(there)} models"
        return f"Means over models are over {names}{but}."

    def caption(self, benchmark: str, result: Result) -> str:
        """A result's caption, its metric, and what models were asked (reStructuredText).

        The last is in a figure's small print.
        """
        run = {"counted": self.counted(benchmark)}
        if result.needs == "scores":
            asked = "" if result.kind == "figures" else self.asked(benchmark)
            run = {**self.run_settings(benchmark, "scores"), "data": "", "asked": asked}
        said = told(result, run)
        return f"{result.full_caption} {said.replace('_', chr(92) + '_')}".strip()

    def _value(self, place: str) -> Any:
        """The value at a place of the configuration, lists sorted. `embedder` and `translator` are the
        names or kinds of those that this run uses."""
        if place == "embedder":
            embedder = self.config["embedders"][self.config["retrieval"]["embedder"]]
            return embedder.get("name", embedder["kind"])
        if place == "translator":
            return self.translator["kind"]
        value: Any = self.config
        for key in place.split("."):
            value = value[key]
        return sorted(value) if isinstance(value, list) else value

    def published(self, benchmark: str) -> list[str]:
        """The file of the paper's numbers, if the benchmark has any."""
        path = resource(f"published/{benchmark}.csv")
        return [path] if Path(path).is_file() else []

    @property
    def text_tokenizer(self) -> str:
        """The tokenizer whose prompts are the texts that are counted in all tokenizers."""
        run = self.config["run"]
        return run["tokenizers"][0] if run["tokenizers"] else self.tokenizer(run["models"][0])

    def results(self, benchmark: str) -> list[Result]:
        """The results that this configuration fills: one tokenizer is not compared."""
        found = self.benchmark(benchmark).filled(self.config)
        several = len(self.tokenizers) > 1
        return [result for result in found if several or result.needs != "token_counts"]

    def results_by_needs(self, benchmark: str) -> dict[Needs, list[Result]]:
        """The results that this configuration fills, by their input (`Result.needs`)."""
        found: dict[Needs, list[Result]] = {}
        for result in self.results(benchmark):
            found.setdefault(result.needs, []).append(result)
        return found

    def ran(self, config_files: Iterable[str | Path], values: Iterable[str]) -> dict[str, Any]:
        """A description of the run: configuration, models, readers and data.

        config_files, values: of the command line, the latter the keys of --config.
        """
        run = self.config["run"]
        entries = {name: self.config["models"][name] for name in run["models"]}
        return {
            "files": [
                *([_plain_name(file) for file in config_files] or ["config.yaml, the demo's"]),
                *(f"{key} of --config" for key in values),
            ],
            "models": {
                name: f"{_model_words(entries[name])}{self._not_asked(name)}"
                for name in self.card_models()
            },
            "readers": self.readers(),
            "notice": run["notice"],
            "data": {
                self.benchmark(name).title: self.benchmark(name).run.data(self.settings(name))[0]
                for name in run["benchmarks"]
            },
        }

    def _not_asked(self, model: str) -> str:
        """The benchmarks of the run of which a model is asked nothing, in words."""
        left = [
            self.benchmark(name).title
            for name in self.config["run"]["benchmarks"]
            if asks_nothing(only_of(self.config, model, name))
        ]
        return f"; not asked: {', '.join(left)}" if left else ""

    def readers(self) -> dict[str, str]:
        """The backends of the run's built-in readers, by name."""
        backends = {n: self.config["models"][n]["backend"] for n in self.config["run"]["models"]}
        return {name: backend for name, backend in backends.items() if backend in READERS}

    def card_models(self) -> list[str]:
        """The models that have a report card: all but built-in readers."""
        readers = self.readers()
        return [name for name in self.config["run"]["models"] if name not in readers]

    def unfilled(self) -> dict[str, str]:
        """The results, as targets, that this configuration leaves empty, and what fills them."""
        found, run = {}, self.config["run"]["benchmarks"]
        for benchmark in self.config["benchmarks"]:
            filled = self.results(benchmark) if benchmark in run else []
            for result in self.benchmark(benchmark).results:
                if result in filled:
                    continue
                if benchmark not in run:
                    remedy = f"add {benchmark} to run.benchmarks"
                elif result.needs == "token_counts":
                    remedy = "it compares tokenizers, so name a second one in run.tokenizers"
                else:
                    remedy = _remedy(self.benchmark(benchmark), result, self.config)
                found[f"{benchmark}_{result.name}"] = f"{result.label}: {remedy}."
        return found


def _remedy(benchmark: Benchmark, result: Result, config: Config) -> str:
    """The keys and values that fill a result."""
    keys: dict[str, str] = {}
    for condition in benchmark.unmet(result, config):
        keys |= benchmark.run.filled_by.get(condition, {})
    if not keys:
        return f"benchmarks.{benchmark.name} builds no prompts for it (docs/configuration.md)"
    return f"set {' and '.join(f'`{key}: {value}`' for key, value in keys.items())}"


def _plain_name(path: str | Path) -> str:
    """A path within the repository; of another file the name alone, as where it lies may be private."""
    file = Path(path).absolute()
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else file.name


def _model_words(entry: Mapping[str, Any]) -> str:
    """What a model is, in words: its name, without a folder of this machine, its revision and its backend."""
    name = str(entry.get("name") or "")
    name = Path(name).name if name.startswith(("/", "~", "package:")) else name
    revision = str(entry.get("revision") or "")
    named = f"{name} at {revision[:10]}" if revision else name
    return ", ".join(filter(None, [named, str(entry["backend"])]))


def _tables(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{corpus}/{lang}" for corpus, lang in pairs]


# Backends and kinds that run a neural network: on a GPU if there is one, unless `device` is the CPU.
_NEURAL = {"vllm", "transformers", "sentence-transformers", "nllb"}
# Backends that run one without an NVIDIA GPU, which is what Snakemake's resource `gpu` counts.
_ON_PROCESSORS = {"openvino"}
# CPU cores for a network without a GPU; more make it little faster. Snakemake lowers it to `--cores`.
CPU_THREADS = 16


def job_gpus(entry: Mapping[str, Any]) -> int:
    """How many GPUs the job of a model, an embedder or a translator asks for."""
    kind = entry.get("backend") or entry["kind"]
    if kind == "vllm":
        return gpus(entry["engine"])
    return int(kind in _NEURAL and entry["device"] != "cpu")


def job_threads(entry: Mapping[str, Any]) -> int:
    """How many CPU cores such a job asks for: one if it runs no neural network.

    With GPUs, cores load the weights, tokenize texts, and feed each GPU.
    """
    kind = entry.get("backend") or entry["kind"]
    if kind not in _NEURAL | _ON_PROCESSORS:
        return 1
    own = job_gpus(entry)
    return 4 + 2 * own if own else CPU_THREADS
