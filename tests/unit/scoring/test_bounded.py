"""The metric beside the paper's: an accepted answer counts as words of its own, however it is written."""

from __future__ import annotations

import pytest

from needlework.scoring.metrics import bounded, containment, released_mlneedle
from needlework.scoring.metrics.released_semantic import Semantic

RIGHT = [
    ("It is Oman.", "Oman"),
    ("In 1933", "1933"),
    ("about 1.5 million", "1.5 million"),
    ("1,5", "1.5"),
    ("1 234", "1234"),
    ("1,234 people", "1234"),
    ("1.234.567", "1,234,567"),
    ("12,34,567", "1234567"),
    ("Sao Paulo", "São Paulo"),
    ("São Paulo", "Sao Paulo"),
    ("أحمد", "احمد"),
    ("احمد", "أحمد"),
    ("القاهرة", "قاهرة"),
    ("co-op", "coop"),
    ("Spider Man", "Spider-Man"),
    ("Beatles", "the Beatles"),
    ("The Beatles", "Beatles"),
    ("in l'Aquila", "Aquila"),
    ("June 5, 1990", "5 June 1990"),
    ("5th of June 1990", "June 5, 1990"),
    ("on 1990-06-05", "5 June 1990"),
    ("5 de junio de 1990", "5 junio 1990"),
    ("O'Neill", "ONeill"),
    ("١٩٣٣", "1933"),
    ("答案是北京市", "北京"),
    ("서울입니다", "서울"),
    ("the U.S. Senate", "U.S. Senate"),
    ("New York City", "New York"),
    ("उत्तर दिल्ली है।", "दिल्ली"),
    ("हजार", "हज़ार"),
    ("कर्\u200dनाटक", "कर्नाटक"),
    ("คำตอบคือปูนา", "ปู"),
    ("ISTANBUL", "İstanbul"),
    ("İstanbul", "istanbul"),
    ("הַשָּׁלוֹם", "השלום"),
    ("漢\U000e0100字", "漢字"),
]
WRONG = [
    ("Roman", "Oman"),
    ("1933", "3"),
    ("15", "1.5"),
    ("1.5", "15"),
    ("party", "art"),
    ("1990", "199"),
    ("21,933", "1,933"),
    ("12 34", "1234"),
    ("5 July 1990", "5 June 1990"),
    ("6 June 1990", "5 June 1990"),
    ("má", "mạ"),
    ("서울대", "서울"),
    ("", "Rome"),
    ("?", "Rome"),
    ("दल", "दिल"),
    ("पिता", "पता"),
    ("रामायण", "राम"),
    ("ปู", "ปี"),
    ("ปู", "ป"),
    ("பல", "பால்"),
    ("İzmir", "Zmir"),
]


@pytest.mark.parametrize(("said", "wanted"), RIGHT)
def test_an_answer_is_right_however_it_is_written(said: str, wanted: str) -> None:
    assert bounded.score(said, None, [wanted]) == (1.0, "match:raw:0")


@pytest.mark.parametrize(("said", "wanted"), WRONG)
def test_an_answer_inside_another_word_or_number_is_wrong(said: str, wanted: str) -> None:
    assert bounded.score(said, None, [wanted])[0] == 0.0


def test_the_paper_s_metric_stays_what_it_is() -> None:
    assert containment.score("Roman", None, ["Oman"]) == (1.0, "match:raw:0")
    assert containment.score("1933", None, ["3"]) == (1.0, "match:raw:0")


def test_the_verdicts_are_those_of_containment() -> None:
    assert bounded.score("Rom", "It is Rome", ["Paris", "Rome"]) == (1.0, "match:translated:1")
    assert bounded.score("...", None, ["Rome"]) == (0.0, "empty")
    assert bounded.score("Paris", None, ["Rome"]) == (0.0, "no_match")
    assert bounded.score("Paris", None, ["..."]) == (0.0, "no_match")


def test_a_long_answer_is_read_in_no_time() -> None:
    assert bounded.score("New York " * 20_000, None, ["New Jersey"] * 20)[0] == 0.0


def test_an_answer_that_is_near_in_meaning_counts() -> None:
    """Here in n-grams, whose nearness is one of letters."""
    wanted = "the lighthouses of the old harbour towns of Orveld and Quillmouth in the northern provinces"
    said = wanted.replace("provinces", "province,").replace("lighthouses", "lighthouse")
    far = "a bakery in the south"
    semantic = Semantic({"kind": "ngram"})
    assert released_mlneedle.score(said, None, [wanted])[0] == 0.0
    assert semantic.score(said, None, [far, wanted]) == (1.0, "semantic:raw:1")
    assert semantic.score("?", said, [wanted]) == (1.0, "semantic:translated:0")
    assert semantic.score(far, None, [wanted]) == (0.0, "no_match")
    assert semantic.score("", None, [wanted]) == (0.0, "empty")
    assert semantic.score(wanted, None, [wanted]) == (1.0, "match:raw:0")
