"""A change rebuilds what depends on it, and nothing else, as Snakemake itself says."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from runs import Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rebuild")]

CONFIG = {
    "run": {
        "models": ["lexical", "empty"],
        "benchmarks": ["mlneedle", "lost_in_the_middle", "oneruler"],
    },
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en", "de"],
            "haystack_languages": ["en"],
            "lengths": [512],
            "tasks": ["exact"],
            "comparisons": {},
        },
        "lost_in_the_middle": {
            "languages": ["en"],
            "n_documents": [{"n": 10, "gold_indices": [0, 9]}],
            "examples": 3,
        },
        "oneruler": {"languages": ["en", "zh"], "cross_lingual": [], "lengths": [1000]},
    },
}
LIBRARY = "workflow/scripts/needlework"
CODE = "\n\ndef unused() -> int:\n    return 1\n"


def results(benchmark: str, rows: str = "scores") -> dict[str, int]:
    """The rules of a benchmark's tables and figures that are made of these rows."""
    kinds = ("numbers", "results")
    return {f"{benchmark}_{kind}_of_{rows}": 1 for kind in kinds} | {"columns": 1}


def stages(answers: int, *others: str, **jobs: int) -> dict[str, int]:
    """The jobs of so many models' answers in a benchmark, and of what stands before them."""
    asked = {"generate_answers": answers, "score_answers": answers}
    return jobs | dict.fromkeys(others, 1) | asked


# The ceiling is made of the gold answers alone, all others of the scores.
CEILING = {"translate_references": 1} | results("mlneedle", "ceilings")
RESULTS = results("mlneedle") | results("mlneedle", "ceilings")
ALL_SCORES = results("mlneedle") | results("lost_in_the_middle") | results("oneruler")
TABLES = f"{LIBRARY}/benchmarks/mlneedle/tables.py"
# MLNeedle's answers are translated, the others' are not.
SCORED_AGAIN = {"score_answers": 2}
OF_ONE_MODEL = stages(3, "translate_answers") | ALL_SCORES


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[Workflow]:
    """A small run of a copy of the workflow, complete, and as it was when the tests end."""
    folder = tmp_path_factory.mktemp("rebuild")
    workflow = Workflow(copy_workflow(folder / "workflow"), folder / "workflow")
    configure(workflow, CONFIG)
    workflow.run("--configfile", "mine.yaml")
    yield workflow
    assert workflow.would_run("--configfile", "mine.yaml") == {}


class Edits:
    """Edits of the copy's files, and what would then run."""

    def __init__(self, built: Workflow) -> None:
        self._built = built
        self._originals: dict[Path, tuple[bytes, int]] = {}

    def write(self, name: str, change: Callable[[str], str]) -> None:
        """Edit a file."""
        path = self._built.root / name
        self._originals.setdefault(path, (path.read_bytes(), path.stat().st_mtime_ns))
        before = path.read_text(encoding="utf-8")
        after = change(before)
        assert after != before, f"{name} was not changed"
        path.write_text(after, encoding="utf-8")

    def would_run(self) -> dict[str, int]:
        """What would run after all edits."""
        return self._built.would_run("--configfile", "mine.yaml")

    def __call__(self, name: str, change: Callable[[str], str]) -> dict[str, int]:
        """Edit a file; what would run then."""
        self.write(name, change)
        return self.would_run()

    def undo(self) -> None:
        """Put everything back."""
        for path, (content, mtime) in self._originals.items():
            path.write_bytes(content)
            os.utime(path, ns=(mtime, mtime))


@pytest.fixture
def edited(built) -> Iterator[Edits]:
    """Edits, which are undone at the end."""
    edits = Edits(built)
    yield edits
    edits.undo()


def configure(workflow: Workflow, config: dict) -> None:
    (workflow.root / "mine.yaml").write_text(yaml.safe_dump(config))


def with_config(change: Callable[[dict], object]) -> Callable[[str], str]:
    """An edit of the configuration file."""

    def edit(text: str) -> str:
        config = yaml.safe_load(text)
        change(config)
        return yaml.safe_dump(config)

    return edit


def replacing(old: str, new: str) -> Callable[[str], str]:
    """An edit that must find what it replaces."""

    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


def appending(text: str) -> Callable[[str], str]:
    return lambda before: before + text


def test_comments_docstrings_times_and_captions_rebuild_nothing(edited, built) -> None:
    """In one module of each stage, all at once: what any of them would make would be seen."""
    for script in (built.root / "workflow/scripts").glob("*.py"):
        script.touch()
    for module in (
        "prompts/counting/pieces",
        "retrieval/search",
        "results/stats",
        "models/generation",
        "records",
    ):
        file = f"{LIBRARY}/{module}.py"
        edited.write(file, appending("\n\n# A comment.\n"))
        edited.write(file, lambda text: text.replace('"""', '"""Another beginning. ', 1))
    edited.write(TABLES, replacing("Mean over all needle", "The mean over all needle"))
    assert edited.would_run() == {}


def test_a_scoring_function_touches_no_generation(edited) -> None:
    would = edited(f"{LIBRARY}/scoring/metrics.py", appending(CODE))
    assert would == {"score_answers": 6} | ALL_SCORES | CEILING


def test_what_shows_numbers_makes_none_of_them(edited) -> None:
    would = edited(f"{LIBRARY}/results/drawing/style.py", appending("\n\nUNUSED = 1\n"))
    assert {rule for rule in would if rule.startswith("mlneedle_")} == {
        *("mlneedle_results_of_scores", "mlneedle_results_of_ceilings")
    }
    assert not {"score_answers", "translate_references", "describe_prompts"} & would.keys()


def test_a_module_that_numbers_import_makes_all_results(edited) -> None:
    would = edited(f"{LIBRARY}/results/stats.py", appending("\n\nUNUSED = 1\n"))
    assert would.items() >= (RESULTS | ALL_SCORES).items()
    assert all("_of_" in rule or rule == "columns" for rule in would), would


def test_a_backend_concerns_its_own_models(edited) -> None:
    for backend in ("lexical", "oracle"):
        edited.write(f"{LIBRARY}/models/backends/{backend}.py", appending("\n\nUNUSED = 1\n"))
    assert edited.would_run() == OF_ONE_MODEL


def test_a_models_temperature_and_one_more_model_leave_the_others(edited) -> None:
    def change(config: dict) -> None:
        config["models"] = {"lexical": {"sampling": {"temperature": 0.1}}}
        config["run"]["models"].append("oracle")

    # Tables of prompts and of books have a column for each model's tokenizer.
    others = results("lost_in_the_middle", "instances") | results("oneruler", "books")
    answers = stages(6, translate_answers=2)
    assert edited("mine.yaml", with_config(change)) == answers | ALL_SCORES | others


# Changes at once, of different benchmarks: each makes what follows in its own.


def total(*parts: dict[str, int]) -> dict[str, int]:
    """The jobs of several benchmarks; one makes the description of all columns."""
    jobs: Counter[str] = Counter()
    for part in parts:
        jobs.update(part)
    return dict(jobs) | ({"columns": 1} if "columns" in jobs else {})


def test_a_result_and_a_construction_touch_their_benchmarks(edited) -> None:
    edited.write(TABLES, replacing("\"task == 'exact'\"", "\"task == 'exact' \""))
    would = edited(f"{LIBRARY}/benchmarks/oneruler/niah.py", appending(CODE))
    built_again = stages(2, "describe_prompts", build_instances=2)
    assert would == total(RESULTS, built_again, results("oneruler"))


def test_a_published_number_a_gold_place_and_a_metric(edited) -> None:
    def add(config: dict) -> None:
        config["benchmarks"]["lost_in_the_middle"]["n_documents"][0]["gold_indices"].append(4)

    edited.write("resources/published/mlneedle.csv", replacing("0.335", "0.336"))
    edited.write(f"{LIBRARY}/benchmarks/oneruler/strict.py", appending(CODE))
    would = edited("mine.yaml", with_config(add))
    one_slice = stages(2, "describe_prompts", "build_instances")
    own = results("lost_in_the_middle") | results("lost_in_the_middle", "instances")
    assert would == total(RESULTS, one_slice, own, SCORED_AGAIN, results("oneruler"))


def test_prompts_rebuild_what_follows_in_their_languages(edited) -> None:
    """A template of all languages, and one of a single language."""
    edited.write("resources/prompts/mlneedle/exact.txt", replacing("high-quality", "very good"))
    file = "resources/sample/oneruler/zh/cwe.txt"
    would = edited(file, replacing("{context}", "{context} "))
    all_languages = stages(2, "describe_prompts", build_instances=4, translate_answers=2)
    one_language = stages(2, "describe_prompts", "build_instances", "read_corpus")
    own = (results("mlneedle") | CEILING, results("oneruler"))
    assert would == total(all_languages, one_language, *own)


def test_one_more_language_adds_its_own_files(edited) -> None:
    def add(config: dict) -> None:
        config["benchmarks"]["mlneedle"]["needle_languages"].append("zh")
        config["benchmarks"]["oneruler"]["languages"].append("fa")

    would = edited("mine.yaml", with_config(add))
    # zh-en and zh-none are new; no old instance file is built again.
    needles = stages(2, "describe_prompts", build_instances=2, translate_answers=2)
    texts = stages(2, "describe_prompts", "build_instances", "count_books", read_corpus=4)
    texts |= results("oneruler") | results("oneruler", "books")
    assert would == total(needles, results("mlneedle") | CEILING, texts)


def test_one_more_haystack_language_and_a_metric(edited) -> None:
    def add(config: dict) -> None:
        config["benchmarks"]["mlneedle"]["haystack_languages"].append("zh")

    edited.write(f"{LIBRARY}/benchmarks/lost_in_the_middle/scores.py", appending(CODE))
    would = edited("mine.yaml", with_config(add))
    own = ("read_corpus", "embed_corpus", "search_passages", "choose_distractors")
    new = stages(2, *own, "describe_prompts", build_instances=2, translate_answers=2)
    others = (SCORED_AGAIN, results("lost_in_the_middle"))
    assert would == total(new, results("mlneedle"), *others)


def test_a_deleted_file_of_a_figure_is_made_again(built) -> None:
    """Of its numbers, which are what a drawing is made of, or a drawing alone."""
    deleted = ("oneruler/figure3.csv", "lost_in_the_middle/figure5.svg")
    files = [built.result(f"figures/{name}") for name in deleted]
    for file in files:
        file.rename(file.with_suffix(".kept"))
    targets = ("oneruler_figure3", "lost_in_the_middle_figure5")
    try:
        would = built.would_run(*targets, "--configfile", "mine.yaml")
    finally:
        for file in files:
            file.with_suffix(".kept").rename(file)
    shown = ("oneruler_results_of_scores", "lost_in_the_middle_results_of_scores")
    assert would == dict.fromkeys((*targets, *shown, "oneruler_numbers_of_scores"), 1)


def test_results_without_their_records_count_as_made_after_a_touch(built, tmp_path) -> None:
    restored = Workflow(copy_workflow(tmp_path / "restored"), tmp_path / "restored")
    configure(restored, CONFIG)
    # Without the files' times, as from an archive of a web page.
    results = (built.root / "results", restored.root / "results")
    shutil.copytree(*results, copy_function=shutil.copyfile)
    said = restored.run("--dry-run", "--configfile", "mine.yaml")
    assert "run once with --touch" in said.stdout + said.stderr
    assert "Nothing to be done" not in said.stdout and "build_instances" in said.stdout
    restored.run("--touch", "--configfile", "mine.yaml")
    assert restored.would_run("--configfile", "mine.yaml") == {}


def test_another_clone_beside_the_results_has_nothing_to_do(built, tmp_path) -> None:
    """New times of all the workflow's own files, and another place."""
    clone = copy_workflow(tmp_path / "clone")
    configure(Workflow(clone, clone), CONFIG)
    for name in ("results", ".snakemake"):
        shutil.copytree(built.root / name, clone / name, symlinks=True)
    for file in clone.glob("workflow/**/*.py"):
        file.touch()
    assert Workflow(clone, clone).would_run("--configfile", "mine.yaml") == {}
