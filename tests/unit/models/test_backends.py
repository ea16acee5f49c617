"""The backends that need nothing: what they answer, and what they refuse."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Backend, Request, backend_names, load_backend
from needlework.models.backends.lexical import best_sentence, features, read_sentences
from needlework.models.generation import Policy, generate
from needlework.prompts.spans import literal
from needlework.scoring.metrics import exact_accuracy


def request(
    question: str = "Who built the mill?",
    needle: str = "",
    distractors: Sequence[str] = (),
    *,
    task: str = "exact",
    instance_id: str = "i0",
    sample: int = 0,
    references: Sequence[str] = ("Ada",),
) -> Request:
    spans = [literal("instruction", "Who built the mill? Say so."), literal("haystack", "[0] ")]
    spans += [literal("distractor", text) for text in distractors]
    spans += [literal("needle", needle)] if needle else []
    spans += [literal("question", question), literal("answer_format", "The mill was built by")]
    return Request(instance_id, sample, task, spans, references, 16, 10, {})


def answer(backend: Backend, *requests: Request) -> list[str]:
    backend.load()
    return [a.text for a in backend.generate(requests)]


def test_the_names_are_the_modules() -> None:
    assert {"empty", "lexical", "oracle", "replay"} <= set(backend_names())
    assert not {"base", "__init__"} & set(backend_names())
    assert load_backend("oracle", {}).identity()["backend"] == "oracle"


@pytest.mark.parametrize("name", ["lexcal", "base", "__init__", "../errors", "os", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="did you mean") as refused:
        load_backend(name, {})
    if name == "lexcal":
        assert "did you mean 'lexical'?" in str(refused.value)


@pytest.mark.parametrize("name", ["empty", "lexical", "oracle"])
def test_an_identity_is_json_and_names_the_code(name: str) -> None:
    identity = load_backend(name, {}).identity()
    assert json.loads(json.dumps(identity)) == identity
    others = [load_backend(n, {}).identity() for n in ("empty", "lexical", "oracle") if n != name]
    assert identity["code"] not in [other["code"] for other in others]


def test_oracle_and_empty() -> None:
    asked = [request(references=["Ada", "Bo"]), request(references=["Cy"])]
    assert answer(load_backend("oracle", {}), *asked) == ["Ada, Bo", "Cy"]
    assert answer(load_backend("empty", {}), *asked) == ["", ""]


# The lexical reader.

PASSAGES = {
    "en": "Orveld lies by the sea. Ada Quill built the mill in 1912. It burned down. Nobody cared.",
    "zh": "奥维德在海边。磨坊是艾达在1912年建造的。后来它烧毁了。没有人在意。",
    "hi": "ओरवेल्ड समुद्र के किनारे है। चक्की १९१२ में आडा ने बनाई थी। बाद में वह जल गई।",
    "ar": "تقع أورفيلد على البحر. بنت آدا الطاحونة في عام 1912. ثم احترقت؟ لم يهتم أحد.",
}
QUESTIONS = {
    "en": ("Who built the mill?", "Ada Quill"),
    "zh": ("谁建造了磨坊？", "艾达"),
    "hi": ("चक्की किसने बनाई थी?", "आडा"),
    "ar": ("من بنى الطاحونة؟", "آدا"),
}


@pytest.mark.parametrize("lang", PASSAGES)
def test_it_finds_the_sentence_in_its_language(lang: str) -> None:
    question, expected = QUESTIONS[lang]
    (text,) = answer(load_backend("lexical", {}), request(question, PASSAGES[lang]))
    assert expected in text
    assert len(text) < len(PASSAGES[lang]) / 2


def test_it_does_not_see_which_passage_is_the_needle() -> None:
    right, wrong = PASSAGES["en"], "The mill was built by Bo Fen, who built the mill."
    lexical = load_backend("lexical", {})
    one, other = answer(
        lexical,
        request("Who built the mill", right, [wrong]),
        request("Who built the mill", wrong, [right]),
    )
    assert one == other == wrong


def test_it_reads_nothing_but_the_question_and_the_passages() -> None:
    lexical = load_backend("lexical", {})
    assert answer(lexical, request()) == [""]
    assert answer(lexical, request(task="closed_book")) == [""]
    assert answer(lexical, request("", PASSAGES["en"])) == [""]


def test_the_first_of_equals_wins_wherever_the_needle_is() -> None:
    twins = ["Bo built the mill.", "Cy built the mill."]
    assert best_sentence("Who built the mill?", twins)[0] == twins[0]
    assert best_sentence("Who built the mill?", twins[::-1])[0] == twins[1]


def test_rare_words_weigh_more_than_common_ones() -> None:
    passages = ["Who was it that built the house?"] * 9 + ["Lighthouse: Ada.", "Who built the inn?"]
    assert best_sentence("Who was it that built the lighthouse?", passages)[0] == "Lighthouse: Ada."


def test_numbers_count_as_wholes() -> None:
    passages = ["In 1913 the ferry sank.", "In 1912 the ferry sank."]
    assert best_sentence("Which ferry sank in 1912?", passages)[0] == passages[1]
    assert not set(features("1912")) & set(features("1913"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Who built the mill in 1912?", "Yes"), ("Which composer died in Vienna?", "No")],
)
def test_existence(question: str, expected: str) -> None:
    lexical = load_backend("lexical", {})
    assert answer(lexical, request(question, PASSAGES["en"], task="existence")) == [expected]


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
    def accuracy(context_lang: str, collection: str) -> float:
        name = f"MLQA_V1/dev/dev-context-{context_lang}-question-en.json"
        with zipfile.ZipFile(mirror / "mlqa" / "MLQA_V1.zip") as archive:
            articles = json.loads(archive.read(name))["data"]
        items = [
            (paragraph["context"], item["question"], [a["text"] for a in item["answers"]])
            for article in articles
            for paragraph in article["paragraphs"]
            for item in paragraph["qas"]
        ]
        lines = (mirror / "mmarco" / "collections" / f"{collection}_collection.tsv").read_text(
            encoding="utf-8"
        )
        passages = [line.partition("\t")[2] for line in lines.splitlines()]
        dice = random.Random(0)
        values = []
        for context, question, answers in dice.sample(items, 100):
            haystack = dice.sample(passages, 40)
            text, _ = best_sentence(question, [*haystack[:20], context, *haystack[20:]])
            values.append(exact_accuracy(text, None, answers)[0])
        return sum(values) / len(values)

    assert accuracy("en", "english") > 0.65
    assert accuracy("zh", "chinese") < 0.3
    assert accuracy("ar", "arabic") < 0.3


# Replay.


def replay(path: Path, rows: Sequence[object]) -> Backend:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_backend("replay", {"answers": str(path)})


def asked(count: int, samples: int = 1) -> list[Request]:
    return [request(instance_id=f"i{n}", sample=s) for n in range(count) for s in range(samples)]


def test_replay_gives_each_request_its_own_answer(tmp_path) -> None:
    rows = [
        {"instance_id": f"i{n}", "sample": s, "text": f"{n}/{s}", "finish_reason": "length"}
        for n in (2, 0, 1)
        for s in (1, 0)
    ]
    backend = replay(tmp_path / "a.jsonl", rows)
    table = generate(asked(3, 2), backend, Journal(tmp_path / "j"))
    assert table["text"].to_pylist() == ["0/0", "0/1", "1/0", "1/1", "2/0", "2/1"]
    assert set(table["finish_reason"].to_pylist()) == {"length"}


def test_replay_reads_parquet_and_fills_in_what_is_optional(tmp_path) -> None:
    table = pa.table({"instance_id": ["i1", "i0"], "text": ["one", "zero"]})
    pq.write_table(table, tmp_path / "a.parquet")
    backend = load_backend("replay", {"answers": str(tmp_path / "a.parquet")})
    answers = generate(asked(2), backend, Journal(tmp_path / "j"))
    assert answers["text"].to_pylist() == ["zero", "one"]
    assert answers["finish_reason"].to_pylist() == ["unknown", "unknown"]


def test_replay_of_a_changed_file_is_another_model(tmp_path) -> None:
    old = replay(tmp_path / "a.jsonl", [{"instance_id": "i0", "text": "old"}])
    generate(asked(1), old, Journal(tmp_path / "j"))
    new = replay(tmp_path / "a.jsonl", [{"instance_id": "i0", "text": "new"}])
    assert generate(asked(1), new, Journal(tmp_path / "j"))["text"].to_pylist() == ["new"]


def ids(*numbers: int) -> list[dict[str, object]]:
    return [{"instance_id": f"i{n}", "text": "x"} for n in numbers]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ids(*range(1, 9)),
            r"answers 4 request\(s\) .*i5 sample 0, i6 sample 0, i7 sample 0, \.\.\.\)",
        ),
        (ids(0), r"lacks the answers to 4 of 5 request\(s\) \(i1 sample 0, i2 sample 0, i3 sample"),
        (
            [*ids(0, 1, 2, 3, 4), {"instance_id": "i2", "text": "y"}],
            r"line 6: a second answer to i2 sample 0",
        ),
        ([*ids(0, 1, 2, 3), {"instance_id": "i4"}], r"line 5: .*\(`text` must be"),
        ([{"text": "x"}], r"line 1: .*\(`instance_id` must be"),
        ([{"instance_id": "i0", "text": "x", "sample": "0"}], r"line 1: .*\(`sample` must be"),
        ([{"instance_id": "i0", "text": "x", "finish_reason": "eos"}], r"must be one of stop"),
        (["i0"], r"line 1: .*\(not an object\)"),
    ],
)
def test_replay_refuses_a_wrong_file_before_any_work(
    tmp_path, rows: list[object], message: str
) -> None:
    backend = replay(tmp_path / "a.jsonl", rows)
    with pytest.raises(UserError, match=message) as refused:
        generate(asked(5), backend, Journal(tmp_path / "j"))
    assert "a.jsonl" in str(refused.value)
    assert not (tmp_path / "j").exists()


def test_replay_refuses_what_is_no_file_of_answers(tmp_path) -> None:
    (tmp_path / "torn.jsonl").write_text('{"instance_id": "i0", "te', encoding="utf-8")
    (tmp_path / "no.parquet").write_text("PAR1", encoding="utf-8")
    (tmp_path / "a.csv").write_text("", encoding="utf-8")
    for name, message in [
        ("torn.jsonl", r"line 1: not JSON"),
        ("no.parquet", r"cannot be read as Parquet"),
        ("a.csv", r"must be a \.jsonl, \.parquet"),
        ("absent.jsonl", r"does not exist|do not exist"),
        ("", r"needs the key `answers`"),
    ]:
        with pytest.raises(UserError, match=message):
            load_backend("replay", {"answers": name and str(tmp_path / name)}).load()


def test_replay_does_not_miss_what_exceeds_the_context(tmp_path) -> None:
    backend = replay(tmp_path / "a.jsonl", ids(0))
    table = generate(asked(2), backend, Journal(tmp_path / "j"), Policy(context=9))
    assert table["finish_reason"].to_pylist() == ["skipped", "skipped"]
