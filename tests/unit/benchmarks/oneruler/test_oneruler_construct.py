"""ONERULER's prompts: what stands in them and where, and that they fill their budgets exactly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factories.oneruler import book_of, tables, tiktoken_cache
from needlework.benchmarks.contract import Built
from needlework.benchmarks.oneruler import niah, plan
from needlework.benchmarks.oneruler import prompts as construct
from needlework.benchmarks.oneruler.cwe import vocabulary
from needlework.benchmarks.oneruler.haystack import Haystack, Run
from needlework.benchmarks.oneruler.tables import PROMPTS
from needlework.errors import UserError
from needlework.planning.schema import schema, with_defaults
from needlework.prompts.counting.pieces import Pieces, fit
from needlework.prompts.spans import Documents, render, span_text
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.records import DOCUMENTS, read_table, write_table
from needlework.results.page.prompts import describe
from needlework.seeding import rng

BLOCK = schema()["properties"]["benchmarks"]["properties"]["oneruler"]
WORDS = load_tokenizer("words", {"kind": "words"})
NEEDLE_TASKS = list(plan.NEEDLES)


@pytest.fixture(scope="module")
def cl100k(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokenizer]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("tiktoken")
        patch.setenv("TIKTOKEN_CACHE_DIR", tiktoken_cache(mirror, folder))
        yield load_tokenizer("cl100k", {"kind": "tiktoken", "encoding": "cl100k_base"})


def settings(pair: str, lengths: list[int], **own: Any) -> dict[str, Any]:
    """The settings of a slice of three examples a cell, unless `own` says otherwise."""
    return plan.settings(with_defaults({"examples": 3, "seed": 0, **own}, BLOCK), pair, lengths)


class Made:
    """What was built of a slice, and its prompts as text, through files as a model's job has them."""

    def __init__(
        self, slice_settings: Mapping[str, Any], read: Mapping, built: Built, folder: Path
    ) -> None:
        self.slice_settings, self.read, self.built = slice_settings, read, built
        self.file = folder / f"{slice_settings['slice']}.parquet"
        write_table(built.instances, self.file, notes={"left_out": built.counts})
        files = {}
        if built.documents is not None:
            assert built.documents.schema == DOCUMENTS
            write_table(built.documents, folder / "d.parquet")
            files[f"oneruler/{slice_settings['slice']}"] = folder / "d.parquet"
        for lang, table in read["books"].items():
            write_table(table, folder / f"{lang}.parquet")
            files[f"oneruler_books/{lang}"] = folder / f"{lang}.parquet"
        self.documents = Documents.read(files)
        self.rows = read_table(self.file).to_pylist()

    def text(self, row: Mapping) -> str:
        return render(row["prompt"], self.documents)

    def context(self, row: Mapping) -> list[tuple[str, str]]:
        """Role and text of the spans of the text with its needles."""
        spans = [(span["role"], span_text(span, self.documents)) for span in row["prompt"]]
        return [span for span in spans if span[0] in ("haystack", "needle")]


@pytest.fixture
def make(mirror: Path, tmp_path: Path):
    def made(
        pair: str, lengths: list[int], tokenizer: Tokenizer = WORDS, read: Any = None, **own: Any
    ) -> Made:
        slice_settings = settings(pair, lengths, **own)
        read = read or tables(mirror, plan.reads(slice_settings))
        return Made(
            slice_settings, read, construct.build(slice_settings, read, [], tokenizer), tmp_path
        )

    return made


# What stands in a prompt

ENGLISH = """Please read and memorize the text below. I will ask you about it later.

<text>
{context}
</text>

<Question> What special magic numbers associated with "{key}" are mentioned in the provided text? \
Please list all that apply.{none}</Question>


Please provide your answer in the following format:
 <Answer> List all numbers here </Answer>"""


@pytest.mark.parametrize("option", [True, False])
def test_the_english_prompt_word_for_word(make, option: bool) -> None:
    """The released format, with and without the none sentence (paper, Figures 9 and 14)."""
    made = make("en-en", [400], tasks=["niah_single"], none_option=[option])
    for row in made.rows:
        assert row["none_option"] is option
        (needle,) = (text for role, text in made.context(row) if role == "needle")
        key = re.fullmatch(r'The special magic number for "(.+)" is: (\d{7})\.', needle)
        assert row["references"] == [key[2]]
        context = "".join(text for _, text in made.context(row))
        sentence = ' If no such numbers exist, please answer "none".' if option else ""
        expected = ENGLISH.format(context=context, key=key[1], none=sentence)
        assert made.text(row) == expected


def test_the_chinese_prompt_joins_with_nothing(make) -> None:
    made = make("zh-zh", [600], tasks=["niah_multivalue"])
    row = made.rows[0]
    text = made.text(row)
    needles = [text for role, text in made.context(row) if role == "needle"]
    assert len(needles) == 4 and all(re.fullmatch(r"“.+”的魔法数字是：\d{7}。", n) for n in needles)
    assert " " not in "".join(text for _, text in made.context(row) if text in needles)
    assert "？请列举所有适用项。若这样的数字不存在" in text
    assert text.endswith("请用以下格式提供你的答案：\n<答案> 在此处列出所有数字 </答案>")


def test_a_pair_of_languages(make) -> None:
    """Needles in the context's language, the question and its key in the instruction's."""
    made = make("ko-en", [600], tasks=["niah_single", "niah_none"], examples=30)
    nouns = {lang: table["noun"].to_pylist() for lang, table in made.read["nouns"].items()}
    for row in made.rows:
        text = made.text(row)
        hidden = re.findall(r'The special magic number for "(.+?)" is: \d{7}\.', text)
        asked = re.search(r'언급된 "(.+?)"에 대한', text)[1]
        rows = [nouns["en"].index(key) for key in hidden] + [nouns["ko"].index(asked)]
        assert not {21, 28, 42, 64, 65} & set(rows)
        assert nouns["ko"].count(asked) == 1
        if row["task"] == "niah_none":
            assert len(set(rows)) == 5 and row["references"] == ["없음"]
        else:
            assert rows[0] == rows[1] and row["references"][0] in text
        # As released, sentences are joined as in the context's language.
        assert "무엇인가요? 해당되는 모든 것을 나열하세요. 해당되는" in text
    across = make("ko-ja", [900], tasks=["niah_none"])
    assert "무엇인가요?해당되는 모든" in across.text(across.rows[0])


@pytest.mark.parametrize("task", NEEDLE_TASKS)
@pytest.mark.parametrize("lang", ["en", "zh", "vi"])
def test_needles_and_answers(make, task: str, lang: str) -> None:
    made = make(f"{lang}-{lang}", [900], tasks=[task], examples=8)
    keys, values, asked, present = plan.NEEDLES[task]
    for row in made.rows:
        text = made.text(row)
        needles = [text for role, text in made.context(row) if role == "needle"]
        assert len(needles) == len(set(needles)) == row["n_needles"] == keys * values
        numbers = [re.search(r"\d{7}", needle)[0] for needle in needles]
        assert all(text.count(number) == 1 for number in numbers)
        names = Counter(re.search(r'["“](.+?)["”]', needle)[1] for needle in needles)
        assert sorted(names.values()) == [values] * keys
        question = next(s["text"] for s in row["prompt"] if s["role"] == "question")
        in_question = set(re.findall(r'["“](.+?)["”]', question)) - {"none", "无", "Không có"}
        assert len(in_question) == asked
        if present:
            assert in_question <= set(names) and row["metric"] == "numbers"
            right = {
                n
                for n, needle in zip(numbers, needles, strict=True)
                if any(
                    f"{mark[0]}{key}{mark[1]}" in needle
                    for key in in_question
                    for mark in ('""', "“”")
                )
            }
            assert set(row["references"]) == right and len(right) == asked * values
        else:
            assert not in_question & set(names) and row["metric"] == "none"


@pytest.mark.parametrize("lang", ["en", "ja", "hi"])
def test_needles_stand_between_the_books_first_sentences(make, lang: str) -> None:
    made = make(f"{lang}-{lang}", [1500], tasks=["niah_multikey"], examples=20)
    table = made.read["books"][lang]
    text, starts = table["text"][0].as_py(), table["sentence_starts"][0].as_py()
    joint = "" if lang == "ja" else " "
    ends = {start - len(joint) for start in starts[1:]}
    seen = set()
    for row in made.rows:
        context = made.context(row)
        book = joint.join(t for role, t in context if role == "haystack" and t != joint)
        assert text.startswith(book) and len(book) in ends
        total = sum(1 for start in starts if start < len(book))
        place = 0
        for role, piece in context:
            if role == "needle":
                before = sum(1 for start in starts if start < place)
                assert place == 0 or place in ends or place - len(joint) in ends
                # One of 40 equally spaced depths of 0 to 100%, rounded.
                depths = [round(100 * k / 39) for k in range(40)]
                assert before in [total * depth // 100 for depth in depths]
                seen.add(before / total)
            elif piece != joint or role != "haystack":
                place = text.index(piece, place) + len(piece)
    assert min(seen) < 0.1 and max(seen) > 0.9 and len(seen) > 25


def test_a_short_book_repeats(make, cl100k: Tokenizer) -> None:
    made = make("ko-ko", [30_000], cl100k, tasks=["niah_multikey"], examples=1)
    (row,) = made.rows
    book = made.read["books"]["ko"]["text"][0].as_py()
    spans = [s for s in row["prompt"] if s["source"]]
    assert {s["source"] for s in spans} == {"oneruler_books/ko/book"}
    assert sum(s["start"] == 0 for s in spans) == 3  # begun three times
    context = " ".join(span_text(s, made.documents) for s in spans)
    assert context.startswith(f"{book} {book} {book[:1000]}") and row["n_needles"] == 4
    assert row["n_tokens"] == cl100k.count(made.text(row)) > 29_500


def test_several_books_follow_each_other() -> None:
    first, second = book_of(["A b.", "C d."]), book_of(["E f.", "G h.", "I j."])
    both = pa.concat_tables([first, second])
    pieces = Pieces(WORDS)
    hay = Haystack("books", "en", both, pieces, 25)
    assert [hay.sentence(i) for i in range(7)] == [
        *("A b.", "C d.", "E f.", "G h."),
        "I j.",
        "A b.",
        "C d.",
    ]
    assert pieces.text(hay.numbers(Run(2, 4))) == "E f. G h."
    assert pieces.text(hay.numbers(Run(1, 7))) == "C d. E f. G h. I j. A b. C d."
    assert pieces.tokens(hay.numbers(Run(1, 7))) == 12


# Common words


@pytest.mark.parametrize("task", ["cwe_easy", "cwe_hard"])
@pytest.mark.parametrize(
    ("length", "frequencies"), [(8000, "paper"), (8000, "released"), (8001, "released")]
)
def test_words_stand_as_often_as_the_task_says(
    make, task: str, length: int, frequencies: str
) -> None:
    """Paper, section 2.2; the released code has lower frequencies up to 8,000 tokens."""
    own = {"tasks": [task], "cwe_frequencies": frequencies}
    made = make("fr-fr", [length], examples=2, **own)
    common, other = {"cwe_easy": (30, 3), "cwe_hard": (20, 10)}[task]
    if length == 8000 and frequencies == "released":
        common, other = {"cwe_easy": (10, 1), "cwe_hard": (10, 5)}[task]
    for row in made.rows:
        listed = span_text(next(s for s in row["prompt"] if s["source"]), made.documents)
        entries = [entry.split(". ") for entry in re.split(r" (?=\d+\. )", listed)]
        assert [int(n) for n, _ in entries] == list(range(1, len(entries) + 1))
        counts = Counter(word for _, word in entries)
        assert {w for w, n in counts.items() if n == common} == set(row["references"])
        assert set(counts.values()) == {common, other} and len(row["references"]) == 10
        # Shuffled: the common words are not together.
        assert len({w for _, w in entries[:50]}) > 11
        assert row["metric"] == "words" and not row["none_option"] and row["n_needles"] == 0


@pytest.mark.parametrize("lang", ["ta", "hi", "vi", "zh", "st"])
def test_the_papers_frequencies_fit_into_8k(make, cl100k: Tokenizer, lang: str) -> None:
    """Of the words with most tokens, of the list that stands twice, of the smallest vocabularies."""
    made = make(f"{lang}-{lang}", [8000], cl100k, examples=1, tasks=["cwe_easy", "cwe_hard"])
    for row in made.rows:
        listed = span_text(next(s for s in row["prompt"] if s["source"]), made.documents)
        counts = Counter(re.findall(r"\d+\. (.+?)(?= \d+\. |$)", listed))
        assert len(counts) > 11 and not row["exhausted"]
        assert set(counts.values()) == set(plan.FREQUENCIES[row["task"]])
        assert 0.98 * 8000 < row["n_tokens"] + row["max_new_tokens"] <= 8000


def test_as_many_words_as_fit(make, cl100k: Tokenizer) -> None:
    """The naive way finds the same number of words: add one after the other, count the whole list."""
    own = {"tasks": ["cwe_hard"]}
    made = make("sv-sv", [1800], cl100k, examples=2, **own)
    words = vocabulary(made.read["words"]["sv"]["word"].to_pylist())
    for index, row in enumerate(made.rows):
        drawn = rng("oneruler", 0, "cwe_hard", "sv", index, "words").permutation(len(words))
        before, _, after = made.text(row).partition("1. ")
        after = "</" + after.partition("</")[2]
        fitting = 10
        while True:
            common, other = drawn[:10], drawn[10 : fitting + 1]
            listed = [words[k] for k in [*common] * 10 + [*other] * 5]
            text = " ".join(f"{i}. {word}" for i, word in enumerate(listed, start=1))
            if cl100k.count(f"{before}{text} {after}") > 1800 - row["max_new_tokens"]:
                break
            fitting += 1
        listed = span_text(next(s for s in row["prompt"] if s["source"]), made.documents)
        assert len(set(re.findall(r"\d+\. (\S+)", listed))) == fitting
        assert row["references"] == [words[k] for k in drawn[:10]]


def test_a_vocabulary_that_runs_out_is_said(make) -> None:
    made = make("st-st", [4000, 60_000], tasks=["cwe_easy"], examples=1)
    short, long = made.rows
    assert (short["exhausted"], long["exhausted"]) == (False, True)
    assert long["n_tokens"] < 20_000
    listed = span_text(next(s for s in long["prompt"] if s["source"]), made.documents)
    distinct = set(re.findall(r"\d+\. (\S+)", listed))
    assert len(distinct) == len(vocabulary(made.read["words"]["st"]["word"].to_pylist()))
    described = describe(PROMPTS, [made.file]).set_index("length")
    assert described.loc[60_000, "exhausted"] == 1 and described.loc[4000, "exhausted"] == 0
    assert described.loc[4000, "fill"] > 0.99 > 0.4 > described.loc[60_000, "fill"]


def test_words_that_differ_in_case_alone_are_one() -> None:
    assert vocabulary(["b", "Ema", "ema", "b", "ｂ"]) == ["Ema", "b"]


def test_a_reserve_is_left_to_the_chat_template(make) -> None:
    made = make("en-en", [2500], replace(WORDS, reserve=300), tasks=["niah_single"], examples=1)
    room = 2500 - 300
    for row in made.rows:
        assert 0.9 * room < row["n_tokens"] + row["max_new_tokens"] <= room


def test_the_list_stands_wherever_the_template_has_it(make) -> None:
    """The released Vietnamese template has it twice."""
    made = make("vi-vi", [2500], tasks=["cwe_easy"], examples=1)
    (row,) = made.rows
    first, second = (span_text(s, made.documents) for s in row["prompt"] if s["source"])
    assert first == second and made.text(row).count(first) == 2
    assert row["n_tokens"] == WORDS.count(made.text(row)) <= 2500 - row["max_new_tokens"]


def test_common_words_across_languages(make) -> None:
    made = make("en-ta", [2500], tasks=["cwe_easy"], examples=1)
    (row,) = made.rows
    assert made.text(row).startswith("Below is a numbered list of words.")
    assert set(row["references"]) <= set(made.read["words"]["ta"]["word"].to_pylist())


# The budget


def rounded(text: str) -> int:
    """A tokenizer in which no part's tokens are those of the whole."""
    return int(len(text) / 3.7) + len(text) % 3


TOKENIZERS = {
    "cl100k_base": {"kind": "tiktoken", "encoding": "cl100k_base"},
    "o200k_base": {"kind": "tiktoken", "encoding": "o200k_base"},
    "mistral": {"kind": "mistral-common", "version": "v1"},
    "words": {"kind": "words"},
}


@cache
def loaded(name: str) -> Tokenizer:
    return load_tokenizer(name, TOKENIZERS[name])


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        *(("cl100k_base", pair) for pair in ("en-en", "zh-zh", "ta-ta", "fa-ja")),
        *(("o200k_base", pair) for pair in ("zh-zh", "hi-hi")),
        *(("mistral", pair) for pair in ("zh-zh", "fa-fa")),
        *(("words", pair) for pair in ("st-st", "ja-ja")),
        *(("adverse", pair) for pair in ("en-en", "zh-zh", "ta-ta")),
    ],
)
def test_every_prompt_fills_its_length(make, cl100k: Tokenizer, name: str, pair: str) -> None:
    if name == "adverse":
        tokenizer = Tokenizer(name, rounded)
    else:
        tokenizer = loaded(name)
    made = make(pair, [6000], tokenizer, examples=2, none_option=[True, False])
    assert len(made.rows) == 16
    lang = made.slice_settings["context_lang"]
    book = made.read["books"][lang]
    joint = "" if lang in ("zh", "ja") else " "
    costliest = max(made.read["words"][lang]["word"].to_pylist(), key=tokenizer.count)
    for row in made.rows:
        text, budget = made.text(row), 6000 - row["max_new_tokens"]
        assert row["n_tokens"] == tokenizer.count(text) <= budget
        spans = [span for span in row["prompt"] if span["source"]]
        if row["task"].startswith("cwe"):
            n = plan.frequencies(made.slice_settings, row["task"], 6000).other
            more = tokenizer.count(f"1. a {' '.join([f'9999. {costliest}'] * n)}")
            assert row["n_tokens"] + more > budget or row["exhausted"]
            continue
        last = max(span["end"] for span in spans)
        starts = [s for s in book["sentence_starts"][0].as_py() if s >= last]
        following = book["text"][0].as_py()[starts[0] : starts[1] - len(joint)]
        context = "".join(piece for _, piece in made.context(row))
        longer = text.replace(context, context + joint + following)
        # The needles of a longer context stand elsewhere: a token or two at the seams.
        assert tokenizer.count(longer) > budget - (8 if name == "adverse" else 2)


@pytest.mark.parametrize(("pair", "length"), [("ko-ko", 14_000), ("vi-vi", 3000), ("fa-ja", 3000)])
def test_each_finished_prompt_is_tokenized_once(
    make, cl100k: Tokenizer, pair: str, length: int
) -> None:
    """What sentences and words cost predicts a prompt to the token: nothing has to be counted again."""
    whole = []

    def count(text: str) -> int:
        tokens = cl100k.count(text)
        whole.extend([tokens] if tokens > 0.8 * length else [])
        return tokens

    own = {"examples": 2}
    made = make(pair, [length], Tokenizer("counting", count), **own)
    assert sorted(whole) == sorted(row["n_tokens"] for row in made.rows)


def test_the_room_for_the_answer_is_kept(make, cl100k: Tokenizer) -> None:
    for preset, wanted in (("released", {30, 50}), ("measured", None)):
        made = make("ta-ta", [6000], cl100k, examples=1, max_new_tokens=preset)
        rooms = {row["task"][:3]: row["max_new_tokens"] for row in made.rows}
        assert wanted is None or set(rooms.values()) == wanted
        answers = ["\n".join(f"{i}. {w}" for i, w in enumerate(made.rows[-1]["references"], 1))]
        answers.append("<விடை> 1234567, 2345678, 3456789, 4567890 </விடை>")
        fits = [cl100k.count(answers[0]) <= rooms["cwe"], cl100k.count(answers[1]) <= rooms["nia"]]
        assert all(fits) is (preset == "measured")


def test_a_prediction_that_the_count_confirms_is_counted_once() -> None:
    counted = []

    def count(n: int) -> int:
        counted.append(n)
        return 10 * n

    found = fit(lambda n: 10 * n, count, lambda t: t // 9, 105, least=2, most=50)
    assert found == (10, 100) and counted == [10]


@pytest.mark.parametrize("wrong", [-37, -1, 1, 37, 200])
def test_a_wrong_prediction_changes_no_result(wrong: int) -> None:
    found = fit(lambda n: 10 * n + wrong + n % 7, lambda n: 10 * n, lambda t: t // 10, 105, 2, 50)
    assert found == (10, 100)
    assert fit(lambda n: 10 * n + wrong, lambda n: 10 * n, lambda t: t // 10, 19, 2, 50) is None
    assert fit(lambda n: 10 * n + wrong, lambda n: 10 * n, lambda t: t // 10, 999, 2, 50) == (
        50,
        500,
    )


# Every draw by its name


def test_more_of_anything_changes_no_other_prompt(make) -> None:
    pair, length = "de-de", 1200
    base = make(pair, [length]).rows
    wider = make(
        pair,
        [length, 2000],
        examples=4,
        none_option=[True, False],
        tasks=[*reversed(plan.TASKS)],
    ).rows
    assert {row["instance_id"] for row in base} < {row["instance_id"] for row in wider}
    assert make(pair, [length]).rows == base
    assert not {r["instance_id"] for r in make(pair, [length], seed=1).rows} & {
        r["instance_id"] for r in base
    }


def test_languages_and_lengths_hide_and_ask_the_same(make) -> None:
    """So differences between them are differences of equal examples."""
    english = make("en-en", [600, 1200], tasks=["niah_multikey"])
    polish = make("pl-pl", [600], tasks=["niah_multikey"])
    answers = {(r["length"], r["example_id"]): r["references"] for r in english.rows}
    for row in polish.rows:
        assert answers[600, row["example_id"]] == row["references"]
        assert answers[1200, row["example_id"]] == row["references"]
    nouns = {"en": english, "pl": polish}
    rows = {}
    for lang, made in nouns.items():
        column = made.read["nouns"][lang]["noun"].to_pylist()
        quoted = re.findall(
            r'["„](.+?)["”]', " ".join(t for r, t in made.context(made.rows[0]) if r == "needle")
        )
        rows[lang] = [column.index(noun) for noun in quoted]
    assert rows["en"] == rows["pl"]


# What cannot be built


def test_too_few_nouns(make) -> None:
    good = make("vi-vi", [2000], examples=1)
    nouns = pa.table(
        {"row": pa.array([0, 1, 2, 3, 4], pa.int32()), "noun": ["a", "b", "c", "d", "A"]}
    )
    file = "results/corpora/oneruler_nouns/vi.parquet"
    with pytest.raises(
        UserError, match=rf"^{file}: niah_none needs 5 .* are 4 \(left out.*: row 4 'A'\): add"
    ):
        make("vi-vi", [2000], read={**good.read, "nouns": {"vi": nouns}})


def test_too_few_nouns_of_two_languages(make) -> None:
    good = make("vi-ko", [2000], examples=1)
    rows = pa.array(range(5), pa.int32())
    nouns = {
        "ko": pa.table({"row": rows, "noun": [*"abcde"]}),
        "vi": pa.table({"row": rows, "noun": [*"vwxyy"]}),
    }
    files = " and ".join(f"results/corpora/oneruler_nouns/{lang}.parquet" for lang in ("ko", "vi"))
    left_out = r"row 3 'd' \(vi 'y'\); row 4 'e' \(vi 'y'\)"
    with pytest.raises(
        UserError, match=rf"^{files}: niah_multikey needs 4 .* are 3 .*{left_out}\): add"
    ):
        make("vi-ko", [2000], read={**good.read, "nouns": nouns})


def test_too_few_words(make) -> None:
    good = make("vi-vi", [2000], examples=1)
    words = pa.table({"word": list("abcdefghij"), "pos": ["noun"] * 10})
    file = "results/corpora/oneruler_words/vi.parquet"
    with pytest.raises(UserError, match=f"^{file}: the dictionary has 10 different nouns"):
        make("vi-vi", [2000], read={**good.read, "words": {"vi": words}})


def test_a_length_that_holds_no_prompt(make) -> None:
    with pytest.raises(
        UserError, match=r"lengths has 120, but in language 'ru' the prompt of niah"
    ):
        make("ru-ru", [120], tasks=["niah_multikey"])
    with pytest.raises(UserError, match=r"lengths has 250, .* of cwe_hard with eleven"):
        make("ru-ru", [250], tasks=["cwe_hard"])


def test_nouns_that_two_rows_share_never_meet(make, caplog) -> None:
    """German has "Straße" twice: it is one key. Beside Italian, in which the two rows differ, it is none."""
    caplog.set_level("INFO")
    made = make("de-de", [1200], tasks=["niah_single"])
    assert made.built.counts == {"ambiguous_nouns": 1}
    row = (
        len(made.read["nouns"]["de"])
        - 1
        - made.read["nouns"]["de"]["noun"].to_pylist()[::-1].index("Straße")
    )
    assert f"nouns that are not used as keys (rows from 0): row {row} 'Straße'" in caplog.messages
    made = make("pl-de", [1200], tasks=["niah_multikey"], examples=40)
    assert made.built.counts == {"ambiguous_nouns": 7}
    assert not any(
        "Straße" in text
        for row in made.rows
        for role, text in made.context(row)
        if role == "needle"
    )


def test_a_noun_of_another_row_is_no_key() -> None:
    """Asked for "Gift", a German context would have the English gift's row and the poison's."""
    rows = pa.array(range(4), pa.int32())
    tables = {
        "en": pa.table({"row": rows, "noun": ["gift", "poison", "cat", "dog"]}),
        "de": pa.table({"row": rows, "noun": ["Geschenk", "Gift", "Katze", "Hund"]}),
    }
    assert set(niah.nouns(tables, "en", "de").context) == {1, 2, 3}
    assert set(niah.nouns(tables, "de", "en").context) == {0, 2, 3}
    assert set(niah.nouns(tables, "de", "de").context) == {0, 1, 2, 3}


# A further language


def test_a_further_language_is_data_alone(make) -> None:
    read = make("sr-sr", [2000], examples=1).read
    greek = {
        "books": {"el": book_of(["Καλημέρα σας.", "Τι κάνετε;", "Είμαι καλά."])},
        "nouns": {"el": pa.table({"row": pa.array(range(5), pa.int32()), "noun": [*"αβγδε"]})},
        "words": {
            "el": pa.table(
                {"word": [f"λ{c}{d}" for c in "αβγδε" for d in "ζηθικ"], "pos": ["noun"] * 25}
            )
        },
        "prompts": {"el": read["prompts"]["sr"]},
    }
    own = {"examples": 2, "full_stops": {"el": "·"}}
    made = make("el-el", [400], read=greek, **own)
    assert len(made.rows) == 14 and made.rows[-1]["exhausted"] is False
    assert all(
        text.endswith("·")
        for row in made.rows
        for role, text in made.context(row)
        if role == "needle"
    )


def test_what_is_left_out_is_told(make) -> None:
    made = make("uk-uk", [1500])
    described = describe(PROMPTS, [made.file])
    cells = described[described["length"].notna()]
    assert list(cells["prompts"]) == [3] * 7
    assert (cells["fill"] <= 1).all() and (cells["fill"] > 0.9).all()
    (left_out,) = described[described["length"].isna()].to_dict("records")
    assert (left_out["task"], left_out["prompts"]) == ("left out: ambiguous_nouns", 2)
