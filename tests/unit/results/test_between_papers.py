"""Whether papers agree: taus, differences, their intervals and the sentences that say so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from between_papers import coverage
from needlework.results.drawing.style import PAGE
from needlework.results.printed import agreement
from needlework.results.printed.agreement import Scores, between, compared_orders, tau
from needlework.results.printed.numbers import labels, table
from needlework.results.printed.page import draw, page

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
    files = sorted((ROOT / "resources/published").glob("*.csv"))
    return table(files, labels(ROOT / "resources/printed_labels.yaml"))


@pytest.fixture(scope="module")
def found(numbers) -> pd.DataFrame:
    return between(numbers, {})


PAIRS = st.tuples(st.integers(0, 8), st.integers(0, 8))


def side(values: list[float], n: int, unit: float = 0.01) -> Scores:
    cells = np.array(values)[:, None]
    return Scores(cells, np.full(cells.shape, float(n)), unit, tuple(map(str, range(len(values)))))


@given(st.integers(4, 26).flatmap(lambda n: st.lists(PAIRS, min_size=n, max_size=n)))
def test_tau_is_scipys_also_with_ties(pairs) -> None:
    one, other = (np.array([pair[side] for pair in pairs]) / 10 for side in (0, 1))
    theirs = kendalltau(one, other).statistic
    assert tau(one, other) == pytest.approx(0 if np.isnan(theirs) else theirs)


def test_the_printed_orders_have_the_taus_of_their_numbers(numbers, found) -> None:
    heat = numbers[numbers["table"].eq("figure3") & numbers["paper"].eq("oneruler")]
    shares = heat.pivot_table(index="lang", columns=["model", "length"], values="value")
    rows = found[found["topic"] == "languages"]
    assert len(rows) == 60
    for row in rows.itertuples():
        one, other = (shares[name, int(row.at)] for name in (row.first, row.second))
        assert row.value == pytest.approx(kendalltau(one, other).statistic, abs=6e-5)
    at = rows[rows["at"] == "32000"]["value"]
    assert (round(at.min(), 2), round(at.max(), 2)) == (0.06, 0.49)


def test_the_headings_follow_from_the_numbers(found) -> None:
    assert (found["low"] <= found["value"]).all() and (found["value"] <= found["high"]).all()
    assert found["low"].ge(-1).all() and found["high"].le(1).all()
    assert found[found["topic"] == "languages"]["high"].max() < 1
    papers = found[found["topic"] == "languages of two papers"]
    needle = papers["first"].str.endswith("needle")
    assert (papers[needle]["low"] > 0).all() and len(papers) == 6
    assert (papers[~needle]["value"] < papers[needle]["value"].min()).all()


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
    assert agreement.TAIL < agreement.TAIL_OF_DIFFERENCES


def test_the_measured_coverage_is_what_is_claimed() -> None:
    committed = json.loads((ROOT / "perf/between_papers.json").read_text("utf-8"))["coverage"]
    assert len(committed) == 4
    for kind, own in committed.items():
        assert own["coverage"] >= 0.93, kind
    made = coverage(runs=1, every=11)
    held = sum(own["coverage"] * own["intervals"] for own in made.values())
    assert held / sum(own["intervals"] for own in made.values()) > 0.85


def test_every_number_of_the_page_is_computed(found) -> None:
    text = page(found)
    assert len(text.split()) <= 800
    shifted = page(found.assign(**{k: found[k] + 0.111 for k in ("value", "low", "high", "p")}))
    fixed = set(re.findall(r"\d+\.\d+", text)) & set(re.findall(r"\d+\.\d+", shifted))
    # Versions in models' names stay.
    assert fixed <= {"3.5"} | {f"{value:.2f}" for value in found["value"].abs()} | {
        f"{value * 100:.1f}" for value in found["value"].abs()
    }


def test_a_runs_models_stand_beside_the_papers(numbers, found) -> None:
    own = Scores(np.array([[0.9], [0.5], [0.2]]), np.full((3, 1), 40.0), 0.0, ("en", "sw", "zh"))
    more = between(numbers, {"mine, oneruler": own})
    row = more[more["topic"] == "languages of the run"].iloc[0]
    assert (row["first"], row["items"], row["n"]) == ("mine, oneruler", 3, 40)
    assert "mine, oneruler" in page(more) and "mine" not in page(found)
    assert len(more) == len(found) + 1


def test_a_runs_shares_are_of_its_needles() -> None:
    def row(lang: str, value: float, task: str = "niah_single", **more: str) -> dict[str, object]:
        labels = {"model": "m", "metric": "strict", "instruction_lang": lang}
        return {**labels, "task": task, "context_lang": lang, "value": value, **more}

    rows = [row("en", 1), row("en", 0), row("sw", 0), row("en", 1, "cwe_easy")]
    rows += [row("en", 1, metric="careful"), row("zh", 1, instruction_lang="en")]
    (name, own), *others = agreement.of_the_run(pd.DataFrame(rows), "oneruler").items()
    assert (name, own.names, others) == ("m, oneruler", ("en", "sw"), [])
    assert not agreement.of_the_run(pd.DataFrame(rows)[:0], "oneruler")
    assert own.means().tolist() == [0.5, 0] and own.n.ravel().tolist() == [2, 1]


def test_committed_table_page_and_figure_are_of_these_numbers(found) -> None:
    committed = pd.read_csv(ROOT / "docs/results/between_papers.csv")
    numeric = ["value", "low", "high", "p", "items", "n"]
    ours = found[numeric].astype(float).to_numpy()
    assert committed[numeric].to_numpy() == pytest.approx(ours, abs=6e-5, nan_ok=True)
    text = (ROOT / "docs/results.md").read_text("utf-8")
    words = " ".join(text[: text.index("SmolLM2-135M")].split())
    for part in page(found).split("\n\n")[2:]:
        assert " ".join(part.split()) in words
    figure = draw(found)
    assert figure.get_size_inches()[0] == PAGE == 6.9 and len(figure.axes) == 3
