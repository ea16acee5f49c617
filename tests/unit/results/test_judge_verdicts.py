"""The tables of a judge: verdicts, agreement with intervals, and means with its verdicts."""

from __future__ import annotations

import math

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from needlework.records import GENERATIONS, read_table, write_table
from needlework.results.numbers import judge_verdicts
from needlework.results.stats import clopper_pearson, estimate
from needlework.scoring.judge import Case


def known(lang: str, right: bool, number: int) -> Case:
    return Case("m4le", "", str(number), 0, "answer", "q", ("r",), "a", lang, right)


def verdicts(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        [(*row[:3], 0, row[3], "") for row in rows],
        columns=["benchmark", "model", "instance_id", "sample", "verdict", "reply"],
    )


def test_agreement_is_of_decided_answers_with_clopper_and_pearsons_interval() -> None:
    cases = [known("en", number % 2 == 0, number) for number in range(12)]
    cases += [known("fi", True, 12)]
    # 12 replies: ten decided, eight of them as known.
    said = ["right", "wrong"] * 4 + ["wrong", "right", "undecided", "no_reply", "right"]
    found = verdicts(*(("m4le", "", str(i), each) for i, each in enumerate(said)))
    table = judge_verdicts.known_agreement(cases, found).set_index(["by", "level"])
    counts = ["n", "replies", "decided", "agreed"]
    assert table.loc[("all", ""), counts].tolist() == [13, 12, 11, 9]
    ends = table.loc[("all", ""), ["ci_low", "ci_high"]].tolist()
    assert table.loc[("all", ""), "agreement"] == pytest.approx(9 / 11)
    assert ends == pytest.approx(clopper_pearson(9 / 11, 11))
    assert table.loc[("lang", "en"), counts].tolist() == [12, 11, 10, 8]
    # One answer is too few for a share of its own.
    assert ("lang", "fi") not in table.index
    assert table.loc[("benchmark", "m4le"), "n"] == 13
    row = judge_verdicts.known_agreement([known("en", True, 0)], verdicts()).iloc[0]
    assert (row["replies"], row["decided"]) == (0, 0)
    assert math.isnan(row["agreement"]) and math.isnan(row["ci_low"])


@pytest.mark.parametrize(
    "says, why",
    [
        (lambda n, right: "right", "it agreed with 50% [43, 57] of the known verdicts"),
        (lambda n, right: "wrong", "it agreed with 50% [43, 57] of the known verdicts"),
        (lambda n, right: "wrong" if right else "right", "it agreed with 0% [0, 2]"),
        (lambda n, right: "right" if right == (n % 3 > 0) else "wrong", "it agreed with 66% [60,"),
        (lambda n, right: "undecided", "it decided none of 200 answers"),
        (
            lambda n, right: ("right" if right else "wrong") if n < 3 else "undecided",
            "known to be right it decided 2 and agreed on 100% [16, 100], which is not above chance",
        ),
        # It says nothing of wrong answers but once in ten, and then that they are right.
        (
            lambda n, right: "right" if right or n % 10 == 1 else "undecided",
            "known to be wrong it decided 20 and agreed on 0% [0, 17], which is not above chance",
        ),
        (
            lambda n, right: "right" if right else "undecided",
            "known to be wrong it decided 0, which",
        ),
        (lambda n, right: "right" if right == (n % 5 > 0) else "wrong", ""),
        (lambda n, right: "right" if right else "wrong", ""),
    ],
)
def test_a_judge_is_used_if_it_agrees_above_chance(says, why: str) -> None:
    cases = [known("en", n % 2 == 0, n) for n in range(200)]
    found = verdicts(*(("m4le", "", str(n), says(n, n % 2 == 0)) for n in range(200)))
    said = judge_verdicts.distrust(judge_verdicts.known_agreement(cases, found))
    assert why in said and bool(said) == bool(why)


def test_a_judge_that_is_not_used_decides_nothing(tmp_path) -> None:
    file = scores(tmp_path / "scores", ["undecided:x"] * 3, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    said = verdicts(*(("m4le", "gpt", f"i{k}", one) for k, one in enumerate(("wrong", "right"))))
    said = pd.concat([said, verdicts(("m4le", "gpt", "i2", "undecided"))])
    (row,) = judge_verdicts.judged_answers({"m4le": [file]}, judge_verdicts.unused(said)).to_dict(
        "records"
    )
    assert (row["right"], row["wrong"], row["left"], row["undecided"]) == (0, 0, 3, 3)
    assert row["judged"] == row["careful"] == pytest.approx(1 / 3)


def test_scores_of_the_second_scorer_alone_have_no_papers_mean(tmp_path) -> None:
    """`metric: careful` leaves the paper's metric out of the scores."""
    file = scores(tmp_path / "all", ["right", "undecided:x"], [0.0, 0.0], [1.0, 0.0])
    table = read_table(file)
    write_table(table.filter(pc.equal(table["metric"], "careful")), tmp_path / "alone")
    said = verdicts(("m4le", "gpt", "i1", "right"))
    both = [
        judge_verdicts.judged_answers({"m4le": [path]}, said).to_dict("records")[0]
        for path in (file, str(tmp_path / "alone"))
    ]
    assert (both[1]["careful"], both[1]["judged"]) == (both[0]["careful"], both[0]["judged"])
    assert both[1]["judged"] == 1.0 and math.isnan(both[1]["paper"]) and pd.isna(both[1]["metric"])


def scores(path, verdict: list[str], paper: list[float], careful: list[float]) -> str:
    n = len(verdict)
    names = [f"i{k}" for k in range(n)] * 2
    rows = {
        "instance_id": names,
        "sample": pa.array([0] * 2 * n, pa.int32()),
        "model": ["gpt"] * 2 * n,
        "metric": ["strict"] * n + ["careful"] * n,
        "value": paper + careful,
        "verdict": ["x"] * n + verdict,
        "finish_reason": ["stop"] * 2 * n,
        "example_id": names,
        "task": ["t"] * 2 * n,
    }
    write_table(pa.table(rows), path)
    return str(path)


def test_the_judges_verdicts_replace_undecided_values_alone(tmp_path) -> None:
    said = ["right", "undecided:x", "undecided:x", "undecided:x", "other"]
    paper, careful = [0.0, 0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0, 0.0]
    file = scores(tmp_path / "scores", said, paper, careful)
    rows = [("m4le", "gpt", f"i{k}", one) for k, one in ((1, "right"), (2, "wrong"))]
    more = ("m4le", "gpt", "i3", "undecided"), ("m4le", "other", "i3", "wrong")
    (row,) = judge_verdicts.judged_answers({"m4le": [file]}, verdicts(*rows, *more)).to_dict(
        "records"
    )
    counts = ("n", "undecided", "right", "wrong", "left", "no_reply")
    assert [row[name] for name in counts] == [5, 3, 1, 1, 1, 0]
    assert (row["paper"], row["careful"]) == pytest.approx((3 / 5, 3 / 5))
    expected = estimate([1.0, 1.0, 0.0, 1.0, 0.0], [f"e{k}" for k in range(5)])
    found = row["judged"], row["ci_low"], row["ci_high"]
    assert found == pytest.approx((3 / 5, expected.ci_low, expected.ci_high))
    # A mean with missing replies is not told.
    (row,) = judge_verdicts.judged_answers({"m4le": [file]}, verdicts(*rows)).to_dict("records")
    assert (row["right"], row["no_reply"]) == (1, 1)
    assert math.isnan(row["judged"]) and math.isnan(row["ci_low"])


def test_verdicts_are_of_replies_alone() -> None:
    prompts = pa.table(
        {
            "instance_id": ["a", "b", "c", "d"],
            **{"judged_benchmark": ["m4le"] * 4, "model": ["gpt"] * 4, "judged": list("xyzw")},
            "judged_sample": pa.array([0] * 4, pa.int32()),
        }
    )
    empty = dict.fromkeys(GENERATIONS.names)
    replies = pa.Table.from_pylist(
        [
            {**empty, "instance_id": "b", "text": "INCORRECT", "finish_reason": "stop"},
            {**empty, "instance_id": "a", "text": "CORRECT", "finish_reason": "error"},
            {**empty, "instance_id": "d", "text": "CORRECT", "finish_reason": "length"},
        ],
        schema=GENERATIONS,
    )
    found = judge_verdicts.verdicts(prompts, replies)
    # What a cut reply would have said at its end is unknown.
    assert found["verdict"].tolist() == ["no_reply", "wrong", "no_reply", "undecided"]
    assert found["instance_id"].tolist() == ["x", "y", "z", "w"]
