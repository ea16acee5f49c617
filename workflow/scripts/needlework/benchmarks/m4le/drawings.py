"""How M4LE's figures are drawn."""

from __future__ import annotations

from needlework.benchmarks.drawings import Bars, Drawing, Lines, Polar
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.m4le.factors import (
    ABILITY,
    DOMAIN,
    LANG,
    LENGTH,
    METRIC,
    RANGES,
    TASK,
    TASK_TYPE,
)

RANGE = Factor("range", label="Length", order=tuple(words for words, _ in RANGES.values()))
GROUP = Factor(
    "group",
    order=("QA", "SUM", "RET"),
    words={"QA": "Question answering", "SUM": "Summarization", "RET": "Retrieval"},
)
PLACE = Factor("place", label="Place of the asked text", words={0: "first", 1: "last"})
CANDIDATES = Factor("at_most", label="Texts to choose from, at most")
TEXTS = Factor(
    "texts",
    label="Question",
    order=("without", "with"),
    words={"without": "Without texts", "with": "With texts"},
)
CALLED = {
    factor.name: factor
    for factor in (
        *(ABILITY, DOMAIN, LANG, LENGTH, METRIC, TASK, TASK_TYPE),
        *(RANGE, GROUP, PLACE, CANDIDATES, TEXTS),
    )
}
NORMALISED = "Normalised score"
HALF = "0.5 equals {reference_name} at 1K."
NOTHING = "no model answered prompts that can be normalised"

DRAWINGS: dict[str, Drawing] = {
    "figure3": Lines(
        x="column",
        y=NORMALISED,
        where="column != 'average'",
        words=HALF,
        paper="the paper's Table 3",
        nothing=NOTHING,
        called={str(n * 1000): f"{n}K" for n in (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128)},
    ),
    "figure3_slopes": Bars(
        x="model",
        line="measure",
        horizontal=True,
        y="Slope over the buckets",
        limits=(-0.15, 0.15),
        paper="the paper's Figure 3",
        nothing="no model answered prompts of two lengths",
    ),
    "figure4": Polar(
        x="ability",
        panel="range",
        y=NORMALISED,
        words=HALF,
        paper="the paper's Tables 4 to 6",
        nothing=NOTHING,
    ),
    "figure5": Lines(
        x="length",
        panel="lang",
        y=NORMALISED,
        words=HALF,
        nothing=NOTHING,
    ),
    "figure6": Lines(
        x="place",
        scaled=True,
        panel="group",
        y="Score",
        words="Mean of the tasks.",
        nothing="no prompt studies places",
    ),
    "profile": Polar(x="ability", y=NORMALISED, words=HALF, nothing=NOTHING),
    "places": Lines(
        x="place",
        scaled=True,
        panel="ability",
        y="Score",
        words="Mean of the tasks, by fifths of the texts.",
        nothing="no prompt asks for one of several texts",
    ),
    "candidates": Lines(
        x="at_most",
        panel="ability",
        y="Score",
        words="Mean of the tasks.",
        nothing="no prompt asks for one of several texts",
    ),
}
