"""What a run says of the user's own data before prompts are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.data.corpora.found import Found, naming_left_out, read_found, write_found
from needlework.errors import UserError
from needlework.prompts.data_report import (
    BOOKS,
    PASSAGES,
    LeftOut,
    TableSize,
    Use,
    left_out,
    read_report,
    report,
    table_in_words,
    uses,
    write_report,
)

SIZE = TableSize(texts=20, tokens=300)


@pytest.mark.parametrize(
    ("use", "said", "enough"),
    [
        (Use("m", "p/tr", PASSAGES, (100, 300), ()), "enough for the lengths 100, 300", True),
        (Use("m", "p/tr", PASSAGES, (100, 301), ()), "too few for the lengths 301", False),
        (Use("l", "p/tr", PASSAGES, (), (10, 21)), "enough for 10, 21 documents", True),
        (Use("l", "p/tr", PASSAGES, (), (10, 22)), "too few for 22 documents", False),
        (Use("o", "t/tr", BOOKS, (500,), ()), "prompts of 500 tokens repeat it", True),
        (Use("l", "p/tr", PASSAGES, (), ()), "20 passages of 300 tokens", True),
    ],
)
def test_lengths_and_documents_are_compared_with_the_data(use, said, enough) -> None:
    text, right = table_in_words(use, SIZE, "words")
    assert said in text and right == enough


def test_a_benchmark_uses_a_table_for_all_its_slices() -> None:
    slices = [
        ({"places": [[10, [0]]]}, {"questions": ["q/tr"], "passages": ["p/tr"]}),
        ({"places": [[20, [0]], [10, [0]]]}, {"passages": ["p/tr"]}),
        ({"lengths": [8]}, {"words": ["w/tr"]}),
    ]
    assert uses("l", slices) == [Use("l", "p/tr", PASSAGES, (), (10, 20))]


def test_a_report_says_first_what_was_left_out(tmp_path: Path) -> None:
    found = Found("corpora.q.languages.tr", rows=3)
    found.leave_out("without text", "the first is row 2")
    lines = report([found], [Use("m", "p/tr", PASSAGES, (100,), ())], lambda table: SIZE, "words")
    assert [right for _, right in lines] == [False, True]
    assert lines[0][0] == (
        "corpora.q.languages.tr: 2 of 3 rows are used; left out: 1 without text (the first is row 2)."
    )
    write_report(lines, tmp_path / "own_data.json")
    assert read_report(tmp_path / "own_data.json") == lines
    assert read_report(tmp_path / "none.json") == []


def test_an_error_names_what_was_left_out_of_its_data(tmp_path: Path) -> None:
    lost, whole = Found("corpora.q.languages.tr", rows=2), Found("corpora.p.languages.tr", rows=9)
    lost.leave_out("without text", "the first is row 1")
    write_found(lost, tmp_path / "q.json")
    assert read_found(tmp_path / "q.json") == lost and read_found(tmp_path / "p.json") is None
    with pytest.raises(UserError) as raised, naming_left_out([lost, lost, whole, None]):
        raise UserError("no question has 9 documents.")
    assert str(raised.value) == f"no question has 9 documents. {lost.said()}"


def test_left_out_prompts_are_one_sentence_for_all_slices() -> None:
    short, other = {"questions_lacking": 2}, {"questions_lacking": 1}
    slices = [
        *(LeftOut("l", "words", f"tr-{n}", 10, 8, short) for n in ("oracle", "documents-plain")),
        LeftOut("l", "words", "en-oracle", 10, 9, other),
        *(LeftOut("m", name, "tr-tr", 64, 8, {"needle_too_long": 36}) for name in ("words", "gpt")),
        LeftOut("m", "words", "tr-en", 90, 8, {"needle_too_long": 0}),
        LeftOut("m", "gpt", "tr-en", 90, 8, {"needle_too_long": 0}),
        LeftOut("o", "words", "tr-niah", 10, 8, {"ambiguous_nouns": 3}),
    ]
    assert left_out(slices) == [
        "l: 3 of 20 questions are lacking: add rows, or lower `questions`.",
        "m: 36 of 190 prompts are left out, since the context with the answer is longer than the prompt may "
        "be: raise `lengths`, or shorten these contexts.",
        "o: ambiguous nouns: 3.",
    ]


def test_tokenizers_with_other_counts_are_told_apart() -> None:
    own = [LeftOut("m", name, "t", 9 - n, 1, {"exhausted": n}) for n, name in enumerate("ab", 1)]
    found = left_out(own)
    assert [said[:21] for said in found] == ["m (a): 1 of 8 prompts", "m (b): 2 of 7 prompts"]
