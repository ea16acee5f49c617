"""Build the paper's full MLNeedle set for one model, and say how fast, in what memory, in how many bytes.

    python perf/instances.py [--mirror FOLDER] [--slices N]

7 needle languages x (7 haystack languages and the mix of them) x 3 positions x 100 questions at each of
4K, 8K, 16K and 32K tokens of Mistral's v1 tokenizer, and the baseline: 67,900 prompts, in two processes,
one slice at a time, as the workflow does. Questions and 10,000 passages a language are stand-ins made of
the sample's sentences. In the same run: the former way, which tokenized every finished prompt, with the
code of that commit; both ways with tiktoken's cl100k_base, if a mirror has it; and the naive way on a few
prompts: tokenize the whole prompt again for every passage that is tried. --slices takes the first N and
writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "perf"))

import machine  # noqa: E402

sys.path.insert(0, str(ROOT / "workflow/scripts"))

import pyarrow as pa  # noqa: E402

from machine import describe, peak_memory_mib  # noqa: E402
from needlework.benchmarks.mlneedle import plan  # noqa: E402
from needlework.benchmarks.mlneedle import prompts as construct  # noqa: E402
from needlework.data.corpora import sample  # noqa: E402
from needlework.prompts.counting.pieces import line  # noqa: E402
from needlework.prompts.tokenizers import load_tokenizer  # noqa: E402
from needlework.records import DISTRACTORS, PASSAGES, QUESTIONS, write_table  # noqa: E402
from needlework.seeding import rng  # noqa: E402

LANGUAGES = ["en", "de", "es", "zh", "vi", "hi", "ar"]
LENGTHS = [4096, 8192, 16384, 32768]
N_PASSAGES, N_QUESTIONS, TOP = 10_000, 100, 300
PROCESSES = 2
TOKENIZERS = {
    "mistral-v1": {"kind": "mistral-common", "version": "v1"},
    "cl100k_base": {"kind": "tiktoken", "encoding": "cl100k_base"},
}

CONFIG = {
    "needles": "sample_questions",
    "haystack": "sample_passages",
    "needle_languages": LANGUAGES,
    "haystack_languages": [*LANGUAGES, "multilingual"],
    "question_lang": "en",
    "answer_languages": LANGUAGES,
    "questions": "all",
    "aligned": False,
    "positions": ["start", "middle", "end"],
    "retrieval": ["semantic"],
    "tasks": ["exact"],
    "needle_absent": True,
    "truncate_last": True,
    "strip_context": False,
    "answer_buffer": 64,
    "max_new_tokens": 128,
    "multilingual": LANGUAGES,
    "multilingual_top": 500,
    "seed": 0,
}
# The former code has no English questions beside those in all languages.
SAMPLE = sorted(
    str(path) for path in (ROOT / "resources/sample").glob("*.json") if path.name != "english.json"
)
TEMPLATES = sorted(str(path) for path in (ROOT / "resources/prompts/mlneedle").glob("*.txt"))


@cache
def passages(lang: str) -> pa.Table:
    """Stand-in passages of two to five of the sample's sentences each."""
    texts = sample.table("sample_passages", lang, SAMPLE, {})["text"].to_pylist()
    sentences = [s for text in texts for s in re.split(r"(?<=[.।。])\s*", text) if s]
    draw = rng("perf", "passages", lang)
    joint = "" if lang == "zh" else " "
    made = [
        joint.join(sentences[k] for k in draw.integers(len(sentences), size=draw.integers(2, 6)))
        for _ in range(N_PASSAGES)
    ]
    return pa.table([[str(i) for i in range(N_PASSAGES)], made], schema=PASSAGES)


@cache
def questions(lang: str) -> pa.Table:
    """Stand-in questions: the sample's, again and again, in contexts made twice as long."""
    rows = sample.table("sample_questions", lang, SAMPLE, {}).to_pylist()
    more = passages(lang)["text"].to_pylist()
    made = [
        {
            **rows[i % len(rows)],
            "example_id": f"{i:03}",
            "context": f"{rows[i % len(rows)]['context']} {more[i]}",
        }
        for i in range(N_QUESTIONS)
    ]
    return pa.Table.from_pylist(made, schema=QUESTIONS)


@cache
def distractors(lang: str) -> pa.Table:
    """Stand-in rankings of 300 passages a question."""
    draw = rng("perf", "distractors", lang)
    chosen = [draw.choice(N_PASSAGES, TOP, replace=False) for _ in range(N_QUESTIONS)]
    return pa.table(
        [
            [f"{i:03}" for i in range(N_QUESTIONS) for _ in range(TOP)],
            ["semantic"] * (N_QUESTIONS * TOP),
            list(range(TOP)) * N_QUESTIONS,
            [str(row) for rows in chosen for row in rows],
            [1 - rank / TOP for rank in range(TOP)] * N_QUESTIONS,
        ],
        schema=DISTRACTORS,
    )


def tables(slice_settings: dict) -> dict:
    """What a slice is made from."""
    hay = plan.haystack_languages(slice_settings)
    return {
        "questions": {lang: questions(lang) for _, lang in plan.reads(slice_settings)["questions"]},
        "passages": {lang: passages(lang) for lang in hay},
        "distractors": {lang: distractors(lang) for lang in hay},
    }


def build(name: str, tokenizer_name: str, folder: str) -> dict:
    """Build and write a slice; what it took."""
    slice_settings = plan.settings(CONFIG, name, LENGTHS)
    made_from = tables(slice_settings)
    start = time.perf_counter()
    tokenizer = load_tokenizer(tokenizer_name, TOKENIZERS[tokenizer_name], machine.counting(folder))
    table, left_out, _ = construct.build(slice_settings, made_from, TEMPLATES, tokenizer)
    path = Path(folder) / f"{name}.parquet"
    write_table(table, path, page_bytes=1 << 26)
    return {
        "seconds": time.perf_counter() - start,
        "prompts": table.num_rows,
        "tokens": sum(table["n_tokens"].to_pylist()),
        "bytes": path.stat().st_size,
        "left_out": sum(left_out.values()),
        "peak_mib": peak_memory_mib(),
    }


def full_set(tokenizer_name: str, slices: int | None) -> dict:
    """Build all slices in two processes; what they took together."""
    names = plan.slices(CONFIG)[:slices]
    with tempfile.TemporaryDirectory() as folder:
        n = len(names)
        with machine.measured() as took, ProcessPoolExecutor(PROCESSES) as pool:
            made = list(pool.map(build, names, [tokenizer_name] * n, [folder] * n))
    total = {key: sum(slice_[key] for slice_ in made) for key in made[0]}
    return {
        **took,
        "prompts": total["prompts"],
        "left_out": total["left_out"],
        "tokens": total["tokens"],
        "tokens_per_second": round(total["tokens"] / took["seconds"]),
        "tokens_per_second_a_process": round(total["tokens"] / total["seconds"]),
        "peak_mib_a_process": round(max(slice_["peak_mib"] for slice_ in made)),
        "megabytes": round(total["bytes"] / 1e6, 1),
        "bytes_a_prompt": round(total["bytes"] / total["prompts"]),
    }


def texts() -> Iterator[str]:
    """The texts of which the prompts are made: passages, and the questions with their contexts."""
    for lang in LANGUAGES:
        yield from passages(lang)["text"].to_pylist()
        for column in ("question", "context"):
            yield from questions(lang)[column].to_pylist()


def naive(length: int, n: int = 3) -> dict:
    """Tokens of finished prompts a second where every candidate prompt is tokenized as a whole."""
    tokenizer = load_tokenizer("mistral-v1", {"kind": "mistral-common", "version": "v1"})
    needles, hay = questions("de")["context"].to_pylist(), passages("en")["text"].to_pylist()
    ranked = distractors("en")["passage_id"].to_pylist()
    start, tokens = time.perf_counter(), 0
    for question in range(n):
        lines, kept = [needles[question]], 0
        for passage_id in ranked[question * TOP : (question + 1) * TOP]:
            lines.append(hay[int(passage_id)])
            prompt = "\n".join(line(i, text) for i, text in enumerate(lines))
            count = tokenizer.count(prompt)
            if count > length - 64:
                break
            kept = count
        tokens += kept
    return {"tokens_per_second": tokens / (time.perf_counter() - start), "prompts": n}


def main() -> None:
    """Measure, and write perf/instances.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    parser.add_argument("--slices", type=int)
    parser.add_argument("--bare", metavar="TOKENIZER", help="the full set alone, by no other way")
    args = parser.parse_args()
    if args.bare:
        print(json.dumps(full_set(args.bare, args.slices)))
        return
    chosen = [] if args.slices is None else ["--slices", str(args.slices)]
    names = ["mistral-v1"]
    with tempfile.TemporaryDirectory() as folder:
        encoding = args.mirror / "tokenizers/cl100k_base.tiktoken"
        if encoding.exists():
            (Path(folder) / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").symlink_to(
                encoding.resolve()
            )
            os.environ["TIKTOKEN_CACHE_DIR"] = folder
            names.append("cl100k_base")
        sets = {}
        for name in names:
            made = full_set(name, args.slices)
            former = machine.former_way(__file__, name, *chosen)
            assert all(made[key] == former[key] for key in ("prompts", "tokens", "megabytes"))
            count = load_tokenizer(name, TOKENIZERS[name]).count
            sets[name] = made | {
                "bound": machine.counted_once(texts(), count),
                "former_way_seconds": former["seconds"],
                "former_way_cpu_seconds": former["cpu_seconds"],
                "times_as_fast": round(former["seconds"] / made["seconds"], 1),
                "former_way_peak_mib_a_process": former["peak_mib_a_process"],
            }
    speed = sets["mistral-v1"]["tokens_per_second_a_process"]
    result = {
        "machine": describe(["pyarrow", "mistral-common", "sentencepiece", "tiktoken"]),
        "processes": PROCESSES,
        **sets,
        "limits": {"times_as_fast": 5, "gib": 4, "megabytes": 100},
        "naive": {
            str(length): {
                "tokens_per_second": round(other["tokens_per_second"]),
                "prompts_measured": other["prompts"],
                "ours_is_times_faster": round(speed / other["tokens_per_second"], 1),
            }
            for length in LENGTHS[:3]
            for other in [naive(length)]
        },
    }
    text = json.dumps(result, indent=1)
    if args.slices is None:
        (ROOT / "perf/instances.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
