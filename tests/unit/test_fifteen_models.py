"""Figures and tables of each form, of fifteen models, 26 languages and seven positions, fit their pages."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import fifteen_models
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fifteen_models import NAMES

import factories.oneruler
from needlework.benchmarks.benchmark import load_benchmark
from needlework.results import published, written_tables
from needlework.results.cards.drawn import draw_card
from needlework.results.drawing import draw
from needlework.results.drawing.style import COLUMN, TALLEST
from needlework.results.numbers.answers import answers
from needlework.results.numbers.claims import claims, comparison_rows
from needlework.results.numbers.curves import curves
from needlework.results.numbers.means import KEYS
from needlework.results.numbers.tables import frame as page_table
from needlework.results.result import Context, Heatmap, Lines
from needlework.results.rows import categorical_frame
from needlework.results.written_tables import lay_out
from print_rules import check_print, laid_out, of_many

ROOT = Path(__file__).parents[2]
BENCHMARKS = ("mlneedle", "lost_in_the_middle", "oneruler", "mlongrr", "m4le")
# One result for each form that a layout treats in a way of its own: others differ from one of these in
# their words and numbers alone.
FIGURES = {
    "dots-of-languages": ("mlneedle", "figure1"),
    "dots-in-panels-with-chance": ("mlongrr", "figure3"),
    "lines-over-languages": ("mlneedle", "figure3"),
    "lines-over-two-columns-a-model": ("mlneedle", "figure6"),
    "lines-of-pairs": ("mlneedle", "figure8"),
    "lines-to-scale-in-panels": ("lost_in_the_middle", "figure5"),
    "lines-of-variants-in-two-rows": ("lost_in_the_middle", "figure17"),
    "lines-without-panels": ("oneruler", "figure17"),
    "lines-of-languages-with-legends-a-row": ("oneruler", "figure6a"),
    "lines-of-thousands": ("oneruler", "figure20"),
    "heat-maps-of-models-with-paper": ("oneruler", "figure3"),
    "heat-maps-in-two-rows": ("mlongrr", "details"),
    "bars-of-models": ("oneruler", "figure4a"),
    "bars-of-languages-that-lie": ("oneruler", "figure4b"),
    "bars-of-tasks-with-hatches": ("oneruler", "figure5"),
    "bars-in-rows-a-model-with-chance": ("mlongrr", "figure6"),
    "bars-below-zero-that-lie": ("m4le", "figure3_slopes"),
    "points-of-models": ("oneruler", "figure6b"),
    "points-of-languages-a-model": ("oneruler", "figure18"),
    "points-of-counts": ("oneruler", "figure21"),
}
TABLES = {
    "floats-a-model": ("mlneedle", "table2"),
    "pairs-with-tests": ("mlneedle", "table3"),
    "rows-of-four-labels": ("mlneedle", "answered_in"),
    "variants-and-floats-a-size": ("lost_in_the_middle", "accuracy"),
    "columns-of-models-and-metrics": ("oneruler", "languages"),
}
# A unit of these is one comparison, of which a page holds what it can.
WHOLE = {"figure1", "figure3", "figure5", "figure17"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fifteen")]


@cache
def scores(benchmark):
    """Rows as results get them, and the run."""
    rows, run = getattr(fifteen_models, benchmark)()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    texts = {
        field.name: pa.string() for field in table.schema if pa.types.is_large_string(field.type)
    }
    schema = pa.schema([(field.name, texts.get(field.name, field.type)) for field in table.schema])
    return categorical_frame(table.cast(schema)), run


@cache
def numbers(benchmark, name):
    rows, run = scores(benchmark)
    paper = published.load(ROOT / f"resources/published/{benchmark}.csv")
    made = load_benchmark(benchmark).by_name[name](rows, Context(paper, run))
    return of_many(made), run


def drawn(benchmark, name):
    """A figure's pages and their data: of seven models, where their panels alone fill a page."""
    known = load_benchmark(benchmark)
    data, run = numbers(benchmark, name)
    shown = known.by_name[name].shown
    lines = isinstance(shown, Lines | Heatmap)
    if lines and "model" in (shown.panel, *shown.row) and "model" in data:
        few = data[~data["model"].isin(NAMES[7:])]
        pages = draw(shown, few, known.called, run)
        if len(pages) > 1:
            return pages, few
    return draw(shown, data, known.called, run), data


@pytest.mark.parametrize("benchmark, name", FIGURES.values(), ids=FIGURES)
def test_fifteen_models_stay_on_their_pages(benchmark, name):
    """Points once slid off their places; a figure was 3,900 pixels wide, another 20 inches tall."""
    pages, data = drawn(benchmark, name)
    lines = set()
    for page in pages:
        assert page.get_size_inches()[1] <= TALLEST
        for ax in page.axes:
            lines |= _check_lines(ax)
    # Those between are made as the first one is, with other models or languages in as many panels.
    for page in {id(page): page for page in (pages[0], pages[-1])}.values():
        _check_texts(page)
        _check_marks(page)
    if load_benchmark(benchmark).by_name[name].shown.line == "model" and lines and name in WHOLE:
        assert lines == set(data["model"]) & set(NAMES[:6])


def _check_texts(page):
    """All words are inside; those on one axis do not lie on each other."""
    check_print(laid_out(page))
    width, height = page.get_size_inches() * page.dpi
    # Matplotlib makes names beyond an axis and of an axis that is off, too, and draws none of them.
    beyond = {
        name
        for ax in page.axes
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim()))
        for tick in axis.get_major_ticks()
        if not (ax.axison and min(ends) <= tick.get_loc() <= max(ends))
        for name in (tick.label1, tick.label2)
    }
    for text in page.findobj(lambda artist: hasattr(artist, "get_text")):
        box = text.get_window_extent()
        if text not in beyond and text.get_visible() and text.get_text().strip():
            assert box.x0 >= -1 and box.x1 <= width + 1, text.get_text()
            assert box.y0 >= -1 and box.y1 <= height + 1, text.get_text()
    for ax in page.axes:
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            boxes = [one.get_window_extent() for one in labels if one.get_text().strip()]
            pairs = [*pairwise(boxes), *([(boxes[-1], boxes[0])] if len(boxes) > 2 else [])]
            for one, other in pairs:
                low = max(one.x0, other.x0), max(one.y0, other.y0)
                high = min(one.x1, other.x1), min(one.y1, other.y1)
                assert high[0] - low[0] < 1.5 or high[1] - low[1] < 1.5


def _check_marks(page):
    """Bars and points lie within their axes."""
    for ax in page.axes:
        ends = np.sort([ax.get_xlim(), ax.get_ylim()])
        marks = [one.get_bbox().get_points() for one in ax.patches if hasattr(one, "get_bbox")]
        lines = [line for line in ax.lines if line.get_transform() == ax.transData]
        marks += [np.asarray(line.get_xydata(), dtype=float) for line in lines]
        for points in marks:
            points = points[np.isfinite(points).all(axis=1)]
            inside = (points >= ends[:, 0] - 1e-6) & (points <= ends[:, 1] + 1e-6)
            assert inside.all(), (ax.get_title(), points[~inside.all(axis=1)])


def _check_lines(ax):
    """The models with a line: six at most, each point nearer to its own place than to the next."""
    handles, labels = ax.get_legend_handles_labels()
    ours = {label: handle for handle, label in zip(handles, labels, strict=True) if label in NAMES}
    lines = {name: one for name, one in ours.items() if hasattr(one, "lines")}
    assert len(lines) <= 6
    places = sorted(set(ax.get_xticks()))
    if lines and len(places) > 1:
        half = min(b - a for a, b in pairwise(places)) / 2
        for one in lines.values():
            x = np.asarray(one.lines[0].get_xdata(), dtype=float)
            if len(x) <= len(places):
                assert np.abs(np.subtract.outer(x, places)).min(axis=1).max() < half
    return set(ours)


@pytest.mark.parametrize("benchmark, name", TABLES.values(), ids=TABLES)
def test_tables_of_fifteen_models_fit_their_pages(benchmark, name):
    """A float was once 164 points taller than its page."""
    result = load_benchmark(benchmark).by_name[name]
    data, _ = numbers(benchmark, name)
    text = lay_out(data, result.shown, f"{benchmark}-{name}", result.title)
    floats = re.findall(r"\\begin\{table\*?\}.*?\\end\{table", text, re.DOTALL)
    assert floats
    for one in floats:
        assert one.count("\\\\\n") + one.count(r"\addlinespace") / 2 < written_tables.DOWN
        assert len(re.findall(r"\\begin\{tabular\}\{(\w+)\}", one)[0]) <= written_tables.ACROSS


def test_eight_tokenizers_stay_on_their_pages():
    known, (_, run) = load_benchmark("oneruler"), scores("oneruler")
    names = tuple(f"tok-{i}" for i in range(8))
    context = Context(published.none(), {**run, "text_tokenizer": "tok-0"})
    data = known.by_name["figure24"](factories.oneruler.token_counts(names), context)
    for page in draw(known.by_name["figure24"].shown, data, known.called, run):
        assert page.get_size_inches()[1] <= TALLEST
        _check_texts(page)


@cache
def card_numbers(benchmark, n):
    """Of a benchmark's first models: points, comparisons, answers."""
    rows, run = scores(benchmark)
    names = NAMES[:n]
    rows = rows[rows["model"].isin(names)]
    rows = rows.assign(instance_id=np.arange(len(rows)))
    paper = published.load(ROOT / f"resources/published/{benchmark}.csv")
    card = load_benchmark(benchmark).shown.card
    careful = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], [], []], names=KEYS))
    context = Context(paper, run)
    found = list(curves(benchmark, card, rows, careful, context, names))
    return found, list(answers(benchmark, card, rows, found, context, names))


@pytest.mark.parametrize("shown, n", [(BENCHMARKS, 15), (["mlneedle"], 1)], ids=["most", "least"])
def test_report_cards_of_any_run_stay_on_their_page(shown, n):
    """One benchmark and all five, of one model and fifteen."""
    found = [card_numbers(name, n) for name in shown]
    model = NAMES[n - 1]
    own = [curve for each, _ in found for curve in each if curve.model == model]
    points = page_table("points", [point for curve in own for point in curve.points()])
    pairs = claims(
        page_table("comparisons", [row for curve in own for row in comparison_rows(curve)])
    )
    rows = [row for _, each in found for row in each if row["model"] == model]
    titles = {name: load_benchmark(name).title for name in shown}
    page = draw_card(model, points, pairs, page_table("answers", rows), titles)
    across, tall = page.get_size_inches()
    assert across == pytest.approx(COLUMN) and tall <= TALLEST
    _check_texts(page)
    _check_marks(page)
    # No line is a mean over benchmarks, and none has one point.
    assert set(points["benchmark"]) == set(shown)
    assert points.groupby(["benchmark", "part", "axis", "model"]).size().min() >= 2
    assert points["model"].nunique() == n
