"""Lost in the Middle's tables: accuracy and token counts by hand, and beside the paper's."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import factories.lost_in_the_middle
from described import numbers, results
from factories.lost_in_the_middle import SETTINGS
from needlework.benchmarks.lost_in_the_middle import factors, plan
from needlework.benchmarks.lost_in_the_middle.paper import SETUP
from needlework.benchmarks.lost_in_the_middle.tables import PROMPTS
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.results import published

TABLES = results("lost_in_the_middle", "tables")

ROOT = Path(__file__).parents[4]
NUMBERS = published.load(ROOT / "resources" / "published" / "lost_in_the_middle.csv")
TOKENS = ("table2", "table3", "table4")


@pytest.fixture(scope="module")
def scores():
    return factories.lost_in_the_middle.make(
        ("gpt-16k", "mpt-instruct", "qwen"), questions=12, languages=("en", "de")
    )


@pytest.fixture(scope="module")
def prompts():
    return factories.lost_in_the_middle.lengths(8)


def made(name, rows, settings=SETTINGS):
    return numbers(TABLES[name], rows, NUMBERS, settings)


def cell(table, **labels):
    found = table
    for column, value in labels.items():
        found = found[found[column] == value]
    assert len(found) == 1, (labels, len(found))
    return found.iloc[0]


def of(rows, **factors):
    for factor, value in factors.items():
        rows = rows[rows[factor] == value]
    return rows


def test_tables_of_token_counts_are_made_of_prompts():
    assert {name for name in TABLES if TABLES[name].needs == "instances"} == set(TOKENS)


# Accuracy


def test_other_languages_and_other_data_are_not_compared(scores):
    table = made("table6", scores)
    english = of(table, lang="en", source="ours", model="gpt-16k")
    assert set(english["comparison"]) <= {"covers", "above", "below"}
    german = of(table, lang="de", model="gpt-16k")
    assert len(german) == 5
    assert set(german["comparison"]) == {"cannot tell: questions in another language"}
    other = made("table6", scores, SETTINGS | {"setup": {"corpus": "xquad"}})
    assert set(of(other, lang="en", model="gpt-16k")["comparison"]) == {
        "cannot tell: corpus is xquad, in the paper nq_open"
    }


def test_the_repositorys_numbers_stand_where_the_paper_has_none(scores):
    names = SETTINGS | {
        "published": {"qwen": "Llama-2-70B-chat", "mpt-instruct": "MPT-30B-Instruct"}
    }
    table = made("table1", scores, names)
    row = cell(table, model="qwen", lang="en", column="oracle")
    assert (row["published"], row["published_n"]) == (pytest.approx(0.84670433), 2655)
    assert row["published_source"] == "repository"
    assert row["comparison"] in ("covers", "below", "above")
    # The paper comes first where both have a number, and they differ.
    row = cell(table, model="mpt-instruct", lang="en", column="oracle")
    assert (row["published"], row["published_source"]) == (0.819, "paper")
    twenty = cell(made("table6", scores, names), model="qwen", lang="en", column="19")
    assert (twenty["published"], twenty["published_n"]) == (pytest.approx(0.69487666), 2635)


def test_a_model_that_samples_is_not_compared(scores):
    sampled = "temperature 0.7, top-k 50, top-p 1"
    settings = SETTINGS | {"decoding": {"gpt-16k": sampled, "mpt-instruct": "greedy"}}
    for name in ("table1", "table6"):
        table = of(made(name, scores, settings), source="ours", lang="en")
        assert set(of(table, model="gpt-16k")["comparison"]) == {
            f"cannot tell: decoding is {sampled}, in the paper greedy"
        }
        assert of(table, model="gpt-16k")["published"].notna().all()
        compared = set(of(table, model="mpt-instruct")["comparison"])
        assert compared <= {"covers", "above", "below"}


def test_results_know_how_each_model_decodes():
    found = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    found["models"] = {
        "greedy": {"backend": "vllm", "name": "a/b", "sampling": {"temperature": 0}},
        "sampling": {"backend": "vllm", "name": "a/c", "sampling": {"temperature": 0.7}},
    }
    for entry in found["models"].values():
        entry |= {"tokenizer": "words", "context": 4096}
    found["run"] |= {"models": ["greedy", "sampling"], "benchmarks": ["lost_in_the_middle"]}
    settings = Layout(validated(found)).run_settings(plan.NAME, "scores")
    assert settings["decoding"] == {
        "greedy": "greedy",
        "sampling": "temperature 0.7, top-k 50, top-p 1",
    }
    # All that stands in `setup` is read.
    assert set(settings["setup"]) == {*SETUP, "max_new_tokens", "source"}
    assert settings["setup"]["max_new_tokens"] == 100


def test_a_users_instructions_are_not_compared(scores):
    for lang, told in (("en", True), ("de", False)):
        table = made("table6", scores, SETTINGS | {"instructions": [lang]})
        found = set(of(table, lang="en", source="ours", model="gpt-16k")["comparison"])
        assert (found == {"cannot tell: instructions of the user's own"}) == told


def test_another_limit_on_answers_is_an_obstacle(scores, prompts):
    """To accuracy, of questions and of pairs; not to the lengths of prompts."""
    paper, other = (SETTINGS | {"setup": {"max_new_tokens": limit}} for limit in (100, 5))
    reason = "cannot tell: max_new_tokens is 5, in the paper 100"
    for name in ("table1", "table6", "accuracy"):
        for settings, wanted in ((paper, {"covers", "above", "below"}), (other, {reason})):
            table = of(made(name, scores, settings), source="ours", lang="en", model="gpt-16k")
            found = set(table[table["published"].notna()]["comparison"])
            assert found and found <= wanted, name
    pairs = of(made("accuracy", scores, other), task="key_value", model="mpt-instruct")
    assert set(pairs[pairs["published"].notna()]["comparison"]) == {reason}
    for name in TOKENS:
        assert made(name, prompts, other).equals(made(name, prompts, paper))


def test_the_overall_table_counts_every_answer_once(scores):
    table = made("accuracy", scores)
    assert table["n"].sum() == len(scores)
    assert table["n_skipped"].sum() == table["n_error"].sum() == 0
    labels = ["model", "task", "lang", "keys", "variant", "n_documents", "gold_index"]
    assert not table.duplicated(labels).any()
    assert list(dict.fromkeys(table["task"])) == list(factors.TASKS)
    assert set(table["variant"]) == set(factors.VARIANTS) - {"unambiguous"}


def test_skipped_prompts_are_counted_and_in_no_mean(scores):
    rows = scores.copy()
    mine = of(rows, task="multi_document_qa", model="gpt-16k", lang="en", n_documents=20)
    mine = of(mine, gold_index=4, order="relevance", distractors="retrieved", query_aware=False)
    rows.loc[mine.index[:5], ["value", "finish_reason"]] = [0.0, "skipped"]
    rows.loc[mine.index[5], "finish_reason"] = "error"
    table = made("table6", rows)
    row = cell(table, model="gpt-16k", lang="en", column="4")
    assert (row["n"], row["n_skipped"], row["n_error"]) == (6, 5, 1)
    assert row["value"] == pytest.approx(mine["value"].iloc[6:].mean())
    assert row["comparison"] == "cannot tell: 6 answers are missing"


def test_a_model_that_skipped_everything_has_a_row(scores):
    rows = scores.copy()
    lost = of(rows, task="multi_document_qa", model="qwen", n_documents=30).index
    rows.loc[lost, ["value", "finish_reason"]] = [0.0, "skipped"]
    table = made("table7", rows)
    row = cell(table, model="qwen", lang="en", column="0")
    assert np.isnan(row["value"]) and (row["n"], row["n_skipped"]) == (0, 12)


# Tokens


def test_counts_are_over_examples_and_the_maximum_over_prompts(prompts):
    mine = of(prompts, task="multi_document_qa", tokenizer="words", n_documents=20)
    mine = of(mine, order="relevance", distractors="retrieved", query_aware=False)
    each = mine.groupby("example_id")["n_tokens"].mean()
    row = cell(made("table3", prompts), tokenizer="words", column=20)
    assert (row["n"], row["n_prompts"]) == (8, 40)
    assert row["mean"] == pytest.approx(sum(each) / 8)
    assert row["stdev"] == pytest.approx(np.sqrt(sum((each - each.mean()) ** 2) / 7))
    assert row["max"] == mine["n_tokens"].max()
    assert row["comparison"] == "cannot tell: no published number"


def test_counts_of_other_data_are_not_compared(prompts):
    row = cell(made("table3", prompts), tokenizer="cl100k_base", column=10)
    assert row["comparison"] == "cannot tell: 8 examples, in the paper 2,655"
    assert row["published_mean"] == 1475.6
    other = made("table2", prompts, SETTINGS | {"setup": {"corpus": "xquad"}})
    row = cell(other, tokenizer="cl100k_base", column="oracle")
    assert row["comparison"] == "cannot tell: corpus is xquad, in the paper nq_open"


def test_counts_of_drawn_pairs_are_not_compared():
    rows = factories.lost_in_the_middle.lengths(1000, ("cl100k_base",))
    rows = of(rows, task="key_value", keys="uuid")
    for source, wanted in (
        ("constructed", "cannot tell: pairs are drawn, in the paper released"),
        ("released", "differs: mean, stdev, max"),
    ):
        settings = SETTINGS | {"setup": {"corpus": "mlqa", "source": source}}
        row = cell(made("table4", rows, settings), tokenizer="cl100k_base", column=75)
        assert (row["n"], row["comparison"]) == (500, wanted)


def test_the_prompt_table_says_what_was_left_out():
    caption = (ROOT / "workflow/report/prompts.rst").read_text(encoding="utf-8")
    mine = caption[caption.index("- Lost in the Middle") : caption.index("- ONERULER")]
    left_out, found = (set(re.findall(r"``(\w+)``", part)) for part in mine.split("Found:"))
    assert found == set(PROMPTS.kept)
    assert left_out >= {"gold_without_answer", "too_few_documents", "value_within_a_word"}
    assert '"found"' in caption and "_kept" not in caption


def encode(mirror):
    tiktoken = pytest.importorskip("tiktoken")
    lines = (mirror / "tokenizers" / "cl100k_base.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    # The published pattern of cl100k_base.
    pattern = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    return tiktoken.Encoding(
        "cl100k_base", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    ).encode_ordinary


def released(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_papers_counts_of_released_prompts_to_the_last_digit(mirror):
    """Prompts written here as the paper's figures show them, not by the benchmark's own templates."""
    tokens = encode(mirror)
    instruction = (
        "Write a high-quality answer for the given question using only the provided search results "
        "(some of which might be irrelevant)."
    )
    folder, rows = mirror / "lost-in-the-middle", []
    for place, example in enumerate(released(folder / "qa_data" / "nq-open-oracle.jsonl.gz")):
        question = f"Question: {example['question']}\nAnswer:"
        (gold,) = example["ctxs"]
        document = f"Document [1](Title: {gold['title']}) {gold['text']}"
        oracle = f"{instruction}\n\n{document}\n\n{question}"
        rows += [("closed_book", place, question), ("oracle", place, oracle)]
    pairs = released(folder / "kv_retrieval_data" / "kv-retrieval-75_keys.jsonl.gz")
    for place, example in enumerate(pairs):
        body = ",\n ".join(f'"{key}": "{value}"' for key, value in example["ordered_kv_records"])
        prompt = (
            "Extract the value corresponding to the specified key in the JSON object below.\n\n"
            f'JSON data:\n{{{body}}}\n\nKey: "{example["key"]}"\nCorresponding value:'
        )
        rows.append(("key_value", place, prompt))
    counted = pd.DataFrame(
        [
            factories.lost_in_the_middle.DEFAULTS
            | {"task": task, "example_id": f"{task}-{place}", "n_tokens": len(tokens(prompt))}
            | {"tokenizer": "cl100k_base"}
            | ({"n_documents": 75, "keys": "uuid"} if task == "key_value" else {})
            for task, place, prompt in rows
        ]
    )
    # As for a run: several indices, the same counts.
    moved = of(counted, task="key_value").assign(gold_index=24.0)
    counted = pd.concat([counted, moved], ignore_index=True)
    for name, columns in (("table2", ("closed_book", "oracle")), ("table4", (75,))):
        for column in columns:
            row = cell(made(name, counted), tokenizer="cl100k_base", column=column)
            assert row["comparison"] == "equals", row.to_dict()
    longer = counted.assign(n_tokens=counted["n_tokens"] + (counted["n_tokens"] == 29))
    row = cell(made("table2", longer), tokenizer="cl100k_base", column="closed_book")
    assert row["comparison"] == "differs: max"
