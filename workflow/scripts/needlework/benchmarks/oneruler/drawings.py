"""How ONERULER's figures are drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.contract import Run
from needlework.benchmarks.drawings import Bars, Drawing, Heatmap, Lines, Points, StackedBars
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.oneruler.factors import ARTICLES, ERRORS, GROUPS, HIGH_RESOURCE, TASKS
from needlework.results.figures.style import COLOURS

if TYPE_CHECKING:
    import pandas as pd

FACTORS = {
    factor.name: factor
    for factor in (
        Factor("length", label="Context length", format="1000"),
        Factor("context_lang", format="language", words={"all": "All languages"}),
        Factor("instruction_lang", label="Instructions", format="language"),
        Factor("task", order=tuple(TASKS), words=TASKS),
        Factor("group", order=tuple(GROUPS), words=GROUPS),
        Factor("error", order=tuple(ERRORS), words=ERRORS),
        Factor("tokenizer"),
    )
}
HERE = "needlework.benchmarks.oneruler.drawings"
GROUP_LOOKS = dict(
    zip(GROUPS, zip(("#0072B2", "#56B4E9", "#D55E00", "#999999"), "os^D", strict=True), strict=True)
)
ERROR_LOOKS = {
    name: (colour, "")
    for name, colour in zip(
        ERRORS, ("#D55E00", "#0072B2", "#56B4E9", "#CC79A7", "#bbbbbb", "#666666"), strict=True
    )
}
DRAWN = "metric == '{metric}'"
NO_NEEDLES, NO_WORDS = "no model answered needle tasks", "no model answered tasks of common words"

HEAT = Heatmap(
    x="length",
    down="context_lang",
    panel="model",
    columns=7,
    margin="all",
    listed=("context_lang",),
    where=DRAWN,
    prepare=f"{HERE}:with_groups",
    tinted=("group == 'low'", "low-resource languages"),
    counted="context_lang != 'all'",
    words="Mean of all NIAH tasks.",
    nothing=NO_NEEDLES,
)
ERRORS_BY_LANGUAGE = StackedBars(
    x="context_lang",
    panel="model",
    line="error",
    looks=ERROR_LOOKS,
    limits=None,
    columns=2,
    y="Share of prompts",
    words="S-NIAH in {long_contexts}.",
    nothing="no model behind an endpoint answered S-NIAH",
)

DRAWINGS: dict[str, Drawing] = {
    "figure1a": Lines(
        x="length",
        line="group",
        members="languages",
        written="gap",
        y="S-NIAH accuracy",
        where=DRAWN,
        called={"top": "largest Wikipedias", "bottom": "smallest Wikipedias"},
        listed=("group",),
        counted="group != 'gap'",
        words="All models.",
        nothing="fewer than two languages have a Wikipedia of known size",
    ),
    "figure1b": Lines(
        x="length",
        panel="model",
        line="prompt",
        written="drop",
        y="S-NIAH accuracy",
        columns=4,
        where=DRAWN,
        called={"with": '"none" allowed', "without": '"none" not mentioned'},
        listed=("prompt",),
        prepare=f"{HERE}:one_language",
        counted="prompt != 'drop'",
        note=f"{HERE}:which_language",
        nothing="no model answered S-NIAH both with and without the option none",
    ),
    "figure3": HEAT,
    "figure25": replace(
        HEAT,
        words="Mean of all NIAH tasks; every model reads the same text.",
        nothing="no pair of models is named in comparisons.equal_text",
    ),
    "figure4a": Bars(
        x="model",
        line="group",
        looks=GROUP_LOOKS,
        y="NIAH accuracy",
        words="In {long_contexts}.",
        nothing=NO_NEEDLES,
    ),
    "figure4b": Bars(
        x="context_lang",
        line="group",
        looks=GROUP_LOOKS,
        horizontal=True,
        listed=("context_lang",),
        y="NIAH accuracy",
        where=DRAWN,
        words="All models, in {long_contexts}.",
        nothing=NO_NEEDLES,
    ),
    "figure5": Bars(
        x="task",
        line="group",
        looks=GROUP_LOOKS,
        where=f"{DRAWN} and task != 'niah' and group != 'all'",
        words="All models and lengths.",
        nothing="no model answered any task",
    ),
    "figure6a": Lines(
        x="length",
        panel="context_lang",
        panel_title="{context_lang} context",
        line="instruction_lang",
        line_title="{instruction_lang} instructions",
        listed=("context_lang", "instruction_lang"),
        y="NIAH accuracy",
        where=DRAWN,
        words="All models.",
        paper="the text of the paper, mean of its models",
        nothing="no model answered prompts whose instruction is in another language",
    ),
    "figure6b": StackedBars(
        x="model",
        line="error",
        looks=ERROR_LOOKS,
        horizontal=True,
        limits=None,
        y="Share of all S-NIAH prompts",
        nothing="no model answered S-NIAH",
    ),
    "figure17": Lines(x="length", y="NIAH accuracy", words="All languages.", nothing=NO_NEEDLES),
    "figure18": ERRORS_BY_LANGUAGE,
    "figure19": replace(
        ERRORS_BY_LANGUAGE, nothing="no model but those behind endpoints answered S-NIAH"
    ),
    "figure20": Lines(
        x="length",
        panel="model",
        line="answer",
        line_title="{answer} answers",
        looks={"right": (COLOURS[2], "o"), "wrong": (COLOURS[1], "s")},
        limits=None,
        y="Reasoning tokens, mean",
        words="NIAH tasks.",
        nothing="no model reported reasoning tokens",
    ),
    "figure21": Bars(
        x="length",
        panel="model",
        line="task",
        value="n_cut",
        n="n_all",
        unit="answers",
        numbers=True,
        limits=None,
        columns=4,
        y="Answers cut by the limit",
        nothing=NO_WORDS,
    ),
    "figure22": Lines(
        x="length", panel="task", where=DRAWN, words="All languages.", nothing=NO_WORDS
    ),
    "figure23": Lines(
        x="length",
        row=("task",),
        panel="model",
        line="group",
        looks=GROUP_LOOKS,
        limits=(0, 10),
        y="Right words of ten",
        words="Wrong answers only.",
        nothing="no wrong answer to a task of common words was given",
    ),
    "figure24": Points(
        x="context_lang",
        line="tokenizer",
        value="n_tokens",
        unit="texts",
        limits=None,
        y="Tokens of the same text",
        needs="tokenizer != tokenizer.min()",
        note=f"{HERE}:which_text",
        nothing="texts are counted in fewer than two tokenizers",
    ),
}


def with_groups(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """With the column `group`: the resources of the context's language."""
    articles = {**ARTICLES, **run.get("wikipedia_articles", {})}
    low = {lang for lang, number in articles.items() if number < HIGH_RESOURCE}
    groups = {lang: "low" if lang in low else "" for lang in set(data["context_lang"])}
    return data.assign(group=data["context_lang"].map(groups | {"all": ""}))


def one_language(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """English, as in the paper, where there is any; else all languages together."""
    lang = "en" if "en" in set(data["context_lang"]) else "all"
    return data[data["context_lang"] == lang]


def which_language(data: pd.DataFrame, run: Run) -> str:
    """The languages that `one_language` leaves."""
    langs = [lang for lang in dict.fromkeys(data["context_lang"]) if lang != "all"]
    called = FACTORS["context_lang"].called
    return ", ".join(map(called, ["en"] if "en" in langs else langs)) + "."


def which_text(data: pd.DataFrame, run: Run) -> str:
    """What the texts are that all tokenizers count."""
    length = FACTORS["length"].called(data["length"].max())
    measured_in = data["measured_in"].iloc[0]
    return f"Texts of {length} tokens of {measured_in}, room for the answer among them."
