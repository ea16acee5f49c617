"""Generation's own work: prompts and bytes a second of a job that asks nothing, since all is in the journal.

    python perf/generation.py [--prompts 4000] [--characters 240000]

Writes perf/generation.json. Each prompt is rendered, searched for control tokens, and hashed into its key.
The prompts are made: as ONERULER's, a needle at one of five depths in a book, of 26 books in three scripts,
and as MLNeedle's, twenty passages of one of them. `request_key` of each rendered prompt is timed beside it,
without a search or anything else; the job's keys must be the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("workflow/scripts", "perf", "tests")]

import pyarrow as pa  # noqa: E402

from factories.models import remote  # noqa: E402
from machine import describe, measured  # noqa: E402
from needlework.journal import Journal  # noqa: E402
from needlework.models.generation import InstanceRequests, generate  # noqa: E402
from needlework.models.request_keys import request_key  # noqa: E402
from needlework.prompts.spans import Span, literal  # noqa: E402
from needlework.records import instances_schema, write_table  # noqa: E402

BOOKS = 26
DEPTHS = 5
PASSAGES = 20
# A sentence in Latin, Cyrillic and Hangul letters, with places for two numbers.
SENTENCES = (
    "In the year {} the lighthouse of Orveld was {} feet high, and nobody lived there. ",
    "В {} году маяк Орвельда был высотой {} футов, и там никто не жил. ",
    "{}년에 오르벨트의 등대는 높이가 {}피트였고 아무도 살지 않았다. ",
)


def documents(characters: int) -> dict[str, str]:
    """A text of so many characters for each book."""
    books = {}
    for book in range(BOOKS):
        sentence = SENTENCES[book % len(SENTENCES)]
        n = characters // (len(sentence) - 4) + 1
        text = "".join(sentence.format(1500 + i % 500, i * (book + 7)) for i in range(n))
        books[f"made/{book}"] = text[:characters]
    return books


def instances(prompts: int, characters: int) -> Iterator[dict[str, Any]]:
    """The rows of so many prompts: one of five is of passages, the others are of a book and a needle."""
    for n in range(prompts):
        book, question = f"made/{n % BOOKS}", n // BOOKS
        needle = literal("needle", f"The number of house {n} is {n * 7919}. ")
        spans = [literal("instruction", "Read the following and answer.\n\n")]
        if n % 5:
            place = characters * (question % DEPTHS) // DEPTHS + question // DEPTHS
            spans += [Span("haystack", book, 0, place), needle]
            spans += [Span("haystack", book, place, characters - 200)]
        else:
            length = characters // 200
            for i in range(PASSAGES):
                start = (question * 31 + i * 7) % (characters - length)
                spans += [
                    Span("distractor", book, start, start + length),
                    literal("haystack", "\n"),
                ]
        spans += [literal("question", f"\nWhat is the number of house {n}?")]
        yield {
            "instance_id": f"{n:064x}",
            "benchmark": "made",
            "task": "niah",
            "example_id": str(n),
            "prompt": [span._asdict() for span in spans],
            "references": [str(n * 7919)],
            "metric": "exact",
            "max_new_tokens": 16,
            "n_tokens": characters // 4,
        }


def refuse() -> None:
    """Fail if anything is to be asked."""
    raise ValueError("the job's keys are not those of its rendered prompts")


def measure(prompts: int, characters: int) -> dict[str, Any]:
    """The job's time, and that of the keys of rendered prompts; both have the same keys."""
    backend = remote()
    with tempfile.TemporaryDirectory() as folder:
        table = pa.Table.from_pylist([*instances(prompts, characters)], instances_schema({}))
        write_table(table, Path(folder) / "instances.parquet")
        asked = InstanceRequests([Path(folder) / "instances.parquet"], documents(characters))
        ordered = [*asked]
        start, identity = time.process_time(), backend.identity()
        keys = [request_key(identity, r.prompt, r.sample, r.max_new_tokens) for r in ordered]
        hashing = time.process_time() - start
        n_bytes = sum(len(r.prompt.encode()) for r in ordered)
        answer = {"text": "42", "finish_reason": "stop"}
        with Journal(Path(folder) / "journal") as journal:
            journal.append({"key": key, **answer} for key in keys)
            start = time.process_time()
            with measured() as took:
                # Another key than that of the rendered prompt would have the model loaded.
                generate(asked, backend, journal, loaded=refuse)
            spent = time.process_time() - start
    return {
        **{"prompts": prompts, "megabytes": round(n_bytes / 1e6, 1), **took},
        "prompts_per_cpu_second": round(prompts / spent),
        "megabytes_per_cpu_second": round(n_bytes / 1e6 / spent),
        "megabytes_per_cpu_second_of_rendering_and_hashing": round(n_bytes / 1e6 / hashing),
    }


def main() -> None:
    """Measure, print, and write perf/generation.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=4000)
    parser.add_argument("--characters", type=int, default=240_000)
    parser.add_argument("--out", type=Path, default=ROOT / "perf/generation.json")
    args = parser.parse_args()
    result = {"machine": describe(["pyarrow"]), **measure(args.prompts, args.characters)}
    text = json.dumps(result, indent=1)
    args.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
