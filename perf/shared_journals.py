"""Requests that runs which share a journal send beyond those needed.

    python perf/shared_journals.py [--seeds 8] [--real-seeds 8] [--out perf/shared_journals.json]

Limits: a median of 3% more at 5,000 prompts, in a simulation that drives
the library's own `Turns`, and of 6% at 1,200, in processes that ask a real HTTP server whose answers take
5 to 200 ms. The tables of runs that end together must be equal, and made again they must send nothing.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("workflow/scripts", "perf", "tests")]

import machine  # noqa: E402
from needlework.given import given  # noqa: E402
from needlework.journal import Journal  # noqa: E402
from needlework.models.backends.base import Request, load_backend  # noqa: E402
from needlework.models.backends.openai.settings import Openai  # noqa: E402
from needlework.models.generation import generate  # noqa: E402
from needlework.models.other_runs import LOOK_SECONDS, Turns  # noqa: E402
from needlework.prompts.spans import literal  # noqa: E402
from needlework.records import read_table, write_table  # noqa: E402

SIMULATED, REAL = 5_000, 1_200
LATENCY_S = (0.005, 0.2)
# The concurrency of each run, and how many seconds lie between their starts.
CASES: dict[str, tuple[list[int], float]] = {
    "2 equal": ([4, 4], 0),
    "3 equal": ([4, 4, 4], 0),
    "8 against 2 at once": ([8, 2], 0),
    "3 a second apart": ([4, 4, 4], 1),
}


def simulated(size: int, concurrency: Sequence[int], apart: float, seed: int) -> int:
    """How many of `size` requests are sent more than once, counted as often."""
    dice = random.Random(seed)
    finished: list[int] = []
    known: set[int] = set()
    runs: list[tuple[Turns, list[int]] | None] = [None] * len(concurrency)
    numbers: list[dict[int, int]] = [{} for _ in runs]
    heard, looks = [0] * len(runs), [0.0] * len(runs)
    slots: list[tuple[float, int, int, int | None]] = []
    for run, at_once in enumerate(concurrency):
        slots += [(run * apart, len(slots) + slot, run, None) for slot in range(at_once)]
    heapq.heapify(slots)
    sent, order = 0, len(slots)
    while slots:
        now, _, run, request = heapq.heappop(slots)
        if request is not None and request not in known:
            known.add(request)
            finished.append(request)
        own = runs[run]
        if own is None:
            missing = [request for request in range(size) if request not in known]
            others = sum(other is not None for other in runs)
            own = runs[run] = Turns(len(missing), others, random.Random(dice.random())), missing
            numbers[run], heard[run] = {r: n for n, r in enumerate(missing)}, len(finished)
        turns, missing = own
        if now >= looks[run]:
            turns.finished(numbers[run][r] for r in finished[heard[run] :])
            heard[run], looks[run] = len(finished), now + LOOK_SECONDS
        turn = turns.next()
        if turn is not None:
            sent, order = sent + 1, order + 1
            answered = now + dice.uniform(*LATENCY_S)
            heapq.heappush(slots, (answered, order, run, missing[turn]))
    if len(known) != size:
        raise SystemExit(f"{size - len(known)} requests were never sent")
    return sent - size


def run(folder: Path, url: str, concurrency: int, size: int) -> None:
    """One run: it asks the server so many prompts, and writes its table."""
    own: dict[str, Any] = {"base_url": url, "key_env": None, "sampling": {"temperature": 0}}
    own |= {"concurrency": concurrency, "timeout": 60}
    model = Openai(backend="openai", name="made", tokenizer="words", context=4096, **own)
    entry = given(model.model_dump(mode="json"))
    requests = [
        Request(f"{n:064x}", 0, "exact", [literal("question", f"Question {n}")], ["x"], 16, 5, {})
        for n in range(size)
    ]
    with Journal(folder.parent / "journal/generations/served") as journal:
        table = generate(
            requests, load_backend("served", entry, folder.parent / "journal"), journal
        )
    write_table(table, folder / "answers.parquet")


def real(size: int, concurrency: Sequence[int], apart: float, seed: int) -> int:
    """How many requests the server got beyond those needed, from processes that share a journal."""
    from http_server import OpenAIServer, Reply, completion

    dice = random.Random(seed)
    with OpenAIServer() as server, tempfile.TemporaryDirectory() as temporary:

        def reply(number: int, body: Any) -> Reply:
            # Another answer each time: runs agree only if they settle on one.
            return Reply(completion(body, f"answer {number}").body, delay=dice.uniform(*LATENCY_S))

        server.reply = reply
        folders = [Path(temporary, str(place)) for place in range(len(concurrency))]
        for again in (False, True):
            sent, jobs = len(server.received), []
            for folder, at_once in zip(folders, concurrency, strict=True):
                folder.mkdir(exist_ok=True)
                command = [sys.executable, __file__, "--run", folder, server.url, at_once, size]
                jobs.append(subprocess.Popen([*map(str, command)]))
                time.sleep(0 if again else apart)
            if any(job.wait() for job in jobs):
                raise SystemExit("a run failed")
            tables = [read_table(folder / "answers.parquet") for folder in folders]
            if any(table != tables[0] for table in tables):
                raise SystemExit("the tables differ")
            if again and len(server.received) > sent:
                raise SystemExit("runs that were made again sent requests")
        return len(server.received) - size


def summary(beyond: Sequence[int], size: int, limit: float) -> dict[str, Any]:
    """The median in percent of what is needed, and all values."""
    shares = [round(100 * more / size, 2) for more in beyond]
    return {
        "prompts": size,
        "percent_more": round(statistics.median(shares), 2),
        "limit": limit,
        "each": shares,
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--real-seeds", type=int, default=8)
    parser.add_argument("--prompts", type=int, nargs=2, default=[SIMULATED, REAL])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--run", nargs=4, metavar=("FOLDER", "URL", "CONCURRENCY", "PROMPTS"))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.run:
        folder, url, *numbers = options.run
        run(Path(folder), url, *map(int, numbers))
        return
    many, few = options.prompts
    cases = {name: CASES[name] for name in options.cases}
    result: dict[str, Any] = {"latency_seconds": LATENCY_S, "simulation": {}, "real": {}}
    for name, case in cases.items():
        found = [simulated(many, *case, seed) for seed in range(options.seeds)]
        result["simulation"][name] = summary(found, many, 3)
    for name, case in cases.items():
        found = [real(few, *case, seed) for seed in range(options.real_seeds)]
        result["real"][name] = summary(found, few, 6)
    result["machine"] = machine.describe(["openai", "pyarrow"])
    text = json.dumps(result, indent=2)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
