"""MLNeedle's tables: numbers by hand, comparisons with the paper, and LaTeX that can compile."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import factories.mlneedle
from described import numbers, results
from factories.mlneedle import SETTINGS
from needlework.benchmarks.mlneedle.card import CARD
from needlework.results import published, stats
from needlework.results.result import Context

TABLES = results("mlneedle", "tables")

NUMBERS = published.load(Path(__file__).parents[4] / "resources" / "published" / "mlneedle.csv")


@pytest.fixture(scope="module")
def scores():
    return factories.mlneedle.make(questions=3)


@pytest.fixture(scope="module")
def two(scores):
    """Two models at two lengths: enough where every cell is looked at."""
    return scores[
        scores["model"].isin(["mistral", "mistral-greedy"])
        & scores["length"].isin([0, 8192, 32768])
    ]


def made(name, scores, settings=SETTINGS):
    return numbers(TABLES[name], scores, NUMBERS, settings)


def cell(table, **labels):
    found = table
    for column, value in labels.items():
        found = found[found[column] == value]
    assert len(found) == 1, (labels, len(found))
    return found.iloc[0]


def exact(scores, model, length):
    mine = scores[(scores["task"] == "exact") & (scores["model"] == model)]
    return mine[mine["length"] == length]


# Table 1


def test_table1_is_means_and_their_mean(scores):
    table = made("table1", scores)
    means = {n: exact(scores, "llama3", n)["value"].mean() for n in (0, 4096, 8192)}
    for column, length in (("baseline", 0), ("4096", 4096), ("8192", 8192)):
        row = cell(table, model="llama3", column=column)
        assert row["value"] == pytest.approx(means[length])
        assert row["n"] == (21 if length == 0 else 504)
        assert row["n_questions"] == 21
        assert (row["ci_low_independent"], row["ci_high_independent"]) == pytest.approx(
            stats.wilson(means[length], row["n"])
        )
        assert row["ci_low"] <= row["ci_low_independent"] <= row["value"]
        assert row["share_of_baseline"] == pytest.approx(means[length] / means[0])
    average = cell(table, model="llama3", column="average")
    assert average["value"] == pytest.approx(sum(means.values()) / 3)
    assert average["n"] == 21 + 2 * 504


def test_table1_lengths(scores):
    perfect = scores.assign(value=1.0)
    perfect.loc[perfect["length"] > 8192, "value"] = 0.0
    table = made("table1", perfect)
    assert cell(table, model="mistral", column="claimed_length")["tokens"] == 32768
    assert cell(table, model="mistral", column="effective_length")["tokens"] == 8192
    nothing = scores.assign(value=(scores["length"] == 0).astype(float))
    assert cell(made("table1", nothing), model="mistral", column="effective_length")["tokens"] == 0
    # Report cards show them.
    assert CARD.lengths is not None
    assert CARD.lengths(perfect, Context(NUMBERS, SETTINGS))["mistral"] == (32768, 8192)
    lengths = table["column"].isin(["claimed_length", "effective_length"])
    assert table.loc[lengths, "value"].isna().all()
    assert table.loc[~lengths, ["tokens", "published_tokens"]].isna().all(axis=None)


def test_table1_without_a_baseline_or_a_claim(scores):
    table = made("table1", scores[scores["length"] > 0], {})
    row = cell(table, model="mistral", column="effective_length")
    assert pd.isna(row["tokens"])
    assert pd.isna(cell(table, model="mistral", column="claimed_length")["tokens"])
    assert cell(table, model="mistral", column="average")["n"] == 4 * 504


# Comparisons


def verdicts(table, **labels):
    found = table[(table["source"] == "ours") & table["published"].notna()]
    for column, value in labels.items():
        found = found[found[column] == value]
    return set(found["comparison"])


def test_comparisons_say_on_which_side_we_are(scores):
    columns = {"baseline", "4096", "8192", "16384", "32768", "average"}
    for value, verdict in ((1.0, "above"), (0.0, "below")):
        table = made("table1", scores.assign(value=value))
        ours = table[table["column"].isin(columns)]
        assert verdicts(ours) == {verdict}
    table = made("table1", scores)
    row = cell(table, model="mistral", column="8192")
    assert row["comparison"] == "covers"
    assert row["ci_low"] <= row["published"] <= row["ci_high"]


def test_other_settings_cannot_be_compared(scores):
    settings = {**SETTINGS, "setup": {"translator": "none", "aligned": True, "needles": "mlqa"}}
    table = made("table1", scores, settings)
    reason = "translator is none, in the paper google; aligned is true, in the paper false"
    assert verdicts(table, column="4096") == {f"cannot tell: {reason}"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s[s["needle_lang"] != "hi"], "other values of needle_lang"),
        (lambda s: s[s["haystack_lang"] != "multilingual"], "other values of haystack_lang"),
        (lambda s: s[s["position"] != "end"], "other values of position"),
        (lambda s: s.assign(question_lang="de"), "questions in another language"),
        (
            lambda s: s.assign(retrieval=s["retrieval"].replace("semantic", "random")),
            "other distractors",
        ),
        (
            lambda s: s.assign(finish_reason=np.where(s.index % 7, "stop", "error")),
            r"\d+ answers are missing",
        ),
    ],
)
def test_other_prompts_cannot_be_compared(scores, change, reason):
    (verdict,) = {
        re.sub(r"\d+", "7", verdict)
        for verdict in verdicts(made("table1", change(scores)), model="mistral", column="4096")
    }
    assert re.search(reason, verdict) and verdict.startswith("cannot tell: ")


def test_a_users_instructions_cannot_be_compared(scores):
    table = made("table1", scores, {**SETTINGS, "instructions": ["en"]})
    assert verdicts(table, column="4096") == {"cannot tell: instructions of the user's own"}


def test_an_average_over_other_lengths_cannot_be_compared(scores):
    table = made("table1", scores[scores["length"] != 32768])
    assert verdicts(table, model="mistral", column="average") == {"cannot tell: other lengths"}
    assert verdicts(table, model="llama3", column="average") <= {"covers", "above", "below"}


# What is missing


def test_skipped_and_failed_answers_are_counted_and_in_no_mean(scores):
    scores = scores.copy()
    here = exact(scores, "mistral", 4096).index
    scores.loc[here, "value"] = 1.0
    scores.loc[here[:5], ["finish_reason", "value"]] = ["skipped", 0.0]
    scores.loc[here[5:8], ["finish_reason", "value"]] = ["error", 0.0]
    scores.loc[here[8:10], "finish_reason"] = "length"
    scores["outcome"] = "answered"
    scores.loc[here[5:7], "outcome"] = ["refused", "prompt_cut"]
    scores.loc[here[10:14], "outcome"] = "empty"
    table = made("table1", scores)
    row = cell(table, model="mistral", column="4096")
    assert (row["n"], row["n_skipped"], row["n_error"], row["n_cut"]) == (496, 5, 3, 2)
    assert (row["n_empty"], row["n_prompt_cut"], row["n_refused"]) == (4, 1, 1)
    assert row["value"] == 1.0
    # If the eight were wrong, and if they were right.
    assert (row["lowest"], row["highest"]) == (496 / 504, 1.0)


def test_bounds_of_a_mean_of_lengths_weigh_lengths_alike(scores):
    scores = scores.copy()
    here = exact(scores, "mistral", 4096).index
    scores.loc[here, ["finish_reason", "value"]] = ["skipped", 0.0]
    table = made("table1", scores)
    whole, lengths = (cell(table, model="mistral", column=c) for c in ("average", "8192"))
    # Of the baseline and four lengths, one is missing.
    assert whole["highest"] - whole["lowest"] == pytest.approx(1 / 5)
    assert lengths["lowest"] == lengths["highest"] == lengths["value"]


def test_a_length_that_was_all_skipped_is_a_gap(scores):
    scores = scores.copy()
    here = exact(scores, "llama2", 4096).index
    scores.loc[here, ["finish_reason", "value"]] = ["skipped", 0.0]
    table = made("table1", scores)
    row = cell(table, model="llama2", column="4096")
    assert (row["n"], row["n_skipped"]) == (0, 504) and np.isnan(row["value"])
    assert row["comparison"] == "cannot tell: no answer of ours to judge"
    baseline = cell(table, model="llama2", column="baseline")["value"]
    assert cell(table, model="llama2", column="average")["value"] == baseline


# Tables 2 to 4


def test_the_longest_length_alone_is_the_papers_average(scores):
    table = made("table2", scores[scores["length"] == 8192])
    row = cell(table, model="llama3", haystack_lang="en", needle_lang="en", length="average")
    assert row["published"] == 0.61 and not row["comparison"].startswith("cannot")


def test_table3_pairs_prompts_by_their_factors(scores):
    scores = scores[scores["model"].isin(["mistral", "mistral-base"])].copy()
    # Another tokenizer, so other prompts: the pairs are still the same conditions and questions.
    other = scores["model"] == "mistral-base"
    scores.loc[other, "instance_id"] = "base/" + scores.loc[other, "instance_id"]
    table = made("table3", scores.sample(frac=1, random_state=0))
    base = exact(scores, "mistral-base", 4096)["value"].to_numpy()
    tuned = exact(scores, "mistral", 4096)["value"].to_numpy()
    row = cell(table, role="delta", column="4096")
    assert row["n"] == 504
    assert row["value"] == pytest.approx(tuned.mean() - base.mean())
    assert row["n_first_only"] == ((base == 1) & (tuned == 0)).sum()
    assert row["n_second_only"] == ((base == 0) & (tuned == 1)).sum()
    assert row["p_mcnemar"] == stats.mcnemar(base, tuned).p
    assert cell(table, role="first", column="4096")["value"] == pytest.approx(base.mean())


def test_table3_knows_that_the_papers_row_is_greedy(scores):
    table = made("table3", scores)
    assert cell(table, role="second", column="8192")["published"] == 0.453
    reason = {"cannot tell: the paper's is of greedy decoding"}
    assert verdicts(table, role="second") == verdicts(table, role="delta") == reason
    assert not any(v.startswith("cannot") for v in verdicts(table, role="first"))
    greedy = {**SETTINGS, "instruction_tuning": [["mistral-base", "mistral-greedy"]]}
    table = made("table3", scores, greedy)
    assert not any(v.startswith("cannot") for v in verdicts(table))


def test_a_delta_is_of_prompts_that_both_answered(scores):
    scores = scores.copy()
    here = exact(scores, "mistral", 4096).index
    scores.loc[here[:4], "finish_reason"] = "error"
    table = made("table4", scores)
    row = cell(table, role="delta", column="4096")
    assert (row["n"], row["n_error"]) == (500, 4)
    assert row["comparison"] == "cannot tell: 4 answers are missing"


def test_the_papers_pair_stands_for_models_that_were_not_run(scores):
    for name in ("table3", "table4"):
        table = made(name, scores, {})
        assert set(table["source"]) == {"published"}
        assert set(table["role"]) == {"first", "second", "delta"}
    half = made("table3", scores[scores["model"] == "mistral"])
    theirs = half[half["source"] == "published"]
    assert set(theirs["model"]) == {"Mistral-7B-v0.1", "delta"}


@pytest.mark.parametrize(
    ("model", "decoding", "reason"),
    [
        (
            "mistral",
            "greedy",
            "decoding is greedy, in the paper temperature 0.7, top-k 50, top-p 1",
        ),
        (
            "mistral-greedy",
            "temperature 0.7, top-k 50, top-p 1",
            "decoding is temperature 0.7, top-k 50, top-p 1, in the paper greedy",
        ),
    ],
)
def test_another_decoding_is_not_compared(two, model, decoding, reason):
    table = made("table4", two, {**SETTINGS, "decoding": {model: decoding}})
    told = {f"cannot tell: {reason}"}
    assert verdicts(table, model=model, column="8192") == told
    assert verdicts(table, role="delta", column="8192") == told
    other = {"mistral", "mistral-greedy"}.difference([model]).pop()
    assert not any(v.startswith("cannot") for v in verdicts(table, model=other, column="8192"))


# The tables that the paper has not


def test_existence_sees_through_a_model_that_always_says_yes(scores):
    yes = scores.assign(value=scores["needle_present"].astype(float))
    table = made("existence", yes)
    for length in ("all", 4096):
        values = {
            kind: cell(table, model="mistral", length=length, needle=kind)["value"]
            for kind in ("present", "absent", "balanced")
        }
        assert values == {"present": 1.0, "absent": 0.0, "balanced": 0.5}
    assert cell(table, model="mistral", length=4096, needle="present")["n"] == 504
    assert cell(table, model="mistral", length=4096, needle="absent")["n"] == 168


def test_existence_without_absent_needles_has_no_mean_of_both(scores):
    table = made("existence", scores[scores["needle_present"]])
    assert set(table["needle"]) == {"present"}
