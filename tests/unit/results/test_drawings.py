"""Figures from their descriptions alone, on made-up frames, and their files."""

import re
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.artist import Artist
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.image import imread
from matplotlib.layout_engine import ConstrainedLayoutEngine

from needlework.data.language_names import language_name
from needlework.factor import Factor, in_1024
from needlework.results import published
from needlework.results.drawing import NothingToDraw, draw
from needlework.results.drawing.marks import HEAT
from needlework.results.drawing.save import save_figure, save_notes
from needlework.results.drawing.style import (
    COLOURS,
    COLUMN,
    DARK,
    DARK_GROUND,
    GROUND,
    PAGE,
    PRINTING,
    REST,
    TALLEST,
    Printing,
    on_pages,
    ordered_colours,
)
from needlework.results.result import (
    Bars,
    Dots,
    Heatmap,
    Lines,
    Points,
    without_controls,
    without_incomparable,
)
from print_rules import check_print, laid_out, lines_of, only, words


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
PLAIN = Lines(x="lang", panel="length", nothing="nobody answered", paper="the paper's Table 9")


def shown(drawing, data, **run):
    return laid_out(only(draw(drawing, data, FACTORS, run)))


# A figure by its description alone


NEW = {
    "lines": PLAIN,
    "bars": Bars(x="lang", panel="length", nothing="nobody answered"),
    "points": Points(x="lang", where="length == 1024", nothing="nobody answered"),
    "heatmap": Heatmap(x="length", down="lang", panel="model", nothing="nobody answered"),
    "dots": Dots(x="lang", where="length == 1024", nothing="nobody answered"),
}


def test_a_description_gives_the_same_files_with_any_matplotlibrc(tmp_path):
    theirs = {"savefig.bbox": "tight", "font.weight": "bold", "figure.facecolor": "gray"}
    for folder, settings in (("a", {}), ("b", theirs | {"text.usetex": True, "lines.marker": "x"})):
        with matplotlib.rc_context(settings):
            pages = [page for one in NEW.values() for page in draw(one, frame_of(), FACTORS, {})]
            save_figure(pages, tmp_path / folder)
            assert matplotlib.rcParams["font.weight"] == settings.get("font.weight", "normal")
    for page, kind in zip(pages, NEW, strict=True):
        assert ("95% intervals" in words(page)) == (kind not in ("points", "heatmap"))
    for kind in ("svg", "pdf", "png"):
        first, second = ((tmp_path / f"{folder}.{kind}").read_bytes() for folder in "ab")
        assert first == second != b""
    text = (tmp_path / "a.svg").read_text()
    assert "DejaVu Sans" in text and "dc:date" not in text


def test_six_models_have_a_colour_and_the_others_are_grey():
    names = [f"model {i}" for i in range(15)]
    chosen = Printing(coloured=names[9:12])
    for printing, coloured in ((PRINTING, names[:6]), (chosen, names[9:12])):
        figure = laid_out(only(draw(PLAIN, frame_of(names), FACTORS, {"models": names}, printing)))
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == [*coloured, f"{15 - len(coloured)} other models"]
        ax = figure.axes[0]
        drawn = [to_hex(line.get_color()) for line in ax.lines if len(line.get_xdata())]
        assert drawn.count(REST[0]) == 15 - len(coloured)
        colours = {to_hex(lines_of(ax, name)[0].lines[0].get_color()) for name in coloured}
        assert len(colours) == len(coloured)
    figure = shown(PLAIN, frame_of(names), models=names, controls=names[:10])
    coloured = [text.get_text() for text in figure.legends[0].get_texts()][:-1]
    assert coloured == [names[0], *names[10:]]


MODELS = [f"model {i}" for i in range(11)]


@pytest.mark.parametrize(
    ("ours", "theirs", "printed", "labels"),
    [
        (MODELS[:8], ["T"], np.nan, [*MODELS[:6], "2 other models", "T (paper)"]),
        (["A", "B"], ["A"], np.nan, ["A", "B", "A (paper)"]),
        # Twelve entries at most.
        (
            MODELS,
            [f"Their {i}" for i in range(6)],
            0.5,
            [
                *(*MODELS[:6], "5 other models"),
                *("the same models (paper)", "6 other models (paper)"),
            ],
        ),
    ],
)
def test_a_legend_has_our_models_and_the_papers(ours, theirs, printed, labels):
    other = frame_of(theirs).assign(source="published", published=0.6)
    frame = pd.concat([frame_of(ours, published=printed), other], ignore_index=True)
    figure = shown(PLAIN, frame, models=ours, published={name: name.upper() for name in ours})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels
    for line in lines_of(figure.axes[0], f"{theirs[0]} (paper)"):
        assert line.get_linestyle() == "--" and to_hex(line.get_color()) != REST[0]


def test_ends_of_an_axis_are_named_within_it():
    drawing = Lines(x="length", panel="lang", columns=6, scaled=True, nothing="nobody answered")
    factors = {**FACTORS, "length": Factor("length", words={0: "start", 5: "middle", 10: "end"})}
    frame = frame_of(langs=[f"l{i}" for i in range(6)], lengths=(0, 5, 10))
    for ax in laid_out(only(draw(drawing, frame, factors, {}))).axes:
        first, *_, last = ax.get_xticklabels()
        assert (first.get_text(), last.get_text()) == ("start", "end")
        low, high = ax.get_xlim()
        assert low < 0 and high > 10


@pytest.mark.parametrize("n", [5, 33])
def test_an_axis_of_shares_is_in_percent(n):
    """Also its round numbers, where there are too many places to name."""
    drawing = Lines(x="depth", scaled=True, nothing="nobody answered")
    words = {0: "start", 1: "end"}
    factors = {**FACTORS, "depth": Factor("depth", "double", percent=100, words=words)}
    places = [i / (n - 1) for i in range(n)]
    frame = frame_of(langs=("en",), lengths=places).rename(columns={"length": "depth"})
    (ax,) = laid_out(only(draw(drawing, frame, factors, {}))).axes
    first, *between, last = [text for tick in ax.get_xticklabels() if (text := tick.get_text())]
    assert (first, last) == ("start", "end")
    assert "50%" in between or n > 5
    assert between and all(re.fullmatch(r"\d+%", text) for text in between)


def test_shares_begin_at_0_and_every_interval_is_inside():
    drawing = replace(PLAIN, limits=None)
    (ax, *_) = shown(drawing, frame_of(ci_low=0.55, ci_high=0.7)).axes
    assert ax.get_ylim()[0] <= 0
    drawing = replace(drawing, limits=(0.0, 0.5))
    (ax, *_) = shown(drawing, frame_of(ci_low=-0.3, ci_high=0.7)).axes
    low, high = ax.get_ylim()
    assert low < -0.3 and high > 0.7 and ax.get_ylabel() == "Accuracy (%)"


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
    names = [f"model {i}" for i in range(9)]
    drawing = replace(PLAIN, panel="model", row=("lang",), words="Plain.")
    pages = draw(drawing, frame_of(names, langs=("l0", "l1", "l2")), FACTORS, {})
    for page in pages:
        width, height = page.get_size_inches()
        assert width <= PAGE and height <= TALLEST
        text = words(page)
        # A block of panels has the models' names above it, whichever page it is on.
        assert "model" in text and "Language" in text and "Plain. n" in text
    assert sum(len(page.axes) for page in pages) == 9 * 3
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


def test_rows_of_one_model_stand_on_one_page():
    names = MODELS[:7]
    frame = frame_of(names)
    kinds = pd.concat([frame.assign(kind=kind) for kind in "xyz"], ignore_index=True)
    pages = draw(
        replace(MAP, x="lang", down="source", panel="length", row=("model", "kind")),
        kinds,
        FACTORS,
        {},
    )
    found = [{name for name in names if f"{name} " in words(page)} for page in pages]
    assert len(pages) > 1 and sum(map(len, found)) == len(names)


def test_lines_are_not_moved_to_the_next_value():
    """Seven close positions: all lines stay nearer to theirs. Those that do not fit are not named."""
    names, at = MODELS[:6], [1, 2, 3, 4, 5, 6, 300]
    drawing = Lines(x="length", scaled=True, nothing="nobody answered")
    factors = {**FACTORS, "length": Factor("length")}
    frame = frame_of(names, langs=("en",), lengths=at)
    (ax,) = laid_out(only(draw(drawing, frame, factors, {}))).axes
    for name in names:
        x = lines_of(ax, name)[0].lines[0].get_xdata()
        assert max(abs(np.asarray(x) - at)) <= 0.25
    named = [label.get_text() for label in ax.get_xticklabels()]
    assert named == ["1", *[""] * 5, "300"]


def test_languages_are_all_named_on_a_narrow_axis():
    langs = [f"l{i:02}" for i in range(26)]
    figure = shown(PLAIN, frame_of(langs=langs))
    for ax in figure.axes:
        assert [label.get_text() for label in ax.get_xticklabels()] == langs
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(boxes))


def test_many_bars_lie_and_their_long_names_apart():
    names = [f"mistral-7b-instruct-v0.{i}" for i in range(15)]
    frame = frame_of(names, lengths=(1024,))
    (ax,) = shown(Bars(x="model", line="lang", nothing="nobody answered"), frame).axes
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    assert len(ax.patches) == 30 and min(box.x0 for box in boxes) >= 0
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


def test_a_style_of_narrower_pages_is_kept():
    (figure,) = draw(PLAIN, frame_of(), FACTORS, {}, Printing(width=5.5))
    check_print(laid_out(figure), wide=5.5)
    assert figure.get_size_inches()[0] == 5.5 > COLUMN


def test_half_right_is_half_way_up_the_colours():
    figure = shown(NEW["heatmap"], frame_of(value=0.5))
    (bar,) = [ax for ax in figure.axes if not ax.get_title()]
    assert bar.get_xlim() == (0, 1) and figure.axes[0].get_title() == "a"
    cells = {to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches}
    assert cells == {to_hex(LinearSegmentedColormap.from_list("heat", HEAT)(0.5))}


MANY = Bars(x="lang", panel="length", nothing="")
MAP = Heatmap(x="lang", down="length", panel="model", nothing="")


@pytest.mark.parametrize(
    ("drawing", "sign"), [(PLAIN, "Ringed"), (MANY, "Ringed"), (MAP, "With an asterisk")]
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
    found = [one for ax in figure.axes for one in ax.collections]
    rings = sum(len(c.get_offsets()) for c in found if type(c).__name__ == "PathCollection")
    assert rings == 4 * (sign == "Ringed") and (text.count("60*") == 4) == (sign != "Ringed")


def test_missing_answers_and_intervals_are_told():
    frame = frame_of()
    frame.loc[0, ["n_skipped", "n_error"]] = [4, 2]
    frame.loc[frame["length"] == 2048, "value"] = np.nan
    text = words(shown(PLAIN, frame))
    assert "6 answers skipped or failed" in text and "no answer" in text
    with pytest.raises(NothingToDraw, match="every answer was skipped or failed"):
        shown(PLAIN, frame_of(value=np.nan))
    # A bar without width is no interval.
    assert "intervals" not in words(shown(PLAIN, frame_of(ci_low=0.6, ci_high=0.6)))


def test_lines_and_bars_of_few_answers_are_left_out():
    frame = frame_of()
    few = frame.assign(n=frame["n"].mask((frame["model"] == "a") & (frame["lang"] == "de"), 9))
    for drawing in (PLAIN, MANY, NEW["dots"], NEW["points"]):
        assert "Not drawn" not in words(shown(drawing, frame))
        figure = shown(drawing, few)
        text = words(figure)
        assert f"Not drawn: {drawing.mark}s of fewer than 10 prompts" in text
        assert f"n\u00a0=\u00a010 prompts per {drawing.mark}" in text
        (a, *_), (b, *_) = (lines_of(figure.axes[0], name) for name in "ab")
        if drawing in (MANY, PLAIN):
            a, b = a[0], b[0]
        if drawing is not MANY:
            assert (len(a.get_xdata()), len(b.get_xdata())) == (1, 2)
    assert len(shown(MANY, few).axes[0].patches) == 3


def test_panels_of_mostly_few_answers_are_left_out():
    frame = frame_of()
    frame["n"] = frame["n"].mask((frame["length"] == 1024) & (frame["model"] == "a"), 9)
    assert len(shown(PLAIN, frame).axes) == 2
    frame.loc[0 if frame["n"][0] == 10 else 4, "n"] = 9
    (ax,) = shown(PLAIN, frame).axes
    assert ax.get_title() == "2K"
    with pytest.raises(NothingToDraw, match="most points are of fewer than 10 prompts; the CSV"):
        shown(PLAIN, frame.assign(n=9))
    # What never was an answer of a model has no such limit.
    texts = replace(PLAIN, least=1)
    assert len(shown(texts, frame.assign(n=9)).axes) == 2


def test_cells_of_few_answers_have_no_colour():
    few = frame_of(value=1.0)
    few["n"] = few["n"].mask(few["lang"] == "de", 9)
    figure = shown(MAP, few)
    assert "Grey: accuracy (%) of fewer than 10 prompts." in words(figure)
    *panels, _ = figure.axes
    cells = [to_hex(patch.get_facecolor()) for ax in panels for patch in ax.patches]
    assert cells.count("#ffffff") == 4 and cells.count(HEAT[-1]) == 4
    assert [text.get_text() for ax in panels for text in ax.texts] == ["100"] * 8
    # Without any colour, there is no bar that explains them.
    assert len(shown(MAP, few.assign(n=9)).axes) == len(panels)


def test_axes_of_a_heat_map_are_named_once():
    """With few rows the names lay on each other, and "Length" seemed to be the colour bar's."""
    factors = {**FACTORS, "model": Factor("model", label="Model")}
    frame = frame_of(("a", "b", "c"), langs=("en", "de", "hi"))
    drawing = Heatmap(x="length", down="model", panel="lang", row=("kind",), nothing="")
    kinds = pd.concat([frame.assign(kind=kind) for kind in "xyz"], ignore_index=True)
    figure = laid_out(only(draw(drawing, kinds, factors, {})))
    text = words(figure).split("\n")
    assert text.count("Model") == 1 and text.count("Context length") == 1
    *panels, _ = figure.axes
    (name,) = [ax.xaxis.label for ax in panels if ax.get_xlabel()]
    top = max(label.get_window_extent().y1 for label in panels[0].get_xticklabels())
    titles = {round(ax.title.get_window_extent().y0) for ax in panels if ax.get_title()}
    assert len(titles) == 1 and top <= name.get_window_extent().y0
    assert name.get_window_extent().y1 <= min(titles) + 1
    (down,) = [one for one in figure.texts if one.get_text() == "Model"]
    assert all(down.get_window_extent().x1 < ax.get_window_extent().x0 for ax in panels)


def test_the_name_of_an_axis_beside_long_names_is_whole():
    frame = frame_of(("an-extremely-long-model-name-7b",), langs=("en",), lengths=(1024,))
    long = replace(MANY, axis="Slope", unit="normalised score a bucket")
    drawing = replace(long, x="model", horizontal=True, panel="")
    figure = shown(drawing, frame)
    box = figure.axes[0].xaxis.label.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.get_size_inches()[0] * figure.dpi


def test_points_of_equal_value_do_not_hide_each_other():
    (ax,) = shown(NEW["points"], frame_of()).axes
    (first,), (second,) = lines_of(ax, "a"), lines_of(ax, "b")
    assert list(first.get_xdata()) == list(second.get_xdata())
    assert (np.asarray(first.get_ydata()) < second.get_ydata()).all()


# Colours, in CIELAB with the white of D65


# Machado, Oliveira and Fernandes (2009), of linear RGB, at full severity.
SEEN = {
    "normal": "1 0 0 0 1 0 0 0 1",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.01182 0.04294 0.968881",
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
}
XYZ = np.reshape("0.4124 0.3576 0.1805 0.2126 0.7152 0.0722 0.0193 0.1192 0.9505".split(), (3, 3))
XYZ = XYZ.astype(float) / [[0.9505], [1], [1.089]]


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour, eye="normal"):
    """Lightness, and the coordinates of hue, as this eye sees the colour."""
    seen = np.reshape(SEEN[eye].split(), (3, 3)).astype(float)
    xyz = XYZ @ np.clip(seen @ linear(colour), 0, 1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(colour, ground):
    """How many times brighter one is than the other, as WCAG counts it."""
    low, high = sorted((XYZ @ linear(each))[1] + 0.05 for each in (colour, ground))
    return high / low


def test_each_colour_stands_out_on_its_page():
    ordered = [colour for n in range(1, 10) for colour in ordered_colours(n)]
    assert min(contrast(colour, GROUND) for colour in (*COLOURS, *ordered)) >= 3
    dark = [DARK.get(colour.lower(), colour) for colour in COLOURS]
    assert min(contrast(colour, DARK_GROUND) for colour in dark) >= 3
    assert on_pages(COLOURS[2]) == f"light-dark({COLOURS[2]}, {dark[2]})" != on_pages(COLOURS[0])


def test_colours_differ_in_grey_print_and_to_every_eye():
    lightness = [lab(colour)[0] for colour in COLOURS]
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 4
    assert min(abs(a - b) for a, b in pairwise(lightness[:6])) > 14
    for eye in SEEN:
        seen = [lab(colour, eye) for colour in COLOURS]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 22
    ramp = [lab(colour)[0] for colour in ordered_colours(5)]
    assert all(a - b > 7 for a, b in pairwise(ramp))


def test_a_page_explains_its_own_marks():
    frame = frame_of(langs=[f"l{i}" for i in range(9)])
    drawing = replace(PLAIN, panel="", row=("lang",), x="length")
    frame.loc[frame["lang"] == "l0", "published"] = 0.5
    first, *others = map(words, draw(drawing, frame, FACTORS, {}))
    assert "Dashed: the paper's Table 9." in first and others
    assert not any("Dashed" in text for text in others)


def test_a_panel_without_rows_is_not_drawn():
    frame = frame_of()
    frame = frame[~((frame["model"] == "a") & (frame["length"] == 1024))]
    drawing = replace(PLAIN, panel="model", row=("length",))
    figure = shown(drawing, frame)
    assert len(figure.axes) == 3 and "not run" not in words(figure)
    # Each panel is named where its first one stands, and the first of a row has the numbers.
    first, second, _ = figure.axes
    assert (first.get_title(), second.get_title()) == ("b", "a")
    assert all(ax.yaxis.get_tick_params()["labelleft"] for ax in (first, second))
    # Rows without a panel stand in all.
    level = frame_of(models=("a",), langs=(None,), lengths=(None,), value=0.9)
    data = pd.concat([frame_of(models=("a",)), level], ignore_index=True)
    for ax in shown(PLAIN, data).axes:
        assert any(list(line.get_ydata()) == [0.9, 0.9] for line in ax.lines)


def test_a_number_of_the_papers_is_drawn_as_printed():
    frame = frame_of(models=("a",), lengths=(1024,), published=0.25)
    (ax,) = shown(PLAIN, frame, published={"a": "Model A"}).axes
    (line,) = lines_of(ax, "Model A (paper)")
    assert list(line.get_ydata()) == [0.25, 0.25] and line.get_linestyle() == "--"


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


def test_files_hold_text_fonts_notes_and_colours_for_the_dark(tmp_path):
    pages = draw(PLAIN, frame_of(published=0.5), FACTORS, {})
    save_figure(pages, tmp_path / "figure")
    save_notes(pages, tmp_path / "figure.txt")
    note = (tmp_path / "figure.txt").read_text()
    assert note.startswith("n\u00a0=\u00a010 prompts per point") and "95% intervals" in note
    text, pdf = (tmp_path / "figure.svg").read_text(), (tmp_path / "figure.pdf").read_bytes()
    assert ">Language</text>" in text
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"CreationDate" not in pdf
    dark, drawn = re.search(r"<style[^>]*>(@media.*?)</style>(.*)", text, flags=re.S).groups()
    assert dark.startswith("@media (prefers-color-scheme:dark){")
    # Every colour that is no line's has a rule, and stands in the file as it is printed.
    found = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", drawn))
    assert found - set(map(str.lower, COLOURS)) <= set(DARK) and "#ffffff" in found
    assert all(f'[style*="stroke: {light}"]' in dark for light in DARK)
    assert "svg.drawn{fill:currentColor}" in dark and '<svg class="drawn"' in text


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
        return
    assert left["model"].unique().tolist() == ["a"] and left["published"].isna().all()
    assert without_incomparable(left) is left
    assert PLAIN.paper_look not in words(shown(PLAIN, left))
    assert PLAIN.paper_look in words(shown(PLAIN, both))
