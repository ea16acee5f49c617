"""Scores and prompt lengths that no model gave, shaped like the paper's: what the tests of results read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from needlework.benchmarks.lost_in_the_middle.rows import WITHOUT_DOCUMENTS

SETTINGS = {
    "models": ["gpt-16k", "mpt-instruct", "mpt", "flan-ul2", "qwen"],
    "published": {"gpt-16k": "GPT-3.5-Turbo (16K)", "mpt-instruct": "MPT-30B-Instruct"},
    "instruction_tuning": [["mpt", "mpt-instruct"]],
    "encoder_decoder": ["flan-ul2"],
    "tokenizers": ["cl100k_base", "words"],
    "published_tokenizers": {"cl100k_base": "GPT-3.5-Turbo"},
    "setup": {"corpus": "nq_open"},
}
# Accuracy at the start, what the middle loses, what the end loses.
MODELS = {
    "gpt-16k": (0.75, 0.22, 0.11),
    "mpt-instruct": (0.57, 0.06, 0.02),
    "mpt": (0.5, 0.07, 0.01),
    "flan-ul2": (0.62, 0.03, 0.02),
    "qwen": (0.8, 0.12, 0.05),
}
INDICES = {
    10: (0, 4, 9),
    20: (0, 4, 9, 14, 19),
    30: (0, 4, 9, 14, 19, 24, 29),
    75: (0, 24, 49, 74),
    140: (0, 34, 69, 104, 139),
    300: (0, 49, 99, 149, 199, 249, 299),
}
DEFAULTS = {"lang": "en", **WITHOUT_DOCUMENTS, "gold_index": np.nan}
QA = {"distractors": "retrieved", "order": "relevance", "answer_present": True}


def make(
    models: tuple[str, ...] = tuple(MODELS),
    questions: int = 40,
    languages: tuple[str, ...] = ("en",),
) -> pd.DataFrame:
    """All tasks and ablations of these models."""
    rows: list[dict] = []
    for model in models:
        rng = np.random.default_rng(sum(map(ord, model)))
        for lang in languages:
            for setting, mean in _settings(MODELS[model], lang):
                rows += _answers(model, setting | {"lang": lang}, mean, questions, rng)
        for keys, lang in [("uuid", "en"), *(("words", lang) for lang in languages)]:
            for setting, mean in _pairs(MODELS[model]):
                setting = setting | {"lang": lang, "keys": keys}
                rows += _answers(model, setting, mean, questions // 2, rng)
    return pd.DataFrame(rows)


def lengths(questions: int = 30, tokenizers: tuple[str, ...] = ("cl100k_base", "words")):
    """The rows of a result that needs instances: the same prompts' lengths in several tokenizers."""
    scores = make(("qwen",), questions)
    factors = ["task", "example_id", *DEFAULTS]
    frames = []
    for place, tokenizer in enumerate(tokenizers):
        rng = np.random.default_rng(place)
        frame = scores[factors].assign(tokenizer=tokenizer)
        size = 150 * frame["n_documents"].where(frame["keys"] == "none", frame["n_documents"] / 3)
        frame["n_tokens"] = (size + 15 + rng.integers(0, 40, len(frame))).astype("int32")
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _settings(shape, lang):
    start, _, _ = shape
    start -= 0.0 if lang == "en" else 0.1
    yield {"task": "closed_book"}, start - 0.25
    yield {"task": "oracle", "n_documents": 1, "gold_index": 0}, min(0.95, start + 0.15)
    for n in (10, 20, 30):
        for index in INDICES[n]:
            mean = _curve(shape, index / (n - 1)) - (n - 10) * 0.002 - 0.1 * (lang != "en")
            place = {"task": "multi_document_qa", "n_documents": n, "gold_index": index}
            yield place | QA, mean
            if n == 20 and lang == "en":
                yield place | QA | {"query_aware": True}, mean + (0.04 if index == 0 else -0.02)
                yield place | QA | {"order": "random"}, mean + 0.01
                yield place | QA | {"distractors": "random"}, min(0.95, mean + 0.12)
    if lang == "en":
        for k, recall in ((5, 0.6), (10, 0.7), (20, 0.78), (30, 0.82), (40, 0.85), (50, 0.87)):
            mean = start - 0.2 + 0.2 * recall
            yield {"task": "open_domain", "n_documents": k, "recall": recall, **QA}, mean


def _pairs(shape):
    for n in (75, 140, 300):
        for index in INDICES[n]:
            place = {"task": "key_value", "n_documents": n, "gold_index": index}
            mean = 0.25 + _curve(shape, index / (n - 1)) - n * 0.0005
            yield place, mean
            if n == 300:
                yield place | {"query_aware": True}, 1.0


def _curve(shape, depth):
    start, middle, end = shape
    return start - middle * 4 * depth * (1 - depth) - end * depth**2


def _answers(model, setting, mean, questions, rng):
    setting = DEFAULTS | setting
    recall = setting.pop("recall", None)
    asked = "pair" if setting["task"] == "key_value" else setting["lang"]
    difficulty = np.random.default_rng(7).normal(0, 0.2, questions)
    right = (rng.random(questions) < np.clip(mean + difficulty, 0.01, 0.99)) | (mean == 1.0)
    name = "/".join(map(str, setting.values()))
    # The same for every model: it is the retriever's.
    found = np.random.default_rng(11).random(questions) < (recall or 0)
    for i in range(questions):
        row = setting | {"model": model, "value": float(right[i]), "example_id": f"{asked}-{i:04}"}
        row |= {"instance_id": f"{name}/{i}", "sample": 0, "verdict": "", "finish_reason": "stop"}
        row |= {"completion_tokens": 9, "reasoning_tokens": 0}
        row["metric"] = "key_value_accuracy" if asked == "pair" else "best_subspan_em"
        if recall is not None:
            row["answer_present"] = bool(found[i])
        if asked == "en":
            row["unambiguous"] = i % 4 < 3
        yield row
