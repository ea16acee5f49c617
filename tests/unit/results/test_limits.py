"""What fits into a limit of money, hours or tokens, and what it could show."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.models.estimates import Estimate
from needlework.results.comparisons import planned_difference
from needlework.results.limits import proposal, share

SETTINGS = {"b": {"questions": "all", "seed": 0}, "c": {"questions": 50, "examples": 10}}


def row(**changes: Any) -> Estimate:
    fields: dict[str, Any] = {
        "model": "m",
        "benchmark": "b",
        "backend": "openai",
        "prompts": 100,
        "skipped": 0,
        "prompt_tokens": 900,
        "output_tokens": 100,
        "left_prompts": 100,
        "left_prompt_tokens": 900,
        "left_cached_tokens": 0,
        "left_output_tokens": 100,
        "throughput": "",
        "prefill_per_s": None,
        "decode_per_s": None,
        "gpus": 0,
        "hours": None,
        "gpu_hours": None,
        "cost": None,
    }
    return Estimate(**fields | changes)


def test_the_narrowest_limit_decides() -> None:
    rows = [row(cost=30.0), row(cost=10.0, gpu_hours=5.0)]
    assert share(rows, {"money": 10}) == (0.25, "money")
    assert share(rows, {"money": 10, "hours": 1}) == (0.2, "hours")
    assert share(rows, {"tokens": 1000}) == (0.5, "tokens")


def test_what_fits_is_left_as_it_is() -> None:
    assert share([row(cost=1.0)], {"money": 10}) == (1.0, None)
    assert proposal([row(cost=1.0)], {"money": 10}, {"b": 800}, SETTINGS) == (
        "All of it is within run.limit."
    )
    assert proposal([row()], {}, {"b": 800}, SETTINGS) == ""


def test_a_proposal_names_the_keys_and_what_it_could_show() -> None:
    text = proposal([row(cost=40.0)], {"money": 10}, {"b": 800, "c": 400}, SETTINGS)
    assert "25.0% of what is left fits into 10 of money" in text
    shown = f"{100 * planned_difference(200):.1f} points"
    assert (
        f"b: {{questions: 200}} for 200 of 800 questions, which could show a difference of {shown}"
        in text
    )
    assert "c: {questions: 12, examples: 2} for 100 of 400 questions" in text


def test_a_limit_that_nothing_can_be_held_against_is_said() -> None:
    text = proposal([row()], {"hours": 1}, {"b": 800}, SETTINGS)
    assert text.startswith("run.limit.hours limits nothing: no model has a `throughput`.")


@pytest.mark.parametrize("limit", [{"tokens": 1}])
def test_a_limit_below_one_question_is_said(limit) -> None:
    assert "b: nothing fits" in proposal([row()], limit, {"b": 8}, SETTINGS)
