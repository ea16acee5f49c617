"""Scores of ONERULER that no model gave; its tables from a mirror of the released files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from factories import answering, configuration, defaults_of, losing
from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.benchmarks.oneruler import plan
from needlework.data.corpora.books import BOOKS
from needlework.given import given
from needlework.planning.config import validated

LANGS = "en de fr sv nl ru es it pl zh ja uk vi pt fa sr ko no fi cs hu da ta hi sw st".split()
LENGTHS = (8000, 32000, 64000, 128000)
TASKS = (
    *("niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "niah_none"),
    *("cwe_easy", "cwe_hard"),
)
# Skill at the shortest length, and what every doubling of the length costs.
MODELS = {
    "gemini": (0.99, 0.005),
    "qwen72b": (0.985, 0.015),
    "o3": (0.98, 0.05),
    "llama70b": (0.95, 0.08),
    "llama8b": (0.88, 0.075),
    "qwen7b": (0.86, 0.05),
}
TASK_EFFECT = dict(zip(TASKS, (0.0, 0.01, -0.08, 0.02, -0.1, -0.15, -0.8), strict=True))

SETTINGS = {
    "models": ["gemini", "qwen72b", "o3", "llama70b", "llama8b", "qwen7b", "qwen7b-equal"],
    "published": {
        "gemini": "Gemini 1.5 Flash",
        "qwen72b": "Qwen 2.5 72B",
        "o3": "o3-mini-high",
        "llama70b": "Llama 3.3 70B",
        "llama8b": "Llama 3.1 8B",
        "qwen7b": "Qwen 2.5 7B",
        "qwen7b-equal": "Qwen 2.5 7B",
    },
    "backends": {"gemini": "openai", "o3": "openai", "qwen7b": "vllm"},
    "reasoning": ["o3"],
    "equal_text": [["qwen7b", "qwen7b-equal"]],
    "metric": "strict",
    "setup": {"data": "oneruler", "multiquery_needles": 2, "cwe_frequencies": "released"},
}
EXHAUSTED = ("ko", "zh", "st", "sw")


def make(
    models: tuple[str, ...] = tuple(MODELS),
    langs: tuple[str, ...] = tuple(LANGS),
    lengths: tuple[int, ...] = LENGTHS,
    examples: int = 5,
    tasks: tuple[str, ...] = TASKS,
    *,
    crossed: bool = True,
    ablated: bool = True,
    metrics: tuple[str, ...] = ("strict", "released"),
) -> pd.DataFrame:
    """All tasks of these models; "-equal" models are the same with equal text."""
    needles = [task for task in tasks if task.startswith("niah")]
    cells = [
        (lang, lang, length, task, True) for lang, length, task in product(langs, lengths, tasks)
    ]
    if ablated and "en" in langs:
        cells += [("en", "en", length, "niah_single", False) for length in lengths]
    if crossed:
        pairs = [p for p in product(("en", "ko", "pl"), repeat=2) if p[0] != p[1]]
        cells += [
            (*pair, length, task, True)
            for pair, length, task in product(pairs, lengths, needles)
            if set(pair) <= set(langs)
        ]
    columns = ["instruction_lang", "context_lang", "length", "task", "none_option"]
    rows = pd.DataFrame(cells, columns=columns)
    rows = rows.loc[rows.index.repeat(examples * len(models))].reset_index(drop=True)
    rows["model"] = np.tile(np.repeat(models, examples), len(cells))
    index = np.tile(np.arange(examples), len(cells) * len(models))
    rows["example_id"] = [f"{task}-{i}" for task, i in zip(rows["task"], index, strict=True)]
    rng = np.random.default_rng(0)
    size = dict(zip(LANGS, range(len(LANGS)), strict=True))
    base = rows["model"].str.removesuffix("-equal").map({m: MODELS[m][0] for m in MODELS})
    slope = rows["model"].str.removesuffix("-equal").map({m: MODELS[m][1] for m in MODELS})
    doublings = np.log2(rows["length"] / min(LENGTHS)).clip(lower=0)
    rank = rows["context_lang"].map(size).fillna(20)
    cwe = rows["task"].str.startswith("cwe")
    p = (
        base
        - slope * doublings * (1 + rank / 12)
        - 0.08 * (rank > 21)
        - 0.1 * (rows["instruction_lang"] != rows["context_lang"])
        + rows["task"].map(TASK_EFFECT)
        - 0.15 * cwe * doublings
        + 0.1 * ~rows["none_option"]
    ).clip(0.0, 1.0)
    right = rng.random(len(rows)) < p
    why = rng.random(len(rows))
    verdict = np.where(why < 0.6, "none_error", np.where(why < 0.8, "wrong_number", "no_number"))
    multi = rows["task"].isin(["niah_multivalue", "niah_multiquery"]) & (why > 0.3) & (why < 0.7)
    verdict = np.where(multi, "partial:1/2", verdict)
    verdict = np.where(rows["task"] == "niah_none", "wrong_number", verdict)
    found = np.clip(9 - rng.poisson(1 + doublings), 0, 9)
    partial = np.where(found > 0, [f"partial:{k}/10" for k in found], "wrong_words")
    verdict = np.where(cwe, partial, verdict)
    verdict = np.where(right, "correct", verdict)
    finish = np.full(len(rows), "stop", dtype=object)
    thinks = (rows["model"] == "o3").to_numpy()
    cut = thinks & np.where(cwe, why < 0.7, why < 0.03)
    # In every language at least one answer of these.
    cut |= thinks & (rows["task"] == "niah_multikey") & (rows["length"] == 64000) & (index == 0)
    verdict, right = np.where(cut, "length", verdict), right & ~cut
    finish[cut] = "length"
    thoughts = rng.gamma(2.0, np.where(right, 400, 1500)) + 100 * doublings
    rows = rows.assign(
        instance_id=[f"i{i}" for i in range(len(rows))],
        sample=0,
        value=right.astype(float),
        verdict=verdict,
        finish_reason=finish,
        completion_tokens=40,
        reasoning_tokens=pd.array(np.where(thinks, thoughts.round(), np.nan), dtype="Int32"),
        none_option=rows["none_option"] & ~cwe,
        n_needles=np.where(cwe, 0, 4),
        exhausted=cwe & rows["context_lang"].isin(EXHAUSTED) & (rows["length"] == 128000),
    )
    both = []
    for metric in metrics:
        part = rows.assign(metric=metric)
        if metric == "released":
            # What the released rules get wrong: a few right answers.
            false = (rng.random(len(part)) < 0.02) & (part["value"] == 1)
            part.loc[false, ["value", "verdict"]] = [0.0, "none_word"]
        both.append(part)
    return pd.concat(both, ignore_index=True)


def books(tokenizers=("cl100k_base", "qwen2.5")) -> pd.DataFrame:
    """The tokens of each language's book."""
    rows = [(lang, name, 500) for lang in LANGS for name in tokenizers]
    return pd.DataFrame(rows, columns=["context_lang", "tokenizer", "n_tokens"])


def token_counts(tokenizers=("cl100k_base", "o200k_base", "qwen2.5", "llama3")) -> pd.DataFrame:
    """The same text of each language in several tokenizers."""
    rng = np.random.default_rng(1)
    rows = []
    for rank, lang in enumerate(LANGS):
        for k, tokenizer in enumerate(tokenizers):
            share = 1.0 if k == 0 else 1 - rng.uniform(0, 0.03 * (rank + 1)) * (1.2 - 0.2 * k)
            share = 33249 / 128000 if (lang, tokenizer) == ("ta", "o200k_base") else share
            for length in (8000, 128000):
                rows.append(
                    {"task": "niah_single", "example_id": "niah_single-0", "tokenizer": tokenizer}
                    | {"n_tokens": round(length * share), "instruction_lang": lang}
                    | {"context_lang": lang, "length": length, "none_option": True}
                    | {"n_needles": 1, "exhausted": False}
                )
    return pd.DataFrame(rows)


def golden() -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Two models and one of equal text, one of which thinks and lost answers, in three languages."""
    scores = make(("gemini", "o3", "qwen7b", "qwen7b-equal"), ("en", "ko", "hi"), (8000, 64000), 3)
    tasks = scores["task"].isin(["niah_single", "niah_multivalue", "niah_none", "cwe_easy"])
    hard = (scores["task"] == "cwe_hard") & (scores["context_lang"] == "hi")
    known = scores["model"].isin(["o3", "qwen7b"]) | (scores["task"] == "niah_single")
    crossed = scores["instruction_lang"] != scores["context_lang"]
    known &= ~crossed | (scores["model"] == "o3") | (scores["length"] == 64000)
    scores = losing(scores[(tasks | hard) & known], "o3")
    counts = token_counts(("cl100k_base", "o200k_base", "llama3"))
    run = {**SETTINGS, "metric": "released", "text_tokenizer": "cl100k_base"}
    run["encodings"] = {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}
    rows = {"scores": answering(scores, "instruction_lang"), "books": books(("cl100k_base",))}
    return {**rows, "token_counts": counts}, run


# Configurations


def config(**own: Any) -> dict[str, Any]:
    """A valid configuration, with `own` in its block, of two models in different tokenizers."""
    made = configuration("oneruler", own)
    made["tokenizers"]["cl100k"] = {"kind": "tiktoken", "encoding": "cl100k_base"}
    made["models"] = {
        name: {"backend": "oracle", "tokenizer": tokenizer, "context": 200_000}
        for name, tokenizer in (("own", "words"), ("common", "cl100k"))
    }
    made["run"]["models"] = ["own", "common"]
    return validated(made)


def slice_settings(pair: str, lengths: list[int], **own: Any) -> dict[str, Any]:
    """The settings of a slice of three examples a cell, unless `own` says otherwise."""
    block = {**defaults_of("oneruler"), "examples": 3, "seed": 0, **own}
    return plan.settings(given(block), pair, lengths)


# Real files

LANGUAGES = sorted(LANGS)

_DICTIONARIES = dict(
    pair.split(":")
    for pair in (
        "zh:Chinese cs:Czech da:Danish nl:Dutch fi:Finnish fr:French de:German hi:Hindi hu:Hungarian "
        "it:Italian ja:Japanese ko:Korean no:Norwegian fa:Persian pl:Polish pt:Portuguese ru:Russian "
        "sr:Serbian st:Sesotho es:Spanish sw:Swahili sv:Swedish ta:Tamil uk:Ukrainian vi:Vietnamese"
    ).split()
)


def tables(mirror: Path, corpora: Mapping[str, list[tuple[str, str]]]) -> dict:
    """The inputs that `plan.reads` names, by input and language."""
    return {
        kind: {lang: table(mirror, corpus, lang) for corpus, lang in wanted}
        for kind, wanted in corpora.items()
    }


@cache
def table(mirror: Path, corpus: str, lang: str) -> pa.Table:
    """A corpus in a language from the released files."""
    return oneruler.table(corpus, lang, files(mirror, corpus, lang), {})


def files(mirror: Path, corpus: str, lang: str) -> list[str]:
    """The released files of a corpus in a language; English words are those of a package."""
    data = mirror / "oneruler/OneRuler/data"
    name = _DICTIONARIES.get(lang)
    found = {
        "oneruler_books": sorted((data / "books" / lang).glob("*.txt")),
        "oneruler_nouns": [data / "vocab/100_noun_list_translated.tsv"],
        "oneruler_words": [data / f"vocab/dictionaries/{name}/{name}.csv"] if name else [],
        "oneruler_prompts": sorted((data / "prompt" / lang).glob("*.txt")),
    }
    return [str(file) for file in found[corpus]]


def book_of(sentences: list[str], joint: str = " ") -> pa.Table:
    """A book of the given sentences."""
    starts = [0]
    for sentence in sentences[:-1]:
        starts.append(starts[-1] + len(sentence) + len(joint))
    return pa.table([["book"], [joint.join(sentences)], [starts]], schema=BOOKS)
