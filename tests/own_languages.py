"""Data and instructions of a user's own in four scripts, without a Latin letter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


# What a language's data and instructions are made of.
LANGUAGES = {
    lang: SimpleNamespace(**own)
    for lang, own in yaml.safe_load(
        (Path(__file__).parent / "data/own_languages.yaml").read_text(encoding="utf-8")
    ).items()
}


def instructions(own: SimpleNamespace) -> dict[str, str]:
    """The texts of MLNeedle and Lost in the Middle."""
    ask = f"{own.ask} {{question}}\n{own.answer}"
    return {
        "exact": f"{own.read}\n\n{{passages}}\n\n{ask}",
        "existence": f"{own.exist}\n\n{{passages}}\n\n{ask}",
        "closed_book": ask,
        "yes": own.yes,
        "no": own.no,
        "documents": f"{own.read}\n\n{{documents}}\n\n{ask}",
        "document": f"{own.document} [{{number}}]",
        "title": f"({own.title}: {{title}})",
        "pairs": f'{own.find}\n\n{{pairs}}\n\n{own.key} "{{key}}"\n{own.value}',
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_language(folder: Path, lang: str) -> None:
    """Write a language's data, in a folder of its own, and its texts, below `languages`."""
    own = LANGUAGES[lang]
    rows = ["q,t,c,a"]
    passages = []
    for number, town in enumerate(own.towns.split()):
        year = 1700 + 7 * number
        context, question = own.context.format(town=town, year=year), own.question.format(town=town)
        rows.append(f'{question},{town},"{context}","[""{year}""]"')
        passages.append(json.dumps({"c": own.passage.format(town=town)}, ensure_ascii=False))
    _write(folder / f"{lang}/questions.csv", "\n".join(rows) + "\n")
    _write(folder / f"{lang}/passages.jsonl", "\n".join(passages) + "\n")
    for name, text in instructions(own).items():
        _write(folder / f"languages/{lang}/{name}.txt", text + "\n")
    niah = {
        "task": f"{own.read}\n\n{{context}}\n\n",
        "needle_numbers": own.needle,
        "question_single_numbers": own.numbers,
        "question_multi_numbers": own.both,
        "please_list": own.list,
        "if_no_numbers": f"{own.otherwise}\n\n",
        "answer_prefix": f"{own.form}\n",
        "answer_numbers": f"<{own.tag}> {own.list} </{own.tag}>",
        "none": own.none,
    }
    _write(folder / f"languages/{lang}/niah.json", json.dumps(niah, ensure_ascii=False))


def write_data(folder: Path) -> None:
    """Write the data and texts of all languages."""
    for lang in LANGUAGES:
        write_language(folder, lang)
    nouns = zip(*(own.nouns.split() for own in LANGUAGES.values()), strict=True)
    lines = ["\t".join(row) for row in [tuple(LANGUAGES), *nouns]]
    _write(folder / "languages/nouns.tsv", "\n".join(lines) + "\n")


def configuration() -> dict[str, Any]:
    """Both kinds of data in all tasks that they serve, in all languages."""
    langs, texts = [*LANGUAGES], {lang: f"languages/{lang}" for lang in LANGUAGES}
    columns = {"question": "q", "title": "t", "context": "c", "answers": "a"}
    benchmarks = {
        "mlneedle": {
            "needles": "asked",
            "haystack": "asked_paragraphs",
            "needle_languages": langs,
            "haystack_languages": ["multilingual"],
            "multilingual": langs,
            "lengths": [800],
            "questions": 4,
            "aligned": True,
            "tasks": ["exact", "existence", "closed_book"],
            "instructions": texts,
        },
        "lost_in_the_middle": {
            "needles": "asked",
            "source": "constructed",
            # The paper's ablations are of numbers of documents and pairs that this run does not ask.
            "query_aware": [],
            "query_aware_pairs": [],
            "random_order": [],
            "random_distractors": [],
            "languages": langs,
            "tasks": ["closed_book", "oracle", "multi_document_qa", "key_value"],
            "n_documents": [{"n": 10, "gold_indices": [0, 9]}],
            "n_pairs": [{"n": 10, "indices": [0, 9]}],
            "keys": ["uuid"],
            "key_languages": langs,
            "examples": 2,
            "instructions": texts,
        },
        "oneruler": {
            "data": "oneruler",
            "haystack": "texts",
            "languages": langs,
            "cross_lingual": [],
            "tasks": [f"niah_{n}" for n in "single multikey multivalue multiquery none".split()],
            "lengths": [1500],
            "examples": 2,
            "none_option": [True, False],
            "none_words": {lang: [own.none] for lang, own in LANGUAGES.items()},
            "answer_tags": [own.tag for own in LANGUAGES.values()],
            "full_stops": {lang: own.full_stop for lang, own in LANGUAGES.items()},
        },
    }
    return {
        "run": {"models": ["spelt"], "benchmarks": [*benchmarks]},
        "tokenizers": {"letters": {"kind": "characters"}},
        "models": {"spelt": {"backend": "oracle", "tokenizer": "letters", "context": 100000}},
        "sources": {"oneruler": {"folder": "languages"}},
        "corpora": {
            "asked": {
                "kind": "questions",
                "columns": columns,
                "languages": {lang: {"files": [f"{lang}/questions.csv"]} for lang in langs},
            },
            "texts": {
                "kind": "texts",
                "columns": {"text": "c"},
                "languages": {lang: {"files": [f"{lang}/passages.jsonl"]} for lang in langs},
            },
        },
        "benchmarks": benchmarks,
    }
