"""Scores of mLongRR that no model gave; its tables from a mirror of the released files, by the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import made_slices
from factories import ROOT, answering, defaults_of, losing
from needlework.benchmarks.mlongrr import plan
from needlework.given import given
from needlework.planning.rule_inputs import RuleInputs

LANGS = ("en", "vi", "id", "sw", "so")
LENGTHS = (2000, 8000, 16000, 32000, 64000)
DEPTHS = {1: (0, 25, 50, 75, 100), 2: (0, 25, 50, 75), 3: (0, 25, 50, 75)}
# Accuracy with one needle, and tokens a word in English and the factor of the other languages.
MODELS = {"gpt-4": 0.9, "gemini": 0.85, "claude": 0.7, "llama-3": 0.6, "gpt-4o": 0.95}
FERTILITY = {"en": 1.1, "vi": 1.3, "id": 1.6, "sw": 1.9, "so": 2.2}
SETTINGS: dict[str, Any] = {
    "models": list(MODELS),
    "published": {
        "gpt-4": "GPT-4",
        "gemini": "Gemini-1.5",
        "claude": "Claude-3",
        "llama-3": "Llama-3",
        "gpt-4o": "GPT-4o",
    },
    "setup": {"source": "constructed", "data": "mlongrr", "max_new_tokens": 50},
    "decoding": dict.fromkeys(MODELS, "the endpoint's own"),
    "controls": [],
    "metric": "strict",
    "spread": dict.fromkeys((1, 2, 3), 25),
    "haystack": "mlongrr_articles",
    "template": "paper",
    "twin": "released_gpt4",
    "counted_as": {"o200k_base": "GPT-4o", "cl100k_base": "GPT-4", "llama3": "Llama-3"},
    "other_tokenizers": {},
}


def row(**own: Any) -> dict[str, Any]:
    """A score of one needle in English, right, with these changes."""
    given = {
        **{
            "model": "gpt-4",
            "metric": "strict",
            "value": 1.0,
            "finish_reason": "stop",
            "sample": 0,
        },
        **{"task": "retrieval", "lang": "en", "haystack": "mlongrr_articles", "length": 2000},
        **{"n_needles": 1, "question": "number", "depth": 0, "template": "paper", "index": 0},
        **{"fertility": 1.1, "chance": None, "exhausted": False, **own},
    }
    if given["n_needles"] > 1 and given["task"] == "retrieval":
        given |= {"task": "reasoning", "chance": 1 / given["n_needles"]}
    given.setdefault("verdict", "correct" if given["value"] else "wrong_number")
    given["example_id"] = f"{given['length']}-{given['depth']}-{given.pop('index')}"
    return given


def make(seed: int = 0, **changes: Any) -> pd.DataFrame:
    """One answer a cell of all models, by all metrics."""
    rng, rows = np.random.default_rng(seed), []
    for model, n, (i, lang), length in product(MODELS, DEPTHS, enumerate(LANGS), LENGTHS):
        questions = ("number",) if n == 1 else ("number", "city")
        for question, depth in product(questions, DEPTHS[n]):
            p = MODELS[model] - 0.1 * i - 0.25 * (n - 1) - 0.02 * (length / 8000)
            right = float(rng.random() < p)
            wrong = str(rng.choice(["wrong_number", "other_needle", "unanswerable", "no_number"]))
            lost = model == "llama-3" and length > 8000
            for metric in ("strict", "released", "released_claude"):
                rows.append(
                    row(
                        **{"model": model, "lang": lang, "length": length, "depth": depth},
                        **{"n_needles": n, "question": question, "metric": metric},
                        **{"value": 0.0 if lost else right, "fertility": FERTILITY[lang]},
                        verdict="correct" if right else wrong,
                        finish_reason="skipped" if lost else "stop",
                        **changes,
                    )
                )
    return pd.DataFrame(rows)


def prompt(tokenizer: str, **own: Any) -> dict[str, Any]:
    """What is known of the prompt of such a row, in a tokenizer."""
    made = row(**own) | {"tokenizer": tokenizer, "haystack_tokens": 1800, "exhausted": False}
    return {"sentences": 33, "sentences_before": 8, "real_depth": 24.0, **made, **own}


def golden() -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Three languages at two lengths, in two texts and by two prompts; the user's model lost answers."""
    parts = [
        make(),
        make(1, haystack="paul_graham_essays"),
        make(2, template="prompt2"),
        make(3, template="translated"),
        make(4, task="absent", chance=None),
    ]
    parts[1:] = [part[(part["model"] == "gpt-4") & (part["n_needles"] == 1)] for part in parts[1:]]
    scores = pd.concat(parts, ignore_index=True)
    scores = scores[scores["lang"].isin(["en", "sw", "so"]) & scores["length"].isin([2000, 64000])]
    few = scores["model"].eq("gpt-4") | scores["depth"].eq(0)
    mine = scores[scores["model"] == "claude"].assign(model="mine")
    scores = pd.concat([scores[few], mine])
    scores = scores[scores["metric"].isin(["strict", "released"])]
    scores["exhausted"] = (scores["lang"] == "so") & (scores["length"] == 64000)
    scores = losing(scores, "mine")
    drawn = np.random.default_rng(6)
    prompts = [
        prompt(
            tokenizer,
            **{"lang": lang, "length": length, "depth": depth, "index": i, "n_needles": n},
            fertility=FERTILITY[lang] + round(float(drawn.normal(0, 0.1)), 3),
            haystack_tokens=length - int(drawn.integers(9, 90)),
            sentences=33 if length == 2000 else 1200,
            sentences_before=8 * depth // 25,
            real_depth=depth - 1.5 * i,
        )
        for tokenizer, lang, length, n, depth, i in product(
            ("o200k_base", "cl100k_base", "words"),
            FERTILITY,
            (2000, 64000),
            (1, 2),
            (0, 50),
            (0, 1),
        )
    ]
    run = {**SETTINGS, "models": [*SETTINGS["models"], "mine"], "metric": "released"}
    return {"scores": answering(scores, "lang"), "instances": pd.DataFrame(prompts)}, run


# Real files

RESOURCES = ROOT / "resources/mlongrr"
PUNKT = RESOURCES / "english_punkt.txt"
LANGUAGES = {
    "en": "English",
    "vi": "Vietnamese",
    "id": "Indonesian",
    "sw": "Swahili",
    "so": "Somali",
    "az": "Azeri",
}


def block(**own: Any) -> Any:
    """A benchmark's block of the configuration, with the defaults."""
    return given({**defaults_of("mlongrr"), "seed": 0, **own})


def settings(lang: str, lengths: Sequence[int], **own: Any) -> dict[str, Any]:
    """The settings of the first haystack's slice in a language."""
    made = block(**{"languages": [lang], **own})
    return plan.settings(made, plan.slices(made)[0], list(lengths))


def tables(slice_settings: Mapping[str, Any], mirror: Path | None = None) -> dict:
    """The inputs that `plan.reads` names, by input and language; and distractors, of which there are none."""
    read = {
        kind: {lang: table(corpus, lang, mirror) for corpus, lang in wanted}
        for kind, wanted in plan.reads(slice_settings).items()
    }
    return {**read, "distractors": {}}


@cache
def table(corpus: str, lang: str, mirror: Path | None = None) -> pa.Table:
    """A corpus, from the files that the layout names."""
    files = RuleInputs({"sources": {}, "run": {}, "benchmarks": {}, "corpora": {}})
    return made_slices.table(files, corpus, lang, mirror)
