"""What descriptions of benchmarks promise: all that is made of them, and what makes which job anew."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import factories.mlneedle
import golden_runs
from needlework import codedigest
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names, part_file
from needlework.data.corpora import registry
from needlework.data.corpora.corpus import Corpus
from needlework.given import given
from needlework.planning.affects import affecting
from needlework.planning.config import validated
from needlework.planning.inputs import results
from needlework.planning.json_schema import schema
from needlework.planning.rule_inputs import RuleInputs
from needlework.results import published as publications
from needlework.results.drawing import draw
from needlework.results.result import Context, without_incomparable
from needlework.results.written_tables import html_table, lay_out

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
EACH = pytest.mark.parametrize(
    "benchmark",
    [
        pytest.param(load_benchmark(name), id=name, marks=pytest.mark.xdist_group(f"golden-{name}"))
        for name in names()
    ],
)


@pytest.fixture
def files() -> RuleInputs:
    return RuleInputs(validated(DEFAULT))


def closure(script: str, *modules: str) -> set[str]:
    found = codedigest.import_closure(script, *modules)
    return {path.relative_to(SCRIPTS).as_posix() for path in found}


@EACH
def test_results_are_described_once_under_known_conditions(benchmark) -> None:
    results = benchmark.results
    for texts in ([one.name for one in results], [one.full_caption for one in results],
                  [one.label for one in results]):  # fmt: skip
        assert all(text.strip() for text in texts)
        assert len(set(texts)) == len(texts)
    wanted = {name for result in results for name in result.when}
    assert wanted <= set(benchmark.run.conditions(given(validated(DEFAULT))))
    own = (f"needlework.benchmarks.{benchmark.name}.", "needlework.results.answer_languages")
    for result in results:
        assert result.numbers.__module__.startswith(own)
        assert result.numbers.__name__ == result.name and result.caption and result.title


CONDITIONS = [
    (name, condition)
    for name in names()
    for condition in sorted({c for r in load_benchmark(name).results for c in r.when})
]


@pytest.mark.parametrize(("name", "condition"), CONDITIONS)
def test_keys_that_a_refusal_names_fill_the_result(
    name: str, condition: str, tmp_path: Path, mirror: Path
) -> None:
    """Laid over the default configuration they make the condition hold."""
    questions = tmp_path / "questions.txt"
    questions.write_text("who got the first nobel prize in physics\n", "utf-8")
    user = {
        "<model>": "lexical",
        "<your languages>": "de, es, hi, vi, zh, ar",
        "<same in cl100k_base>": "other",
        "<file>": str(questions),
        "<folder>": f"{mirror}/m4le/raw_data",
    }
    benchmark, changed = load_benchmark(name), copy.deepcopy(DEFAULT)
    changed["run"] |= {"models": ["lexical", "other"], "benchmarks": [name]}
    changed["tokenizers"]["cl100k_base"] = {"kind": "tiktoken", "encoding": "cl100k_base"}
    changed["models"]["other"] = {**changed["models"]["lexical"], "tokenizer": "cl100k_base"}
    changed.setdefault("benchmarks", {}).setdefault("m4le", {})["skip_missing"] = True
    for key, value in benchmark.run.filled_by[condition].items():
        for placeholder, own in user.items():
            key, value = key.replace(placeholder, own), value.replace(placeholder, own)
        *path, last = key.split(".")
        block = changed
        for part in path:
            block = block.setdefault(part, {})
        block[last] = yaml.safe_load(value)
    if (mine := changed["models"]["lexical"])["backend"] != "lexical":
        mine["name"] = "anthropic/mine" if mine["backend"] == "inspect" else "mine"
    assert benchmark.run.conditions(given(validated(changed)))[condition]


BARE = """
import sys
sys.path.append("workflow/scripts")
import needlework.planning.layout
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names, part_file
assert len([load_benchmark(name) for name in names()]) > 2
loaded = {"numpy", "pandas", "pyarrow", "matplotlib"} & set(sys.modules)
assert not loaded, loaded
"""


def test_descriptions_import_no_package_of_the_jobs() -> None:
    done = subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# What holds for every table of every benchmark, on the rows of its golden run


def of_scores(benchmark) -> list[str]:
    return [result.name for result in benchmark.results if result.needs == "scores"]


@EACH
def test_numbers_do_not_depend_on_the_order_of_rows(benchmark) -> None:
    """As the scripts read them: one file a model, each with its own index."""
    models = golden_runs.scores(benchmark.name).groupby("model", sort=False)
    parts = [part.sample(frac=1, random_state=1).reset_index(drop=True) for _, part in models]
    shuffled = pd.concat(reversed(parts))
    for name in of_scores(benchmark):
        found = golden_runs.changed(benchmark.name, name, shuffled).reset_index(drop=True)
        expected = golden_runs.table(benchmark.name, name).reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected, obj=name)


def ours_of(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["source"] == "ours"] if "source" in table else table


@EACH
def test_every_mean_lies_within_its_interval_and_bounds(benchmark) -> None:
    """Of some answers, or of none that are told; a run without scores has no number of ours."""
    none = golden_runs.scores(benchmark.name).iloc[:0]
    for name in of_scores(benchmark):
        assert ours_of(golden_runs.changed(benchmark.name, name, none))["n"].eq(0).all(), name
        ours = ours_of(golden_runs.table(benchmark.name, name))
        lost = ours[[column for column in ("n_skipped", "n_error") if column in ours]].sum(axis=1)
        told = ours["absent"].ne("") if "absent" in ours else False
        assert ((ours["n"] + lost > 0) | told).all(), name
        for low, high in (("ci_low", "ci_high"), ("lowest", "highest")):
            if {low, high, "value"} <= set(ours):
                known = ours[["value", low, high]].dropna()
                assert (known[low] <= known["value"] + 1e-9).all(), (name, low)
                assert (known["value"] <= known[high] + 1e-9).all(), (name, high)


# One more of each, by description alone


@pytest.mark.parametrize("like", ["table1", "figure1"])
def test_a_further_result_gives_every_output(like, files, monkeypatch, tmp_path) -> None:
    own = load_benchmark("mlneedle")
    more = replace(own.by_name[like], name="further", title="A further one", caption="Further.")
    added = replace(own, results=(*own.results, more))
    known = {"mlneedle": added}
    monkeypatch.setattr(results, "load_benchmark", lambda n: known.get(n) or load_benchmark(n))
    assert set(more.endings) == (
        {"svg", "pdf", "png", "txt"} if more.kind == "figures" else {"tex", "html"}
    )
    assert more in files.results.filled("mlneedle")
    assert more in files.results.by_needs("mlneedle")["scores"]
    assert more.label.lower().endswith("a further one")
    files.config["run"]["benchmarks"] = ["oneruler"]
    assert "mlneedle_further" in files.results.unfilled()

    paper = publications.load(ROOT / "resources/published/mlneedle.csv")
    run = {"unit_of_length": "words", **factories.mlneedle.SETTINGS}
    scores = factories.mlneedle.make(("mistral", "llama3"), questions=2)
    numbers = added.by_name["further"](scores, Context(paper, run))
    assert len(numbers) > 5
    if more.kind == "figures":
        draw(more.shown, numbers, added.called, run)[0].savefig(tmp_path / "further.png")
    else:
        text = lay_out(numbers, more.shown, "mlneedle-further", more.title)
        assert "A further one" in text and "mlneedle-further" in text


def test_a_further_corpus_is_offered_and_read(files, monkeypatch) -> None:
    further = Corpus(
        "data.corpora.sample", serves=("needles",), files=("*.json",), languages=("en",)
    )
    monkeypatch.setitem(registry.CORPORA, "further", further)
    schema.cache_clear()
    try:
        own = schema()["properties"]["benchmarks"]["properties"]["mlneedle"]["properties"]
        assert "further" in own["needles"]["enum"] and "further" not in own["haystack"]["enum"]
    finally:
        monkeypatch.undo()
        schema.cache_clear()
    monkeypatch.setitem(registry.CORPORA, "further", further)
    assert registry.languages_of("further") == ("en",)
    assert files.corpora.corpus_reader("further") == "data.corpora.sample"
    assert files.corpora.sources("further", "en") == files.corpora.sources("sample_questions", "en")


# What a change makes anew


def entries():
    """(section, entry's schema) of all places whose keys say what they affect."""
    top = schema()["properties"]
    for section in ("models", "tokenizers", "embedders", "translators"):
        node = top[section]["additionalProperties"]
        for kind in node.get("oneOf", [node]):
            yield section, kind
    for section in ("benchmarks", "sources"):
        for name, node in top[section]["properties"].items():
            yield f"{section}.{name}", node


def apart(node):
    """The key that tells an entry from the others of its section, with a value of it."""
    told = {key: node["properties"].get(key, {}) for key in ("kind", "backend")}
    values = {
        key: [own["const"]] if "const" in own else own.get("enum") for key, own in told.items()
    }
    return {key: own[0] for key, own in values.items() if own}


QUIET = [
    (section, key, apart(node))
    for section, node in entries()
    for key, child in node["properties"].items()
    if child.get("affects") in ("speed", "place", "nothing")
]


def test_speed_and_places_are_no_parameters() -> None:
    for section, key, told in QUIET:
        for wanted in ("prompts", "answers", "scores", "results"):
            assert key not in affecting(section, {key: object(), **told}, wanted), (section, key)
    assert {section.split(".")[0] for section, _, _ in QUIET} >= {"models", "embedders"}


@EACH
def test_slices_depend_on_what_affects_prompts_alone(benchmark) -> None:
    own = RuleInputs(validated(DEFAULT)).prompts.settings(benchmark.name)
    node = schema()["properties"]["benchmarks"]["properties"][benchmark.name]
    usual = node.get("affects", "prompts")
    kinds = {key: child.get("affects", usual) for key, child in node["properties"].items()}
    for name in benchmark.plan.slices(own):
        for key in benchmark.plan.settings(own, name, [512]):
            assert kinds.get(key, "prompts") == "prompts", (name, key)


@EACH
def test_no_prompt_or_score_depends_on_results(benchmark) -> None:
    found = closure("build_instances.py", part_file(benchmark.name, "prompts"))
    package = f"needlework/benchmarks/{benchmark.name}"
    assert f"{package}/plan.py" in found
    others = ("results", "tables", "figures", "paper", "scoring", "checks", "none_words")
    assert not found & {f"{package}/{module}.py" for module in others}
    found |= closure("score_answers.py", part_file(benchmark.name, "scores"))
    assert not {path for path in found if "needlework/results" in path}


def test_errors_that_nobody_made_are_a_table_without_rows() -> None:
    shown = load_benchmark("oneruler").by_name["errors"].shown
    row = {"model": "reader", "source": "ours", "task": "all", "context_lang": "all"}
    row |= {"error": "lost", "n_errors": 0, "value": 0.0, "n": 1, "ci_low": 0.0, "ci_high": 0.8}
    row |= {"n_questions": 1, "n_exhausted": 0}
    table = pd.DataFrame([row | {"length": length} for length in ("long", "1000")])
    for text in (lay_out(table, shown, "errors", "Errors"), html_table(table, shown, "Errors")):
        assert shown[0].empty in text


def test_numbers_without_any_verdict_are_shown_without_the_papers() -> None:
    """A run may fill no row of a table, as of MLNeedle's pairs of models."""
    row = {"model": "m", "source": "published", "value": 0.5, "comparison": None}
    assert without_incomparable(pd.DataFrame([row])).empty
    rows = [{"model": "m", "source": one, "comparison": np.nan} for one in ("ours", "published")]
    for kind in (object, float):
        numbers = pd.DataFrame(rows).astype({"comparison": kind})
        assert without_incomparable(numbers)["source"].tolist() == ["ours"]
