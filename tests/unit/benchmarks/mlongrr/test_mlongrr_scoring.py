"""mLongRR's answers: strict verdicts, the notebooks' own, and what they said of 20 answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.answers import generations
from factories.mlongrr import settings, tables
from growth import assert_linear
from made_slices import Made
from needlework.benchmarks.mlongrr import scores
from needlework.benchmarks.mlongrr.prompt_files import read_rows

WORDS = ["UNANSWERABLE", "无法回答"]


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        *(("8134445", 1.0, "correct"), ("The larger magic number is 8134445.", 1.0, "correct")),
        *(("8,134,445", 1.0, "correct"), ("8 134 445", 1.0, "correct")),
        *(("Of 2 numbers in 2024, 8134445", 1.0, "correct"), ("8134445 8134445", 1.0, "correct")),
        *(("8134445 and 1111111", 0.0, "several"), ("1111111", 0.0, "other_needle")),
        *(("1111111, 2222222", 0.0, "other_needle"), ("9999999", 0.0, "wrong_number")),
        *(("81344450", 0.0, "wrong_number"), ("UNANSWERABLE", 0.0, "unanswerable")),
        *(("**unanswerable**", 0.0, "unanswerable"), ("无法回答。", 0.0, "unanswerable")),
        ("I do not know 42", 0.0, "no_number"),
    ],
)
def test_a_number_is_read_strictly(text: str, value: float, verdict: str) -> None:
    numbers = ["8134445", "1111111", "2222222"]
    assert scores.score_number(text, "8134445", numbers, WORDS) == (value, verdict)


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
    assert scores.score_city(text, ["Kairo", "Cairo"], others, WORDS) == (value, verdict)


def test_names_absences_and_the_notebooks_false_verdicts() -> None:
    assert scores.score_city("शहर पुणे है", ["पुण"], ["पुणे"], []) == (0.0, "other_needle")
    assert scores.score_city("शहर पुणे है", ["पुणे"], ["पुण"], []) == (1.0, "correct")
    # Scripts without spaces need no boundary.
    assert scores.score_city("是奥萨比镇", ["奥萨比"], ["维尔莫拉"], []) == (1.0, "correct")
    assert scores.score_absent("UNANSWERABLE", WORDS) == (1.0, "correct")
    assert scores.score_absent("UNANSWERABLE, or 1234567", WORDS) == (0.0, "wrong_number")
    assert scores.score_absent("Nothing there.", WORDS) == (0.0, "no_refusal")
    assert scores.released_accuracy("1111111, 8134445", ["8134445"])[0] == 1.0
    assert scores.released_accuracy("8,134,445", ["8134445"])[0] == 0.0
    file = scores.numbers_in(["nothing", "18134445", "2222222"], ["8134445", "1111111", "81"])
    assert file == {"8134445", "81"}
    assert scores.released_accuracy(file, ["8134445"])[0] == 1.0
    assert scores.claude_gold(["1111111", "2222222", "9999999"]) == 1


def test_the_notebooks_20_answers_get_their_verdicts(mirror: Path) -> None:
    """Gold and verdict are the authors'; of Claude with three needles, its own gold."""
    rows = list(read_rows(mirror / "mlongrr/answers_in_notebooks.csv", ("model", "found")))
    wrong_gold = 0
    for row in rows:
        numbers = [row[key] for key in ("label1", "label2", "label3") if row[key]]
        claude = row["model"] == "Claude"
        gold = numbers[scores.claude_gold(numbers)] if claude else max(numbers)
        assert gold == row["bigger_label"]
        said, right = row["generated_text"], int(row["found"])
        assert scores.released_accuracy(said, [gold])[0] == right
        wrong_gold += gold != max(numbers)
        value, verdict = scores.score_number(said, max(numbers), numbers, ["UNANSWERABLE"])
        assert value == right
        refused = "unanswerable" if said == "UNANSWERABLE" else "no_number"
        assert verdict == ("correct" if value else refused)
    assert (len(rows), wrong_gold) == (20, 2)


Scores = dict[str, tuple[float, str]]


def answered(answer, thoughts=None) -> list[tuple[dict, Scores]]:
    """Rows of the sample in English with values and verdicts by metric; `thoughts` precede answers."""
    own = {"haystacks": ["sample_books"], "data": "sample", "absent": [1], "examples": 2}
    slice_settings = settings("en", [500], **own)
    built = Made("mlongrr", slice_settings, tables(slice_settings)).built.instances
    rows = {row["instance_id"]: row for row in built.to_pylist()}
    given = generations(
        *(
            (name, answer(row), "stop", 0, f"<think>{thoughts(row)}</think>{answer(row)}")
            if thoughts
            else (name, answer(row))
            for name, row in rows.items()
        )
    )
    found: dict[str, Scores] = {name: {} for name in rows}
    for row in scores.score(built, given, model="m", settings={}).to_pylist():
        found[row["instance_id"]][row["metric"]] = (row["value"], row["verdict"])
    assert all(set(own) == set(scores.METRICS) for own in found.values())
    return [(row, found[name]) for name, row in rows.items()]


SEVERAL = "reasoning", "number"


def gold(row: dict) -> str:
    return row["references"][0]


def test_the_oracle_is_right_and_lists_pass_notebooks_alone() -> None:
    for _, found in answered(lambda row: ", ".join(row["references"])):
        assert found["strict"] == (1.0, "correct") and found["released"][0] == 1.0
    for _, found in answered(lambda row: ""):
        assert found["strict"] == (0.0, "no_answer")
        assert {value for value, _ in found.values()} == {0.0}
    for row, found in answered(lambda row: "UNANSWERABLE"):
        right = row["task"] == scores.ABSENT
        assert found["careful"] == ((1.0, "right") if right else (0.0, "unanswerable"))
    listed = answered(lambda row: row["numbers"] + " " + row["cities"])
    several = [found["released"][0] for _, found in listed if found["strict"][1] == "several"]
    assert several and set(several) == {1.0}


def test_the_notebooks_rules_see_thoughts_and_claudes_gold() -> None:
    # As the notebooks do; by the strict rules a model that only thought said nothing.
    for said in ("", "7"):
        for _, found in answered(lambda row, said=said: said, gold):
            assert found["strict"][0] == 0.0 and found["released"][0] == 1.0
            assert said or found["strict"][1] == "no_answer"
    # A perfect model is right where the third number is not the largest, and only there.
    thirds = []
    for row, found in answered(gold):
        third = row["n_needles"] == 3 and row["numbers"].split()[2] == max(row["numbers"].split())
        assert found["released_claude"][0] == float(not third)
        thirds.append(third)
    assert set(thirds) == {True, False}


def test_another_answer_of_the_file_may_hold_the_number() -> None:
    """To each question with several needles, the number of the next one is answered."""
    asked = [row for row, _ in answered(gold) if (row["task"], row["question"]) == SEVERAL]
    files: dict[tuple, list[dict]] = {}
    for row in asked:
        files.setdefault(tuple(row[factor] for factor in scores._FILE), []).append(row)
    following = {
        row["instance_id"]: gold(own[(i + 1) % len(own)])
        for own in files.values()
        for i, row in enumerate(own)
    }
    assert any(len({gold(row) for row in own}) > 1 for own in files.values())
    for row, found in answered(lambda row: following.get(row["instance_id"], "")):
        if row["instance_id"] in following:
            assert found["released"][0] == 1.0


def test_a_files_answers_are_read_once() -> None:
    def work(size: int) -> None:
        golds = [str(10**6 + i) for i in range(size)]
        said = scores.numbers_in([f"I say {number}." for number in golds], golds)
        assert all(scores.released_accuracy(said, [number])[0] for number in golds)

    assert_linear(work, 1_000)
