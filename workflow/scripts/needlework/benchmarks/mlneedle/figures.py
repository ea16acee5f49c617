"""MLNeedle's figures 1 and 3 to 8, each drawn from a table of `figure_data` and nothing else.

A model has the same colour and marker in every figure. Bars are intervals over questions (`stats`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlneedle import factors, figure_data
from needlework.benchmarks.mlneedle.factors import Settings
from needlework.benchmarks.mlneedle.figure_data import RESOURCES, TASKS
from needlework.cells import length_label
from needlework.figures import panels as parts
from needlework.figures.panels import Plot
from needlework.figures.style import (
    COLUMN,
    MARKERS,
    PAGE,
    PUBLISHED_COLOUR,
    language_name,
    ordered_colours,
    style,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSITIONS = {"start": 0.0, "middle": 0.5, "end": 1.0}


def figure1(data: pd.DataFrame, settings: Settings) -> Figure:
    """A radar: one axis a language, one line a model."""
    ours = data[data["source"] == "ours"]
    if ours.empty:
        return parts.nothing("no model answered prompts whose needle and haystack share a language")
    langs = factors.languages(data["needle_lang"])
    angles = [2 * math.pi * i / len(langs) for i in range(len(langs))]
    ring = [*range(len(langs)), 0]
    looked = parts.looked(ours, settings.get("models", ()))
    with style():
        figure = parts.figure_of(COLUMN, COLUMN * 1.22)
        ax: Any = figure.add_subplot(projection="polar")
        ax.set_theta_offset(math.pi / 2)
        ax.set_theta_direction(-1)
        for i, (model, (colour, marker)) in enumerate(looked.items()):
            rows = ours[ours["model"] == model].set_index("needle_lang").reindex(langs).iloc[ring]
            turn = (i - (len(looked) - 1) / 2) * 0.035
            theta = [angles[k] + turn for k in ring]
            parts.measured(ax, theta, rows, colour, marker, model)
            if rows["published"].notna().any():
                parts.printed(ax, theta, rows["published"], colour, marker, model)
        for name, marker in parts.not_run(data):
            rows = data[(data["source"] == "published") & (data["model"] == name)]
            values = rows.set_index("needle_lang")["value"].reindex(langs).iloc[ring]
            theta = [angles[k] for k in ring]
            parts.printed(ax, theta, values, PUBLISHED_COLOUR, marker, name)
        ax.set_xticks(angles, [language_name(lang) for lang in langs])
        ax.tick_params(axis="x", pad=-1)
        for label, angle in zip(ax.get_xticklabels(), angles, strict=True):
            sideways = round(math.sin(angle), 6)
            label.set_ha("left" if sideways > 0 else "right" if sideways < 0 else "center")
        ax.set_ylim(0, 1)
        ax.set_yticks([0.25, 0.5, 0.75, 1.0], ["0.25", "0.5", "0.75", "1"], color="#555555", size=6)
        ax.set_rlabel_position(180 / len(langs))
        for label in ax.get_yticklabels():
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6})
        ax.spines["polar"].set_color("#bbbbbb")
        parts.legend(figure, [ax])
        paper = parts.if_published(
            data, "the paper's Table 2, which is of the longest length alone"
        )
        words = "Exact accuracy outwards, mean of all lengths."
        parts.footnote(figure, f"{words} {parts.counted(ours)} {parts.INTERVALS}{paper}")
    return figure


def figure3(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a length, needle languages across, one line a model."""
    ours = data[data["source"] == "ours"]
    if ours[ours["length"] > 0].empty:
        return parts.nothing("no model answered prompts with an English haystack")
    here = sorted(set(ours["length"]))
    data = data[data["length"].isin(here)]
    langs = factors.languages(data["needle_lang"])
    with style():
        figure, panels = parts.grid(len(here), ncols=min(3, len(here)))
        for ax, length in zip(panels, here, strict=True):
            part = data[data["length"] == length]
            _lines(ax, part, "needle_lang", langs, settings)
            ax.set_title(_tokens(length) if length else "No distractors")
            parts.unit_axis(ax)
        parts.outer_labels(panels, "Needle language", "Exact accuracy")
        parts.legend(figure, panels)
        paper = parts.if_published(data, "the paper's Table 2, haystack English")
        parts.footnote(figure, f"Haystack English. {parts.counted(ours)} {parts.INTERVALS}{paper}")
    return figure


def figure4(data: pd.DataFrame, settings: Settings) -> Figure:
    """Rows: resources of the needle's language; columns: lengths; one line a model."""
    if data.empty:
        return parts.nothing("no model answered prompts with a haystack")
    titles = {
        **{
            name: f"{name.capitalize()} resource\n({', '.join(RESOURCES[name])})"
            for name in RESOURCES
        },
        "other": "Other languages",
    }
    rows = [name for name in titles if name in set(data["resources"])]
    here = sorted(set(data["length"]))
    with style():
        figure, panels = parts.grid(len(rows) * len(here), ncols=len(here))
        for i, ax in enumerate(panels):
            row, length = rows[i // len(here)], here[i % len(here)]
            part = data[(data["resources"] == row) & (data["length"] == length)]
            _lines(ax, part, "depth", None, settings)
            _position_axis(ax, data)
            parts.unit_axis(ax)
            if row == rows[0]:
                ax.set_title(_tokens(length))
            if length == here[-1]:
                parts.row_title(ax, titles[row])
        parts.outer_labels(panels, _position_words(data), "Exact accuracy")
        parts.legend(figure, panels)
        parts.footnote(figure, f"{parts.counted(data)} {parts.INTERVALS}")
    return figure


def figure5(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model, one line a length; dark: one standard error, light: 95% over questions."""
    if data.empty:
        return parts.nothing("no model answered prompts with a haystack")
    colours = _length_colours(data)
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure, panels = parts.grid(len(names), ncols=min(3, len(names)))
        for ax, model in zip(panels, names, strict=True):
            for length, colour in colours.items():
                part = data[(data["model"] == model) & (data["length"] == length)]
                if part.empty:
                    continue
                x, y = part["size"], part["value"]
                marker = "o" if len(part) == 1 else ""
                ax.plot(x, y, color=colour, marker=marker, label=_tokens(length))
                ax.fill_between(x, y - part["se"], y + part["se"], color=colour, alpha=0.35, lw=0)
                low, high = part["ci_low_clustered"], part["ci_high_clustered"]
                ax.fill_between(x, low, high, color=colour, alpha=0.13, lw=0)
                for value in part["published"].dropna():
                    parts.printed_level(ax, value, colour)
            ax.set_title(parts.fitting(model, 2))
            ax.locator_params(axis="x", nbins=4)
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            ax.set_xlim(0, data["size"].max() * 1.03)
        low = data[["ci_low_clustered", "published"]].min(axis=None)
        high = data[["ci_high_clustered", "published"]].max(axis=None)
        panels[0].set_ylim(max(-0.02, low - 0.03), min(1.02, high + 0.03))
        parts.outer_labels(panels, "Number of prompts", "Exact accuracy")
        parts.legend(figure, panels)
        full = data.groupby(["model", "length"])["n"].max()
        paper = parts.if_published(data, "the paper's Table 1")
        parts.footnote(
            figure,
            "Prompts are drawn at random; the last point is all of them "
            f"(n\u00a0=\u00a0{parts.spread(full)}). "
            "Dark: one standard error of independent prompts, as in the paper. Light: 95% interval "
            f"over questions.{paper}",
        )
    return figure


def figure6(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: models; rows: both accuracies by position, then by needle language."""
    if data.empty:
        return parts.nothing("no model answered prompts with a haystack")
    rows = [("position", task) for task in TASKS] + [("needle_lang", task) for task in TASKS]
    return _by_length(data, rows, "By needle language, the haystack is English.")


def figure7(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: models; rows: both accuracies by haystack language."""
    if data.empty:
        return parts.nothing("no model answered prompts with an English needle")
    rows = [("haystack_lang", task) for task in TASKS]
    return _by_length(data, rows, "Needle English; mix: a haystack of all languages.")


def figure8(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: lengths; rows, for each pair: by needle language, by position."""
    if data.empty:
        return parts.nothing("no pair of models, one greedy and one sampled, answered such prompts")
    here = sorted(set(data["length"]))
    langs = factors.languages(data["needle_lang"].dropna())
    pairs = list(dict.fromkeys(data["pair"]))
    rows = [(pair, factor) for pair in pairs for factor in ("needle_lang", "position")]
    roles = dict(zip(data["model"], data["decoding"], strict=True))
    names = {model: f"{model} ({role})" for model, role in roles.items()}
    with style():
        figure, panels = parts.grid(len(rows) * len(here), ncols=len(here))
        for i, ax in enumerate(panels):
            (pair, factor), length = rows[i // len(here)], here[i % len(here)]
            part = data[
                (data["pair"] == pair) & (data["factor"] == factor) & (data["length"] == length)
            ]
            lines = part.drop(columns="published")
            if factor == "position":
                _lines(ax, lines, "depth", None, settings, names)
                _position_axis(ax, data)
                ax.set_xlabel(_position_words(data))
                for model, (colour, _) in parts.looked(part, settings.get("models", ())).items():
                    for value in part.loc[part["model"] == model, "published"].dropna().unique():
                        parts.printed_level(ax, value, colour)
            else:
                _lines(ax, lines, "needle_lang", langs, settings, names)
                ax.set_xlabel("Needle language")
                ax.set_title(_tokens(length))
            parts.unit_axis(ax)
            if length == here[0]:
                ax.set_ylabel("Exact accuracy")
        parts.legend(figure, panels)
        paper = parts.if_published(data, "the paper's means over the positions (Table 4)")
        words = "By needle language, the haystack is English."
        parts.footnote(figure, f"{words} {parts.counted(data)} {parts.INTERVALS}{paper}")
    return figure


def _by_length(data: pd.DataFrame, rows: Sequence[tuple[str, str]], words: str) -> Figure:
    """Columns: models; rows: (factor, task); one line a length."""
    colours = _length_colours(data)
    names = list(dict.fromkeys(data["model"]))
    last = dict(rows)
    across = {
        "position": _position_words(data) if "position" in data else "",
        "needle_lang": "Needle language",
        "haystack_lang": "Haystack language",
    }
    with style():
        width = max(PAGE, 1.3 * len(names))
        n = len(rows) * len(names)
        figure, panels = parts.grid(n, ncols=len(names), width=width, height=1.5)
        for i, ax in enumerate(panels):
            (factor, task), model = rows[i // len(names)], names[i % len(names)]
            part = data[
                (data["factor"] == factor) & (data["task"] == task) & (data["model"] == model)
            ]
            langs = [] if factor == "position" else factors.languages(data[factor].dropna())
            for k, (length, colour) in enumerate(colours.items()):
                line = part[part["length"] == length]
                if len(line):
                    x = line[factor].map(langs.index) if langs else line["depth"]
                    turn = parts.turn(k, len(colours), len(langs))
                    marker = MARKERS[k % len(MARKERS)]
                    parts.measured(ax, x + turn, line, colour, marker, _tokens(length))
            if langs:
                _language_axis(ax, langs)
            else:
                _position_axis(ax, data)
            if part.empty:
                ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", color="#777777")
            parts.unit_axis(ax)
            if i < len(names):
                ax.set_title(parts.fitting(model, figure.get_size_inches()[0] / len(names)))
            if model == names[0]:
                ax.set_ylabel(TASKS[task])
            if task == last[factor]:
                ax.set_xlabel(across[factor])
        parts.legend(figure, panels)
        parts.footnote(figure, f"{words} {parts.counted(data)} {parts.INTERVALS}")
    return figure


def _lines(
    ax: Axes,
    data: pd.DataFrame,
    across: str,
    langs: Sequence[str] | None,
    settings: Settings,
    names: Mapping[str, str] | None = None,
) -> None:
    """`parts.model_lines`, over languages where `langs` are given."""
    parts.model_lines(ax, data, across, settings.get("models", ()), places=langs, names=names)
    if langs:
        _language_axis(ax, langs)


def _length_colours(data: pd.DataFrame) -> dict[int, str]:
    here = sorted(set(data["length"]))
    return dict(zip(here, ordered_colours(len(here)), strict=True))


def _tokens(length: int) -> str:
    return f"{length_label(length)} tokens"


def _language_axis(ax: Axes, langs: Sequence[str]) -> None:
    labels = ["mix" if lang == "multilingual" else lang for lang in langs]
    ax.set_xticks(range(len(langs)), labels)
    if len(langs) > 7:
        ax.tick_params(axis="x", labelsize=6 if len(langs) < 10 else 5)


def _position_axis(ax: Axes, data: pd.DataFrame) -> None:
    """Depths across: named where they are the paper's three, numbered where there are more."""
    if _only_named(data):
        ax.set_xticks(list(POSITIONS.values()), list(POSITIONS))
    else:
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    ax.set_xlim(-0.12, 1.12)


def _position_words(data: pd.DataFrame) -> str:
    return "Needle position" if _only_named(data) else "Needle depth"


def _only_named(data: pd.DataFrame) -> bool:
    return set(data["position"].dropna()) <= set(POSITIONS)


FIGURES: dict[str, Plot] = {
    "figure1": Plot(
        "Accuracy by language, needle and haystack alike", figure_data.figure1, figure1
    ),
    "figure3": Plot("Effect of the needle's language", figure_data.figure3, figure3),
    "figure4": Plot("Effect of the needle's position", figure_data.figure4, figure4),
    "figure5": Plot("Accuracy of growing samples", figure_data.figure5, figure5),
    "figure6": Plot(
        "Exact and existence accuracy by position and needle language",
        figure_data.figure6,
        figure6,
    ),
    "figure7": Plot(
        "Exact and existence accuracy by haystack language", figure_data.figure7, figure7
    ),
    "figure8": Plot("Greedy decoding and sampling", figure_data.figure8, figure8),
}
