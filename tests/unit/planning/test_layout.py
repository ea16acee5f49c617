"""Which files and settings each step needs: all that it reads, and nothing that it does not."""

from __future__ import annotations

import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import preset_runs
from factories import demo_run
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.data.corpora.registry import CORPORA, languages_of
from needlework.planning.affects import numbers_digest, shown_digest
from needlework.planning.config import validated
from needlework.planning.job_resources import CPU_THREADS, job_gpus, job_threads
from needlework.planning.json_schema import schema
from needlework.planning.layout import resource
from needlework.planning.rule_inputs import RuleInputs
from needlework.results.result import told

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = demo_run(run={"benchmarks": ["mlneedle"]})


@pytest.fixture
def config() -> dict[str, Any]:
    """Three languages of the real corpora, two tokenizers, models with lengths of their own."""
    config = copy.deepcopy(DEFAULT)
    config["tokenizers"]["characters"] = {"kind": "characters"}
    entry = {"backend": "lexical", "tokenizer": "words", "context": 40000}
    config["models"] |= {
        "short": entry | {"lengths": [1024]},
        "long": entry | {"lengths": [4096, 2048]},
        "other": entry | {"tokenizer": "characters"},
        "replayed": entry | {"backend": "replay", "answers": "answers.jsonl", "lengths": [1024]},
        "absent": entry | {"lengths": [8192]},
    }
    config["run"]["models"] = ["short", "long", "other", "replayed"]
    config["benchmarks"]["mlneedle"] = {
        **{"needles": "mlqa", "haystack": "mmarco", "needle_languages": ["en", "de"]},
        **{"haystack_languages": ["en", "hi", "multilingual"], "multilingual": ["hi", "zh"]},
        **{"answer_languages": ["en", "de", "es"], "lengths": [1024, 2048, 4096, 8192]},
    }
    return config


@pytest.fixture
def files(config: dict[str, Any]) -> RuleInputs:
    return RuleInputs(validated(config))


def tables(corpus: str, *languages: str) -> list[str]:
    return [f"{corpus}/{lang}" for lang in languages]


def test_every_corpus_has_a_reader_sources_and_languages(files) -> None:
    assert files.corpora.sources("mlqa", "de") == ["results/sources/mlqa/MLQA_V1.zip"]
    (german,) = files.corpora.sources("mmarco", "de")
    assert german.startswith("results/sources/mmarco/") and "german" in german
    assert files.corpora.sources("mmarco", "hi") != [german]
    assert files.corpora.source_entry("mlqa/MLQA_V1.zip")["id"] == "mlqa/MLQA_V1.zip"
    found = files.corpora.sources("sample_questions", "de")
    assert found == sorted(found) and len(found) == len([*ROOT.glob("resources/sample/*.json")])
    assert files.corpora.corpus_reader("sample_questions") == "data.corpora.sample"
    own = schema()["properties"]["benchmarks"]["properties"]["mlneedle"]["properties"]
    assert own["needles"]["enum"] == ["mlqa", "xquad", "sample_questions"]
    assert own["haystack"]["enum"] == ["xquad_paragraphs", "mmarco", "sample_passages"]
    for corpus in CORPORA:
        assert callable(import_module(f"needlework.{files.corpora.corpus_reader(corpus)}").table)
        assert languages_of(corpus)
        # The files of `m4le_constructed` are in a user's folder.
        for lang in languages_of(corpus) if corpus != "m4le_constructed" else ():
            packaged = lang in CORPORA[corpus].packaged
            assert bool(files.corpora.sources(corpus, lang)) != packaged


def test_how_much_was_fetched_changes_no_corpus(config: dict[str, Any]) -> None:
    config["sources"] = {"mmarco": {"prefix_mb": 5, "pool": 70, "passages": 60}}
    config["run"]["seed"] = 2
    found = RuleInputs(validated(config)).corpora.corpus_settings("mmarco", "en")
    assert found == {"pool": 70, "passages": 60, "seed": 2}


def test_resources_are_named_from_where_the_workflow_runs(tmp_path: Path, monkeypatch) -> None:
    """A clone with the results of another one has the same inputs as it."""
    monkeypatch.chdir(ROOT)
    assert resource("sources.yaml") == "resources/sources.yaml"
    monkeypatch.chdir(tmp_path)
    assert resource("sources.yaml") == str(ROOT / "resources/sources.yaml")


def test_searches_slices_and_documents_follow_the_languages(files) -> None:
    search = files.retrieval.search("mlneedle", "hi")
    assert (search.haystack, search.needles, search.question_lang) == ("mmarco", "mlqa", "en")
    assert set(search.answer_languages) == {"en", "de", "es"}

    def lengths(tokenizer: str) -> list[int]:
        return files.prompts.slice_settings("mlneedle", tokenizer, "en-hi")["lengths"]

    # Not 8192, which only a model wants that does not run.
    assert lengths("words") == [1024, 2048, 4096]
    assert lengths("characters") == [1024, 2048, 4096, 8192]
    names = [f"{n}-{h}" for n in ("en", "de") for h in ("en", "hi", "multilingual", "none")]
    assert files.prompts.tokenizer("other") == "characters"
    assert files.prompts.slices("mlneedle") == names
    assert set(files.prompts.baselines("mlneedle")) == {"en-none", "de-none"}
    quoted = tables("mlqa", "en", "de") + tables("mmarco", "en", "hi", "zh")
    assert files.prompts.quoted("mlneedle") == quoted


def test_only_what_runs_on_a_gpu_takes_one_and_cores(config: dict[str, Any]) -> None:
    for device, semantic in (("cpu", 0), ("gpu", 1)):
        config["retrieval"]["device"] = device
        files = RuleInputs(validated(config))
        assert [*map(files.retrieval.search_gpus, ("semantic", "random"))] == [semantic, 0]
    config["embedders"] |= {"slow": config["embedders"]["mpnet"] | {"device": "cpu"}}
    files = RuleInputs(validated(config))
    entries = [files.config["embedders"][name] for name in ("ngram", "mpnet", "slow")]
    assert [*map(job_gpus, entries)] == [0, 1, 0]
    assert [*map(job_threads, entries)] == [1, 6, CPU_THREADS]


def test_a_slice_reads_what_its_languages_need(files: RuleInputs) -> None:
    def inputs(name: str) -> tuple[dict[str, list[str]], list[str]]:
        named = ("mlneedle", "words", name)
        return files.prompts.slice_tables(*named), files.prompts.slice_searches(*named)

    found, searches = inputs("de-hi")
    assert found["questions"] == tables("mlqa", "de", "en", "es")
    assert found["passages"] == tables("mmarco", "hi")
    assert searches == ["hi"]
    names = [Path(path).stem for path in files.prompts.templates("mlneedle")]
    assert names == ["closed_book", "exact", "existence"]

    found, searches = inputs("en-multilingual")
    assert found["passages"] == tables("mmarco", "hi", "zh")
    assert searches == ["hi", "zh"]

    found, searches = inputs("en-none")
    assert found["passages"] == searches == []


def test_names_and_selections_do_not_invalidate_answers(config: dict[str, Any]) -> None:
    before = RuleInputs(validated(config)).answers.model_settings("long")
    assert {"backend", "context", "samples", "sampling", "max_failed", "answers"} <= set(before)
    config["models"]["long"] |= {"lengths": [2048], "published": "A", "tokenizer": "characters"}
    assert RuleInputs(validated(config)).answers.model_settings("long") == before
    config["models"]["long"]["sampling"] = {"temperature": 0}
    assert RuleInputs(validated(config)).answers.model_settings("long") != before


@pytest.mark.parametrize(
    ("entry", "gpus", "threads"),
    [
        ({"backend": "lexical"}, 0, 1),
        ({"backend": "openai", "name": "a/model"}, 0, 1),
        ({"backend": "transformers", "name": "a/model"}, 1, 6),
        ({"backend": "transformers", "name": "a/model", "device": "cuda:1"}, 1, 6),
        ({"backend": "transformers", "name": "a/model", "device": "cpu"}, 0, CPU_THREADS),
        ({"backend": "vllm", "name": "a/model", "engine": {"tensor_parallel_size": 4}}, 4, 12),
    ],
)
def test_a_model_has_cores_for_its_gpus(config, entry, gpus, threads) -> None:
    config["models"]["mine"] = {"tokenizer": "words", "context": 40000} | entry
    files = RuleInputs(validated(config))
    mine = files.config["models"]["mine"]
    assert (job_gpus(mine), job_threads(mine)) == (gpus, threads)
    assert "device" not in files.answers.model_settings("mine")


NLLB = {"kind": "nllb", "name": "a/model", "revision": "1"}
LLM = {"kind": "llm", "name": "a/model", "base_url": "http://localhost/v1"}


def translated(config: dict[str, Any], entry: dict[str, Any]) -> RuleInputs:
    config["translators"] = {"mine": entry}
    config["translation"] = {"translator": "mine"}
    return RuleInputs(validated(config))


@pytest.mark.parametrize(
    ("entry", "gpus", "threads"),
    [
        *(({"kind": "none"}, 0, 1), ({"kind": "google"}, 0, 1), (LLM, 0, 1), (NLLB, 1, 6)),
        (NLLB | {"device": "cpu"}, 0, CPU_THREADS),
    ],
)
def test_only_a_translator_that_runs_here_takes_gpus_and_cores(config, entry, gpus, threads):
    files = translated(config, entry)
    assert files.scores.translator.kind == entry["kind"]
    assert [f(files.scores.translator) for f in (job_gpus, job_threads)] == [gpus, threads]


@pytest.mark.parametrize(
    ("entry", "without_effect", "with_effect"),
    [
        (NLLB, {"device": "cpu"}, {"revision": "2"}),
        (LLM, {"key_env": "MY_KEY", "base_url": "https://elsewhere/v1"}, {"name": "another"}),
        ({"kind": "google"}, {"key_env": "MY_KEY", "base_url": "https://elsewhere"}, LLM),
    ],
)
def test_what_changes_no_translation_is_no_part_of_it(config, entry, without_effect, with_effect):
    before = translated(config, entry).scores.translator_settings
    assert translated(config, entry | without_effect).scores.translator_settings == before
    assert translated(config, entry | with_effect).scores.translator_settings != before
    assert before["kind"] == entry["kind"]


def test_the_results_are_the_tables_and_figures_of_the_paper(files: RuleInputs) -> None:
    """Those of pairs only where the configuration names some: the demo's readers are none."""
    found = [result.name for result in files.results.filled("mlneedle")]
    pairs = {"instruction_tuning": [["empty", "lexical"]], "decoding": [["lexical", "oracle"]]}
    config = copy.deepcopy(DEFAULT)
    config["benchmarks"]["mlneedle"]["comparisons"] = pairs
    more = [result.name for result in RuleInputs(validated(config)).results.filled("mlneedle")]
    assert {f"table{n}" for n in (1, 2)} <= set(found)
    assert {f"figure{n}" for n in (1, 3, 4, 5, 6, 7)} <= set(found)
    assert set(more) - set(found) == {"table3", "table4", "figure8"}
    remedy = "set `benchmarks.mlneedle.comparisons.decoding: [[<model>, <model>]]`."
    assert files.results.unfilled()["mlneedle_figure8"].endswith(remedy)
    assert len(set(found)) == len(found)
    assert all(Path(path).is_file() for path in files.facts.published("mlneedle"))
    assert files.facts.published("mlneedle")
    for name in files.prompts.templates("mlneedle"):
        assert Path(name).is_file()


def both() -> dict[str, Any]:
    """Two tokenizers, two benchmarks, and a model that can sample."""
    config = copy.deepcopy(DEFAULT)
    config["tokenizers"]["characters"] = {"kind": "characters"}
    config["run"] |= {"models": ["lexical"], "benchmarks": ["mlneedle", "oneruler"]}
    config["run"]["tokenizers"] = ["words", "characters"]
    config["models"]["lexical"] = {"backend": "lexical", "tokenizer": "words", "context": 40000}
    return config


def jobs_of(config: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """What the jobs of a configuration's results depend on, by benchmark and rows."""
    layout = RuleInputs(validated(config))
    facts = layout.facts
    return {
        (name, needs): (facts.run_settings(name, needs), numbers_digest(name), shown_digest(name))
        for name in config["run"]["benchmarks"]
        for needs in layout.results.by_needs(name)
    }


def changed(config: dict[str, Any]) -> set[tuple[str, str]]:
    before, after = jobs_of(both()), jobs_of(config)
    assert before.keys() == after.keys()
    return {job for job in before if before[job] != after[job]}


def test_results_are_made_of_what_changed() -> None:
    warm = both()
    warm["models"]["lexical"]["sampling"] = {"temperature": 0.3}
    counted = {("oneruler", "token_counts"), ("oneruler", "books"), ("mlneedle", "ceilings")}
    assert counted < jobs_of(warm).keys()
    assert changed(warm) == {("mlneedle", "scores"), ("oneruler", "scores")}
    other = both()
    other["benchmarks"]["oneruler"]["multiquery_needles"] = 4
    assert {name for name, _ in changed(other)} == {"oneruler"}
    other = both()
    other["benchmarks"]["mlneedle"]["lengths"] = [512]
    assert "oneruler" not in {name for name, _ in changed(other)}


def test_a_phrase_for_none_is_an_input_of_scoring_alone() -> None:
    """It once rebuilt prompts and ran generation again."""
    config = demo_run()
    layout = RuleInputs(validated(config))
    phrases, prompts = [resource("oneruler/none_phrases.yaml")], layout.prompts
    assert layout.scores.scoring_files("oneruler") == {"phrases": phrases}
    tables = [prompts.slice_tables("oneruler", "words", n) for n in prompts.slices("oneruler")]
    assert "phrases" not in str(tables)
    assert not layout.scores.scoring_files("mlneedle")


def test_data_of_both_sides_stand_once_and_in_no_caption() -> None:
    """Captions say the models of means over models: no controls, none that is asked nothing."""
    own = {"run": {"models": ["smollm2", "lexical", "oracle"], "benchmarks": ["oneruler", "m4le"]}}
    files = RuleInputs(validated({**DEFAULT, **own}))
    results = load_benchmark("oneruler").by_name
    said = {n: files.facts.caption("oneruler", results[n]) for n in ("figure4b", "accuracy")}
    examples = files.prompts.settings("oneruler")["examples"]
    data = f"This run: the embedded sample, {examples} examples per cell. The paper: oneruler, 50 "
    counted = "Means over models are over lexical, without the controls (oracle)."
    assert files.facts.data("oneruler").startswith(data)
    assert not any("This run:" in caption for caption in said.values())
    assert counted in said["figure4b"] and "Means over" not in said["accuracy"]
    assert files.facts.run_settings("oneruler", "scores")["data"].startswith(data)
    asked_nothing = "; not asked: ONERULER, M4LE"
    assert files.pages.ran([], {})["models"]["smollm2"].endswith(asked_nothing)


@pytest.mark.parametrize("name", names())
def test_what_scores_make_names_its_metric(name: str) -> None:
    """In captions and below tables and figures; a table of several metrics has a column of them."""
    keys = schema()["properties"]["benchmarks"]["properties"][name]["properties"]
    for metric in keys["metric"]["enum"]:
        run = {"models": ["lexical"], "benchmarks": [name]}
        own = {"run": run, "benchmarks": {name: {"metric": metric}}}
        files = RuleInputs(validated({**DEFAULT, **own}))
        facts = files.facts.run_settings(name, "scores")
        for result in load_benchmark(name).results:
            grids = [] if result.kind == "figures" else result.shown
            columns = {factor.name for grid in grids for factor in (*grid.rows, *grid.columns)}
            said = [files.facts.caption(name, result).replace("\\", ""), told(result, facts)]
            chosen = result.by_metric in (True, metric)
            by_metric = result.needs == "scores" and chosen and "metric" not in columns
            assert all((f"Metric: {metric}" in text) == by_metric for text in said), result.name
            papers = f"{said} {result.full_caption} {result.shown}".casefold()
            assert metric == "containment" or "exact accuracy" not in papers


def test_a_preset_has_the_papers_data() -> None:
    for benchmark in ("mlneedle", "lost_in_the_middle", "oneruler", "mlongrr", "m4le"):
        assert preset_runs.layout(benchmark).facts.data(benchmark) == ""
        assert "the embedded sample" in RuleInputs(validated(DEFAULT)).facts.data(benchmark)
