"""How fast the backend `replay` reads logs of other programs, and in how much memory.

    python perf/logs.py [--samples 100000]

Writes perf/logs.json. Target: 100,000 samples of 2,000 tokens in 60 s of a processor and 1 GiB. A sample has
the shape that inspect_ai 0.3.285 and lm-eval 0.4.13 write. Each log is read in a process of its own, which
reports its peak memory.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow" / "scripts"), str(ROOT / "perf")]

import pyarrow as pa  # noqa: E402

import machine  # noqa: E402
from needlework.models.backends.replay import Replay  # noqa: E402

# Characters of 2,000 tokens.
PROMPT = 7700
# The events of a sample, without the prompt, have about as many bytes.
EVENTS = 8000


NAME = "f" * 64
# So many prompts differ; what else a sample has does not.
PROMPTS = 500


def prompts() -> Iterator[str]:
    """Prompts: words in an order of their own."""
    rng = random.Random(0)
    words = [f"{rng.getrandbits(32):x}"[: rng.randrange(2, 9)] for _ in range(5000)]
    for _ in range(PROMPTS):
        yield " ".join(rng.choices(words, k=PROMPT // 5))[:PROMPT]


def contents(
    samples: int, made: Callable[[str, str], dict[str, Any]], **options: Any
) -> Iterator[tuple[str, bytes]]:
    """Names and samples as JSON, made of a sample for each prompt."""
    texts = [json.dumps(made(NAME, prompt), **options).encode() for prompt in prompts()]
    for number in range(samples):
        name = f"{number:064x}"
        yield name, texts[number % PROMPTS].replace(NAME.encode(), name.encode())


def inspect_sample(name: str, prompt: str) -> dict[str, Any]:
    """A sample of inspect_ai."""
    chat = [{"id": "a", "content": prompt, "role": "user"}]
    message = {"role": "assistant", "content": f"Answer {name}."}
    return {
        **{"id": name, "epoch": 1, "input": chat, "messages": [*chat, message]},
        "output": {
            "choices": [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 2000, "output_tokens": 5, "total_tokens": 2005},
        },
        "events": [{"event": "span", "uuid": "x" * 22} for _ in range(EVENTS // 50)],
        "attachments": {"a" * 32: prompt},
    }


def lm_eval_sample(name: str, prompt: str) -> dict[str, Any]:
    """A line of lm-eval."""
    chat = [{"role": "user", "content": prompt}]
    doc = {"instance_id": name, "messages": chat, "references": ["a"], "metric": "exact"}
    return {
        **{"doc": doc, "arguments": {"gen_args_0": {"arg_0": [json.dumps(chat)]}}},
        "resps": [[f"Answer {name}."]],
    }


def write_archive(path: Path, samples: int) -> None:
    """A `.eval` file: members packed with Zstandard, and the directory of a large archive."""
    codec, directory, at = pa.Codec("zstd"), [], 0
    with path.open("wb") as file:
        for name, content in contents(samples, inspect_sample, indent=2):
            packed = bytes(codec.compress(content))
            raw = f"samples/{name}_epoch_1.json".encode()
            fields = (63, 0x800, 93, 0, 33, zlib.crc32(content), len(packed), len(content))
            head = struct.pack("<HHHHHIIIHH", *fields, len(raw), 0)
            file.write(b"PK\3\4" + head + raw + packed)
            directory.append((head, raw, at))
            at = file.tell()
        for head, raw, start in directory:
            file.write(b"PK\1\2" + struct.pack("<H", 63) + head)
            file.write(struct.pack("<HHHII", 0, 0, 0, 0, start) + raw)
        end, n = file.tell(), len(directory)
        file.write(b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 63, 63, 0, 0, n, n, end - at, at))
        file.write(b"PK\6\7" + struct.pack("<IQI", 0, end, 1))
        few = min(n, 65535)
        file.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, few, few, end - at, at, 0))


def write_json(path: Path, samples: int) -> None:
    """The same log as `.json`."""
    with path.open("wb") as file:
        file.write(b'{"version": 2, "eval": {"model": "m"}, "samples": [')
        for number, (_, content) in enumerate(contents(samples, inspect_sample, indent=2)):
            file.write((b",\n" if number else b"\n") + content)
        file.write(b"]}")


def write_lines(path: Path, samples: int) -> None:
    """The same prompts answered through lm-eval."""
    with path.open("wb") as file:
        for _, content in contents(samples, lm_eval_sample):
            file.write(content + b"\n")


WRITERS = {
    "inspect.eval": write_archive,
    "inspect.json": write_json,
    "samples_a_b.jsonl": write_lines,
}


def read(path: Path, samples: int) -> dict[str, float]:
    """Read a log as a job does before it answers."""
    clock, processor = time.perf_counter(), time.process_time()
    backend = Replay({"answers": str(path)})
    backend.load()
    found = len(backend._answers)
    if found != samples:
        raise SystemExit(f"{path.name}: {found} answers were read")
    return {
        "seconds": round(time.perf_counter() - clock, 1),
        "cpu_seconds": round(time.process_time() - processor, 1),
        "peak_memory_mib": round(machine.peak_memory_mib()),
        "megabytes": round(path.stat().st_size / 1e6),
    }


def main() -> None:
    """Measure, print and write perf/logs.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    samples = parser.parse_args().samples
    result: dict[str, Any] = {"samples": samples}
    # In the repository and not in /tmp, which may be memory.
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".perf-logs-") as folder:
        # spawn: a forked child would start with this process's memory.
        context = multiprocessing.get_context("spawn")
        for name, write in WRITERS.items():
            path = Path(folder) / name
            write(path, samples)
            with context.Pool(1) as pool:
                result[name] = pool.apply(read, (path, samples))
            path.unlink()
    result["machine"] = machine.describe()
    text = json.dumps(result, indent=2)
    (ROOT / "perf" / "logs.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
