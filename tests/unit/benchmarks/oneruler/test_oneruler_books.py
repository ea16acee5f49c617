"""ONERULER's Table 4: the tokens of the books."""

from __future__ import annotations

import pandas as pd
import pytest

from described import numbers, results
from factories import ROOT
from factories.oneruler import LANGUAGES, config, files
from needlework.errors import UserError
from needlework.planning.layout import Layout
from needlework.prompts.books import token_counts
from needlework.prompts.wording import read_template
from needlework.results import published

TABLE4 = results("oneruler", "tables")["table4"]
PAPER = published.load(ROOT / "resources/published/oneruler.csv")
RUN = {
    "setup": {"data": "oneruler"},
    "encodings": {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "p50k": "p50k_base"},
}


def made(rows: list[dict], **run) -> pd.DataFrame:
    table = numbers(TABLE4, pd.DataFrame(rows), PAPER, RUN | run)
    return table.set_index(["context_lang", "tokenizer"])


def counted(lang: str = "cs", tokenizer: str = "cl100k_base", n: int = 174_576) -> dict:
    return {"context_lang": lang, "tokenizer": tokenizer, "n_tokens": n}


def test_24_of_26_books_have_the_papers_tokens_in_cl100k(mirror, named_tokenizer) -> None:
    books = {lang: files(mirror, "oneruler_books", lang) for lang in LANGUAGES}
    rows = token_counts(books, "cl100k_base", named_tokenizer("cl100k_base")).to_pylist()
    table = made(rows).droplevel("tokenizer")
    assert len(table) == 26 and set(table["comparison"]) == {"equals", "differs"}
    other = table[table["comparison"] == "differs"][["value", "published"]]
    assert other.T.to_dict("list") == {"en": [235_105, 233_668], "zh": [87_720, 153_415]}


def test_both_encodings_are_compared_and_no_other_books() -> None:
    rows = [counted(), counted(tokenizer="o200k_base"), counted(tokenizer="p50k")]
    rows += [counted(tokenizer="o200k_base", lang="da", n=1), counted(lang="xx")]
    verdicts = made(rows)["comparison"]
    # Languages come by the size of their Wikipedias.
    assert verdicts.index.unique("context_lang").tolist() == ["cs", "da", "xx"]
    assert verdicts["cs", "cl100k_base"] == verdicts["cs", "o200k_base"] == "equals"
    assert verdicts["da", "o200k_base"] == "differs"
    reason = "cannot tell: tokenizer is p50k_base, in the paper o200k_base"
    assert verdicts["cs", "p50k"] == reason
    assert verdicts["xx", "cl100k_base"] == "cannot tell: no published number"
    other = made(rows, setup={"data": "sample"})["comparison"]["cs", "cl100k_base"]
    assert other == "cannot tell: data is sample, in the paper oneruler"


def test_books_are_counted_as_their_files_have_them(tmp_path, named_tokenizer) -> None:
    file, words = tmp_path / "book.txt", named_tokenizer("words")
    file.write_bytes(b"\xef\xbb\xbfone  two\n\n\nthree")
    table = token_counts({"en": [str(file)]}, "words", words)
    assert table.to_pylist() == [counted("en", "words", 3)]
    file.write_bytes(b"caf\xe9")
    for read in (
        lambda: token_counts({"en": [str(file)]}, "words", words),
        lambda: read_template(file, ["context"]),
    ):
        with pytest.raises(UserError, match=f"^{file} is not in UTF-8: save it"):
            read()


def test_the_table_is_of_the_runs_books() -> None:
    layout = Layout(config(languages=["en", "zh"], data="sample"))
    found = layout.books("oneruler")
    assert {lang: len(paths) for lang, paths in found.items()} == {"en": 1, "zh": 1}
    assert found["en"][0].endswith("sample/oneruler/en/book.txt")
    assert TABLE4 in layout.results("oneruler")
    assert TABLE4 not in Layout(config(tasks=["cwe_easy"])).results("oneruler")
