"""The paper's numbers: every one of Tables 1 to 7, and those that its text prints."""

from __future__ import annotations

import re

import pytest
import yaml

from described import printed
from factories import ROOT
from needlework.results import published

NUMBERS = published.load(ROOT / "resources/published/lost_in_the_middle.csv")
PAPER = ROOT.parent / "shared/papers/lost_in_the_middle.txt"
DEVIATION = r"plus-or-minus\pm±"
REPOSITORY = NUMBERS[NUMBERS["source"] == "repository"]


def number(table, row, column):
    return printed(NUMBERS, table, row, column, ("paper",)).value


def test_every_table_is_complete():
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


def test_all_numbers_of_the_repository_are_there():
    """EXPERIMENTS.md has 31: three models' questions, two models' pairs."""
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


def test_the_preset_names_every_model_of_the_repository():
    preset = ROOT / "presets/lost_in_the_middle.yaml"
    models = yaml.safe_load(preset.read_text(encoding="utf-8"))["models"]
    assert set(REPOSITORY["row"]) <= {entry.get("published") for entry in models.values()}


def test_the_repositorys_shares_are_whole_counts():
    counts = REPOSITORY["value"] * REPOSITORY["n"].astype(float)
    assert counts.to_list() == pytest.approx(counts.round().to_list(), abs=1e-6)
    # Of 2,655 they would not be: 20 prompts are missing.
    llama = REPOSITORY.query("row == 'Llama-2-70B-chat' and table == 'table6'")
    assert set(llama["n"]) == {2635}
    assert ((llama["value"] * 2655) % 1).between(0.01, 0.99).all()


def test_the_paper_prints_the_repositorys_shares_but_for_four():
    differ = {
        (line.row, line.column)
        for line in REPOSITORY.itertuples()
        if (found := printed(NUMBERS, line.table, line.row, line.column, ("paper",))) is not None
        and round(line.value, 3) != found.value
    }
    assert differ == {
        ("LongChat-13B (16K)", "oracle"),
        ("MPT-30B-Instruct", "oracle"),
        ("MPT-30B-Instruct", "closed_book"),
        ("MPT-30B-Instruct", "19"),
    }
    noted = REPOSITORY[REPOSITORY["note"].str.contains("in Table")]
    assert set(zip(noted["row"], noted["column"], strict=True)) == differ


def test_chat_models_token_counts_include_more_than_bare_prompts():
    """Closed-book prompts are longer by a chat format's length; MPT's vary no more than bare ones."""
    bare = number("table2", "GPT-3.5-Turbo", "closed_book/mean")
    for row, more in (("MPT-30B", 28.2), ("LongChat-13B (16K)", 40.3)):
        assert number("table2", row, "closed_book/mean") - bare == pytest.approx(more)
    spread = [number("table2", row, "closed_book/stdev") for row in ("MPT-30B", "GPT-3.5-Turbo")]
    assert spread[0] == spread[1]


def test_numbers_chosen_by_eye():
    assert number("table1", "GPT-3.5-Turbo", "closed_book") == 0.561
    assert number("table2", "MPT-30B", "oracle/stdev") == 41.8
    assert number("table3", "LongChat-13B (16K)", "30/max") == 7729
    assert number("table4", "GPT-3.5-Turbo", "75/stdev") == 25.6
    assert number("table6", "GPT-3.5-Turbo", "9") == 0.538
    assert number("text", "GPT-3.5-Turbo", "20_documents/9") == 0.529
    assert number("table7", "GPT-3.5-Turbo (16K)", "29") == 0.637


def test_the_papers_text_prints_the_same_numbers():
    if not PAPER.is_file():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    before = {
        f"table{k}": text[: text.index(f"Table {k}: ")].rsplit("Table ", 1)[-1] for k in range(1, 8)
    }
    numbers = NUMBERS[(NUMBERS["table"] != "text") & (NUMBERS["source"] == "paper")]
    for (table, row), group in numbers.groupby(["table", "row"]):
        (line,) = re.findall(rf"^{re.escape(row)} (\d.*)$", before[table], re.MULTILINE)
        printed = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", line.replace(DEVIATION, ""))]
        scale = 100 if "%" in line else 1
        assert printed == pytest.approx([scale * value for value in group["value"]]), (table, row)
    for printed in ("56.1%", "52.9%", "49.5%", "45.6%", "(55%)", "(88%)", "more than 20%"):
        assert printed in text
