"""What is wrong with a released file or a table of needles is an error that says where."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from factories.mlongrr import LANGUAGES, PUNKT, RESOURCES
from needlework.benchmarks.mlongrr import corpus as mlongrr
from needlework.benchmarks.mlongrr import prompt_files as mlongrr_csv
from needlework.data import english_punkt
from needlework.errors import UserError

MODEL = english_punkt.load(PUNKT)
NEEDLE = "The number of {city} is {number}"
ONE = ["context_length", "position", "text", "city", "label"]


def write(path: Path, *rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def row(text: str, city: str = "Oslo", label: str = "1234567") -> list[object]:
    return ["2k", "50", text, city, label]


def test_a_released_row_tells_where_its_needle_stands(tmp_path: Path) -> None:
    text = "One is. Two is. The number of Oslo is 1234567 Three is."
    path = write(tmp_path / "a.csv", ONE, row(text))
    [found] = mlongrr.released(path, NEEDLE, MODEL).to_pylist()
    assert found["needle_starts"] == [text.index("The number")]
    assert (found["length"], found["depth"], found["cities"]) == (2000, 50, ["Oslo"])
    assert (found["sentences"], found["sentences_before"]) == (3, [2])
    assert found["passage_id"] == "1-2000-50"


@pytest.mark.parametrize(
    ("header", "cells", "message"),
    [
        (ONE[:-1], row("x")[:-1], "no column 'label'"),
        ([*ONE[:2], *ONE[3:]], row("x")[:2] + row("x")[3:], "no column 'text'"),
        (ONE, row("No needle."), "occurs 0 times"),
        (ONE, row(" ".join([NEEDLE.format(city="Oslo", number=1234567)] * 2)), "occurs 2 times"),
        (ONE, row("The number of Oslo is 123", label="123"), "not a new number of seven digits"),
        (ONE, ["2", *row("The number of Oslo is 1234567")[1:]], "not a length such as 8k"),
        (ONE, row("x")[:3], "more or fewer cells than the header"),
    ],
)
def test_an_unsound_released_file_is_refused(tmp_path, header, cells, message) -> None:
    path = write(tmp_path / "a.csv", header, cells)
    with pytest.raises(UserError, match=message) as error:
        mlongrr.released(path, NEEDLE, MODEL)
    assert str(path) in str(error.value)


def test_numbers_and_bytes_of_a_released_file_are_checked(tmp_path: Path) -> None:
    text = row("The number of Oslo is 1234567")
    with pytest.raises(UserError, match="row 2: the label '1234567' is not a new number"):
        mlongrr.released(write(tmp_path / "a.csv", ONE, text, text), NEEDLE, MODEL)
    path = tmp_path / "b.csv"
    path.write_bytes(b"context_length,position,text\n2k,0,\xff\n")
    with pytest.raises(UserError, match="not in UTF-8"):
        mlongrr.released(path, NEEDLE, MODEL)


def test_reading_changes_no_limit_of_the_process(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    rows = mlongrr_csv.read_rows(write(tmp_path / "a.csv", ["a"], ["x" * (before + 1)]), ("a",))
    assert len(rows[0]["a"]) == before + 1
    assert csv.field_size_limit() == before


def test_articles_keep_the_text_and_join_its_sentences() -> None:
    text = "One is here.  Two\nis there. Three."
    made = mlongrr.articles(text, "en", MODEL).to_pydict()
    assert made["text"] == [text, text.replace("  ", " ")]
    assert made["sentence_starts"] == [[0, 14, 28], [0, 13, 27]]
    assert made["words"] == [10, 10]
    # Further languages are cut by their own rules.
    made = mlongrr.articles("它在这里。 它在那里。", "zh", MODEL).to_pydict()
    assert (made["text"], made["sentence_starts"]) == (["它在这里。它在那里。"], [[0, 5]])
    with pytest.raises(UserError, match=r"'en' has 1 sentences.*en/\*\.txt"):
        mlongrr.articles("Only one.", "en", MODEL)


OURS = list(map(str, sorted(RESOURCES.glob("*.csv"))))


def test_a_users_tables_extend_ours(tmp_path: Path) -> None:
    header = ["lang", "wording", "needle"]
    files = [
        *OURS,
        str(write(tmp_path / "needles.csv", header, ["fr", "", "{city}: {number}"])),
        str(
            write(
                tmp_path / "cities.csv",
                ["row", "en", "fr"],
                [0, "London", "Londres"],
                [1, "Oslo", "Oslo"],
            )
        ),
    ]
    rows = mlongrr.needle_table("fr", files).to_pylist()
    assert [row["values"] for row in rows if row["kind"] == "needle"] == [["{city}: {number}"]] * 2
    cities = [["London", "Londres"], ["Oslo", "Oslo"]]
    assert [row["values"] for row in rows if row["kind"] == "city"] == cities
    assert mlongrr_csv.cities(files, "vi")[0] == ("Chicago", "Chicago")
    with pytest.raises(UserError, match=r"no needle in 'fr'.*az, en, id, so, sw, vi"):
        mlongrr.needle_table("fr", OURS)


def test_english_has_a_colon_in_the_papers_wording_alone() -> None:
    files = [RESOURCES / "needles.csv"]
    assert mlongrr_csv.needles(files, "paper")["en"].endswith("is: {number}")
    assert mlongrr_csv.needles(files, "released")["en"].endswith("is {number}")
    assert mlongrr_csv.needles(files, "paper")["sw"] == mlongrr_csv.needles(files, "released")["sw"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("needles", "lang,wording\nen,\n", "no column 'needle'"),
        ("needles", "lang,wording,needle\nen,,{city}\n", "contain {number} once"),
        ("cities", "row,en,fr\n0,Oslo,\n", "a name in en or fr is empty"),
        ("cities", 'row,fr\n0,""\n', "a name in fr is empty"),
        ("cities", "row,fr\n0,Nice\n1,Nice Ville\n", "in 'fr'"),
        ("cities", "row,en,fr\n0,Oslo,A|B\n", "the character / or |"),
        (
            "cities",
            "row,en,fr\n0,York,York\n1,New York,New York\n",
            "'York' is part of the name 'New York' in 'en'",
        ),
    ],
)
def test_an_unsound_table_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        mlongrr_csv.needles([path], "paper")
        mlongrr_csv.cities([path], "fr")


PROMPT = ["prompt", "n_needles", "question", "lang", "asks", "unanswerable", "text"]


@pytest.mark.parametrize(
    ("n", "text", "message"),
    [
        ("1", "no place Q?", "contain {text}"),
        ("1", "{text} Q? Q?", "contain its question once"),
        ("1", "Q? {text}", "contain its question once"),
        ("0", "{text} Q?", "write 1, 2 or 3"),
    ],
)
def test_an_unsound_prompt_is_refused(tmp_path: Path, n: str, text: str, message: str) -> None:
    path = write(tmp_path / "prompts.csv", PROMPT, ["p", n, "number", "en", "Q?", "", text])
    with pytest.raises(UserError, match=message):
        mlongrr_csv.prompts([path])


def test_no_city_of_ours_is_part_of_another() -> None:
    for folder, languages in (
        (RESOURCES, LANGUAGES),
        (RESOURCES.parent / "sample/mlongrr", "en sw zh".split()),
    ):
        for lang in languages:
            assert len(mlongrr_csv.cities([folder / "cities.csv"], lang)) in (70, 12)
