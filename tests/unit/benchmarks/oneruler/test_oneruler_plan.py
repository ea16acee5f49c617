"""What ONERULER consists of, and what each slice of it depends on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

import factories.oneruler
from described import filled, numbers, results
from factories.oneruler import LANGUAGES
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.oneruler import plan
from needlework.benchmarks.oneruler.paper import MODELS, TEXT
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.planning.schema import layered
from needlework.results import published

TABLES, FIGURES = results("oneruler", "tables"), results("oneruler", "figures")

ROOT = Path(__file__).resolve().parents[4]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
NEEDLE_TASKS = ["niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "niah_none"]


def config(**own: Any) -> dict[str, Any]:
    """A valid configuration of ONERULER, with `own` in its block."""
    config = copy.deepcopy(DEFAULT)
    config["benchmarks"]["oneruler"] = own
    config["run"]["benchmarks"] = ["oneruler"]
    config["tokenizers"]["cl100k"] = {"kind": "tiktoken", "encoding": "cl100k_base"}
    config["models"] = {
        name: {"backend": "oracle", "tokenizer": tokenizer, "context": 200_000}
        for name, tokenizer in (("own", "words"), ("common", "cl100k"))
    }
    config["run"]["models"] = ["own", "common"]
    return validated(config)


def block(seed: int = 0, **own: Any) -> dict[str, Any]:
    """The benchmark's block with every default, and a run's seed."""
    return config(**own)["benchmarks"]["oneruler"] | {"seed": seed}


def test_the_papers_set() -> None:
    own = block()
    assert len(plan.slices(own)) == 26
    assert plan.slices(own) == [f"{lang}-{lang}" for lang in LANGUAGES]
    slice_settings = plan.settings(own, "ta-ta", own["lengths"])
    cells = len(plan.variants(slice_settings)) * len(slice_settings["lengths"])
    assert 26 * cells * slice_settings["examples"] == 36_400


@pytest.fixture(scope="module")
def preset() -> dict[str, Any]:
    """The paper's preset, with every default."""
    given = yaml.safe_load((ROOT / "presets/oneruler.yaml").read_text("utf-8"))
    return validated(layered(DEFAULT, [given]))


def test_the_preset_asks_what_the_paper_asks_and_no_more(preset) -> None:
    own, asked = Layout(preset).settings("oneruler"), {}
    for name in plan.slices(own):
        slice_settings = plan.settings(own, name, own["lengths"])
        per_task = len(slice_settings["lengths"]) * slice_settings["examples"]
        kind = "alone" if len(set(plan.slice_languages(name))) == 1 else "crossed"
        for task, offered in plan.variants(slice_settings):
            key = kind, offered or task not in plan.NEEDLES
            asked[key] = asked.get(key, 0) + per_task
            assert kind == "alone" or task in plan.NEEDLES
            assert offered or task not in plan.NEEDLES or name == "en-en"
    assert asked == {("alone", True): 36_400, ("alone", False): 200, ("crossed", True): 6_000}
    header = (ROOT / "presets/oneruler.yaml").read_text("utf-8").split("\nrun:")[0]
    for number in (sum(asked.values()), *asked.values()):
        assert f"{number:,}" in header


def test_preset_models_are_compared_as_the_paper_ran_them(preset) -> None:
    settings = Layout(preset).run_settings("oneruler", "scores")
    assert preset["models"]["deepseek-r1"]["sampling"]["temperature"] == 0.6
    assert set(MODELS) - set(settings["published"].values()) == {"Gemini 1.5 Flash"}
    for model, name in settings["published"].items():
        assert settings["decoding"][model] == {"o3-mini-high": "the endpoint's own"}.get(
            name, "greedy"
        )
    # Figure 24 is of texts measured as in the paper's appendix D.
    assert settings["encodings"][settings["text_tokenizer"]] == TEXT["measuring tokenizer"]
    assert TEXT["length"] in preset["benchmarks"]["oneruler"]["lengths"]
    assert Layout(preset).text_tokenizer == settings["text_tokenizer"]


def test_the_preset_s_numbers_are_compared_with_the_paper_s(preset) -> None:
    """Of single models all; of the means over all models none, as one of them is no longer served."""
    settings = Layout(preset).run_settings("oneruler", "scores")
    assert settings["metric"] == "strict" and settings["setup"]["cwe_frequencies"] == "released"
    ours = {name: model for model, name in settings["published"].items()}
    papers = factories.oneruler.SETTINGS["published"]
    scores = factories.oneruler.make(
        tuple(model for model in factories.oneruler.MODELS if papers[model] in ours),
        examples=1,
    )
    scores = scores.assign(model=scores["model"].map(lambda model: ours[papers[model]]))
    printed = published.load(ROOT / "resources/published/oneruler.csv")
    for name in ("figure1b", "figure3", "figure22"):
        data = numbers(FIGURES[name], scores, printed, settings)
        beside = data[(data["metric"] == "released") & data["published"].notna()]
        assert len(beside) and set(beside["comparison"]) <= {"covers", "below", "above"}, name
    for name in ("figure1a", "figure4b", "figure5", "figure6a"):
        data = numbers(FIGURES[name], scores, printed, settings)
        beside = data[(data["metric"] == "released") & data["published"].notna()]
        assert set(beside["comparison"]) == {"cannot tell: other models"}, name


def test_pairs_of_languages_are_slices_of_their_own() -> None:
    own = block(languages=["pl"], cross_lingual=[["en", "ko"], ["ko", "en"]])
    assert plan.slices(own) == ["pl-pl", "en-ko", "ko-en"]
    slice_settings = plan.settings(own, "en-ko", [8000])
    assert (slice_settings["instruction_lang"], slice_settings["context_lang"]) == ("en", "ko")
    assert plan.reads(slice_settings) == {
        "books": [("oneruler_books", "ko")],
        "nouns": [("oneruler_nouns", "en"), ("oneruler_nouns", "ko")],
        "words": [("oneruler_words", "ko")],
        "prompts": [("oneruler_prompts", "en"), ("oneruler_prompts", "ko")],
    }
    assert plan.quotes(own) == [("oneruler_books", lang) for lang in ("en", "ko", "pl")]
    assert load_benchmark("oneruler").plan.searches(slice_settings) == []


def test_a_slice_reads_only_what_its_tasks_need() -> None:
    own = block(tasks=["cwe_easy"])
    found = plan.reads(plan.settings(own, "hi-hi", [8000]))
    assert found == {
        "books": [],
        "nouns": [],
        "words": [("oneruler_words", "hi")],
        "prompts": [("oneruler_prompts", "hi")],
    }
    assert plan.quotes(own) == []
    assert plan.reads(plan.settings(block(tasks=["niah_none"]), "hi-hi", [8]))["words"] == []


def test_no_slice_depends_on_another_language_or_on_an_order() -> None:
    first = block(languages=["en", "hi"], tasks=["cwe_hard", "niah_single"])
    second = block(languages=["hi", "ta", "en"], tasks=["niah_single", "cwe_hard"])
    assert plan.settings(first, "hi-hi", [9, 8]) == plan.settings(second, "hi-hi", [8, 9])
    # What changes a slice's prompts is in its settings.
    for change in ({"seed": 1}, {"examples": 3}, {"full_stops": {"hi": "।"}}):
        assert plan.settings(block(**change), "hi-hi", [8]) != plan.settings(block(), "hi-hi", [8])
    # What does not is not.
    for change in ({"metric": "released"}, {"multiquery_needles": 4}):
        own = block(tasks=["niah_single"], **change)
        assert plan.settings(own, "hi-hi", [8]) == plan.settings(
            block(tasks=["niah_single"]), "hi-hi", [8]
        )


def test_the_option_to_answer_none() -> None:
    def asked(**own: Any) -> list[tuple[str, bool]]:
        return plan.variants(plan.settings(block(**own), "en-en", [8000]))

    words = [("cwe_easy", False), ("cwe_hard", False)]
    assert asked() == [(task, True) for task in NEEDLE_TASKS] + words
    both = asked(none_option=[False, True])
    assert set(both) - set(asked()) == {("niah_single", False)}
    only = asked(none_option=[False], without_none_tasks=["niah_multikey", "niah_single"])
    assert only == [("niah_single", False), ("niah_multikey", False), *words]


def test_languages_that_are_asked_without_the_option() -> None:
    own = block(languages=["en", "hi"], cross_lingual=[["en", "hi"]], none_option=[True, False])

    def without(**change: Any) -> set[str]:
        mine = {**own, **change}
        return {
            name
            for name in plan.slices(mine)
            if ("niah_single", False) in plan.variants(plan.settings(mine, name, [8000]))
        }

    assert without() == {"en-en", "hi-hi", "en-hi"}
    assert without(without_none_languages=["en"]) == {"en-en"}
    assert without(without_none_languages=[]) == set()
    # The other slices are what they are without this ablation.
    mine = {**own, "without_none_languages": ["en"]}
    plain = {**own, "none_option": [True]}
    for name in ("hi-hi", "en-hi"):
        assert plan.settings(mine, name, [8]) == plan.settings(plain, name, [8])
    assert plan.settings(mine, "en-en", [8]) == plan.settings(own, "en-en", [8])


def test_tasks_of_pairs_of_languages() -> None:
    pair = {"languages": ["en"], "cross_lingual": [["en", "hi"]]}

    def tasks(name: str, **own: Any) -> list[str]:
        return plan.settings(block(**pair, **own), name, [8000])["tasks"]

    assert tasks("en-hi") == tasks("en-en") == list(plan.TASKS)
    few = ["niah_none", "niah_single"]
    assert tasks("en-hi", cross_lingual_tasks=few) == ["niah_single", "niah_none"]
    assert tasks("en-en", cross_lingual_tasks=few) == list(plan.TASKS)
    assert tasks("en-hi", cross_lingual_tasks=few, tasks=["niah_none"]) == ["niah_none"]
    words = block(**pair, cross_lingual_tasks=["cwe_easy"])
    assert plan.quotes(words) == [("oneruler_books", "en")]
    assert "figure6a" not in filled("oneruler", "figures", words)


def test_needles_and_frequencies() -> None:
    def shape(task: str, **own: Any) -> tuple:
        return tuple(plan.needles(plan.settings(block(**own), "en-en", [8000]), task))

    # Keys, values of each, keys asked, whether they are there (paper, section 2.1).
    assert [shape(task) for task in NEEDLE_TASKS] == [
        (1, 1, 1, True),
        (4, 1, 1, True),
        (1, 4, 1, True),
        (2, 1, 2, True),
        (4, 1, 1, False),
    ]
    assert shape("niah_multiquery", multiquery_needles=4) == (4, 1, 2, True)


def test_frequencies_of_the_paper_and_of_the_released_code() -> None:
    def counts(task: str, **own: Any) -> list[tuple[int, int]]:
        slice_settings = plan.settings(block(**own), "en-en", [7999, 8000, 8001])
        return [tuple(plan.frequencies(slice_settings, task, n)) for n in slice_settings["lengths"]]

    assert counts("cwe_easy") == [(10, 1), (30, 3), (30, 3)]
    assert counts("cwe_hard") == [(10, 5), (20, 10), (20, 10)]
    released = {"cwe_frequencies": "released"}
    assert counts("cwe_easy", **released) == [(10, 1), (10, 1), (30, 3)]
    assert counts("cwe_hard", **released) == [(10, 5), (10, 5), (20, 10)]
    # A slice without lists does not depend on it.
    mine, theirs = (block(tasks=["niah_single"], **own) for own in ({}, released))
    assert plan.settings(mine, "hi-hi", [8]) == plan.settings(theirs, "hi-hi", [8])
    assert plan.settings(block(), "hi-hi", [8]) != plan.settings(block(**released), "hi-hi", [8])


def test_full_stops() -> None:
    def stop(lang: str, **own: Any) -> str:
        return plan.settings(block(**own), f"{lang}-{lang}", [8])["full_stop"]

    assert {lang: stop(lang) for lang in LANGUAGES if stop(lang) != "."} == {
        "fa": "۔",
        "ja": "。",
        "zh": "。",
    }
    assert stop("hi", full_stops={"hi": "।"}) == "।"
    assert stop("zh", full_stops={"hi": "।"}) == "。"


def test_room_for_the_answer() -> None:
    def room(**own: Any) -> dict[str, int | None]:
        return plan.settings(block(**own), "en-ta", [8000])["max_new_tokens"]

    assert room() == {"niah": None, "cwe": None}
    assert room(max_new_tokens="released") == {"niah": 30, "cwe": 50}
    assert room(max_new_tokens=99) == {"niah": 99, "cwe": 99}


def test_figures_that_a_configuration_cannot_fill_are_left_out() -> None:
    def missing(**own: Any) -> set[str]:
        return set(FIGURES) - set(filled("oneruler", "figures", block(**own)))

    bare = {"figure1b", "figure6a", "figure20", "figure21", "figure25"}
    assert missing() == bare
    assert missing(none_option=[True, False]) == bare - {"figure1b"}
    both = {"none_option": [True, False], "languages": ["de", "en"]}
    assert missing(**both, without_none_languages=["en"]) == bare - {"figure1b"}
    assert missing(**both, without_none_languages=["fr"]) == bare
    assert missing(cross_lingual=[["en", "pl"]]) == bare - {"figure6a"}
    assert missing(comparisons={"reasoning": ["own"]}) == bare - {"figure20", "figure21"}
    assert missing(comparisons={"equal_text": [["own", "common"]]}) == bare - {"figure25"}
    assert missing(tasks=NEEDLE_TASKS) == bare | {"figure22", "figure23"}
    assert set(filled("oneruler", "figures", block(tasks=["cwe_easy"]))) == {
        "figure5",
        "figure22",
        "figure23",
        "figure24",
    }
    assert FIGURES["figure24"].needs == "token_counts"
    assert set(TABLES) - set(filled("oneruler", "tables", block())) == {"lengths_tau"}
    pairs = {"equal_text": [["own", "common"]]}
    assert set(filled("oneruler", "tables", block(comparisons=pairs))) == set(TABLES)


def test_what_results_are_told() -> None:
    pairs = [["own", "common"]]
    settings = Layout(config(comparisons={"equal_text": pairs})).run_settings("oneruler", "scores")
    assert settings["equal_text"] == pairs and settings["reasoning"] == []
    assert settings["backends"] == {"own": "oracle", "common": "oracle"}
    assert settings["metric"] == "strict" and settings["wikipedia_articles"] == {}
    assert settings["setup"] == {
        "data": "oneruler",
        "haystack": None,
        "multiquery_needles": 2,
        "cwe_frequencies": "paper",
    }
    # The first model's tokenizer measures the texts of Figure 24, where no other is named.
    assert settings["text_tokenizer"] == "words"
    assert settings["encodings"] == {"cl100k": "cl100k_base"}
    assert settings["decoding"] == dict.fromkeys(
        ("own", "common"), "temperature 0.7, top-k 50, top-p 1"
    )
    more = config()
    more["run"]["tokenizers"] = ["cl100k"]
    assert Layout(more).run_settings("oneruler", "token_counts")["text_tokenizer"] == "cl100k"


def test_scores_depend_on_words_that_scoring_reads_alone() -> None:
    files = Layout(config(none_words={"en": ["nil"]}, metric="released"))
    assert files.scoring_settings("oneruler") == {"none_words": {"en": ["nil"]}, "answer_tags": []}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"languages": ["en", "xx"]}, "languages has the unknown language 'xx'"),
        ({"cross_lingual": [["en", "xx"]]}, "cross_lingual has the unknown language 'xx'"),
        ({"full_stops": {"xx": "."}}, "full_stops has the unknown language 'xx'"),
        ({"none_words": {"xx": ["?"]}}, "none_words has the unknown language 'xx'"),
        ({"languages": []}, "cross_lingual are empty"),
        ({"lengths": [50], "max_new_tokens": 50}, "lengths has 50, and"),
        (
            {"none_option": [False], "tasks": ["niah_none"]},
            "none_option is [false], but none of",
        ),
        ({"without_none_languages": ["en"]}, "make benchmarks.oneruler.none_option [true, false]"),
        (
            {"none_option": [True, False], "without_none_languages": ["xx"]},
            "without_none_languages has the unknown language 'xx'",
        ),
        (
            {"cross_lingual": [["en", "hi"]], "cross_lingual_tasks": ["cwe_easy"]}
            | {"tasks": ["niah_single"]},
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
