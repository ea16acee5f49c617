"""ONERULER's scores: each answer by both metrics, whatever its task and language."""

from __future__ import annotations

import pyarrow as pa
import pytest

from factories.oneruler import tables
from needlework.benchmarks.oneruler import plan
from needlework.benchmarks.oneruler import prompts as construct
from needlework.benchmarks.oneruler.scores import METRICS, score
from needlework.errors import UserError
from needlework.planning.schema import schema, with_defaults
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import GENERATIONS, scores_schema, write_table

FACTORS = {
    "instruction_lang": "string",
    "context_lang": "string",
    "length": "int32",
    "none_option": "bool",
    "n_needles": "int32",
    "exhausted": "bool",
}


def instances(*rows: tuple[str, str, str, list[str]]) -> pa.Table:
    """Rows of (instance_id, task, instruction's language, references)."""
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("instance_id", "task", "example_id")),
            ("references", pa.list_(pa.string())),
            *((name, pa.type_for_alias(kind)) for name, kind in FACTORS.items()),
        ]
    )
    return pa.Table.from_pylist(
        [
            {
                "instance_id": name,
                "task": task,
                "example_id": f"{task}-0",
                "references": references,
                "instruction_lang": lang,
                "context_lang": "en",
                "length": 8000,
                "none_option": True,
                "n_needles": 1,
                "exhausted": False,
            }
            for name, task, lang, references in rows
        ],
        schema=schema,
    )


def generations(**texts: str | tuple[str | None, str] | None) -> pa.Table:
    """Answers by instance: a text, or (text, finish_reason)."""
    rows = []
    for name, said in texts.items():
        text, reason = said if isinstance(said, tuple) else (said, "stop")
        rows.append({"instance_id": name, "sample": 0, "text": text, "finish_reason": reason})
    return pa.Table.from_pylist(rows, schema=GENERATIONS)


def scored(asked: pa.Table, answers: pa.Table, model: str = "m", **settings) -> dict:
    """{(instance, metric): (value, verdict)}"""
    table = score(asked, answers, None, model=model, settings=settings)
    return {
        (row["instance_id"], row["metric"]): (row["value"], row["verdict"])
        for row in table.to_pylist()
    }


ASKED = instances(
    ("number", "niah_single", "en", ["1234567"]),
    ("values", "niah_multivalue", "sv", ["1234567", "7654321"]),
    ("none", "niah_none", "de", ["Keine vorhanden"]),
    ("words", "cwe_easy", "en", ["art", "car"]),
)


def test_every_answer_has_a_row_for_each_metric():
    answers = generations(
        number="<Answer>1,234,567</Answer>",
        values="1234567, 7654321, inga andra",
        none="keine vorhanden",
        words="cartwheel party",
    )
    table = score(ASKED, answers, None, model="m", settings={})
    assert table.schema.equals(scores_schema(FACTORS))
    assert table["metric"].to_pylist() == [*METRICS] * 4
    assert scored(ASKED, answers) == {
        ("number", "strict"): (1.0, "correct"),
        ("number", "released"): (0.0, "wrong_number"),
        ("number", "careful"): (1.0, "right"),
        ("values", "strict"): (1.0, "correct"),
        ("values", "released"): (0.0, "none_word"),
        ("values", "careful"): (1.0, "right"),
        ("none", "strict"): (1.0, "correct"),
        ("none", "released"): (1.0, "correct"),
        ("none", "careful"): (1.0, "right"),
        ("words", "strict"): (0.0, "wrong_words"),
        ("words", "released"): (1.0, "correct"),
        ("words", "careful"): (0.0, "other"),
    }


def test_no_answer_is_told_from_a_wrong_one():
    answers = generations(
        number=("", "length"),
        values=(None, "skipped"),
        none="",
        words=(" \n", "stop"),
    )
    found = scored(ASKED, answers)
    for metric in METRICS:
        assert found["number", metric] == (0.0, "length")
        assert found["values", metric] == (0.0, "skipped")
        assert found["none", metric] == (0.0, "no_answer")
        assert found["words", metric] == (0.0, "no_answer")
    answers = generations(number=("It is 765", "length"), values="", none="?", words="art")
    assert scored(ASKED, answers)["number", "strict"] == (0.0, "wrong_number")


def test_the_released_rules_see_thoughts():
    """As the released code does; by the strict ones a model that only thought said nothing."""
    answers = generations(number="", values="", none=("", "length"), words="").to_pylist()
    for row in answers:
        row["raw_text"] = "<think>Keine vorhanden, or 1234567"
    found = scored(ASKED, pa.Table.from_pylist(answers, schema=GENERATIONS))
    assert found["none", "strict"] == (0.0, "length")
    assert found["none", "released"] == (1.0, "correct")
    assert found["number", "strict"] == (0.0, "no_answer")


def test_none_is_said_in_the_language_of_the_instruction():
    asked = instances(("a", "niah_none", "ko", ["없음"]), ("b", "niah_single", "ko", ["1234567"]))
    found = scored(asked, generations(a="없음", b="없습니다"))
    assert found["a", "strict"] == (1.0, "correct")
    assert found["b", "strict"] == (0.0, "none_error")
    found = scored(asked, generations(a="none", b="none"))
    assert found["a", "strict"] == (0.0, "no_number")
    # Wrong either way; models say it in English to prompts in any language.
    assert found["b", "strict"] == (0.0, "none_error")


def test_a_prompts_word_for_none_counts_in_its_task():
    asked = instances(("a", "niah_none", "en", ["zilch"]))
    assert scored(asked, generations(a="Zilch!"))["a", "strict"] == (1.0, "correct")


def test_a_further_language_brings_its_own_words_and_tag():
    asked = instances(("a", "niah_single", "eu", ["1234567"]), ("b", "niah_none", "eu", ["ez"]))
    answers = generations(a="88 <Erantzuna>1234567</Erantzuna>", b="Bat ere ez.")
    with pytest.raises(UserError, match="'eu'"):
        scored(asked, answers)
    own = {"none_words": {"eu": ["bat ere ez"]}, "answer_tags": ["erantzuna"]}
    found = scored(asked, answers, **own)
    assert found["a", "strict"] == found["b", "strict"] == (1.0, "correct")
    assert found["b", "released"] == (1.0, "correct")


def test_the_released_rules_know_one_maker_s_models():
    asked = instances(("a", "niah_single", "en", ["1234567"]))
    answers = generations(a="It is 99 or so. <Answer>1234567</Answer>")
    assert scored(asked, answers)["a", "released"] == (0.0, "wrong_number")
    assert scored(asked, answers, model="deepseek-r1")["a", "released"] == (1.0, "correct")


@pytest.mark.parametrize("pair", ["fa-fa", "hi-hi", "ja-ja", "ko-en", "st-st", "vi-vi", "zh-zh"])
def test_references_are_right_and_silence_wrong_on_real_prompts(mirror, pair):
    block = schema()["properties"]["benchmarks"]["properties"]["oneruler"]
    slice_settings = plan.settings(with_defaults({"examples": 3, "seed": 0}, block), pair, [2500])
    words = load_tokenizer("words", {"kind": "words"})
    built = construct.build(slice_settings, tables(mirror, plan.reads(slice_settings)), [], words)
    asked = built.instances.drop_columns("prompt")
    references = dict(
        zip(asked["instance_id"].to_pylist(), asked["references"].to_pylist(), strict=True)
    )
    told = {key: ", ".join(found) for key, found in references.items()}
    tagged = {key: f"Of 77: <answer>{text}</answer> See 88." for key, text in told.items()}
    for texts, metrics, value in (
        (told, METRICS, 1.0),
        (tagged, ("strict", "careful"), 1.0),
        (dict.fromkeys(told, ""), METRICS, 0.0),
    ):
        found = scored(asked, generations(**texts))
        wrong = [key for key, (v, _) in found.items() if key[1] in metrics and v != value]
        assert not wrong
    assert len(references) == 7 * 3


def test_an_answer_that_quotes_its_own_book_is_no_none(tmp_path):
    sentence = "There is no number that he could name."
    book = pa.table({"passage_id": ["0"], "text": [f"He wept. {sentence} So he left. None. Gone."]})
    (tmp_path / "sample_books").mkdir()
    write_table(book, tmp_path / "sample_books" / "en.parquet")
    asked = instances(("a", "niah_none", "en", ["none"]), ("b", "niah_none", "en", ["none"]))
    answers = generations(a=f"“{sentence}”", b="None.")
    books = [tmp_path / "sample_books" / "en.parquet"]
    table = score(asked, answers, model="m", settings={}, books=books)
    found = {
        row["instance_id"]: row["value"] for row in table.to_pylist() if row["metric"] == "strict"
    }
    assert found == {"a": 0.0, "b": 1.0}
    without = score(asked, answers, model="m", settings={}).to_pylist()
    assert [row["value"] for row in without if row["metric"] == "strict"] == [1.0, 1.0]
