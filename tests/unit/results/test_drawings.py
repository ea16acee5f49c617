"""Figures from their descriptions: every shipped one on made-up scores, new ones on made-up frames."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.layout_engine import ConstrainedLayoutEngine

import factories.lost_in_the_middle
import factories.mlneedle
import factories.oneruler
import golden_runs
from described import results
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.data.language_names import language_name
from needlework.factor import Factor, in_1024
from needlework.results import published
from needlework.results.drawing import NothingToDraw, draw, notice
from needlework.results.drawing.marks import HEAT
from needlework.results.drawing.save import save_figure, save_notes
from needlework.results.drawing.style import (
    COLOURS,
    COLUMN,
    DARK,
    PAGE,
    PRINTING,
    REST,
    TALLEST,
    Printing,
    style,
)
from needlework.results.result import (
    Bars,
    Context,
    Dots,
    Facets,
    Heatmap,
    Lines,
    Points,
    Selection,
    SmallPrint,
    without_controls,
    without_incomparable,
)
from print_rules import check_print

ROOT = Path(__file__).parents[3]
SCORES = {
    "mlneedle": (factories.mlneedle, {"questions": 2}),
    "lost_in_the_middle": (
        factories.lost_in_the_middle,
        {"questions": 6, "languages": ("en", "de")},
    ),
    "oneruler": (
        factories.oneruler,
        {
            "models": ("gemini", "o3", "qwen7b", "qwen7b-equal"),
            "langs": ("en", "ko", "hi", "pl", "st"),
            "lengths": (8000, 64000, 128000),
            "examples": 2,
        },
    ),
}
OF_RUN = {
    "metric": "strict",
    "unit_of_length": "words",
    "needle_languages": ["en", "de", "hi"],
    "long_contexts": "contexts of 64K and 128K",
}
# A benchmark's numbers and figures are made once a worker.
ALL = [
    pytest.param(b, n, marks=pytest.mark.xdist_group(f"drawings-{b}"))
    for b in SCORES
    for n in results(b, "figures")
]


class Shipped:
    """The figures of a benchmark with frames made of scores that are drawn at random."""

    def __init__(self, benchmark):
        module, arguments = SCORES[benchmark]
        self.benchmark = load_benchmark(benchmark)
        self.numbers = published.load(ROOT / f"resources/published/{benchmark}.csv")
        self.settings = module.SETTINGS
        self.run = {**OF_RUN, **module.SETTINGS}
        self.scores = module.make(**arguments)
        self.frames = {}
        self.figures = {}

    def frame(self, name, scores=None, numbers=None):
        """The numbers of the figure."""
        if scores is None and numbers is None:
            if name not in self.frames:
                self.frames[name] = self.frame(name, self.scores)
            return self.frames[name]
        scores = self.scores if scores is None else scores
        settings = self.settings
        if name == "figure24":
            scores, settings = (
                factories.oneruler.token_counts(),
                {**settings, "text_tokenizer": "cl100k_base"},
            )
        numbers = self.numbers if numbers is None else numbers
        return self.benchmark.by_name[name](scores, Context(numbers, settings))

    def draw(self, name, frame=None):
        """The figure of these numbers, or that of `frame(name)`, which is drawn once."""
        if frame is None:
            if name not in self.figures:
                self.figures[name] = self.draw(name, self.frame(name))
            return self.figures[name]
        return only(
            draw(self.benchmark.by_name[name].shown, frame, self.benchmark.shown.called, self.run)
        )


def only(pages):
    """The figure of a single page."""
    (page,) = pages
    return page


@pytest.fixture(scope="module")
def shipped():
    made = {}
    return lambda benchmark: made.setdefault(benchmark, Shipped(benchmark))


def words(figure):
    """All text of a figure, lines joined."""
    found = figure.findobj(match=lambda artist: hasattr(artist, "get_text"))
    return "\n".join(artist.get_text().replace("\n", " ") for artist in found)


def laid_out(figure):
    """What fails in a layout fails here."""
    with style():
        figure.draw_without_rendering()
    return figure


def frame_of(models=("a", "b"), langs=("en", "de"), lengths=(1024, 2048), **columns):
    """One row a model, language and length; right in 6 of 10 prompts."""
    rows = [
        {"model": model, "source": "ours", "lang": lang, "length": length}
        for model in models for lang in langs for length in lengths
    ]  # fmt: skip
    data = pd.DataFrame(rows).assign(value=0.6, n=10, n_questions=10, n_skipped=0, n_error=0)
    return data.assign(ci_low=0.4, ci_high=0.8, published=np.nan).assign(**columns)


FACTORS = {
    "lang": Factor("lang", label="Language", order=("en", "de"), format=language_name),
    "length": Factor("length", label="Context length", format=in_1024),
}
PLAIN = Lines(
    x="lang",
    facets=Facets(panel="length"),
    nothing="nobody answered",
    small_print=SmallPrint(paper="the paper's Table 9"),
)


def shown(drawing, data, **run):
    return laid_out(only(draw(drawing, data, FACTORS, run)))


def lines_of(ax, label):
    handles, labels = ax.get_legend_handles_labels()
    return [handle for handle, one in zip(handles, labels, strict=True) if one == label]


# Every figure that is shipped


@pytest.mark.parametrize("benchmark, name", ALL)
def test_pictures_say_n_and_only_what_is_drawn(benchmark, name, shipped):
    """Dashes are explained where the paper has numbers."""
    it = shipped(benchmark)
    figure = laid_out(it.draw(name))
    check_print(figure)
    text = words(figure).replace("\n", " ")
    assert re.search(r"n\s=\s[\d,]+", text)
    drawing, frame = it.benchmark.by_name[name].shown, it.frame(name)
    assert ("95% interval" in text) == drawing.intervals
    assert f"prompts per {drawing.mark}" in text or name in ("figure21", "figure24")
    rows = frame.query(drawing.rows.where.format_map(it.run)) if drawing.rows.where else frame
    printed = "published" in rows and rows["published"].notna().any()
    assert (f"{drawing.paper_look}: " in words(figure)) == bool(printed)


# Dots, lines, a heat map, bars and points.
KINDS = {("mlneedle", "figure1"), ("mlneedle", "figure3")} | {
    ("oneruler", f"figure{n}") for n in ("3", "4b", "18")
}


@pytest.mark.parametrize("benchmark, name", [one for one in ALL if one.values in KINDS])
def test_no_dashes_are_explained_without_the_papers_numbers(benchmark, name, shipped):
    it = shipped(benchmark)
    none = it.frame(name, numbers=it.numbers.iloc[:0])
    assert f"{it.benchmark.by_name[name].shown.paper_look}: " not in words(it.draw(name, none))


@pytest.mark.parametrize("benchmark", names())
def test_no_rows_are_no_picture_but_a_reason(benchmark):
    known = load_benchmark(benchmark)
    for name, result in results(benchmark, "figures").items():
        empty, run = golden_runs.table(benchmark, name).iloc[:0], golden_runs.run(benchmark)
        with pytest.raises(NothingToDraw, match=re.escape(result.shown.nothing)):
            draw(result.shown, empty, known.shown.called, {**OF_RUN, **run})


@pytest.mark.parametrize("benchmark, name", ALL)
def test_a_run_of_one_model_is_drawn(benchmark, name, shipped):
    it = shipped(benchmark)
    frame = it.frame(name, it.scores[it.scores["model"] == it.scores["model"].iloc[0]])
    try:
        laid_out(it.draw(name, frame))
    except NothingToDraw as reason:
        assert str(reason) == it.benchmark.by_name[name].shown.nothing


def test_published_lines_bear_the_papers_names(shipped):
    text = words(shipped("mlneedle").draw("figure3")).split("\n")
    assert {"mistral", "Mistral-7B-Instruct-v0.2 (paper)", "Cohere-Aya-23-8B (paper)"} <= set(text)
    assert not any(line.endswith("mistral (paper)") for line in text)


def test_panels_name_the_runs_unit_and_languages(shipped):
    text = words(shipped("mlneedle").draw("figure4")).split("\n")
    assert "8K words" in text and "High and medium resource (en, de)" in text
    assert "Low resource (hi)" in text


def test_long_contexts_are_those_of_the_run(shipped):
    for name in ("figure4a", "figure4b", "figure18"):
        assert "n contexts of 64K and 128K" in words(shipped("oneruler").draw(name))


def test_oracle_is_no_name_of_a_condition(shipped):
    text = words(shipped("lost_in_the_middle").draw("figure5")).split("\n")
    assert "10 documents" in text and "oracle" not in text


def test_the_origin_of_printed_numbers_is_named(shipped):
    it = shipped("lost_in_the_middle")
    assert "Dashed: the paper's Tables 5, 6 and 7." in words(it.draw("figure5"))
    text = words(it.draw("figure10"))
    assert "section 5.2 (level: the lowest of all positions)" in text and "EXPERIMENTS.md" in text


def test_models_that_are_left_out_are_named(shipped):
    it = shipped("lost_in_the_middle")
    lost = (it.scores["model"] == "mpt") & (it.scores["n_documents"] == 30)
    scores = it.scores.assign(finish_reason=it.scores["finish_reason"].mask(lost, "skipped"))
    text = words(it.draw("figure18", it.frame("figure18", scores)))
    assert "Left out, having answered less than 50% of the prompts: mpt (30 documents)" in text
    every = it.scores.assign(finish_reason="skipped")
    with pytest.raises(NothingToDraw, match=r"every answer was skipped or failed\. Questions that"):
        it.draw("figure18", it.frame("figure18", every))


def test_unambiguous_questions_are_counted_once(shipped):
    text = words(shipped("lost_in_the_middle").draw("figure15"))
    assert re.search(r"n\s=\s6 prompts per point \(6 questions\).* Unambiguous: \d of the", text)


def test_the_heat_map_has_every_number_and_the_papers(shipped):
    it = shipped("oneruler")
    frame = it.frame("figure3").query("metric == 'strict'")
    text = words(it.draw("figure3", frame)).split("\n")
    for value in (*frame["value"].dropna(), *frame["published"].dropna()):
        assert f"{100 * value:.0f}" in text
    assert {"All languages", "Sesotho", "128K"} <= set(text)


@pytest.mark.parametrize("name", ["figure1a", "figure3", "figure5", "figure22"])
def test_only_the_chosen_metric_is_drawn(name, shipped):
    it = shipped("oneruler")
    frame = it.frame(name)
    strict = frame[frame["metric"] == "strict"]
    assert len(strict) < len(frame) and words(it.draw(name, frame)) == words(it.draw(name, strict))


def test_short_prompts_are_hollow_and_hatched(shipped):
    it = shipped("oneruler")
    frame = it.frame("figure5").query("metric == 'strict' and task != 'niah' and group != 'all'")
    figure = it.draw("figure5", frame)
    hatched = [patch for ax in figure.axes for patch in ax.patches if patch.get_hatch()]
    assert len(hatched) == (frame["n_exhausted"] > 0).sum() > 0
    figure = it.draw("figure23")
    white = [
        line for ax in figure.axes for line in ax.lines
        if line.get_linestyle() == "None" and to_hex(line.get_markerfacecolor()) == "#ffffff"
    ]  # fmt: skip
    assert white and "vocabulary or text ran out" in words(figure)


def test_differences_are_lines_beside_the_papers(shipped):
    figure = shipped("oneruler").draw("figure1b")
    assert "English." in words(figure)
    (ax,) = [ax for ax in figure.axes if lines_of(ax, "drop (paper)")]
    assert lines_of(ax, "drop") and lines_of(ax, "drop (paper)")[0].get_ydata()[-1] == 0.32


def test_a_model_has_one_colour_in_every_figure(shipped):
    it = shipped("mlneedle")
    found = set()
    for name in ("figure3", "figure4"):
        frame = it.frame(name)
        figure = it.draw(name, frame[frame["model"] != "mistral-base"])
        found.add(to_hex(lines_of(figure.axes[0], "llama3")[0].lines[0].get_color()))
    # Fourth of the run's models, though only the third that is drawn.
    assert found == {COLOURS[3].lower()}


# A figure by its description alone


NEW = {
    "lines": PLAIN,
    "bars": Bars(x="lang", facets=Facets(panel="length"), nothing="nobody answered"),
    "points": Points(x="lang", rows=Selection(where="length == 1024"), nothing="nobody answered"),
    "heatmap": Heatmap(
        x="length", down="lang", facets=Facets(panel="model"), nothing="nobody answered"
    ),
    "dots": Dots(x="lang", rows=Selection(where="length == 1024"), nothing="nobody answered"),
}


@pytest.mark.parametrize("name", NEW)
def test_a_description_alone_gives_files(name, tmp_path):
    frame = frame_of(langs=("en", "de", "fr", "es", "hi"))
    for folder in ("a", "b"):
        save_figure(draw(NEW[name], frame, FACTORS, {}), tmp_path / folder / name)
    for kind in ("svg", "pdf", "png"):
        first, second = (tmp_path / folder / f"{name}.{kind}" for folder in "ab")
        assert first.read_bytes() == second.read_bytes() != b""
    text = (tmp_path / "a" / f"{name}.svg").read_text()
    assert ("DejaVu Sans" in text and "dc:date" not in text and "95% intervals" in text) or name in (
        *("points", "heatmap"),
    )  # fmt: skip


def test_six_models_have_a_colour_and_the_others_are_grey():
    names = [f"model {i}" for i in range(15)]
    chosen = Printing(coloured=names[9:12])
    for printing, coloured in ((PRINTING, names[:6]), (chosen, names[9:12])):
        figure = laid_out(only(draw(PLAIN, frame_of(names), FACTORS, {"models": names}, printing)))
        (legend,) = figure.legends
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels == [*coloured, f"{15 - len(coloured)} other models"]
        (ax, _) = figure.axes
        drawn = [to_hex(line.get_color()) for line in ax.lines if len(line.get_xdata())]
        assert drawn.count(REST[0]) == 15 - len(coloured)
        assert len(
            {to_hex(lines_of(ax, name)[0].lines[0].get_color()) for name in coloured}
        ) == len(coloured)
    run = {"models": names, "controls": names[:10]}
    figure = only(draw(PLAIN, frame_of(names), FACTORS, run))
    coloured = [text.get_text() for text in figure.legends[0].get_texts()][:-1]
    assert coloured == [names[0], *names[10:]]


def test_the_papers_lines_stand_among_those_of_many_models():
    names = [f"model {i}" for i in range(8)]
    theirs = frame_of(["Theirs"]).assign(source="published", published=0.6)
    figure = shown(PLAIN, pd.concat([frame_of(names), theirs], ignore_index=True), models=names)
    assert len(figure.axes) == 2
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [*names[:6], "2 other models", "Theirs (paper)"]
    (line,) = lines_of(figure.axes[0], "Theirs (paper)")
    assert line.get_linestyle() == "--" and to_hex(line.get_color()) != REST[0]


def test_a_model_with_a_papers_name_has_its_own_entry():
    frame = frame_of(["A", "B"])
    theirs = frame_of(["A"]).assign(source="published", published=0.6)
    figure = shown(PLAIN, pd.concat([frame, theirs], ignore_index=True), models=["A", "B"])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["A", "B", "A (paper)"]


def test_a_legend_has_twelve_entries_at_most():
    names = [f"model {i}" for i in range(11)]
    theirs = frame_of([f"Their {i}" for i in range(6)]).assign(source="published", published=0.6)
    frame = pd.concat([frame_of(names, published=0.5), theirs], ignore_index=True)
    figure = shown(PLAIN, frame, models=names, published={n: n.upper() for n in names})
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    others = ["the same models (paper)", "6 other models (paper)"]
    assert labels == [*names[:6], "5 other models", *others]


def test_ends_of_an_axis_are_named_within_it():
    drawing = Lines(x="length", facets=Facets(panel="lang"), scaled=True, nothing="nobody answered")
    factors = {**FACTORS, "length": Factor("length", words={0: "start", 5: "middle", 10: "end"})}
    langs = [f"l{i}" for i in range(6)]
    frame = frame_of(langs=langs, lengths=(0, 5, 10))
    figure = laid_out(
        only(draw(replace(drawing, facets=replace(drawing.facets, columns=6)), frame, factors, {}))
    )
    for ax in figure.axes:
        first, *_, last = ax.get_xticklabels()
        assert (first.get_text(), last.get_text()) == ("start", "end")
        low, high = ax.get_xlim()
        assert low < 0 and high > 10


def test_shares_begin_at_0_and_every_interval_is_inside():
    drawing = replace(PLAIN, values=replace(PLAIN.values, limits=None))
    figure = shown(drawing, frame_of(ci_low=0.55, ci_high=0.7))
    assert figure.axes[0].get_ylim()[0] <= 0
    figure = shown(
        replace(drawing, values=replace(drawing.values, limits=(0.0, 0.5))),
        frame_of(ci_low=-0.3, ci_high=0.7),
    )
    low, high = figure.axes[0].get_ylim()
    assert low < -0.3 and high > 0.7
    assert figure.axes[0].get_ylabel() == "Accuracy (%)"


def test_lines_of_many_languages_get_panels_of_seven_at_most():
    names = [f"model {i}" for i in range(15)]
    drawing = replace(PLAIN, line="kind")
    frame = frame_of(names).rename(columns={"model": "kind"}).assign(model="m")
    figure = shown(drawing, frame)
    counts = [len(ax.get_legend_handles_labels()[1]) for ax in figure.axes]
    assert max(counts) <= 7 and sum(counts) == 15 * 2
    check_print(figure)
    legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    assert {text.get_text() for one in legends for text in one.get_texts()} == set(names)


def test_many_panels_get_pages_each_with_titles_and_axes(tmp_path):
    names = [f"model {i}" for i in range(15)]
    drawing = replace(
        PLAIN,
        facets=replace(PLAIN.facets, panel="model", row=("lang",)),
        line="length",
        small_print=replace(PLAIN.small_print, words="Plain."),
    )
    frame = frame_of(names, langs=[f"l{i}" for i in range(4)])
    pages = draw(drawing, frame, FACTORS, {})
    for page in map(laid_out, pages):
        width, height = page.get_size_inches()
        assert width <= PAGE and height <= TALLEST
        text = words(page)
        # A block of panels has the models' names above it, whichever page it is on.
        assert "model" in text and "Language" in text and "Plain. n" in text
    assert sum(len(page.axes) for page in pages) == 15 * 4
    save_figure(pages, tmp_path / "figure")
    heights = [page.get_size_inches()[1] for page in pages]
    assert len(imread(tmp_path / "figure.png")) == pytest.approx(200 * sum(heights), abs=len(pages))
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", pdf)) == len(pages) > 1
    svg = ElementTree.fromstring((tmp_path / "figure.svg").read_text())
    assert float(svg.get("height")[:-2]) == pytest.approx(72 * sum(heights), abs=len(pages))
    ids = [one.get("id") for one in svg.iter() if one.get("id")]
    named = {link for one in svg.iter() for name, link in one.items() if name.endswith("href")}
    assert len(ids) == len(set(ids)) and named <= {f"#{name}" for name in ids}


@pytest.mark.parametrize("n", [2, 6])
def test_lines_are_not_moved_to_the_next_value(n):
    """Seven close positions: all lines stay nearer to theirs."""
    names = [f"model {i}" for i in range(n)]
    at = [1, 2, 3, 4, 5, 6, 300]
    drawing = Lines(x="length", scaled=True, nothing="nobody answered")
    (ax,) = shown(drawing, frame_of(names, langs=("en",), lengths=at)).axes
    for name in names:
        x = lines_of(ax, name)[0].lines[0].get_xdata()
        assert max(abs(np.asarray(x) - at)) <= 0.25


def test_languages_are_all_named_on_a_narrow_axis():
    langs = [f"l{i:02}" for i in range(26)]
    figure = shown(PLAIN, frame_of(langs=langs))
    for ax in figure.axes:
        assert [label.get_text() for label in ax.get_xticklabels()] == langs
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(boxes))


def test_positions_that_do_not_fit_are_not_named():
    at = [1, 50, 52, 150, 200, 250, 300]
    drawing = Lines(x="length", facets=Facets(panel="lang"), scaled=True, nothing="nobody answered")
    factors = {**FACTORS, "length": Factor("length")}
    ax = only(draw(drawing, frame_of(lengths=at), factors, {})).axes[0]
    named = [label.get_text() for label in ax.get_xticklabels()]
    assert len(named) == 7 and named[-1] == "300" and named[1:3] == ["", "52"]


def test_many_bars_lie_and_all_are_named():
    names = [f"model {i}" for i in range(15)]
    drawing = Bars(
        x="model", line="lang", rows=Selection(where="length == 1024"), nothing="nobody answered"
    )
    (ax,) = shown(drawing, frame_of(names)).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    assert len(ax.patches) == 30


def test_long_names_of_bars_lie_apart():
    names = [f"mistral-7b-instruct-v0.{i}" for i in range(15)]
    frame = frame_of(names, lengths=(1024,))
    drawing = Bars(x="model", line="lang", nothing="nobody answered")
    (ax,) = shown(drawing, frame).axes
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert [one.get_text() for one in ax.get_yticklabels()] == names
    assert min(box.x0 for box in boxes) >= 0
    # Down the page, the next one is lower.
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_dots_are_sorted_by_value():
    langs = [f"l{i:02}" for i in range(26)]
    frame = frame_of(langs=langs)
    frame["value"] = frame["lang"].map({lang: (7 * i % 26) / 26 for i, lang in enumerate(langs)})
    figure = shown(NEW["dots"], frame)
    check_print(figure)
    (ax,) = figure.axes
    named = [label.get_text() for label in ax.get_yticklabels()]
    assert named == sorted(langs, key=lambda lang: -(7 * langs.index(lang) % 26))
    assert "Error bars: 95% intervals" in words(figure)


def test_notes_stand_in_the_figure_and_in_a_text(tmp_path):
    figure = only(draw(PLAIN, frame_of(), FACTORS, {}))
    save_notes([figure], tmp_path / "a.txt")
    note = (tmp_path / "a.txt").read_text()
    assert note.startswith("n\u00a0=\u00a010 prompts per point") and "95% intervals" in note
    assert "intervals" in words(figure)


def test_a_style_of_narrower_pages_is_kept():
    (figure,) = draw(PLAIN, frame_of(), FACTORS, {}, Printing(width=5.5))
    check_print(laid_out(figure), wide=5.5)
    assert figure.get_size_inches()[0] == 5.5 > COLUMN


def test_half_right_is_half_way_up_the_colours():
    figure = shown(NEW["heatmap"], frame_of(value=0.5))
    (bar,) = [ax for ax in figure.axes if not ax.get_title()]
    assert bar.get_xlim() == (0, 1) and figure.axes[0].get_title() == "a"
    cells = [to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches]
    from matplotlib.colors import LinearSegmentedColormap

    assert set(cells) == {to_hex(LinearSegmentedColormap.from_list("heat", HEAT)(0.5))}


@pytest.mark.parametrize(
    ("drawing", "sign"),
    [
        (PLAIN, "Ringed"),
        (Bars(x="lang", facets=Facets(panel="length"), nothing=""), "Ringed"),
        (
            Heatmap(x="lang", down="length", facets=Facets(panel="model"), nothing=""),
            "With an asterisk",
        ),
    ],
)
def test_cells_that_lack_answers_are_marked(drawing, sign):
    data = frame_of(lowest=0.5, highest=0.7, n=99)
    data.loc[data["model"] == "a", "n_error"] = 1
    assert "more than 1%" not in words(shown(drawing, data))
    data.loc[data["model"] == "a", "n_error"] = 20
    figure = shown(drawing, data, asked="a was asked only lang en.")
    text = words(figure)
    assert f"{sign}: more than 1% of the answers were skipped or failed" in text
    assert "a was asked only lang en." in text
    rings = sum(len(c.get_offsets()) for ax in figure.axes for c in ax.collections
                if type(c).__name__ == "PathCollection")  # fmt: skip
    assert rings == 4 * (sign == "Ringed") and (text.count("60*") == 4) == (sign != "Ringed")


def test_missing_answers_are_counted():
    frame = frame_of()
    frame.loc[0, ["n_skipped", "n_error"]] = [4, 2]
    assert "6 answers skipped or failed" in words(shown(PLAIN, frame))
    with pytest.raises(NothingToDraw, match="every answer was skipped or failed"):
        shown(PLAIN, frame_of(value=np.nan))


@pytest.mark.parametrize("benchmark, name", ALL)
def test_a_file_of_nothing_says_why(benchmark, name):
    """Every reason fits its picture."""
    drawing = load_benchmark(benchmark).by_name[name].shown
    figure = laid_out(notice(f"Nothing to draw: {drawing.nothing}"))
    assert drawing.nothing in words(figure) and not figure.axes
    (text,) = figure.texts
    box, size = text.get_window_extent(), figure.get_size_inches() * figure.dpi
    assert min(box.x0, box.y0) >= 0 and (box.x1, box.y1) <= tuple(size)


def test_a_page_explains_its_own_marks():
    names = [f"model {i}" for i in range(15)]
    frame = frame_of(names, langs=[f"l{i}" for i in range(9)])
    drawing = replace(PLAIN, facets=replace(PLAIN.facets, panel="", row=("lang",)), x="length")
    frame.loc[frame["lang"] == "l0", "published"] = 0.5
    first, *others = map(words, draw(drawing, frame, FACTORS, {"models": names}))
    assert "Dashed: the paper's Table 9." in first and others
    assert not any("Dashed" in text for text in others)


def test_a_panel_without_rows_is_not_drawn():
    frame = frame_of()
    frame = frame[~((frame["model"] == "a") & (frame["length"] == 1024))]
    drawing = replace(PLAIN, facets=replace(PLAIN.facets, panel="model", row=("length",)))
    figure = shown(drawing, frame)
    assert len(figure.axes) == 3 and "not run" not in words(figure)
    # Each panel is named where its first one stands, and the first of a row has the numbers.
    first, second, _ = figure.axes
    assert (first.get_title(), second.get_title()) == ("b", "a")
    assert all(ax.yaxis.get_tick_params()["labelleft"] for ax in (first, second))


def test_a_panel_without_answers_says_so():
    frame = frame_of()
    frame.loc[frame["length"] == 2048, "value"] = np.nan
    assert "no answer" in words(shown(PLAIN, frame))


def test_a_bar_without_width_is_not_called_an_interval():
    assert "intervals" not in words(shown(PLAIN, frame_of(ci_low=0.6, ci_high=0.6)))


def test_a_number_of_the_papers_is_drawn_as_printed():
    frame = frame_of(models=("a",), lengths=(1024,), published=0.25)
    (ax,) = shown(PLAIN, frame, published={"a": "Model A"}).axes
    (line,) = lines_of(ax, "Model A (paper)")
    assert list(line.get_ydata()) == [0.25, 0.25] and line.get_linestyle() == "--"


def test_rows_without_a_panel_stand_in_all():
    level = frame_of(models=("a",), langs=(None,), lengths=(None,), value=0.9)
    drawing = Lines(x="lang", facets=Facets(panel="length"), nothing="nobody answered")
    figure = shown(drawing, pd.concat([frame_of(models=("a",)), level], ignore_index=True))
    for ax in figure.axes:
        assert any(list(line.get_ydata()) == [0.9, 0.9] for line in ax.lines)


# Files


def test_a_page_is_laid_out_once(tmp_path, monkeypatch):
    executed = []
    execute = ConstrainedLayoutEngine.execute

    def counted(engine, figure):
        executed.append(figure)
        return execute(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted)
    page = only(draw(PLAIN, frame_of(), FACTORS, {}))
    save_figure([page], tmp_path / "figure")
    assert executed == [page]


class Unprintable(Artist):
    """Something that cannot be drawn."""

    def draw(self, renderer):
        raise RuntimeError("out of ink")


def test_a_failed_save_leaves_what_was_there(tmp_path):
    (tmp_path / "figure.svg").write_text("old")
    figure = only(draw(PLAIN, frame_of(), FACTORS, {}))
    figure.add_artist(Unprintable())
    with pytest.raises(RuntimeError, match="out of ink"):
        save_figure([figure], tmp_path / "figure")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert (tmp_path / "figure.svg").read_text() == "old"


def test_text_stays_text(tmp_path):
    save_figure(draw(PLAIN, frame_of(), FACTORS, {}), tmp_path / "figure")
    assert ">Language</text>" in (tmp_path / "figure.svg").read_text()
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"CreationDate" not in pdf


def test_dark_readers_get_light_text_and_print_stays(tmp_path):
    pages = draw(PLAIN, frame_of(published=0.5), FACTORS, {})
    save_figure(pages, tmp_path / "figure")
    text = (tmp_path / "figure.svg").read_text()
    dark, drawn = re.search(r"<style[^>]*>(@media.*?)</style>(.*)", text, flags=re.S).groups()
    assert dark.startswith("@media (prefers-color-scheme:dark){")
    # Every colour that is no line's has a rule, and stands in the file as it is printed.
    found = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", drawn))
    assert found - set(map(str.lower, COLOURS)) <= set(DARK) and "#ffffff" in found
    assert all(f'[style*="stroke: {light}"]' in dark for light in DARK)
    assert "svg.drawn{fill:currentColor}" in dark and '<svg class="drawn"' in text


@pytest.mark.parametrize("benchmark, name", ALL)
def test_a_caption_promises_no_mark(benchmark, name):
    """Error bars and dashed lines are named in the small print alone, where they are drawn."""
    caption = load_benchmark(benchmark).by_name[name].full_caption
    assert not re.search(r"Dashed|Hollow|Hatched|Dotted|Error bars|Small numbers", caption)


def test_controls_are_in_no_figure_that_has_a_model() -> None:
    run = {"controls": ["oracle"]}
    rows = [("a", "ours", 0.5), ("oracle", "ours", 1.0), ("theirs", "published", 0.6)]
    frame = pd.DataFrame(rows, columns=["model", "source", "value"])
    assert without_controls(frame, run)["model"].tolist() == ["a", "theirs"]
    alone = frame[frame["model"] != "a"]
    assert without_controls(alone, run)["model"].tolist() == ["oracle", "theirs"]
    pairs = frame.assign(pair="a|oracle")
    assert without_controls(pairs, run) is pairs
    counts = pd.DataFrame({"lang": ["en"], "value": [1.0]})
    assert without_controls(counts, run) is counts


@pytest.mark.parametrize("verdict", [*published.JUDGED, "cannot tell: other questions"])
def test_the_paper_is_shown_only_beside_a_verdict(verdict) -> None:
    frame = frame_of(models=("a",), published=0.5, comparison=published.UNPUBLISHED)
    frame.loc[0, "comparison"] = verdict
    theirs = frame.assign(model="theirs", source="published", published=np.nan)
    both = pd.concat([frame, theirs], ignore_index=True)
    left = without_incomparable(both)
    if verdict in published.JUDGED:
        assert left is both
    else:
        assert left["model"].unique().tolist() == ["a"] and left["published"].isna().all()
        assert without_incomparable(left) is left
        assert PLAIN.paper_look not in words(shown(PLAIN, left))
    assert PLAIN.paper_look in words(shown(PLAIN, both))
