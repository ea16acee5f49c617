"""Lost in the Middle's tables and figures: what their numbers are, and which stand beside the paper's."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import yaml

import factories.lost_in_the_middle
import golden_runs
from described import COMPARED, cell, is_mean_of, of, printed, verdicts
from factories import ROOT
from needlework.benchmarks.lost_in_the_middle.tables import PROMPTS, with_variant
from needlework.results import published

made = partial(golden_runs.changed, "lost_in_the_middle")
MODELS = ("gpt-16k", "mpt-instruct", "mpt", "flan-ul2")
QA = "multi_document_qa"
SAMPLED = "temperature 0.7, top-k 50, top-p 1"


@pytest.fixture(scope="module")
def scores():
    return factories.lost_in_the_middle.make(MODELS, questions=8, languages=("en", "de"))


@pytest.fixture(scope="module")
def prompts():
    return factories.lost_in_the_middle.lengths(8)


def plain(scores, **wanted):
    """The paper's setting of multi-document QA."""
    mine = of(scores, task=QA, lang="en", query_aware=False)
    return of(mine, distractors="retrieved", order="relevance", **wanted)


QUESTIONS = f"lang == 'en' and task == '{QA}' and n_documents == 20 and gold_index == 14"
PLAIN = "query_aware == False and order == 'relevance' and distractors == 'retrieved'"
PAIRS = "keys == 'uuid' and n_documents == 140 and gold_index == 104 and query_aware == False"
AWARE, RANDOM = {"variant": "query_aware"}, {"variant": "random_distractors"}


@pytest.mark.parametrize(
    ("name", "labels", "wanted"),
    [
        ("figure1", {"task": "closed_book"}, "lang == 'en' and task == 'closed_book'"),
        ("figure5", {}, f"{QUESTIONS} and {PLAIN}"),
        ("figure10", {"n_documents": 140, "position": 105}, PAIRS),
        ("figure12", AWARE, f"{QUESTIONS} and query_aware == True"),
        ("figure16", RANDOM, f"{QUESTIONS} and distractors == 'random'"),
        ("figure17", {"variant": "random_order"}, f"{QUESTIONS} and order == 'random'"),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, wanted, scores):
    scores = of(scores, model="mpt")
    place = {} if "task" in labels else {"n_documents": 20, "position": 15}
    is_mean_of(made(name, scores), {"model": "mpt", **place, **labels}, scores, wanted)


def test_each_answer_is_of_one_variant(scores):
    rows = with_variant(of(scores, task=QA))
    random = of(rows, distractors="random", query_aware=False)
    assert set(random["variant"]) == {"random_distractors"} and len(random)
    assert set(of(rows, query_aware=True)["variant"]) == {"query_aware"}
    ordered = of(rows, order="random", distractors="retrieved")
    assert set(ordered["variant"]) == {"random_order"} and len(ordered)
    # Random distractors may have any order.
    random = scores["distractors"] == "random"
    shuffled = scores.assign(order=scores["order"].mask(random, "random"))
    for name in ("figure16", "figure17"):
        assert made(name, shuffled).equals(made(name, scores))


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"setup": {"corpus": "xquad"}}, "corpus is xquad, in the paper nq_open"),
        ({"setup": {"max_new_tokens": 5}}, "max_new_tokens is 5, in the paper 100"),
        ({"instructions": ["en"]}, "instructions of the user's own"),
        ({"decoding": {"gpt-16k": SAMPLED}}, f"decoding is {SAMPLED}, in the paper greedy"),
    ],
)
def test_other_runs_are_not_compared(scores, run, reason):
    rows = of(scores, model="gpt-16k")
    for name in ("table6", "figure5"):
        table = made(name, rows, **run)
        english = of(table, lang="en") if "lang" in table else table
        assert verdicts(english) == {f"cannot tell: {reason}"}, name
        # The paper's other models stand beside its own questions only.
        others = "corpus" not in run.get("setup", {})
        assert name == "table6" or ("published" in set(table["source"])) == others
    # Drawn pairs count as the released ones.
    pairs = verdicts(made("figure12", rows, **run), task="key_value")
    assert set() < pairs <= COMPARED if "corpus" in reason else pairs == {f"cannot tell: {reason}"}


def test_german_instructions_keep_english_from_no_comparison(scores):
    run = {"instructions": ["de"], "decoding": {"gpt-16k": "greedy"}}
    table = made("table6", of(scores, model="gpt-16k"), **run)
    assert set() < verdicts(table, lang="en") <= COMPARED
    said = "cannot tell: questions in another language; instructions of the user's own"
    assert set(of(table, lang="de", source="ours")["comparison"]) == {said}


def test_the_repositorys_numbers_stand_where_the_paper_has_none(scores):
    names = {"flan-ul2": "Llama-2-70B-chat", "mpt-instruct": "MPT-30B-Instruct"}
    table = of(made("table1", scores, published=names), lang="en", column="oracle")
    row = cell(table, model="flan-ul2")
    assert (row["published"], row["published_n"]) == (pytest.approx(0.84670433), 2655)
    assert row["published_source"] == "repository" and row["comparison"] in COMPARED
    # The paper comes first where both have a number, and they differ.
    row = cell(table, model="mpt-instruct")
    assert (row["published"], row["published_source"]) == (0.819, "paper")
    twenty = cell(made("table6", scores, published=names), model="flan-ul2", lang="en", column="19")
    assert (twenty["published"], twenty["published_n"]) == (pytest.approx(0.69487666), 2635)
    for name in ("figure1", "figure5"):
        drawn = made(name, scores, published=names)
        mine = of(drawn, model="flan-ul2", task=QA, n_documents=20)
        assert mine["published"].between(0.5, 0.7).all()
        assert set(mine["published_source"]) == {"repository"}
        assert "Llama-2-70B-chat" not in set(drawn["model"])


def test_figures_1_6_and_14_are_their_means(scores) -> None:
    drawn = made("figure1", scores[scores["n_documents"] != 20])
    assert set(of(drawn, task=QA, source="ours")["n_documents"]) == {10}
    assert set(of(drawn, source="published")["model"]) == {"GPT-3.5-Turbo"}
    # Not where it was run.
    drawn = made("figure1", scores, published={"gpt-16k": "GPT-3.5-Turbo"})
    assert of(drawn, source="published").empty
    rows = of(scores, model="mpt-instruct")
    row = cell(made("figure6", rows), model="mpt-instruct", n_documents=10)
    mine = plain(rows, n_documents=10)
    assert row["value"] == pytest.approx(mine.groupby("gold_index")["value"].mean().mean())
    assert row["n"] == 24 and row["comparison"] == "cannot tell: no published number"
    rows = of(scores, task="open_domain")
    recall = of(made("figure14", rows), task="recall")
    found = rows.groupby("n_documents")["answer_present"].mean()
    assert recall.set_index("n_documents")["value"].to_dict() == pytest.approx(found.to_dict())
    assert set(recall["n"]) == {8}
    # Recall is of the prompts: who skipped them does not matter.
    again = made("figure14", rows.assign(finish_reason="skipped"))
    assert list(of(again, task="recall")["value"]) == list(recall["value"])


@pytest.mark.parametrize("name", ["figure12", "figure13"])
def test_mcnemar_of_an_ablation_by_hand(name, scores):
    """Eight questions at one position: 1 right without the change alone, 6 with it alone."""
    place = {"n_documents": 20, "gold_index": 14}
    rows = of(scores, lang="en", task=QA, **place)
    rows = rows[rows["model"].isin(["mpt", "mpt-instruct"])].copy()
    first = plain(rows, model="mpt")
    if name == "figure13":
        second, mine = plain(rows, model="mpt-instruct"), {"role": "instruction-tuned"}
    else:
        second = of(rows, model="mpt", query_aware=True)
        mine = {"model": "mpt", "variant": "query_aware"}
    # Matched by question, not by row.
    for side, right in ((first, "10000001"), (second[::-1], "11111110")):
        rows.loc[side.index, "value"] = [float(one) for one in right]

    def tested():
        row = cell(made(name, rows), **mine, **place)
        return [row["n_both"], row["n_first_only"], row["n_second_only"]], row["p_mcnemar"]

    # Two-sided, of 7 that differ: 2 (1 + 7) / 2^7.
    assert tested() == ([8, 1, 6], pytest.approx(0.125))
    # What one of the two does not answer leaves the pair out.
    rows.loc[[first.index[0], second.index[3]], "finish_reason"] = ["skipped", "error"]
    assert tested() == ([6, 0, 5], pytest.approx(0.0625))


def test_figure18_is_of_the_questions_that_all_answered(scores):
    asked = plain(scores, n_documents=20)
    lost = (asked["model"] == "mpt") & (asked["example_id"] > "en-0004")
    one = (asked["model"] == "gpt-16k") & (asked["example_id"] == "en-0000")
    lost |= one & (asked["gold_index"] == 9)
    # Next to nothing is answered by one model, which is left out.
    few = asked.index[asked["model"] == "flan-ul2"][1:]
    asked = asked.assign(finish_reason=lost.map({True: "error", False: "stop"}))
    asked.loc[few, "finish_reason"] = "skipped"
    others = plain(scores, n_documents=10)
    figure = made("figure18", pd.concat([asked, others]))
    left_out = cell(figure, model="flan-ul2", n_documents=20)
    assert left_out["absent"] == "answered 1 of 40 prompts" and np.isnan(left_out["value"])
    assert left_out[["n", "n_questions"]].tolist() == [0, 0]
    panel = of(figure, n_documents=20, absent="")
    assert set(panel["model"]) == {"gpt-16k", "mpt-instruct", "mpt"} and set(panel["n"]) == {4}
    kept = of(asked, model="gpt-16k", gold_index=0)
    kept = kept[kept["example_id"].between("en-0001", "en-0004")]
    row = cell(panel, model="gpt-16k", gold_index=0)
    assert row["value"] == pytest.approx(kept["value"].mean())
    assert panel["published"].isna().all()
    # Other panels keep all their questions.
    assert set(of(figure, n_documents=10)["n"]) == {8}


def test_figure18_keeps_a_panel_where_nothing_is_shared(scores):
    """Each of two models answered another half of the questions; half is enough to be drawn."""
    asked = plain(scores, n_documents=30)
    early = asked["example_id"] < "en-0004"
    lost = (early & (asked["model"] == "mpt")) | (~early & (asked["model"] == "gpt-16k"))
    panel = made("figure18", asked.assign(finish_reason=np.where(lost, "error", "stop")))
    assert set(panel["model"]) == set(MODELS) and len(panel) == len(MODELS)
    assert set(panel["absent"]) == {"no question that all models answered at every position"}
    assert set(panel["n"]) == {0} and panel["value"].isna().all()
    nobody = made("figure18", asked.assign(finish_reason="skipped"))
    assert len(nobody) == len(MODELS) and set(nobody["n"]) == {0}


def test_counts_of_other_data_are_not_compared(prompts):
    row = cell(made("table3", prompts), tokenizer="cl100k_base", column=10)
    assert row["comparison"] == "cannot tell: 8 examples, in the paper 2,655"
    assert row["published_mean"] == 1475.6
    other = made("table2", prompts, setup={"corpus": "xquad", "max_new_tokens": 5})
    row = cell(other, tokenizer="cl100k_base", column="oracle")
    assert row["comparison"] == "cannot tell: corpus is xquad, in the paper nq_open"
    pairs = of(prompts, task="key_value", tokenizer="cl100k_base", keys="uuid", n_documents=75)
    pairs = of(pairs, gold_index=24, query_aware=False).sample(500, replace=True, random_state=0)
    pairs = pairs.assign(example_id=range(500))
    for source, said in (
        ("constructed", "cannot tell: pairs are drawn, in the paper released"),
        ("released", "differs: mean, stdev, max"),
    ):
        table = made("table4", pairs, setup={"corpus": "mlqa", "source": source})
        assert cell(table, tokenizer="cl100k_base", column=75)["comparison"] == said


def test_the_prompt_table_says_what_was_left_out(root):
    caption = (root / "workflow/report/prompts.rst").read_text(encoding="utf-8")
    mine = caption[caption.index("- Lost in the Middle") : caption.index("- ONERULER")]
    left_out, found = (set(re.findall(r"``(\w+)``", part)) for part in mine.split("Found:"))
    assert found == {*PROMPTS.kept, "gold_without_answer"}
    assert left_out >= {"too_few_documents", "value_within_a_word"} and "_kept" not in caption


NUMBERS = published.load(ROOT / "resources/published/lost_in_the_middle.csv")
PAPER = ROOT.parent / "shared/papers/lost_in_the_middle.txt"
DEVIATION = r"plus-or-minus\pm±"
REPOSITORY = NUMBERS[NUMBERS["source"] == "repository"]


def number(table, row, column):
    return printed(NUMBERS, table, row, column, ("paper",)).value


def test_every_table_of_the_paper_is_complete() -> None:
    numbers = NUMBERS[NUMBERS["source"] == "paper"]
    counts = numbers.groupby("table")["value"].count().to_dict()
    assert counts == {
        "table1": 6 * 2,
        "table2": 4 * 2 * 3,
        "table3": 4 * 3 * 3,
        "table4": 4 * 3 * 3,
        "table5": 6 * 3,
        "table6": 6 * 5,
        # GPT-3.5-Turbo's context is too short for 30 documents.
        "table7": 5 * 7,
        "text": 13,
    }
    assert set(NUMBERS["paper"]) == {"lost_in_the_middle"}
    shares = NUMBERS[NUMBERS["table"].isin(["table1", "table5", "table6", "table7"])]
    assert shares["value"].between(0.3, 0.9).all()
    assert number("table1", "GPT-3.5-Turbo", "closed_book") == 0.561
    assert number("table2", "MPT-30B", "oracle/stdev") == 41.8
    assert number("table3", "LongChat-13B (16K)", "30/max") == 7729
    assert number("table4", "GPT-3.5-Turbo", "75/stdev") == 25.6
    assert number("table6", "GPT-3.5-Turbo", "9") == 0.538
    assert number("text", "GPT-3.5-Turbo", "20_documents/9") == 0.529
    assert number("table7", "GPT-3.5-Turbo (16K)", "29") == 0.637
    # Closed-book prompts are longer by a chat format's length; MPT's vary no more than bare ones.
    bare = number("table2", "GPT-3.5-Turbo", "closed_book/mean")
    for row, more in (("MPT-30B", 28.2), ("LongChat-13B (16K)", 40.3)):
        assert number("table2", row, "closed_book/mean") - bare == pytest.approx(more)
    spread = [number("table2", row, "closed_book/stdev") for row in ("MPT-30B", "GPT-3.5-Turbo")]
    assert spread[0] == spread[1]


def test_the_repositorys_numbers_are_whole_counts() -> None:
    # EXPERIMENTS.md has 31: three models' questions, two models' pairs.
    counts = REPOSITORY.groupby(["table", "row"])["value"].count().to_dict()
    three = ("MPT-30B-Instruct", "LongChat-13B (16K)", "Llama-2-70B-chat")
    assert counts == {
        **{("table1", model): 2 for model in three},
        **{("table6", model): 5 for model in three},
        **{("figure10", model): 5 for model in three[:2]},
    }
    pairs = REPOSITORY[REPOSITORY["table"] == "figure10"].groupby("row")["column"].apply(list)
    assert set(map(tuple, pairs)) == {("0", "34", "69", "104", "139")}
    assert set(NUMBERS["source"]) == {"paper", "repository"}
    preset = ROOT / "presets/lost_in_the_middle.yaml"
    models = yaml.safe_load(preset.read_text(encoding="utf-8"))["models"]
    assert set(REPOSITORY["row"]) <= {entry.get("published") for entry in models.values()}
    counts = REPOSITORY["value"] * REPOSITORY["n"].astype(float)
    assert counts.to_list() == pytest.approx(counts.round().to_list(), abs=1e-6)
    # Of 2,655 they would not be: 20 prompts are missing.
    llama = REPOSITORY.query("row == 'Llama-2-70B-chat' and table == 'table6'")
    assert set(llama["n"]) == {2635}
    assert ((llama["value"] * 2655) % 1).between(0.01, 0.99).all()
    differ = {
        (line.row, line.column)
        for line in REPOSITORY.itertuples()
        if (found := printed(NUMBERS, line.table, line.row, line.column, ("paper",))) is not None
        and round(line.value, 3) != found.value
    }
    assert differ == {
        *(("LongChat-13B (16K)", "oracle"), ("MPT-30B-Instruct", "oracle")),
        *(("MPT-30B-Instruct", "closed_book"), ("MPT-30B-Instruct", "19")),
    }
    noted = REPOSITORY[REPOSITORY["note"].str.contains("in Table")]
    assert set(zip(noted["row"], noted["column"], strict=True)) == differ


def test_the_papers_text_prints_the_same_numbers():
    if not PAPER.is_file():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    tables = [f"table{k}" for k in range(1, 8)]
    before = {n: text.split(f"Table {n[5]}: ")[0].rsplit("Table ", 1)[-1] for n in tables}
    numbers = NUMBERS[(NUMBERS["table"] != "text") & (NUMBERS["source"] == "paper")]
    for (table, row), group in numbers.groupby(["table", "row"]):
        (line,) = re.findall(rf"^{re.escape(row)} (\d.*)$", before[table], re.MULTILINE)
        printed = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", line.replace(DEVIATION, ""))]
        scale = 100 if "%" in line else 1
        assert printed == pytest.approx([scale * value for value in group["value"]]), (table, row)
    for printed in ("56.1%", "52.9%", "49.5%", "45.6%", "(55%)", "(88%)", "more than 20%"):
        assert printed in text
