"""mLongRR's prompts: what stands in them and where, and that they fill their budgets."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_slices
from factories import configuration
from factories.answers import generations
from factories.mlongrr import PUNKT, settings, table, tables
from made_slices import CHARACTERS, WORDS, Made
from needlework.benchmarks.mlongrr import corpus as mlongrr
from needlework.benchmarks.mlongrr import factors, plan, scores
from needlework.benchmarks.mlongrr import prompts as construct
from needlework.benchmarks.mlongrr.haystack import Haystack
from needlework.benchmarks.mlongrr.tables import PROMPTS
from needlework.data import english_punkt
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.spans import span_text
from needlework.records import write_table
from needlework.results.numbers.prompt_table import describe
from own_languages import LANGUAGES, LATIN

MODEL = english_punkt.load(PUNKT)
TASKS = [
    {"n": 1, "depths": [0, 25, 50, 75, 100], "questions": ["number"]},
    {"n": 2, "depths": [0, 50], "questions": ["number", "city"]},
    {"n": 3, "depths": [0, 50, 75], "questions": ["number", "city"]},
    {"n": 5, "depths": [0], "spread": 100, "questions": ["number"]},
]
SAMPLE = {"haystacks": ["sample_books"], "data": "sample", "tasks": TASKS}
SAMPLE |= {"absent": [1, 3], "examples": 2}


def built(
    lengths: list[int],
    tokenizer: Any = WORDS,
    lang: str = "en",
    text: str | None = None,
    **own: Any,
) -> Made:
    slice_settings = settings(lang, lengths, **{**SAMPLE, **own})
    read = tables(slice_settings)
    if text is not None:
        read["haystack"] = {"en": mlongrr.articles(text, "en", MODEL)}
    return Made("mlongrr", slice_settings, read, tokenizer)


def made(lang: str, lengths: list[int], tokenizer: Any = WORDS, **own: Any) -> list[dict]:
    found = built(lengths, tokenizer, lang, **own)
    for row in found.rows:
        row["text"] = found.text(row)
        row["roles"] = [(s["role"], span_text(s, found.documents)) for s in row["prompt"]]
    return found.rows


def test_further_prompts_are_asked_where_there_are_some() -> None:
    # Those of the first prompt stay as they are, to the byte.
    alone = made("en", [500], absent=[])
    both = made("en", [500], absent=[], prompts=["paper", "prompt2"])
    texts = {row["instance_id"]: row["text"] for row in both if row["template"] == "paper"}
    assert texts == {row["instance_id"]: row["text"] for row in alone}
    further = [row for row in both if row["template"] == "prompt2"]
    assert {row["n_needles"] for row in further} == {1} and len(further) == 5 * 2
    prompts = ["paper", "translated"]
    rows = [row for row in made("zh", [500], prompts=prompts) if row["task"] == factors.ABSENT]
    translated = [row for row in rows if row["template"] == "translated"]
    assert 0 < len(translated) < len(rows)
    assert {row["references"][0] for row in translated} == {"无法回答"}
    asked = [row["text"] for row in translated if row["question"] == "city"]
    assert asked and all("哪座城镇的神奇数字最大？" in text for text in asked)
    assert {row["template"] for row in made("en", [500], prompts=prompts)} == {"paper"}


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
        reasoning = row["task"] == factors.REASONING
        assert row["chance"] == (1 / row["n_needles"] if reasoning else None)
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
    rows = built([9000], CHARACTERS, text=text, tasks=TASKS[:1], absent=[]).rows
    for row in rows:
        sentence = 19 + (1 if row["depth"] in (25, 50, 75) else 4)
        assert 9000 - 50 - sentence < row["n_tokens"] <= 9000 - 50


def test_released_budget_gives_every_prompt_one_haystack() -> None:
    rows = made("en", [600], budget="released")
    assert len({row["sentences"] for row in rows}) == 1
    assert all(row["haystack_tokens"] <= 500 < row["n_tokens"] for row in rows)


@pytest.mark.parametrize(
    ("budget", "column", "kept"), [("strict", "n_tokens", 50), ("released", "haystack_tokens", 100)]
)
def test_a_reserve_is_left_to_the_chat_template(budget: str, column: str, kept: int) -> None:
    spare = replace(WORDS, reserve=200)
    shorter, reserved = (
        made("en", [length], tokenizer, budget=budget)
        for length, tokenizer in ((700, WORDS), (900, spare))
    )
    for one, other in zip(shorter, reserved, strict=True):
        assert other[column] <= 700 - kept and other["length"] == 900
        assert other["sentences"] >= one["sentences"] - 2


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


def test_cells_depend_on_no_other_setting_or_language() -> None:
    def ids(rows: list[dict], **wanted: Any) -> set[str]:
        return {row["instance_id"] for row in rows if row.items() >= wanted.items()}

    one = made("en", [500], examples=1, tasks=TASKS[:2], absent=[])
    more = made("en", [500, 1000], examples=3, tasks=TASKS, absent=[1], languages=["en", "sw"])
    assert ids(one) <= ids(more, length=500)
    assert ids(one) == ids(made("en", [500], examples=1, tasks=TASKS[:2][::-1], absent=[]))
    assert not ids(one) & ids(made("en", [500], examples=1, tasks=TASKS[:2], absent=[], seed=1))
    # So that they can be compared in pairs, by example_id.
    drawn: dict[tuple, set] = {}
    for lang in ("en", "zh"):
        for row in made(lang, [500]):
            if row["task"] != factors.ABSENT and row["depth"] == 0:
                first = (row["numbers"].split()[:1], row["cities"].split("/")[0])
                drawn.setdefault(row["example_id"], set()).add(str(first))
    assert drawn
    assert all(len(draw) == 1 for draw in drawn.values())


@given(st.lists(st.integers(1, 9), min_size=2, max_size=25), st.sampled_from([0, 25, 50, 75, 100]))
def test_sentences_before_a_needle_are_the_fewest_or_the_most(sizes: list[int], depth: int) -> None:
    """The fewest with so many of the tokens; by the rule of GPT-4's files the most with no more."""
    text = " ".join(f"{'Word ' * (size - 1)}Word." for size in sizes)
    haystack = Haystack("x", "en", mlongrr.articles(text, "en", MODEL), Pieces(WORDS), 10**6)
    n, before = len(sizes), [0, *accumulate(sizes)]
    wanted = before[-1] * depth / 100
    fewest = next(i for i, tokens in enumerate(before) if tokens >= int(wanted))
    assert haystack.tokens(n) == before[-1] and haystack.before(n, depth, "gpt4o") == fewest
    assert haystack.before(n, depth, "gpt4") == sum(tokens <= wanted for tokens in before) - 1


def test_places_and_numbers_are_drawn_within_the_text() -> None:
    found = [construct.places((i,), 3, 4, 6) for i in range(200)]
    assert all(place[0] == 4 and sorted(place) == place for place in found)
    assert {tuple(place[1:]) for place in found} == {(4, 5), (4, 6), (5, 6)}
    assert construct.places((0,), 3, 4, 4) == [4, 4, 4]
    names = [("A", "a"), ("A", "a "), ("B", "b")]
    wanted = construct.draw((0,), 2, names, set())
    assert {needle.english for needle in wanted} == {"A", "B"}
    again = construct.draw((0,), 2, names, {wanted[0].number})
    assert wanted[0].number not in {needle.number for needle in again}
    long_numbers = construct.long_numbers("In 2021 8,134,445 or 12345678, not 999999.")
    assert long_numbers == ["8134445", "12345678"]
    text = table("sample_books", "en").to_pylist()[0]["text"]
    text = text.replace("one street", "8134445 streets")
    assert built([300], text=text).counts["long_numbers"] == 1
    with pytest.raises(UserError, match="a prompt with one sentence"):
        made("en", [120])


def test_a_text_that_runs_out_is_marked_counted_and_described(tmp_path) -> None:
    both = built([500, 4000])
    rows = both.rows
    assert len({row["instance_id"] for row in rows}) == len(rows)
    by_length = Counter((row["length"], row["exhausted"]) for row in rows)
    assert by_length == {(500, False): len(rows) // 2, (4000, True): len(rows) // 2}
    assert both.counts["exhausted"] == len(rows) // 2
    # An absent needle: one with one needle, and number and city of several.
    assert sum(row["task"] == factors.ABSENT for row in rows) == 2 * (1 + 2)
    file = tmp_path / "en-sample-books.parquet"
    write_table(both.built.instances, file, notes={"left_out": both.counts})
    described = describe(PROMPTS, [file]).to_dict("records")
    counted = [row for row in described if row["task"] == "found: exhausted"]
    assert [(row["lang"], row["prompts"]) for row in counted] == [("en", len(rows) // 2)]
    assert sum(row["prompts"] for row in described if row not in counted) == len(rows)


NONE = "उत्तर नहीं है"
QUESTIONS = {
    (1, "number"): "विशेष संख्या क्या है?",
    (2, "number"): "बड़ी विशेष संख्या क्या है?",
    (2, "city"): "किस नगर की विशेष संख्या बड़ी है?",
}


def _write(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def rows(tmp_path: Path) -> pa.Table:
    """The instances of a run in Hindi, as planning and jobs make them."""
    hindi = LANGUAGES["hi"]
    (tmp_path / "hi").mkdir()
    texts = [hindi.passage.format(town=town) for town in hindi.towns.split()]
    (tmp_path / "hi/text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    _write(
        tmp_path / "needles.csv",
        [["lang", "wording", "needle"], ["hi", "", "{city} की विशेष संख्या {number} है।"]],
    )
    _write(tmp_path / "cities.csv", [["row", "hi"], *enumerate(hindi.towns.split())])
    _write(
        tmp_path / "prompts.csv",
        [
            ["prompt", "n_needles", "question", "lang", "asks", "unanswerable", "text"],
            *(
                ["translated", n, question, "hi", asks, NONE, f"{hindi.read}\n{{text}}\n\n{asks}"]
                for (n, question), asks in QUESTIONS.items()
            ),
        ],
    )
    asked = [
        {"n": 1, "depths": [0], "questions": ["number"]},
        {"n": 2, "depths": [50], "questions": ["number", "city"]},
    ]
    own = {"languages": ["hi"], "prompts": ["translated"], "tasks": asked, "lengths": [1500]}
    config = configuration("mlongrr", {**own, "absent": [1], "examples": 2})
    config["run"] = {"models": ["oracle"], "benchmarks": ["mlongrr"]}
    config["sources"] = {"mlongrr": {"folder": str(tmp_path)}}
    files = RuleInputs(validated(config))
    own = files.prompts.settings("mlongrr")
    slice_settings = plan.settings(own, plan.slices(own)[0], [1500])
    read = {
        kind: {lang: made_slices.table(files, name, lang)}
        for kind, [(name, lang)] in plan.reads(slice_settings).items()
    }
    found = Made("mlongrr", slice_settings, read, CHARACTERS)
    return found.built.instances.append_column("shown", pa.array(map(found.text, found.rows)))


def _scores(rows: pa.Table, answer: Callable[[dict[str, Any]], str]) -> dict[str, set[float]]:
    given = generations(*((row["instance_id"], answer(row)) for row in rows.to_pylist()))
    found: dict[str, set[float]] = {}
    for row in scores.score(rows, given, model="m", settings={}).to_pylist():
        found.setdefault(row["metric"], set()).add(row["value"])
    return found


def test_prompts_and_scores_take_no_english(rows) -> None:
    for row in rows.to_pylist():
        text = "\n".join([row["shown"], *row["references"], row["cities"]])
        assert not LATIN.search(text), text
    right = _scores(rows, lambda row: f"{row['references'][0]}।")
    assert right["strict"] == right["careful"] == {1.0}

    def other(row: dict[str, Any]) -> str:
        towns = LANGUAGES["hi"].towns.split()
        return next(town for town in towns if town not in row["references"])

    wrong = _scores(rows, other)
    assert wrong["strict"] == wrong["careful"] == {0.0}
