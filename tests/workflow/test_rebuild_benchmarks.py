"""Of the benchmarks after the first: what is one's own touches no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_rebuild import LIBRARY, appending, configure, edited, replacing, with_config  # noqa: F401

from runs import Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rebuild")]

CONFIG = {
    "run": {"models": ["lexical"], "benchmarks": ["lost_in_the_middle", "oneruler"]},
    "benchmarks": {
        "lost_in_the_middle": {
            "languages": ["en"],
            "n_documents": [{"n": 10, "gold_indices": [0, 9]}],
            "examples": 3,
        },
        "oneruler": {"languages": ["en", "zh"], "cross_lingual": [], "lengths": [1000]},
    },
}
CODE = "\n\ndef unused() -> int:\n    return 1\n"


def results(benchmark: str) -> dict[str, int]:
    """The rules of a benchmark's tables and figures that are made of scores."""
    return {f"{benchmark}_{kind}_of_scores": 1 for kind in ("numbers", "results")} | {"columns": 1}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[Workflow]:
    """A small run of a copy of the workflow, complete, and as it was when the tests end."""
    folder = tmp_path_factory.mktemp("rebuild")
    workflow = Workflow(copy_workflow(folder / "workflow"), folder / "workflow")
    configure(workflow, CONFIG)
    workflow.run("--configfile", "mine.yaml")
    yield workflow
    assert workflow.would_run("--configfile", "mine.yaml") == {}


@pytest.mark.parametrize(
    "benchmark, file",
    [
        ("lost_in_the_middle", "benchmarks/lost_in_the_middle/scores.py"),
        ("oneruler", "benchmarks/oneruler/strict.py"),
    ],
)
def test_a_metric_touches_its_benchmarks_scores(edited, benchmark, file) -> None:  # noqa: F811
    would = edited(f"{LIBRARY}/{file}", appending(CODE))
    assert would == {"score_answers": 1} | results(benchmark)


def test_construction_touches_its_benchmark(edited) -> None:  # noqa: F811
    would = edited(f"{LIBRARY}/benchmarks/oneruler/niah.py", appending(CODE))
    own = {"build_instances": 2, "describe_prompts": 1, "generate_answers": 1, "score_answers": 1}
    assert would == own | results("oneruler")


def test_a_further_language_adds_its_own_files(edited) -> None:  # noqa: F811
    def add(config: dict) -> None:
        config["benchmarks"]["oneruler"]["languages"].append("fa")

    would = edited("mine.yaml", with_config(add))
    own = {"read_corpus": 4, "build_instances": 1, "describe_prompts": 1}
    answers = {"generate_answers": 1, "score_answers": 1}
    books = {"count_books": 1, "oneruler_numbers_of_books": 1, "oneruler_results_of_books": 1}
    assert would == own | answers | books | results("oneruler")


def test_a_temperature_counts_no_tokens_again(edited) -> None:  # noqa: F811
    def warm(config: dict) -> None:
        config["models"] = {"lexical": {"sampling": {"temperature": 0.3}}}

    would = edited("mine.yaml", with_config(warm))
    answers = {"generate_answers": 2, "score_answers": 2}
    assert would == answers | results("lost_in_the_middle") | results("oneruler")


@pytest.mark.parametrize("ending", ["csv", "svg"])
def test_a_deleted_file_of_a_figure_is_made_again(built, ending) -> None:
    file = built.result(f"figures/oneruler/figure3.{ending}")
    kept = file.with_suffix(".kept")
    file.rename(kept)
    try:
        would = built.would_run("oneruler_figure3", "--configfile", "mine.yaml")
    finally:
        kept.rename(file)
    kinds = ("numbers", "results") if ending == "csv" else ("results",)
    made = {f"oneruler_{kind}_of_scores": 1 for kind in kinds}
    assert would == made | {"oneruler_figure3": 1}


def test_another_place_of_the_gold_document_makes_one_slice(edited) -> None:  # noqa: F811
    def add(config: dict) -> None:
        config["benchmarks"]["lost_in_the_middle"]["n_documents"][0]["gold_indices"].append(4)

    would = edited("mine.yaml", with_config(add))
    assert would["build_instances"] == 1
    assert "oneruler_numbers_of_scores" not in would


def test_a_prompt_of_the_sample_touches_its_language(edited) -> None:  # noqa: F811
    file = "resources/sample/oneruler/zh/cwe.txt"
    would = edited(file, replacing("{context}", "{context} "))
    assert would["read_corpus"] == 1
    assert would["build_instances"] == 1
    assert "lost_in_the_middle_numbers_of_scores" not in would
