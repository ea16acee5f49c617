"""mLongRR's answers: strict verdicts, the notebooks' own, and what they said of 20 answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from factories.mlongrr import settings, tables
from needlework.benchmarks.mlongrr import prompts as construct
from needlework.benchmarks.mlongrr import scores as released
from needlework.benchmarks.mlongrr import scores as scoring
from needlework.benchmarks.mlongrr import scores as strict
from needlework.benchmarks.mlongrr.prompt_files import read_rows
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import GENERATIONS

WORDS = ["UNANSWERABLE", "无法回答"]


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("8134445", 1.0, "correct"),
        ("The larger magic number is 8134445.", 1.0, "correct"),
        ("8,134,445", 1.0, "correct"),
        ("8 134 445", 1.0, "correct"),
        ("Of 2 numbers in 2024, 8134445", 1.0, "correct"),
        ("8134445 8134445", 1.0, "correct"),
        ("8134445 and 1111111", 0.0, "several"),
        ("1111111", 0.0, "other_needle"),
        ("1111111, 2222222", 0.0, "other_needle"),
        ("9999999", 0.0, "wrong_number"),
        ("81344450", 0.0, "wrong_number"),
        ("UNANSWERABLE", 0.0, "unanswerable"),
        ("**unanswerable**", 0.0, "unanswerable"),
        ("无法回答。", 0.0, "unanswerable"),
        ("I do not know 42", 0.0, "no_number"),
    ],
)
def test_a_number_is_read_strictly(text: str, value: float, verdict: str) -> None:
    numbers = ["8134445", "1111111", "2222222"]
    assert strict.score_number(text, "8134445", numbers, WORDS) == (value, verdict)


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("Cairo", 1.0, "correct"),
        ("The city is KAIRO.", 1.0, "correct"),
        ("Paris", 0.0, "other_needle"),
        ("Cairo, not Paris", 0.0, "several"),
        # A city that no needle has.
        ("Oslo", 0.0, "no_city"),
        ("Parisian", 0.0, "no_city"),
        ("unanswerable", 0.0, "unanswerable"),
    ],
)
def test_a_city_is_read_strictly(text: str, value: float, verdict: str) -> None:
    others = ["Cairo", "Kairo", "Paris"]
    assert strict.score_city(text, ["Kairo", "Cairo"], others, WORDS) == (value, verdict)


def test_a_name_ends_after_the_marks_of_its_letters() -> None:
    assert strict.score_city("शहर पुणे है", ["पुण"], ["पुणे"], []) == (0.0, "other_needle")
    assert strict.score_city("शहर पुणे है", ["पुणे"], ["पुण"], []) == (1.0, "correct")


def test_names_in_scripts_without_spaces_need_no_boundary() -> None:
    assert strict.score_city("是奥萨比镇", ["奥萨比"], ["维尔莫拉"], []) == (1.0, "correct")


def test_where_no_needle_is_the_answer_must_say_so() -> None:
    assert strict.score_absent("UNANSWERABLE", WORDS) == (1.0, "correct")
    assert strict.score_absent("UNANSWERABLE, or 1234567", WORDS) == (0.0, "wrong_number")
    assert strict.score_absent("Nothing there.", WORDS) == (0.0, "no_refusal")


def test_the_notebooks_rules_keep_their_false_verdicts() -> None:
    assert released.released_accuracy(["1111111, 8134445"], ["8134445"])[0] == 1.0
    assert released.released_accuracy(["8,134,445"], ["8134445"])[0] == 0.0
    assert released.released_accuracy(["nothing", "8134445"], ["8134445"])[0] == 1.0
    assert released.claude_gold(["1111111", "2222222", "9999999"]) == 1


def test_the_notebooks_20_answers_get_their_verdicts(mirror: Path) -> None:
    """Gold and verdict are the authors'; of Claude with three needles, its own gold."""
    rows = list(read_rows(mirror / "mlongrr/answers_in_notebooks.csv", ("model", "found")))
    wrong_gold = 0
    for row in rows:
        numbers = [row[key] for key in ("label1", "label2", "label3") if row[key]]
        claude = row["model"] == "Claude"
        gold = numbers[released.claude_gold(numbers)] if claude else max(numbers)
        assert gold == row["bigger_label"]
        assert released.released_accuracy([row["generated_text"]], [gold])[0] == int(row["found"])
        wrong_gold += gold != max(numbers)
        value, verdict = strict.score_number(
            row["generated_text"], max(numbers), numbers, ["UNANSWERABLE"]
        )
        assert value == int(row["found"])
        refused = row["generated_text"] == "UNANSWERABLE"
        assert verdict == ("correct" if value else "unanswerable" if refused else "no_number")
    assert (len(rows), wrong_gold) == (20, 2)


def answered(answer, thoughts=lambda row: "") -> dict[str, dict[str, tuple[float, str]]]:
    """Values and verdicts by instance and metric, of the sample in English; `thoughts` precede answers."""
    slice_settings = settings(
        "en", [500], haystacks=["sample_books"], data="sample", absent=[1], examples=2
    )
    built = construct.build(
        slice_settings, tables(slice_settings), [], load_tokenizer("words", {"kind": "words"})
    ).instances
    rows = [
        {
            **dict.fromkeys(GENERATIONS.names),
            "instance_id": row["instance_id"],
            "sample": 0,
            "text": answer(row),
            "raw_text": f"<think>{thoughts(row)}</think>{answer(row)}" if thoughts(row) else None,
            "finish_reason": "stop",
        }
        for row in built.to_pylist()
    ]
    made = scoring.score(built, pa.Table.from_pylist(rows, GENERATIONS), model="m", settings={})
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for row in made.to_pylist():
        found.setdefault(row["instance_id"], {})[row["metric"]] = (row["value"], row["verdict"])
    assert all(set(scores) == set(scoring.METRICS) for scores in found.values())
    return found


def test_the_oracle_is_right_and_silence_wrong_everywhere() -> None:
    right = answered(lambda row: ", ".join(row["references"]))
    assert {scores["strict"] for scores in right.values()} == {(1.0, "correct")}
    assert {scores["released"][0] for scores in right.values()} == {1.0}
    silent = answered(lambda row: "")
    assert {scores["strict"] for scores in silent.values()} == {(0.0, "no_answer")}
    assert {value for scores in silent.values() for value, _ in scores.values()} == {0.0}


def test_who_lists_all_needles_passes_by_the_notebooks_alone() -> None:
    listed = answered(lambda row: row["numbers"] + " " + row["cities"])
    several = [scores for scores in listed.values() if scores["strict"][1] == "several"]
    assert several
    assert all(scores["released"][0] == 1.0 for scores in several)


def test_the_notebooks_rules_see_thoughts() -> None:
    """As the notebooks do; by the strict rules a model that only thought said nothing."""

    def gold(row: dict) -> str:
        return row["references"][0]

    thought = answered(lambda row: "", gold)
    assert {scores["strict"] for scores in thought.values()} == {(0.0, "no_answer")}
    assert {scores["released"][0] for scores in thought.values()} == {1.0}
    refused = answered(lambda row: "7", gold)
    assert {scores["strict"][0] for scores in refused.values()} == {0.0}
    assert {scores["released"][0] for scores in refused.values()} == {1.0}


def test_claudes_gold_leaves_out_the_third_needle() -> None:
    """A perfect model is right where the third number is not the largest, and only there."""
    rows = {}

    def gold(row: dict) -> str:
        rows[row["instance_id"]] = row
        return row["references"][0]

    for key, scores in answered(gold).items():
        row = rows[key]
        third = row["n_needles"] == 3 and row["numbers"].split()[2] == max(row["numbers"].split())
        assert scores["released_claude"][0] == float(not third)
    assert any(row["n_needles"] == 3 for row in rows.values())
