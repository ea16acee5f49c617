"""Lost in the Middle's figures, each drawn from a table of `figure_data` and nothing else.

A model has the same colour and marker in every figure that compares models. Bars are intervals over
questions (`stats`). Where the paper's figure changes one thing about the prompts, ours has the
unchanged prompts beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle import factors, figure_data
from needlework.benchmarks.lost_in_the_middle.factors import PAIRS, QA, QA_TABLES, Settings
from needlework.figures import panels as parts
from needlework.figures.panels import Plot
from needlework.figures.style import (
    COLOURS,
    COLUMN,
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

THINGS = {QA: "documents", PAIRS: "pairs"}
POSITION = {QA: "Position of the gold document", PAIRS: "Position of the pair asked for"}
LEVELS = {"closed_book": "closed book", "oracle": "oracle"}
# How Figure 1 draws them.
DASHES: dict[str, Any] = {"closed_book": (0, (1, 1.5)), "oracle": (0, (6, 1.5, 1, 1.5))}
NO_DOCUMENTS = "no model answered English questions with documents"
# What an empty panel of Figure 18 says.
NOBODY = "no model answered\nenough of the prompts"
NOTHING_SHARED = "no question that\nall models answered"
# How far they stand aside in the others, as a part of the axis.
SIDES = 0.2
# What each ablation changes: the line with the change, the line without.
ABLATIONS = {
    "query_aware": ("query before and after", "query after"),
    "unambiguous": ("unambiguous questions", "all questions"),
    "random_distractors": ("random distractors", "retrieved distractors"),
    "random_order": ("random order, and said so", "order of relevance"),
}


def figure1(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a model: the curve over positions, closed book and oracle as levels."""
    ours = data[data["source"] == "ours"]
    if ours.empty:
        return parts.nothing(NO_DOCUMENTS)
    every = parts.looked(ours, settings.get("models", ()))
    names = list(dict.fromkeys(data["model"]))
    with style():
        width = COLUMN if len(names) == 1 else PAGE
        figure, panels = parts.grid(len(names), min(3, len(names)), width=width, height=1.8)
        for ax, model in zip(panels, names, strict=True):
            part = data[data["model"] == model]
            curve = part[part["task"] == QA]
            x, label = curve["position"].astype(float), "with documents"
            if model in every:
                parts.measured(ax, x, curve, *every[model], label)
                ax.set_title(parts.fitting(model, 2))
            else:
                ax.set_title(parts.fitting(f"{model}{parts.PAPER}", 2))
            if curve["published"].notna().any():
                colour, marker = every.get(model, (PUBLISHED_COLOUR, "<"))
                parts.printed(ax, x, curve["published"], colour, marker, label)
            for level in part[part["task"].isin(list(LEVELS))].itertuples():
                _level(ax, level)
            _position_axis(ax, curve)
        parts.fitted_axis(panels[0], data)
        parts.outer_labels(panels, POSITION[QA], "Accuracy")
        parts.legend(figure, panels)
        size = int(data["n_documents"].dropna().iloc[0])
        parts.footnote(figure, f"{size} documents. {_below(data)}")
    return figure


def _level(ax: Axes, row: Any) -> None:
    """Closed book or oracle, across a panel."""
    label, dashes = LEVELS[row.task], DASHES[row.task]
    if row.source == "ours":
        ax.axhline(row.value, color="#333333", linestyle=dashes, linewidth=1.0, label=label)
        low, high = row.ci_low_clustered, row.ci_high_clustered
        ax.axhspan(low, high, color="#333333", alpha=0.08, linewidth=0)
    if row.published == row.published:
        paper = f"{label}{parts.PAPER}"
        ax.axhline(row.published, color="#999999", linestyle=dashes, linewidth=0.7, label=paper)


def curves(data: pd.DataFrame, settings: Settings, *, reason: str) -> Figure:
    """One panel a number of documents or pairs, one line a model; closed book and oracle at the sides."""
    ours = data[data["source"] == "ours"]
    if ours.empty:
        return parts.nothing(reason)
    levels = data[data["task"].isin(list(LEVELS))]
    curve = data.drop(levels.index)
    sizes = sorted(set(curve["n_documents"]))
    task = curve["task"].iloc[0]
    with style():
        figure, panels = _one_or_more(len(sizes))
        for ax, size in zip(panels, sizes, strict=True):
            part = curve[curve["n_documents"] == size]
            _panel(ax, part, levels, settings)
            ax.set_title(f"{size} {THINGS[task]}")
        parts.fitted_axis(panels[0], data)
        parts.outer_labels(panels, POSITION[task], "Accuracy")
        parts.legend(figure, panels, beside=len(sizes) == 1)
        parts.footnote(figure, _below(data))
    return figure


def _one_or_more(n: int) -> tuple[Figure, list[Axes]]:
    """A figure of `n` panels, at most three in a row."""
    return _single() if n == 1 else parts.grid(n, min(3, n), height=2.3)


def _single() -> tuple[Figure, list[Axes]]:
    """A figure of one panel, with room for a legend beside it."""
    figure = parts.figure_of(0.75 * PAGE, 2.6)
    return figure, [figure.subplots()]


def _panel(
    ax: Axes,
    curve: pd.DataFrame,
    levels: pd.DataFrame,
    settings: Settings,
    names: Mapping[str, str] | None = None,
) -> None:
    """Lines over positions; closed book left of the first position, oracle right of the last."""
    import pandas as pd

    size = int(curve["n_documents"].iloc[0])
    aside = {"closed_book": 1 - SIDES * size, "oracle": (1 + SIDES) * size}
    levels = levels[levels["model"].isin(set(curve["model"]))]
    lowest = curve["variant"] == "lowest"
    placed = curve[~lowest]
    rows = pd.concat([part for part in (placed, levels) if len(part)], ignore_index=True)
    rows["x"] = rows["position"].astype("float64").fillna(rows["task"].map(aside))
    models = settings.get("models", ())
    for _, line in rows.groupby("task", sort=False):
        parts.model_lines(ax, line, "x", models, span=(1 + 2 * SIDES) * size, names=names)
    every = parts.looked(rows, models)
    for row in curve[lowest].itertuples():
        colour, _ = every.get(row.model, (PUBLISHED_COLOUR, ""))
        parts.printed_level(ax, row.published, colour)
        ax.lines[-1].set_label(f"{row.model}, lowest{parts.PAPER}")
    sides = {aside[task]: LEVELS[task] for task in aside if task in set(levels["task"])}
    _position_axis(ax, placed, sides)


def figure6(data: pd.DataFrame, settings: Settings) -> Figure:
    """Numbers of documents across, one line a model."""
    ours = data[data["source"] == "ours"]
    if ours.empty:
        return parts.nothing(NO_DOCUMENTS)
    sizes = sorted(set(data["n_documents"]))
    with style():
        figure, panels = _single()
        parts.model_lines(panels[0], data, "n_documents", settings.get("models", ()), places=sizes)
        panels[0].set_xticks(range(len(sizes)), map(str, sizes))
        panels[0].set_xlim(-0.3, len(sizes) - 0.7)
        parts.fitted_axis(panels[0], data)
        parts.outer_labels(panels, "Documents in the prompt", "Accuracy, mean of all positions")
        parts.legend(figure, panels, beside=True)
        paper = parts.if_published(data, f"means of the numbers in {_origin(data)}")
        parts.footnote(figure, f"{parts.counted(ours)} {parts.INTERVALS}{paper}")
    return figure


def figure11(data: pd.DataFrame, settings: Settings) -> Figure:
    """Rows: architectures; columns: numbers of documents; one line a model."""
    if data.empty:
        return parts.nothing("no encoder-decoder model answered English questions with documents")
    rows = [
        name for name in ("encoder-decoder", "decoder-only") if name in set(data["architecture"])
    ]
    sizes = sorted(set(data["n_documents"]))
    with style():
        figure, panels = parts.grid(len(rows) * len(sizes), len(sizes))
        for i, ax in enumerate(panels):
            name, size = rows[i // len(sizes)], sizes[i % len(sizes)]
            part = data[(data["architecture"] == name) & (data["n_documents"] == size)]
            if part.empty:
                _words(ax, "not run")
            else:
                _panel(ax, part, data.iloc[:0], settings)
            if name == rows[0]:
                ax.set_title(f"{size} documents")
            if size == sizes[-1]:
                parts.row_title(ax, name.capitalize())
        parts.fitted_axis(panels[0], data)
        parts.outer_labels(panels, POSITION[QA], "Accuracy")
        parts.legend(figure, panels)
        parts.footnote(figure, _below(data))
    return figure


def figure13(data: pd.DataFrame, settings: Settings) -> Figure:
    """Rows: pairs of models; columns: numbers of documents."""
    if data.empty:
        return parts.nothing(
            "no base model and its instruction-tuned variant answered English questions"
        )
    pairs, sizes = list(dict.fromkeys(data["pair"])), sorted(set(data["n_documents"]))
    roles = dict(zip(data["model"], data["role"], strict=True))
    named = {model: f"{model} ({role})" for model, role in roles.items()}
    with style():
        figure, panels = parts.grid(len(pairs) * len(sizes), len(sizes), height=1.9)
        for i, ax in enumerate(panels):
            pair, size = pairs[i // len(sizes)], sizes[i % len(sizes)]
            part = data[(data["pair"] == pair) & (data["n_documents"] == size)]
            if part.empty:
                _words(ax, "not run")
            else:
                _panel(ax, part, data.iloc[:0], settings, named)
            if pair == pairs[0]:
                ax.set_title(f"{size} documents")
        parts.fitted_axis(panels[0], data)
        parts.outer_labels(panels, POSITION[QA], "Accuracy")
        parts.legend(figure, panels)
        parts.footnote(figure, _below(data))
    return figure


def figure14(data: pd.DataFrame, settings: Settings) -> Figure:
    """Numbers of retrieved documents across: the retriever's recall, and a line a model."""
    if data.empty:
        return parts.nothing("no model answered questions with retrieved documents (open_domain)")
    # Gains are in the CSV alone: they are differences.
    data = data[data["task"] != "gain"]
    readers, recall = data[data["task"] == "open_domain"], data[data["task"] == "recall"]
    sizes = sorted(set(data["n_documents"]))
    with style():
        figure, panels = _single()
        ax = panels[0]
        x = recall["n_documents"].astype(float)
        parts.measured(ax, x, recall, "#333333", "*", "retriever recall")
        ax.lines[-1].set_markersize(6)
        placed = readers.astype({"n_documents": "float64"})
        models = settings.get("models", ())
        parts.model_lines(ax, placed, "n_documents", models, span=float(sizes[-1]))
        ax.set_xticks(list(map(float, sizes)), map(str, sizes))
        ax.set_xlim(0, sizes[-1] * 1.06)
        parts.fitted_axis(ax, data)
        parts.outer_labels(panels, "Retrieved documents", "Recall, accuracy")
        parts.legend(figure, panels, beside=True)
        words = "Recall: the share of questions for which a document holds an accepted answer."
        parts.footnote(figure, f"{words} {parts.counted(readers)} {parts.INTERVALS}")
    return figure


def ablation(variant: str, data: pd.DataFrame, settings: Settings, *, reason: str) -> Figure:
    """Columns: models; rows: numbers of documents or pairs; lines: with and without the change."""
    if data.empty:
        return parts.nothing(reason)
    changed, plain = ABLATIONS[variant]
    lines = {"main": (plain, "#777777", "s"), variant: (changed, COLOURS[0], "o")}
    if variant != "unambiguous":
        return _by_model(data, "variant", lines, _below(data))
    # These answers are among the others: counted once.
    some = data[(data["variant"] == variant) & (data["n"] > 0)]["n_questions"]
    some = parts.spread(some) if len(some) else "0"
    words = f"{_below(data[data['variant'] == 'main'])} Unambiguous: {some} of the questions."
    return _by_model(data, "variant", lines, words)


def figure18(data: pd.DataFrame, settings: Settings) -> Figure:
    """One panel a number of documents, one line a model; below, what is shared and who is left out."""
    if data.empty:
        return parts.nothing(NO_DOCUMENTS)
    sizes = sorted(set(data["n_documents"]))
    drawn = data[data["absent"] == ""]
    with style():
        figure, panels = _one_or_more(len(sizes))
        for ax, size in zip(panels, sizes, strict=True):
            part = drawn[drawn["n_documents"] == size]
            here = data[data["n_documents"] == size]
            if len(part):
                _panel(ax, part, drawn.iloc[:0], settings)
            else:
                nothing = (here["absent"] == figure_data.NOTHING_SHARED).any()
                _words(ax, NOTHING_SHARED if nothing else NOBODY)
            ax.set_title(f"{size} documents")
        parts.fitted_axis(panels[0], drawn)
        parts.outer_labels(panels, POSITION[QA], "Accuracy")
        parts.legend(figure, panels, beside=len(sizes) == 1)
        counted = f"{parts.counted(drawn)} {parts.INTERVALS} " if len(drawn) else ""
        parts.footnote(figure, counted + _shared(data))
    return figure


def _shared(data: pd.DataFrame) -> str:
    """How many questions the models of each panel share, and which models are left out of it."""
    counts, out = [], []
    for size, part in data.groupby("n_documents"):
        counts.append(f"{part['n_questions'].max():,} ({size} documents)")
        few = part[~part["absent"].isin(["", figure_data.NOTHING_SHARED])]
        if len(few):
            out.append(f"{', '.join(few['model'])} ({size} documents)")
    words = f"Questions that all models of a panel answered at every position: {', '.join(counts)}."
    if out:
        less = f"less than {figure_data.LEAST_ANSWERED:.0%} of the prompts"
        words += f" Left out, having answered {less}: {'; '.join(out)}."
    return words


def languages(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: models; rows: numbers of documents; one line a language."""
    if set(data["lang"]) <= {factors.ENGLISH}:
        return parts.nothing("no model answered questions with documents in a language but English")
    return _by_model(data, "lang", _language_looks(data), _below(data))


def key_value_words(data: pd.DataFrame, settings: Settings) -> Figure:
    """Columns: models; rows: numbers of pairs; one line a language, and one for UUIDs."""
    if data.empty or set(data["lang"]) == {"uuid"}:
        return parts.nothing("no model was asked for words (key_value, keys: words)")
    return _by_model(data, "lang", _language_looks(data), _below(data))


def _language_looks(data: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    langs = factors.languages(set(data["lang"]) - {"uuid"})
    found = {lang: (language_name(lang), *look) for lang, look in looks(langs).items()}
    return found | {"uuid": ("UUIDs", "#333333", "*")}


def _by_model(
    data: pd.DataFrame, column: str, lines: Mapping[str, tuple[str, str, str]], words: str
) -> Figure:
    """Columns: models; rows: numbers of documents, then of pairs.

    `lines` are label, colour and marker of each value of `column`; `words` stand below.
    """
    names = list(dict.fromkeys(data["model"]))
    rows = [
        (task, size)
        for task in (QA, PAIRS)
        for size in sorted(set(data.loc[data["task"] == task, "n_documents"]))
    ]
    drawn = [key for key in lines if key in set(data[column])]
    with style():
        width = max(PAGE, 1.3 * len(names))
        n = len(rows) * len(names)
        figure, panels = parts.grid(n, len(names), width=width, height=1.6)
        for i, ax in enumerate(panels):
            (task, size), model = rows[i // len(names)], names[i % len(names)]
            part = data[
                (data["task"] == task) & (data["n_documents"] == size) & (data["model"] == model)
            ]
            for k, key in enumerate(drawn):
                label, colour, marker = lines[key]
                line = part[part[column] == key]
                x = line["position"].astype(float) + parts.turn(k, len(drawn), 1.1 * size)
                if len(line):
                    parts.measured(ax, x, line, colour, marker, label)
                if "published" in line and line["published"].notna().any():
                    parts.printed(ax, x, line["published"], colour, marker, label)
            if part.empty:
                _words(ax, "not run")
            else:
                _position_axis(ax, part)
            if i < len(names):
                inches = float(figure.get_size_inches()[0]) / len(names)
                ax.set_title(parts.fitting(model, inches))
            if model == names[-1]:
                parts.row_title(ax, f"{size} {THINGS[task]}")
            if model == names[0]:
                ax.set_ylabel("Accuracy")
            if (task, size) == [row for row in rows if row[0] == task][-1]:
                ax.set_xlabel("Position")
        parts.fitted_axis(panels[0], data)
        parts.legend(figure, panels)
        parts.footnote(figure, words)
    return figure


def _words(ax: Axes, text: str) -> None:
    """What an empty panel says."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", color="#777777")
    ax.set_xticks([])


def _position_axis(ax: Axes, curve: pd.DataFrame, sides: Mapping[float, str] | None = None) -> None:
    """The positions that were asked for, as many as fit, and what stands beside them."""
    size = float(curve["n_documents"].iloc[0])
    margin = SIDES + 0.1 if sides else 0.06
    low, high = 1 - margin * size, (1 + margin) * size
    place = ax.get_subplotspec()
    columns = place.get_gridspec().ncols
    inches = float(ax.get_figure().get_size_inches()[0]) / columns - 0.3
    # A digit of 7-point text is 0.062 inches wide; the last position is always named.
    per_digit = 0.07 * (high - low) / inches
    positions = sorted({int(position) for position in curve["position"]})
    named = positions[-1:]
    for position in positions[-2::-1]:
        wanted = (len(str(position)) + len(str(named[0])) + 1) / 2 * per_digit
        if named[0] - position >= wanted:
            named.insert(0, position)
    labels = {float(at): str(at) if at in named else "" for at in positions}
    labels |= {at: text.replace(" ", "\n") for at, text in (sides or {}).items()}
    if curve["value"].isna().all():
        _words(ax, "no answer")
    ax.set_xticks(list(labels), list(labels.values()))
    ax.set_xlim(low, high)


def _below(data: pd.DataFrame) -> str:
    """How many answers, what the bars are, and what is dashed."""
    ours = data[data["source"] == "ours"]
    if "variant" in ours:
        # The lowest point of a curve is counted with the curve.
        ours = ours[ours["variant"] != "lowest"]
    paper = parts.if_published(data, _origin(data)) if "published" in data else ""
    return f"{parts.counted(ours)} {parts.INTERVALS}{paper}"


def _origin(data: pd.DataFrame) -> str:
    """Where the published numbers of a figure are printed."""
    both = data[data["published"].notna()]
    printed = both[both["published_source"] == "paper"]
    asked = set(printed.loc[printed["task"] == QA, "n_documents"])
    tables = [1] if printed["task"].isin(list(LEVELS)).any() else []
    tables += sorted(int(QA_TABLES[size].removeprefix("table")) for size in asked)
    found = []
    if tables:
        *others, last = map(str, tables)
        listed = f"Tables {', '.join(others)} and {last}" if others else f"Table {last}"
        found.append(f"the paper's {listed}")
    if (printed["task"] == PAIRS).any():
        found.append("a number in its section 5.2" if tables else "the paper's section 5.2")
    released = dict.fromkeys(both.loc[both["published_source"] == "repository", "model"])
    if released:
        found.append(f"the released code's EXPERIMENTS.md ({', '.join(released)})")
    return " and ".join(found)


def _ablation(title: str, variant: str, reason: str, tasks: Sequence[str] = (QA,)) -> Plot:
    data: Callable[..., pd.DataFrame] = partial(figure_data.ablation, tasks, variant)
    return Plot(title, data, partial(ablation, variant, reason=reason))


FIGURES: dict[str, Plot] = {
    "figure1": Plot("The U-shaped curve", figure_data.figure1, figure1),
    "figure5": Plot(
        "Accuracy by the gold document's position",
        figure_data.figure5,
        partial(curves, reason=NO_DOCUMENTS),
    ),
    "figure6": Plot("Accuracy by the number of documents", figure_data.figure6, figure6),
    "figure10": Plot(
        "Key-value retrieval by position",
        figure_data.figure10,
        partial(curves, reason="no model was asked for the values of UUIDs"),
    ),
    "figure11": Plot("Encoder-decoder models", figure_data.figure11, figure11),
    "figure12": _ablation(
        "Query before and after the documents or pairs",
        "query_aware",
        "no English prompt has the query before its documents, and none of UUIDs before its pairs",
        (QA, PAIRS),
    ),
    "figure13": Plot("Base and instruction-tuned models", figure_data.figure13, figure13),
    "figure14": Plot("Retriever recall and reader accuracy", figure_data.figure14, figure14),
    "figure15": _ablation(
        "Unambiguous questions",
        "unambiguous",
        "no list says which English questions are unambiguous",
    ),
    "figure16": _ablation(
        "Random distractors", "random_distractors", "no English prompt has random distractors"
    ),
    "figure17": _ablation(
        "Distractors in random order",
        "random_order",
        "no English prompt has its distractors in random order",
    ),
    "figure18": Plot(
        "All models on the questions that all answered", figure_data.figure18, figure18
    ),
    "languages": Plot("Languages of the questions", figure_data.languages, languages),
    "key_value_words": Plot("Words instead of UUIDs", figure_data.key_value_words, key_value_words),
}
