"""Scores of Lost in the Middle that no model gave, and stand-ins for its files, in their own format.

Another question's gold passage serves as a distractor where it does not hold the answer; so the oracle
file, which is there, gives retrieval results, and those the 10-, 20- and 30-document files, as the
published description of the data says. Plain code of its own: nothing here is the workflow's.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from factories import answering, configuration, losing
from needlework.benchmarks.lost_in_the_middle import corpus, plan
from needlework.benchmarks.lost_in_the_middle.factors import WITHOUT_DOCUMENTS
from needlework.given import given
from needlework.planning.config import validated

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
            for setting, mean in _pair_settings(MODELS[model]):
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


def _pair_settings(shape):
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
        yield row


def golden() -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Four models; one lost answers, one was asked in German too and an ablation of another setting."""
    scores = make(("gpt-16k", "mpt", "mpt-instruct", "flan-ul2"), 6, ("en", "de"))
    rare = scores["model"].isin(["mpt", "mpt-instruct"])
    left_out = ((scores["lang"] == "de") & (scores["model"] != "gpt-16k")) | (
        (scores["model"] == "flan-ul2") & ~scores["n_documents"].isin([0, 1, 20])
    )
    left_out |= scores["n_documents"].isin([5, 40, 75])
    left_out |= rare & scores["n_documents"].isin([30, 140])
    left_out |= (scores["lang"] == "de") & scores["n_documents"].isin([10, 30, 140])
    german = scores[(scores["lang"] == "de") & (scores["n_documents"] == 20) & ~left_out]
    scores = losing(pd.concat([scores[~left_out], german.assign(query_aware=True)]), "mpt", 7)
    # Of the 10 documents, one model answered next to nothing.
    lost = (scores["model"] == "mpt-instruct") & (scores["n_documents"] == 10)
    scores.loc[lost & (scores["example_id"] > "en-0000"), "finish_reason"] = "skipped"
    return {"scores": answering(scores, "lang"), "instances": lengths(4)}, SETTINGS


# Settings


def block(seed: int = 0, **own: Any) -> Any:
    """The block of a valid configuration that has `own` alone, with a run's seed."""
    config = validated(configuration(plan.NAME, own))
    return given(config["benchmarks"][plan.NAME] | {"seed": seed})


def settings(name: str, seed: int = 0, **own: Any) -> dict[str, Any]:
    """What a configuration says of a slice; random distractors are from other questions."""
    found = block(seed, **{"random_from": "other_questions", **own})
    assert name in plan.slices(found)
    return plan.settings(found, name, [])


# Real files

FOLDER = "lost-in-the-middle"
ORACLE = f"{FOLDER}/qa_data/nq-open-oracle.jsonl.gz"
RETRIEVAL = f"{FOLDER}/nq-open-contriever-msmarco-retrieved-documents.jsonl.gz"

Row = dict[str, object]
WORD = re.compile(r"[^_\W]+")


def documents_path(n: int, gold_index: int) -> str:
    """Where the release has the file of `n` documents with the gold one at an index."""
    name = f"nq-open-{n}_total_documents_gold_at_{gold_index}.jsonl.gz"
    return f"{FOLDER}/qa_data/{n}_total_documents/{name}"


def pairs_path(n: int) -> str:
    """Where the release has the file of `n` key-value pairs."""
    return f"{FOLDER}/kv_retrieval_data/kv-retrieval-{n}_keys.jsonl.gz"


def read(path: Path) -> list[Row]:
    """The objects of a released file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path: Path, rows: Iterable[object]) -> Path:
    """Write a file in the released format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))
    return path


def retrieval(oracle: Sequence[Row], n: int, *, distinct: bool = False) -> list[Row]:
    """Retrieval results: `n` or more passages a question, some of which hold an answer, and 30 do not.

    Passages are other questions' gold passages; with `distinct`, the first half of one and the second
    half of another, so that hardly any comes twice, as in the released results.
    """
    rows = []
    for number, row in enumerate(oracle):
        draw = random.Random(number)
        contexts: list[Row] = []
        # The own gold passage, in other words: it holds an answer and is not the gold one.
        own = row["nq_annotated_gold"]
        again = {"title": own["title"], "text": "In short: " + own["chunked_long_answer"]}
        at = draw.randrange(3 * n)
        # Some answers are short and stand in most passages.
        while len(contexts) < n or sum(not found["hasanswer"] for found in contexts) < 30:
            one, other = (oracle[draw.randrange(len(oracle))] for _ in range(2))
            context = dict(zip(("title", "text"), _gold(one), strict=True))
            if distinct:
                first, second = context["text"].split(" "), _gold(other)[1].split(" ")
                half = len(first) // 2
                context["text"] = " ".join(first[:half] + second[len(second) // 2 :])
            if len(contexts) == at:
                context = again
            if context["text"] == own["chunked_long_answer"]:
                continue
            context |= {
                "id": str(len(contexts) + 10_000 * number),
                "score": str(2.0 - len(contexts) / n),
                "hasanswer": _holds(row["answers"], context["text"]),
            }
            contexts.append(context)
        rows.append({**copy.deepcopy(dict(row)), "ctxs": contexts})
    return rows


def _gold(row: Row) -> tuple[str, str]:
    gold = row["nq_annotated_gold"]
    return gold["title"], gold["chunked_long_answer"]


def _holds(answers: Sequence[str], text: str) -> bool:
    """Whether the words of an answer stand in a text, in a row."""
    words = [f" {' '.join(WORD.findall(part.lower()))} " for part in (*answers, text)]
    return any(answer in words[-1] for answer in words[:-1] if answer.strip())


def documents(retrieved: Iterable[Row], n: int, gold_index: int) -> list[Row]:
    """The released file of `n` documents that these retrieval results give."""
    rows = []
    for row in retrieved:
        distractors = [
            {**context, "original_retrieval_index": place, "isgold": False}
            for place, context in enumerate(row["ctxs"])
            if context["hasanswer"] is False
        ]
        contexts = distractors[: n - 1]
        assert len(contexts) == n - 1
        title, text = _gold(row)
        gold = {"title": title, "text": text, "hasanswer": True, "isgold": True}
        contexts.insert(gold_index, gold)
        rows.append({**row, "ctxs": contexts})
    return rows


def pairs(n: int, examples: int) -> list[Row]:
    """A released file of `n` key-value pairs."""
    rows = []
    for example in range(examples):
        draw = random.Random(1000 * n + example)
        names = [str(uuid.UUID(int=draw.getrandbits(128), version=4)) for _ in range(2 * n)]
        records = [list(record) for record in zip(names[::2], names[1::2], strict=True)]
        key, value = draw.choice(records)
        rows.append({"ordered_kv_records": records, "key": key, "value": value})
    return rows


def prompt(contexts: Sequence[Mapping[str, str]], asked: str, *, kind: str = "plain") -> str:
    """A prompt as the paper prints it: `kind` is plain, random_order or query_aware."""
    head = (
        "Write a high-quality answer for the given question using only the provided search results "
        "(some of which might be irrelevant)."
    )
    head += " The search results are ordered randomly." if kind == "random_order" else ""
    head += f"\n\nQuestion: {asked}" if kind == "query_aware" else ""
    lines = [
        f"Document [{number}](Title: {context['title']}) {context['text']}"
        for number, context in enumerate(contexts, start=1)
    ]
    return head + "\n\n" + "\n".join(lines) + f"\n\nQuestion: {asked}\nAnswer:"


def pairs_prompt(records: Sequence[Sequence[str]], key: str, *, query_aware: bool = False) -> str:
    """A key-value prompt as the paper prints it."""
    body = ",\n ".join(f'"{name}": "{value}"' for name, value in records)
    head = "Extract the value corresponding to the specified key in the JSON object below.\n\n"
    head += f'Key: "{key}"\n\n' if query_aware else ""
    return f'{head}JSON data:\n{{{body}}}\n\nKey: "{key}"\nCorresponding value:'


def stand_ins(
    mirror: Path,
    folder: Path,
    n: int,
    retrieved: int = 60,
    examples: int = 20,
    *,
    distinct: bool = False,
) -> Path:
    """A mirror with stand-ins of `n` questions: oracle, retrieval, 30 documents, and key-value files."""
    oracle = read(mirror / ORACLE)[:n]
    write(folder / ORACLE, oracle)
    results = retrieval(oracle, retrieved, distinct=distinct)
    write(folder / RETRIEVAL, results)
    write(folder / documents_path(30, 0), documents(results, 30, 0))
    for size in (75, 140, 300):
        write(folder / pairs_path(size), pairs(size, examples))
    return folder


def corpora(folder: Path) -> dict[str, pa.Table]:
    """The tables that the reader makes of such a mirror, by corpus."""
    found = {"nq_open": corpus.read_questions("nq_open", folder / ORACLE)}
    files = {"nq_open_released": documents_path(30, 0), "nq_open_retrieved": RETRIEVAL}
    for kind, file in files.items():
        found[kind] = corpus.read_questions(kind, folder / file)
        found[f"{kind}_passages"] = corpus.read_passages(kind, folder / file)
    for n in plan.RELEASED_PAIRS:
        found[f"key_value_{n}"] = corpus.read_pairs(folder / pairs_path(n), n)
    return found
