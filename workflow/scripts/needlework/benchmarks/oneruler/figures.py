"""ONERULER's figures, each drawn from a table of `figure_data` and nothing else.

A model has the same colour and marker in every figure. Bars are intervals over questions (`stats`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler import factors, figure_data
from needlework.benchmarks.oneruler.factors import CWE, GROUPS, TASKS, Settings, length_label
from needlework.benchmarks.oneruler.figure_data import ERRORS
from needlework.figures import panels as parts
from needlework.figures.panels import Plot
from needlework.figures.style import (
    COLOURS,
    COLUMN,
    MARKERS,
    PAGE,
    PUBLISHED_COLOUR,
    language_name,
    looks,
    style,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP_COLOURS = dict(zip(GROUPS, ("#0072B2", "#56B4E9", "#D55E00", "#999999"), strict=True))
ERROR_COLOURS = dict(
    zip(ERRORS, ("#D55E00", "#0072B2", "#56B4E9", "#CC79A7", "#bbbbbb", "#666666"), strict=True)
)
# From 0 to 1; most accuracies are high, so most colours are for these (`_shade`).
HEAT = ("#fbfaf7", "#dfe6ee", "#a9c1d9", "#6a86b8", "#5a4a94", "#331a4f")


def figure1a(data: pd.DataFrame, settings: Settings) -> Figure:
    """Two lines over the lengths, and the gap between them in numbers."""
    if data.empty:
        return parts.nothing("fewer than two languages have a Wikipedia of known size")
    here = sorted(set(data["length"]))
    names = {"top": "largest Wikipedias", "bottom": "smallest Wikipedias"}
    lines = {}
    with style():
        figure = parts.figure_of(COLUMN, 2.6)
        ax = figure.subplots()
        for group, colour, marker in (("top", COLOURS[0], "o"), ("bottom", COLOURS[1], "s")):
            rows = data[data["group"] == group]
            lines[group] = rows.set_index("length")["value"].reindex(here)
            langs = rows["languages"].iloc[0].split()
            label = f"{names[group]} ({', '.join(langs)})"
            parts.measured(ax, range(len(here)), rows, colour, marker, label)
        ax.fill_between(range(len(here)), lines["bottom"], lines["top"], color="#eeeeee", zorder=0)
        for row in data[data["group"] == "gap"].to_dict("records"):
            words = f"gap {_points(row['value'])}"
            if _given(row["published"]):
                words += f"\npaper {_points(row['published'])}"
            look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": "#333333"}
            ax.text(here.index(row["length"]), 0.01, words, **look)
        _length_axis(ax, here)
        parts.unit_axis(ax)
        ax.set_ylabel("S-NIAH accuracy")
        _legend(figure, [ax], columns=1)
        ours = data[data["group"] != "gap"]
        parts.footnote(figure, f"All models. {_counted(ours)} {parts.INTERVALS}")
    return figure


def figure1b(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: with and without the sentence."""
    if data.empty:
        return parts.nothing("no model answered S-NIAH both with and without the option none")
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    labels = {"with": '"none" allowed', "without": '"none" not mentioned'}
    with style():
        figure, panels = parts.grid(len(names), ncols=min(4, len(names)))
        for ax, model in zip(panels, names, strict=True):
            mine = data[data["model"] == model]
            for prompt, colour, marker in (("with", COLOURS[1], "s"), ("without", COLOURS[0], "o")):
                rows = mine[mine["prompt"] == prompt]
                x = rows["length"].map(here.index)
                parts.measured(ax, x, rows, colour, marker, labels[prompt])
            for row in mine[mine["published"].notna()].to_dict("records"):
                words = f"drop at {length_label(row['length'])}: {_points(row['value'])} points"
                words += f"\npaper: {_points(row['published'])} points"
                ax.text(0.04, 0.05, words, transform=ax.transAxes, fontsize=6, va="bottom")
            _length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(parts.fitting(model, 1.6))
        parts.outer_labels(panels, "Context length", "S-NIAH accuracy")
        parts.legend(figure, panels)
        langs = ", ".join(map(language_name, data["languages"].iloc[0].split()))
        lines = data[data["prompt"] != "drop"]
        parts.footnote(figure, f"{langs}. {_counted(lines)} {parts.INTERVALS}")
    return figure


def figure3(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: languages down, lengths across, accuracy in percent."""
    return _heatmap(data, settings, "no model answered needle tasks", "Mean of all NIAH tasks.")


def figure25(data: pd.DataFrame, settings: Settings) -> Figure:
    """Figure 3 of the models that read the same text."""
    words = "Mean of all NIAH tasks; every model reads the same text."
    return _heatmap(data, settings, "no pair of models is named in comparisons.equal_text", words)


def figure4a(data: pd.DataFrame, settings: Settings) -> Figure:
    """Bars by model and resources of the language."""
    if data.empty:
        return parts.nothing("no model answered needle tasks")
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure = parts.figure_of(max(COLUMN, min(PAGE, 0.9 * len(names) + 0.8)), 2.5)
        ax = figure.subplots()
        _grouped_bars(ax, data, "model", names)
        ax.set_xticks(range(len(names)), [parts.fitting(name, 0.8) for name in names])
        ax.set_ylabel("NIAH accuracy, long contexts")
        parts.unit_axis(ax)
        _legend(figure, [ax], columns=4 if len(names) > 4 else 2)
        parts.footnote(figure, f"{_counted(data)} {parts.INTERVALS}")
    return figure


def figure4b(data: pd.DataFrame, settings: Settings) -> Figure:
    """A bar a language, best at the top."""
    if data.empty:
        return parts.nothing("no model answered needle tasks")
    with style():
        figure = parts.figure_of(COLUMN, 0.165 * len(data) + 1.1)
        ax = figure.subplots()
        y = range(len(data))
        colours = [GROUP_COLOURS[group] for group in data["group"]]
        ax.barh(y, data["value"], color=colours, height=0.72, xerr=_errors(data), ecolor="#333333",
                error_kw={"elinewidth": 0.6, "capsize": 1.2})  # fmt: skip
        for group in GROUPS:
            if (data["group"] == group).any():
                ax.bar(0, 0, color=GROUP_COLOURS[group], label=GROUPS[group])
        _paper_points(ax, data["published"], list(y), horizontal=True)
        ax.set_yticks(y, [language_name(lang) for lang in data["context_lang"]])
        ax.set_ylim(len(data) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        ax.set_xlim(0, 1.02)
        ax.set_xlabel("NIAH accuracy, long contexts")
        _legend(figure, [ax], columns=1 if len(data) < 8 else 2)
        parts.footnote(figure, f"All models. {_counted(data)} {parts.INTERVALS}")
    return figure


def figure5(data: pd.DataFrame, settings: Settings) -> Figure:
    """Bars by task and resources of the language."""
    if data.empty:
        return parts.nothing("no model answered any task")
    tasks = [task for task in TASKS if task in set(data["task"])]
    with style():
        figure = parts.figure_of(max(COLUMN, PAGE * len(tasks) / len(TASKS)), 2.5)
        ax = figure.subplots()
        _grouped_bars(ax, data, "task", tasks)
        ax.set_xticks(range(len(tasks)), [TASKS[task] for task in tasks])
        ax.set_ylabel("Accuracy")
        parts.unit_axis(ax)
        _legend(figure, [ax], columns=4 if len(tasks) > 4 else 2)
        words = f"All models and lengths. {_counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + _hatched(data))
    return figure


def figure6a(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a context's language, one line an instruction's."""
    if data.empty:
        return parts.nothing("no model answered prompts whose instruction is in another language")
    here = sorted(set(data["length"]))
    contexts = list(dict.fromkeys(data["context_lang"]))
    asked = list(dict.fromkeys([*contexts, *data["instruction_lang"]]))
    every = looks(asked)
    with style():
        figure, panels = parts.grid(len(contexts), ncols=min(3, len(contexts)), height=1.9)
        for ax, context in zip(panels, contexts, strict=True):
            for i, (lang, (colour, marker)) in enumerate(every.items()):
                rows = data[(data["context_lang"] == context) & (data["instruction_lang"] == lang)]
                if rows.empty:
                    continue
                x = rows["length"].map(here.index) + parts.turn(i, len(every), len(here))
                label = f"{language_name(lang)} instructions"
                parts.measured(ax, x, rows, colour, marker, label)
                if rows["published"].notna().any():
                    parts.printed(ax, x, rows["published"], colour, marker, label)
            _length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(f"{language_name(context)} context")
        parts.outer_labels(panels, "Context length", "NIAH accuracy")
        parts.legend(figure, panels)
        paper = parts.if_published(data, "the text of the paper, mean of its models")
        parts.footnote(figure, f"All models. {_counted(data)} {parts.INTERVALS}{paper}")
    return figure


def figure6b(data: pd.DataFrame, settings: Settings) -> Figure:
    """A stacked bar a model."""
    if data.empty:
        return parts.nothing("no model answered S-NIAH")
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure = parts.figure_of(COLUMN * 1.35, 0.24 * len(names) + 1.25)
        ax = figure.subplots()
        _stacked(ax, data, "model", names, horizontal=True)
        ax.set_yticks(range(len(names)), [parts.fitting(name, 1.3) for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(0, 1.03 * max(0.05, data.groupby("model")["value"].sum().max()))
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("Share of all S-NIAH prompts")
        _legend(figure, [ax], columns=2)
        parts.footnote(figure, f"n\u00a0=\u00a0{parts.spread(data['n'])} prompts a model.")
    return figure


def figure17(data: pd.DataFrame, settings: Settings) -> Figure:
    """One line a model over the lengths."""
    if data.empty:
        return parts.nothing("no model answered needle tasks")
    here = sorted(set(data["length"]))
    with style():
        figure = parts.figure_of(COLUMN * 1.2, 2.9)
        ax = figure.subplots()
        parts.model_lines(ax, data, "length", settings.get("models", ()), places=here)
        _length_axis(ax, here)
        parts.unit_axis(ax)
        ax.set_xlabel("Context length")
        ax.set_ylabel("NIAH accuracy")
        parts.legend(figure, [ax])
        parts.footnote(figure, f"All languages. {_counted(data)} {parts.INTERVALS}")
    return figure


def figure18(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model, one stacked bar a language: models behind endpoints."""
    return _errors_by_language(data, "no model behind an endpoint answered S-NIAH")


def figure19(data: pd.DataFrame, settings: Settings) -> Figure:
    """Figure 18 of the other models."""
    return _errors_by_language(data, "no model but those behind endpoints answered S-NIAH")


def figure20(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: tokens of right and of wrong answers over the lengths."""
    if data.empty:
        return parts.nothing("no model reported reasoning tokens")
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure, panels = parts.grid(len(names), ncols=min(3, len(names)), height=1.9)
        for ax, model in zip(panels, names, strict=True):
            for answer, colour, marker in (("right", COLOURS[2], "o"), ("wrong", COLOURS[1], "s")):
                rows = data[(data["model"] == model) & (data["answer"] == answer)]
                if len(rows):
                    x = rows["length"].map(here.index)
                    parts.measured(ax, x, rows, colour, marker, f"{answer} answers")
            _length_axis(ax, here)
            ax.set_title(parts.fitting(model, 2))
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panels[0].set_ylim(bottom=0)
        parts.outer_labels(panels, "Context length", "Reasoning tokens, mean")
        parts.legend(figure, panels)
        parts.footnote(figure, f"NIAH tasks. {_counted(data)} {parts.INTERVALS}")
    return figure


def figure21(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: answers that the limit cut off, by length and task."""
    if data.empty:
        return parts.nothing("no model answered tasks of common words")
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    tasks = [task for task in CWE if task in set(data["task"])]
    with style():
        figure, panels = parts.grid(len(names), ncols=min(4, len(names)))
        for ax, model in zip(panels, names, strict=True):
            for i, task in enumerate(tasks):
                rows = data[(data["model"] == model) & (data["task"] == task)]
                x = rows["length"].map(here.index) + (i - (len(tasks) - 1) / 2) * 0.38
                bars = ax.bar(x, rows["n_cut"], width=0.36, color=COLOURS[i], label=CWE[task])
                ax.bar_label(bars, [f"{n:,}" for n in rows["n_cut"]], fontsize=5, padding=1)
                _mark_bars(bars, rows["n_exhausted"])
            _length_axis(ax, here)
            ax.set_title(parts.fitting(model, 1.6))
        panels[0].set_ylim(0, max(1, 1.12 * data["n_cut"].max()))
        parts.outer_labels(panels, "Context length", "Answers cut by the limit")
        parts.legend(figure, panels)
        words = f"Of n\u00a0=\u00a0{parts.spread(data['n_all'])} answers a bar."
        parts.footnote(figure, words + _hatched(data))
    return figure


def figure22(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a task, one line a model over the lengths."""
    if data.empty:
        return parts.nothing("no model answered tasks of common words")
    here = sorted(set(data["length"]))
    tasks = [task for task in CWE if task in set(data["task"])]
    every = parts.looked(data, settings.get("models", ()))
    with style():
        figure, panels = parts.grid(len(tasks), ncols=len(tasks), height=2.0)
        for ax, task in zip(panels, tasks, strict=True):
            part = data[data["task"] == task]
            parts.model_lines(ax, part, "length", settings.get("models", ()), places=here)
            for i, (model, (colour, marker)) in enumerate(every.items()):
                rows = part[part["model"] == model]
                turn = parts.turn(i, len(every), len(here))
                _hollow(ax, rows["length"].map(here.index) + turn, rows, colour, marker)
            _length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(CWE[task])
        parts.outer_labels(panels, "Context length", "Accuracy")
        parts.legend(figure, panels)
        words = f"All languages. {_counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + _exhausted(data))
    return figure


def figure23(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: models; rows: tasks; one line a group of languages."""
    if data.empty:
        return parts.nothing("no wrong answer to a task of common words was given")
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    tasks = [task for task in CWE if task in set(data["task"])]
    groups = [group for group in GROUPS if group in set(data["group"])]
    with style():
        width = max(PAGE, 1.15 * len(names)) if len(names) > 2 else COLUMN * len(names) * 0.9
        figure, panels = parts.grid(
            len(tasks) * len(names), ncols=len(names), width=width, height=1.5
        )
        for i, ax in enumerate(panels):
            task, model = tasks[i // len(names)], names[i % len(names)]
            part = data[(data["task"] == task) & (data["model"] == model)]
            for k, group in enumerate(groups):
                rows = part[part["group"] == group]
                if len(rows):
                    x = rows["length"].map(here.index) + parts.turn(k, len(groups), len(here))
                    look = GROUP_COLOURS[group], MARKERS[k]
                    parts.measured(ax, x, rows, *look, GROUPS[group])
                    _hollow(ax, x, rows, *look)
            _length_axis(ax, here)
            ax.set_ylim(-0.3, 10.3)
            ax.set_yticks(range(0, 11, 2))
            if i < len(names):
                ax.set_title(parts.fitting(model, width / len(names)))
            if model == names[-1]:
                parts.row_title(ax, CWE[task])
        parts.outer_labels(panels, "Context length", "Right words of ten")
        parts.legend(figure, panels)
        words = f"Wrong answers only. {_counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + _exhausted(data))
    return figure


def figure24(data: pd.DataFrame, settings: Settings) -> Figure:
    """Languages down, tokens across, one point a tokenizer."""
    if data["tokenizer"].nunique() < 2:
        return parts.nothing("texts are counted in fewer than two tokenizers")
    langs = list(dict.fromkeys(data["context_lang"]))
    names = sorted(set(data["tokenizer"]))
    with style():
        figure = parts.figure_of(PAGE * 0.75, 0.165 * len(langs) + 1.1)
        ax = figure.subplots()
        ends = data.groupby("context_lang")["n_tokens"].agg(["min", "max"]).reindex(langs)
        ax.hlines(
            range(len(langs)), ends["min"], ends["max"], color="#cccccc", linewidth=1.6, zorder=1
        )
        for name, (colour, marker) in looks(names).items():
            rows = data[data["tokenizer"] == name]
            y = rows["context_lang"].map(langs.index)
            ax.scatter(
                rows["n_tokens"], y, s=16, color=colour, marker=marker, label=name, zorder=3,
                linewidths=0,
            )  # fmt: skip
            ax.scatter(
                rows["published"].astype("float64"), y, s=30, marker=marker, zorder=2,
                facecolors="none", edgecolors=PUBLISHED_COLOUR, linewidths=0.8,
            )  # fmt: skip
        ax.set_yticks(range(len(langs)), [language_name(lang) for lang in langs])
        ax.set_ylim(len(langs) - 0.4, -0.6)
        ax.set_xlim(0, 1.05 * data["n_tokens"].max())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xlabel("Tokens of the same text")
        parts.legend(figure, [ax])
        length = length_label(int(data["length"].max()))
        n = parts.spread(data["n"])
        words = f"Texts of {length} tokens by the run's measure, the mean of n\u00a0=\u00a0{n}."
        paper = " Grey rings: the paper's." if data["published"].notna().any() else ""
        parts.footnote(figure, words + paper)
    return figure


def _heatmap(data: pd.DataFrame, settings: Settings, reason: str, words: str) -> Figure:
    """Languages down, best first; one panel a model with its lengths across; percent in the cells.

    Beneath a number stands the paper's, where it gives one.
    """
    if data.empty:
        return parts.nothing(reason)
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    langs = list(dict.fromkeys(data["context_lang"]))
    printed = bool(data["published"].notna().any())
    # Inches: a cell's size, the languages' names, the space around them.
    ncols = max(1, min(len(names), 28 // len(here)))
    nrows = math.ceil(len(names) / ncols)
    cell = min(0.52, max(0.27, (PAGE - 1.0) / (ncols * len(here))))
    tall = 0.27 if printed else 0.2
    width = max(COLUMN, 0.95 + ncols * (len(here) * cell + 0.1))
    height = nrows * ((len(langs) + 0.35) * tall + 0.45) + 0.85
    with style():
        figure = parts.figure_of(width, height)
        grid = figure.subplots(nrows, ncols, sharey=True, squeeze=False)
        for ax in list(grid.flat)[len(names) :]:
            ax.remove()
        # A little space parts the mean over languages from them.
        y = {lang: i + (0.35 if i else 0) for i, lang in enumerate(langs)}
        for ax, model in zip(grid.flat, names, strict=False):
            _cells(ax, data[data["model"] == model], here, y, printed)
            ax.set_title(parts.fitting(model, len(here) * cell + 0.2), pad=14, fontweight="bold")
        for ax in grid[:, 0]:
            ax.set_yticks(list(y.values()), ["All languages", *map(language_name, langs[1:])])
            for label, lang in zip(ax.get_yticklabels(), langs, strict=True):
                group = factors.resources(lang, settings)
                label.set_color(GROUP_COLOURS["low"] if group == "low" else "#222222")
                label.set_fontweight("bold" if lang == "all" else "normal")
        bar = figure.colorbar(
            _shade(),
            ax=list(grid.flat)[: len(names)],
            location="bottom",
            fraction=0.02,
            aspect=60 if width > 5 else 35,
            pad=0.01,
            shrink=0.5 if width > 5 else 0.9,
        )
        bar.set_ticks([0, 0.5, 0.75, 0.9, 1], labels=["0", "50", "75", "90", "100%"])
        bar.outline.set_linewidth(0.4)
        low = any(factors.resources(lang, settings) == "low" for lang in langs[1:])
        words += " Orange: low-resource languages." if low else ""
        words += " Small: the paper's." if printed else ""
        single = data[data["context_lang"] != "all"]
        parts.footnote(figure, f"{words} {_counted(single)}{_exhausted(data, 'Dotted')}")
    return figure


def _cells(
    ax: Axes, data: pd.DataFrame, here: Sequence[int], y: Mapping[str, float], printed: bool
) -> None:
    """The cells of one model's panel."""
    from matplotlib.patches import Rectangle

    shade = _shade()
    for row in data.to_dict("records"):
        left, middle = here.index(row["length"]), y[row["context_lang"]]
        value = row["value"]
        colour = shade.to_rgba(value) if _given(value) else (1, 1, 1, 1)
        ax.add_patch(
            Rectangle((left - 0.5, middle - 0.5), 1, 1, facecolor=colour, edgecolor="white", lw=0.8)
        )
        # Of the colour's luminance, as the eye weighs red, green and blue.
        dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.58
        ink = "white" if dark else "#222222"
        up = 0.16 if printed else 0.0
        number = f"{100 * value:.0f}" if _given(value) else "\u2013"
        ax.text(left, middle - up, number, ha="center", va="center", fontsize=6.5, color=ink)
        if _given(row["published"]):
            ax.text(
                left, middle + 0.27, f"{100 * row['published']:.0f}", ha="center", va="center",
                fontsize=4.6, color=ink, alpha=0.8, style="italic",
            )  # fmt: skip
        if row["n_exhausted"]:
            ax.plot(left + 0.38, middle - 0.36, ".", color=ink, markersize=2.5)
    ax.set_xlim(-0.5, len(here) - 0.5)
    ax.set_ylim(max(y.values()) + 0.5, -0.5)
    ax.set_xticks(range(len(here)), [length_label(length) for length in here])
    ax.xaxis.tick_top()
    ax.tick_params(length=0, pad=1.5)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _shade() -> Any:
    """Colours of accuracies: half of them are for those above 0.75."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    return ScalarMappable(PowerNorm(2.4, 0, 1), LinearSegmentedColormap.from_list("heat", HEAT))


def _errors_by_language(data: pd.DataFrame, reason: str) -> Figure:
    """One panel a model below another, one stacked bar a language."""
    if data.empty:
        return parts.nothing(reason)
    names = list(dict.fromkeys(data["model"]))
    langs = list(dict.fromkeys(data["context_lang"]))
    with style():
        width = min(PAGE, max(COLUMN, 0.24 * len(langs) + 0.8))
        figure, panels = parts.grid(len(names), ncols=1, width=width, height=1.15)
        figure.set_size_inches(width, figure.get_size_inches()[1])
        for ax, model in zip(panels, names, strict=True):
            _stacked(ax, data[data["model"] == model], "context_lang", langs)
            ax.set_xticks(range(len(langs)), langs)
            ax.set_xlim(-0.6, len(langs) - 0.4)
            ax.set_title(model)
            ax.grid(visible=False, axis="x")
        highest = data.groupby(["model", "context_lang"])["value"].sum().max()
        panels[0].set_ylim(0, min(1.0, max(0.1, 1.08 * highest)))
        parts.outer_labels(panels, "Language, by the size of its Wikipedia", "Share of prompts")
        _legend(figure, panels, columns=3 if width > 5 else 2)
        n = parts.spread(data["n"])
        parts.footnote(figure, f"S-NIAH, long contexts. n\u00a0=\u00a0{n} prompts a bar.")
    return figure


def _stacked(
    ax: Axes, data: pd.DataFrame, across: str, places: Sequence[str], *, horizontal: bool = False
) -> None:
    """One stacked bar of errors at each of `places`; those that nobody made are in no legend."""
    table = data.pivot_table(index=across, columns="error", values="value", observed=True)
    table = table.reindex(places).fillna(0.0)
    below = 0 * table.iloc[:, 0]
    for error, label in ERRORS.items():
        if error not in table or not table[error].any():
            continue
        look = {"color": ERROR_COLOURS[error], "label": label}
        if horizontal:
            ax.barh(range(len(places)), table[error], left=below, height=0.7, **look)
        else:
            ax.bar(range(len(places)), table[error], bottom=below, width=0.76, **look)
        below = below + table[error]


def _grouped_bars(ax: Axes, data: pd.DataFrame, across: str, places: Sequence[str]) -> None:
    """Bars side by side at each of `places`, one for each group of languages."""
    groups = [group for group in GROUPS if group in set(data["group"])]
    width = 0.8 / len(groups)
    for i, group in enumerate(groups):
        rows = data[data["group"] == group]
        x = rows[across].map(list(places).index) + (i - (len(groups) - 1) / 2) * width
        bars = ax.bar(
            x, rows["value"], width=0.92 * width, color=GROUP_COLOURS[group], label=GROUPS[group],
            yerr=_errors(rows), ecolor="#333333", error_kw={"elinewidth": 0.6, "capsize": 1.2},
        )  # fmt: skip
        _mark_bars(bars, rows["n_exhausted"])
        if "published" in rows:
            _paper_points(ax, rows["published"], list(x))
    ax.grid(visible=False, axis="x")


def _errors(rows: pd.DataFrame) -> list[Any]:
    """How far intervals over questions reach below and above the values."""
    low, high = rows["ci_low_clustered"], rows["ci_high_clustered"]
    return [(rows["value"] - low).clip(lower=0), (high - rows["value"]).clip(lower=0)]


def _paper_points(
    ax: Axes, values: Any, places: Sequence[float], *, horizontal: bool = False
) -> None:
    """The paper's numbers beside bars: hollow diamonds, one entry of the legend."""
    label = "the paper's" if not ax.get_legend_handles_labels()[1].count("the paper's") else None
    found = [(place, float(v)) for place, v in zip(places, values, strict=True) if _given(v)]
    if found:
        x, y = zip(*found, strict=True)
        ax.plot(
            *((y, x) if horizontal else (x, y)), "D", color="#333333", markerfacecolor="white",
            markersize=4, markeredgewidth=0.9, label=label, zorder=5,
        )  # fmt: skip


def _hollow(ax: Axes, x: Any, rows: pd.DataFrame, colour: str, marker: str) -> None:
    """White markers where prompts ended before their length."""
    short = rows["n_exhausted"] > 0
    if short.any():
        ax.plot(
            x[short], rows.loc[short, "value"], marker, color=colour, markerfacecolor="white",
            markersize=3.6, markeredgewidth=0.9, zorder=4,
        )  # fmt: skip


def _mark_bars(bars: Any, exhausted: Any) -> None:
    """Hatched bars where prompts ended before their length."""
    for bar, short in zip(bars, exhausted, strict=True):
        if short:
            bar.set(hatch="////", edgecolor="white", linewidth=0)


def _exhausted(data: pd.DataFrame, how: str = "Hollow") -> str:
    if not data["n_exhausted"].any():
        return ""
    return f" {how}: some prompts are shorter than the length, as the vocabulary ran out before it."


def _hatched(data: pd.DataFrame) -> str:
    return _exhausted(data, "Hatched")


def _counted(data: pd.DataFrame) -> str:
    """How many answers are behind a point, how many are missing, and how many are none."""
    words = parts.counted(data)
    out = int(data["n_dropped"].sum()) if "n_dropped" in data else 0
    return words + (
        f" {out:,} answers that the limit cut before any text are left out." if out else ""
    )


def _length_axis(ax: Axes, here: Sequence[int]) -> None:
    ax.set_xticks(range(len(here)), [length_label(length) for length in here])
    ax.set_xlim(-0.35, len(here) - 0.65)


def _legend(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """A legend above all panels in so many columns, for labels of unequal lengths."""
    found: dict[str, Any] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(), found, loc="outside upper center", ncols=columns, columnspacing=1.2
    )


def _points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * value:.0f}".replace("-", "\u2212")


def _given(value: object) -> bool:
    return value is not None and not math.isnan(float(value))


FIGURES: dict[str, Plot] = {
    "figure1a": Plot("Languages with large and small Wikipedias", figure_data.figure1a, figure1a),
    "figure1b": Plot("With and without the option none", figure_data.figure1b, figure1b),
    "figure3": Plot("Accuracy by language and length", figure_data.figure3, figure3),
    "figure4a": Plot("Long contexts by model", figure_data.figure4a, figure4a),
    "figure4b": Plot("Long contexts by language", figure_data.figure4b, figure4b),
    "figure5": Plot("Accuracy by task", figure_data.figure5, figure5),
    "figure6a": Plot("Cross-lingual accuracy", figure_data.figure6a, figure6a),
    "figure6b": Plot("Errors with a single needle", figure_data.figure6b, figure6b),
    "figure17": Plot("Accuracy by model and length", figure_data.figure17, figure17),
    "figure18": Plot(
        "Errors in long contexts, models behind endpoints", figure_data.figure18, figure18
    ),
    "figure19": Plot("Errors in long contexts, open models", figure_data.figure19, figure19),
    "figure20": Plot("Reasoning tokens of right and wrong answers", figure_data.figure20, figure20),
    "figure21": Plot("Answers cut by the output limit", figure_data.figure21, figure21),
    "figure22": Plot("Common words by length", figure_data.figure22, figure22),
    "figure23": Plot("Right words in wrong answers", figure_data.figure23, figure23),
    "figure24": Plot("One text in several tokenizers", figure_data.figure24, figure24),
    "figure25": Plot("Equal text by language and length", figure_data.figure25, figure25),
}
