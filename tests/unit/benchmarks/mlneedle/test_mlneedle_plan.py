"""What MLNeedle consists of, and what each slice of it depends on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from needlework.benchmarks.mlneedle import plan
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.planning.schema import schema

ROOT = Path(__file__).resolve().parents[4]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
DEFAULT["run"]["benchmarks"] = ["mlneedle"]


def benchmark(seed: int = 0, **own: Any) -> dict[str, Any]:
    """The benchmark's block of a valid configuration with `own` in it, and a run's seed."""
    config = copy.deepcopy(DEFAULT)
    config["benchmarks"]["mlneedle"] |= own
    return validated(config)["benchmarks"]["mlneedle"] | {"seed": seed}


# Positions


def test_the_papers_positions() -> None:
    start, middle, end = plan.positions(["start", "middle", "end"])
    assert [p.name for p in (start, middle, end)] == ["start", "middle", "end"]
    assert [p.depth for p in (start, middle, end)] == [0, 0.5, 1]
    for n in range(50):
        # Before all, at n//2, after all (paper section 2.2 and the released code).
        assert [p.place(n) for p in (start, middle, end)] == [0, n // 2, n]


def test_a_choice_of_positions_keeps_their_places() -> None:
    (end,) = plan.positions(["end"])
    assert (end.name, end.depth, end.place(7)) == ("end", 1, 7)
    assert [p.name for p in plan.positions(["end", "start"])] == ["end", "start"]


def test_three_equally_spaced_positions_are_the_papers() -> None:
    assert plan.positions(3) == plan.positions(["start", "middle", "end"])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 11])
def test_equally_spaced_positions(n: int) -> None:
    found = plan.positions(n)
    assert [p.depth for p in found] == pytest.approx([k / (n - 1) for k in range(n)])
    assert len({p.name for p in found}) == n
    assert (found[0].name, found[-1].name) == ("start", "end")
    assert [p.name for p in found if p.depth == 0.5] == (["middle"] if n % 2 else [])
    for size in (0, 1, 7, 10, 300):
        places = [p.place(size) for p in found]
        assert places == sorted(places) and places[0] == 0 and places[-1] == size
        assert all(abs(p.place(size) - p.depth * size) <= 0.5 for p in found)


def test_the_names_of_other_positions() -> None:
    assert [p.name for p in plan.positions(9)] == [
        "start",
        "1/8",
        "2/8",
        "3/8",
        "middle",
        "5/8",
        "6/8",
        "7/8",
        "end",
    ]
    assert [p.place(20) for p in plan.positions(9)] == [0, 2, 5, 8, 10, 12, 15, 18, 20]


# Slices


def test_the_papers_slices() -> None:
    """Seven needle languages by eight haystacks, and each alone."""
    paper = yaml.safe_load((ROOT / "presets/mlneedle.yaml").read_text(encoding="utf-8"))
    del paper["benchmarks"]["mlneedle"]["comparisons"]  # of the preset's own models
    own = benchmark(**paper["benchmarks"]["mlneedle"])
    names = plan.slices(own)
    assert len(names) == len(set(names)) == 7 * (8 + 1)
    assert {"en-en", "ar-multilingual", "zh-none"} <= set(names)
    assert plan.slice_languages("ar-multilingual") == ("ar", "multilingual")
    assert plan.baseline_slices(own) == [n for n in names if n.endswith("-none")]


def test_a_further_language_adds_slices_and_changes_no_other() -> None:
    few = benchmark(needle_languages=["en"], haystack_languages=["en"], aligned=False)
    for more in (
        benchmark(needle_languages=["en", "de"], haystack_languages=["en"], aligned=False),
        benchmark(
            needle_languages=["en"], haystack_languages=["en", "multilingual"], aligned=False
        ),
    ):
        assert set(plan.slices(few)) < set(plan.slices(more))
        for name in plan.slices(few):
            assert plan.settings(few, name, [512]) == plan.settings(more, name, [512])


def test_the_order_in_which_languages_are_written_changes_nothing() -> None:
    own = {
        "needle_languages": ["en", "de", "zh"],
        "haystack_languages": ["hi", "multilingual"],
        "answer_languages": ["en", "de", "zh", "es"],
        "multilingual": ["hi", "ar", "vi"],
    }
    one, other = benchmark(**own), benchmark(**{key: langs[::-1] for key, langs in own.items()})
    assert set(plan.slices(one)) == set(plan.slices(other))
    for name in plan.slices(one):
        assert plan.settings(one, name, [512]) == plan.settings(other, name, [512])


@pytest.mark.parametrize(
    ("key", "value", "touched"),
    [
        ("seed", 1, {"de-en", "de-multilingual", "de-none"}),
        ("questions", 3, {"de-en", "de-multilingual", "de-none"}),
        ("max_new_tokens", 5, {"de-en", "de-multilingual", "de-none"}),
        ("positions", 9, {"de-en", "de-multilingual"}),
        ("retrieval", ["random"], {"de-en", "de-multilingual"}),
        ("truncate_last", False, {"de-en", "de-multilingual"}),
        ("strip_context", True, {"de-en", "de-multilingual", "de-none"}),
        ("needle_absent", False, {"de-en", "de-multilingual"}),
        ("multilingual", ["en"], {"de-multilingual"}),
        ("metric", "released", set()),
        ("comparisons", {"decoding": []}, set()),
    ],
)
def test_a_setting_touches_the_slices_that_depend_on_it(key, value, touched) -> None:
    before, after = benchmark(), benchmark(**{key: value})
    names = ("de-en", "de-multilingual", "de-none")
    changed = {n for n in names if plan.settings(before, n, [9]) != plan.settings(after, n, [9])}
    assert changed == touched


def test_the_lengths_are_no_part_of_what_has_no_haystack() -> None:
    own = benchmark()
    assert plan.settings(own, "de-none", [512]) == plan.settings(own, "de-none", [1024])
    assert plan.settings(own, "de-en", [1024, 512])["lengths"] == [512, 1024]


def test_the_languages_that_a_slice_reads() -> None:
    own = benchmark(
        needle_languages=["de", "hi"],
        answer_languages=["de", "hi", "en", "vi"],
        multilingual=["zh", "ar"],
        aligned=False,
    )

    def read(name: str) -> tuple[list[str], list[str]]:
        slice_settings = plan.settings(own, name, [512])
        read = plan.reads(slice_settings)
        assert {corpus for corpus, _ in read["questions"]} == {own["needles"]}
        assert [lang for _, lang in read["passages"]] == plan.searches(slice_settings)
        return [lang for _, lang in read["questions"]], plan.searches(slice_settings)

    assert read("de-es") == (["de", "en", "hi", "vi"], ["es"])
    assert read("de-multilingual") == (["de", "en", "hi", "vi"], ["ar", "zh"])
    assert read("hi-none") == (["de", "en", "hi", "vi"], [])


def test_aligned_slices_read_all_the_languages_that_are_compared() -> None:
    own = benchmark(
        needle_languages=["de", "hi"], answer_languages=["de", "hi", "en"], aligned=True
    )
    slice_settings = plan.settings(own, "de-none", [512])
    questions = plan.reads(slice_settings)["questions"]
    assert {"de", "hi"} <= {lang for _, lang in questions}


def test_the_languages_of_all_passages() -> None:
    def passages(**own: object) -> list[str]:
        config = benchmark(**own)
        return [lang for corpus, lang in plan.quotes(config) if corpus == config["haystack"]]

    assert passages(haystack_languages=["zh", "de"]) == ["de", "zh"]
    own = {"haystack_languages": ["de", "multilingual"], "multilingual": ["hi", "de"]}
    assert passages(**own) == ["de", "hi"]


# Results


def test_what_tables_and_figures_know_of_a_run() -> None:
    config = copy.deepcopy(DEFAULT)
    config["models"]["lexical"] |= {"published": "Published-7B", "context": 4096}
    config["run"]["models"] = ["lexical", "oracle"]
    found = Layout(validated(config)).run_settings("mlneedle", "scores")
    assert found["models"] == ["lexical", "oracle"]
    assert found["published"] == {"lexical": "Published-7B"}
    assert found["claimed_length"] == {"lexical": 4096, "oracle": 131072}
    assert found["greedy_or_sampling"] == [["lexical", "oracle"]]
    assert found["decoding"] == dict.fromkeys(found["models"], "temperature 0.7, top-k 50, top-p 1")
    # Whatever keeps a number from being compared with a published one.
    assert (
        found["setup"].items()
        >= {
            "needles": "sample_questions",
            "haystack": "sample_passages",
            "aligned": True,
            "truncate_last": True,
            "embedder": "ngram",
            "translator": "none",
            "metric": "containment",
            "answer_languages": ["ar", "de", "en", "es", "hi", "vi", "zh"],
        }.items()
    )


def test_every_task_has_a_template() -> None:
    own = schema()["properties"]["benchmarks"]["properties"]["mlneedle"]["properties"]
    found = {path.stem for path in (ROOT / "resources/prompts/mlneedle").glob("*.txt")}
    assert found == set(own["tasks"]["items"]["enum"])
