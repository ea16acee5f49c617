"""What ONERULER consists of, and what each slice of it depends on."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from described import filled, results
from factories import ROOT
from factories.oneruler import LANGUAGES, config, slice_settings
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.oneruler import plan
from needlework.benchmarks.oneruler.paper import MODELS, TEXT
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.layers import layered
from needlework.planning.rule_inputs import RuleInputs

TABLES, FIGURES = results("oneruler", "tables"), results("oneruler", "figures")
NEEDLE_TASKS = ["niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "niah_none"]


def block(**own: Any) -> Any:
    """The benchmark's block with every default, and a run's seed."""
    return given(config(**own)["benchmarks"]["oneruler"] | {"seed": 0})


def slice_of(name: str, **own: Any) -> plan.Slice:
    """A slice at a length up to which frequencies differ."""
    return plan.Slice(**slice_settings(name, [8000], **own))


@pytest.fixture(scope="module")
def preset() -> dict[str, Any]:
    default = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    given = yaml.safe_load((ROOT / "presets/oneruler.yaml").read_text("utf-8"))
    return validated(layered(default, [given]))


def test_the_preset_asks_what_the_paper_asks_and_no_more(preset) -> None:
    assert plan.slices(block()) == [f"{lang}-{lang}" for lang in LANGUAGES]
    own, asked = RuleInputs(preset).prompts.settings("oneruler"), {}
    for name in plan.slices(own):
        settings = plan.Slice(**plan.settings(own, name, own.lengths))
        per_task = len(settings.lengths) * settings.examples
        kind = "alone" if len(set(plan.slice_languages(name))) == 1 else "crossed"
        for task, offered in plan.variants(settings):
            key = kind, offered or task not in plan.NEEDLES
            asked[key] = asked.get(key, 0) + per_task
            assert kind == "alone" or task in plan.NEEDLES
            assert offered or task not in plan.NEEDLES or name == "en-en"
    assert asked == {("alone", True): 36_400, ("alone", False): 200, ("crossed", True): 6_000}
    header = (ROOT / "presets/oneruler.yaml").read_text("utf-8").split("\nrun:")[0]
    for number in (sum(asked.values()), *asked.values()):
        assert f"{number:,}" in header


def test_preset_models_are_compared_as_the_paper_ran_them(preset) -> None:
    settings = RuleInputs(preset).facts.run_settings("oneruler", "scores")
    assert settings["metric"] == "strict" and settings["setup"]["cwe_frequencies"] == "released"
    assert preset["models"]["deepseek-r1"]["sampling"]["temperature"] == 0.6
    assert set(MODELS) - set(settings["published"].values()) == {"Gemini 1.5 Flash"}
    own = {"o3-mini-high": "the endpoint's own"}
    for model, name in settings["published"].items():
        assert settings["decoding"][model] == own.get(name, "greedy")
    # Figure 24 is of texts measured as in the paper's appendix D.
    assert settings["encodings"][settings["text_tokenizer"]] == TEXT["measuring tokenizer"]
    assert TEXT["length"] in preset["benchmarks"]["oneruler"]["lengths"]
    assert RuleInputs(preset).prompts.text_tokenizer == settings["text_tokenizer"]


def test_pairs_are_slices_that_read_what_tasks_need() -> None:
    own = block(languages=["pl"], cross_lingual=[["en", "ko"], ["ko", "en"]])
    assert plan.slices(own) == ["pl-pl", "en-ko", "ko-en"]
    settings = plan.settings(own, "en-ko", [8000])
    assert (settings["instruction_lang"], settings["context_lang"]) == ("en", "ko")
    assert plan.reads(settings) == {
        "books": [("oneruler_books", "ko")],
        "nouns": [("oneruler_nouns", "en"), ("oneruler_nouns", "ko")],
        "words": [("oneruler_words", "ko")],
        "prompts": [("oneruler_prompts", "en"), ("oneruler_prompts", "ko")],
    }
    assert plan.quotes(own) == [("oneruler_books", lang) for lang in ("en", "ko", "pl")]
    assert load_benchmark("oneruler").plan.searches(settings) == []
    words = {"words": [("oneruler_words", "hi")], "prompts": [("oneruler_prompts", "hi")]}
    found = plan.reads(slice_settings("hi-hi", [8000], tasks=["cwe_easy"]))
    assert found == {"books": [], "nouns": [], **words}
    assert plan.quotes(block(tasks=["cwe_easy"])) == []
    assert plan.reads(slice_settings("hi-hi", [8000], tasks=["niah_none"]))["words"] == []


def test_no_slice_depends_on_another_language_or_on_an_order() -> None:
    first = block(languages=["en", "hi"], tasks=["cwe_hard", "niah_single"])
    second = block(languages=["hi", "ta", "en"], tasks=["niah_single", "cwe_hard"])
    assert plan.settings(first, "hi-hi", [9, 8]) == plan.settings(second, "hi-hi", [8, 9])
    # What changes a slice's prompts is in its settings.
    own = ({"seed": 1}, {"examples": 4}, {"full_stops": {"hi": "।"}})
    for change in (*own, {"cwe_frequencies": "released"}):
        assert slice_of("hi-hi", **change) != slice_of("hi-hi")
    # What does not is not.
    alone = {"tasks": ["niah_single"]}
    for key, value in (("metric", "released"), ("multiquery_needles", 4), ("cwe_frequencies", 0)):
        own = alone | {key: value or "released"}
        assert slice_of("hi-hi", **own) == slice_of("hi-hi", **alone)


def test_the_option_to_answer_none_and_tasks_of_pairs() -> None:
    words = [("cwe_easy", False), ("cwe_hard", False)]
    asked = plan.variants(slice_of("en-en"))
    assert asked == [(task, True) for task in NEEDLE_TASKS] + words
    both = plan.variants(slice_of("en-en", none_option=[False, True]))
    assert set(both) - set(asked) == {("niah_single", False)}
    some = {"none_option": [False], "without_none_tasks": ["niah_multikey", "niah_single"]}
    only = [("niah_single", False), ("niah_multikey", False), *words]
    assert plan.variants(slice_of("en-en", **some)) == only
    pair = {"languages": ["en"], "cross_lingual": [["en", "hi"]]}
    few = {**pair, "cross_lingual_tasks": ["niah_none", "niah_single"]}
    for name, own, tasks in (
        ("en-hi", pair, [*plan.TASKS]),
        ("en-en", few, [*plan.TASKS]),
        ("en-hi", few, ["niah_single", "niah_none"]),
        ("en-hi", {**few, "tasks": ["niah_none"]}, ["niah_none"]),
    ):
        assert slice_of(name, **own).tasks == tasks
    words = block(**pair, cross_lingual_tasks=["cwe_easy"])
    assert plan.quotes(words) == [("oneruler_books", "en")]
    assert "figure6a" not in filled("oneruler", "figures", words)


def test_languages_that_are_asked_without_the_option() -> None:
    own = block(languages=["en", "hi"], cross_lingual=[["en", "hi"]], none_option=[True, False])

    def of(name: str, **change: Any) -> dict[str, Any]:
        return plan.settings(given({**own, **change}), name, [8000])

    for languages, asked in ((None, ["en-en", "hi-hi", "en-hi"]), (["en"], ["en-en"]), ([], [])):
        chosen = {"without_none_languages": languages}
        made = {name: plan.Slice(**of(name, **chosen)) for name in plan.slices(own)}
        assert [n for n in made if ("niah_single", False) in plan.variants(made[n])] == asked
    # The other slices are what they are without this ablation.
    mine = {"without_none_languages": ["en"]}
    for name in ("hi-hi", "en-hi"):
        assert of(name, **mine) == of(name, none_option=[True])
    assert of("en-en", **mine) == of("en-en")


def test_needles_frequencies_and_full_stops_of_slices() -> None:
    # Keys, values of each, keys asked, whether they are there (paper, section 2.1).
    assert [tuple(plan.needles(slice_of("en-en"), task)) for task in NEEDLE_TASKS] == [
        *((1, 1, 1, True), (4, 1, 1, True), (1, 4, 1, True), (2, 1, 2, True), (4, 1, 1, False)),
    ]
    more = slice_of("en-en", multiquery_needles=4)
    assert tuple(plan.needles(more, "niah_multiquery")) == (4, 1, 2, True)
    for frequencies, task, counts in (
        ("paper", "cwe_easy", [(10, 1), (30, 3), (30, 3)]),
        ("paper", "cwe_hard", [(10, 5), (20, 10), (20, 10)]),
        ("released", "cwe_easy", [(10, 1), (10, 1), (30, 3)]),
        ("released", "cwe_hard", [(10, 5), (10, 5), (20, 10)]),
    ):
        settings = slice_of("en-en", cwe_frequencies=frequencies)
        assert [plan.frequencies(settings, task, n) for n in (7999, 8000, 8001)] == counts
    stops = {lang: slice_of(f"{lang}-{lang}").full_stop for lang in LANGUAGES}
    expected = {"fa": "۔", "ja": "。", "zh": "。"}
    assert {lang: stop for lang, stop in stops.items() if stop != "."} == expected
    own = {"full_stops": {"hi": "।"}}
    assert [slice_of(name, **own).full_stop for name in ("hi-hi", "zh-zh")] == ["।", "。"]


PAIRS = {"comparisons": {"equal_text": [["own", "common"]]}}
BOTH = {"none_option": [True, False], "languages": ["de", "en"]}


@pytest.mark.parametrize(
    ("own", "filled_too", "lacking"),
    [
        *(({}, set(), set()), ({"none_option": [True, False]}, {"figure1b"}, set())),
        ({**BOTH, "without_none_languages": ["en"]}, {"figure1b"}, set()),
        ({**BOTH, "without_none_languages": ["fr"]}, set(), set()),
        ({"cross_lingual": [["en", "pl"]]}, {"figure6a"}, set()),
        ({"comparisons": {"reasoning": ["own"]}}, {"figure20", "figure21"}, set()),
        *((PAIRS, {"figure25"}, set()), ({"tasks": NEEDLE_TASKS}, set(), {"figure22", "figure23"})),
        ({"tasks": ["cwe_easy"]}, set(), set(FIGURES) - {f"figure{n}" for n in (5, 22, 23, 24)}),
    ],
)
def test_figures_that_a_configuration_cannot_fill_are_left_out(own, filled_too, lacking) -> None:
    bare = {"figure1b", "figure6a", "figure20", "figure21", "figure25"}
    found = set(filled("oneruler", "figures", block(**own)))
    assert set(FIGURES) - found == (bare | lacking) - filled_too
    tables = set(filled("oneruler", "tables", block(**own)))
    assert ("lengths_tau" in tables) is (own is PAIRS)
    if not own or own is PAIRS:
        assert set(TABLES) - tables == (set() if own else {"lengths_tau"})


def test_what_results_are_told() -> None:
    settings = RuleInputs(config(**PAIRS)).facts.run_settings("oneruler", "scores")
    expected = {
        **PAIRS["comparisons"],
        **{"reasoning": [], "wikipedia_articles": {}, "metric": "strict"},
        "backends": {"own": "oracle", "common": "oracle"},
        # The first model's tokenizer measures the texts of Figure 24, where no other is named.
        **{"text_tokenizer": "words", "encodings": {"cl100k": "cl100k_base"}},
        "decoding": dict.fromkeys(("own", "common"), "temperature 0.7, top-k 50, top-p 1"),
    }
    assert {key: settings[key] for key in expected} == expected
    assert (settings["setup"]["haystack"], settings["setup"]["multiquery_needles"]) == (None, 2)
    more = config()
    more["run"]["tokenizers"] = ["cl100k"]
    counted = RuleInputs(more).facts.run_settings("oneruler", "token_counts")
    assert counted["text_tokenizer"] == "cl100k"
    own = {"none_words": {"en": ["nil"]}}
    files = RuleInputs(config(**own, metric="released"))
    assert files.scores.scoring_settings("oneruler") == {**own, "answer_tags": []}


CROSSED = {"cross_lingual": [["en", "hi"]]}
UNKNOWN = "has the unknown language 'xx'"


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"languages": ["en", "xx"]}, f"languages {UNKNOWN}"),
        ({"cross_lingual": [["en", "xx"]]}, f"cross_lingual {UNKNOWN}"),
        ({"full_stops": {"xx": "."}}, f"full_stops {UNKNOWN}"),
        ({"none_words": {"xx": ["?"]}}, f"none_words {UNKNOWN}"),
        ({**BOTH, "without_none_languages": ["xx"]}, f"without_none_languages {UNKNOWN}"),
        ({"languages": []}, "cross_lingual are empty"),
        ({"lengths": [50], "max_new_tokens": 50}, "lengths has 50, and"),
        ({"none_option": [False], "tasks": ["niah_none"]}, "none_option is [false], but none of"),
        ({"without_none_languages": ["en"]}, "make benchmarks.oneruler.none_option [true, false]"),
        (
            CROSSED | {"cross_lingual_tasks": ["cwe_easy"], "tasks": ["niah_single"]},
            "cross_lingual_tasks has none of benchmarks.oneruler.tasks",
        ),
        ({"comparisons": {"equal_text": [["own", "own"]]}}, "measured in the same tokenizer"),
        ({"comparisons": {"reasoning": ["nobody"]}}, "comparisons.reasoning names 'nobody'"),
        ({"cross_lingual": [["en", "en"]]}, "benchmarks.oneruler.cross_lingual.0"),
        ({"data": "ruler"}, "benchmarks.oneruler.data is 'ruler'"),
    ],
)
def test_wrong_configurations(own: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        config(**own)
    assert message in str(caught.value)
