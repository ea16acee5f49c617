"""Cells of metrics that are no share of right answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from needlework.results import published
from needlework.results.cells import measure_of_sums
from needlework.results.columns import MEASURES
from needlework.results.result import Context
from needlework.results.stats import estimate
from needlework.results.tabulate import MODEL, Measure, mean, tabulate

NOTHING = Context(published.none(), {})


def scores(counts: list[tuple[int, int, int]], questions: list[str]) -> pd.DataFrame:
    found = np.array([c[0] / max(1, c[2]) for c in counts])
    return pd.DataFrame(
        {"model": "m", "value": found, "counts": counts, "example_id": questions}
        | {"finish_reason": "stop"}
    )


F1 = Measure(MEASURES, lambda cell: measure_of_sums(cell.part, "counts", micro_f1))


def micro_f1(sums):
    """F1 of summed counts of found, answered and wanted."""
    found, answered, wanted = sums.T
    return 2 * found / (answered + wanted)


def cell(rows: pd.DataFrame, measure: Measure = F1) -> pd.Series:
    return tabulate(rows, (MODEL,), NOTHING, measure=measure).iloc[0]


def test_a_corpus_metric_is_of_sums_not_a_mean() -> None:
    made = cell(scores([(1, 1, 1), (0, 10, 1), (3, 4, 4)], ["a", "b", "c"]))
    assert made["value"] == pytest.approx(2 * 4 / (15 + 6))
    assert (made["n"], made["n_questions"]) == (3, 3)
    assert made["ci_low_independent"] < made["value"] < made["ci_high_independent"]


def test_its_interval_over_questions_is_wider() -> None:
    counts = [(1, 1, 1)] * 20 + [(0, 1, 1)] * 20
    one_each, often = (cell(scores(counts, [str(i // k) for i in range(40)])) for k in (1, 10))
    assert one_each["value"] == often["value"] == 0.5
    narrow, wide = (one["ci_high"] - one["ci_low"] for one in (one_each, often))
    assert wide > 1.5 * narrow


def test_failed_answers_are_in_no_sum() -> None:
    """Sums that lack answers have no bounds, and a cell without answers no value."""
    rows = scores([(1, 1, 1), (0, 1, 1)], ["a", "b"])
    assert cell(rows)["lowest"] == cell(rows)["highest"] == 0.5
    made = cell(rows.assign(finish_reason=["stop", "error"]))
    assert np.isnan([made["lowest"], made["highest"]]).all()
    assert (made["value"], made["n"], made["n_error"]) == (1.0, 1, 1)
    made = cell(rows.assign(finish_reason="skipped"))
    assert np.isnan(made["value"]) and (made["n"], made["n_skipped"]) == (0, 2)


def test_graded_scores_have_the_interval_of_their_mean() -> None:
    rows = scores([(1, 1, 1)] * 30, [str(i) for i in range(30)])
    rows["value"] = np.linspace(0.2, 0.8, 30)
    made = cell(rows, mean())
    assert made["value"] == pytest.approx(0.5)
    ends = [made["ci_low_independent"], made["ci_high_independent"]]
    found = estimate(rows["value"], rows["example_id"])
    assert ends == pytest.approx([found.ci_low, found.ci_high])
    # Narrower than of right and wrong answers: by a normal interval, from 0.44 to 0.56.
    assert ends == pytest.approx([0.44, 0.56], abs=0.02)


def test_equal_samples_are_not_certain() -> None:
    """BLEU 0 of three answers: [0, 0.71], in place of [0, 0]."""
    made = cell(scores([(0, 1, 1)] * 3, ["a", "b", "c"]), F1)
    assert made["value"] == made["ci_low"] == made["ci_low_independent"] == 0
    assert made["ci_high"] == made["ci_high_independent"] == pytest.approx(0.708, abs=0.005)
