"""How MLNeedle's figures are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.contract import Run
from needlework.benchmarks.drawings import Drawing, Lines, Polar
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.mlneedle.factors import LANGUAGES, RESOURCES

if TYPE_CHECKING:
    import pandas as pd

NEEDLE = Factor("needle_lang", label="Needle language", order=LANGUAGES, format="language")
FACTORS = {
    factor.name: factor
    for factor in (
        NEEDLE,
        NEEDLE.renamed(
            "haystack_lang",
            label="Haystack language",
            last=("multilingual",),
            words={"multilingual": "mix"},
        ),
        Factor("length", format="1024"),
        Factor("depth", label="Needle position", words={0: "start", 0.5: "middle", 1: "end"}),
        Factor("size", label="Number of prompts"),
        Factor("task", words={"exact": "Exact accuracy", "existence": "Existence accuracy"}),
    )
}
EXACT, TOKENS = "Exact accuracy", "{length} {unit_of_length}"
NO_HAYSTACK = "no model answered prompts with a haystack"

DRAWINGS: dict[str, Drawing] = {
    "figure1": Polar(
        x="needle_lang",
        y=EXACT,
        words="Exact accuracy, mean of all lengths.",
        paper="the paper's Table 2, which is of the longest length alone",
        nothing="no model answered prompts whose needle and haystack share a language",
    ),
    "figure3": Lines(
        x="needle_lang",
        panel="length",
        y=EXACT,
        panel_title=TOKENS,
        called={0: "No distractors"},
        needs="length > 0",
        words="Haystack English.",
        paper="the paper's Table 2, haystack English",
        nothing="no model answered prompts with an English haystack",
    ),
    "figure4": Lines(
        x="depth",
        scaled=True,
        row=("resources",),
        panel="length",
        y=EXACT,
        panel_title=TOKENS,
        prepare="needlework.benchmarks.mlneedle.drawings:with_languages",
        nothing=NO_HAYSTACK,
    ),
    "figure5": Lines(
        x="size",
        scaled=True,
        panel="model",
        line="length",
        limits=None,
        y=EXACT,
        line_title=TOKENS,
        band=True,
        levels=("size",),
        words="Prompts are drawn at random; the last point is all of them.",
        paper="the paper's Table 1",
        nothing=NO_HAYSTACK,
    ),
    "figure6": Lines(
        x=("depth", "needle_lang"),
        scaled=True,
        row=("task",),
        panel="model",
        line="length",
        line_title=TOKENS,
        words="By needle language, the haystack is English.",
        nothing=NO_HAYSTACK,
    ),
    "figure7": Lines(
        x="haystack_lang",
        row=("task",),
        panel="model",
        line="length",
        line_title=TOKENS,
        words="Needle English; mix: a haystack of all languages.",
        nothing="no model answered prompts with an English needle",
    ),
    "figure8": Lines(
        x=("needle_lang", "depth"),
        scaled=True,
        row=("pair",),
        panel="length",
        y=EXACT,
        panel_title=TOKENS,
        row_title="",
        suffix="decoding",
        levels=("depth",),
        words="By needle language, the haystack is English.",
        paper="the paper's means over the positions (Table 4)",
        nothing="no pair of models, one greedy and one sampled, answered such prompts",
    ),
}


def with_languages(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """With the run's languages (`needle_languages`) in the name of each group of resources."""
    names = {"other": "Other languages"}
    for name, langs in RESOURCES.items():
        ran = [lang for lang in langs if lang in run["needle_languages"]]
        names[name] = f"{name.capitalize()} resource\n({', '.join(ran)})"
    return data.assign(resources=data["resources"].map(names))
