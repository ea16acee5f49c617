"""How long ordering takes, in what memory, and what an engine with a prefix cache computes in each order.

    python perf/ordering.py [--files 26 56] [--questions 100] [--out perf/ordering.json]

Prompts at the papers' scale are stand-ins given as spans, in instance files:
36,400 of ONERULER (26 languages, 7 tasks, 4 lengths, 50 examples), and 84,000 of MLNeedle at 32K tokens, of
601 spans each. Each set is read and ordered in a process of its own, which reports its peak memory. The cache
is simulated (blocks of 16 tokens, words as tokens, the memory of four longest prompts) on smaller sets, in
our order, in that of the instance files and in a random one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf", "tests")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

import prompt_sets  # noqa: E402
from machine import describe, peak_memory_mib  # noqa: E402
from needlework.models.generation import InstanceRequests  # noqa: E402
from needlework.prompts.ordering import PromptStore  # noqa: E402
from needlework.prompts.spans import Span, literal, render  # noqa: E402
from needlework.records import SPAN, instances_schema, write_table  # noqa: E402
from needlework.seeding import rng  # noqa: E402
from prefix_cache import lower_bound, simulate  # noqa: E402

BLOCK = 16
MIRROR = ROOT.parent / "shared/mirror"
SCHEMA = instances_schema({"length": "int32"})


class Texts(dict[str, str]):
    """Documents that are all the same text: an order reads no more than what their spans begin with."""

    def __missing__(self, source: str) -> str:
        return f"{source} " * 100


def write(spans: pa.Array, lengths: list[int], name: str, folder: Path) -> None:
    """An instance file of prompts that have so many of the spans each."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    n = len(lengths)
    columns = {
        "instance_id": [f"{name} {i}" for i in range(n)],
        "benchmark": ["made"] * n,
        "task": ["exact"] * n,
        "length": [0] * n,
        "example_id": [str(i) for i in range(n)],
        "prompt": pa.ListArray.from_arrays(offsets, spans),
        "references": [["answer"]] * n,
        "metric": ["exact"] * n,
        "max_new_tokens": [128] * n,
        "n_tokens": lengths,
    }
    arrays = [pa.array(columns[f.name], f.type) for f in SCHEMA]
    write_table(pa.table(arrays, schema=SCHEMA), folder / f"{name}.parquet", page_bytes=1 << 26)


def oneruler(folder: Path, files: int) -> None:
    """A file a language: needles in slices of a book, and word lists of a document each."""
    for lang in range(files):
        prompts = []
        for length in (8_000, 32_000, 64_000, 128_000):
            for example in range(50):
                for task in range(5):
                    draw = rng("perf", lang, length, example, task)
                    depths = np.sort(draw.integers(4 * length, size=1 + task % 4)).tolist()
                    ends = [*depths, 4 * length]
                    book = [
                        span
                        for start, end in zip([0, *depths], ends, strict=True)
                        for span in (
                            Span("haystack", f"books/{lang}/0", start, end),
                            literal("needle", f"The special number of {example} {end} is {task}."),
                        )
                    ]
                    prompts.append([literal("instruction", f"Instruction {lang}"), *book[:-1]])
                for task in range(2):
                    source = f"oneruler/{lang}/{length} {example} {task}"
                    words = Span("haystack", source, 0, 4 * length)
                    prompts.append([literal("instruction", f"Words {lang}"), words])
        for n, prompt in enumerate(prompts):
            prompt.append(literal("question", f"Question {n % 300}?"))
        spans = pa.array([s._asdict() for prompt in prompts for s in prompt], SPAN)
        write(spans, [len(prompt) for prompt in prompts], f"slice-{lang:02}", folder)


def mlneedle(folder: Path, files: int) -> None:
    """Files of 1,500 prompts: 100 questions, 3 positions, 5 tasks or samples; 299 passages a prompt.

    As in the paper, questions have their own distractors, and several prompts share them.
    """
    labels = [literal("haystack", f"\n[{n}] ") for n in range(300)]
    for slice_ in range(files):
        hay = f"mmarco/{slice_ % 8}"
        asked = [Span("needle", f"mlqa/{slice_ // 8}/{n}", 0, 800) for n in range(100)]
        passages = [Span("distractor", f"{hay}/{n}", 0, 300) for n in range(10_000)]
        ends = [literal("question", f"Question {n % 100} of {n // 100}?") for n in range(500)]
        table = [*labels, *asked, *passages, *ends]
        values = pa.array([span._asdict() for span in table], SPAN)
        places = []
        for question in range(100):
            ranked = 400 + rng("perf", hay, question).permutation(10_000)[:299]
            for position in (0, 150, 299):
                body = np.empty(601, np.int64)
                body[0:600:2] = np.arange(300)
                body[1:600:2] = np.insert(ranked, position, 300 + question)
                for kind in range(5):
                    body[600] = 10_400 + 100 * kind + question
                    places.append(body.copy())
        write(values.take(pa.array(np.concatenate(places))), [601] * 1500, f"{slice_:02}", folder)


SETS = {"oneruler": oneruler, "mlneedle_32k": mlneedle}


def measure(folder: Path) -> dict[str, Any]:
    """Read the instance files of a folder and order them."""
    files = sorted(folder.glob("*.parquet"))
    before = peak_memory_mib()
    start = time.perf_counter()
    requests = InstanceRequests(files, Texts())
    prompts = requests._prompts
    read = time.perf_counter()
    order = prompts.order(requests.documents)
    ordered = time.perf_counter()
    first = next(iter(requests))
    assert len(order.places) == len(prompts) and first.spans
    return {
        "prompts": len(prompts),
        "spans": sum(len(spans) for spans in prompts._prompts),
        "seconds_to_read": round(read - start, 1),
        "seconds_to_order": round(ordered - read, 1),
        "peak_memory_mib": peak_memory_mib(),
        "of_which_python_and_its_libraries_mib": before,
    }


def simulated(made: prompt_sets.PromptSet) -> dict[str, Any]:
    """Tokens computed in each order, and how many times the least that is."""
    prompts = PromptStore()
    for column in made.columns:
        prompts.add(column)
    known: dict[str, int] = {}
    tokens = [prompt_sets.words(render(spans, made.documents), known) for spans in prompts]
    orders = {
        "ours": prompts.order(made.documents).places,
        "files": range(len(tokens)),
        "random": rng("perf").permutation(len(tokens)),
    }
    capacity = 4 * -(-max(map(len, tokens)) // BLOCK)
    least = lower_bound(tokens, BLOCK)
    result: dict[str, Any] = {"prompts": len(tokens), "tokens": sum(map(len, tokens))}
    result["lower_bound"] = least
    for name, places in orders.items():
        computed = simulate((tokens[place] for place in places), BLOCK, capacity).computed
        result[name] = {"computed": computed, "times_the_least": round(computed / least, 3)}
    return result


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, nargs=2, default=[26, 56], help="of each set")
    parser.add_argument("--questions", type=int, default=100, help="of the simulated cache's sets")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    result: dict[str, Any] = {}
    for (name, make), files in zip(SETS.items(), given.files, strict=True):
        with tempfile.TemporaryDirectory(dir=ROOT, prefix=".perf-ordering-") as folder:
            make(Path(folder), files)
            # spawn: a forked child would start with this process's memory.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                result[name] = pool.apply(measure, (Path(folder),))
        print(name, result[name], flush=True)
    few = -(-given.questions // 10)
    sets = {"mlneedle_sample": prompt_sets.sample_set([1024, 4096], questions=few)}
    if MIRROR.is_dir():
        sets["mlneedle_mirror"] = prompt_sets.mirror_set(MIRROR, [1024, 4096], questions=few)
        sets["multi_document"] = prompt_sets.multi_document_set(
            MIRROR, given.questions, [10, 20, 30], [0, 4, 9, 14, 19, 24, 29]
        )
    result["cache"] = {"block": BLOCK, **{name: simulated(made) for name, made in sets.items()}}
    result["limits"] = {"seconds": 60, "times_the_least": 1.05}
    result["machine"] = describe(["numpy", "pyarrow"])
    text = json.dumps(result, indent=1)
    given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
