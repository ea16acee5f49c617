"""What MLNeedle consists of, and what each slice of it depends on."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from factories import ROOT, configuration, demo
from factories.mlneedle import block
from needlework.benchmarks.mlneedle import plan
from needlework.given import given
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.json_schema import schema
from needlework.planning.notices import notices
from needlework.planning.rule_inputs import RuleInputs

# Positions


def test_the_papers_positions() -> None:
    found = plan.positions(["start", "middle", "end"])
    assert plan.positions(3) == found and plan.positions(["end"]) == found[2:]
    assert [(p.name, p.depth) for p in found] == [("start", 0), ("middle", 0.5), ("end", 1)]
    for n in range(50):
        # Before all, at n//2, after all (paper section 2.2 and the released code).
        assert [p.place(n) for p in found] == [0, n // 2, n]


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


def test_the_papers_slices_and_templates() -> None:
    # Seven needle languages by eight haystacks, and each alone.
    paper = yaml.safe_load((ROOT / "presets/mlneedle.yaml").read_text(encoding="utf-8"))
    del paper["benchmarks"]["mlneedle"]["comparisons"]  # of the preset's own models
    own = block(**paper["benchmarks"]["mlneedle"])
    names = plan.slices(own)
    assert len(names) == len(set(names)) == 7 * (8 + 1)
    assert {"en-en", "ar-multilingual", "zh-none"} <= set(names)
    found = plan.settings(own, "ar-multilingual", [512])
    assert (found["needle_lang"], found["haystack_lang"]) == ("ar", "multilingual")
    assert plan.baseline_slices(own) == [n for n in names if n.endswith("-none")]
    own = schema()["properties"]["benchmarks"]["properties"]["mlneedle"]["properties"]
    found = {path.stem for path in (ROOT / "resources/prompts/mlneedle").glob("*.txt")}
    assert found == set(own["tasks"]["items"]["enum"])


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
    before, after = block(), block(**{key: value})
    names = ("de-en", "de-multilingual", "de-none")
    changed = {n for n in names if plan.settings(before, n, [9]) != plan.settings(after, n, [9])}
    assert changed == touched
    # Lengths are no part of what has no haystack.
    assert plan.settings(before, "de-none", [9]) == plan.settings(before, "de-none", [8])
    assert plan.settings(before, "de-en", [9, 8])["lengths"] == [8, 9]


def test_what_results_and_the_explorer_know_of_a_run() -> None:
    config = configuration("mlneedle", demo("mlneedle"))
    config["models"]["lexical"] |= {"published": "Published-7B", "context": 4096}
    config["run"]["models"] = ["lexical", "oracle"]
    comparisons = config["benchmarks"]["mlneedle"].setdefault("comparisons", {})
    comparisons["decoding"] = [["lexical", "oracle"]]
    found = RuleInputs(validated(config)).facts.run_settings("mlneedle", "scores")
    assert found["models"] == ["lexical", "oracle"]
    assert found["published"] == {"lexical": "Published-7B"}
    assert found["claimed_length"] == {"lexical": 4096, "oracle": 131072}
    assert found["greedy_or_sampling"] == [["lexical", "oracle"]]
    assert found["decoding"] == dict.fromkeys(found["models"], "temperature 0.7, top-k 50, top-p 1")
    # Whatever keeps a number from being compared with a published one.
    setup = {
        **{"needles": "sample_questions", "haystack": "sample_passages", "aligned": True},
        **{"truncate_last": True, "embedder": "ngram", "translator": "none"},
        "metric": "containment",
        "answer_languages": ["ar", "de", "en", "es", "hi", "vi", "zh"],
    }
    assert found["setup"].items() >= setup.items()
    found = RuleInputs(validated(configuration("mlneedle", demo("mlneedle")))).explorer
    assert found.explored("mlneedle")["percent"] == {"depth": 100}


def own_questions(*languages: str, **own: Any) -> dict[str, Any]:
    """A run of MLNeedle on questions of a user's own, validated: the benchmark's block."""
    data = {"files": [str(ROOT / "resources/examples/turkish/data/sorular.csv")]}
    columns = {"question": "soru", "context": "metin", "answers": "cevaplar"}
    mine = {"kind": "questions", "columns": columns, "languages": dict.fromkeys(languages, data)}
    config = configuration("mlneedle", demo("mlneedle")) | {"corpora": {"mine": mine}}
    config["run"]["models"] = ["oracle"]
    chosen = {"needles": "mine", "haystack": "mine_paragraphs", "tasks": ["exact"]}
    both = {"needle_languages": list(languages), "haystack_languages": list(languages)}
    config["benchmarks"]["mlneedle"] |= chosen | both | own
    return validated(config)


def test_needles_decide_the_questions_language_and_translation() -> None:
    for languages, question in ((("tr",), "tr"), (("tr", "de"), "tr"), (("tr", "en"), "en")):
        own = own_questions(*languages)["benchmarks"]["mlneedle"]
        assert own["question_lang"] == question and set(own["answer_languages"]) == set(languages)
    texts = {"tr": {"exact": "{passages} {question}"}}
    made = {lang: RuleInputs(own_questions(lang, instructions=texts)) for lang in ("tr", "en")}
    assert not made["tr"].scores.translated("mlneedle") and made["en"].scores.translated("mlneedle")
    names = {lang: [r.name for r in own.results.filled("mlneedle")] for lang, own in made.items()}
    assert "translation_ceiling" in names["en"] and "translation_ceiling" not in names["tr"]


def test_instructions_of_other_languages_are_noticed_and_in_provenance() -> None:
    (notice,) = notices(given(own_questions("tr")))
    assert "the questions in tr have the paper's instructions, in English" in notice
    texts = {"tr": {"exact": "{passages} {question}"}}
    assert notices(given(own_questions("tr", instructions=texts))) == []
    assert notices(given(validated(configuration("mlneedle", demo("mlneedle"))))) == []
    folder = str(ROOT / "resources/examples/turkish/languages/tr")
    made = effective_config(given(own_questions("tr", instructions={"tr": folder})))
    texts = made["benchmarks"]["mlneedle"]["instructions"]["tr"]
    assert texts["yes"] == "Evet" and texts["exact"].startswith("Verilen soruya")
