"""Lost in the Middle's scores: each task's metric, and answers that are none."""

from __future__ import annotations

import gzip
import json
import string
import unicodedata
from typing import Any

import pyarrow as pa
import pytest

from factories import answers
from factories.answers import generations
from needlework.benchmarks.lost_in_the_middle import scores
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.scores import score
from needlework.given import given as block
from needlework.records import scores_schema

VALUE = "6bc5d8e4-0000-4000-8000-c0ffee000000"


def scored(*asked: tuple[str, str, list[str]], given: pa.Table, **own: Any) -> list[tuple]:
    """(instance, metric, value, verdict) of each answer to rows of (instance_id, task, references)."""
    names = ("instance_id", "task", "references")
    rows = answers.instances(COLUMNS, *(dict(zip(names, row, strict=True)) for row in asked))
    settings = block({"metric": "best_subspan_em"} | own)
    made = score(rows, given, None, model="m", settings=settings)
    assert made.schema.equals(scores_schema(COLUMNS))
    found = [(r["instance_id"], r["metric"], r["value"], r["verdict"]) for r in made.to_pylist()]
    return found if own else [row for row in found if row[1] != "careful"]


def test_careful_verdicts_stand_beside_or_alone():
    asked = ("a", "oracle", ["Paris"]), ("b", "key_value", [VALUE])
    given = generations(("a", "Not Paris, but Lyon."), ("b", f"It is {VALUE}."))
    found = scored(*asked, given=given, metric="best_subspan_em")
    values = [(metric, value) for _, metric, value, _ in found]
    papers = [("best_subspan_em", 1.0), ("key_value_accuracy", 1.0)]
    assert values == [papers[0], ("careful", 0.0), papers[1], ("careful", 1.0)]
    alone = scored(*asked, given=given, metric="careful")
    assert [metric for _, metric, _, _ in alone] == ["careful"] * 2


@pytest.mark.parametrize("task", ["multi_document_qa", "closed_book", "oracle", "open_domain"])
def test_questions_have_best_subspan_em(task):
    asked = ("a", task, ["Röntgen", "Wilhelm"]), ("b", task, ["Röntgen"])
    given = generations(("b", "Curie\nRöntgen"), ("a", "It is Wilhelm."))
    assert scored(*asked, given=given) == [
        ("b", "best_subspan_em", 0.0, "no_match"),
        ("a", "best_subspan_em", 1.0, "match:1"),
    ]


def test_key_values_and_answers_that_are_none() -> None:
    asked = ("a", "key_value", [VALUE]), ("b", "key_value", [VALUE])
    given = generations(("a", f"Sure:\n{VALUE.upper()}"), ("b", VALUE[:-1], "length"))
    assert scored(*asked, given=given) == [
        ("a", "key_value_accuracy", 1.0, "match"),
        ("b", "key_value_accuracy", 0.0, "no_match"),
    ]
    asked = [("a", "closed_book", ["*"]), ("b", "key_value", [VALUE]), ("c", "oracle", ["yes"])]
    given = generations(("a", "", "skipped"), ("b", VALUE, "error"), ("c", ""))
    found = [(value, verdict) for *_, value, verdict in scored(*asked, given=given)]
    assert found == [(0.0, "skipped"), (0.0, "error"), (0.0, "empty")]
    assert scores.key_value_accuracy("Die Antwort: ÄPFEL", ["Äpfel"]) == (1.0, "match")


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("", ""),
        ("  Wilhelm   Conrad\tRöntgen\u00a0", "wilhelm conrad röntgen"),
        ("The U.S. Army", "us army"),
        ("14 December 1972 UTC.", "14 december 1972 utc"),
        ("and/or", "andor"),
        ("Spider-Man", "spiderman"),
        ("$1,000,000", "1000000"),
        ("3.5", "35"),
        # Articles go after punctuation, and whole words only.
        ("A. A. Milne", "milne"),
        ("a.m.", "am"),
        ("A-Team", "ateam"),
        ("the an a", ""),
        ("theatre and anthem", "theatre and anthem"),
        ("vitamin a", "vitamin"),
        # They go in every language, and other scripts' punctuation stays.
        ("ela foi a Lisboa", "ela foi lisboa"),
        ("“the” – a", "“ ” –"),
        ("北京。", "北京。"),
        ("İstanbul", "i̇stanbul"),
        ("_the_", ""),
        # An accent belongs to its letter, composed or not.
        ("a\u0300 la", "a\u0300 la"),
        ("pie\u0301 an", "pie\u0301"),
        ("e\u0301a", "e\u0301a"),
        ("*", ""),
        ("the symbol ×", "symbol ×"),
    ],
)
def test_normalise(text, normalised):
    assert scores.normalise(text) == normalised


def test_normalisation_agrees_with_the_library_that_the_released_code_uses():
    regex = pytest.importorskip("regex")
    article, drop = regex.compile(r"\b(a|an|the)\b"), set(string.punctuation)

    def released(text):
        kept = "".join(c for c in text.lower() if c not in drop)
        return " ".join(article.sub(" ", kept).split())

    # Letters, digits, accents and punctuation beside articles. Left out is what no text puts there and
    # Python's `re` sees otherwise: other scripts' marks, superscripts, fractions, ties between letters.
    kinds = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs"}
    characters = [
        chr(code)
        for code in [*range(0x2100), *range(0x3000, 0x3100), *range(0xAC00, 0xAC20)]
        if unicodedata.category(chr(code)) in kinds or 0x300 <= code < 0x370
    ]
    assert len(characters) > 4000
    for character in characters:
        for text in (f"x the{character} y", f"x {character}An y", f"a{character}a"):
            assert scores.normalise(text) == released(text), ascii(text)


@pytest.mark.parametrize(
    ("prediction", "references", "value", "verdict"),
    [
        ("Wilhelm Conrad Röntgen.", ["Wilhelm Conrad Röntgen"], 1.0, "match:0"),
        ("It was the Beatles", ["Stones", "The Beatles"], 1.0, "match:1"),
        ("1972 or 1973", ["1973", "1972"], 1.0, "match:0"),
        ("no idea", ["yes", "maybe"], 0.0, "no_match"),
        ("", ["yes"], 0.0, "empty"),
        (" \t", ["yes"], 0.0, "empty"),
        ("the.", ["yes"], 0.0, "empty"),
        # The first line only, and "\n" alone ends it.
        ("I do not know\nyes", ["yes"], 0.0, "no_match"),
        ("\nyes", ["yes"], 0.0, "empty"),
        ("  yes  \nno", ["yes"], 1.0, "match:0"),
        ("one\r\ntwo", ["two"], 0.0, "no_match"),
        ("one\rtwo", ["two"], 1.0, "match:0"),
        ("one\u2028two", ["one two"], 1.0, "match:0"),
        # Inside words, and across what punctuation had parted.
        ("a party", ["art"], 1.0, "match:0"),
        ("1,9,7,2", ["1972"], 1.0, "match:0"),
        ("spider man", ["Spider-Man"], 0.0, "no_match"),
        # The answer must hold the reference, not the other way round.
        ("Beatles", ["The Beatles of Liverpool"], 0.0, "no_match"),
        # A reference of which nothing is left is part of everything.
        ("a cross", ["the symbol ×", "*"], 1.0, "match_all:1"),
        ("", ["*"], 1.0, "match_all:0"),
        ("symbol ×", ["the symbol ×", "*"], 1.0, "match:0"),
        ("anything", [], 0.0, "no_match"),
    ],
)
def test_best_subspan_em(prediction, references, value, verdict):
    assert scores.best_subspan_em(prediction, references) == (value, verdict)


@pytest.mark.parametrize(
    ("prediction", "value", "verdict"),
    [
        ("9f4a92b9-5f69-4725-ba1e-403f08dea695", 1.0, "match"),
        ('"9F4A92B9-5F69-4725-BA1E-403F08DEA695"}', 1.0, "match"),
        ("It is:\n\n9f4a92b9-5f69-4725-ba1e-403f08dea695.", 1.0, "match"),
        ("9f4a92b9-5f69-4725-ba1e-403f08dea69", 0.0, "no_match"),
        ("9f4a92b95f694725ba1e403f08dea695", 0.0, "no_match"),
        ("", 0.0, "empty"),
        ("\n", 0.0, "empty"),
    ],
)
def test_key_value(prediction, value, verdict):
    references = ["9f4a92b9-5f69-4725-ba1e-403f08dea695"]
    assert scores.key_value_accuracy(prediction, references) == (value, verdict)


def test_released_answers_accept_themselves_and_one_accepts_everything(mirror):
    path = mirror / "lost-in-the-middle" / "qa_data" / "nq-open-oracle.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        answers = [json.loads(line)["answers"] for line in lines]
    assert len(answers) == 2655
    assert all(scores.best_subspan_em(a[0], a)[0] == 1.0 for a in answers)
    empty = [a for a in answers if scores.best_subspan_em("", a)[0]]
    assert empty == [["a rotationally symmetric saltire", "the symbol ×", "*"]]
