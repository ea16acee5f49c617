"""Time `snakemake estimate` on 84,000 prompts of one model, in the shape of the paper's MLNeedle (67,900).

    python perf/estimate.py [--questions 100]

7 needle languages x 8 haystacks x 100 questions x 15 prompts of 4K to 32K tokens, passage by passage
as the benchmark's are, from 10,000 stand-in passages a language; a token is taken as four characters.
Once with an empty journal, and once where half of the answers are in it, for which every prompt is
rendered.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "perf")]

import pyarrow as pa  # noqa: E402

from machine import describe, peak_memory_mib  # noqa: E402
from needlework.models.backends.base import load_backend  # noqa: E402
from needlework.models.estimates import PromptSet, estimate  # noqa: E402
from needlework.records import SPAN, write_table  # noqa: E402
from needlework.seeding import rng  # noqa: E402

LANGUAGES = ["en", "de", "es", "zh", "vi", "hi", "ar"]
HAYSTACKS = [*LANGUAGES, "multilingual"]
SHAPES = [(n, k) for n in (4096, 8192, 16384, 32768) for k in range(3)] + [
    (n, 3) for n in (4096, 8192, 16384)
]
PASSAGES = 10_000

SCHEMA = pa.schema(
    [
        ("instance_id", pa.string()),
        ("task", pa.string()),
        ("prompt", pa.list_(SPAN)),
        ("references", pa.list_(pa.string())),
        ("max_new_tokens", pa.int32()),
        ("n_tokens", pa.int32()),
        ("length", pa.int32()),
    ]
)
ENTRY: dict[str, Any] = {
    "backend": "vllm",
    "model": "perf",
    "name": "some/model-8B",
    "revision": "main",
    "context": 131072,
    "samples": 1,
    "engine": {},
    "lora": None,
    "chat": True,
    "chat_template": None,
    "reasoning": None,
    "sampling": {"temperature": 0},
    "request": {},
    "throughput": None,
    "price": None,
}


def passages() -> dict[str, str]:
    """Stand-in passages of 200 to 500 characters."""
    draw = rng("perf", "estimate")
    text = "".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz   "), 1_000_000))
    places = draw.integers(0, len(text) - 500, (len(HAYSTACKS), PASSAGES))
    sizes = draw.integers(200, 500, (len(HAYSTACKS), PASSAGES))
    return {
        f"hay/{lang}/{i}": text[places[n][i] : places[n][i] + sizes[n][i]]
        for n, lang in enumerate(HAYSTACKS)
        for i in range(PASSAGES)
    }


def write_slice(path: Path, lang: str, questions: int, documents: Mapping[str, str]) -> None:
    """The prompts of a pair of languages: a needle's place differs, the distractors do not."""
    rows = []
    for question in range(questions):
        draw = rng("perf", path.stem, question)
        ranked = [f"hay/{lang}/{i}" for i in draw.choice(PASSAGES, 400, replace=False)]
        needle = f"hay/en/{question}"
        for length, place in SHAPES:
            chosen, size = [], 0
            for source in ranked:
                size += len(documents[source])
                if size > 4 * length:
                    break
                chosen.append(source)
            if place < 3:
                chosen.insert(place * len(chosen) // 2, needle)
            spans = [("instruction", None, None, None, "Answer with the passages.\n\n")]
            for n, source in enumerate(chosen):
                spans.append(("haystack", None, None, None, f"\n[{n}] "))
                spans.append(("distractor", source, 0, len(documents[source]), None))
            spans.append(("question", None, None, None, f"\n\nQuestion: {question}?"))
            rows.append(
                {
                    "instance_id": f"{path.stem}-{question}-{length}-{place}",
                    "task": "exact",
                    "prompt": [dict(zip(SPAN.names, span, strict=True)) for span in spans],
                    "references": ["x"],
                    "max_new_tokens": 128,
                    "n_tokens": length,
                    "length": length,
                }
            )
    write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, page_bytes=1 << 26)


def main() -> None:
    """Measure, print and write perf/estimate.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=100)
    questions = parser.parse_args().questions
    documents = passages()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for needle in LANGUAGES:
            for lang in HAYSTACKS:
                files.append(Path(folder) / f"{needle}-{lang}.parquet")
                write_slice(files[-1], lang, questions, documents)
        backend = load_backend("vllm", ENTRY)
        options = {"names": ("perf", "mlneedle"), "gpus": 1}
        options["guess"] = {"prefill": 160_000, "decode": 16_000}
        lengths = [length for length, _ in SHAPES]
        start = time.perf_counter()
        prompts = PromptSet(files, documents)
        result["read_s"] = time.perf_counter() - start
        start = time.perf_counter()
        whole = estimate(ENTRY, prompts, lengths, backend, set(), **options)
        result["empty_journal_s"] = time.perf_counter() - start
        start = time.perf_counter()
        estimate(ENTRY, prompts, lengths, backend, {"none of them"}, **options)
        result["with_a_journal_s"] = time.perf_counter() - start
        result["prompts"], result["tokens"] = whole.prompts, whole.prompt_tokens
        result["cached_share"] = whole.left_cached_tokens / whole.left_prompt_tokens
    result = {k: round(v, 3) if isinstance(v, float) else v for k, v in result.items()}
    result |= {"peak_memory_mib": peak_memory_mib(), "machine": describe(["pyarrow", "numpy"])}
    text = json.dumps(result, indent=2)
    (ROOT / "perf/estimate.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
