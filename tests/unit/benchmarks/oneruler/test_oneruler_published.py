"""ONERULER's published numbers: they agree with each other, and with the tokens of the released books."""

from __future__ import annotations

import pandas as pd
import pytest

from described import numbers, results
from described import printed as number
from factories import ROOT
from factories.oneruler import LANGUAGES, config, files
from needlework.benchmarks.oneruler import factors, paper, rows
from needlework.errors import UserError
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.book_counts import token_counts
from needlework.prompts.wording import read_template
from needlework.results import published

PAPER = published.load(ROOT / "resources/published/oneruler.csv")
TABLE4 = results("oneruler", "tables")["table4"]
RUN = {
    "setup": {"data": "oneruler"},
    "encodings": {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "p50k": "p50k_base"},
}


@pytest.fixture(scope="module")
def heatmap() -> pd.DataFrame:
    """Figure 3: model, language, length, value."""
    cells = PAPER[PAPER["table"] == "figure3"].copy()
    cells[["model", "lang"]] = cells["row"].str.split("/", expand=True)
    return cells


def test_figure_3_is_whole_and_gives_the_texts_means(heatmap) -> None:
    assert len(heatmap) == 6 * 26 * 4
    assert set(heatmap["model"]) == set(paper.MODELS)
    assert set(heatmap["lang"]) == set(factors.ARTICLES)
    assert set(heatmap["source"]) == {"repository"}
    # Footnote 10: 2.8% of o3-mini's answers are left out, nobody knows in which cells; of the others none.
    discarded = heatmap["model"] == "o3-mini-high"
    assert heatmap.loc[discarded, "n"].isna().all()
    assert set(heatmap.loc[~discarded, "n"]) == {5 * 50}
    long = heatmap[heatmap["column"].isin(["64000", "128000"])]
    means = long.groupby("lang")["value"].mean().sort_values(ascending=False)
    # The text's means are of unrounded numbers, and o3-mini-high's have fewer answers.
    for lang, digits in (("pl", 0.006), ("en", 0.002), ("zh", 0.004)):
        printed = number(PAPER, "figure4b", lang, "long").value
        assert means[lang] == pytest.approx(printed, abs=digits)
        rank = number(PAPER, "figure4b", lang, "rank").value
        assert list(means.index).index(lang) + 1 == rank


def test_numbers_and_languages_of_the_text() -> None:
    low = {x for x in factors.ARTICLES if rows.resources(x, {}) == "low"}
    assert low == {"hi", "st", "sw", "ta"}
    for table, row, column, value in (
        *(("figure1a", "gap", "8000", 0.11), ("figure1a", "gap", "128000", 0.34)),
        ("figure1b", "o3-mini-high/en", "drop/128000", 0.32),
        ("figure3", "o3-mini-high/en", "128000", 0.67),
        ("figure3", "o3-mini-high/pl", "128000", 0.92),
        ("figure3", "o3-mini-high/uk", "128000", 0.89),
        *(("figure5", "english", "cwe_easy", 0.315), ("figure6a", "ko-en", "64000", 0.71)),
        *(("figure6a", "en-ko", "128000", 0.77), ("lengths_tau", "all", "tau", 0.82)),
        ("figure24", "ta", "o200k_base", 33249),
    ):
        assert number(PAPER, table, row, column).value == value
    assert number(PAPER, "figure3", "GPT-5/en", "8000") is None


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
    layout = RuleInputs(config(languages=["en", "zh"], data="sample"))
    found = layout.prompts.books("oneruler")
    assert {lang: len(paths) for lang, paths in found.items()} == {"en": 1, "zh": 1}
    assert found["en"][0].endswith("sample/oneruler/en/book.txt")
    assert TABLE4 in layout.results.filled("oneruler")
    assert TABLE4 not in RuleInputs(config(tasks=["cwe_easy"])).results.filled("oneruler")
