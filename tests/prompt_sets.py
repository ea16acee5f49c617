"""Sets of prompts as the benchmarks build them, for what orders and caches them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.benchmarks.mlneedle import plan
from needlework.benchmarks.mlneedle import prompts as construct
from needlework.data.corpora import extractive, mmarco, sample
from needlework.data.words import word_starts
from needlework.given import given
from needlework.prompts.spans import Documents, Span, literal
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.records import DISTRACTORS, SPAN
from needlework.seeding import rng

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = sorted(str(path) for path in (ROOT / "resources/prompts/mlneedle").glob("*.txt"))


class PromptSet(NamedTuple):
    """The columns `prompt` of instance files, the documents that they are rendered from, and the files."""

    columns: list[pa.ChunkedArray]
    documents: Mapping[str, str]
    tables: Sequence[pa.Table] = ()


def words(text: str, known: dict[str, int]) -> list[int]:
    """The words of a text as numbers; `known` has those of earlier texts, and learns new ones.

    Each word is taken with what stands before it, so equal numbers are equal texts.
    """
    starts = [*word_starts(text), len(text)]
    pieces = [text[: starts[0]], *(text[a:b] for a, b in pairwise(starts))]
    return [known.setdefault(piece, len(known)) for piece in pieces if piece]


class Sources(NamedTuple):
    """The questions and passages of MLNeedle by language, and seeded rankings of the passages."""

    questions: Mapping[str, pa.Table]
    passages: Mapping[str, pa.Table]
    ranked: Mapping[str, pa.Table]


def sample_set(
    lengths: Sequence[int], questions: int, tokenizer: Tokenizer | None = None
) -> PromptSet:
    return _mlneedle(_sample(), lengths, questions, tokenizer)


@cache
def _sample() -> Sources:
    files = sorted(str(path) for path in (ROOT / "resources/sample").glob("*.json"))
    languages = ["de", "en", "zh"]
    return _ranked(
        *(
            {lang: sample.table(corpus, lang, files, {}) for lang in languages}
            for corpus in ("sample_questions", "sample_passages")
        )
    )


def mirror_set(
    mirror: Path, lengths: Sequence[int], questions: int, tokenizer: Tokenizer | None = None
) -> PromptSet:
    """MLNeedle of XQuAD's questions, several of which share a context, among mMARCO's passages."""
    return _mlneedle(_mirror(mirror), lengths, questions, tokenizer)


@cache
def _mirror(mirror: Path) -> Sources:
    languages = {"de": "german", "en": "english", "zh": "chinese"}
    return _ranked(
        {lang: extractive.read_xquad(mirror / f"xquad/xquad.{lang}.json") for lang in languages},
        {
            lang: mmarco.read(mirror / f"mmarco/collections/{name}_collection.tsv", range(240))
            for lang, name in languages.items()
        },
    )


def _ranked(questions: Mapping[str, pa.Table], passages: Mapping[str, pa.Table]) -> Sources:
    ranked = {lang: ranking(lang, questions[lang], passages[lang]) for lang in questions}
    return Sources(questions, passages, ranked)


def _mlneedle(sources: Sources, lengths: Sequence[int], n: int, tokenizer: Any) -> PromptSet:
    """Needles in every language among passages of every language and of all."""
    questions, passages, ranked = sources
    languages, tasks = sorted(questions), ["exact", "existence", "closed_book"]
    values: dict[str, Any] = {
        **{"needles": "asked", "haystack": "hay", "needle_languages": languages},
        **{"haystack_languages": [*languages, "multilingual"], "question_lang": "en"},
        **{"instructions": {}, "answer_languages": languages, "questions": n, "aligned": True},
        **{"positions": ["start", "middle", "end"], "retrieval": ["semantic"], "tasks": tasks},
        **{"needle_absent": True, "truncate_last": True, "strip_context": False},
        **{"max_new_tokens": 128, "multilingual": languages, "seed": 0},
    }
    config = given(values)
    documents = Documents()
    for lang in languages:
        documents.add(f"asked/{lang}", questions[lang])
        documents.add(f"hay/{lang}", passages[lang])
    tokenizer = tokenizer or load_tokenizer("words", {"kind": "words"})
    made = []
    for name in plan.slices(config):
        slice_settings = plan.settings(config, name, list(lengths))
        hay = plan.searches(slice_settings)
        tables = {
            "questions": questions,
            "passages": {lang: passages[lang] for lang in hay},
            "distractors": {lang: ranked[lang] for lang in hay},
        }
        made.append(construct.build(slice_settings, tables, TEMPLATES, tokenizer).instances)
    return PromptSet([table["prompt"] for table in made], documents, made)


def ranking(lang: str, questions: pa.Table, passages: pa.Table) -> pa.Table:
    """Seeded rankings of all passages, one a question."""
    rows = []
    for example_id in questions["example_id"].to_pylist():
        order = rng("prompt sets", lang, example_id).permutation(passages.num_rows)
        rows += [
            {
                **{"example_id": example_id, "retrieval": "semantic", "rank": rank},
                "passage_id": passages["passage_id"][int(place)].as_py(),
                "score": 1 - rank / len(order),
            }
            for rank, place in enumerate(order)
        ]
    return pa.Table.from_pylist(rows, schema=DISTRACTORS)


def multi_document_set(
    mirror: Path, questions: int, counts: Sequence[int], indices: Sequence[int]
) -> PromptSet:
    """Lost in the Middle's: the same distractors with the gold document at each index, an index at a time.

    The distractors are the gold documents of other questions.
    """
    with gzip.open(mirror / "lost-in-the-middle/qa_data/nq-open-oracle.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    golds = [row["ctxs"][0] for row in rows]
    documents = {f"lim/en/{n}": gold["text"] for n, gold in enumerate(golds)}

    def shown(place: int, number: int) -> list[Span]:
        label = f"\nDocument [{number}](Title: {golds[place]['title']}) "
        source = f"lim/en/{place}"
        return [literal("haystack", label), Span("distractor", source, 0, len(documents[source]))]

    prompts = []
    for count in counts:
        for index in (index for index in indices if index < count):
            for n in range(questions):
                others = [int(m) for m in rng("prompt sets", n).permutation(len(rows)) if m != n]
                chosen = [*others[:index], n, *others[index : count - 1]]
                spans = [span for i, place in enumerate(chosen) for span in shown(place, i + 1)]
                head = "Write a high-quality answer for the given question.\n"
                tail = f"\n\nQuestion: {rows[n]['question']}\nAnswer:"
                prompts.append([literal("instruction", head), *spans, literal("question", tail)])
    column = pa.chunked_array([[[span._asdict() for span in p] for p in prompts]], pa.list_(SPAN))
    return PromptSet([column], documents)
