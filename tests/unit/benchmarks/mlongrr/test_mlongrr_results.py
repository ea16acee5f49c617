"""mLongRR's tables and figures: cells by hand, tests of pairs, and verdicts beside the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

import factories.mlongrr
from factories.mlongrr import SETTINGS, prompt, row
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.mlongrr.factors import ABSENT
from needlework.results import published
from needlework.results.drawing import NothingToDraw, draw
from needlework.results.result import Context
from needlework.results.written_tables import lay_out

MLONGRR = load_benchmark("mlongrr")
NUMBERS = published.load(Path(__file__).parents[4] / "resources/published/mlongrr.csv")


def made(name: str, rows: list[dict[str, Any]] | pd.DataFrame, **run: Any) -> pd.DataFrame:
    context = Context(NUMBERS, {**SETTINGS, **run})
    return MLONGRR.by_name[name](pd.DataFrame(rows), context)


def cell(table: pd.DataFrame, **labels: Any) -> pd.Series:
    for column, value in labels.items():
        table = table[table[column] == value]
    assert len(table) == 1, (labels, table)
    return table.iloc[0]


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    return factories.mlongrr.make()


def test_a_cell_is_the_mean_of_its_answers() -> None:
    rows = [row(depth=depth, value=float(depth > 25)) for depth in (0, 25, 50, 75, 100)]
    rows += [row(lang="so", value=0.0), row(model="gemini", value=1.0)]
    table = made("accuracy", rows)
    here = {"model": "gpt-4", "n_needles": 1, "question": "number", "metric": "strict"}
    assert cell(table, **here, lang="en")[["value", "n"]].tolist() == [0.6, 5]
    assert cell(table, **here, lang="all")[["value", "n"]].tolist() == [0.5, 6]


@pytest.mark.parametrize(
    "changes",
    [{"template": "prompt2"}, {"haystack": "sample_books"}, {"task": ABSENT, "depth": None}],
)
def test_other_prompts_texts_and_absent_needles_are_in_no_cell(changes: dict) -> None:
    table = made("figure4", [row(), row(value=0.0, index=1, **changes)])
    assert table[["value", "n"]].values.tolist() == [[1.0, 1]]


def test_the_abstracts_numbers_stand_beside_its_best_models_alone(scores: pd.DataFrame) -> None:
    table = made("accuracy", scores)
    told = table[table["published"].notna()]
    assert set(told["model"]) == {"gpt-4o", "gemini"}
    for metric in ("strict", "released"):
        here = {"question": "number", "metric": metric, "model": "gpt-4o"}
        values = {
            (lang, n): cell(told, lang=lang, n_needles=n, **here)["published"]
            for lang in ("en", "so")
            for n in (1, 3)
        }
        assert values == {("en", 1): 0.96, ("so", 1): 0.36, ("en", 3): 0.4, ("so", 3): 0.0}
    for _, found in told.iterrows():
        inside = found["ci_low"] <= found["published"] <= found["ci_high"]
        assert (found["comparison"] == "covers") == inside


def test_other_lengths_or_data_cannot_be_told(scores: pd.DataFrame) -> None:
    short = made("figure3", scores[scores["length"] < 64000])
    assert "other lengths" in cell(short, model="gpt-4o", lang="en", n_needles=1)["comparison"]
    own = made("figure3", scores, setup={**SETTINGS["setup"], "data": "sample"})
    assert "data is sample" in cell(own, model="gpt-4o", lang="en", n_needles=1)["comparison"]


def test_a_users_tables_are_not_compared(scores: pd.DataFrame) -> None:
    table = made("figure3", scores, instructions=["en"])
    for lang, told in (("en", True), ("so", False)):
        found = cell(table, model="gpt-4o", lang=lang, n_needles=1)["comparison"]
        assert (found == "cannot tell: instructions of the user's own") == told


# What prompts alone say


def test_tokens_a_word_equal_the_papers_rounded_or_cut() -> None:
    """Table 2 prints GPT-4's column cut (so: 2.37535 as 2.37) and the others rounded (2.35605 as 2.36)."""
    rows = [
        prompt("cl100k_base", lang="so", fertility=2.375354),
        prompt("llama3", lang="so", fertility=2.356048),
        prompt("o200k_base", lang="so", fertility=1.8),
        prompt("words", lang="so", fertility=1.0),
    ]
    assert dict(
        zip(
            *made("table2", rows)[lambda d: d["language"] == "Somali"][
                ["tokenizer", "comparison"]
            ].values.T,
            strict=True,
        )
    ) == {
        "cl100k_base": "equals",
        "llama3": "equals",
        "o200k_base": "differs",
        "words": "cannot tell: no published number",
    }
    five = made("fertility", rows)
    five = five[five["language"] == "Somali"].set_index("tokenizer")["comparison"]
    assert five["cl100k_base"] == five["llama3"] == "equals"
    merged = made("table2", rows, other_tokenizers={"llama3": "ignore_merges is not false"})
    assert cell(merged, tokenizer="llama3", language="Somali")["comparison"] == (
        "cannot tell: ignore_merges is not false"
    )


def test_the_average_is_compared_over_the_papers_five_languages() -> None:
    rows = [
        prompt("o200k_base", lang=lang, fertility=f, index=i)
        for i, (lang, f) in enumerate(factories.mlongrr.FERTILITY.items())
    ]
    azeri = prompt("o200k_base", lang="az", fertility=3.0, index=9)
    found = cell(made("table2", [*rows, rows[0], azeri]), language="Average")
    assert found[["value", "published"]].tolist() == pytest.approx([1.62, 1.48])
    assert "other languages" in cell(made("table2", rows[:4]), language="Average")["comparison"]


def test_tokens_of_articles_whose_end_is_unknown_cannot_be_compared() -> None:
    rows = [prompt("o200k_base", lang=lang, fertility=1.5) for lang in factories.mlongrr.LANGS]
    table = made("table2", rows)
    assert table["published"].notna().all()
    unknown = table["comparison"] == "cannot tell: where the authors' 50 articles end is unknown"
    assert dict(zip(table["language"], unknown, strict=True)) == {
        **{"English": True, "Vietnamese": True, "Indonesian": True, "Average": True},
        **{"Swahili": False, "Somali": False},
    }


def test_construction_equals_the_authors_log() -> None:
    released = {**SETTINGS["setup"], "source": "released"}
    rows = [prompt("o200k_base", depth=25), prompt("o200k_base", depth=100, sentences_before=33)]
    rows[0]["haystack_tokens"] = 1700
    table = made("construction", rows, setup=released)
    said = table.set_index("what")[["sentences", "published_sentences", "comparison", "tokens"]].T
    assert said["sentences"].tolist()[:3] == [33, 33, "equals"]
    assert said["sentences_before_25"].tolist()[:3] == [8, 8, "equals"]
    # Of the haystack without a needle inside.
    assert said["haystack_tokens"]["tokens"] == 1800
    assert (
        said["haystack_tokens"]["comparison"]
        == "cannot tell: the log's tokens are sums over articles"
    )
    assert "sentences_before_100" not in said
    other = made("construction", [prompt("cl100k_base", depth=25)], setup=released)
    assert dict(zip(other["what"], other["comparison"], strict=True)) == {
        "haystack_tokens": "cannot tell: another tokenizer than GPT-4o's; "
        "the log's tokens are sums over articles",
        "sentences": "equals",
        "sentences_before_25": "equals",
    }


def test_chance_is_drawn_with_several_needles_alone(scores: pd.DataFrame) -> None:
    table = made("figure3", scores)
    assert table.groupby("n_needles")["chance"].first().dropna().to_dict() == {2: 0.5, 3: 1 / 3}
    (figure,) = draw(MLONGRR.by_name["figure3"].shown, table, MLONGRR.shown.called, SETTINGS)
    lines = [
        {float(x) for x in line.get_xdata()}
        for ax in figure.axes
        for line in ax.lines
        if line.get_label() == "a guess among the needles"
    ]
    assert lines == [{0.5}, {1 / 3}]


def small_print(name: str, table: pd.DataFrame) -> str:
    figures = draw(MLONGRR.by_name[name].shown, table, MLONGRR.shown.called, SETTINGS)
    return " ".join(text.get_text() for figure in figures for text in figure.findobj(Text)).replace(
        "\n", " "
    )


def test_small_print_has_the_chances_of_what_is_drawn(scores: pd.DataFrame) -> None:
    one, two, three = (scores[scores["n_needles"] == n] for n in (1, 2, 3))
    text = small_print("figure7", made("figure7", pd.concat([one, three])))
    assert "A guess among the needles is right in 33% of those with three needles." in text
    text = small_print("figure4", made("figure4", pd.concat([two, three])))
    assert "in 50% of those with two needles and 33% of those with three needles." in text
    assert "guess" not in small_print("figure5", made("figure5", one))
    assert "otted" not in MLONGRR.by_name["figure3"].caption


def test_unfilled_prompts_are_counted_and_marked(scores: pd.DataFrame) -> None:
    rows = scores[scores["model"] == "gpt-4o"]
    short = rows.assign(exhausted=rows["length"] == 64000)
    table = made("figure11", short)
    # Five languages, and 5, 4 and 4 depths.
    assert table.groupby("length")["n_exhausted"].sum().tolist() == [0, 0, 0, 0, 5 * (5 + 4 + 4)]
    assert "text ran out before" in small_print("figure11", table)
    assert "text ran out" not in small_print("figure11", made("figure11", rows))
    for data, marked in ((short, True), (rows, False)):
        text = lay_out(made("accuracy", data), MLONGRR.by_name["accuracy"].shown, "accuracy", "")
        assert ("the text ran out before it" in text) == marked


def test_figures_7_to_11_are_of_the_papers_models(scores: pd.DataFrame) -> None:
    shown = {i: set(made(f"figure{i}", scores)["model"]) for i in range(7, 12)}
    assert shown == {7: {"gpt-4"}, 8: {"gemini"}, 9: {"claude"}, 10: {"llama-3"}, 11: {"gpt-4o"}}
    assert made("details", scores).empty
    assert set(made("details", scores, published={})["model"]) == set(SETTINGS["models"])


@pytest.mark.parametrize("name", [r.name for r in MLONGRR.results if r.needs == "scores"])
def test_every_result_is_shown_or_says_why_not(name: str, scores: pd.DataFrame) -> None:
    scores = scores[scores["lang"].isin(["en", "so"]) & scores["length"].isin([2000, 64000])]
    one = scores[(scores["n_needles"] == 1) & (scores["metric"] == "strict")]
    more = [one.assign(template="translated"), one.assign(template="released_gpt4")]
    more += [one.assign(haystack="paul_graham_essays"), one.assign(task=ABSENT, chance=None)]
    result = MLONGRR.by_name[name]
    table = made(name, pd.concat([scores, *more]))
    if result.kind == "tables":
        text = lay_out(table, result.shown, name, result.title)
        assert "nan" not in text
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 0
    elif name == "details":
        with pytest.raises(NothingToDraw, match="own figure"):
            draw(result.shown, table, MLONGRR.shown.called, SETTINGS)
    else:
        assert draw(result.shown, table, MLONGRR.shown.called, SETTINGS)


def test_labels_keep_the_names_of_models() -> None:
    labels = {name: result.label for name, result in MLONGRR.by_name.items()}
    assert labels["figure7"].startswith("Figure 7: GPT-4 by depth")
    assert labels["figure9"].startswith("Figure 9: Claude-3 by depth")
    assert labels["table2"] == "Table 2: tokens per word"
