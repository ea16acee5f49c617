"""mLongRR's prompts: what stands in them and where, and that they fill their budgets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from factories.mlongrr import PUNKT, settings, table, tables
from needlework.benchmarks.mlongrr import corpus as mlongrr
from needlework.benchmarks.mlongrr import factors
from needlework.benchmarks.mlongrr import prompts as construct
from needlework.benchmarks.mlongrr.haystack import Haystack
from needlework.benchmarks.mlongrr.tables import PROMPTS
from needlework.data import english_punkt
from needlework.errors import UserError
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.spans import Documents, render, span_text
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import write_table
from needlework.results.page.prompts import describe

WORDS = load_tokenizer("words", {"kind": "words"})
CHARACTERS = load_tokenizer("characters", {"kind": "characters"})
MODEL = english_punkt.load(PUNKT)
TASKS = [
    {"n": 1, "depths": [0, 25, 50, 75, 100], "questions": ["number"]},
    {"n": 2, "depths": [0, 50], "questions": ["number", "city"]},
    {"n": 3, "depths": [0, 50, 75], "questions": ["number", "city"]},
    {"n": 5, "depths": [0], "spread": 100, "questions": ["number"]},
]
SAMPLE = {
    "haystacks": ["sample_books"],
    "data": "sample",
    "tasks": TASKS,
    "absent": [1, 3],
    "examples": 2,
}


def made(lang: str, lengths: list[int], tokenizer: Any = WORDS, **own: Any) -> list[dict]:
    """The rows of a slice over the sample, with their prompts as text."""
    slice_settings = settings(lang, lengths, **{**SAMPLE, **own})
    read = tables(slice_settings)
    documents = Documents()
    documents.add(f"sample_books/{lang}", read["haystack"][lang])
    rows = construct.build(slice_settings, read, [], tokenizer).instances.to_pylist()
    for row in rows:
        row["text"] = render(row["prompt"], documents)
        row["roles"] = [(span["role"], span_text(span, documents)) for span in row["prompt"]]
    return rows


def test_a_further_prompt_is_asked_where_there_is_one() -> None:
    """Those of the first prompt stay as they are, to the byte."""
    alone = made("en", [500], absent=[])
    both = made("en", [500], absent=[], prompts=["paper", "prompt2"])
    texts = {row["instance_id"]: row["text"] for row in both if row["template"] == "paper"}
    assert texts == {row["instance_id"]: row["text"] for row in alone}
    further = [row for row in both if row["template"] == "prompt2"]
    assert {row["n_needles"] for row in further} == {1} and len(further) == 5 * 2


@pytest.mark.parametrize("lang", ["en", "sw", "zh"])
def test_each_needle_stands_once_and_says_what_is_gold(lang: str) -> None:
    for row in made(lang, [500, 1000]):
        needles = [text for role, text in row["roles"] if role == "needle"]
        numbers = row["numbers"].split()
        cities = [city.split("/") for city in row["cities"].split("|") if city]
        wanted = 0 if row["task"] == factors.ABSENT else row["n_needles"]
        assert len(needles) == len(numbers) == len(cities) == wanted
        assert all(row["text"].count(needle) == 1 for needle in needles)
        for needle, number, (_, city) in zip(needles, numbers, cities, strict=True):
            assert number in needle
            assert city in needle
        assert sorted(re.findall(r"\d{7}", row["text"])) == sorted(numbers)
        assert len({tuple(city) for city in cities}) == wanted
        if row["task"] == factors.ABSENT:
            assert row["references"] == ["UNANSWERABLE"]
        elif row["question"] == "number":
            assert row["references"] == [max(numbers)]
        else:
            assert set(row["references"]) == set(cities[numbers.index(max(numbers))])


@pytest.mark.parametrize("tokenizer", [WORDS, CHARACTERS], ids=lambda t: t.name)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_strict_prompts_and_answers_fill_their_length(lang: str, tokenizer: Any) -> None:
    """The next sentence would not have fitted, but where the text ends."""
    books = table("sample_books", lang).to_pylist()[0]
    starts = [*books["sentence_starts"], len(books["text"])]
    lengths = [900] if tokenizer is WORDS else [1600]
    for row in made(lang, lengths, tokenizer):
        budget = row["length"] - row["max_new_tokens"]
        assert row["n_tokens"] == tokenizer.count(row["text"]) <= budget
        n = row["sentences"]
        following = books["text"][starts[n] : starts[n + 1]].strip() if n + 1 < len(starts) else ""
        assert following
        # A seam may cost a token.
        joint = 1 if tokenizer is CHARACTERS and lang == "en" else 0
        assert row["n_tokens"] + tokenizer.count(following) + joint > budget
        assert not row["exhausted"]


def test_white_space_of_the_text_leaves_no_prompt_short() -> None:
    """Joined, a text with empty lines has fewer tokens than as it is."""
    text = "\n\n\n\n".join(f"Sentence {'abcdefghij'[i % 10]} is here." for i in range(600))
    slice_settings = settings("en", [9000], **{**SAMPLE, "tasks": TASKS[:1], "absent": []})
    read = tables(slice_settings)
    read["haystack"] = {"en": mlongrr.articles(text, "en", MODEL)}
    rows = construct.build(slice_settings, read, [], CHARACTERS).instances.to_pylist()
    for row in rows:
        sentence = 19 + (1 if row["depth"] in (25, 50, 75) else 4)
        assert 9000 - 50 - sentence < row["n_tokens"] <= 9000 - 50


def test_released_budget_gives_every_prompt_one_haystack() -> None:
    for row in made("en", [600], budget="released"):
        assert row["haystack_tokens"] <= 500
        assert row["n_tokens"] > 500
        assert row["sentences"] == made("en", [600], budget="released")[0]["sentences"]


@pytest.mark.parametrize(
    ("budget", "column"), [("strict", "n_tokens"), ("released", "haystack_tokens")]
)
def test_a_reserve_is_left_to_the_chat_template(budget: str, column: str) -> None:
    spare = replace(WORDS, reserve=200)
    pairs = zip(
        made("en", [700], budget=budget), made("en", [900], spare, budget=budget), strict=True
    )
    for shorter, reserved in pairs:
        assert reserved[column] <= 700 - (50 if budget == "strict" else 100)
        assert reserved["sentences"] >= shorter["sentences"] - 2
        assert reserved["length"] == 900


def test_a_text_that_runs_out_is_marked_and_counted() -> None:
    slice_settings = settings("en", [500, 4000], **SAMPLE)
    built = construct.build(slice_settings, tables(slice_settings), [], WORDS)
    by_length = Counter((row["length"], row["exhausted"]) for row in built.instances.to_pylist())
    each = len(built.instances) // 2
    assert by_length == {(500, False): each, (4000, True): each}
    assert built.counts["exhausted"] == each


def test_needles_stand_at_their_depths() -> None:
    for row in made("en", [1000]):
        if row["depth"] is None:
            assert row["real_depth"] is row["sentences_before"] is None
            continue
        roles = [role for role, text in row["roles"] if text.strip()]
        context = roles[1 : roles.index("question")]
        if row["depth"] == 0:
            assert context[0] == "needle"
        if row["depth"] == 100:
            assert context.index("needle") > context.index("haystack")
        needle = [r for r, _ in row["roles"]].index("needle")
        before, whole = (
            sum(WORDS.count(text) for role, text in some if role == "haystack")
            for some in (row["roles"][1:needle], row["roles"][1:])
        )
        assert row["real_depth"] == pytest.approx(100 * before / whole, abs=0.01)
        assert abs(row["real_depth"] - row["depth"]) < 10


def test_a_cell_depends_on_no_other_setting() -> None:
    def ids(rows: list[dict], **wanted: Any) -> set[str]:
        return {
            row["instance_id"]
            for row in rows
            if all(row[key] == value for key, value in wanted.items())
        }

    one = made("en", [500], examples=1, tasks=TASKS[:2], absent=[])
    more = made("en", [500, 1000], examples=3, tasks=TASKS, absent=[1], languages=["en", "sw"])
    assert ids(one) <= ids(more, length=500)
    assert ids(one) == ids(made("en", [500], examples=1, tasks=TASKS[:2][::-1], absent=[]))
    assert not ids(one) & ids(made("en", [500], examples=1, tasks=TASKS[:2], absent=[], seed=1))


def test_no_two_prompts_of_a_slice_are_one() -> None:
    rows = made("en", [500, 1000])
    assert len({row["instance_id"] for row in rows}) == len(rows)
    absent = [row for row in rows if row["task"] == factors.ABSENT]
    assert len(absent) == 2 * (1 + 2)


def test_draws_are_the_same_across_languages_and_numbers_of_needles() -> None:
    """So that they can be compared in pairs, by example_id."""
    drawn: dict[tuple, set] = {}
    for lang in ("en", "zh"):
        for row in made(lang, [500]):
            if row["task"] != factors.ABSENT and row["depth"] == 0:
                first = (row["numbers"].split()[:1], row["cities"].split("/")[0])
                drawn.setdefault(row["example_id"], set()).add(str(first))
    assert drawn
    assert all(len(draw) == 1 for draw in drawn.values())


def test_the_question_may_be_in_the_haystacks_language() -> None:
    rows = made("zh", [500], prompts=["paper", "translated"])
    by_template = {row["template"]: row for row in rows if row["task"] == factors.ABSENT}
    assert by_template["translated"]["references"] == ["无法回答"]
    assert "哪座城镇的神奇数字最大？" in by_template["translated"]["text"]
    assert {row["template"] for row in made("en", [500], prompts=["paper", "translated"])} == {
        "paper"
    }


def test_the_rule_of_gpt4s_files_takes_the_most_sentences() -> None:
    """Ten sentences of two tokens: 25% are five tokens, after the third sentence or the second."""
    text = " ".join(f"Word w{i}." for i in range(10))
    haystack = Haystack("x", "en", mlongrr.articles(text, "en", MODEL), Pieces(WORDS), 10**6)
    assert haystack.tokens(10) == 20
    assert haystack.before(10, 25, "gpt4o") == 3
    assert haystack.before(10, 25, "gpt4") == 2
    assert [haystack.before(10, depth, "gpt4") for depth in (0, 50, 100)] == [0, 5, 10]


def test_places_begin_at_the_first_and_reach_the_last() -> None:
    found = [construct.places((i,), 3, 4, 6) for i in range(200)]
    assert all(place[0] == 4 and sorted(place) == place for place in found)
    assert {tuple(place[1:]) for place in found} == {(4, 5), (4, 6), (5, 6)}
    assert construct.places((0,), 3, 4, 4) == [4, 4, 4]


def test_no_number_of_the_text_is_drawn() -> None:
    wanted = construct.draw((0,), 2, [("A", "a"), ("A", "a "), ("B", "b")], set())
    assert {needle.english for needle in wanted} == {"A", "B"}
    again = construct.draw((0,), 2, [("A", "a"), ("A", "a "), ("B", "b")], {wanted[0].number})
    assert wanted[0].number not in {needle.number for needle in again}
    assert construct.long_numbers("In 2021 8,134,445 or 12345678, not 999999.") == [
        "8134445",
        "12345678",
    ]


def test_long_numbers_of_the_text_are_counted() -> None:
    slice_settings = settings("en", [300], **SAMPLE)
    read = tables(slice_settings)
    text = read["haystack"]["en"].to_pylist()[0]["text"].replace("one street", "8134445 streets")
    read["haystack"] = {"en": mlongrr.articles(text, "en", MODEL)}
    assert construct.build(slice_settings, read, [], WORDS).counts["long_numbers"] == 1


def test_a_length_below_the_prompt_is_refused() -> None:
    with pytest.raises(UserError, match="a prompt with one sentence"):
        made("en", [120])


def test_chance_is_one_among_the_needles() -> None:
    for row in made("en", [500]):
        expected = 1 / row["n_needles"] if row["task"] == factors.REASONING else None
        assert row["chance"] == expected


def test_prompts_are_described_by_cell(tmp_path) -> None:
    slice_settings = settings("en", [500, 4000], **SAMPLE)
    built = construct.build(slice_settings, tables(slice_settings), [], WORDS)
    file = tmp_path / "en-sample-books.parquet"
    write_table(built.instances, file, notes={"left_out": built.counts})
    rows: list[Mapping] = describe(PROMPTS, [file]).to_dict("records")
    counted = [row for row in rows if row["task"] == "found: exhausted"]
    assert [(row["lang"], row["prompts"]) for row in counted] == [("en", built.counts["exhausted"])]
    cells = [row for row in rows if row not in counted]
    assert sum(row["prompts"] for row in cells) == built.instances.num_rows
    assert pa.types.is_float64(built.instances.schema.field("real_depth").type)
