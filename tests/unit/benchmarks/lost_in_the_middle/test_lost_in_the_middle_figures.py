"""Lost in the Middle's figures: of which answers each point is the mean, tests of pairs, what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import factories.lost_in_the_middle
from described import is_mean_of, numbers, results
from factories.lost_in_the_middle import SETTINGS
from needlework.benchmarks.lost_in_the_middle import answers
from needlework.results import published

FIGURES = results("lost_in_the_middle", "figures")

NUMBERS = published.load(
    Path(__file__).parents[4] / "resources" / "published" / "lost_in_the_middle.csv"
)
MODELS = ("gpt-16k", "mpt-instruct", "mpt", "flan-ul2")
QA = "multi_document_qa"
ABLATIONS = {
    "figure15": "unambiguous",
    "figure16": "random_distractors",
    "figure17": "random_order",
}


@pytest.fixture(scope="module")
def scores():
    return factories.lost_in_the_middle.make(MODELS, questions=8, languages=("en", "de"))


@pytest.fixture(scope="module")
def data(scores):
    return {name: numbers(plot, scores, NUMBERS, SETTINGS) for name, plot in FIGURES.items()}


def of(rows, **wanted):
    for factor, value in wanted.items():
        rows = rows[rows[factor] == value]
    return rows


def variant(scores, task, name="main"):
    """The answers of one ablation."""
    rows = answers.with_variant(of(scores, task=task))
    if name == "unambiguous":
        return answers.unambiguous(of(rows, variant="main"))
    return of(rows, variant=name)


def plain(scores, **wanted):
    """The paper's setting of multi-document QA."""
    mine = of(scores, task=QA, lang="en", query_aware=False)
    return of(mine, distractors="retrieved", order="relevance", **wanted)


ASKED = "model == 'mpt' and lang == 'en' and task == 'multi_document_qa' and n_documents == 20"
AT = "gold_index == 14"
PLAIN = "query_aware == False and order == 'relevance' and distractors == 'retrieved'"


@pytest.mark.parametrize(
    ("name", "labels", "answers"),
    [
        (
            "figure1",
            {"task": "closed_book"},
            "model == 'mpt' and lang == 'en' and task == 'closed_book'",
        ),
        ("figure5", {"n_documents": 20, "position": 15}, f"{ASKED} and {AT} and {PLAIN}"),
        (
            "figure10",
            {"n_documents": 140, "position": 105},
            "model == 'mpt' and keys == 'uuid' and n_documents == 140 and gold_index == 104 "
            "and query_aware == False",
        ),
        (
            "figure12",
            {"variant": "query_aware", "n_documents": 20, "position": 15},
            f"{ASKED} and {AT} and query_aware == True",
        ),
        (
            "figure15",
            {"variant": "unambiguous", "n_documents": 20, "position": 15},
            f"{ASKED} and {AT} and {PLAIN} and unambiguous == True",
        ),
        (
            "figure16",
            {"variant": "random_distractors", "position": 15},
            f"{ASKED} and {AT} and distractors == 'random'",
        ),
        (
            "figure17",
            {"variant": "random_order", "position": 15},
            f"{ASKED} and {AT} and order == 'random'",
        ),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, answers, scores, data):
    is_mean_of(data[name], {"model": "mpt", **labels}, scores, answers)


def test_figure1_takes_the_nearest_size(scores):
    some = scores[(scores["n_documents"] != 20)]
    assert set(
        of(numbers(FIGURES["figure1"], some, NUMBERS, SETTINGS), task=QA)["n_documents"]
    ) == {10}


def test_figure1_has_no_example_where_it_was_run(scores):
    names = SETTINGS | {"published": {"gpt-16k": "GPT-3.5-Turbo"}}
    assert of(numbers(FIGURES["figure1"], scores, NUMBERS, names), source="published").empty


def test_figure6_is_the_mean_of_the_positions_means(scores, data):
    row = of(data["figure6"], model="mpt-instruct", n_documents=10)
    mine = plain(scores, model="mpt-instruct", n_documents=10)
    assert row["value"].item() == pytest.approx(mine.groupby("gold_index")["value"].mean().mean())
    assert row["n"].item() == 24
    assert row["published"].item() == pytest.approx((0.602 + 0.562 + 0.597) / 3)
    assert row["comparison"].item() in ("covers", "above", "below")
    claude = of(data["figure6"], model="Claude-1.3", n_documents=30)
    assert claude["value"].item() == pytest.approx(0.5674, abs=1e-4)
    other = scores[~((scores["task"] == QA) & (scores["gold_index"] == 4))]
    row = of(numbers(FIGURES["figure6"], other, NUMBERS, SETTINGS), model="gpt-16k", n_documents=10)
    assert row["comparison"].item() == "cannot tell: other positions"


def test_figure10_has_our_lowest_position_beside_the_papers(scores, data):
    assert of(data["figure10"], source="published", n_documents=300).empty
    (row,) = of(data["figure10"], variant="lowest").itertuples()
    mine = of(scores, task="key_value", keys="uuid", query_aware=False, model="gpt-16k")
    mine = of(mine, n_documents=300)
    means = mine.groupby("gold_index")["value"].mean()
    assert (row.model, row.source, row.n_documents) == ("gpt-16k", "ours", 300)
    assert (row.value, row.gold_index) == (means.min(), means.idxmin())
    assert row.position == row.gold_index + 1 and row.n == 4
    assert (row.published, row.published_n) == (0.456, 500)
    assert row.comparison in ("covers", "above", "below")
    # The point is one of the curve's: it is counted once.
    lost = scores.copy()
    lost.loc[mine.index[:2], "finish_reason"] = "skipped"
    again = numbers(FIGURES["figure10"], lost, NUMBERS, SETTINGS)
    assert of(again, variant="lowest")["comparison"].item() == "cannot tell: 2 answers are missing"
    fewer = scores[(scores["n_documents"] != 300) | (scores["gold_index"] != 149)]
    again = numbers(FIGURES["figure10"], fewer, NUMBERS, SETTINGS)
    assert of(again, variant="lowest")["comparison"].item() == "cannot tell: other positions"


def test_repository_models_have_dashed_lines_only_where_run(scores, data):
    names = SETTINGS | {"published": {"mpt": "Llama-2-70B-chat"}}
    for name in ("figure1", "figure5", "figure6"):
        mine = of(
            numbers(FIGURES[name], scores, NUMBERS, names), model="mpt", task=QA, n_documents=20
        )
        assert mine["published"].between(0.5, 0.7).all()
        assert set(mine["published_source"]) == {"repository"}
        assert "Llama-2-70B-chat" not in set(data[name]["model"])
    row = of(numbers(FIGURES["figure6"], scores, NUMBERS, names), model="mpt", n_documents=20)
    assert row["published"].item() == pytest.approx(0.5866, abs=1e-4)


def test_random_distractors_may_have_any_order(scores, data):
    rows = scores.assign(
        order=scores["order"].where(scores["distractors"] != "random", other="random")
    )
    again = numbers(FIGURES["figure16"], rows, NUMBERS, SETTINGS)
    assert again.to_csv() == data["figure16"].to_csv()
    assert (
        numbers(FIGURES["figure17"], rows, NUMBERS, SETTINGS).to_csv() == data["figure17"].to_csv()
    )


def test_figure14_has_one_recall_whatever_the_models(scores, data):
    figure = data["figure14"]
    recall = of(figure, task="recall")
    assert list(recall["n_documents"]) == [5, 10, 20, 30, 40, 50]
    asked = of(scores, task="open_domain", n_documents=30)
    assert of(recall, n_documents=30)["n"].item() == 8
    mine = of(asked, model="mpt")["answer_present"].astype(float)
    assert of(recall, n_documents=30)["value"].item() == pytest.approx(mine.mean())
    reader = of(figure, model="mpt", n_documents=30)
    assert reader["value"].item() == pytest.approx(of(asked, model="mpt")["value"].mean())
    # Recall is of the prompts: who skipped them does not matter.
    lost = scores.assign(finish_reason="skipped")
    again = numbers(FIGURES["figure14"], lost, NUMBERS, SETTINGS)
    assert list(of(again, task="recall")["value"]) == list(recall["value"])


def test_figure14_has_the_gain_above_20_documents(scores):
    """By hand: of 8 questions, 5 are right with 20 documents, 6 with 50, 4 with both; 1 is lost."""
    names = SETTINGS | {"published": {"mpt": "GPT-3.5-Turbo"}}
    rows = of(scores, task="open_domain", model="mpt").copy()
    for k, right in ((20, "11111000"), (50, "11110110")):
        rows.loc[rows["n_documents"] == k, "value"] = [float(one) for one in right]
    figure = numbers(FIGURES["figure14"], rows, NUMBERS, names)
    gain = of(figure, task="gain", source="ours")
    assert (gain["model"].item(), gain["n_documents"].item()) == ("mpt", 50)
    assert gain["value"].item() == pytest.approx(1 / 8)
    counts = ["n_both", "n_first_only", "n_second_only"]
    assert gain[counts].to_numpy().tolist() == [[8, 1, 2]] and gain["p_mcnemar"].item() == 1.0
    assert gain["published"].item() == 0.015
    assert gain["comparison"].item().startswith("cannot tell: the paper's number is rounded")
    assert list(of(figure, task="gain", source="published")["model"]) == ["Claude-1.3"]
    rows.loc[of(rows, n_documents=50).index[-2], "finish_reason"] = "error"
    gain = of(numbers(FIGURES["figure14"], rows, NUMBERS, names), task="gain", source="ours")
    assert gain["value"].item() == pytest.approx(0) and gain["n_error"].item() == 1
    assert gain[counts].to_numpy().tolist() == [[7, 1, 1]]
    # Not drawn: it is a difference.
    few = numbers(FIGURES["figure14"], rows[rows["n_documents"] <= 20], NUMBERS, names)
    assert of(few, task="gain").empty


PAIRED = ["n_both", "n_first_only", "n_second_only"]


@pytest.mark.parametrize("name", ["figure12", "figure13"])
def test_mcnemar_of_an_ablation_by_hand(name, scores):
    """Eight questions at one position: 1 right without the change alone, 6 with it alone."""
    rows = scores[scores["model"].isin(["mpt", "mpt-instruct"])].copy()
    place = {"lang": "en", "n_documents": 20, "gold_index": 14, "task": QA}
    changed = {"model": "mpt-instruct"} if name == "figure13" else {"model": "mpt"}
    changes = {"figure12": "query_aware", "figure13": "main", **ABLATIONS}[name]
    second = of(variant(rows, QA, changes), **place, **changed)
    first = of(variant(rows, QA), **place, model="mpt")
    for side, right in ((first, "10000001"), (second, "01111111")):
        # Matched by question, not by row.
        for i, one in enumerate(right):
            rows.loc[of(side, example_id=f"en-000{i}").index, "value"] = float(one)
    rows = rows.sample(frac=1, random_state=1)

    def tested(rows):
        figure = numbers(FIGURES[name], rows, NUMBERS, SETTINGS)
        if name == "figure13":
            mine = figure["role"] == "instruction-tuned"
        else:
            mine = (figure["variant"] == changes) & (figure["model"] == "mpt")
        assert (
            figure[~mine & (figure["n"] > 0) & (figure["variant"] == "main")][PAIRED]
            .isna()
            .all(axis=None)
        )
        (row,) = of(figure[mine], n_documents=20, gold_index=14).to_dict("records")
        return [row[column] for column in PAIRED], row["p_mcnemar"]

    # Two-sided, of 7 that differ: 2 (1 + 7) / 2^7.
    assert tested(rows) == ([8, 1, 6], pytest.approx(0.125))
    # What one of the two does not answer leaves the pair out.
    rows.loc[of(first, example_id="en-0000").index, "finish_reason"] = "skipped"
    rows.loc[of(second, example_id="en-0003").index, "finish_reason"] = "error"
    assert tested(rows) == ([6, 0, 5], pytest.approx(0.0625))
    rows.loc[second.index, "finish_reason"] = "skipped"
    counts, p = tested(rows)
    assert counts == [0, 0, 0] and p != p


def test_figure18_is_of_the_questions_that_all_answered(scores):
    rows = scores.copy()
    mine = plain(rows, model="mpt", n_documents=20)
    rows.loc[mine[mine["example_id"] > "en-0004"].index, "finish_reason"] = "error"
    one = plain(rows, model="gpt-16k", n_documents=20, gold_index=9, example_id="en-0000").index
    rows.loc[one, "finish_reason"] = "error"
    rows.loc[plain(rows, model="flan-ul2", n_documents=20).index, "finish_reason"] = "skipped"
    figure = of(numbers(FIGURES["figure18"], rows, NUMBERS, SETTINGS), n_documents=20)
    left_out = of(figure, model="flan-ul2")
    assert list(left_out["absent"]) == ["answered 0 of 40 prompts"]
    figure = of(figure, absent="")
    assert set(figure["model"]) == {"gpt-16k", "mpt-instruct", "mpt"}
    assert set(figure["n"]) == {4}
    kept = plain(rows, model="gpt-16k", n_documents=20, gold_index=0)
    kept = kept[kept["example_id"].isin([f"en-000{i}" for i in (1, 2, 3, 4)])]
    row = of(figure, model="gpt-16k", gold_index=0)
    assert row["value"].item() == pytest.approx(kept["value"].mean())
    assert figure["published"].isna().all()


def losing(scores, **wanted):
    """The scores, with these prompts of multi-document QA skipped."""
    rows = scores.copy()
    rows.loc[plain(rows, **wanted).index, "finish_reason"] = "skipped"
    return rows


def shown18(rows):
    made = numbers(FIGURES["figure18"], rows, NUMBERS, SETTINGS)
    return made


def test_figure18_leaves_out_a_model_with_few_answers(scores, data):
    rows = losing(scores, model="mpt", n_documents=30)
    one = plain(rows, model="mpt", n_documents=30, gold_index=9, example_id="en-0003").index
    rows.loc[one, "finish_reason"] = "stop"
    made = shown18(rows)
    row = of(made, model="mpt", n_documents=30)
    assert row["absent"].to_list() == ["answered 1 of 56 prompts"]
    assert row["value"].isna().all() and row[["n", "n_questions"]].to_numpy().tolist() == [[0, 0]]
    # All others keep all their questions.
    others = made[made["model"] != "mpt"]
    before = data["figure18"][data["figure18"]["model"] != "mpt"]
    assert others.to_csv(index=False) == before.to_csv(index=False)
    assert "less than half of a panel's prompts" in " ".join(FIGURES["figure18"].caption.split())


def test_figure18_keeps_a_panel_where_nothing_is_shared(scores):
    """Each of two models answered another half of the questions."""
    rows = losing(scores, model="mpt", n_documents=30)
    kept = plain(rows, model="mpt", n_documents=30)
    rows.loc[kept[kept["example_id"] < "en-0004"].index, "finish_reason"] = "stop"
    other = plain(rows, model="gpt-16k", n_documents=30)
    rows.loc[other[other["example_id"] < "en-0004"].index, "finish_reason"] = "error"
    made = shown18(rows)
    panel = of(made, n_documents=30)
    assert set(panel["model"]) == set(MODELS) and len(panel) == len(MODELS)
    assert set(panel["absent"]) == {"no question that all models answered at every position"}
    assert set(panel["n"]) == {0} and panel["value"].isna().all()
    assert set(of(made, n_documents=10)["absent"]) == {""}


@pytest.mark.parametrize("sizes", [(30,), (10, 20, 30)])
def test_figure18_of_models_that_answered_next_to_nothing_is_drawn(scores, sizes):
    rows = scores[scores["n_documents"].isin(sizes)].assign(finish_reason="skipped")
    made = shown18(rows)
    assert len(made) == len(MODELS) * len(sizes) and set(made["n"]) == {0}


def test_a_model_that_samples_has_no_comparison_in_figures(scores):
    sampled = "temperature 0.7, top-k 50, top-p 1"
    settings = SETTINGS | {"decoding": {"mpt-instruct": sampled, "gpt-16k": "greedy"}}
    reason = f"cannot tell: decoding is {sampled}, in the paper greedy"
    for name in ("figure1", "figure5", "figure6", "figure10", "figure12", "figure16"):
        figure = of(numbers(FIGURES[name], scores, NUMBERS, settings), source="ours")
        figure = figure[figure["published"].notna()]
        assert set(of(figure, model="mpt-instruct")["comparison"]) <= {reason}, name
        greedy = set(of(figure, model="gpt-16k")["comparison"])
        assert greedy <= {"covers", "above", "below"}, name
        # The paper's other models stand beside a run that samples too.
        if name == "figure5":
            assert "Claude-1.3" in set(numbers(FIGURES[name], scores, NUMBERS, settings)["model"])


def test_other_languages_are_in_no_figure(scores, data):
    english = scores[scores["lang"] == "en"]
    for name in ("figure5", "figure6", "figure10", "figure14", "figure18"):
        again = numbers(FIGURES[name], english, NUMBERS, SETTINGS)
        assert again.to_csv() == data[name].to_csv(), name


def test_other_data_is_not_compared(scores):
    other = SETTINGS | {"setup": {"corpus": "sample_questions"}}
    for name in ("figure1", "figure5", "figure6"):
        figure = numbers(FIGURES[name], scores, NUMBERS, other)
        reason = "cannot tell: corpus is sample_questions, in the paper nq_open"
        assert set(of(figure, model="gpt-16k")["comparison"]) == {reason}
        # The paper's other models stand beside its own questions only.
        assert set(figure["source"]) == {"ours"}


def test_other_indices_and_sizes_are_drawn():
    """A run's own settings: as in a small demo."""
    made = factories.lost_in_the_middle.make(("qwen",), questions=4)
    small = made[made["n_documents"].isin([0, 1, 10])].assign(unambiguous=None)
    small = small.assign(n_documents=small["n_documents"].replace(10, 7))
    small["gold_index"] = small["gold_index"].replace(9, 6)
    data = numbers(FIGURES["figure5"], small, NUMBERS, SETTINGS)
    assert of(data, n_documents=7)["published"].isna().all()


def test_variants_are_disjoint(scores):
    """No answer is in two of the ablations, or in one and in the paper's own setting."""
    found = [
        set(variant(scores, QA, name).index)
        for name in ("main", "query_aware", "random_distractors", "random_order")
    ]
    assert sum(map(len, found)) == len(set().union(*found)) == len(of(scores, task=QA))
    for name, changed in (
        ("query_aware", {"query_aware": True}),
        ("random_distractors", {"distractors": "random", "query_aware": False}),
        ("random_order", {"order": "random", "distractors": "retrieved"}),
    ):
        asked = of(scores, task=QA, **changed)
        assert len(asked) and set(variant(scores, QA, name).index) == set(asked.index), name
