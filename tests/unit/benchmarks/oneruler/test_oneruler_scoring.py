"""ONERULER's scores: each answer by each metric, whatever its task and language."""

from __future__ import annotations

import pyarrow as pa
import pytest

from factories.oneruler import slice_settings, tables
from made_slices import Made
from needlework.benchmarks.oneruler import plan
from needlework.benchmarks.oneruler.factors import COLUMNS
from needlework.benchmarks.oneruler.scores import METRICS, score
from needlework.errors import UserError
from needlework.given import given
from needlework.records import GENERATIONS, scores_schema, write_table

CORRECT = (1.0, "correct")


def instances(*rows: tuple[str, str, str, list[str]]) -> pa.Table:
    """Rows of (instance_id, task, instruction's language, references)."""
    fields = {"instance_id": "string", "task": "string", "example_id": "string", **COLUMNS}
    columns = [(name, pa.type_for_alias(kind)) for name, kind in fields.items()]
    shared = {"context_lang": "en", "length": 8000, "none_option": True}
    shared |= {"n_needles": 1, "exhausted": False}
    asked = [
        {"instance_id": name, "task": task, "example_id": f"{task}-0", "references": references}
        | {"instruction_lang": lang, **shared}
        for name, task, lang, references in rows
    ]
    schema = pa.schema([*columns, ("references", pa.list_(pa.string()))])
    return pa.Table.from_pylist(asked, schema=schema)


def generations(**texts: str | tuple[str | None, str] | None) -> pa.Table:
    """Answers by instance: a text, or (text, finish_reason)."""
    rows = []
    for name, said in texts.items():
        text, reason = said if isinstance(said, tuple) else (said, "stop")
        rows.append({"instance_id": name, "sample": 0, "text": text, "finish_reason": reason})
    return pa.Table.from_pylist(rows, schema=GENERATIONS)


def scored(asked: pa.Table, answers: pa.Table, model: str = "m", books=(), **settings) -> dict:
    """{(instance, metric): (value, verdict)}"""
    own = given({"none_words": {}, "answer_tags": [], **settings})
    table = score(asked, answers, None, model=model, settings=own, books=books)
    assert table.schema.equals(scores_schema(COLUMNS))
    return {(r["instance_id"], r["metric"]): (r["value"], r["verdict"]) for r in table.to_pylist()}


ASKED = instances(
    ("number", "niah_single", "en", ["1234567"]),
    ("values", "niah_multivalue", "sv", ["1234567", "7654321"]),
    ("none", "niah_none", "de", ["Keine vorhanden"]),
    ("words", "cwe_easy", "en", ["art", "car"]),
)


def test_every_answer_or_none_has_a_row_for_each_metric() -> None:
    said = {"number": "<Answer>1,234,567</Answer>", "values": "1234567, 7654321, inga andra"}
    said |= {"none": "keine vorhanden", "words": "cartwheel party"}
    found = scored(ASKED, generations(**said))
    assert list(found) == [(name, metric) for name in said for metric in METRICS]
    right, wrong = (1.0, "right"), (0.0, "wrong_number")
    assert {name: [found[name, metric] for metric in METRICS] for name in said} == {
        "number": [CORRECT, wrong, right],
        "values": [CORRECT, (0.0, "none_word"), right],
        "none": [CORRECT, CORRECT, right],
        "words": [(0.0, "wrong_words"), CORRECT, (0.0, "other")],
    }
    said = {"number": ("", "length"), "values": (None, "skipped"), "none": "", "words": " \n"}
    found = scored(ASKED, generations(**said))
    for metric in METRICS:
        verdicts = [found[name, metric] for name in said]
        assert verdicts == [(0.0, x) for x in ("length", "skipped", "no_answer", "no_answer")]
    said = {"number": ("It is 765", "length"), "values": "", "none": "?", "words": "art"}
    assert scored(ASKED, generations(**said))["number", "strict"] == (0.0, "wrong_number")


def test_the_released_rules_see_thoughts_and_know_one_maker() -> None:
    # As the released code does; by the strict ones a model that only thought said nothing.
    answers = generations(number="", values="", none=("", "length"), words="").to_pylist()
    for row in answers:
        row["raw_text"] = "<think>Keine vorhanden, or 1234567"
    found = scored(ASKED, pa.Table.from_pylist(answers, schema=GENERATIONS))
    assert found["none", "strict"] == (0.0, "length")
    assert found["none", "released"] == CORRECT
    assert found["number", "strict"] == (0.0, "no_answer")
    asked = instances(("a", "niah_single", "en", ["1234567"]))
    answers = generations(a="It is 99 or so. <Answer>1234567</Answer>")
    assert scored(asked, answers)["a", "released"] == (0.0, "wrong_number")
    assert scored(asked, answers, model="deepseek-r1")["a", "released"] == CORRECT


def test_none_is_said_in_the_language_of_the_instruction() -> None:
    asked = instances(
        ("a", "niah_none", "ko", ["없음"]),
        ("b", "niah_single", "ko", ["1234567"]),
        ("own", "niah_none", "en", ["zilch"]),
    )
    found = scored(asked, generations(a="없음", b="없습니다", own="Zilch!"))
    assert found["a", "strict"] == found["own", "strict"] == CORRECT
    assert found["b", "strict"] == (0.0, "none_error")
    found = scored(asked, generations(a="none", b="none", own="Zilch!"))
    assert found["a", "strict"] == (0.0, "no_number")
    # Wrong either way; models say it in English to prompts in any language.
    assert found["b", "strict"] == (0.0, "none_error")
    asked = instances(("a", "niah_single", "eu", ["1234567"]), ("b", "niah_none", "eu", ["ez"]))
    answers = generations(a="88 <Erantzuna>1234567</Erantzuna>", b="Bat ere ez.")
    with pytest.raises(UserError, match="'eu'"):
        scored(asked, answers)
    own = {"none_words": {"eu": ["bat ere ez"]}, "answer_tags": ["erantzuna"]}
    found = scored(asked, answers, **own)
    assert found["a", "strict"] == found["b", "strict"] == found["b", "released"] == CORRECT


@pytest.mark.parametrize("pair", ["fa-fa", "hi-hi", "ko-en", "st-st", "vi-vi", "zh-zh"])
def test_references_are_right_and_silence_wrong_on_real_prompts(mirror, pair: str) -> None:
    settings = slice_settings(pair, [2500], examples=2)
    made = Made("oneruler", settings, tables(mirror, plan.reads(settings)))
    asked = made.built.instances.drop_columns("prompt")
    names, references = (asked[name].to_pylist() for name in ("instance_id", "references"))
    told = {name: ", ".join(found) for name, found in zip(names, references, strict=True)}
    assert len(told) == 7 * 2
    tagged = {key: f"Of 77: <answer>{text}</answer> See 88." for key, text in told.items()}
    for texts, metrics, value in (
        (told, METRICS, 1.0),
        (tagged, ("strict", "careful"), 1.0),
        (dict.fromkeys(told, ""), METRICS, 0.0),
    ):
        found = scored(asked, generations(**texts))
        wrong = [key for key, (v, _) in found.items() if key[1] in metrics and v != value]
        assert not wrong


def test_an_answer_that_quotes_its_own_book_is_no_none(tmp_path) -> None:
    sentence = "There is no number that he could name."
    book = pa.table({"passage_id": ["0"], "text": [f"He wept. {sentence} So he left. None. Gone."]})
    (tmp_path / "sample_books").mkdir()
    write_table(book, tmp_path / "sample_books/en.parquet")
    asked = instances(("a", "niah_none", "en", ["none"]), ("b", "niah_none", "en", ["none"]))
    answers = generations(a=f"“{sentence}”", b="None.")
    for books, expected in (([tmp_path / "sample_books/en.parquet"], [0.0, 1.0]), ([], [1.0, 1.0])):
        found = scored(asked, answers, books=books)
        assert [found[name, "strict"][0] for name in "ab"] == expected
