"""Build mLongRR's full set for one tokenizer, and say how fast and in what memory.

    python perf/mlongrr.py
    python perf/mlongrr.py --languages en so

Five languages at 2K to 64K tokens of o200k_base, one, two and three needles, numbers and cities: 525
prompts, in two processes, one slice at a time, as the workflow does. Articles and needles come from a
mirror of the sources (`--mirror`); reading them, which is done once for all tokenizers, is timed apart.
Beside it the released way, on the same languages: for every depth, prefixes of the haystack are tokenized
anew until one has enough tokens. Processor seconds, unlike those of the clock, are the same on a machine
that does something else too. Only the full set is written to perf/mlongrr.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "perf"), str(ROOT / "tests")]

import mlongrr_data  # noqa: E402
import oneruler_data  # noqa: E402
from machine import describe, peak_memory_mib  # noqa: E402
from needlework.benchmarks.mlongrr import prompts as construct  # noqa: E402
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer  # noqa: E402
from needlework.records import write_table  # noqa: E402

LENGTHS = [2000, 8000, 16000, 32000, 64000]
LANGUAGES = ["en", "vi", "id", "sw", "so"]
PROCESSES = 2


@cache
def o200k() -> Tokenizer:
    """The tokenizer, loaded once a process."""
    return load_tokenizer("o200k", {"kind": "tiktoken", "encoding": "o200k_base"})


def build(lang: str, folder: str, mirror: str) -> dict[str, float]:
    """Build and write a language's prompts; what it took."""
    slice_settings = mlongrr_data.settings(lang, LENGTHS)
    start = time.perf_counter()
    tables = mlongrr_data.tables(slice_settings, Path(mirror))
    o200k()
    read = time.perf_counter()
    built = construct.build(slice_settings, tables, [], o200k())
    path = Path(folder) / f"{lang}.parquet"
    write_table(built.instances, path, page_bytes=1 << 26)
    return {
        "seconds_reading": read - start,
        "seconds": time.perf_counter() - read,
        "prompts": built.instances.num_rows,
        "tokens": sum(built.instances["n_tokens"].to_pylist()),
        "exhausted": sum(built.instances["exhausted"].to_pylist()),
        "bytes": path.stat().st_size,
        "peak_mib": peak_memory_mib(),
    }


def released_way(lang: str, mirror: Path) -> int:
    """Find the places of one, two and three needles by prefixes; how many prompts so placed."""
    table = mlongrr_data.table("mlongrr_articles", lang, mirror).to_pylist()[1]
    text, starts = table["text"], table["sentence_starts"]
    ends = [start - 1 for start in starts[1:]] + [len(text)]
    count = o200k().count
    prompts = 0
    for length in LENGTHS:
        n, total = 0, 0
        while n < len(ends) and total <= length - 100:
            total += count(text[starts[n] : ends[n]])
            n += 1
        whole = count(text[: ends[n - 1]])
        # 5 depths of one needle; 4 buckets with both ends, of two and three needles.
        for depths in ([0, 25, 50, 75, 100], *[[0, 25, 25, 50, 50, 75, 75, 100]] * 2):
            for depth in depths:
                place = int(n * depth / 100 * 0.5)
                while 0 < depth < 100 and count(text[: ends[place]]) < whole * depth / 100:
                    place += 1
        # Two questions share a placement.
        prompts += 5 + 4 + 4
    return prompts


def main() -> None:
    """Measure, and write perf/mlongrr.json if it was the full set."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--languages", nargs="+", default=LANGUAGES)
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    args = parser.parse_args()
    n = len(args.languages)
    with tempfile.TemporaryDirectory() as folder:
        if "TIKTOKEN_CACHE_DIR" not in os.environ:
            os.environ["TIKTOKEN_CACHE_DIR"] = oneruler_data.tiktoken_cache(
                args.mirror, Path(folder)
            )
        load = round(os.getloadavg()[0], 1)
        start = time.perf_counter()
        with ProcessPoolExecutor(PROCESSES) as pool:
            made = list(pool.map(build, args.languages, [folder] * n, [str(args.mirror)] * n))
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        o200k()
        start, begun = time.perf_counter(), time.process_time()
        placed = sum(released_way(lang, args.mirror) for lang in args.languages)
        slow = {
            "placements": placed,
            "seconds": round(time.perf_counter() - start, 1),
            "processor_seconds": round(time.process_time() - begun, 1),
        }
    total: dict[str, Any] = {key: sum(slice_[key] for slice_ in made) for key in made[0]}
    result = {
        "machine": describe(["numpy", "pyarrow", "tiktoken"]),
        "languages": n,
        "lengths": LENGTHS,
        "processes": PROCESSES,
        "load_average_before": load,
        "seconds": round(seconds, 1),
        "processor_seconds_all_processes": round(used.ru_utime + used.ru_stime, 1),
        "seconds_reading_all_processes": round(total["seconds_reading"], 1),
        "seconds_building_all_processes": round(total["seconds"], 1),
        "prompts": total["prompts"],
        "exhausted": total["exhausted"],
        "tokens": total["tokens"],
        "peak_mib_a_process": round(max(slice_["peak_mib"] for slice_ in made)),
        "megabytes": round(total["bytes"] / 1e6, 2),
        "limits": {"seconds": 20, "gib": 1},
        "released_way_placing_alone": slow,
    }
    text = json.dumps(result, indent=1)
    if args.languages == LANGUAGES:
        (ROOT / "perf/mlongrr.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
