"""Search of 5,000 questions against 70,000 x 768 vectors, beside NumPy's matrix product.

    python perf/search.py             writes perf/search.json

The product is measured whole, as `questions @ passages.T`, and in blocks of 512 questions into one
buffer, NumPy's fastest way; and with the choice of the 300 best, which is what search does (NumPy's
choice is neither ordered nor exact to the last bit). Ways take turns; the least time of each counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow" / "scripts"))
from needlework.retrieval.embedders import GRID
from needlework.retrieval.search import search
from needlework.retrieval.shards import read_array

TOP, BLOCK = 300, 512


def units(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Random vectors such as an Embedder makes."""
    vectors = np.random.default_rng(seed).standard_normal((n, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return (np.rint(vectors / GRID) * GRID).astype(np.float32)


def ways(folder: Path, threads: int) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    questions, passages = (read_array(folder / f"{name}.npy") for name in ("questions", "passages"))

    def whole_product() -> None:
        questions @ passages.T

    def product() -> None:
        buffer = np.empty((BLOCK, len(passages)), dtype=np.float32)
        for at in range(0, len(questions), BLOCK):
            block = questions[at : at + BLOCK]
            np.matmul(block, passages.T, out=buffer[: len(block)])

    def product_and_choice() -> None:
        buffer = np.empty((BLOCK, len(passages)), dtype=np.float32)
        for at in range(0, len(questions), BLOCK):
            block = questions[at : at + BLOCK]
            scores = np.matmul(block, passages.T, out=buffer[: len(block)])
            best = np.argpartition(scores, -TOP, axis=1)[:, -TOP:]
            np.take_along_axis(scores, best, axis=1)

    return {
        "search": lambda: search(questions, passages, TOP, threads=threads),
        "numpy_product_whole": whole_product,
        "numpy_product_in_blocks": product,
        "numpy_product_in_blocks_and_argpartition": product_and_choice,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--passages", type=int, default=70000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--peak", nargs=2, metavar=("FOLDER", "WAY"), help=argparse.SUPPRESS)
    args = parser.parse_args()

    if args.peak:
        ways(Path(args.peak[0]), args.threads)[args.peak[1]]()
        print(machine.peak_memory_mib())
        return

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "questions.npy", units(args.questions, args.dimensions, 0))
        np.save(folder / "passages.npy", units(args.passages, args.dimensions, 1))
        measured = ways(folder, args.threads)
        seconds = dict.fromkeys(measured, float("inf"))
        with threadpool_limits(args.threads):
            for _ in range(args.repeats):
                for way, run in measured.items():
                    start = time.perf_counter()
                    run()
                    seconds[way] = min(seconds[way], time.perf_counter() - start)
        peaks = {
            way: float(
                subprocess.run(
                    [sys.executable, __file__, "--threads", str(args.threads), "--peak", name, way],
                    check=True,
                    stdout=subprocess.PIPE,
                ).stdout
            )
            for way in measured
        }
    result = {
        "machine": machine.describe(["numpy", "faiss-cpu"]),
        "questions": args.questions,
        "passages": args.passages,
        "dimensions": args.dimensions,
        "top": TOP,
        "threads": args.threads,
        "repeats": args.repeats,
        "seconds": {way: round(value, 3) for way, value in seconds.items()},
        "search_as_a_multiple_of": {
            way: round(seconds["search"] / value, 3)
            for way, value in seconds.items()
            if way != "search"
        },
        # The process with its libraries; the vectors, mapped from disk, are part of it.
        "peak_memory_mib": peaks,
        "vectors_mib": round((args.questions + args.passages) * args.dimensions * 4 / 2**20),
    }
    args.out.write_text(json.dumps(result, indent=2) + "\n")
    print(args.out.read_text())


if __name__ == "__main__":
    main()
