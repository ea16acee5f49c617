"""A change rebuilds what depends on it, and nothing else, as Snakemake itself says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from runs import Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rebuild")]

CONFIG = {
    "run": {"models": ["lexical", "empty"], "benchmarks": ["mlneedle"]},
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en", "de"],
            "haystack_languages": ["en", "hi"],
            "lengths": [512],
        }
    },
}
LIBRARY = "workflow/scripts/needlework"

# The ceiling is made of the gold answers alone, all others of the scores.
SHOWN = {"mlneedle_results_of_scores": 1, "mlneedle_results_of_ceilings": 1}
FROM_SCORES = {"mlneedle_numbers_of_scores": 1, "mlneedle_results_of_scores": 1, "columns": 1}
FROM_CEILINGS = {"mlneedle_numbers_of_ceilings": 1, "mlneedle_results_of_ceilings": 1, "columns": 1}
CEILING = {"translate_references": 1} | FROM_CEILINGS
RESULTS = FROM_SCORES | FROM_CEILINGS
TABLES = f"{LIBRARY}/benchmarks/mlneedle/tables.py"


def after_generation(models: int) -> dict[str, int]:
    """What follows when so many models answer anew."""
    stages = ("generate_answers", "translate_answers", "score_answers")
    return dict.fromkeys(stages, models) | FROM_SCORES


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


def test_a_comment_or_docstring_or_time_rebuilds_nothing(edited, built) -> None:
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
    assert edited.would_run() == {}


@pytest.mark.parametrize("file", ["scoring/metrics.py", "benchmarks/mlneedle/scores.py"])
def test_a_scoring_function_touches_no_generation(edited, file) -> None:
    would = edited(f"{LIBRARY}/{file}", appending("\n\ndef unused() -> int:\n    return 1\n"))
    assert would == {"score_answers": 2} | FROM_SCORES | CEILING


@pytest.mark.parametrize("file", ["results/written_tables.py", "results/drawing/style.py"])
def test_what_shows_numbers_makes_none_of_them(edited, file) -> None:
    would = edited(f"{LIBRARY}/{file}", appending("\n\nUNUSED = 1\n"))
    assert would == SHOWN


def test_a_caption_makes_nothing(edited) -> None:
    assert edited(TABLES, replacing("Exact accuracy over all", "The exact accuracy over all")) == {}


def test_a_function_of_a_result_makes_its_benchmarks_results(edited) -> None:
    assert edited(TABLES, replacing("\"task == 'exact'\"", "\"task == 'exact' \"")) == RESULTS


def test_a_module_that_numbers_import_makes_all_results(edited) -> None:
    assert edited(f"{LIBRARY}/results/stats.py", appending("\n\nUNUSED = 1\n")) == RESULTS


def test_a_backend_concerns_its_own_models(edited) -> None:
    would = edited(f"{LIBRARY}/models/backends/lexical.py", appending("\n\nUNUSED = 1\n"))
    assert would == after_generation(1)
    assert edited(f"{LIBRARY}/models/backends/oracle.py", appending("\n\nUNUSED = 1\n")) == would


def test_a_prompt_template_rebuilds_prompts_and_what_follows(edited) -> None:
    would = edited("resources/prompts/mlneedle/exact.txt", replacing("high-quality", "very good"))
    assert would == {"build_instances": 6, "describe_prompts": 1} | after_generation(2) | CEILING


def test_one_more_needle_language_adds_its_own_files(edited) -> None:
    def add(config: dict) -> None:
        config["benchmarks"]["mlneedle"]["needle_languages"].append("zh")

    would = edited("mine.yaml", with_config(add))
    # zh-en, zh-hi and zh-none are new; no old instance file is built again.
    assert would == {"build_instances": 3, "describe_prompts": 1} | after_generation(2) | CEILING


def test_one_more_haystack_language_adds_its_own_files(edited) -> None:
    def add(config: dict) -> None:
        config["benchmarks"]["mlneedle"]["haystack_languages"].append("zh")

    would = edited("mine.yaml", with_config(add))
    own = dict.fromkeys(("read_corpus", "embed_corpus", "search_passages", "choose_distractors"), 1)
    assert would == own | {"build_instances": 2, "describe_prompts": 1} | after_generation(2)


def test_a_models_temperature_touches_that_model_alone(edited) -> None:
    def heat(config: dict) -> None:
        config["models"] = {"lexical": {"sampling": {"temperature": 0.1}}}

    assert edited("mine.yaml", with_config(heat)) == after_generation(1)


def test_one_more_model_leaves_the_others(edited) -> None:
    def add(config: dict) -> None:
        config["run"]["models"].append("oracle")

    assert edited("mine.yaml", with_config(add)) == after_generation(1)


def test_a_published_number_touches_tables_and_figures(edited) -> None:
    assert edited("resources/published/mlneedle.csv", replacing("0.335", "0.336")) == RESULTS


def test_results_without_their_records_count_as_made_after_a_touch(built, tmp_path) -> None:
    restored = Workflow(copy_workflow(tmp_path / "restored"), tmp_path / "restored")
    configure(restored, CONFIG)
    # Without the files' times, as from an archive of a web page.
    results = (built.root / "results", restored.root / "results")
    shutil.copytree(*results, copy_function=shutil.copyfile)
    said = restored.run("--dry-run", "--configfile", "mine.yaml")
    assert "run once with --touch" in said.stdout + said.stderr
    assert len(restored.would_run("--configfile", "mine.yaml")) > 5
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
