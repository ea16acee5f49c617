"""The backends that need nothing: what they answer, and what they refuse."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Sequence
from typing import get_args

import pytest

from factories.models import answers, backend_of
from needlework.errors import UserError
from needlework.models.backends import backend_names
from needlework.models.backends.base import Request
from needlework.models.backends.lexical import best_sentence, features, read_sentences
from needlework.models.settings import MODELS
from needlework.prompts.spans import literal
from needlework.scoring.metrics import exact_accuracy


def request(
    question: str = "Who built the mill?",
    needle: str = "",
    distractors: Sequence[str] = (),
    *,
    task: str = "exact",
    references: Sequence[str] = ("Ada",),
) -> Request:
    spans = [literal("instruction", "Who built the mill? Say so."), literal("haystack", "[0] ")]
    spans += [literal("distractor", text) for text in distractors]
    spans += [literal("needle", needle)] if needle else []
    spans += [literal("question", question), literal("answer_format", "The mill was built by")]
    return Request("i0", 0, task, spans, references, 16, 10, {})


def read(*asked: Request, name: str = "lexical") -> list[str]:
    return [answer.text for answer in answers(backend_of(name, {}), asked)]


def test_the_names_are_the_modules() -> None:
    declared = {
        name for model in MODELS for name in get_args(model.model_fields["backend"].annotation)
    }
    assert set(backend_names()) == declared
    assert backend_of("oracle", {}).identity()["backend"] == "oracle"


@pytest.mark.parametrize("name", ["lexcal", "base", "__init__", "../errors", "os", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    likely = "'lexical'" if name == "lexcal" else ""
    with pytest.raises(UserError, match=f"did you mean {likely}"):
        backend_of(name, {})


@pytest.mark.parametrize("name", ["empty", "lexical", "oracle"])
def test_an_identity_is_json_and_names_the_code(name: str) -> None:
    identity = backend_of(name, {}).identity()
    assert json.loads(json.dumps(identity)) == identity
    others = [backend_of(n, {}).identity() for n in ("empty", "lexical", "oracle") if n != name]
    assert identity["code"] not in [other["code"] for other in others]


def test_oracle_and_empty() -> None:
    asked = [request(references=["Ada", "Bo"]), request(references=["Cy"])]
    assert read(*asked, name="oracle") == ["Ada, Bo", "Cy"]
    assert read(*asked, name="empty") == ["", ""]


# The lexical reader.

PASSAGES = {
    "en": "Orveld lies by the sea. Ada Quill built the mill in 1912. It burned down. Nobody cared.",
    "zh": "奥维德在海边。磨坊是艾达在1912年建造的。后来它烧毁了。没有人在意。",
    "hi": "ओरवेल्ड समुद्र के किनारे है। चक्की १९१२ में आडा ने बनाई थी। बाद में वह जल गई।",
    "ar": "تقع أورفيلد على البحر. بنت آدا الطاحونة في عام 1912. ثم احترقت؟ لم يهتم أحد.",
}
QUESTIONS = {
    **{"en": ("Who built the mill?", "Ada Quill"), "zh": ("谁建造了磨坊？", "艾达")},
    **{"hi": ("चक्की किसने बनाई थी?", "आडा"), "ar": ("من بنى الطاحونة؟", "آدا")},
}


@pytest.mark.parametrize("lang", PASSAGES)
def test_it_finds_the_sentence_in_its_language(lang: str) -> None:
    question, expected = QUESTIONS[lang]
    (text,) = read(request(question, PASSAGES[lang]))
    assert expected in text and len(text) < len(PASSAGES[lang]) / 2


def test_it_does_not_see_which_passage_is_the_needle() -> None:
    right, wrong = PASSAGES["en"], "The mill was built by Bo Fen, who built the mill."
    pairs = ((right, [wrong]), (wrong, [right]))
    assert read(*(request("Who built the mill", *pair) for pair in pairs)) == [wrong, wrong]


def test_it_reads_nothing_but_the_question_and_the_passages() -> None:
    assert read(request(), request(task="closed_book"), request("", PASSAGES["en"])) == [""] * 3


def test_the_first_of_equals_wins_and_rare_words_weigh_most() -> None:
    twins = ["Bo built the mill.", "Cy built the mill."]
    assert best_sentence("Who built the mill?", twins)[0] == twins[0]
    assert best_sentence("Who built the mill?", twins[::-1])[0] == twins[1]
    passages = ["Who was it that built the house?"] * 9 + ["Lighthouse: Ada.", "Who built the inn?"]
    assert best_sentence("Who was it that built the lighthouse?", passages)[0] == "Lighthouse: Ada."


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Who built the mill in 1912?", "Yes"), ("Which composer died in Vienna?", "No")],
)
def test_existence(question: str, expected: str) -> None:
    assert read(request(question, PASSAGES["en"], task="existence")) == [expected]


def test_numbers_count_as_wholes() -> None:
    passages = ["In 1913 the ferry sank.", "In 1912 the ferry sank."]
    assert best_sentence("Which ferry sank in 1912?", passages)[0] == passages[1]
    assert not set(features("1912")) & set(features("1913"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Pi is 3.14 here. Next", ["Pi is 3.14 here.", "Next"]),
        ("Am 17. Juli kam J. Quill. Er blieb.", ["Am 17. Juli kam J. Quill.", "Er blieb."]),
        ("一。二！三？四", ["一。", "二！", "三？", "四"]),
        ("क है। ख है।", ["क है।", "ख है।"]),
        ("من؟ هنا۔ ہم", ["من؟", "هنا۔", "ہم"]),
        ("line\nbreak", ["line", "break"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(read_sentences(text).texts) == expected


def test_the_reader_reads_one_language_of_real_questions(mirror) -> None:
    def accuracy(lang: str, collection: str) -> float:
        name = f"MLQA_V1/dev/dev-context-{lang}-question-en.json"
        with zipfile.ZipFile(mirror / "mlqa" / "MLQA_V1.zip") as archive:
            articles = json.loads(archive.read(name))["data"]
        items = [
            (paragraph["context"], item["question"], [a["text"] for a in item["answers"]])
            for article in articles
            for paragraph in article["paragraphs"]
            for item in paragraph["qas"]
        ]
        path = mirror / "mmarco" / "collections" / f"{collection}_collection.tsv"
        passages = [line.partition("\t")[2] for line in path.read_text("utf-8").splitlines()]
        dice = random.Random(0)
        values = []
        for context, question, right in dice.sample(items, 50):
            haystack = dice.sample(passages, 40)
            text, _ = best_sentence(question, [*haystack[:20], context, *haystack[20:]])
            values.append(exact_accuracy(text, None, right)[0])
        return sum(values) / len(values)

    assert accuracy("en", "english") > 0.65
    assert accuracy("zh", "chinese") < 0.3
    assert accuracy("ar", "arabic") < 0.3
