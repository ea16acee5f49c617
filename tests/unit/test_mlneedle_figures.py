"""MLNeedle's figures: their numbers by hand, every picture drawn, the same bytes each time."""

from __future__ import annotations

import re
from pathlib import Path

import mlneedle_scores
import numpy as np
import pandas as pd
import pytest
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from mlneedle_scores import SETTINGS

from needlework import published
from needlework.benchmarks.mlneedle.figures import FIGURES
from needlework.figures import style
from needlework.figures.save import save_figure

NUMBERS = published.load(Path(__file__).parents[2] / "resources" / "published" / "mlneedle.csv")
MODELS = ("mistral", "mistral-greedy", "llama3")


@pytest.fixture(scope="module")
def scores():
    return mlneedle_scores.make(MODELS, questions=2)


@pytest.fixture(scope="module")
def data(scores):
    return {name: plot.data(scores, NUMBERS, SETTINGS) for name, plot in FIGURES.items()}


def of(scores, **factors):
    for factor, value in factors.items():
        scores = scores[scores[factor] == value]
    return scores


def words(figure):
    """All text of a figure."""
    return "\n".join(artist.get_text() for artist in figure.findobj(match=hastext))


def hastext(artist):
    return hasattr(artist, "get_text")


# The numbers


def test_figure1_is_the_diagonal_over_all_lengths(scores, data):
    mine = of(scores, task="exact", model="mistral", needle_lang="hi", haystack_lang="hi")
    row = of(data["figure1"], model="mistral", needle_lang="hi")
    assert len(row) == 1
    assert row["value"].item() == pytest.approx(mine["value"].mean())
    assert row["n"].item() == 4 * 3 * 2
    assert row["published"].item() == 0.32
    assert row["comparison"].item() == "cannot tell: the paper's is of 32768 tokens alone"
    others = of(data["figure1"], source="published")
    assert set(others["model"]) == {"Cohere-Aya-23-8B"} and len(others) == 7


def test_figure3_is_of_english_haystacks(scores, data):
    mine = of(scores, task="exact", model="mistral", needle_lang="de", length=32768)
    row = of(data["figure3"], model="mistral", needle_lang="de", length=32768)
    assert row["value"].item() == pytest.approx(of(mine, haystack_lang="en")["value"].mean())
    assert row["published"].item() == 0.37
    baseline = of(data["figure3"], model="mistral", needle_lang="de", length=0)
    mine = of(scores, task="exact", model="mistral", needle_lang="de", length=0)
    assert baseline["value"].item() == pytest.approx(mine["value"].mean())


def test_figure4_splits_by_resources_and_position(scores, data):
    mine = of(scores, task="exact", model="llama3", length=8192, position="middle")
    for name, langs in (("high and medium", ["en", "es", "de"]), ("low", ["zh", "vi", "hi", "ar"])):
        row = of(data["figure4"], model="llama3", length=8192, position="middle", resources=name)
        part = mine[mine["needle_lang"].isin(langs)]
        assert row["value"].item() == pytest.approx(part["value"].mean())
        assert row["n"].item() == len(part)
        assert row["depth"].item() == 0.5


def test_figure5_grows_to_all_prompts(scores, data):
    mine = of(scores, task="exact", model="mistral", length=4096)
    rows = of(data["figure5"], model="mistral", length=4096)
    assert list(rows["size"]) == [100, len(mine)]
    last = rows.iloc[-1]
    p, s = mine["value"].mean(), len(mine)
    assert last["value"] == pytest.approx(p)
    assert last["se"] == pytest.approx(np.sqrt(p * (1 - p) / s))
    assert last["published"] == 0.485
    assert rows["published"].iloc[:-1].isna().all()


def test_figure5_draws_by_name_not_by_order(scores, data):
    shuffled = scores.sample(frac=1, random_state=3)
    again = FIGURES["figure5"].data(shuffled, NUMBERS, SETTINGS)
    assert again.to_csv() == data["figure5"].to_csv()
    more = mlneedle_scores.make(("mistral",), questions=9)
    sizes = FIGURES["figure5"].data(more, NUMBERS, SETTINGS).query("length == 4096")["size"]
    assert list(sizes) == [100, 600, 1100, 9 * 7 * 8 * 3]


def test_figure6_leaves_out_prompts_without_a_needle(scores, data):
    mine = of(scores, task="existence", model="mistral", length=8192, needle_present=True)
    figure = of(data["figure6"], task="existence", model="mistral", length=8192)
    row = of(figure, factor="position", position="end")
    assert row["value"].item() == pytest.approx(of(mine, position="end")["value"].mean())
    row = of(figure, factor="needle_lang", needle_lang="ar")
    english = of(mine, haystack_lang="en", needle_lang="ar")
    assert (row["value"].item(), row["n"].item()) == (pytest.approx(english["value"].mean()), 6)


def test_figure7_is_of_english_needles(scores, data):
    mine = of(scores, task="exact", model="mistral", length=8192, needle_lang="en")
    row = of(data["figure7"], task="exact", model="mistral", length=8192, haystack_lang="zh")
    assert row["value"].item() == pytest.approx(of(mine, haystack_lang="zh")["value"].mean())
    assert data["figure7"]["haystack_lang"].iloc[7] == "multilingual"


def test_figure8_has_both_decodings_at_the_papers_lengths(scores, data):
    assert set(data["figure8"]["length"]) == {8192, 32768}
    assert set(zip(data["figure8"]["model"], data["figure8"]["decoding"], strict=True)) == {
        ("mistral", "sampling"),
        ("mistral-greedy", "greedy"),
    }
    row = of(data["figure8"], model="mistral-greedy", length=8192, position="start")
    mine = of(scores, task="exact", model="mistral-greedy", length=8192, position="start")
    assert row["value"].item() == pytest.approx(mine["value"].mean())
    assert row["published"].item() == 0.453
    short = FIGURES["figure8"].data(scores[scores["length"] <= 4096], NUMBERS, SETTINGS)
    assert set(short["length"]) == {4096}


@pytest.mark.parametrize("name", FIGURES)
def test_every_point_says_n_and_its_interval(name, data):
    ours = of(data[name], source="ours")
    assert (ours["n"] > 0).all() and (ours["n_questions"] > 0).all()
    assert (ours["ci_low_clustered"] <= ours["value"]).all()
    assert (ours["value"] <= ours["ci_high_clustered"]).all()


def test_numbers_do_not_depend_on_the_order_of_rows(scores, data):
    parts = [part.reset_index(drop=True) for _, part in scores.groupby("model")]
    shuffled = pd.concat([part.sample(frac=1, random_state=1) for part in reversed(parts)])
    for name, plot in FIGURES.items():
        assert plot.data(shuffled, NUMBERS, SETTINGS).to_csv() == data[name].to_csv(), name


def test_the_papers_variant_is_drawn_where_there_are_several(scores, data):
    other = scores[scores["length"] > 0].assign(retrieval="random", value=1.0)
    both = pd.concat([other, scores])
    for name in ("figure1", "figure4", "figure6"):
        drawn = FIGURES[name].data(both, NUMBERS, SETTINGS)
        assert drawn["value"].to_list() == data[name]["value"].to_list()


# The pictures


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_show_n_and_intervals(name, data):
    text = words(FIGURES[name].draw(data[name], SETTINGS)).replace("\n", " ")
    assert re.search(r"n\s=\s[\d,]+", text)
    assert "95% interval" in text
    if name in ("figure1", "figure3", "figure5", "figure8"):
        assert "Dashed: the paper's" in text


def test_pictures_show_every_model_and_the_paper(data):
    text = words(FIGURES["figure3"].draw(data["figure3"], SETTINGS))
    for label in (*MODELS, "mistral, paper", "llama3, paper", "Cohere-Aya-23-8B, paper"):
        assert label in text


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_to_draw_is_said_plainly(name, scores, tmp_path):
    nothing = FIGURES[name].data(scores.iloc[:0], NUMBERS, {})
    figure = FIGURES[name].draw(nothing, {})
    assert words(figure).startswith("Nothing to draw: no ")
    save_figure(figure, tmp_path / name)


@pytest.mark.parametrize("name", FIGURES)
def test_a_run_without_a_haystack_or_names_is_drawn(name, scores, tmp_path):
    for some in (scores[scores["length"] == 0], scores[scores["needle_lang"] == "ar"]):
        some = some[some["model"] == "llama3"]
        plot = FIGURES[name]
        save_figure(plot.draw(plot.data(some, NUMBERS.iloc[:0], {}), {}), tmp_path / name)


def test_a_model_has_one_colour_in_every_figure(data):
    colours = set()
    for name, model in (("figure3", "llama3"), ("figure4", "llama3")):
        figure = FIGURES[name].draw(data[name], SETTINGS)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        line = dict(zip(labels, handles, strict=True))[model].lines[0]
        colours.add(to_hex(line.get_color()))
    # Fourth of the run's models, though only the third that has scores.
    assert colours == {style.COLOURS[3].lower()}


def test_more_than_three_positions_are_depths():
    positions = {"start": 0.0, "1/4": 0.25, "middle": 0.5, "3/4": 0.75, "end": 1.0}
    scores = mlneedle_scores.make(("llama2",), questions=1, positions=positions)
    data = FIGURES["figure4"].data(scores, NUMBERS, SETTINGS)
    assert sorted(set(data["depth"])) == [0, 0.25, 0.5, 0.75, 1]
    text = words(FIGURES["figure4"].draw(data, SETTINGS))
    assert "Needle depth" in text and "0.75" in text and "middle" not in text


def test_other_languages_have_a_row_of_their_own_in_figure4(scores):
    greek = scores.assign(needle_lang=scores["needle_lang"].replace("hi", "el"))
    data = FIGURES["figure4"].data(greek, NUMBERS, SETTINGS)
    assert set(data["resources"]) == {"high and medium", "low", "other"}
    assert "Other languages" in words(FIGURES["figure4"].draw(data, SETTINGS))


def test_missing_answers_are_counted_in_the_small_print(scores):
    scores = scores.copy()
    scores.loc[of(scores, task="exact", length=4096).index[:6], "finish_reason"] = "error"
    data = FIGURES["figure4"].data(scores, NUMBERS, SETTINGS)
    assert "6 answers skipped or failed" in words(FIGURES["figure4"].draw(data, SETTINGS))


# The files


@pytest.mark.parametrize("name", ["figure1", "figure5"])
def test_files_are_the_same_each_time(name, data, tmp_path):
    for folder in ("a", "b"):
        save_figure(FIGURES[name].draw(data[name], SETTINGS), tmp_path / folder / name)
    for kind in ("svg", "pdf", "png"):
        first, second = (tmp_path / folder / f"{name}.{kind}" for folder in "ab")
        assert first.read_bytes() == second.read_bytes(), kind
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        f"{name}.pdf",
        f"{name}.png",
        f"{name}.svg",
    ]


def test_text_stays_text(data, tmp_path):
    save_figure(FIGURES["figure4"].draw(data["figure4"], SETTINGS), tmp_path / "figure")
    svg = (tmp_path / "figure.svg").read_text()
    assert ">mistral-greedy</text>" in svg and "DejaVu Sans" in svg
    assert "dc:date" not in svg
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert b"CreationDate" not in pdf


class Unprintable(Artist):
    """Something that cannot be drawn."""

    def draw(self, renderer):
        raise RuntimeError("out of ink")


def test_a_failed_save_leaves_what_was_there(tmp_path, data):
    (tmp_path / "figure.svg").write_text("old")
    figure = FIGURES["figure4"].draw(data["figure4"], SETTINGS)
    figure.add_artist(Unprintable())
    with pytest.raises(RuntimeError, match="out of ink"):
        save_figure(figure, tmp_path / "figure")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert (tmp_path / "figure.svg").read_text() == "old"
