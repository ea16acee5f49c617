"""How fast ONERULER's full set of prompts is built, in what memory, and how many bytes it takes.

    python perf/construction.py
    python perf/construction.py --languages en ko --lengths 8000 32000

26 languages x 7 tasks x 50 examples at each of 8K, 32K, 64K and 128K tokens of cl100k_base: 36,400
prompts, in two processes, one slice at a time, as the workflow does. Books, nouns, words and prompts are
the released ones, from a mirror of the sources (`--mirror`); reading them, which is done once for all
tokenizers, is timed apart. The full set is written to perf/construction.json, a part to `--out` alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("workflow/scripts", "perf", "tests")]

import factories.oneruler  # noqa: E402
from machine import describe, measured, peak_memory_mib  # noqa: E402
from needlework.benchmarks.oneruler import plan, prompts  # noqa: E402
from needlework.given import given  # noqa: E402
from needlework.prompts.tokenizers import load_tokenizer  # noqa: E402
from needlework.records import write_table  # noqa: E402
from tokenizers_made import link_encodings  # noqa: E402

LENGTHS = [8000, 32000, 64000, 128000]
PROCESSES = 2
LIMITS = {"peak_mib_a_process": 500, "megabytes": 118.3}
CONFIG = given(
    {
        "data": "oneruler",
        "languages": list(factories.oneruler.LANGUAGES),
        "cross_lingual": [],
        "tasks": list(plan.TASKS),
        "cwe_frequencies": "paper",
        "examples": 50,
        "none_option": [True],
        "without_none_tasks": ["niah_single"],
        "multiquery_needles": 2,
        "max_new_tokens": "measured",
        "full_stops": {},
        "haystack": None,
        "seed": 0,
    }
)


def build(name: str, lengths: list[int], folder: str, mirror: str) -> dict[str, float]:
    """Build and write one slice; its seconds, prompts, tokens, bytes and the process's peak memory in MiB."""
    slice_settings = plan.settings(CONFIG, name, lengths)
    start = time.perf_counter()
    tables = factories.oneruler.tables(Path(mirror), plan.reads(slice_settings))
    encoding = {"kind": "tiktoken", "encoding": "cl100k_base"}
    tokenizer = load_tokenizer("cl100k", encoding, Path(folder) / "token_sums")
    read = time.perf_counter()
    built = prompts.build(slice_settings, tables, [], tokenizer)
    sizes = {}
    for kind, table in {"instances": built.instances, "documents": built.documents}.items():
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


def main() -> None:
    """Measure, print, and write perf/construction.json if it was the full set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", nargs="+", default=CONFIG["languages"])
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    names = [f"{lang}-{lang}" for lang in args.languages]
    n = len(names)
    with tempfile.TemporaryDirectory() as folder:
        if "TIKTOKEN_CACHE_DIR" not in os.environ:
            link_encodings(args.mirror, Path(folder))
            os.environ["TIKTOKEN_CACHE_DIR"] = folder
        with measured() as took, ProcessPoolExecutor(PROCESSES) as pool:
            slices = (names, [args.lengths] * n, [folder] * n, [str(args.mirror)] * n)
            made = list(pool.map(build, *slices))
    total = {key: sum(slice_[key] for slice_ in made) for key in made[0]}
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
        "slowest_slice_seconds": round(max(slice_["seconds"] for slice_ in made), 1),
        "peak_mib_a_process": round(max(slice_["peak_mib"] for slice_ in made)),
        "megabytes": round((total["instances"] + total["documents"]) / 1e6, 1),
        "megabytes_of_word_lists": round(total["documents"] / 1e6, 1),
        "limits": LIMITS,
    }
    text = json.dumps(result, indent=1)
    full = names == plan.slices(CONFIG) and args.lengths == LENGTHS
    if out := args.out or (Path(__file__).with_suffix(".json") if full else None):
        out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
