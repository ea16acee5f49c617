"""The metrics: what counts as holding an answer, and that the released scorer is reproduced."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
import zipfile
from pathlib import Path

import pytest

from needlework.benchmarks.mlneedle import scores
from needlework.scoring import metrics

DATA = Path(__file__).resolve().parents[2] / "data"
RELEASED = json.loads((DATA / "mlneedle_released_scorer.json").read_text("utf-8"))["cases"]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        *[("  The\tEiffel \n Tower ", "the eiffel tower"), ("Straße", "strasse"), ("U.S.", "us")],
        *[("U.S.-based", "us based"), ("O'Neill", "oneill"), ("O’Neill", "oneill")],
        *[("co-operation", "cooperation"), ("Paris,France", "paris france")],
        *[("and/or", "and or"), ("wait...what", "wait what"), ("1,000", "1000")],
        *[("1.000", "1000"), ("1'000", "1000"), ("19.42", "1942"), ("1914-1918", "1914 1918")],
        *[("1914–1918", "1914 1918"), ("1914 — 1918", "1914 1918"), ("50 %", "50")],
        *[("$5 million", "$5 million"), ("C++", "c++"), ("(«¿Qué?»)", "qué")],
        *[("Hà Nội.", "hà nội"), ("Ha\u0300 No\u0323\u0302i", "hà nội")],
        *[("《红楼梦》，清代", "红楼梦 清代"), ("约翰·史密斯", "约翰史密斯")],
        *[("１９４２年", "1942年"), ("दिल्ली।", "दिल्ली"), ("हिन्दी-उर्दू", "हिन्दीउर्दू")],
        *[("१९४७", "1947"), ("القاهرة، مصر؟", "القاهرة مصر"), ("القـــاهِرَة", "القاهرة")],
        *[("١٬٩٥٢", "1952"), ("\u200fمصر\u200f", "مصر")],
        *[("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"), ("...", ""), ("", "")],
    ],
)
def test_normalise(text, normal):
    assert metrics.normalise(text) == normal


def test_normalise_is_idempotent_on_any_characters():
    draw = random.Random(0)
    assigned = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) not in ("Cs", "Cn", "Co")
    ]
    for number in range(6_000):
        # Every second text mixes a few characters with what the rules single out.
        few = [*draw.choices(assigned, k=3), *" .,-'a1é٣\u0301\u200d"]
        once = metrics.normalise("".join(draw.choices(few if number % 2 else assigned, k=8)))
        assert metrics.normalise(once) == once


def test_contains_never_finds_an_empty_reference():
    assert metrics.contains("paris", "in paris")
    assert not metrics.contains("paris", "in rome")
    assert not metrics.contains("", "in rome")


@pytest.mark.parametrize(
    ("prediction", "translated", "references", "value", "verdict"),
    [
        ("It was Paris.", None, ["Rome", "Paris"], 1.0, "match:raw:1"),
        ("Es war Rom.", "It was Rome.", ["Paris", "Rome"], 1.0, "match:translated:1"),
        ("Rome", "Paris", ["Paris", "Rome"], 1.0, "match:raw:1"),
        ("Es war Rom.", "It was Rome.", ["Paris"], 0.0, "no_match"),
        ("The tower of Eiffel Gustave", None, ["Gustave Eiffel"], 0.0, "no_match"),
        ("anything", None, ["...", "-"], 0.0, "no_match"),
        ("anything", None, [], 0.0, "no_match"),
        ("", "", ["Paris"], 0.0, "empty"),
        (" ... ", None, ["..."], 0.0, "empty"),
        ("...", "Paris", ["Paris"], 1.0, "match:translated:0"),
    ],
)
def test_containment_score(prediction, translated, references, value, verdict):
    assert metrics.exact_accuracy(prediction, translated, references) == (value, verdict)


def test_every_published_answer_is_contained_in_its_context(mirror):
    documents = [
        json.loads(path.read_text("utf-8")) for path in sorted((mirror / "xquad").glob("*.json"))
    ]
    with zipfile.ZipFile(mirror / "mlqa" / "MLQA_V1.zip") as archive:
        for lang in ("en", "de", "es", "zh", "vi", "hi", "ar"):
            name = f"MLQA_V1/dev/dev-context-{lang}-question-{lang}.json"
            documents.append(json.loads(archive.read(name)))
    checked = 0
    for document in documents:
        for article in document["data"]:
            for paragraph in article["paragraphs"]:
                context = metrics.normalise(paragraph["context"])
                for qa in paragraph["qas"]:
                    for answer in qa["answers"]:
                        assert metrics.contains(metrics.normalise(answer["text"]), context)
                        checked += 1
    assert checked > 10_000


@pytest.mark.parametrize("case", RELEASED, ids=lambda case: ascii(case["prediction"])[:30])
def test_released_scorer_agrees_with_the_original(case):
    texts = [case["prediction"], case["translated"], *case["references"]]
    assert [scores.clean(text) for text in texts] == case["cleaned"]

    def value(prediction, translated):
        return scores.released_accuracy(prediction, translated, case["references"])[0]

    assert value(case["prediction"], None) == case["raw_value"]
    assert value(case["translated"], None) == case["translated_value"]
    assert value(case["prediction"], case["translated"]) == max(
        case["raw_value"], case["translated_value"]
    )


def test_the_released_cases_hold_both_outcomes_of_both_texts():
    outcomes = {(case["raw_value"], case["translated_value"]) for case in RELEASED}
    assert outcomes == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len(RELEASED) >= 60


@pytest.mark.parametrize(
    ("prediction", "translated", "references", "value", "verdict"),
    [
        ("It was Paris", None, ["Rome", "Paris"], 1.0, "match:raw:1"),
        ("Eiffel it was, Gustave", None, ["Gustave Eiffel"], 1.0, "words:raw:0"),
        ("Rom", "Rome", ["Rome"], 1.0, "match:translated:0"),
        ("New York", None, ["New York, New York"], 0.0, "no_match"),
        ("Rom", None, [], 0.0, "no_match"),
        ("", "", ["Rome"], 0.0, "empty"),
        ("", None, ["empty"], 1.0, "match:raw:0"),
    ],
)
def test_released_score(prediction, translated, references, value, verdict):
    assert scores.released_accuracy(prediction, translated, references) == (
        value,
        verdict,
    )


@pytest.mark.parametrize(
    ("prediction", "translated", "reference", "value", "verdict"),
    [
        *[("Yes", None, "Yes", 1.0, "yes:raw"), ("Yes", None, "No", 0.0, "yes:raw")],
        ("**no**, there is not", None, "No", 1.0, "no:raw"),
        ("NO. Yes would be wrong.", None, "No", 1.0, "no:raw"),
        *[("_Yes_", None, "Yes", 1.0, "yes:raw"), ("Ｙｅｓ", None, "Yes", 1.0, "yes:raw")],
        ("I know nothing of yesterday", None, "No", 0.0, "no_verdict"),
        ("是的", "Yes", "Yes", 1.0, "yes:translated"),
        *[("是的", "Yes", "No", 0.0, "yes:translated"), ("Sí", None, "Yes", 0.0, "no_verdict")],
        ("Sí, y no falta nada", "Yes, and nothing is missing", "Yes", 1.0, "yes:translated"),
        *[("No", "It is not so", "No", 1.0, "no:raw"), ("", "", "No", 0.0, "no_verdict")],
    ],
)
def test_existence_score(prediction, translated, reference, value, verdict):
    assert scores.existence_accuracy(prediction, translated, [reference]) == (value, verdict)


@pytest.mark.parametrize(
    ("answer", "words", "reference", "value"),
    [
        ("Evet, ikinci parçada.", ("Hayır", "Evet"), "Evet", 1.0),
        ("HAYIR", ("Hayır", "Evet"), "Hayır", 1.0),
        ("Cevap [Evet/Hayır]: Hayır", ("Hayır", "Evet"), "Hayır", 1.0),
        *[("Evetlemek", ("Hayır", "Evet"), "Evet", 0.0), ("没有。", ("没有", "有"), "没有", 1.0)],
        ("是的,有答案", ("没有", "有"), "有", 1.0),
        ("ไม่ใช่ครับ", ("ไม่ใช่", "ใช่"), "ไม่ใช่", 1.0),
        *[("ใช่", ("ไม่ใช่", "ใช่"), "ไม่ใช่", 0.0), ("नहीं", ("नहीं", "हाँ"), "नहीं", 1.0)],
        *[("لا", ("لا", "نعم"), "لا", 1.0), ("Yes", ("Hayır", "Evet"), "Evet", 1.0)],
        ("", ("Hayır", "Evet"), "Evet", 0.0),
    ],
)
def test_existence_in_a_users_words(answer, words: tuple[str, str], reference, value) -> None:
    assert scores.existence_accuracy(answer, None, [reference], words)[0] == value


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        *[("Answer (Yes or No): No", "no"), ("Yes/No: No", "no"), ("Yes or No? Yes.", "yes")],
        *[("[No/Yes] yes", "yes"), ("Document No. 3 contains the answer. Yes.", "yes")],
        *[("Document No.3: Yes", "yes"), ("no. 12 has it, so yes", "yes")],
        *[("No doubt, yes.", "yes"), ("Yes, no doubt.", "yes")],
        ("There is no question: Yes", "yes"),
        ("The documents do not contain the answer.", "no"),
        ("The passages don't mention it.", "no"),
        ("None of the provided documents contains the answer.", "no"),
        *[("No document contains the answer.", "no"), ("The answer is not in the text.", "no")],
        ("The documents contain the answer.", "yes"),
        ("The answer can be found in document [2].", "yes"),
        ("No, the answer is in none of them. Yes, really.", "no"),
        *[("No. The 3 documents are of other things.", "no"), ("No.", "no")],
        *[("Yes or No:", None), ("I cannot tell.", None)],
    ],
)
def test_existence_is_read_from_what_an_answer_says(text, verdict):
    assert scores.said(text) == verdict
