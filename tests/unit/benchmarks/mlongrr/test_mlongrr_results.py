"""mLongRR's tables and figures: what their numbers are, what stands beside the paper's, what is drawn."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import pytest

import factories.mlongrr
import golden_runs
from described import cell
from factories.mlongrr import SETTINGS, prompt, row
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.mlongrr.factors import ABSENT
from needlework.results.drawing import NothingToDraw, draw
from needlework.results.written_tables import lay_out

MLONGRR = load_benchmark("mlongrr")
golden = partial(golden_runs.table, "mlongrr")


def made(name: str, rows: list[dict[str, Any]] | pd.DataFrame, **run: Any) -> pd.DataFrame:
    return golden_runs.changed("mlongrr", name, pd.DataFrame(rows), **{**SETTINGS, **run})


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    rows = factories.mlongrr.make()
    return rows[rows["model"].isin(["gpt-4o", "gemini", "claude"])]


def test_a_cell_is_the_mean_of_its_answers() -> None:
    rows = [row(depth=depth, value=float(depth > 25)) for depth in (0, 25, 50, 75, 100)]
    rows += [row(lang="so", value=0.0), row(model="gemini", value=1.0)]
    # Other prompts, texts and questions without a needle are in no cell.
    others = ({"template": "prompt2"}, {"haystack": "sample_books"}, {"task": ABSENT})
    rows += [row(value=1.0, index=1, **other) for other in others]
    table = made("accuracy", rows)
    here = {"model": "gpt-4", "n_needles": 1, "question": "number", "metric": "strict"}
    assert cell(table, **here, lang="en")[["value", "n"]].tolist() == [0.6, 5]
    assert cell(table, **here, lang="all")[["value", "n"]].tolist() == [0.5, 6]
    assert made("figure4", rows).query("model == 'gpt-4'")["n"].tolist() == [2, 1, 1, 1, 1]


def test_the_abstracts_numbers_stand_beside_its_best_models_alone(scores: pd.DataFrame) -> None:
    told = made("accuracy", scores)
    told = told[told["published"].notna()]
    assert set(told["model"]) == {"gpt-4o", "gemini"}
    for metric in ("strict", "released"):
        here = {"question": "number", "metric": metric, "model": "gpt-4o"}
        values = {
            (lang, n): cell(told, lang=lang, n_needles=n, **here)["published"]
            for lang in ("en", "so")
            for n in (1, 3)
        }
        assert values == {("en", 1): 0.96, ("so", 1): 0.36, ("en", 3): 0.4, ("so", 3): 0.0}
    inside = told["published"].between(told["ci_low"], told["ci_high"])
    assert inside.equals(told["comparison"] == "covers") and len(inside) > 4


def test_other_prompts_or_texts_cannot_be_compared(scores: pd.DataFrame) -> None:
    def said(rows: pd.DataFrame, lang: str = "en", **run: Any) -> str:
        table = made("figure3", rows, **run)
        return cell(table, model="gpt-4o", lang=lang, n_needles=1)["comparison"]

    assert "other lengths" in said(scores[scores["length"] < 64000])
    assert "other depths" in said(scores[scores["depth"] > 0])
    assert "data is sample" in said(scores, setup={**SETTINGS["setup"], "data": "sample"})
    own = "cannot tell: instructions of the user's own"
    assert said(scores, instructions=["en"]) == own != said(scores, "so", instructions=["en"])


def test_tokens_a_word_equal_the_papers_rounded_or_cut() -> None:
    """Table 2 prints GPT-4's column cut (so: 2.37535 as 2.37) and the others rounded (2.35605 as 2.36)."""
    fertility = {"cl100k_base": 2.375354, "llama3": 2.356048, "o200k_base": 1.8, "words": 1.0}
    rows = [prompt(name, lang="so", fertility=value) for name, value in fertility.items()]

    def said(name: str, **run: Any) -> dict[str, str]:
        table = made(name, rows, **run).query("language == 'Somali'")
        return table.set_index("tokenizer")["comparison"].to_dict()

    equal = {"cl100k_base": "equals", "llama3": "equals"}
    unknown = "cannot tell: no published number"
    assert said("table2") == {**equal, "o200k_base": "differs", "words": unknown}
    assert said("fertility").items() >= equal.items()
    merged = {"llama3": "ignore_merges is not false"}
    assert said("table2", other_tokenizers=merged)["llama3"] == f"cannot tell: {merged['llama3']}"


def test_the_average_is_compared_over_the_papers_five_languages() -> None:
    rows = [
        prompt("o200k_base", lang=lang, fertility=f, index=i)
        for i, (lang, f) in enumerate(factories.mlongrr.FERTILITY.items())
    ]
    azeri = prompt("o200k_base", lang="az", fertility=3.0, index=9)
    found = cell(made("table2", [*rows, rows[0], azeri]), language="Average")
    assert found[["value", "published"]].tolist() == pytest.approx([1.62, 1.48])
    assert "other languages" in cell(made("table2", rows[:4]), language="Average")["comparison"]
    # The articles that the authors counted are known of two languages.
    said = made("table2", rows).set_index("language")["comparison"]
    unknown = said == "cannot tell: where the authors' 50 articles end is unknown"
    assert set(said.index[~unknown]) == {"Swahili", "Somali"}
    assert set(said[~unknown]) == {"differs"}


def test_real_depths_are_of_prompts_with_a_needle() -> None:
    rows = [prompt("words", index=i, real_depth=depth) for i, depth in enumerate((20.0, 30.0))]
    table = made("real_depth", [*rows, prompt("words", index=2, task=ABSENT, real_depth=90.0)])
    assert table[["value", "n", "least", "most"]].to_numpy().tolist() == [[25, 2, 20, 30]]


def test_construction_equals_the_authors_log() -> None:
    released = {**SETTINGS["setup"], "source": "released"}
    rows = [prompt("o200k_base", depth=25), prompt("o200k_base", depth=100, sentences_before=33)]
    rows[0]["haystack_tokens"] = 1700
    said = made("construction", rows, setup=released).set_index("what").T
    columns = ["sentences", "published_sentences", "comparison"]
    assert said.loc[columns, "sentences"].tolist() == [33, 33, "equals"]
    assert said.loc[columns, "sentences_before_25"].tolist() == [8, 8, "equals"]
    # Of the haystack without a needle inside.
    sums = "the log's tokens are sums over articles"
    tokens = said["haystack_tokens"]
    assert (tokens["tokens"], tokens["comparison"]) == (1800, f"cannot tell: {sums}")
    assert "sentences_before_100" not in said
    other = made("construction", [prompt("cl100k_base", depth=25)], setup=released)
    assert dict(zip(other["what"], other["comparison"], strict=True)) == {
        "haystack_tokens": f"cannot tell: another tokenizer than GPT-4o's; {sums}",
        "sentences": "equals",
        "sentences_before_25": "equals",
    }


def drawn(name: str, table: pd.DataFrame) -> Any:
    """Of ten times as many answers: golden cells have too few to be drawn."""
    table = table.assign(n=table["n"] * 10) if "n" in table else table
    return draw(MLONGRR.by_name[name].shown, table, MLONGRR.called, SETTINGS)


def test_chance_is_drawn_and_noted_with_several_needles_alone() -> None:
    table = golden("figure3")
    assert table.groupby("n_needles")["chance"].first().dropna().to_dict() == {2: 0.5, 3: 1 / 3}
    (figure,) = drawn("figure3", table)
    lines = [
        {float(x) for x in line.get_xdata()}
        for ax in figure.axes
        for line in ax.lines
        if line.get_label() == "a guess among the needles"
    ]
    assert lines == [{0.5}, {1 / 3}]
    note = MLONGRR.by_name["figure4"].shown.note
    said, rows = "A guess among the needles is right in", golden("figure4")
    three = "33% of prompts with three needles."
    assert note(rows[rows["n_needles"] != 2], SETTINGS) == f"{said} {three}"
    assert note(rows, SETTINGS) == f"{said} 50% of prompts with two needles and {three}"
    assert note(rows[rows["n_needles"] == 1], SETTINGS) == ""


def test_unfilled_prompts_are_marked() -> None:
    full = golden_runs.scores("mlongrr").assign(exhausted=False)
    filled = golden_runs.changed("mlongrr", "accuracy", full)
    for table, marked in ((golden("accuracy"), True), (filled, False)):
        text = lay_out(table, MLONGRR.by_name["accuracy"].shown, "accuracy", "")
        assert ("because the text ran out" in text) == marked


def test_models_of_the_paper_have_figures_of_their_own(scores: pd.DataFrame) -> None:
    own = [set(golden(f"figure{i}")["model"]) for i in range(7, 12)]
    assert own == [{"gpt-4"}, {"gemini"}, {"claude"}, {"llama-3"}, {"gpt-4o"}]
    assert set(golden("details")["model"]) == {"mine"}
    table = made("details", scores)
    assert table.empty
    with pytest.raises(NothingToDraw, match="own figure"):
        drawn("details", table)
    assert MLONGRR.by_name["figure7"].label.startswith("Figure 7: GPT-4 by depth")
    assert MLONGRR.by_name["table2"].label == "Table 2: tokens per word"
