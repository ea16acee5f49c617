"""The numbers of an audit, from answers to its table and its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from needlework.journal import Journal
from needlework.results.audits import (
    Rules,
    Setting,
    answers,
    beyond,
    engine_used,
    escaped,
    excess,
    joined,
    missing,
    pages,
    rows,
    summary,
)

RULES = Rules(0.05 / 4, 0.04, 100)
AUDIT = {"seed": 0, "again": 100, "questions": None}
POSITIONS = ("start", "middle", "end")
CELLS: list[dict[str, Any]] = [{"by": "all", "level": "", "questions": 200}] + [
    {"by": "position", "level": level, "questions": 200} for level in POSITIONS
]


def side(
    right: Any, text: Any = None, given: Any = True, skipped: Any = lambda q, p: False
) -> pd.DataFrame:
    """Answers to 200 questions at three positions; functions of the question's number and the position."""
    made = [(q, p) for q in range(200) for p in POSITIONS]
    return pd.DataFrame(
        {
            "instance_id": [f"i{q} {p}" for q, p in made],
            "sample": 0,
            "example_id": [f"q{q:03}" for q, _ in made],
            "position": [p for _, p in made],
            "value": [float(right(q, p)) for q, p in made],
            "text": [text(q, p) if text else str(right(q, p)) for q, p in made],
            "given": [given(q, p) if callable(given) else given for q, p in made],
            "skipped": [skipped(q, p) for q, p in made],
        }
    )


def half(q: int, p: str) -> bool:
    return q % 2 == 0


def end_fails(q: int, p: str) -> bool:
    """As `half`, but at the end a fifth of the questions is lost."""
    return half(q, p) and not (p == "end" and q % 10 in (0, 2))


def table(changed: pd.DataFrame, **others: pd.DataFrame) -> list[dict[str, Any]]:
    sides = {"base": side(half), "base_again": side(half), "changed_again": changed} | others
    return rows("made", joined({**sides, "changed": changed}), CELLS, RULES)


def test_the_cell_that_is_worse_is_found_alone() -> None:
    found = {row["level"]: row for row in table(side(end_fails))}
    assert found["end"]["difference"] == pytest.approx(-0.2)
    assert (found["end"]["lost"], found["end"]["won"]) == (40, 0)
    assert found["end"]["sentence"].startswith("worse by ") and found["end"]["settled"]
    assert found["start"]["sentence"] == "no difference above 4 points"
    assert found[""]["n"] == 600 and found[""]["n_questions"] == 200
    assert found[""]["difference"] == pytest.approx(-0.2 / 3)


def test_a_question_counts_once_however_often_it_is_asked() -> None:
    """All prompts of a question change together: the interval is that of 200 values, not of 600."""
    together = table(side(lambda q, p: half(q, p) and q % 10 > 0))[0]
    alone = table(side(lambda q, p: half(q, p) and (q + POSITIONS.index(p) * 2) % 10 > 0))[0]
    assert together["difference"] == alone["difference"] == pytest.approx(-0.1)
    widths = [row["ci_high"] - row["ci_low"] for row in (together, alone)]
    assert widths[0] > 1.3 * widths[1]


def test_d_is_zero_for_an_engine_repeating_one_order() -> None:
    """Both models give one text in a run's order and another in the other, as the same engine would."""
    first, again = side(half, lambda q, p: "a"), side(half, lambda q, p: "b")
    row = table(first, base=first, base_again=again, changed_again=again)[0]
    assert row["texts_differ"] == 0 and row["texts_floor_base"] == row["texts_floor_changed"] == 1
    assert row["texts_d"] == 0


def test_an_interval_that_touches_the_limit_is_not_beyond_it() -> None:
    row = {"benchmark": "made", "by": "all", "level": "all", "sentence": "worse", "ci_high": -0.05}
    assert beyond([row], 0.05) == [] and beyond([row], 0.04) == ["made: worse"]


def test_d_is_what_the_setting_changes_beyond_the_floor() -> None:
    """A fourth of the prompts gets another text from the changed model; a half changes by itself."""

    def told(name: str, second: str = "") -> Any:
        return side(half, lambda q, p: name if q % 4 == 0 else second if q % 4 in (1, 2) else "")

    row = table(
        told("c", "x"), base=told("", "x"), base_again=told("", "y"), changed_again=told("c", "y")
    )[0]
    assert row["texts_floor_base"] == row["texts_floor_changed"] == pytest.approx(0.5)
    assert row["texts_differ"] == pytest.approx(0.25)
    assert row["texts_d"] == pytest.approx(0.25) and row["texts_d_low"] > 0
    assert row["verdicts_d"] == 0 and row["verdicts_differ"] == 0


def test_excess_compares_answers_of_different_orders() -> None:
    a, again, b, b_again = (np.array([v]) for v in "xyxz")
    assert excess(a, again, b, b_again) == [0.0]
    assert excess(a, a, b_again, b_again) == [1.0]


def test_only_second_answers_of_both_count_for_the_floor() -> None:
    few = side(half)[:30]
    row = table(side(half), base_again=few, changed_again=few)[0]
    assert (row["n"], row["n_again"], row["n_again_questions"]) == (600, 30, 10)


def test_a_lost_answer_is_counted_and_not_wrong() -> None:
    lost = side(half, given=lambda q, p: q >= 3)
    row = table(lost)[0]
    assert (row["n_unanswered"], row["n"], row["difference"]) == (9, 591, 0)
    text = summary([row], Setting("a", "b", {}, {}, {}), AUDIT)
    assert "9 prompts have no answer of both models" in text


def test_missing_answers_are_counted_for_each_model() -> None:
    def fits(q: int, p: str) -> bool:
        return q >= 3

    def too_long(q: int, p: str) -> bool:
        return q == 0

    base = side(half, given=lambda q, p: q > 0, skipped=too_long)
    (row, *others) = table(side(half, given=fits, skipped=too_long), base=base)
    # The first question fits into neither context.
    assert (row["missing_base"], row["missing_changed"], row["n_unanswered"]) == (0, 6, 9)
    assert missing([row, *others], "a", "b") == ["b lacks 6 of 600 answers to made"]
    assert missing(table(side(half)), "a", "b") == []
    text = summary([row], Setting("a", "b", {}, {}, {}), AUDIT)
    assert "**`b` lacks 6 of 600 answers to made.**" in text


def test_an_answer_has_the_configured_metric_or_its_own() -> None:
    scores = pa.table(
        {
            "instance_id": ["i", "i", "j", "j"],
            "sample": pa.array([0] * 4, pa.int32()),
            "example_id": ["q"] * 4,
            "metric": ["released", "strict", "existence", "other"],
            "value": [1.0, 0.0, 1.0, 0.5],
            "finish_reason": ["stop", "stop", "skipped", "skipped"],
            "length": pa.array([512, 512, None, None], pa.int32()),
        }
    )
    generations = pa.table(
        {"instance_id": ["j", "i"], "sample": pa.array([0, 0], pa.int32()), "text": ["J", "I"]}
    )
    found = answers(scores, generations, "strict", ["length"]).set_index("instance_id")
    assert found["value"].to_dict() == {"i": 0.0, "j": 1.0}
    assert found["text"].to_dict() == {"i": "I", "j": "J"}
    assert found.loc["i", "length"] == "512" and pd.isna(found.loc["j", "length"])
    assert found["given"].to_dict() == {"i": True, "j": False}
    assert found["skipped"].to_dict() == {"i": False, "j": True}


def test_the_gate_looks_at_the_whole_interval() -> None:
    found = table(side(end_fails))
    (said,) = beyond(found, 0.05)
    assert said.startswith("made, position end: worse by")
    assert beyond(found, 0.19) == [] and beyond(table(side(half)), 0.0) == []


SETTING = Setting(
    "f32",
    "u8",
    {"engine.KV": (None, "u8")},
    {"KEYS": "f32", "threads": 2},
    {"KEYS": "f32", "threads": 2, "ignored": ["KV: u8 was ignored: KEYS is f32"]},
)


def test_the_summary_says_for_which_questions_it_holds() -> None:
    text = summary(table(side(end_fails)), SETTING, AUDIT)
    assert "Worse in 2 of 4 cells; no difference above 4 points in 2 of 4 cells" in text
    assert "| made, position end | 200 of 200 | 200 |" in text
    assert "made: 200 of 200 questions, 600 prompts" in text
    assert "says nothing of other lengths, languages or tasks" in text
    assert "All 4 intervals hold together with a probability of 95%" in text


def test_the_summary_tells_what_an_engine_ignored() -> None:
    text = summary(table(side(half)), SETTING, AUDIT)
    assert "`engine.KV`: not set → u8" in text and "it used: the same" in text
    assert "**Ignored** (`u8`): KV: u8 was ignored: KEYS is f32." in text


def test_settings_that_an_engine_lists_are_told_one_by_one() -> None:
    listed = [
        {"scheduler": f"Config {{ evict: {on} size: 2 More {{ a: 1 }} }}"} for on in ("no", "yes")
    ]
    text = summary(table(side(half)), Setting("a", "b", {}, *listed), AUDIT)
    assert "it used: `scheduler.evict`: no → yes." in text


def test_an_unsettled_audit_says_how_to_go_on() -> None:
    few = side(half)[:60]
    found = rows(
        "made",
        joined(dict.fromkeys(("base", "changed", "base_again", "changed_again"), few)),
        CELLS,
        RULES,
    )
    assert all(row["sentence"].startswith("cannot tell") for row in found)
    text = summary(found, SETTING, AUDIT | {"questions": 20})
    assert "a larger `audit.questions` (now 20, up to 200) goes on" in text
    whole = [{**row, "n_available": 20} for row in found]
    assert "all questions were asked" in summary(whole, SETTING, AUDIT)


def test_names_from_data_break_no_markdown() -> None:
    assert escaped("a|b\n# `c` <d>") == r"a\|b # \`c\` \<d\>"


def test_the_engine_is_that_of_the_answers_identity(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for key, identity, benchmark in (("1", "old", "x"), ("2", "own", "x"), ("3", "own", "y")):
            engine = {"key": key}
            journal.append(
                [
                    {
                        "key": key,
                        "identity": {"i": identity},
                        "benchmark": benchmark,
                        "engine": engine,
                    }
                ]
            )
    assert engine_used(tmp_path, "x", {"i": "own"}) == {"key": "2"}
    assert engine_used(tmp_path, "z", {"i": "own"}) == {}


def test_a_page_shows_forty_cells() -> None:
    found = table(side(end_fails)) * 12
    first, second = pages(found, "a", "b", 0.04)
    labels = [len(page.axes[0].get_yticklabels()) for page in (first, second)]
    assert labels == [40, 8]
    assert "position end" in first.axes[0].get_yticklabels()[3].get_text()
    assert first.axes[0].get_xlabel() == "Difference (points)"
