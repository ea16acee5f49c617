"""Whether papers agree: the page's table, sentences and picture are of the printed numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import between_papers
from between_papers import Scores, compared_orders, factors, tau
from needlework.prompts.spans import Span

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/results.md").read_text("utf-8")
SECTION = PAGE.partition("## Do the papers agree?")[2].partition("\n## ")[0]
PAIRS = st.tuples(st.integers(0, 8), st.integers(0, 8))


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return between_papers.between()


def side(values: list[float], n: int, unit: float = 0.01) -> Scores:
    cells = np.array(values)[:, None]
    return Scores(cells, np.full(cells.shape, float(n)), unit, tuple(map(str, range(len(values)))))


@given(st.integers(4, 26).flatmap(lambda n: st.lists(PAIRS, min_size=n, max_size=n)))
def test_tau_is_scipys_also_with_ties(pairs) -> None:
    one, other = (np.array([pair[side] for pair in pairs]) / 10 for side in (0, 1))
    theirs = kendalltau(one, other).statistic
    assert tau(one, other) == pytest.approx(0 if np.isnan(theirs) else theirs)


def test_answers_narrow_an_interval_and_coarse_print_widens_it() -> None:
    values = ([0.2, 0.4, 0.5, 0.7, 0.9], [0.3, 0.35, 0.6, 0.65, 0.8])
    wide, narrow = (compared_orders(*(side(v, n) for v in values), n) for n in (50, 5000))
    assert narrow["high"] - narrow["low"] < wide["high"] - wide["low"]
    values = ([0.50, 0.52, 0.54, 0.56], [0.40, 0.42, 0.44, 0.46])
    fine, coarse = (
        compared_orders(*(side(v, 10**7, unit) for v in values), unit) for unit in (0.001, 0.1)
    )
    assert fine["high"] == fine["low"] == 1 and coarse["low"] < 0.5
    # The permutation test counts all orders.
    assert fine["p"] == pytest.approx(2 / 24)


def test_the_committed_table_is_of_the_printed_numbers(found) -> None:
    committed = pd.read_csv(ROOT / "docs/results/between_papers.csv")
    numeric = ["value", "low", "high", "p", "items", "n"]
    ours = found[numeric].astype(float).to_numpy()
    assert committed[numeric].to_numpy() == pytest.approx(ours, abs=6e-5, nan_ok=True)
    text = [name for name in committed if name not in numeric]
    assert (committed[text].astype(str) == found[text].astype(str)).all(axis=None)


def test_every_share_of_the_page_is_in_the_table(found) -> None:
    said = set(re.findall(r"\d+\.\d+", SECTION.partition("What the benchmarks'")[0]))
    ends = found[["value", "low", "high", "p"]].abs().stack()
    shown = {f"{x:.{digits}f}" for x in ends for digits in (2, 3)} | {
        f"{100 * x:.1f}" for x in ends
    }
    # A version in a model's name.
    assert said - shown == {"3.5"} and len(said) > 20
    papers = found[found["topic"] == "languages of two papers"]
    needle = papers["first"].str.endswith("needle")
    assert (papers[needle]["low"] > 0).all() and len(papers) == 6
    assert (papers[~needle]["value"] < papers[needle]["value"].min()).all()
    assert found[found["topic"] == "languages"]["high"].max() < 1


def test_the_measured_coverage_is_what_is_claimed() -> None:
    committed = json.loads((ROOT / "perf/between_papers.json").read_text("utf-8"))["coverage"]
    assert {own.partition(",")[0] for own in committed} == {"tau", "difference"}
    for kind, own in committed.items():
        assert own["coverage"] >= 0.93, kind


def test_variation_and_overlap_are_of_the_prompts(tmp_path: Path) -> None:
    """Files of prompts are measured together."""

    def prompts(name: str, tokens: list[int], needle: str = "The red key is 7.") -> str:
        texts = {"haystack": "x", "needle": needle, "question": "Red key?"}
        prompt = [Span(role, text=text)._asdict() for role, text in texts.items()]
        rows = [{"task": "niah", "length": 100, "n_tokens": n, "prompt": prompt} for n in tokens]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
        return str(tmp_path / name)

    def measured(*instances: str) -> dict[str, float]:
        return factors("x", {"instances": instances, "corpora": [], "documents": []})

    made = measured(prompts("a.parquet", [90]), prompts("b.parquet", [110]))
    assert made["tokens_vary"] == pytest.approx(0.1)
    assert (made["prompts"], made["needle_characters"], made["overlap"]) == (2, 17, 1.0)
    made = measured(prompts("a.parquet", [5, 5], "Sieben"))
    assert (made["overlap"], made["tokens_vary"], made["needles_vary"]) == (0, 0, 0)


def test_the_page_has_the_table_of_what_prompts_hold_constant() -> None:
    rows = pd.read_csv(ROOT / "docs/results/benchmark_factors.csv").itertuples()
    for row in rows:
        kind = "controlled" if row.tokens_vary < 0.02 else "not controlled"
        needle = f"{row.needle_characters:.0f} | {row.needles_vary:.2f} | {row.overlap:.0%}"
        assert f"| {row.benchmark} | {row.tokens_vary:.4f} ({kind}) | {needle} |" in SECTION
