"""What the comparisons of papers say: a page of sentences that are computed, and one figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from needlework.results.drawing.grid import figure_of
from needlework.results.drawing.style import COLOURS, PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LENGTHS = {"8000": "8K", "32000": "32K", "64000": "64K", "128000": "128K"}


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _with_interval(row: pd.Series, scale: float = 1, digits: int = 2) -> str:
    ends = (row["value"], row["low"], row["high"])
    value, low, high = (_number(end * scale, digits) for end in ends)
    return f"{value} [{low}, {high}]"


def sentences(found: pd.DataFrame) -> list[str]:
    """What can be concluded, a paragraph each, and what cannot."""
    topics = {str(name): part for name, part in found.groupby("topic", sort=False)}
    said = [_of_models(topics["languages"]), _of_papers(topics["languages of two papers"])]
    said += [_of_orders(topics["models"]), _of_length(topics["length"]), _of_depth(topics["depth"])]
    for row in topics.get("languages of the run", found[:0]).to_dict("records"):
        said.append(
            f"**The run.** {row['first']} and ONERULER's models order {row['items']} languages with "
            f"τ = {_number(row['value'])} [{_number(row['low'])}, {_number(row['high'])}]."
        )
    return [*said, _limits(topics)]


def _of_models(rows: pd.DataFrame) -> str:
    spans, reaching = [], []
    for at, own in rows.groupby("at", sort=False):
        ends = _number(own["value"].min()), _number(own["value"].max())
        spans.append(f"{ends[0]} to {ends[1]} at {_LENGTHS[str(at)]}")
        reaching.append(f"{(own['low'] <= 0).sum()} at {_LENGTHS[str(at)]}")
    return (
        f"**Which languages are hard depends on the model.** ONERULER asks six models in "
        f"{own['items'].iloc[0]} languages. Kendall's τ between two models' orders is {', '.join(spans)}. "
        f"Of the {len(own)} intervals of each length, so many reach 0: {', '.join(reaching)}. "
        f"The highest end of any interval is {_number(rows['high'].max())}."
    )


def _of_papers(rows: pd.DataFrame) -> str:
    needle = rows[rows["first"].str.endswith("needle")]
    haystack = rows[rows["first"].str.endswith("haystack")]
    against = int((haystack["high"] < 0).sum())
    return (
        f"**Two papers agree on languages of needles, and not on those of haystacks.** MLNeedle and ONERULER "
        f"share {rows['items'].iloc[0]} languages. By the needle's language, MLNeedle's three models "
        f"order them as ONERULER's mean does: τ is {_number(needle['value'].min())} to "
        f"{_number(needle['value'].max())}, {(needle['low'] > 0).sum()} of {len(needle)} "
        f"intervals are above 0, and p is {needle['p'].min():.3f} to {needle['p'].max():.3f}. "
        f"By the haystack's, τ is {_number(haystack['value'].min())} to "
        f"{_number(haystack['value'].max())}, for {against} of {len(haystack)} models below 0; p is "
        f"{haystack['p'].min():.3f} or more. ONERULER changes both languages at once, and so "
        "cannot tell them apart."
    )


def _of_orders(rows: pd.DataFrame) -> str:
    tau = rows[rows["kind"] == "tau"].iloc[0]
    one, other = (rows[rows["paper"] == name].iloc[0] for name in ("lost_in_the_middle", "m4le"))
    word = "includes" if other["low"] <= 0 <= other["high"] else "excludes"
    return (
        f"**Orders of models.** ONERULER's {tau['items']} models keep their order from 8K to 128K with "
        f"τ = {_with_interval(tau)}, p = {tau['p']:.3f}. Two papers asked two same models about "
        f"Natural Questions: GPT-3.5-Turbo (16K) is {_with_interval(one, 100, 1)} points above LongChat-13B "
        f"in Lost in the Middle, and {_with_interval(other, 100, 1)} in M4LE, whose interval {word} 0."
    )


def _of_length(rows: pd.DataFrame) -> str:
    own = rows[rows["paper"] == "mlneedle"].iloc[0]
    others = rows[rows["paper"] == "oneruler"]
    lost = int((others["high"] < 0).sum())
    return (
        f"**Length.** From 8K to 32K, MLNeedle's Mistral-7B changes by "
        f"{_with_interval(own, 100, 1)} points. ONERULER's models change by "
        f"{_number(others['value'].min() * 100, 1)} to "
        f"{_number(others['value'].max() * 100, 1)}; the interval is below 0 for {lost} of "
        f"{len(others)}. "
        "No model is in both."
    )


def _of_depth(rows: pd.DataFrame) -> str:
    lost = int((rows["high"] < 0).sum())
    return (
        f"**Depth.** In Lost in the Middle, the tenth of 20 documents is worse than the first by "
        f"{_number(-rows['value'].max() * 100, 1)} to {_number(-rows['value'].min() * 100, 1)} points; "
        f"the interval is below 0 for {lost} of {len(rows)} models."
    )


def _limits(topics: Mapping[str, pd.DataFrame]) -> str:
    asked, models = topics["depth"]["n"].max(), topics["models"]
    prompts = models[models["paper"] == "lost_in_the_middle"]["n"].iloc[0]
    return (
        "**What cannot be concluded.** The number of needles has no common ground: mLongRR prints four "
        "numbers without an n. Only Lost in the Middle prints numbers by the place of the needle. Intervals "
        "take prompts for independent, also those that ask one question again (Lost in the Middle's "
        f"{prompts:,} prompts are {asked:,} questions at {prompts / asked:g} places), and so can be too "
        "narrow. They are not corrected for the number of comparisons: of 20, one may miss. p is of a "
        "permutation test of no agreement. Models, prompts and years differ between papers, "
        "so a difference between papers has no single cause."
    )


def page(found: pd.DataFrame, factors: str = "") -> str:
    """The page, in Markdown, with the table of a run's `factors` if there is one."""
    intro = (
        "Made by `snakemake between_papers` of printed numbers alone ([the data set](published.md)). "
        "Brackets are 95% intervals that redraw each share from its printed n, around a value that its print "
        "rounds to."
    )
    parts = ["# Do the papers agree?", intro, *sentences(found), factors.strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def draw(found: pd.DataFrame) -> Figure:
    """Orders by two models, orders of two papers, and what length and depth cost: three panels."""
    with style():
        figure = figure_of(PAGE, 2.9)
        axes = figure.subplots(1, 3, width_ratios=(1, 1, 1))
        _pairs(axes[0], found[found["topic"] == "languages"])
        papers = found[found["topic"].isin(["languages of two papers", "languages of the run"])]
        _bars(axes[1], papers, [_short(name) for name in papers["first"]], 1)
        axes[1].set(title="Two papers, 6 languages", xlabel="Kendall's τ", xlim=(-1.05, 1.05))
        costs = found[found["topic"].isin(["length", "depth"])]
        names = [f"{_short(row.first)}, {row.topic}" for row in costs.itertuples()]
        _bars(axes[2], costs, names, 100)
        axes[2].set(title="Length and depth", xlabel="change in points")
    return figure


def _pairs(ax: Axes, rows: pd.DataFrame) -> None:
    """A dot for each pair of models and length, with its interval."""
    places = {at: i for i, at in enumerate(_LENGTHS)}
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
    ax.set_xticks(list(places.values()), list(_LENGTHS.values()))


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
