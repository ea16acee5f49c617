"""What Lost in the Middle consists of, and what each slice of it depends on."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest
import yaml

from described import filled, results
from factories import ROOT, configuration
from factories.lost_in_the_middle import INDICES, block
from needlework.benchmarks.lost_in_the_middle import plan
from needlework.benchmarks.lost_in_the_middle.paper import ANSWERS, SETUP
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.layers import layered
from needlework.planning.rule_inputs import RuleInputs

NAME = "lost_in_the_middle"
TABLES, FIGURES = results(NAME, "tables"), results(NAME, "figures")
PRESET = yaml.safe_load((ROOT / "presets/lost_in_the_middle.yaml").read_text(encoding="utf-8"))
SAMPLE = {
    **{"needles": "sample_questions", "source": "constructed", "languages": ["en", "de"]},
    "tasks": ["closed_book", "oracle", "multi_document_qa", "key_value"],
    "random_from": "other_questions",
}
# No ablation.
PLAIN = {"query_aware": [], "random_order": [], "random_distractors": []}


def config(**own: Any) -> dict[str, Any]:
    return configuration(NAME, own)


def complaint(**own: Any) -> str:
    with pytest.raises(UserError) as raised:
        block(**own)
    return str(raised.value)


def documents(n: int, *indices: int) -> dict[str, Any]:
    return {"n_documents": [{"n": n, "gold_indices": [*indices]}]}


def pairs(n: int, *indices: int) -> dict[str, Any]:
    return {"n_pairs": [{"n": n, "indices": [*indices]}], "query_aware_pairs": []}


def slice_settings(own: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: plan.settings(own, name, []) for name in plan.slices(own)}


def test_the_paper_s_settings() -> None:
    own = block()
    documents = {entry["n"]: tuple(entry["gold_indices"]) for entry in own["n_documents"]}
    pairs = {entry["n"]: tuple(entry["indices"]) for entry in own["n_pairs"]}
    # Those of 140 pairs are the released commands'.
    assert documents | pairs == INDICES and list(documents) == [10, 20, 30]
    assert own["open_domain"] == [5, 10, 20, 30, 40, 50]
    assert (own["examples"], own["questions"], own["max_new_tokens"]) == (500, "all", 100)
    assert (own["needles"], own["source"]) == ("nq_open", "released")


def test_the_paper_s_slices_and_what_they_read() -> None:
    settings = slice_settings(block())
    read = {name: plan.reads(own) for name, own in settings.items()}
    released = [("nq_open_released", "en")]
    passages = [("nq_open_released_passages", "en")]
    pairs = {f"pairs_{n}": [(f"key_value_{n}", "en")] for n in (75, 140, 300)}
    assert read == {
        "en-closed-book": {"questions": [("nq_open", "en")]},
        "en-oracle": {"questions": [("nq_open", "en")]},
        "en-documents-plain": {"questions": released, "passages": passages},
        "en-documents-query-aware": {"questions": released, "passages": passages},
        "en-documents-random-order": {"questions": released, "passages": passages},
        "en-documents-random-distractors": {
            "questions": released,
            "passages": [("wikipedia", "en")],
        },
        "en-open-domain": {
            "questions": [("nq_open_retrieved", "en")],
            "passages": [("nq_open_retrieved_passages", "en")],
        },
        "en-pairs-uuid-plain": pairs,
        "en-pairs-uuid-query-aware": pairs,
    }
    assert not any(map(plan.searches, settings.values()))


def test_searches_compare_as_the_metric_does() -> None:
    own = block(**SAMPLE)
    name = plan.search(own, "de").comparison
    screen = import_module(f"needlework.data.comparison.{name}")
    for answer, text, held in (
        *(("the Commission", "Its commissioner spoke.", True), ("308", "at 3:08", True)),
        *(("3", "Nr. ٣", True), ("Commission", "nothing", False), ("*", "anything", False)),
    ):
        forms = screen.normalise(answer), screen.normalise(text)
        assert screen.contains(*forms) == held, (answer, text)
    # Another benchmark's searches compare as its own metric does.
    found = config(**SAMPLE)
    found["run"]["benchmarks"].append("mlneedle")
    files = RuleInputs(validated(found))
    assert files.retrieval.search("mlneedle", "de").comparison == "normalisation"
    assert files.retrieval.search("lost_in_the_middle", "de").comparison == name


def test_what_is_quoted_follows_tasks_and_languages() -> None:
    own = block(tasks=["closed_book", "oracle", "multi_document_qa", "key_value"])
    assert not any("retrieved" in corpus for corpus, _ in plan.quotes(own))
    own = block(source="constructed", tasks=["multi_document_qa"], random_distractors=[])
    assert {name[8:] for name, _ in plan.quotes(own)} == {"retrieved", "retrieved_passages"}
    own = block(tasks=["key_value"], keys=["uuid", "words"], key_languages=["sw", "ta"])
    names = [name for name in plan.slices(own) if name.endswith("plain")]
    assert names == ["en-pairs-uuid-plain", "sw-pairs-words-plain", "ta-pairs-words-plain"]
    assert plan.reads(plan.settings(own, names[1], [])) == {"words": [("oneruler_words", "sw")]}
    # Objects of words are made by the construction, so no corpus file holds what a prompt shows.
    assert ("oneruler_words", "sw") not in plan.quotes(own)
    for own in (block(), block(**SAMPLE)):
        for corpus, lang in plan.quotes(own):
            assert lang in languages_of(corpus)


def test_a_small_choice() -> None:
    small = documents(20, 19, 0) | pairs(75, 74) | PLAIN | {"random_order": [20]}
    found = slice_settings(block(tasks=["multi_document_qa", "key_value"], **small))
    assert [*found] == ["en-documents-plain", "en-documents-random-order", "en-pairs-uuid-plain"]
    ordered = found["en-documents-random-order"]
    assert ordered["places"] == [[20, [0, 19]]]
    assert (ordered["order"], ordered["distractors"]) == ("random", "retrieved")
    assert found["en-pairs-uuid-plain"]["places"] == [[75, [74]]]
    names = plan.slices(block(**SAMPLE, keys=["uuid", "words"], words="oneruler_words"))
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize(
    ("key", "value", "slices"),
    [
        ("seed", 5, ".*"),
        ("examples", 5, "en-pairs-.*"),
        ("random_from", "other_questions", "en-documents-random-distractors"),
        ("query_aware", [10], "en-documents-query-aware"),
        ("open_domain", [5], "en-open-domain"),
        ("comparisons", {"encoder_decoder": ["oracle"]}, "none"),
    ],
)
def test_settings_hold_what_a_slice_depends_on(key: str, value: Any, slices: str) -> None:
    before, after = slice_settings(block()), slice_settings(block(**{key: value}))
    assert json.loads(json.dumps(before)) == before
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if re.fullmatch(slices, name)}


def test_other_languages_are_searched_in_their_own() -> None:
    own = block(**SAMPLE | {"needles": "xquad", "languages": ["de", "el"]})
    found = slice_settings(own)
    assert plan.reads(found["el-documents-plain"]) == {
        "questions": [("xquad", "el")],
        "passages": [("xquad_passages", "el")],
    }
    assert plan.searches(found["el-documents-plain"]) == ["el"]
    assert plan.searches(found["el-documents-random-distractors"]) == []
    assert plan.searches(found["el-oracle"]) == []
    search = plan.search(own, "el")
    assert (search.needles, search.haystack) == ("xquad", "xquad_passages")
    assert (search.question_lang, search.lang, search.answer_languages) == ("el", "el", ["el"])


GERMAN = SAMPLE | {"languages": ["de"], "query_aware_pairs": []}
PAIRED = {"instruction_tuning": [["empty", "lexical"]]}
DECODER = {"encoder_decoder": ["oracle"]}


@pytest.mark.parametrize(
    ("own", "tables", "figures"),
    [
        ({"tasks": ["key_value"], "query_aware_pairs": []}, ["accuracy", "table4"], ["figure10"]),
        (
            {"tasks": ["multi_document_qa"], **documents(10, 0), **PLAIN},
            ["table5", "accuracy", "answered_in", "table3"],
            ["figure1", "figure5", "figure6", "figure18"],
        ),
        # Figures are of English, and of UUIDs.
        ({**GERMAN, "comparisons": {**PAIRED, **DECODER}}, [*TABLES], ["figure10"]),
        ({"tasks": ["key_value"], "keys": ["words"]}, ["accuracy", "table4"], []),
        (
            {"tasks": ["key_value"], "keys": ["uuid", "words"]},
            ["accuracy", "table4"],
            ["figure10", "figure12"],
        ),
        ({"comparisons": PAIRED}, [*TABLES], [n for n in FIGURES if n[6:] not in ("11", "15")]),
    ],
)
def test_results_follow_what_is_run(own: dict, tables: list, figures: list) -> None:
    full = block(**own)
    assert filled(NAME, "tables", full) == tables
    assert filled(NAME, "figures", full) == figures


def test_results_know_tokenizers_and_how_each_model_decodes() -> None:
    found = config()
    found["tokenizers"]["cl100k"] = {"kind": "tiktoken", "encoding": "cl100k_base"}
    found["run"] |= {"tokenizers": ["cl100k"], "models": ["greedy", "sampling"]}
    found["models"] = {
        name: {"backend": "vllm", "name": f"a/{name}", "sampling": {"temperature": temperature}}
        | {"tokenizer": "words", "context": 4096}
        for name, temperature in (("greedy", 0), ("sampling", 0.7))
    }
    settings = RuleInputs(validated(found)).facts.run_settings(NAME, "scores")
    assert settings["tokenizers"] == ["words", "cl100k"]
    assert settings["published_tokenizers"] == {"cl100k": "GPT-3.5-Turbo"}
    sampled = "temperature 0.7, top-k 50, top-p 1"
    assert settings["decoding"] == {"greedy": "greedy", "sampling": sampled}
    # All that stands in `setup` is read.
    setup = settings["setup"]
    assert set(setup) == {*SETUP, *ANSWERS, "source"}
    assert (setup["max_new_tokens"], setup["corpus"]) == (100, "nq_open")


MLQA = {"needles": "mlqa"}
OTHERS = {"random_from": "other_questions"}
ORCALE = {"comparisons": {"encoder_decoder": ["orcale"]}}
NINE = [documents(9, index)["n_documents"][0] for index in (0, 1)]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"languages": ["de"]}, "the unknown language 'de': the corpus nq_open has en"),
        (MLQA | {"source": "released"}, "source is 'released', .* `needles: nq_open` only"),
        (MLQA | {"random_distractors": [20]}, "'wikipedia', .* set `random_from: other_questions`"),
        (
            MLQA | OTHERS | {"source": "constructed"},
            "tasks has 'open_domain', which needs the released retrieval results",
        ),
        (documents(10, 0, 10), "n_documents has the index 10 for 10: .* so the last is 9"),
        (pairs(75, 75), "n_pairs has the index 75 for 75"),
        ({"n_documents": NINE}, "n_documents has the number 9 twice: join their `gold_indices`"),
        ({"query_aware": [15]}, "query_aware has 15, which is not among .*n_documents"),
        ({"random_order": [15]}, "random_order has 15"),
        ({"query_aware_pairs": [15]}, "query_aware_pairs has 15, .*n_pairs"),
        (pairs(76, 75), "n_pairs has 76, but the released files have 75, 140, 300 pairs"),
        (
            documents(31, 0) | {"query_aware": []},
            "n_documents has 31, .* have 30 documents at most: .* set `source: constructed`",
        ),
        (ORCALE, "comparisons.encoder_decoder names 'orcale', .* did you mean 'oracle'"),
        ({"n_documents": [{"n": 10}]}, "lacks the key 'gold_indices'"),
    ],
)
def test_what_cannot_be_built_is_said(own: dict, said: str) -> None:
    assert re.search(said, complaint(**own))


ALL_PAIRS = [75, 140, 300]


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ({}, ("released", [20], [20], [20], ALL_PAIRS)),
        # Other questions have neither released prompts nor distractors of Wikipedia.
        (MLQA, ("constructed", [20], [20], [], ALL_PAIRS)),
        (MLQA | OTHERS, ("constructed", [20], [20], [20], ALL_PAIRS)),
        # Numbers that the run does not ask.
        (documents(10, 0), ("released", [], [], [], None)),
        ({"n_pairs": [{"n": 300, "indices": [0]}]}, ("released", [20], [20], [20], [300])),
        # Texts that the user did not write.
        ({"instructions": {"en": {"documents": "{documents}"}}}, (None, [], [], [20], [])),
        ({"instructions": {"en": {"documents_query_aware": ""}}}, (None, [20], [], [20], [])),
        # What is set holds.
        ({"query_aware": [10], "random_order": []}, ("released", [10], [], [20], None)),
    ],
)
def test_unset_ablations_follow_what_the_run_asks(own: dict, found: tuple) -> None:
    keys = ("source", "query_aware", "random_order", "random_distractors", "query_aware_pairs")
    unset = given(block(tasks=["oracle"]) | dict.fromkeys(keys) | own)
    full = unset | plan.decided(unset)
    for key, value in zip(keys, found, strict=True):
        assert value is None or full[key] == value, key


@pytest.mark.parametrize(
    "own",
    [
        documents(30, 29) | PLAIN,
        documents(31, 30) | PLAIN | {"source": "constructed"},
        # Keys that no task reads are not refused.
        {"tasks": ["key_value"], **documents(40, 50)},
        {"tasks": ["key_value"], "languages": ["de"]},
        {"tasks": ["key_value"], **MLQA},
        {"tasks": ["oracle"], **pairs(76, 99)},
        {"tasks": ["oracle"], "keys": ["words"], "key_languages": ["xx"]},
        {"tasks": ["oracle"], "languages": ["de"], **MLQA},
    ],
)
def test_what_can_be_built_is_not_refused(own: dict) -> None:
    assert plan.slices(block(**own))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("unambiguous", "list.txt", "list of unambiguous questions is not public: leave it out"),
        ("unambiguous", None, "list of unambiguous questions is not public: leave it out"),
        ("gold_without_answer", "drop", "always kept, and counted as `gold_without_answer`"),
        ("gold_without_answer", "keep", "always kept, and counted as `gold_without_answer`"),
    ],
)
def test_a_key_that_went_says_what_to_do(key: str, value: str | None, said: str) -> None:
    told = complaint(**{key: value})
    assert told.startswith(f"benchmarks.lost_in_the_middle.{key} is ") and said in told


def test_the_preset_has_the_paper_s_models_and_settings() -> None:
    # Its OpenAI models are of 0613 (footnote 5); Claude-1.3 is no longer served.
    models = PRESET["models"]
    closed = ("openai", "inspect")
    served = {name: entry for name, entry in models.items() if entry["backend"] in closed}
    assert set(served) == {"gpt-3.5-turbo", "gpt-4.1-mini", "gpt-4.1", "claude"}
    assert not any("published" in entry for entry in served.values())
    # Of the others the name in the paper is that of the weights.
    for name, entry in models.items():
        if "published" in entry:
            weights = entry["name"].partition("/")[2].casefold().removesuffix("-hf")
            printed = entry["published"].casefold().replace(" (16k)", "-16k")
            assert weights == printed, name
    full = validated(layered(config(), [PRESET]))
    own = full["benchmarks"]["lost_in_the_middle"]
    wanted = block()
    same = set(wanted) - {"comparisons", "words", "key_languages", "seed"}
    assert {key: own[key] for key in same} == {key: wanted[key] for key in same}
    assert set(filled(NAME, "figures", own)) == set(FIGURES) - {"figure15"}
    for model in full["run"]["models"]:
        # Anthropic takes no temperature any more.
        greedy = None if model == "claude" else 0
        assert full["models"][model]["sampling"]["temperature"] == greedy, model
    settings = RuleInputs(full).facts.run_settings(NAME, "scores")
    assert settings["published_tokenizers"] == {"cl100k_base": "GPT-3.5-Turbo"}
    assert settings["published"]["mpt-30b-instruct"] == "MPT-30B-Instruct"


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("mpt_instruct", "Below is an instruction that describes a task. ", "\n### Response:\n"),
        ("vicuna", "<s>A chat between a curious user and an artificial ", " ASSISTANT:"),
        ("llama2_chat", "<s>[INST] <<SYS>>\nYou are a helpful, respectful and honest ", " [/INST]"),
    ],
)
def test_the_released_code_s_chat_formats(name: str, start: str, end: str) -> None:
    import jinja2

    template = (ROOT / f"resources/chat_templates/{name}.jinja").read_text(encoding="utf-8")
    prompt = "Question: {{ 1 }} it's\nAnswer:"
    shown = jinja2.Template(template).render(
        messages=[{"role": "user", "content": prompt}], bos_token="<s>", add_generation_prompt=True
    )
    assert shown.startswith(start) and shown.endswith(prompt + end)
