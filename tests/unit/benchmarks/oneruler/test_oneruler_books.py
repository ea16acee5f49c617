"""ONERULER's Table 4: the tokens of the books."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from test_oneruler_plan import config

import factories.oneruler
from described import numbers, results
from needlework.errors import UserError
from needlework.planning.layout import Layout
from needlework.prompts.books import token_counts
from needlework.prompts.wording import read_template
from needlework.results import published

ROOT = Path(__file__).parents[4]
TABLE4 = results("oneruler", "tables")["table4"]
PAPER = published.load(ROOT / "resources/published/oneruler.csv")
RUN = {
    "setup": {"data": "oneruler"},
    "encodings": {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "p50k": "p50k_base"},
}


def made(rows, **run) -> pd.DataFrame:
    table = numbers(TABLE4, pd.DataFrame(rows), PAPER, RUN | run)
    return table.set_index(["context_lang", "tokenizer"])


def counted(lang: str = "cs", tokenizer: str = "cl100k_base", n: int = 174_576) -> dict:
    return {"context_lang": lang, "tokenizer": tokenizer, "n_tokens": n}


def test_24_of_26_books_have_the_papers_tokens_in_cl100k(mirror, named_tokenizer):
    books = {
        lang: factories.oneruler.files(mirror, "oneruler_books", lang)
        for lang in factories.oneruler.LANGUAGES
    }
    tokenizer = named_tokenizer("cl100k_base")
    table = made(token_counts(books, "cl100k_base", tokenizer).to_pandas())
    verdicts = table["comparison"].droplevel("tokenizer")
    assert len(verdicts) == 26
    assert set(verdicts) == {"equals", "differs"}
    assert set(verdicts[verdicts == "differs"].index) == {"en", "zh"}
    ours = table["value"].droplevel("tokenizer")
    assert (ours["en"], ours["zh"]) == (235_105, 87_720)
    printed = table["published"].droplevel("tokenizer")
    assert (printed["en"], printed["zh"]) == (233_668, 153_415)


def test_both_encodings_are_compared_and_no_other():
    rows = [counted(), counted(tokenizer="o200k_base"), counted(tokenizer="p50k")]
    verdicts = made([*rows, counted(tokenizer="o200k_base", lang="da", n=1)])["comparison"]
    assert verdicts["cs", "cl100k_base"] == verdicts["cs", "o200k_base"] == "equals"
    assert verdicts["da", "o200k_base"] == "differs"
    reason = "cannot tell: tokenizer is p50k_base, in the paper o200k_base"
    assert verdicts["cs", "p50k"] == reason


def test_other_books_are_not_compared():
    rows = [counted(), counted(lang="xx")]
    verdicts = made(rows, setup={"data": "sample"})["comparison"].droplevel("tokenizer")
    assert verdicts["cs"] == "cannot tell: data is sample, in the paper oneruler"
    assert verdicts["xx"] == "cannot tell: no published number"


def test_languages_come_by_the_size_of_their_wikipedias():
    table = made([counted(lang=lang) for lang in ("st", "en", "pl")])
    assert list(table.index.get_level_values("context_lang")) == ["en", "pl", "st"]


def test_books_are_counted_as_their_files_have_them(tmp_path, named_tokenizer):
    file = tmp_path / "book.txt"
    file.write_bytes(b"\xef\xbb\xbfone  two\n\n\nthree")
    table = token_counts({"en": [str(file)]}, "words", named_tokenizer("words"))
    assert table.to_pylist() == [{"context_lang": "en", "tokenizer": "words", "n_tokens": 3}]


def test_a_book_in_another_encoding_is_one_sentence(tmp_path, named_tokenizer):
    file = tmp_path / "book.txt"
    file.write_bytes(b"caf\xe9")
    for read in (
        lambda: token_counts({"en": [str(file)]}, "words", named_tokenizer("words")),
        lambda: read_template(file, ["context"]),
    ):
        with pytest.raises(UserError, match=f"^{file} is not in UTF-8: save it"):
            read()


def test_the_job_reads_the_books_of_the_runs_languages():
    files = Layout(config(languages=["en", "zh"], cross_lingual=[], data="sample"))
    assert {lang: len(found) for lang, found in files.books("oneruler").items()} == {
        "en": 1,
        "zh": 1,
    }
    assert files.books("oneruler")["en"][0].endswith("sample/oneruler/en/book.txt")


@pytest.mark.parametrize("tasks, there", [(["niah_single"], True), (["cwe_easy"], False)])
def test_lists_of_words_are_no_books(tasks, there):
    files = Layout(config(tasks=tasks))
    assert (TABLE4 in files.results("oneruler")) == there
