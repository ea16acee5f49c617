"""Heat maps: accuracy in percent, light to dark, the paper's number beneath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.results.drawing.grid import Size, finished, laid_out
from needlework.results.drawing.picture import Picture
from needlework.results.drawings import Heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From 0 to 1; most accuracies are high, so half of the colours are for those above 0.75.
HEAT = ("#fbfaf7", "#dfe6ee", "#a9c1d9", "#6a86b8", "#5a4a94", "#331a4f")
INK, ORANGE = "#222222", "#D55E00"


def draw(picture: Picture) -> Figure:
    """A panel with a cell for each value of `Drawing.x` and `Heatmap.down`."""
    spec = picture.spec
    assert isinstance(spec, Heatmap)
    (x,) = picture.across
    columns, names = picture.values(x), picture.values(spec.down)
    printed = bool(picture.data["printed"].notna().any())
    # A little space parts the mean from what it is of.
    after = names.index(spec.margin) if spec.margin in names else len(names)
    y = {name: i + (0.35 if i > after else 0) for i, name in enumerate(names)}
    tall = (len(names) + 0.35) * (0.27 if printed else 0.2) + 0.45
    size = Size(len(columns) * 0.27 + 0.1, len(columns) * 0.52 + 0.1, tall, left=0.95)
    figure, panels = laid_out(picture, size)
    shade = _shade()
    tinted = picture.data.query(spec.tinted[0])[spec.down] if spec.tinted else ()
    for ax, row, data in panels:
        for cell in data.to_dict("records"):
            _cell(ax, cell, columns.index(cell[x]), y[cell[spec.down]], shade, spec.value, printed)
        ax.set_title(ax.get_title(), pad=14, fontweight="bold")
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(max(y.values()) + 0.5, -0.5)
        ax.set_xticks(range(len(columns)), [picture.tick(x, value) for value in columns])
        if ax.get_subplotspec().colspan.start == 0:
            ax.set_yticks([*y.values()], [picture.called(spec.down, name) for name in names])
        for label, name in zip(ax.get_yticklabels(), names, strict=False):
            label.set_color(ORANGE if name in set(tinted) else INK)
            label.set_fontweight("bold" if name == spec.margin else "normal")
        ax.xaxis.tick_top()
        ax.tick_params(length=0, pad=1.5)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    wide = float(figure.get_size_inches()[0]) > 5
    bar = figure.colorbar(
        shade, ax=[ax for ax, *_ in panels], location="bottom", fraction=0.02, pad=0.01,
        aspect=60 if wide else 35, shrink=0.5 if wide else 0.9,
    )  # fmt: skip
    bar.set_ticks([0, 0.5, 0.75, 0.9, 1], labels=["0", "50", "75", "90", "100%"])
    bar.outline.set_linewidth(0.4)
    finished(figure, picture, panels)
    return figure


def _cell(
    ax: Axes,
    cell: dict[str, Any],
    left: float,
    middle: float,
    shade: Any,
    value: str,
    printed: bool,
) -> None:
    """A cell with its number; with a dot where its prompts are short."""
    from matplotlib.patches import Rectangle

    number, paper = cell[value], cell["printed"]
    known = number == number and number is not None
    colour = shade.to_rgba(number) if known else (1, 1, 1, 1)
    box = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8}
    ax.add_patch(Rectangle((left - 0.5, middle - 0.5), 1, 1, **box))
    # Of the colour's luminance, as the eye weighs red, green and blue.
    dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.58
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": "white" if dark else INK}
    words = f"{100 * number:.0f}" if known else "\u2013"
    ax.text(left, middle - (0.16 if printed else 0.0), words, fontsize=6.5, **look)
    if paper == paper:
        small = {"fontsize": 4.6, "alpha": 0.8, "style": "italic"}
        ax.text(left, middle + 0.27, f"{100 * paper:.0f}", **small, **look)
    if cell.get("n_exhausted"):
        ax.plot(left + 0.38, middle - 0.36, ".", color=look["color"], markersize=2.5)


def _shade() -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    return ScalarMappable(PowerNorm(2.4, 0, 1), LinearSegmentedColormap.from_list("heat", HEAT))
