"""MLNeedle's tables and figures: what their numbers are, and which stand beside the paper's."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import factories.mlneedle
import golden_runs
from described import COMPARED, cell, is_mean_of, of, verdicts
from needlework.benchmarks.mlneedle.benchmark import CARD
from needlework.results import stats
from needlework.results.numbers.answers import answers
from needlework.results.numbers.curves import curves
from needlework.results.numbers.means import KEYS
from needlework.results.result import Context

made = partial(golden_runs.changed, "mlneedle")
SETTINGS = factories.mlneedle.SETTINGS
SAMPLED = "temperature 0.7, top-k 50, top-p 1"


@pytest.fixture(scope="module")
def scores():
    """All languages, lengths and positions of the paper, one question each."""
    return factories.mlneedle.make(questions=1)


def exact(scores, model, length):
    return of(scores, task="exact", model=model, length=length)


def test_table1_is_means_and_their_mean(scores):
    table = made("table1", scores)
    means = {n: exact(scores, "llama3", n)["value"].mean() for n in (0, 4096, 8192)}
    for column, length in (("baseline", 0), ("4096", 4096), ("8192", 8192)):
        row = cell(table, model="llama3", column=column)
        assert row["value"] == pytest.approx(means[length])
        assert (row["n"], row["n_questions"]) == (7 if length == 0 else 168, 7)
        independent = stats.clopper_pearson(means[length], row["n"])
        assert (row["ci_low_independent"], row["ci_high_independent"]) == pytest.approx(independent)
        assert row["share_of_baseline"] == pytest.approx(means[length] / means[0])
    average = cell(table, model="llama3", column="average")
    assert average["value"] == pytest.approx(sum(means.values()) / 3)
    assert average["n"] == 7 + 2 * 168


def test_the_effective_length_keeps_most_of_the_baseline(scores):
    perfect = scores.assign(value=1.0)
    perfect.loc[perfect["length"] > 8192, "value"] = 0.0
    table = made("table1", perfect)
    assert cell(table, model="mistral", column="claimed_length")["tokens"] == 32768
    assert cell(table, model="mistral", column="effective_length")["tokens"] == 8192
    lengths = table["column"].isin(["claimed_length", "effective_length"])
    assert table.loc[lengths, "value"].isna().all()
    assert table.loc[~lengths, ["tokens", "published_tokens"]].isna().all(axis=None)
    # Report cards show them.
    context = Context(golden_runs.paper("mlneedle"), SETTINGS)
    careful = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], [], []], names=KEYS))
    asked = "mlneedle", CARD, perfect
    found = list(curves(*asked, careful, context, ["mistral"]))
    (row,) = answers(*asked, found, context, ["mistral"])
    assert (row["claimed"], row["effective"]) == (32768, 8192)
    assert row["effective_low"] <= 8192 == row["effective_high"]
    nothing = made("table1", scores.assign(value=(scores["length"] == 0).astype(float)))
    assert cell(nothing, model="mistral", column="effective_length")["tokens"] == 0
    unknown = made("table1", scores[scores["length"] > 0], claimed_length={})
    for column in ("effective_length", "claimed_length"):
        assert pd.isna(cell(unknown, model="mistral", column=column)["tokens"])
    assert cell(unknown, model="mistral", column="average")["n"] == 4 * 168


EXACT = "task == 'exact' and length == 8192"
EN_ZH = "needle_lang == 'en' and haystack_lang == 'zh'"
BOTH, AT_START = ("mistral", "mistral-greedy"), "position == 'start'"
MIDDLE, IN_EN = {"position": "middle"}, "haystack_lang == 'en'"
LOW = "needle_lang in ('zh', 'vi', 'hi', 'ar')"


@pytest.mark.parametrize(
    ("name", "labels", "answers"),
    [
        ("figure3", {"needle_lang": "zh"}, f"{EXACT} and needle_lang == 'zh' and {IN_EN}"),
        ("figure4", {**MIDDLE, "resources": "low"}, f"{EXACT} and position == 'middle' and {LOW}"),
        (
            "figure6",
            {"task": "existence", "position": "end"},
            "task == 'existence' and length == 8192 and position == 'end'",
        ),
        ("figure7", {"task": "exact", "haystack_lang": "zh"}, f"{EXACT} and {EN_ZH}"),
        ("figure8", {"position": "start", "decoding": "sampling"}, f"{EXACT} and {AT_START}"),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, answers, scores):
    """Of answers to the paper's variant, where there are several."""
    mine = scores[scores["model"].isin(["mistral", "mistral-greedy"])]
    other = of(mine, model="mistral", length=8192).assign(retrieval="random", value=1.0)
    labels = {"model": "mistral", "length": 8192, **labels}
    is_mean_of(made(name, pd.concat([other, mine])), labels, of(mine, model="mistral"), answers)


def test_figures_1_4_and_5_are_of_their_languages(scores) -> None:
    mine = of(scores, model="mistral", task="exact", needle_lang="hi", haystack_lang="hi")
    found = cell(made("figure1", scores), model="mistral", needle_lang="hi")
    mean = mine.groupby("length")["value"].mean().mean()
    assert (found["value"], found["n"]) == (pytest.approx(mean), 4 * 3)
    rows = factories.mlneedle.make(("mistral",), questions=9)
    drawn = of(made("figure5", rows), length=4096, source="ours")
    assert list(drawn["size"]) == [100, 600, 1100, 9 * 7 * 8 * 3]
    positions = {"start": 0.0, "1/4": 0.25, "middle": 0.5, "3/4": 0.75, "end": 1.0}
    rows = factories.mlneedle.make(("llama2",), questions=1, positions=positions)
    data = made("figure4", rows.assign(needle_lang=rows["needle_lang"].replace("hi", "el")))
    assert set(data["depth"]) == {0, 0.25, 0.5, 0.75, 1}
    assert set(data["resources"]) == {"high and medium", "low", "other"}


def without(column, value):
    return lambda rows: rows[rows[column] != value]


@pytest.mark.parametrize(
    ("change", "run", "reason"),
    [
        (without("needle_lang", "hi"), {}, "other values of needle_lang"),
        (without("haystack_lang", "multilingual"), {}, "other values of haystack_lang"),
        (without("position", "end"), {}, "other values of position"),
        (lambda s: s.assign(question_lang="de"), {}, "questions in another language"),
        (lambda s: s.replace({"retrieval": {"semantic": "random"}}), {}, "other distractors"),
        (
            lambda s: s.assign(finish_reason=np.where(s.index % 7, "stop", "error")),
            {},
            r"\d+ answers are missing",
        ),
        (pd.DataFrame.copy, {"instructions": ["en"]}, "instructions of the user's own"),
        (
            pd.DataFrame.copy,
            {"setup": {"translator": "none", "aligned": True, "needles": "mlqa"}},
            "translator is none, in the paper google; aligned is true, in the paper false",
        ),
    ],
)
def test_other_prompts_cannot_be_compared(scores, change, run, reason):
    table = made("table1", change(of(scores, model="mistral")), **run)
    (verdict,) = verdicts(table, model="mistral", column="4096")
    assert re.fullmatch(f"cannot tell: {reason}", verdict)


def test_averages_over_other_lengths_cannot_be_compared(scores):
    table = made("table1", scores[scores["length"] != 32768])
    assert verdicts(table, model="mistral", column="average") == {"cannot tell: other lengths"}
    assert set() < verdicts(table, model="llama3", column="average") <= COMPARED
    # Table 2's averages are of each model's longest length.
    table = made("table2", of(scores, length=8192))
    row = cell(table, model="llama3", haystack_lang="en", needle_lang="en", length="average")
    assert row["published"] == 0.61 and not row["comparison"].startswith("cannot")


def test_lost_answers_are_counted_and_in_no_mean(scores):
    scores = scores.copy()
    here = exact(scores, "mistral", 4096).index
    scores.loc[here, "value"] = 1.0
    scores.loc[here[:5], ["finish_reason", "value"]] = ["skipped", 0.0]
    scores.loc[here[5:8], ["finish_reason", "value"]] = ["error", 0.0]
    scores.loc[here[8:10], "finish_reason"] = "length"
    scores["outcome"] = "answered"
    scores.loc[here[5:7], "outcome"] = ["refused", "prompt_cut"]
    scores.loc[here[10:14], "outcome"] = "empty"
    scores.loc[exact(scores, "llama2", 4096).index, "finish_reason"] = "skipped"
    table = made("table1", scores)
    row = cell(table, model="mistral", column="4096")
    assert (row["n"], row["n_skipped"], row["n_error"], row["n_cut"]) == (160, 5, 3, 2)
    assert (row["n_empty"], row["n_prompt_cut"], row["n_refused"]) == (4, 1, 1)
    # If the eight were wrong, and if they were right.
    assert (row["value"], row["lowest"], row["highest"]) == (1.0, 160 / 168, 1.0)
    row = cell(table, model="llama2", column="4096")
    assert (row["n"], row["n_skipped"]) == (0, 168) and np.isnan(row["value"])
    assert row["comparison"] == "cannot tell: no answer of ours to judge"
    average, baseline = (cell(table, model="llama2", column=c) for c in ("average", "baseline"))
    assert average["value"] == baseline["value"]
    # Of the baseline and one length, that is missing: lengths weigh alike.
    assert average["highest"] - average["lowest"] == pytest.approx(1 / 2)


def test_deltas_pair_prompts_that_both_answered_by_their_factors(scores) -> None:
    lost = scores.copy()
    lost.loc[exact(lost, "mistral", 4096).index[:4], "finish_reason"] = "error"
    row = cell(made("table4", lost), role="delta", column="4096")
    assert (row["n"], row["n_error"]) == (164, 4)
    assert row["comparison"] == "cannot tell: 4 answers are missing"
    scores = scores[scores["model"].isin(["mistral", "mistral-base"])].copy()
    # Another tokenizer, so other prompts: the pairs are still the same conditions and questions.
    other = scores["model"] == "mistral-base"
    scores.loc[other, "instance_id"] = "base/" + scores.loc[other, "instance_id"]
    base, tuned = (exact(scores, m, 4096)["value"].to_numpy() for m in ("mistral-base", "mistral"))
    table = made("table3", scores.sample(frac=1, random_state=0))
    row = cell(table, role="delta", column="4096")
    assert row["n"] == 168 and row["value"] == pytest.approx(tuned.mean() - base.mean())
    assert row["n_first_only"] == ((base == 1) & (tuned == 0)).sum()
    assert row["n_second_only"] == ((base == 0) & (tuned == 1)).sum()
    assert row["p_mcnemar"] == stats.mcnemar(base, tuned).p
    assert cell(table, role="first", column="4096")["value"] == pytest.approx(base.mean())


def test_the_papers_pairs_are_greedy_or_stand_alone(scores) -> None:
    table = made("table3", scores)
    assert cell(table, role="second", column="8192")["published"] == 0.453
    reason = {"cannot tell: the paper's is of greedy decoding"}
    assert verdicts(table, role="second") == verdicts(table, role="delta") == reason
    assert set() < verdicts(table, role="first") <= COMPARED
    table = made("table3", scores, instruction_tuning=[["mistral-base", "mistral-greedy"]])
    assert set() < verdicts(table) <= COMPARED
    for name in ("table3", "table4"):
        table = made(name, scores, instruction_tuning=[], greedy_or_sampling=[])
        assert set(table["source"]) == {"published"}
        assert set(table["role"]) == {"first", "second", "delta"}
    half = made("table3", of(scores, model="mistral"))
    assert set(of(half, source="published")["model"]) == {"Mistral-7B-v0.1", "delta"}


@pytest.mark.parametrize(
    ("model", "other", "decoding", "papers"),
    [(*BOTH, "greedy", SAMPLED), (*BOTH[::-1], SAMPLED, "greedy")],
)
def test_another_decoding_is_not_compared(scores, model, other, decoding, papers):
    table = made("table4", scores, decoding={model: decoding})
    told = {f"cannot tell: decoding is {decoding}, in the paper {papers}"}
    assert verdicts(table, model=model, column="8192") == told
    assert verdicts(table, role="delta", column="8192") == told
    assert set() < verdicts(table, model=other, column="8192") <= COMPARED


def test_existence_sees_through_a_model_that_always_says_yes(scores):
    yes = scores.assign(value=scores["needle_present"].astype(float))
    table = made("existence", yes)
    for length in ("all", 4096):
        here = of(table, model="mistral", length=length).set_index("needle")
        assert here["value"].to_dict() == {"present": 1.0, "absent": 0.0, "balanced": 0.5}
    assert (here.loc["present", "n"], here.loc["absent", "n"]) == (168, 56)
    present = made("existence", yes[yes["needle_present"]])
    assert set(present["needle"]) == {"present"}
