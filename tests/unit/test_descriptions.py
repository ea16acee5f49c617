"""What descriptions of benchmarks promise: all that is made of them, and what makes which job anew."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import mlneedle_scores
from needlework import codedigest
from needlework.benchmarks.benchmark import load_benchmark, names
from needlework.benchmarks.result import MODEL, Measure, Result, Stack, View
from needlework.data.corpora import registry
from needlework.hooks import hook_file, load_hook
from needlework.planning.affects import affecting
from needlework.planning.config import schema, validated
from needlework.planning.digests import numbers_digest, shown_digest
from needlework.planning.layout import Layout
from needlework.results import published as publications
from needlework.results.context import Context
from needlework.results.describe import hooks_of
from needlework.results.drawing import draw
from needlework.results.latex import lay_out
from needlework.results.numbers import frame

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
ALL = [load_benchmark(name) for name in names()]
EACH = pytest.mark.parametrize("benchmark", ALL, ids=names())


@pytest.fixture
def files() -> Layout:
    return Layout(validated(DEFAULT))


def closure(script: str, *modules: str) -> set[str]:
    found = codedigest.import_closure(script, *modules)
    return {path.relative_to(SCRIPTS).as_posix() for path in found}


@EACH
def test_every_hook_is_a_function(benchmark) -> None:
    hooks = set(hooks_of(benchmark))
    assert len(hooks) > 5
    assert all(callable(load_hook(hook)) or hook == benchmark.metrics for hook in hooks)


@EACH
def test_titles_captions_and_names_are_there_once(benchmark) -> None:
    for texts in (
        [result.name for result in benchmark.results],
        [result.full_caption for result in benchmark.results],
        [result.label for result in benchmark.results],
    ):
        assert all(text.strip() for text in texts)
        assert len(set(texts)) == len(texts)
    assert all(result.title for result in benchmark.results)


@EACH
def test_conditions_of_results_are_known(benchmark) -> None:
    wanted = {name for result in benchmark.results for name in result.conditions}
    assert wanted <= set(benchmark.conditions(validated(DEFAULT)))


@EACH
def test_a_description_of_results_is_short(benchmark) -> None:
    file = SCRIPTS / f"needlework/benchmarks/{benchmark.name}/results.py"
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 350


def test_a_result_needs_what_its_views_need() -> None:
    view = View(by=(MODEL,), when=("words", "lists"))
    stack = Stack((view, view.but(when=("lists", "books"))))
    result = Result("Title", stack, "Caption.", ("endpoint",))
    assert result.conditions == ("words", "lists", "books", "endpoint")


def test_a_hook_in_a_hooks_arguments_is_found() -> None:
    hook = "needlework.results.measures:of_sums?column=n&function=needlework.hooks:load_hook"
    view = View(by=(MODEL,), measure=Measure(("value",), hook))
    assert hooks_of(view) == ["needlework.hooks:load_hook", "needlework.results.measures:of_sums"]


BARE = """
import sys
sys.path.append("workflow/scripts")
import needlework.planning.layout
from needlework.benchmarks.benchmark import load_benchmark, names
assert len([load_benchmark(name) for name in names()]) > 2
loaded = {"numpy", "pandas", "pyarrow", "matplotlib"} & set(sys.modules)
assert not loaded, loaded
"""


def test_descriptions_import_no_package_of_the_jobs() -> None:
    done = subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# One more of each, by description alone


@pytest.mark.parametrize("like", ["table1", "figure1"])
def test_a_further_result_gives_every_output(like, files, monkeypatch, tmp_path) -> None:
    own = load_benchmark("mlneedle")
    more = replace(own.by_name[like], name="further", title="A further one", caption="Further.")
    added = replace(own, results=(*own.results, more))
    monkeypatch.setattr(Layout, "benchmark", lambda self, name: added)
    assert set(more.endings) == ({"svg", "pdf", "png"} if more.kind == "figures" else {"tex"})
    assert more in files.results("mlneedle")
    assert more in files.results_by_needs("mlneedle")["scores"]
    assert more.label.lower().endswith("a further one")
    files.config["run"]["benchmarks"] = ["oneruler"]
    assert "mlneedle_further" in files.unfilled()

    paper = publications.load(ROOT / "resources/published/mlneedle.csv")
    run = {"unit_of_length": "words", **mlneedle_scores.SETTINGS}
    scores = mlneedle_scores.make(("mistral", "llama3"), questions=2)
    numbers = frame(added.by_name["further"].numbers, scores, Context(paper, run))
    assert len(numbers) > 5
    if more.kind == "figures":
        draw(more.shown, numbers, added.called, run)[0].savefig(tmp_path / "further.png")
    else:
        text = lay_out(numbers, more.shown, "mlneedle-further", more.title)
        assert "A further one" in text and "mlneedle-further" in text


def test_a_further_corpus_is_offered_and_read(files, monkeypatch) -> None:
    further = registry.Corpus("sample", serves=("needles",), files=("*.json",), languages=("en",))
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
    assert files.corpus_reader("further") == "sample"
    assert files.corpus_sources("further", "en") == files.corpus_sources("sample_questions", "en")


# What a change makes anew


@pytest.fixture
def digests(monkeypatch):
    """The digests of numbers and of what is shown, of a result with these changes."""
    own = load_benchmark("mlneedle")

    def made(**changes):
        result = replace(own.by_name["table1"], **changes)
        return numbers_digest([result]), shown_digest(own, [result])

    return made


def test_a_caption_changes_no_digest(digests) -> None:
    assert digests(caption="Another.") == digests()


def test_a_title_or_layout_changes_what_is_shown_alone(digests) -> None:
    plain = digests()
    other = load_benchmark("mlneedle").by_name["table2"].shown
    for change in ({"title": "Another"}, {"shown": other}):
        numbers, shown = digests(**change)
        assert numbers == plain[0] and shown != plain[1], change


def test_a_view_changes_its_numbers(digests) -> None:
    view = load_benchmark("mlneedle").by_name["table1"].numbers
    numbers, _ = digests(numbers=view.but(where="task == 'existence'"))
    assert numbers != digests()[0]


def test_a_label_of_a_factor_changes_no_number(digests) -> None:
    view = load_benchmark("mlneedle").by_name["table1"].numbers
    first, *rest = view.by
    labelled = replace(first, factor=replace(first.factor, label="Another"))
    ordered = replace(first, factor=replace(first.factor, order=("hi", "en")))
    assert digests(numbers=view.but(by=(labelled, *rest)))[0] == digests()[0]
    assert digests(numbers=view.but(by=(ordered, *rest)))[0] != digests()[0]


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


QUIET = [
    (section, key, node["properties"].get("kind", {}).get("const"))
    for section, node in entries()
    for key, child in node["properties"].items()
    if child.get("affects") in ("speed", "place", "nothing")
]


@pytest.mark.parametrize("section, key, kind", QUIET)
def test_speed_and_places_are_no_parameters(section, key, kind) -> None:
    entry = {key: object(), **({"kind": kind} if kind else {})}
    for wanted in ("prompts", "answers", "scores", "results"):
        assert key not in affecting(section, entry, wanted)


def test_there_are_keys_of_speed_and_place() -> None:
    assert {section.split(".")[0] for section, _, _ in QUIET} >= {"models", "embedders"}


@EACH
def test_slices_depend_on_what_affects_prompts_alone(benchmark) -> None:
    own = validated(DEFAULT)["benchmarks"][benchmark.name]
    node = schema()["properties"]["benchmarks"]["properties"][benchmark.name]
    usual = node.get("affects", "prompts")
    kinds = {key: child.get("affects", usual) for key, child in node["properties"].items()}
    for name in benchmark.slices(own):
        for key in benchmark.settings(own, name, [512]):
            assert kinds.get(key, "prompts") == "prompts", (name, key)


@EACH
def test_no_prompt_depends_on_results_or_scoring(benchmark) -> None:
    found = closure("build_instances.py", hook_file(benchmark.build))
    package = f"needlework/benchmarks/{benchmark.name}"
    assert f"{package}/plan.py" in found
    others = ("results", "layouts", "drawings", "hooks", "scoring", "checks", "none_words")
    assert not found & {f"{package}/{module}.py" for module in others}
    assert not {
        path
        for path in found
        if "needlework/results/figures" in path or "needlework/results" in path
    }
