"""Draw the pictures of README.md and docs/results.md from the committed results in docs/results/.

python docs/generate_pictures.py           draws them
python docs/generate_pictures.py --check   fails if one is not of the numbers that are there

Each PNG holds the sha256 of its numbers.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS, IMAGES = ROOT / "docs/results", ROOT / "docs/images"
sys.path.insert(0, str(ROOT / "workflow/scripts"))

import pandas as pd  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from needlework.benchmarks.benchmark import load_benchmark  # noqa: E402
from needlework.results import reproduction  # noqa: E402
from needlework.results.drawing.grid import figure_of  # noqa: E402
from needlework.results.drawing.style import COLOURS, COLUMN, PAGE, style  # noqa: E402

READING: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
# The key of a PNG's text that has the digest.
NUMBERS = "Numbers"
# Questions without documents, and with theirs alone: levels beside the curve.
LEVELS = {"its document alone": COLOURS[2], "closed book": COLOURS[1]}


class Picture(NamedTuple):
    """A table of docs/results and what draws it."""

    table: str
    draw: Callable[[pd.DataFrame], Figure]

    @property
    def digest(self) -> str:
        """The sha256 of the table."""
        return hashlib.sha256((RESULTS / self.table).read_bytes()).hexdigest()

    def read(self) -> pd.DataFrame:
        """The table."""
        return pd.read_csv(RESULTS / self.table, **READING)


def by_position(table: pd.DataFrame) -> Figure:
    """Accuracy by the document's position, and the levels of the table, with 95% intervals."""
    curve = table[table["index"].notna()]
    levels = table[table["prompt"].isin(LEVELS)]
    with style():
        figure = figure_of(COLUMN, 2.3)
        ax = figure.subplots()
        position = curve["index"].astype(int) + 1
        bars = [curve["share"] - curve["low"], curve["high"] - curve["share"]]
        look = {"color": COLOURS[0], "marker": "o", "label": curve["prompt"].iloc[0]}
        ax.errorbar(position, curve["share"], yerr=bars, **look)
        for row in levels.itertuples():
            colour = LEVELS[row.prompt]
            ax.axhline(row.share, color=colour, linestyle=":", label=row.prompt)
            ax.axhspan(row.low, row.high, color=colour, alpha=0.12, linewidth=0)
        ax.set(xlim=(0.5, 10.5), ylim=(0, table["high"].max() + 0.05))
        ax.set_xlabel("Position of the document with the answer")
        ax.set_xticks([1, 5, 10])
        ax.set_ylabel("Accuracy")
        if len(levels):
            figure.legend(loc="outside upper center", ncols=2, fontsize=6)
        note = f"n = {int(curve['n'].min())} questions a point. 95% intervals over questions."
        figure.supxlabel(note, x=0.01, ha="left", fontsize=6, color="#555555")
    return figure


def no_model(table: pd.DataFrame) -> Figure:
    """Printed numbers that need no model, and ours."""
    titles = {name: load_benchmark(name).title for name in table["benchmark"].unique()}
    missing = {"ci_low": float("nan"), "ci_high": float("nan"), "link": ""}
    return reproduction.picture(table.assign(**missing), titles)


# Lengths as the picture of the papers writes them.
LENGTHS = {"8000": "8K", "32000": "32K", "64000": "64K", "128000": "128K"}


def between_papers(found: pd.DataFrame) -> Figure:
    """Orders by two models, orders of two papers, and what length and depth cost: three panels."""
    with style():
        figure = figure_of(PAGE, 2.9)
        axes = figure.subplots(1, 3, width_ratios=(1, 1, 1))
        _pairs(axes[0], found[found["topic"] == "languages"])
        papers = found[found["topic"] == "languages of two papers"]
        _bars(axes[1], papers, [_short(name) for name in papers["first"]], 1)
        axes[1].set(title="Two papers, 6 languages", xlabel="Kendall's τ", xlim=(-1.05, 1.05))
        costs = found[found["topic"].isin(["length", "depth"])]
        names = [f"{_short(row.first)}, {row.topic}" for row in costs.itertuples()]
        _bars(axes[2], costs, names, 100)
        axes[2].set(title="Length and depth", xlabel="change in points")
    return figure


def _pairs(ax: Axes, rows: pd.DataFrame) -> None:
    """A dot for each pair of models and length, with its interval."""
    places = {at: i for i, at in enumerate(LENGTHS)}
    for i, (_, own) in enumerate(rows.groupby(["first", "second"], sort=False)):
        x = own["at"].map(places) + (i - 7) * 0.05
        bars = [own["value"] - own["low"], own["high"] - own["value"]]
        ax.errorbar(
            x,
            own["value"],
            yerr=bars,
            fmt="o",
            markersize=2,
            capsize=0,
            linewidth=0.7,
            color=COLOURS[0],
        )
    ax.axhline(0, color="#555555", linewidth=0.6)
    ax.set(title="Two models, 26 languages", ylabel="Kendall's τ", ylim=(-0.35, 1.05))
    ax.set_xticks(list(places.values()), list(LENGTHS.values()))


def _bars(ax: Axes, rows: pd.DataFrame, names: list[str], scale: float) -> None:
    values, low, high = (rows[name].to_numpy() * scale for name in ("value", "low", "high"))
    ys = range(len(rows))
    ax.errorbar(
        values, ys, xerr=[values - low, high - values], fmt="o", color=COLOURS[1], linewidth=0.9
    )
    ax.axvline(0, color="#555555", linewidth=0.6)
    ax.set_yticks(list(ys), names, fontsize=6)
    ax.invert_yaxis()


def _short(name: str) -> str:
    return name.replace("-Instruct-v0.2", "").replace("-Instruct", "").replace("Cohere-", "")


PICTURES = {
    "natural_questions.png": Picture("natural_questions_300.csv", by_position),
    "lost_in_the_middle_figure5.png": Picture("demo_positions.csv", by_position),
    "no_model.png": Picture("no_model.csv", no_model),
    "between_papers.png": Picture("between_papers.csv", between_papers),
}


def stale() -> list[str]:
    """The pictures that are missing or of other numbers."""
    from PIL import Image

    found = []
    for name, picture in PICTURES.items():
        file = IMAGES / name
        if not file.is_file() or Image.open(file).info.get(NUMBERS) != picture.digest:
            found.append(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if names := stale():
            sys.exit(f"{', '.join(names)}: run python docs/generate_pictures.py")
        return
    for name, picture in PICTURES.items():
        metadata = {"Software": None, NUMBERS: picture.digest}
        with style():
            picture.draw(picture.read()).savefig(IMAGES / name, dpi=200, metadata=metadata)


if __name__ == "__main__":
    main()
