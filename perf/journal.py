"""The journal's speed and memory: answers appended a second, and reading a million back.

    python perf/journal.py [--answers 1000000] [--batch 1000] [--out perf/journal.json]

Targets: 20,000 answers/s appended with every batch synced to the disk; a
million read back in 20 s and 1 GiB. Each reading runs in a process of its own, which reports its
peak memory; a reading for `keys` is what generation does, where the journal holds other models' too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow" / "scripts"), str(ROOT / "perf")]

import machine  # noqa: E402
from needlework.journal import Journal  # noqa: E402


def key(number: int) -> str:
    """A key such as generation makes."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def answer(number: int) -> dict[str, Any]:
    """An answer of about 30 words with its token counts."""
    text = (
        f"According to passage [{number % 90}], the lighthouse of Orveld was finished in {number} by "
        "Marta Quill, who had studied in the harbour town for many years before the storm."
    )
    return {
        "key": key(number),
        "text": text,
        "finish_reason": "stop",
        "prompt_tokens": 4000 + number % 97,
        "cached_tokens": number % 3000,
        "completion_tokens": 30 + number % 99,
    }


def append(directory: Path, answers: int, batch: int) -> dict[str, float]:
    """Append in batches; the time is that of `append` alone, answers are made outside it."""
    spent = 0.0
    with Journal(directory) as journal:
        for first in range(0, answers, batch):
            records = [answer(number) for number in range(first, min(first + batch, answers))]
            start = time.perf_counter()
            journal.append(records)
            spent += time.perf_counter() - start
    return {"seconds": round(spent, 2), "answers_per_second": round(answers / spent)}


def read(directory: Path, answers: int, what: str) -> dict[str, float]:
    """Read everything, or the records of one key in ten, or one record after the other."""
    wanted = {key(number) for number in range(0, answers, 10)} if what == "keys" else None
    start = time.perf_counter()
    if what == "stream":
        count = sum(1 for _ in Journal(directory).records())
    else:
        count = len(Journal(directory).load(wanted))
    seconds = time.perf_counter() - start
    if count != (len(wanted) if wanted else answers):
        raise SystemExit(f"{what}: {count} answers came back")
    return {"seconds": round(seconds, 2), "peak_memory_mib": round(machine.peak_memory_mib())}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    result: dict[str, Any] = {"answers": options.answers, "batch": options.batch}
    # In the repository and not in /tmp, which may be memory.
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".perf-journal-") as folder:
        directory = Path(folder)
        result["append"] = append(directory, options.answers, options.batch)
        size = sum(path.stat().st_size for path in directory.iterdir())
        result["bytes_per_answer"] = round(size / options.answers)
        # spawn: a forked child would start with this process's memory.
        context = multiprocessing.get_context("spawn")
        for what in ("everything", "keys", "stream"):
            with context.Pool(1) as pool:
                result[f"read_{what}"] = pool.apply(read, (directory, options.answers, what))
    result["machine"] = machine.describe()
    text = json.dumps(result, indent=2)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
