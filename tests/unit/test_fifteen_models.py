"""All figures and tables of fifteen models, 26 languages and seven positions fit their pages."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import fifteen_models
import numpy as np
import pytest
from fifteen_models import NAMES

import oneruler_scores
from needlework.benchmarks.benchmark import load_benchmark
from needlework.results import latex, published
from needlework.results.drawing import draw
from needlework.results.figures.style import PAGE, TALLEST, style
from needlework.results.latex import lay_out
from needlework.results.numbers import Context, frame

ROOT = Path(__file__).parents[2]
BENCHMARKS = ("mlneedle", "lost_in_the_middle", "oneruler", "mlongrr", "m4le")
SHOWN = [
    (benchmark, result.name, result.kind)
    for benchmark in BENCHMARKS
    for result in load_benchmark(benchmark).results
    if result.needs == "scores"
]
# A unit of these is one comparison, of which a page holds what it can.
WHOLE = {"figure1", "figure3", "figure5", "figure17", "figure22", "figure4"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fifteen")]


@cache
def scores(benchmark):
    return getattr(fifteen_models, benchmark)()


def numbers(benchmark, name):
    rows, run = scores(benchmark)
    paper = published.load(ROOT / f"resources/published/{benchmark}.csv")
    return frame(load_benchmark(benchmark).by_name[name].numbers, rows, Context(paper, run)), run


@pytest.mark.parametrize("benchmark, name", [one[:2] for one in SHOWN if one[2] == "figures"])
def test_fifteen_models_stay_on_their_pages(benchmark, name):
    """Points once slid off their places; a figure was 3,900 pixels wide, another 20 inches tall."""
    known = load_benchmark(benchmark)
    data, run = numbers(benchmark, name)
    lines = set()
    pages = draw(known.by_name[name].shown, data, known.called, run)
    for page in pages:
        across, tall = page.get_size_inches()
        assert across <= PAGE + 0.01 and tall <= TALLEST
        for ax in page.axes:
            lines |= _check_lines(ax)
    # Those between are made as the first one is, with other models or languages in as many panels.
    for page in [*pages[:3], *pages[3:][-1:]]:
        _check_texts(page)
    if known.by_name[name].shown.line == "model" and lines and name in WHOLE:
        assert lines == set(data["model"]) & set(NAMES)


def _check_texts(page):
    """All words are inside; those on one axis do not lie on each other."""
    with style():
        page.draw_without_rendering()
    width, height = page.get_size_inches() * page.dpi
    for text in page.findobj(lambda artist: hasattr(artist, "get_text")):
        box = text.get_window_extent()
        if text.get_visible() and text.get_text().strip():
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


def _check_lines(ax):
    """The models with a line: six at most, each point nearer to its own place than to the next."""
    handles, labels = ax.get_legend_handles_labels()
    ours = {label: handle for handle, label in zip(handles, labels, strict=True) if label in NAMES}
    lines = {name: one for name, one in ours.items() if hasattr(one, "lines")}
    assert len(lines) <= 6
    places = sorted(set(ax.get_xticks()))
    if ax.name != "polar" and lines and len(places) > 1:
        half = min(b - a for a, b in pairwise(places)) / 2
        for one in lines.values():
            x = np.asarray(one.lines[0].get_xdata(), dtype=float)
            if len(x) <= len(places):
                assert np.abs(np.subtract.outer(x, places)).min(axis=1).max() < half
    return set(ours)


@pytest.mark.parametrize("benchmark, name", [one[:2] for one in SHOWN if one[2] == "tables"])
def test_tables_of_fifteen_models_fit_their_pages(benchmark, name):
    """A float was once 164 points taller than its page."""
    result = load_benchmark(benchmark).by_name[name]
    data, _ = numbers(benchmark, name)
    text = lay_out(data, result.shown, f"{benchmark}-{name}", result.title)
    floats = re.findall(r"\\begin\{table\*?\}.*?\\end\{table", text, re.DOTALL)
    assert floats
    for one in floats:
        assert one.count("\\\\\n") + one.count(r"\addlinespace") / 2 < latex.DOWN
        assert len(re.findall(r"\\begin\{tabular\}\{(\w+)\}", one)[0]) <= latex.ACROSS


def test_eight_tokenizers_stay_on_their_pages():
    known, (_, run) = load_benchmark("oneruler"), scores("oneruler")
    names = tuple(f"tok-{i}" for i in range(8))
    context = Context(published.none(), {**run, "text_tokenizer": "tok-0"})
    data = frame(known.by_name["figure24"].numbers, oneruler_scores.token_counts(names), context)
    for page in draw(known.by_name["figure24"].shown, data, known.called, run):
        assert page.get_size_inches()[1] <= TALLEST
        _check_texts(page)
