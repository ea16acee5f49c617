"""What mLongRR's configuration asks for, and what is refused before any work."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from factories import ROOT, configuration, demo
from factories.mlongrr import LANGUAGES, PUNKT, RESOURCES, settings
from needlework.benchmarks.mlongrr import corpus as mlongrr
from needlework.benchmarks.mlongrr import plan
from needlework.benchmarks.mlongrr import prompt_files as mlongrr_csv
from needlework.data import english_punkt
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.notices import decided
from needlework.planning.rule_inputs import RuleInputs

ONE = {"n": 1, "depths": [0], "questions": ["number"]}


def config(folder: str | None = None, **own: Any) -> dict:
    made = configuration("mlongrr", own)
    made["run"] = {"models": ["oracle"], "benchmarks": ["mlongrr"]}
    if folder:
        made["sources"] = {"mlongrr": {"folder": folder}}
    return validated(made)


def test_the_papers_settings_are_the_default() -> None:
    """125, 100 and 100 prompts a model (Figures 4 and 6), and cities for two and three needles."""
    own = given(config()["benchmarks"]["mlongrr"])
    assert plan.slices(own) == [f"{x}-mlongrr-articles" for x in ("en", "vi", "id", "sw", "so")]
    kinds = list(plan.prompt_kinds(plan.Slice(**settings("en", own.lengths))))
    each = Counter({(1, "city"): 0})
    for kind in kinds:
        each[kind.n_needles, kind.question] += 25
    several = dict.fromkeys(product((2, 3), ("number", "city")), 100)
    assert each == {(1, "number"): 125, (1, "city"): 0, **several}
    cities = [kind for kind in kinds if kind.n_needles == 2 and kind.question == "city"]
    assert [kind.depth for kind in cities] == [0, 25, 50, 75]
    assert {kind.spread for kind in kinds if kind.n_needles > 1} == {25}


def test_slices_and_files_follow_the_languages() -> None:
    own = config(haystacks=["mlongrr_articles", "oneruler_books"])["benchmarks"]["mlongrr"]
    assert plan.slices(given(own))[5:] == [f"{x}-oneruler-books" for x in ("en", "vi", "sw")]
    files = RuleInputs(config(languages=["so"], source="released", tasks=[{**ONE, "n": 3}]))
    tables = files.prompts.slice_tables("mlongrr", "words", "so-mlongrr-articles")
    assert tables["released_3"] == ["mlongrr_released_three/so"]
    sources = files.corpora.sources("mlongrr_released_three", "so")
    needles = "mlongrr/Dataset/3-Needles/GPT4o/Somali_needles.csv"
    fetched = [path for path in sources if path.startswith("results/")]
    assert fetched == [f"results/sources/{needles}"]
    assert files.corpora.source_entry(needles)["size"] == 1679894


RELEASED = {"source": "released", "tasks": [ONE]}


TRANSLATED = {"prompts": ["translated"]}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"languages": ["fr"]}, "has 'fr', but mlongrr_articles has az, en, id, so, sw, vi"),
        ({"languages": ["de"], "haystacks": ["oneruler_books"]}, "'de', which has no needle"),
        ({"tasks": [ONE, ONE]}, "has 1 needles twice"),
        ({"tasks": [{**ONE, "questions": ["city"]}]}, "the city of one needle"),
        ({"tasks": [{**ONE, "n": 2, "depths": [80]}]}, "would stand 105% deep"),
        ({"tasks": [ONE], "absent": [2]}, "absent has 2, which no task has"),
        ({"prompts": ["paper", "mine"]}, "no prompt 'mine'.*none of that name"),
        (TRANSLATED | {"languages": ["vi"]}, "asks for the number of 2 needles in 'vi': add `p"),
        (
            TRANSLATED | {"tasks": [{**ONE, "n": 2}], "languages": ["vi"]},
            "no prompt 'translated' for 2 needles.*'vi'",
        ),
        ({"prompts": ["prompt2"], "tasks": [ONE], "absent": [1]}, "does not say what to answer"),
        (TRANSLATED | {"tasks": [ONE], "languages": ["en"]}, "are not translated"),
        ({"lengths": [50]}, "lengths has 50, and .*max_new_tokens"),
        (
            {**RELEASED, "tasks": [{**ONE, "depths": [0, 10]}, {**ONE, "n": 2}]},
            r"write `tasks: \[\{n: 1, depths: \[0\], questions: \[number\]\}\]`, or leave",
        ),
        ({**RELEASED, "absent": [1]}, r"write `absent: \[\]`, or leave"),
        (
            {"data": "sample", "languages": ["en"], "tasks": [{**ONE, "n": 13}]},
            "13 needles, but there are 12 cities",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(own: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        config(**own)


def test_released_files_decide_and_say_what_they_lack() -> None:
    asked = {**demo("mlongrr"), **RELEASED, "languages": ["en"], "lengths": [2000]}
    made = config(**asked)
    own = given(made["benchmarks"]["mlongrr"])
    assert plan.texts(own) == {"en-mlongrr-articles": ("mlongrr_articles", "en")}
    assert (own.data, own.examples, own.budget) == ("mlongrr", 1, "released")
    assert decided({"benchmarks": {"mlongrr": asked}}, given(made)) == [
        "benchmarks.mlongrr: other keys decide haystacks: [mlongrr_articles] (not [sample_books]), "
        "data: mlongrr (not sample), examples: 1 (not 2)."
    ]
    assert decided({"benchmarks": {"mlongrr": own}}, given(made)) == []
    with pytest.raises(UserError) as said:
        config(**{**demo("mlongrr"), "source": "released"})
    written = dict(re.findall(r"`(\w+): ([^`]*)`", str(said.value)))
    assert set(written) == {"languages", "lengths", "tasks", "source"}
    # What the message says can be pasted.
    pasted = {key: yaml.safe_load(value) for key, value in written.items()}
    assert config(**pasted)["benchmarks"]["mlongrr"]["languages"] == ["en", "sw"]


def test_a_users_folder_brings_a_language(tmp_path: Path) -> None:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr/text.txt").write_text("Un. Deux. Trois.", encoding="utf-8")
    with pytest.raises(UserError, match="'fr', which has no needle"):
        config(str(tmp_path), languages=["fr"])
    (tmp_path / "needles.csv").write_text("lang,wording,needle\nfr,,{city} : {number}.\n")
    with pytest.raises(UserError, match="no names of cities in 'fr'"):
        config(str(tmp_path), languages=["fr"])
    rows = "".join(f"{i},City{i}x,Ville{i}x\n" for i in range(4))
    (tmp_path / "cities.csv").write_text("row,en,fr\n" + rows)
    files = RuleInputs(config(str(tmp_path), languages=["fr", "en"]))
    assert str(tmp_path / "fr/text.txt") in files.corpora.sources("mlongrr_articles", "fr")
    assert str(tmp_path / "needles.csv") in files.corpora.sources("mlongrr_needles", "fr")
    assert any("English" in path for path in files.corpora.sources("mlongrr_articles", "en"))
    assert files.facts.run_settings("mlongrr", "scores")["instructions"] == ["en", "fr"]
    assert RuleInputs(config()).facts.run_settings("mlongrr", "scores")["instructions"] == []


def test_the_preset_compares_no_other_revision_with_the_paper() -> None:
    preset = yaml.safe_load((ROOT / "presets/mlongrr.yaml").read_text(encoding="utf-8"))
    named = {entry["name"]: entry.get("published") for entry in preset["models"].values()}
    assert {name: model for name, model in named.items() if model} == {
        "NousResearch/Yarn-Llama-2-7b-128k": "YaRN-7b",
        "meta-llama/Meta-Llama-3-8B-Instruct": "Llama-3",
    }


MODEL = english_punkt.load(PUNKT)
NEEDLE = "The number of {city} is {number}"
HEADER = ["context_length", "position", "text", "city", "label"]


def write(path: Path, *rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def row(text: str, city: str = "Oslo", label: str = "1234567") -> list[object]:
    return ["2k", "50", text, city, label]


def test_a_released_row_tells_where_its_needle_stands(tmp_path: Path) -> None:
    text = "One is. Two is. The number of Oslo is 1234567 Three is."
    path = write(tmp_path / "a.csv", HEADER, row(text))
    [found] = mlongrr.released(path, NEEDLE, MODEL).to_pylist()
    assert found["needle_starts"] == [text.index("The number")]
    assert (found["length"], found["depth"], found["cities"]) == (2000, 50, ["Oslo"])
    assert (found["sentences"], found["sentences_before"]) == (3, [2])
    assert found["passage_id"] == "1-2000-50"


@pytest.mark.parametrize(
    ("header", "cells", "message"),
    [
        (HEADER[:-1], row("x")[:-1], "no column 'label'"),
        ([*HEADER[:2], *HEADER[3:]], row("x")[:2] + row("x")[3:], "no column 'text'"),
        (HEADER, row("No needle."), "occurs 0 times"),
        (HEADER, row(" ".join([NEEDLE.format(city="Oslo", number=1234567)] * 2)), "occurs 2 times"),
        (HEADER, row("The number of Oslo is 123", label="123"), "not a new number of seven digits"),
        (HEADER, ["2", *row("The number of Oslo is 1234567")[1:]], "not a length such as 8k"),
        (HEADER, row("x")[:3], "more or fewer cells than the header"),
    ],
)
def test_an_unsound_released_file_is_refused(tmp_path, header, cells, message) -> None:
    path = write(tmp_path / "a.csv", header, cells)
    with pytest.raises(UserError, match=message) as error:
        mlongrr.released(path, NEEDLE, MODEL)
    assert str(path) in str(error.value)


def test_numbers_bytes_and_long_cells_of_files_are_checked(tmp_path) -> None:
    text = row("The number of Oslo is 1234567")
    with pytest.raises(UserError, match="row 2: the label '1234567' is not a new number"):
        mlongrr.released(write(tmp_path / "a.csv", HEADER, text, text), NEEDLE, MODEL)
    path = tmp_path / "b.csv"
    path.write_bytes(b"context_length,position,text\n2k,0,\xff\n")
    with pytest.raises(UserError, match="not in UTF-8"):
        mlongrr.released(path, NEEDLE, MODEL)
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


def test_users_tables_extend_ours_whose_cities_and_wordings_differ(tmp_path) -> None:
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
    files = [RESOURCES / "needles.csv"]
    assert mlongrr_csv.needles(files, "paper")["en"].endswith("is: {number}")
    assert mlongrr_csv.needles(files, "released")["en"].endswith("is {number}")
    assert mlongrr_csv.needles(files, "paper")["sw"] == mlongrr_csv.needles(files, "released")["sw"]
    sample = ROOT / "resources/sample/mlongrr"
    for folder, languages in ((RESOURCES, LANGUAGES), (sample, ["en", "sw", "zh"])):
        for lang in languages:
            assert len(mlongrr_csv.cities([folder / "cities.csv"], lang)) in (70, 12)


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
