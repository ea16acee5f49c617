"""Every shipped figure on made-up scores: its words, its marks, and what it says where nothing is there."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import factories.oneruler
import golden_runs
from described import BENCHMARKS, each, golden, group, results
from needlework.benchmarks.benchmark import load_benchmark
from needlework.results.drawing import NothingToDraw, draw, notice
from needlework.results.drawing.style import COLOURS
from print_rules import check_print, laid_out, lines_of, of_many, only, words

OF_RUN = {
    "metric": "strict",
    "unit_of_length": "words",
    "needle_languages": ["en", "de", "hi"],
    "long_contexts": "contexts of 64K and 128K",
    "reference_name": "GPT-3.5-Turbo-16K",
}
ALL = each("figures")


@cache
def oneruler():
    """Scores of more languages than the golden run has, some of which the paper prints."""
    models = ("gemini", "o3", "qwen7b", "qwen7b-equal")
    langs, lengths = ("en", "ko", "hi", "pl", "st"), (8000, 64000, 128000)
    return factories.oneruler.make(models, langs, lengths, examples=2)


def run_of(benchmark):
    """The golden run; ONERULER's by the paper's other metric, which leaves both in its tables."""
    own = {**OF_RUN, **golden_runs.run(benchmark)}
    return own | ({"metric": "strict"} if benchmark == "oneruler" else {})


@cache
def numbers(benchmark, name):
    """The numbers of a shipped figure. Not to be changed."""
    if benchmark != "oneruler" or name == "figure24":
        return of_many(golden_runs.table(benchmark, name))
    return of_many(golden_runs.changed(benchmark, name, oneruler(), metric="strict"))


def draw_of(benchmark, name, frame):
    """The pages of a shipped figure with these numbers."""
    known = load_benchmark(benchmark)
    return draw(known.by_name[name].shown, frame, known.called, run_of(benchmark))


@cache
def shipped(benchmark, name):
    """The figure of the golden run, or its first page."""
    return draw_of(benchmark, name, numbers(benchmark, name))[0]


def form(benchmark, name):
    """What the layout of a figure depends on."""
    own = load_benchmark(benchmark).by_name[name].shown
    panels = own.panel == "model", bool(own.panel), len(own.row), isinstance(own.x, str)
    return type(own), panels, own.scaled, own.level is None, getattr(own, "horizontal", False)


# One figure of each form, the last.
LAID_OUT = {form(*one.values): tuple(one.values) for one in ALL}.values()


@pytest.mark.parametrize("benchmark, name", ALL)
def test_pictures_say_n_and_only_what_is_drawn(benchmark, name):
    """Dashes are explained where the paper has numbers; no caption promises what may not be drawn."""
    figure = shipped(benchmark, name)
    if (benchmark, name) in LAID_OUT:
        check_print(laid_out(figure))
    text, frame = words(figure).replace("\n", " "), numbers(benchmark, name)
    assert re.search(r"n\s=\s[\d,]+", text)
    result = load_benchmark(benchmark).by_name[name]
    drawing = result.shown
    assert ("95% interval" in text) == drawing.intervals
    assert f"prompts per {drawing.mark}" in text or name in ("figure21", "figure24")
    rows = frame.query(drawing.where.format_map(run_of(benchmark))) if drawing.where else frame
    printed = "published" in rows and rows["published"].notna().any()
    assert (f"{drawing.paper_look}: " in text) == bool(printed)
    marks = r"Dashed|Hollow|Hatched|Dotted|Error bars|Small numbers"
    assert not re.search(marks, result.full_caption)


# Dots, lines, a heat map, bars and points.
KINDS = {("mlneedle", "figure1"), ("mlneedle", "figure3")} | {
    ("oneruler", f"figure{n}") for n in ("3", "4b", "18")
}


@pytest.mark.parametrize("benchmark, name", [one for one in ALL if one.values in KINDS])
def test_no_dashes_are_explained_without_the_papers_numbers(benchmark, name):
    frame = numbers(benchmark, name)
    ours = frame[frame["source"] == "ours"] if "source" in frame else frame
    none = ours.assign(published=np.nan)
    looks = load_benchmark(benchmark).by_name[name].shown.paper_look
    assert f"{looks}: " not in words(only(draw_of(benchmark, name, none)))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_no_rows_are_no_picture_but_a_reason(benchmark):
    """Every reason fits its picture."""
    for name, result in results(benchmark, "figures").items():
        empty = numbers(benchmark, name).iloc[:0]
        with pytest.raises(NothingToDraw, match=re.escape(result.shown.nothing)) as raised:
            draw_of(benchmark, name, empty)
        figure = laid_out(notice(f"Nothing to draw: {raised.value}"))
        assert result.shown.nothing in words(figure) and not figure.axes
        (text,) = figure.texts
        box, size = text.get_window_extent(), figure.get_size_inches() * figure.dpi
        assert min(box.x0, box.y0) >= 0 and (box.x1, box.y1) <= tuple(size)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_run_of_one_model_is_drawn(benchmark):
    scores = golden_runs.scores(benchmark)
    alone = scores[scores["model"] == scores["model"].iloc[0]]
    for name, result in results(benchmark, "figures").items():
        if result.needs == "scores":
            try:
                draw_of(benchmark, name, of_many(golden_runs.changed(benchmark, name, alone)))
            except NothingToDraw as reason:
                assert str(reason) == result.shown.nothing


@group("mlneedle")
def test_a_papers_model_is_named_beside_the_runs():
    lines = words(shipped("mlneedle", "figure3")).split("\n")
    assert {"mistral", "Mistral-7B-Instruct-v0.2 (paper)", "Cohere-Aya-23-8B (paper)"} <= set(lines)
    assert not any(line.endswith("mistral (paper)") for line in lines)


LONG = ("n contexts of 64K and 128K",)
TABLES = ("10 documents", "Dashed: the paper's Tables 5, 6 and 7.")
SAID = [
    ("mlneedle", "figure4", ("8K words", "High and medium resource (en, de)", "Low resource (hi)")),
    *(("oneruler", name, LONG) for name in ("figure4a", "figure4b", "figure18")),
    ("lost_in_the_middle", "figure5", TABLES),
    ("lost_in_the_middle", "figure10", ("EXPERIMENTS.md",)),
]


@pytest.mark.parametrize(("benchmark", "name", "said"), [golden(*one) for one in SAID])
def test_words_of_a_figure_are_those_of_paper_and_run(benchmark, name, said):
    text = words(shipped(benchmark, name))
    assert all(one in text for one in said)
    assert said != TABLES or "oracle" not in text.split("\n")


@group("lost_in_the_middle")
def test_models_that_are_left_out_are_named():
    scores = golden_runs.scores("lost_in_the_middle")
    lost = (scores["model"] == "mpt-instruct") & (scores["n_documents"] == 20)
    several = scores.assign(finish_reason=scores["finish_reason"].mask(lost, "skipped"))
    every = scores.assign(finish_reason="skipped")
    some, none = (
        of_many(golden_runs.changed("lost_in_the_middle", "figure18", rows))
        for rows in (several, every)
    )
    text = words(only(draw_of("lost_in_the_middle", "figure18", some)))
    assert "Left out, with answers to less than 50% of the prompts: mpt-instruct (" in text
    assert "20 documents" in text.partition("mpt-instruct (")[2]
    with pytest.raises(NothingToDraw, match=r"every answer was skipped or failed\. Questions that"):
        draw_of("lost_in_the_middle", "figure18", none)


@group("oneruler")
def test_the_heat_map_has_every_number_and_the_papers():
    frame = numbers("oneruler", "figure3").query("metric == 'strict'")
    text = words(shipped("oneruler", "figure3")).split("\n")
    for value in (*frame["value"].dropna(), *frame["published"].dropna()):
        assert f"{100 * value:.0f}" in text
    assert {"All languages", "Sesotho", "128K"} <= set(text)


@group("oneruler")
@pytest.mark.parametrize("name", ["figure1a", "figure3", "figure5", "figure22"])
def test_only_the_chosen_metric_is_drawn(name):
    frame = numbers("oneruler", name)
    strict = frame[frame["metric"] == "strict"]
    # Both are drawn here: a figure that was laid out has more labels of ticks.
    both, alone = (words(draw_of("oneruler", name, own)[0]) for own in (frame, strict))
    assert len(strict) < len(frame) and both == alone


@group("oneruler")
def test_short_prompts_are_hollow_and_hatched():
    frame = numbers("oneruler", "figure5")
    frame = frame.query("metric == 'strict' and task != 'niah' and group != 'all'")
    figure = only(draw_of("oneruler", "figure5", frame))
    hatched = [patch for ax in figure.axes for patch in ax.patches if patch.get_hatch()]
    assert len(hatched) == (frame["n_exhausted"] > 0).sum() > 0
    figure = shipped("oneruler", "figure23")
    white = [
        line for ax in figure.axes for line in ax.lines
        if line.get_linestyle() == "None" and to_hex(line.get_markerfacecolor()) == "#ffffff"
    ]  # fmt: skip
    assert white and "vocabulary or text ran out" in words(figure)


@group("oneruler")
@pytest.mark.parametrize("name", ["figure1a", "figure1b"])
def test_differences_of_two_lines_are_no_third_line(name):
    """The axis would begin at -75% for the difference of five prompts."""
    frame, figure = numbers("oneruler", name), shipped("oneruler", name)
    kind = "group" if name == "figure1a" else "prompt"
    assert frame[kind].isin(["gap", "drop"]).any() and frame["ci_low"].min() < 0
    assert figure.axes and all(ax.get_ylim()[0] > -0.1 for ax in figure.axes)
    assert not {"gap", "drop"} & set(words(figure).split("\n"))


@group("oneruler")
def test_few_english_answers_give_way_to_all_languages():
    frame = numbers("oneruler", "figure1b")
    assert "English." in words(shipped("oneruler", "figure1b"))
    few = frame[frame["context_lang"] == "en"].assign(n=9)
    frame = pd.concat([frame[frame["context_lang"] == "all"], few, few.assign(context_lang="ko")])
    text = words(only(draw_of("oneruler", "figure1b", frame)))
    assert "English, Korean" in text and "Not drawn" not in text


@group("mlneedle")
def test_a_model_has_one_colour_in_every_figure():
    found = set()
    for name in ("figure3", "figure4"):
        frame = numbers("mlneedle", name)
        figure = only(draw_of("mlneedle", name, frame[frame["model"] != "mistral-base"]))
        found.add(to_hex(lines_of(figure.axes[0], "llama3")[0].lines[0].get_color()))
    # Fourth of the run's models, though only the third that is drawn.
    assert found == {COLOURS[3].lower()}
