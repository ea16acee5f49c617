"""Scores of fifteen models, 26 languages and seven positions, as far as a benchmark has so many."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import factories.lost_in_the_middle
import factories.m4le
import factories.mlneedle
import factories.mlongrr
import factories.oneruler
from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, TASKS
from needlework.benchmarks.mlongrr.plan import DETAILED

NAMES = [f"mistral-7b-instruct-v0.{i}" for i in range(15)]
LANGS = tuple(factories.oneruler.LANGS)
Made = tuple[pd.DataFrame, dict[str, Any]]


def _by_all(one: pd.DataFrame, settings: Mapping[str, Any]) -> Made:
    """The scores of one model as those of all, a little different each."""
    rng = np.random.default_rng(3)
    rows = pd.concat([one.assign(model=name) for name in NAMES], ignore_index=True)
    odd = rng.random(len(rows)) < rows["model"].map({n: i / 60 for i, n in enumerate(NAMES)})
    rows["value"] = np.where(odd & rows["value"].isin([0, 1]), 1 - rows["value"], rows["value"])
    return rows, {**settings, "models": NAMES}


def _paper(names: list[str]) -> dict[str, str]:
    """The first of the models are the paper's."""
    return dict(zip(NAMES, names, strict=False))


def mlneedle() -> Made:
    """Every needle language in English texts, its own and the mix; English needles in all."""
    settings = factories.mlneedle.SETTINGS
    one = factories.mlneedle.make(("mistral",), 1, {f"p{i}": i / 6 for i in range(7)}, LANGS)
    english = (one["needle_lang"] == "en") | (one["haystack_lang"] == "en")
    one = one[english | (one["needle_lang"] == one["haystack_lang"])]
    return _by_all(
        one,
        {
            **settings,
            "published": _paper(list(settings["published"].values())),
            "claimed_length": dict.fromkeys(NAMES, 32768),
            "instruction_tuning": [[NAMES[2], NAMES[0]]],
            "greedy_or_sampling": [[NAMES[1], NAMES[0]]],
            "needle_languages": list(LANGS),
            "unit_of_length": "tokens",
            "decoding": {NAMES[0]: "sampled", NAMES[1]: "greedy"},
        },
    )


def lost_in_the_middle() -> Made:
    """Ten to thirty documents and 75 to 300 pairs, at three to seven positions."""
    settings = factories.lost_in_the_middle.SETTINGS
    one = factories.lost_in_the_middle.make(("mpt",), 4, factories.mlneedle.LANGS)
    return _by_all(
        one,
        {
            **settings,
            "published": _paper(["GPT-3.5-Turbo (16K)", "MPT-30B-Instruct", "MPT-30B"]),
            "instruction_tuning": [[NAMES[2], NAMES[1]]],
            "encoder_decoder": NAMES[5:7],
        },
    )


def oneruler() -> Made:
    """All tasks and lengths."""
    settings = factories.oneruler.SETTINGS
    one = factories.oneruler.make(("o3",), LANGS, factories.oneruler.LENGTHS, 1)
    names = list(settings["published"].values())[:6]
    return _by_all(
        one,
        {
            **settings,
            "published": _paper(names),
            "backends": {name: "openai" if i < 8 else "vllm" for i, name in enumerate(NAMES)},
            "reasoning": NAMES,
            "equal_text": [NAMES[i : i + 2] for i in range(0, 14, 2)],
            "long_contexts": "contexts of 64K and 128K",
            "text_tokenizer": "cl100k_base",
        },
    )


def mlongrr() -> Made:
    """The paper's lengths, languages and needles at seven depths, in two texts and two prompts."""
    depths = {n: tuple(range(0, 100, 16)) for n in (1, 2, 3)}
    with (
        patch.object(factories.mlongrr, "MODELS", {"gpt-4": 0.9}),
        patch.object(factories.mlongrr, "DEPTHS", depths),
        patch.object(factories.mlongrr, "LANGS", (*factories.mlongrr.LANGS, "az")),
        patch.dict(factories.mlongrr.FERTILITY, az=1.7),
    ):
        one = pd.concat(
            [
                factories.mlongrr.make(),
                factories.mlongrr.make(1, haystack="paul_graham_essays"),
                factories.mlongrr.make(2, template="prompt2"),
            ],
            ignore_index=True,
        )
    return _by_all(
        one,
        {
            **factories.mlongrr.SETTINGS,
            "published": _paper(list(DETAILED)),
            "decoding": dict.fromkeys(NAMES, "the endpoint's own"),
        },
    )


def m4le() -> Made:
    """All tasks at all lengths, with seven places; some of them at chosen places alone."""
    made: list[dict[str, Any]] = []
    for task, length in product(TASKS, PAPER_BUCKETS):
        counts: dict[str, Any] = {}
        if TASKS[task].metric == "bleu":
            counts["bleu_statistics"] = [20, 22, 12, 19, 7, 18, 5, 17, 4, 16]
        for i in range(7):
            place = {**counts, "candidates": 2 ** (i % 5), "position": i / 6}
            made += factories.m4le.rows(task, length, [float(i % 2), 1.0], **place)
    # Length 0: prompts that study places alone.
    for task, i in product(("c3", "hotpotqa", "arxiv", "drcd_explicit-single"), range(7)):
        made += factories.m4le.rows(task, 0, [float(i % 2), 1.0], candidates=7, position=i / 6)
    one = pd.DataFrame(made)
    one["example_id"] = [f"{e}-{i}" for i, e in enumerate(one["example_id"])]
    return _by_all(
        one,
        {
            **factories.m4le.SETTINGS,
            "published": _paper(["LLaMA2-7B", "GPT-3.5-Turbo-16K"]),
            "decoding": dict.fromkeys(NAMES, factories.m4le.GREEDY),
            "reference_name": "GPT-3.5-Turbo-16K",
            "places": 7,
        },
    )
