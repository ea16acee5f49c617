"""Build ONERULER's full set for one tokenizer, and say how fast, in what memory, in how many bytes.

    python perf/oneruler.py
    python perf/oneruler.py --languages en ko --lengths 8000 32000 --small

26 languages x 7 tasks x 50 examples at each of 8K, 32K, 64K and 128K tokens of cl100k_base: 36,400
prompts, in two processes, one slice at a time, as the workflow does. Books, nouns, words and prompts are
the released ones, from a mirror of the sources (`--mirror`); reading them, which is done once for all
tokenizers, is timed apart. Beside it the released way on a few cells: every sentence of the book is
tokenized for each task and length, and a list of words is made and tokenized as a whole for each word
that is tried. `--small` leaves out its long cells. The former way, which tokenized every finished prompt, is
measured in the same run with the code of that commit. Only the full set is written to perf/oneruler.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "perf"), str(ROOT / "tests")]

import machine  # noqa: E402

sys.path.insert(0, str(ROOT / "workflow/scripts"))

import pyarrow as pa  # noqa: E402

import oneruler_data  # noqa: E402
from machine import describe, peak_memory_mib  # noqa: E402
from needlework.benchmarks.oneruler import plan  # noqa: E402
from needlework.benchmarks.oneruler import prompts as construct  # noqa: E402
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer  # noqa: E402
from needlework.records import write_table  # noqa: E402

LENGTHS = [8000, 32000, 64000, 128000]
PROCESSES = 2
CONFIG: dict[str, Any] = {
    "data": "oneruler",
    "languages": list(oneruler_data.LANGUAGES),
    "cross_lingual": [],
    "tasks": list(plan.TASKS),
    "cwe_frequencies": "paper",
    "examples": 50,
    "none_option": [True],
    "without_none_tasks": ["niah_single"],
    "multiquery_needles": 2,
    "max_new_tokens": {"preset": "measured", "niah": None, "cwe": None, "languages": {}},
    "full_stops": {},
    "haystack": None,
    "seed": 0,
}


@cache
def cl100k(folder: str | None = None) -> Tokenizer:
    """The tokenizer, loaded once a process; sums are kept in a folder."""
    counting = machine.counting(folder) if folder else None
    return load_tokenizer("cl100k", {"kind": "tiktoken", "encoding": "cl100k_base"}, counting)


def build(name: str, lengths: list[int], folder: str, mirror: str) -> dict[str, float]:
    """Build and write a slice; what it took."""
    slice_settings = plan.settings(CONFIG, name, lengths)
    start = time.perf_counter()
    tables = oneruler_data.tables(Path(mirror), plan.reads(slice_settings))
    cl100k(folder)
    read = time.perf_counter()
    built = construct.build(slice_settings, tables, [], cl100k(folder))
    files = {"instances": built.instances, "documents": built.documents}
    sizes = {}
    for kind, table in files.items():
        path = Path(folder) / f"{name}.{kind}.parquet"
        write_table(table, path, page_bytes=1 << 26 if kind == "instances" else 1 << 20)
        sizes[kind] = path.stat().st_size
    return {
        "seconds_reading": read - start,
        "seconds": time.perf_counter() - read,
        "prompts": built.instances.num_rows,
        "tokens": sum(built.instances["n_tokens"].to_pylist()),
        "exhausted": sum(built.instances["exhausted"].to_pylist()),
        **sizes,
        "peak_mib": peak_memory_mib(),
    }


def texts(languages: list[str], mirror: Path) -> Iterator[str]:
    """The texts of which the prompts are made: books, dictionaries, nouns and templates."""
    for lang in languages:
        reads = plan.reads(plan.settings(CONFIG, f"{lang}-{lang}", LENGTHS))
        for tables in oneruler_data.tables(mirror, reads).values():
            for table in tables.values():
                strings = [name for name in table.column_names if table[name].type == pa.string()]
                for name in strings:
                    yield from table[name].to_pylist()


def cell(lang: str, task: str, length: int, mirror: Path) -> tuple[float, float]:
    """Seconds and tokens of one cell built alone."""
    slice_settings = plan.settings({**CONFIG, "tasks": [task]}, f"{lang}-{lang}", [length])
    tables = oneruler_data.tables(mirror, plan.reads(slice_settings))
    start = time.perf_counter()
    built = construct.build(slice_settings, tables, [], cl100k())
    return time.perf_counter() - start, sum(built.instances["n_tokens"].to_pylist())


def naive_needles(lang: str, length: int, mirror: Path) -> tuple[float, float]:
    """Seconds and tokens of a cell with one needle, as the released code goes about it."""
    tables = oneruler_data.tables(mirror, plan.reads(_slice_settings(lang, "niah_single")))
    book = tables["books"][lang]
    text, starts = book["text"][0].as_py(), book["sentence_starts"][0].as_py()
    joint = "" if lang in ("zh", "ja") else " "
    ends = [start - len(joint) for start in starts[1:]] + [len(text)]
    sentences = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    prompts = _texts(tables["prompts"][lang])
    head, tail = prompts["task"].split("{context}")
    draw, tokens, start = random.Random(0), 0, time.perf_counter()
    total, n = 0, 0
    costs = [cl100k().count(sentence) for sentence in sentences]
    while total + costs[n % len(costs)] <= length:
        total, n = total + costs[n % len(costs)], n + 1
    for _ in range(CONFIG["examples"]):
        chosen = [sentences[i % len(sentences)] for i in range(n)]
        chosen.insert(draw.randrange(n), prompts["needle_numbers"])
        tokens += cl100k().count(head + joint.join(chosen) + tail)
    return time.perf_counter() - start, tokens


def naive_words(lang: str, task: str, length: int, mirror: Path) -> tuple[float, float]:
    """Seconds and tokens of a cell of common words, as the released code goes about it.

    One word more is tried until the list is too long; the next list begins five words earlier.
    """
    tables = oneruler_data.tables(mirror, plan.reads(_slice_settings(lang, task)))
    words = sorted(set(tables["words"][lang]["word"].to_pylist()))
    template = _texts(tables["prompts"][lang])["cwe"]
    counts = plan.frequencies(CONFIG, task, length)
    draw, tokens, n, start = random.Random(0), 0, 1, time.perf_counter()
    for _ in range(CONFIG["examples"]):
        fitting = 0
        while n <= len(words):
            drawn = draw.sample(words, n)
            listed = drawn[:10] * counts.common + drawn[10:] * counts.other
            draw.shuffle(listed)
            text = " ".join(f"{i}. {word}" for i, word in enumerate(listed, start=1))
            count = cl100k().count(template.replace("{context}", text))
            if count > length:
                break
            fitting, n = count, n + 1
        tokens, n = tokens + fitting, n - 6
    return time.perf_counter() - start, tokens


def _slice_settings(lang: str, task: str) -> Mapping[str, Any]:
    return plan.settings({**CONFIG, "tasks": [task]}, f"{lang}-{lang}", [LENGTHS[0]])


def _texts(prompts: pa.Table) -> dict[str, str]:
    return dict(zip(prompts["key"].to_pylist(), prompts["text"].to_pylist(), strict=True))


def compare(lengths: list[int], mirror: Path) -> dict[str, dict[str, float]]:
    """English cells, ours and the released way: seconds, and the ratio of seconds a token."""
    # Both ways need the encoding; and a process imports its modules once.
    cl100k().count("a")
    importlib.import_module("pyarrow.compute")
    importlib.import_module("numpy.random")
    made = {}
    for task in ("niah_single", "cwe_easy"):
        for length in lengths:
            seconds, tokens = cell("en", task, length, mirror)
            if task == "niah_single":
                slow, as_many = naive_needles("en", length, mirror)
            else:
                slow, as_many = naive_words("en", task, length, mirror)
            made[f"{task} {length}"] = {
                "seconds": round(seconds, 2),
                "released_way_seconds": round(slow, 2),
                "ours_is_times_faster": round((slow / as_many) / (seconds / tokens), 1),
            }
    return made


def main() -> None:
    """Measure, and write perf/oneruler.json if it was the full set."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--languages", nargs="+", default=CONFIG["languages"])
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--bare", action="store_true", help="the full set alone, by no other way")
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    args = parser.parse_args()
    names = [f"{lang}-{lang}" for lang in args.languages]
    own_cache = "TIKTOKEN_CACHE_DIR" not in os.environ
    with tempfile.TemporaryDirectory() as folder:
        if own_cache:
            os.environ["TIKTOKEN_CACHE_DIR"] = oneruler_data.tiktoken_cache(
                args.mirror, Path(folder)
            )
        n = len(names)
        with machine.measured() as took, ProcessPoolExecutor(PROCESSES) as pool:
            made = list(
                pool.map(build, names, [args.lengths] * n, [folder] * n, [str(args.mirror)] * n)
            )
        compared, once = {}, {}
        if not args.bare:
            once = machine.counted_once(texts(args.languages, args.mirror), cl100k().count)
            compared = compare([8000] if args.small else [8000, 32000], args.mirror)
    total = {key: sum(slice_[key] for slice_ in made) for key in made[0]}
    size = total["instances"] + total["documents"]
    result = {
        "machine": describe(["numpy", "pyarrow", "tiktoken"]),
        "languages": n,
        "lengths": args.lengths,
        "processes": PROCESSES,
        **took,
        "seconds_reading_all_processes": round(total["seconds_reading"], 1),
        "prompts": total["prompts"],
        "exhausted": total["exhausted"],
        "tokens": total["tokens"],
        "tokens_per_second": round(total["tokens"] / took["seconds"]),
        "tokens_per_second_a_process": round(total["tokens"] / total["seconds"]),
        "slowest_slice_seconds": round(max(slice_["seconds"] for slice_ in made), 1),
        "peak_mib_a_process": round(max(slice_["peak_mib"] for slice_ in made)),
        "megabytes": round(size / 1e6, 1),
        "megabytes_of_word_lists": round(total["documents"] / 1e6, 1),
    }
    if args.bare:
        print(json.dumps(result))
        return
    if own_cache:
        del os.environ["TIKTOKEN_CACHE_DIR"]
    names_and_lengths = ["--languages", *args.languages, "--lengths", *map(str, args.lengths)]
    former = machine.former_way(
        __file__, *names_and_lengths, "--mirror", str(args.mirror.resolve())
    )
    assert all(former[key] == result[key] for key in ("prompts", "tokens", "megabytes"))
    result |= {
        "former_way_seconds": former["seconds"],
        "former_way_cpu_seconds": former["cpu_seconds"],
        "times_as_fast": round(former["seconds"] / took["seconds"], 1),
        "former_way_peak_mib_a_process": former["peak_mib_a_process"],
        "limits": {"times_as_fast": 10, "peak_mib_a_process": 500, "megabytes": 118.3},
        "bound": once,
        "released_way": compared,
    }
    text = json.dumps(result, indent=1)
    if names == plan.slices(CONFIG) and args.lengths == LENGTHS and not args.small:
        (ROOT / "perf/oneruler.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
