"""ONERULER's prompts: what stands in them and where, and that they fill their budgets exactly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_slices
from factories.oneruler import book_of, slice_settings, tables
from made_slices import WORDS
from needlework.benchmarks.oneruler import niah, plan
from needlework.benchmarks.oneruler.cwe import vocabulary
from needlework.benchmarks.oneruler.niah import Haystack
from needlework.benchmarks.oneruler.tables import PROMPTS
from needlework.errors import UserError
from needlework.prompts.counting.pieces import Pieces, fit
from needlework.prompts.spans import Documents, numbered, render, span_text
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import DOCUMENTS, write_table
from needlework.results.numbers.prompt_table import describe
from needlework.seeding import rng

QUOTED = re.compile(r'["“„](.+?)["”]')


class Made(made_slices.Made):
    def __init__(self, settings: Any, tables: made_slices.Tables, tokenizer: Tokenizer) -> None:
        super().__init__("oneruler", settings, tables, tokenizer)
        if self.built.documents is not None:
            assert self.built.documents.schema == DOCUMENTS

    def needles(self, row: Mapping) -> list[str]:
        return self.spans(row, "needle")

    def context(self, row: Mapping) -> str:
        return "".join(self.spans(row, "haystack", "needle"))

    def lists(self, row: Mapping) -> list[str]:
        """The list of words, as often as it stands in a prompt."""
        return [span_text(span, self.documents) for span in row["prompt"] if span["source"]]

    def nouns(self, lang: str) -> list[str]:
        return self.tables["nouns"][lang]["noun"].to_pylist()

    def described(self, folder: Path):
        """What the page says of the prompts, from their file."""
        file = folder / f"{self.settings['slice']}.parquet"
        write_table(self.built.instances, file, notes={"left_out": self.built.counts})
        return describe(PROMPTS, [file])


@pytest.fixture
def make(mirror: Path) -> Callable[..., Made]:
    def made(pair, lengths, tokenizer=WORDS, read=None, **own: Any) -> Made:
        settings = slice_settings(pair, lengths, **own)
        return Made(settings, read or tables(mirror, plan.reads(settings)), tokenizer)

    return made


ENGLISH = """Please read and memorize the text below. I will ask you about it later.

<text>
{context}
</text>

<Question> What special magic numbers associated with "{key}" are mentioned in the provided text? \
Please list all that apply.{none}</Question>


Please provide your answer in the following format:
 <Answer> List all numbers here </Answer>"""


def test_the_english_prompt_word_for_word(make) -> None:
    """The released format, with and without the none sentence (paper, Figures 9 and 14)."""
    made = make("en-en", [400], tasks=["niah_single"], none_option=[True, False], examples=2)
    assert [row["none_option"] for row in made.rows] == [True, True, False, False]
    for row in made.rows:
        (needle,) = made.needles(row)
        key = re.fullmatch(r'The special magic number for "(.+)" is: (\d{7})\.', needle)
        assert row["references"] == [key[2]]
        sentence = ' If no such numbers exist, please answer "none".' if row["none_option"] else ""
        filled = {"context": made.context(row), "key": key[1], "none": sentence}
        assert made.text(row) == ENGLISH.format(**filled)


def test_a_pair_hides_in_one_language_and_asks_in_another(make) -> None:
    made = make("ko-en", [600], tasks=["niah_single", "niah_none"], examples=30)
    for row in made.rows:
        text = made.text(row)
        hidden = re.findall(r'The special magic number for "(.+?)" is: \d{7}\.', text)
        asked = re.search(r'언급된 "(.+?)"에 대한', text)[1]
        rows = [made.nouns("en").index(key) for key in hidden] + [made.nouns("ko").index(asked)]
        assert not {21, 28, 42, 64, 65} & set(rows)
        assert made.nouns("ko").count(asked) == 1
        if row["task"] == "niah_none":
            assert len(set(rows)) == 5 and row["references"] == ["없음"]
        else:
            assert rows[0] == rows[1] and row["references"][0] in text
        # As released, sentences are joined as in the context's language.
        assert "무엇인가요? 해당되는 모든 것을 나열하세요. 해당되는" in text
    across = make("ko-ja", [900], tasks=["niah_none"], examples=1)
    assert "무엇인가요?해당되는 모든" in across.text(across.rows[0])
    words = make("en-ta", [2500], tasks=["cwe_easy"], examples=1)
    assert words.text(words.rows[0]).startswith("Below is a numbered list of words.")
    assert set(words.rows[0]["references"]) <= set(words.tables["words"]["ta"]["word"].to_pylist())


@pytest.mark.parametrize("lang", ["en", "vi"])
def test_answers_are_the_numbers_of_the_asked_keys(make, lang: str) -> None:
    made = make(f"{lang}-{lang}", [900], tasks=[*plan.NEEDLES])
    assert {row["task"] for row in made.rows} == set(plan.NEEDLES)
    for row in made.rows:
        keys, values, asked, present = plan.NEEDLES[row["task"]]
        text, needles = made.text(row), made.needles(row)
        numbers = [re.search(r"\d{7}", needle)[0] for needle in needles]
        assert len(set(numbers)) == len(needles) == row["n_needles"] == keys * values
        assert all(text.count(number) == 1 for number in numbers)
        names = [QUOTED.search(needle)[1] for needle in needles]
        assert sorted(Counter(names).values()) == [values] * keys
        (question,) = made.spans(row, "question")
        in_question = set(QUOTED.findall(question)) - {"none", "Không có"}
        assert len(in_question) == asked
        right = {n for n, name in zip(numbers, names, strict=True) if name in in_question}
        if present:
            assert set(row["references"]) == right and row["metric"] == "numbers"
            assert len(right) == asked * values
        else:
            assert not right and row["metric"] == "none"


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_needles_stand_between_the_books_first_sentences(make, lang: str) -> None:
    made = make(f"{lang}-{lang}", [1500], tasks=["niah_multikey"], examples=20)
    table = made.tables["books"][lang]
    text, starts = table["text"][0].as_py(), table["sentence_starts"][0].as_py()
    joint = "" if lang == "ja" else " "
    sentences = [text[a:b].removesuffix(joint) for a, b in pairwise([*starts, len(text)])]
    seen = set()
    for row in made.rows:
        found, place, depths = made.context(row), 0, []
        needles = set(made.needles(row))
        while found:
            piece = next((n for n in needles if found.startswith(n)), sentences[place])
            assert found.startswith(piece)
            found = found[len(piece) :].removeprefix(joint)
            depths += [place] if piece in needles else []
            place += piece not in needles
        assert len(depths) == 4
        # Of 40 equally spaced depths of 0 to 100%, rounded.
        assert set(depths) <= {place * round(100 * k / 39) // 100 for k in range(40)}
        seen |= {depth / place for depth in depths}
    assert min(seen) < 0.1 and max(seen) > 0.9 and len(seen) > 25


def test_books_follow_and_words_and_nouns_are_told_apart() -> None:
    both = pa.concat_tables([book_of(["A b.", "C d."]), book_of(["E f.", "G h.", "I j."])])
    pieces = Pieces(WORDS)
    hay = Haystack("books", "en", both, pieces, 25)
    sentences = ["A b.", "C d.", "E f.", "G h.", "I j.", "A b.", "C d."]
    assert [pieces.text(hay.numbers(i, i + 1)) for i in range(7)] == sentences
    assert pieces.text(hay.numbers(2, 4)) == "E f. G h."
    assert pieces.text(hay.numbers(1, 7)) == " ".join(sentences[1:])
    assert pieces.tokens(hay.numbers(1, 7)) == 12
    assert vocabulary(["b", "Ema", "ema", "b", "ｂ"]) == ["Ema", "b"]
    # Asked for "Gift", a German context would have the English gift's row and the poison's.
    lists = {
        "en": list_of("noun", "gift", "poison", "cat", "dog"),
        "de": list_of("noun", "Geschenk", "Gift", "Katze", "Hund"),
    }
    assert set(niah.nouns(lists, "en", "de").context) == {1, 2, 3}
    assert set(niah.nouns(lists, "de", "en").context) == {0, 2, 3}
    assert set(niah.nouns(lists, "de", "de").context) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("lang", "length", "frequencies"),
    # Words with most tokens, a list that stands twice, the smallest vocabulary; then the released lists.
    [
        *((lang, 8000, "paper") for lang in ("ta", "vi", "st")),
        *(("fr", length, "released") for length in (8000, 8001)),
    ],
)
def test_words_stand_as_often_as_the_task_says(make, named_tokenizer, lang, length, frequencies):
    """Paper, section 2.2; the released code has lower frequencies up to 8,000 tokens."""
    own = {"tasks": ["cwe_easy", "cwe_hard"], "cwe_frequencies": frequencies, "examples": 1}
    made = make(f"{lang}-{lang}", [length], named_tokenizer("cl100k_base"), **own)
    lower = frequencies == "released" and length == 8000
    expected = [(10, 1), (10, 5)] if lower else [(30, 3), (20, 10)]
    for row, (common, other) in zip(made.rows, expected, strict=True):
        listed, *again = made.lists(row)
        # The released Vietnamese template has the list twice.
        assert again == ([listed] if lang == "vi" else [])
        entries = [entry.split(". ", 1) for entry in re.split(r" (?=\d+\. )", listed)]
        assert [int(n) for n, _ in entries] == list(range(1, len(entries) + 1))
        counts = Counter(word for _, word in entries)
        assert {w for w, n in counts.items() if n == common} == set(row["references"])
        assert set(counts.values()) == {common, other} and len(row["references"]) == 10
        # Shuffled: the common words are not together.
        assert len({w for _, w in entries[:50]}) > 11 and len(counts) > 11
        assert row["metric"] == "words" and not row["none_option"] and row["n_needles"] == 0
        assert 0.98 * length < row["n_tokens"] + row["max_new_tokens"] <= length
        assert not row["exhausted"]


def test_as_many_words_as_fit(make, named_tokenizer) -> None:
    """The naive way finds the same number of words: add one after the other, count the whole list."""
    cl100k = named_tokenizer("cl100k_base")
    made = make("sv-sv", [1800], cl100k, examples=1, tasks=["cwe_hard"])
    words = vocabulary(made.tables["words"]["sv"]["word"].to_pylist())
    (row,) = made.rows
    drawn = rng("oneruler", 0, "cwe_hard", "sv", 0, "words").permutation(len(words))
    before, _, after = made.text(row).partition("1. ")
    after = "</" + after.partition("</")[2]
    fitting = 10
    while True:
        common, other = drawn[:10], drawn[10 : fitting + 1]
        text = numbered([words[k] for k in [*common] * 10 + [*other] * 5])
        if cl100k.count(f"{before}{text} {after}") > 1800 - row["max_new_tokens"]:
            break
        fitting += 1
    assert len(set(re.findall(r"\d+\. (\S+)", made.lists(row)[0]))) == fitting
    assert row["references"] == [words[k] for k in drawn[:10]]


def test_a_vocabulary_that_runs_out_is_said(make, tmp_path: Path) -> None:
    made = make("st-st", [4000, 60_000], tasks=["cwe_easy"], examples=1)
    short, long = made.rows
    assert (short["exhausted"], long["exhausted"]) == (False, True)
    distinct = set(re.findall(r"\d+\. (\S+)", made.lists(long)[0]))
    assert len(distinct) == len(vocabulary(made.tables["words"]["st"]["word"].to_pylist()))
    described = made.described(tmp_path).set_index("length")
    assert described.loc[60_000, "exhausted"] == 1 and described.loc[4000, "exhausted"] == 0
    assert described.loc[4000, "fill"] > 0.99 > 0.4 > described.loc[60_000, "fill"]
    # Models' jobs read the lists from a file.
    write_table(made.built.documents, tmp_path / "lists.parquet")
    documents = Documents.read({"oneruler/st-st": tmp_path / "lists.parquet"})
    for row in made.rows:
        assert render(row["prompt"], documents) == made.text(row)


def rounded(text: str) -> int:
    """A tokenizer in which no part's tokens are those of the whole."""
    return int(len(text) / 3.7) + len(text) % 3


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        *(("cl100k_base", "ta-ta"), ("cl100k_base", "fa-ja"), ("o200k_base", "zh-zh")),
        *(("mistral-v1", "fa-fa"), ("words", "st-st"), ("adverse", "zh-zh"), ("adverse", "ta-ta")),
    ],
)
def test_every_prompt_fills_its_length(make, named_tokenizer, name: str, pair: str) -> None:
    tokenizer = Tokenizer(name, rounded) if name == "adverse" else named_tokenizer(name)
    made = make(pair, [4000], tokenizer, examples=1, none_option=[True, False])
    assert len(made.rows) == 8
    lang = made.settings["context_lang"]
    book = made.tables["books"][lang]
    joint = "" if lang in ("zh", "ja") else " "
    costliest = max(made.tables["words"][lang]["word"].to_pylist(), key=tokenizer.count)
    for row in made.rows:
        text, budget = made.text(row), 4000 - row["max_new_tokens"]
        assert row["n_tokens"] == tokenizer.count(text) <= budget
        if row["task"].startswith("cwe"):
            n = plan.frequencies(plan.Slice(**made.settings), row["task"], 4000).other
            more = tokenizer.count(f"1. a {' '.join([f'9999. {costliest}'] * n)}")
            assert row["n_tokens"] + more > budget or row["exhausted"]
            continue
        last = max(span["end"] for span in row["prompt"] if span["source"])
        starts = [s for s in book["sentence_starts"][0].as_py() if s >= last]
        following = book["text"][0].as_py()[starts[0] : starts[1] - len(joint)]
        longer = text.replace(made.context(row), made.context(row) + joint + following)
        # The needles of a longer context stand elsewhere: a token or two at the seams.
        assert tokenizer.count(longer) > budget - (8 if name == "adverse" else 2)


@pytest.mark.parametrize(("pair", "length"), [("ko-ko", 14_000), ("vi-vi", 3000)])
def test_each_finished_prompt_is_tokenized_once(make, named_tokenizer, pair, length) -> None:
    """What sentences and words cost predicts a prompt to the token: nothing has to be counted again."""
    whole = []

    def count(text: str) -> int:
        tokens = named_tokenizer("cl100k_base").count(text)
        whole.extend([tokens] if tokens > 0.8 * length else [])
        return tokens

    made = make(pair, [length], Tokenizer("counting", count), examples=1)
    assert sorted(whole) == sorted(row["n_tokens"] for row in made.rows)


@pytest.mark.parametrize(
    ("limit", "niah", "words"), [("released", 30, 50), (99, 99, 99), ("measured", None, None)]
)
def test_room_is_kept_for_the_answer_and_the_template(make, named_tokenizer, limit, niah, words):
    cl100k = replace(named_tokenizer("cl100k_base"), reserve=300)
    tasks = ["niah_multivalue", "cwe_hard"]
    made = make("ta-ta", [4300], cl100k, examples=1, max_new_tokens=limit, tasks=tasks)
    rooms = [row["max_new_tokens"] for row in made.rows]
    answers = ["<விடை> 1234567, 2345678, 3456789, 4567890 </விடை>"]
    answers.append("\n".join(f"{i}. {w}" for i, w in enumerate(made.rows[1]["references"], 1)))
    fit = all(cl100k.count(answer) <= room for answer, room in zip(answers, rooms, strict=True))
    assert fit if limit == "measured" else rooms == [niah, words]
    for row in made.rows:
        assert 0.9 * 4000 < row["n_tokens"] + row["max_new_tokens"] <= 4000


@given(
    costs=st.lists(st.integers(1, 9), min_size=3, max_size=20),
    # At no size is a prediction right: the count would confirm it, and the next would be trusted.
    errors=st.lists(st.integers(-9, 9).filter(bool), min_size=21, max_size=21),
    budget=st.integers(0, 120),
    guessed=st.integers(-3, 30),
)
def test_wrong_predictions_still_give_the_largest_fit(costs, errors, budget, guessed) -> None:
    counted: list[int] = []

    def count(n: int) -> int:
        counted.append(n)
        return sum(costs[:n])

    def found(wrong: list[int]) -> tuple[int, int] | None:
        def predict(n: int) -> int:
            return sum(costs[:n]) + wrong[n]

        return fit(predict, count, lambda tokens: guessed, budget, 2, len(costs))

    fitting = [(n, sum(costs[:n])) for n in range(2, len(costs) + 1) if sum(costs[:n]) <= budget]
    expected = fitting[-1] if fitting else None
    assert found([0] * 21) == expected
    # A prediction that the count confirms is counted once.
    assert len(counted) == 1
    assert found(errors) == expected


def test_more_of_anything_changes_no_other_prompt(make) -> None:
    base = make("de-de", [600], examples=2)
    more = {"examples": 3, "none_option": [True, False], "tasks": [*reversed(plan.TASKS)]}
    wider = make("de-de", [600, 900], read=base.tables, **more).rows
    names = {row["instance_id"] for row in base.rows}
    assert [row for row in wider if row["instance_id"] in names] == base.rows
    assert len(wider) > len(base.rows) == len(names)
    assert make("de-de", [600], read=base.tables, examples=2).rows == base.rows
    other = make("de-de", [600], read=base.tables, examples=2, seed=1)
    assert not names & {row["instance_id"] for row in other.rows}


def test_languages_and_lengths_hide_and_ask_the_same(make) -> None:
    """So differences between them are differences of equal examples."""

    def hidden(made: Made, lang: str, length: int) -> list[tuple]:
        return [
            (
                row["references"],
                [made.nouns(lang).index(QUOTED.search(n)[1]) for n in made.needles(row)],
            )
            for row in made.rows
            if row["length"] == length
        ]

    english = make("en-en", [600, 1200], tasks=["niah_multikey"])
    polish = make("pl-pl", [600], tasks=["niah_multikey"])
    assert hidden(english, "en", 600) == hidden(english, "en", 1200) == hidden(polish, "pl", 600)


def list_of(column: str, *texts: str) -> pa.Table:
    rows = pa.array(range(len(texts)), pa.int32())
    return pa.table({"row": rows, column: [*texts], "pos": ["noun"] * len(texts)})


@pytest.mark.parametrize(
    ("pair", "length", "changed", "message"),
    [
        (
            "vi-vi",
            2000,
            {"nouns": {"vi": list_of("noun", *"abcdA")}},
            r"^results/corpora/oneruler_nouns/vi.parquet: niah_none needs 5 .* are 4 "
            r"\(left out.*: row 4 'A'\): add",
        ),
        (
            "vi-ko",
            2000,
            {"nouns": {"ko": list_of("noun", *"abcde"), "vi": list_of("noun", *"vwxyy")}},
            "^results/corpora/oneruler_nouns/ko.parquet and results/corpora/oneruler_nouns/vi.parquet: "
            r"niah_multikey needs 4 .* are 3 .*row 3 'd' \(vi 'y'\); row 4 'e' \(vi 'y'\)\): add",
        ),
        (
            *("vi-vi", 2000, {"words": {"vi": list_of("word", *"abcdefghij")}}),
            "^results/corpora/oneruler_words/vi.parquet: the dictionary has 10 different nouns",
        ),
        ("vi-vi", 120, {}, "lengths has 120, but in .*'vi' the prompt of niah_single with two"),
        ("vi-vi", 300, {}, "lengths has 300, .* of cwe_easy with eleven"),
    ],
)
def test_what_cannot_be_built_is_named(make, mirror, pair, length, changed, message) -> None:
    read = tables(mirror, plan.reads(slice_settings(pair, [length])))
    with pytest.raises(UserError, match=message):
        make(pair, [length], read={**read, **changed}, examples=1)


def test_nouns_that_two_rows_share_never_meet(make, caplog, tmp_path: Path) -> None:
    """German has "Straße" twice: it is one key. Beside Polish, in which the two rows differ, it is none."""
    caplog.set_level("INFO")
    made = make("de-de", [600], tasks=["niah_single"])
    assert made.built.counts == {"ambiguous_nouns": 1}
    row = max(row for row, noun in enumerate(made.nouns("de")) if noun == "Straße")
    assert f"nouns that are not used as keys (rows from 0): row {row} 'Straße'" in caplog.messages
    made = make("pl-de", [600], tasks=["niah_multikey"], examples=30)
    assert made.built.counts == {"ambiguous_nouns": 7}
    assert not any("Straße" in needle for row in made.rows for needle in made.needles(row))
    described = made.described(tmp_path)
    (cell,) = described[described["length"].notna()].to_dict("records")
    assert cell["prompts"] == 30 and 0.9 < cell["fill"] <= 1
    (left_out,) = described[described["length"].isna()].to_dict("records")
    assert (left_out["task"], left_out["prompts"]) == ("left out: ambiguous_nouns", 7)


def test_a_further_language_is_data_alone(make, mirror: Path) -> None:
    prompts = tables(mirror, {"prompts": [("oneruler_prompts", "sr")]})["prompts"]["sr"]
    greek = {
        "books": book_of(["Καλημέρα σας.", "Τι κάνετε;", "Είμαι καλά."]),
        "nouns": list_of("noun", *"αβγδε"),
        "words": list_of("word", *(f"λ{c}{d}" for c in "αβγδε" for d in "ζηθικ")),
        "prompts": prompts,
    }
    read = {kind: {"el": table} for kind, table in greek.items()}
    made = make("el-el", [400], read=read, examples=2, full_stops={"el": "·"})
    assert len(made.rows) == 14 and made.rows[-1]["exhausted"] is False
    assert all(needle.endswith("·") for row in made.rows for needle in made.needles(row))
