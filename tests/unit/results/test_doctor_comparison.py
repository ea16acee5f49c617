"""The numbers of a comparison of two models, from answers to cells, gate and settings."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from needlework.journal import Journal
from needlework.results.doctor.comparison import (
    SIDES,
    CellRules,
    Setting,
    _half,
    beyond,
    cell_rows,
    compared_answers,
    engine_used,
    escaped,
    excess,
    joined,
    missing,
    name_of,
    settings_lines,
    unproven,
)

RULES = CellRules(0.05 / 4, 0.04, 100)
USED = {"KEYS": "f32", "threads": 2}
IGNORED = USED | {"ignored": ["KV: u8 was ignored: KEYS is f32"]}
SETTING = Setting("f32", "u8", {"engine.KV": (None, "u8")}, USED, IGNORED)
POSITIONS = ("start", "middle", "end")
CELLS: list[dict[str, Any]] = [{"by": "all", "level": "", "questions": 200}] + [
    {"by": "position", "level": level, "questions": 200} for level in POSITIONS
]


def side(
    right: Any, text: Any = None, given: Any = True, skipped: Any = lambda q, p: False
) -> pd.DataFrame:
    """Answers to 200 questions at three positions; functions of the question's number and the position."""
    return pd.DataFrame(
        {
            **{"instance_id": f"i{q} {p}", "sample": 0, "example_id": f"q{q:03}", "position": p},
            **{"value": float(right(q, p)), "text": text(q, p) if text else str(right(q, p))},
            **{"given": given(q, p) if callable(given) else given, "skipped": skipped(q, p)},
        }
        for q in range(200)
        for p in POSITIONS
    )


def half(q: int, p: str) -> bool:
    return q % 2 == 0


def end_fails(q: int, p: str) -> bool:
    """As `half`, but at the end a fifth of the questions is lost."""
    return half(q, p) and not (p == "end" and q % 10 in (0, 2))


def table(changed: pd.DataFrame, **others: pd.DataFrame) -> list[dict[str, Any]]:
    sides = dict.fromkeys(("base", "base_again"), side(half)) | {"changed_again": changed}
    return cell_rows("made", joined({**sides, **others, "changed": changed}), CELLS, RULES)


def test_the_cell_that_is_worse_is_found_alone() -> None:
    found = {row["level"]: row for row in table(side(end_fails))}
    assert found["end"]["difference"] == pytest.approx(-0.2)
    assert (found["end"]["lost"], found["end"]["won"]) == (40, 0)
    assert found["end"]["sentence"].startswith("worse by ") and found["end"]["settled"]
    assert found["start"]["sentence"] == "no difference above 4 points"
    assert found[""]["n"] == 600 and found[""]["n_questions"] == 200
    assert found[""]["difference"] == pytest.approx(-0.2 / 3)
    # The gate looks at the whole interval, and one that touches the limit is not beyond it.
    every = [*found.values()]
    (said,) = beyond(every, 0.05)
    assert said.startswith("made, position end: worse by")
    assert beyond(every, 0.19) == [] and beyond(table(side(half)), 0.0) == []
    row = {"benchmark": "made", "by": "all", "level": "all", "sentence": "worse", "ci_high": -0.05}
    assert beyond([row], 0.05) == [] and beyond([row], 0.04) == ["made: worse"]


def test_a_question_counts_once_however_often_it_is_asked() -> None:
    """All prompts of a question change together: the interval is that of 200 values, not of 600."""
    together = table(side(lambda q, p: half(q, p) and q % 10 > 0))[0]
    alone = table(side(lambda q, p: half(q, p) and (q + POSITIONS.index(p) * 2) % 10 > 0))[0]
    assert together["difference"] == alone["difference"] == pytest.approx(-0.1)
    widths = [row["ci_high"] - row["ci_low"] for row in (together, alone)]
    assert widths[0] > 1.3 * widths[1]


def test_d_is_what_the_setting_changes_beyond_the_floor() -> None:
    """A fourth of the prompts gets another text from the changed model; a half changes by itself."""

    def told(name: str, second: str = "") -> Any:
        return side(half, lambda q, p: name if q % 4 == 0 else second if q % 4 in (1, 2) else "")

    others = {"base": told("", "x"), "base_again": told("", "y"), "changed_again": told("c", "y")}
    row = table(told("c", "x"), **others)[0]
    assert row["texts_floor_base"] == row["texts_floor_changed"] == pytest.approx(0.5)
    assert row["texts_differ"] == pytest.approx(0.25)
    assert row["texts_d"] == pytest.approx(0.25) and row["texts_d_low"] > 0
    assert row["verdicts_d"] == 0 and row["verdicts_differ"] == 0
    # Both models give one text in a run's order and another in the other, as the same engine would.
    first, again = side(half, lambda q, p: "a"), side(half, lambda q, p: "b")
    row = table(first, base=first, base_again=again, changed_again=again)[0]
    assert row["texts_differ"] == 0 and row["texts_floor_base"] == row["texts_floor_changed"] == 1
    assert row["texts_d"] == 0
    a, again, b, b_again = (np.array([v]) for v in "xyxz")
    assert excess(a, again, b, b_again) == [0.0] and excess(a, a, b_again, b_again) == [1.0]


def test_only_second_answers_of_both_count_for_the_floor() -> None:
    few = side(half)[:30]
    row = table(side(half), base_again=few, changed_again=few)[0]
    assert (row["n"], row["n_again"], row["n_again_questions"]) == (600, 30, 10)


def test_missing_answers_are_counted_for_each_model() -> None:
    """A lost answer is not wrong. The first question fits into neither context."""

    def too_long(q: int, p: str) -> bool:
        return q == 0

    base = side(half, given=lambda q, p: q > 0, skipped=too_long)
    found = table(side(half, given=lambda q, p: q >= 3, skipped=too_long), base=base)
    row = found[0]
    assert (row["missing_base"], row["missing_changed"], row["n_unanswered"]) == (0, 6, 9)
    assert (row["n"], row["difference"]) == (591, 0)
    assert missing(found, "a", "b") == ["b lacks 6 of 600 answers to made"]
    assert missing(table(side(half)), "a", "b") == []


def equal(score: float, n: int, available: int = 2000, lost: float = 0.0) -> list[dict[str, Any]]:
    """Four cells of `n` questions that both answered alike, but for a share `lost` of them."""
    texts = {**{"instance_id": [f"i{q}" for q in range(n)], "sample": 0}, "text": "", "given": True}
    base = pd.DataFrame({**texts, "example_id": texts["instance_id"], "skipped": False})
    base["value"] = score
    changed = base.assign(value=np.where(np.arange(n) < lost * n, 0.0, score))
    cells = [{"by": "all", "level": "", "questions": available}] * 4
    sides = {"base": base, "changed": changed, "base_again": base, "changed_again": changed}
    return cell_rows("made", joined(sides), cells, RULES)


def test_a_cell_must_have_been_able_to_show_the_loss() -> None:
    """A quarter of 48 questions lost is "cannot tell", as is none: neither could have shown two points."""
    for few in (equal(1.0, 48, lost=0.25), equal(1.0, 48), equal(1.0, 2)):
        assert beyond(few, 0.02) == []
        assert "no cell could have shown a loss of more than 2 points" in unproven(few, 0.02, "a")
    why = unproven(equal(1.0, 100), 0.02, "a")
    (n,) = re.findall(r"about (\d+) questions of such prompts would be needed: set a larger", why)
    # As many are enough, and nine tenths of them are not.
    assert unproven(equal(1.0, int(n)), 0.02, "a") == ""
    assert unproven(equal(1.0, int(n) * 9 // 10), 0.02, "a")
    assert "there are 100, so ask more" in unproven(equal(1.0, 100, available=100), 0.02, "a")
    assert "no number of questions is enough" in unproven(equal(1.0, 500), 0.0, "a")
    # Where answers changed, more are needed.
    changed = unproven(equal(1.0, 100, lost=0.1), 0.02, "a")
    (more,) = re.findall(r"about ([\d,]+) questions of such prompts would be needed", changed)
    assert int(more.replace(",", "")) > int(n)
    # An end that is cut at 1 says nothing of the width.
    assert _half({"difference": 0.9, "ci_low": 0.7, "ci_high": 1.0}) == pytest.approx(0.2)
    # One cell suffices.
    assert unproven([*equal(1.0, 2)[:3], equal(1.0, int(n))[0]], 0.02, "a") == ""


def test_a_base_without_right_answers_proves_nothing() -> None:
    for score in (0.0, 0.01):
        why = unproven(equal(score, 1000), 0.02, "a")
        assert f"a itself scores at most {100 * score:.1f}% in any cell" in why
    # A fall to 0 is beyond the limit, but its interval would not be.
    assert "no cell could have shown" in unproven(equal(0.025, 600), 0.02, "a")
    assert unproven(equal(0.05, 600), 0.02, "a") == ""
    none = cell_rows("made", joined(dict.fromkeys(SIDES, side(half, given=False))), CELLS, RULES)
    assert "no question was answered by both" in unproven(none, 0.02, "a")
    # The table as the gate reads it.
    read = pd.DataFrame(equal(1.0, 500) + none).to_csv(index=False)
    assert unproven(list(csv.DictReader(io.StringIO(read))), 0.02, "a") == ""


def test_an_answer_has_the_configured_metric_or_its_own() -> None:
    zeros = pa.array([0, 0], pa.int32())
    scores = pa.table(
        {
            "instance_id": ["i", "i", "j", "j"],
            "sample": pa.chunked_array([zeros, zeros]),
            "example_id": ["q"] * 4,
            "metric": ["released", "strict", "existence", "other"],
            "value": [1.0, 0.0, 1.0, 0.5],
            "finish_reason": ["stop", "stop", "skipped", "skipped"],
            "length": pa.array([512, 512, None, None], pa.int32()),
        }
    )
    generations = pa.table({"instance_id": ["j", "i"], "sample": zeros, "text": ["J", "I"]})
    found = compared_answers(scores, generations, "strict", ["length"]).set_index("instance_id")
    assert found[["value", "text", "given", "skipped"]].to_dict("index") == {
        "i": {"value": 0.0, "text": "I", "given": True, "skipped": False},
        "j": {"value": 1.0, "text": "J", "given": False, "skipped": True},
    }
    assert found.loc["i", "length"] == "512" and pd.isna(found.loc["j", "length"])


def test_settings_tell_what_an_engine_used_and_ignored() -> None:
    text = "\n".join(settings_lines(SETTING))
    assert "`engine.KV`: not set → u8" in text and "it used: the same" in text
    assert "**Ignored** (`u8`): KV: u8 was ignored: KEYS is f32." in text
    # Settings that an engine lists are told one by one.
    listed = [
        {"scheduler": f"Config {{ evict: {on} size: 2 More {{ a: 1 }} }}"} for on in ("no", "yes")
    ]
    text = "\n".join(settings_lines(Setting("a", "b", {}, *listed)))
    assert "it used: `scheduler.evict`: no → yes." in text


@pytest.mark.parametrize(
    ("by", "level", "name"),
    [
        ("all", "all", "lost in the middle"),
        ("gold_index", "0", "lost in the middle, gold at position 1"),
        ("gold_index", "none", "lost in the middle, gold index none"),
        ("length", "512", "lost in the middle, length 512"),
    ],
)
def test_a_cell_is_named_as_a_reader_counts(by: str, level: str, name: str) -> None:
    assert name_of({"benchmark": "lost_in_the_middle", "by": by, "level": level}) == name


def test_names_from_data_break_no_markdown() -> None:
    assert escaped("a|b\n# `c` <d>") == r"a\|b # \`c\` \<d\>"


def test_the_engine_is_that_of_the_answers_identity(tmp_path: Path) -> None:
    # Folders of other entries are searched too.
    folder = tmp_path / "jobs/m"
    with Journal(folder) as journal:
        for key, identity, benchmark in (("1", "old", "x"), ("2", "own", "x"), ("3", "own", "y")):
            own = {"key": key, "identity": {"i": identity}, "benchmark": benchmark}
            journal.append([own | {"engine": {"key": key}}])
    assert engine_used(folder, "x", {"i": "own"}) == {"key": "2"}
    assert engine_used(folder, "z", {"i": "own"}) == {}
