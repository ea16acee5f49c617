"""Scores of MLNeedle that no model gave, shaped like the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from factories import answering, configuration, demo, losing
from needlework.benchmarks.mlneedle import plan
from needlework.given import given
from needlework.planning.config import validated

LANGS = ("en", "de", "es", "zh", "vi", "hi", "ar")
POSITIONS = {"start": 0.0, "middle": 0.5, "end": 1.0}
LANG_EFFECT = dict(zip(LANGS, (0.28, 0.03, 0.0, -0.06, -0.03, -0.1, -0.12), strict=True))
POSITION_EFFECT = {"start": 0.03, "middle": -0.05, "end": 0.04, "none": 0.0}

SETTINGS = {
    "models": ["mistral", "mistral-greedy", "mistral-base", "llama3", "llama2"],
    "published": {
        "mistral": "Mistral-7B-Instruct-v0.2",
        "mistral-greedy": "Mistral-7B-Instruct-v0.2 (greedy)",
        "mistral-base": "Mistral-7B-v0.1",
        "llama3": "Llama3-8B-Instruct",
        "llama2": "Llama2-7B-Chat",
    },
    "claimed_length": {
        "mistral": 32768,
        "mistral-greedy": 32768,
        "mistral-base": 8192,
        "llama3": 8192,
        "llama2": 4096,
    },
    "instruction_tuning": [["mistral-base", "mistral"]],
    "greedy_or_sampling": [["mistral-greedy", "mistral"]],
    "setup": {"needles": "mlqa", "haystack": "mmarco", "translator": "google"},
}

# Accuracy at the baseline and at each length, as in the paper's Tables 1, 3 and 4.
MEANS = {
    "mistral": {0: 0.58, 4096: 0.485, 8192: 0.455, 16384: 0.427, 32768: 0.398},
    "mistral-greedy": {0: 0.586, 4096: 0.478, 8192: 0.453, 16384: 0.436, 32768: 0.398},
    "mistral-base": {0: 0.383, 4096: 0.142, 8192: 0.1, 16384: 0.097, 32768: 0.102},
    "llama3": {0: 0.623, 4096: 0.48, 8192: 0.296},
    "llama2": {0: 0.335, 4096: 0.171},
}

COLUMNS = (
    "instance_id sample model metric value verdict finish_reason example_id task needle_lang "
    "haystack_lang question_lang position depth length retrieval needle_present"
).split()


def make(
    models: tuple[str, ...] = tuple(MEANS),
    questions: int = 5,
    positions: dict[str, float] | None = None,
    langs: Sequence[str] = LANGS,
) -> pd.DataFrame:
    """All tasks of these models: exact, existence (present and absent) and closed book."""
    positions = POSITIONS if positions is None else positions
    haystacks = (*langs, "multilingual")
    rng = np.random.default_rng(0)
    frames = []
    for model in models:
        for length, mean in MEANS[model].items():
            if length == 0:
                exact = _cross(langs, ("none",), {"none": np.nan}, questions)
                frames.append(_task(exact, "exact", model, 0, mean, rng))
                frames.append(_task(exact, "closed_book", model, 0, 0.05, rng))
            else:
                exact = _cross(langs, haystacks, positions, questions)
                absent = _cross(langs, haystacks, {"none": np.nan}, questions)
                frames.append(_task(exact, "exact", model, length, mean, rng))
                frames.append(_task(exact, "existence", model, length, 0.65, rng))
                frames.append(_task(absent, "existence", model, length, 0.4, rng, present=False))
    return pd.concat(frames, ignore_index=True)[COLUMNS]


def _cross(needles, haystacks, positions, questions: int) -> pd.DataFrame:
    rows = product(needles, haystacks, positions.items(), range(questions))
    return pd.DataFrame(
        [(n, h, p, depth, f"{n}-{q}") for n, h, (p, depth), q in rows],
        columns=["needle_lang", "haystack_lang", "position", "depth", "example_id"],
    )


def _task(
    frame: pd.DataFrame, task: str, model: str, length: int, mean: float, rng, present: bool = True
) -> pd.DataFrame:
    frame = frame.copy()
    # Some questions are harder than others, whatever the prompt around them.
    difficulty = {
        example: np.random.default_rng(sum(map(ord, example))).normal(0, 0.15)
        for example in frame["example_id"].unique()
    }
    langs = frame["needle_lang"].unique()
    effects = {lang: LANG_EFFECT.get(lang, -0.02 * i) for i, lang in enumerate(langs)}
    spread = {"exact": 1.0, "existence": 0.4, "closed_book": 0.2}[task]
    p = mean + spread * (
        frame["needle_lang"].map(effects)
        + frame["position"].map(lambda position: POSITION_EFFECT.get(position, -0.03))
        + frame["example_id"].map(difficulty)
    )
    frame["value"] = (rng.random(len(frame)) < p.clip(0.01, 0.99)).astype(float)
    presence = "present" if present else "absent"
    frame["instance_id"] = [
        f"{task}/{length}/{presence}/{row.needle_lang}/{row.haystack_lang}/{row.position}/{row.example_id}"
        for row in frame.itertuples()
    ]
    return frame.assign(
        sample=0,
        model=model,
        metric=task,
        verdict="",
        finish_reason="stop",
        task=task,
        question_lang="en",
        length=length,
        retrieval="semantic" if length else "none",
        needle_present=present and task != "closed_book",
    )


def golden() -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Three needle languages at two lengths; one model lost answers and has two kinds of distractors."""
    scores = make(
        ("mistral", "mistral-greedy", "mistral-base", "llama3"), 3, langs=("en", "zh", "hi")
    )
    scores = scores[scores["length"].isin([0, 8192, 32768])]
    scores = scores[(scores["model"] != "mistral-base") | (scores["length"] != 32768)]
    other = scores[(scores["model"] == "llama3") & (scores["length"] > 0)]
    other = other.assign(retrieval="random", value=1 - other["value"])
    scores = losing(pd.concat([scores, other[other["needle_lang"] == "en"]]), "llama3")
    ceilings = pd.DataFrame({"lang": ["hi", "de"], "n": [90, 100], "n_survived": [70, 91]})
    return {"scores": answering(scores, "question_lang"), "ceilings": ceilings}, SETTINGS


# Settings


def block(seed: int = 0, **own: Any) -> Any:
    """The demo's block, in all languages of the sample, with these changes, and a run's seed."""
    all_languages = {"needle_languages": [*LANGS], "multilingual": [*LANGS]}
    config = configuration(plan.NAME, demo(plan.NAME) | all_languages | own)
    return given(validated(config)["benchmarks"][plan.NAME] | {"seed": seed})


def settings(name: str, lengths: Sequence[int], **own: Any) -> dict[str, Any]:
    """What a configuration says of a slice; constants of the plan may be among the changes."""
    constants = {key: own.pop(key) for key in ("answer_buffer", "multilingual_top") if key in own}
    return {**plan.settings(block(**own), name, list(lengths)), **constants}
