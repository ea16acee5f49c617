"""ONERULER's figures, each drawn from a table of `figure_data` and nothing else.

A model has the same colour and marker in every figure. Bars are intervals over questions (`stats`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler import bars, figure_data, heatmap, marks
from needlework.benchmarks.oneruler.factors import CWE, GROUPS, TASKS, Settings, length_label
from needlework.benchmarks.oneruler.marks import GROUP_COLOURS
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
    from matplotlib.figure import Figure


def figure1a(data: pd.DataFrame, settings: Settings) -> Figure:
    """Two lines over the lengths, and the gap between them in numbers."""
    data = marks.drawn(data, settings)
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
            if marks.given(row["published"]):
                words += f"\npaper {_points(row['published'])}"
            look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": "#333333"}
            ax.text(here.index(row["length"]), 0.01, words, **look)
        marks.length_axis(ax, here)
        parts.unit_axis(ax)
        ax.set_ylabel("S-NIAH accuracy")
        marks.legend(figure, [ax], columns=1)
        ours = data[data["group"] != "gap"]
        parts.footnote(figure, f"All models. {marks.counted(ours)} {parts.INTERVALS}")
    return figure


def figure1b(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: with and without the sentence, in English as in the paper where there is any."""
    data = marks.drawn(data, settings)
    if data.empty:
        return parts.nothing("no model answered S-NIAH both with and without the option none")
    langs = list(dict.fromkeys(data["context_lang"]))
    lang = "en" if "en" in langs else "all"
    words = language_name("en") if lang == "en" else ", ".join(map(language_name, langs[1:]))
    data = data[data["context_lang"] == lang]
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
                drop = f"drop at {length_label(row['length'])}: {_points(row['value'])} points"
                drop += f"\npaper: {_points(row['published'])} points"
                ax.text(0.04, 0.05, drop, transform=ax.transAxes, fontsize=6, va="bottom")
            marks.length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(parts.fitting(model, 1.6))
        parts.outer_labels(panels, "Context length", "S-NIAH accuracy")
        parts.legend(figure, panels)
        lines = data[data["prompt"] != "drop"]
        parts.footnote(figure, f"{words}. {marks.counted(lines)} {parts.INTERVALS}")
    return figure


def figure3(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: languages down, lengths across, accuracy in percent."""
    return heatmap.draw(data, settings, "no model answered needle tasks", "Mean of all NIAH tasks.")


def figure25(data: pd.DataFrame, settings: Settings) -> Figure:
    """Figure 3 of the models that read the same text."""
    words = "Mean of all NIAH tasks; every model reads the same text."
    return heatmap.draw(
        data, settings, "no pair of models is named in comparisons.equal_text", words
    )


def figure4a(data: pd.DataFrame, settings: Settings) -> Figure:
    """Bars by model and resources of the language."""
    if data.empty:
        return parts.nothing("no model answered needle tasks")
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure = parts.figure_of(max(COLUMN, min(PAGE, 0.9 * len(names) + 0.8)), 2.5)
        ax = figure.subplots()
        bars.grouped_bars(ax, data, "model", names)
        ax.set_xticks(range(len(names)), [parts.fitting(name, 0.8) for name in names])
        ax.set_ylabel("NIAH accuracy, long contexts")
        parts.unit_axis(ax)
        marks.legend(figure, [ax], columns=4 if len(names) > 4 else 2)
        parts.footnote(figure, f"{marks.counted(data)} {parts.INTERVALS}")
    return figure


def figure4b(data: pd.DataFrame, settings: Settings) -> Figure:
    """A bar a language, best at the top."""
    data = marks.drawn(data, settings)
    if data.empty:
        return parts.nothing("no model answered needle tasks")
    with style():
        figure = parts.figure_of(COLUMN, 0.165 * len(data) + 1.1)
        ax = figure.subplots()
        y = range(len(data))
        colours = [GROUP_COLOURS[group] for group in data["group"]]
        ax.barh(y, data["value"], color=colours, height=0.72, xerr=bars.reach(data), ecolor="#333333",
                error_kw={"elinewidth": 0.6, "capsize": 1.2})  # fmt: skip
        for group in GROUPS:
            if (data["group"] == group).any():
                ax.bar(0, 0, color=GROUP_COLOURS[group], label=GROUPS[group])
        bars.paper_points(ax, data["published"], list(y), horizontal=True)
        ax.set_yticks(y, [language_name(lang) for lang in data["context_lang"]])
        ax.set_ylim(len(data) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        ax.set_xlim(0, 1.02)
        ax.set_xlabel("NIAH accuracy, long contexts")
        marks.legend(figure, [ax], columns=1 if len(data) < 8 else 2)
        parts.footnote(figure, f"All models. {marks.counted(data)} {parts.INTERVALS}")
    return figure


def figure5(data: pd.DataFrame, settings: Settings) -> Figure:
    """Bars by task and resources of the language."""
    data = marks.drawn(data, settings)
    if data.empty:
        return parts.nothing("no model answered any task")
    tasks = [task for task in TASKS if task in set(data["task"])]
    data = data[data["task"].isin(tasks)]
    with style():
        figure = parts.figure_of(max(COLUMN, PAGE * len(tasks) / len(TASKS)), 2.5)
        ax = figure.subplots()
        bars.grouped_bars(ax, data, "task", tasks)
        ax.set_xticks(range(len(tasks)), [TASKS[task] for task in tasks])
        ax.set_ylabel("Accuracy")
        parts.unit_axis(ax)
        marks.legend(figure, [ax], columns=4 if len(tasks) > 4 else 2)
        words = f"All models and lengths. {marks.counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + marks.exhausted(data, "Hatched"))
    return figure


def figure6a(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a context's language, one line an instruction's."""
    data = marks.drawn(data, settings)
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
            marks.length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(f"{language_name(context)} context")
        parts.outer_labels(panels, "Context length", "NIAH accuracy")
        parts.legend(figure, panels)
        paper = parts.if_published(data, "the text of the paper, mean of its models")
        parts.footnote(figure, f"All models. {marks.counted(data)} {parts.INTERVALS}{paper}")
    return figure


def figure6b(data: pd.DataFrame, settings: Settings) -> Figure:
    """A stacked bar a model."""
    if data.empty:
        return parts.nothing("no model answered S-NIAH")
    names = list(dict.fromkeys(data["model"]))
    with style():
        figure = parts.figure_of(COLUMN * 1.35, 0.24 * len(names) + 1.25)
        ax = figure.subplots()
        bars.stacked(ax, data, "model", names, horizontal=True)
        ax.set_yticks(range(len(names)), [parts.fitting(name, 1.3) for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(0, 1.03 * max(0.05, data.groupby("model")["value"].sum().max()))
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("Share of all S-NIAH prompts")
        marks.legend(figure, [ax], columns=2)
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
        marks.length_axis(ax, here)
        parts.unit_axis(ax)
        ax.set_xlabel("Context length")
        ax.set_ylabel("NIAH accuracy")
        parts.legend(figure, [ax])
        parts.footnote(figure, f"All languages. {marks.counted(data)} {parts.INTERVALS}")
    return figure


def figure18(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model, one stacked bar a language: models behind endpoints."""
    return bars.errors_by_language(data, "no model behind an endpoint answered S-NIAH")


def figure19(data: pd.DataFrame, settings: Settings) -> Figure:
    """Figure 18 of the other models."""
    return bars.errors_by_language(data, "no model but those behind endpoints answered S-NIAH")


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
            marks.length_axis(ax, here)
            ax.set_title(parts.fitting(model, 2))
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panels[0].set_ylim(bottom=0)
        parts.outer_labels(panels, "Context length", "Reasoning tokens, mean")
        parts.legend(figure, panels)
        parts.footnote(figure, f"NIAH tasks. {marks.counted(data)} {parts.INTERVALS}")
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
                drawn = ax.bar(x, rows["n_cut"], width=0.36, color=COLOURS[i], label=CWE[task])
                ax.bar_label(drawn, [f"{n:,}" for n in rows["n_cut"]], fontsize=5, padding=1)
                bars.mark_bars(drawn, rows["n_exhausted"])
            marks.length_axis(ax, here)
            ax.set_title(parts.fitting(model, 1.6))
        panels[0].set_ylim(0, max(1, 1.12 * data["n_cut"].max()))
        parts.outer_labels(panels, "Context length", "Answers cut by the limit")
        parts.legend(figure, panels)
        words = f"Of n\u00a0=\u00a0{parts.spread(data['n_all'])} answers a bar."
        parts.footnote(figure, words + marks.exhausted(data, "Hatched"))
    return figure


def figure22(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a task, one line a model over the lengths."""
    data = marks.drawn(data, settings)
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
                marks.hollow(ax, rows["length"].map(here.index) + turn, rows, colour, marker)
            marks.length_axis(ax, here)
            parts.unit_axis(ax)
            ax.set_title(CWE[task])
        parts.outer_labels(panels, "Context length", "Accuracy")
        parts.legend(figure, panels)
        words = f"All languages. {marks.counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + marks.exhausted(data))
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
                    marks.hollow(ax, x, rows, *look)
            marks.length_axis(ax, here)
            ax.set_ylim(-0.3, 10.3)
            ax.set_yticks(range(0, 11, 2))
            if i < len(names):
                ax.set_title(parts.fitting(model, width / len(names)))
            if model == names[-1]:
                parts.row_title(ax, CWE[task])
        parts.outer_labels(panels, "Context length", "Right words of ten")
        parts.legend(figure, panels)
        words = f"Wrong answers only. {marks.counted(data)} {parts.INTERVALS}"
        parts.footnote(figure, words + marks.exhausted(data))
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
        length, measured_in = int(data["length"].max()), data["measured_in"].iloc[0]
        n = parts.spread(data["n"])
        words = (
            f"Texts of {length_label(length)} tokens of {measured_in}, room for the answer among them; "
            f"the mean of n\u00a0=\u00a0{n}."
        )
        paper = " Grey rings: the paper's." if data["published"].notna().any() else ""
        parts.footnote(figure, words + paper)
    return figure


def _points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * value:.0f}".replace("-", "\u2212")


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
