"""A job with vLLM's real engine, on the CPU, killed at random moments: see `make setup-vllm`."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jobs import PYTHON, Job

from needlework.prompts.spans import literal
from needlework.records import PASSAGES, instances_schema, read_table, write_table
from needlework.seeding import rng

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("engines"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="vLLM's environment is not here: run `make setup-vllm`"
    ),
]

PROMPTS, SAMPLES, NEW_TOKENS = 12, 20, 48
# Of the job itself, or of its engine, with which the job goes on once.
VICTIMS = ("job", "engine")

# Float32 and one prompt at a time: the order of sums, and so rounding, changes no answer.
ENGINE = {"dtype": "float32", "enforce_eager": True, "max_model_len": 512, "max_num_seqs": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, a corpus, and prompts of one literal each."""
    folder = tmp_path_factory.mktemp("made")
    maker = Path(__file__).with_name("tiny_model.py")
    subprocess.run([PYTHON, maker, folder], check=True, capture_output=True, timeout=300)
    write_table(pa.Table.from_pylist([], schema=PASSAGES), folder / "corpora/made/en.parquet")
    rows = [
        {
            "instance_id": f"{n:02}",
            "benchmark": "made",
            "task": "exact",
            "length": 512,
            "example_id": str(n),
            "prompt": [literal("question", f"When was house {n} built?")._asdict()],
            "references": ["1501"],
            "metric": "exact",
            "max_new_tokens": NEW_TOKENS,
            "n_tokens": 10,
        }
        for n in range(PROMPTS)
    ]
    table = pa.Table.from_pylist(rows, schema=instances_schema({"length": "int32"}))
    write_table(table, folder / "instances.parquet")
    return folder


def job(folder: Path, made: Path) -> Job:
    entry: dict[str, Any] = {
        "backend": "vllm",
        "name": str(made / "model"),
        "tokenizer": "words",
        "context": 512,
        "samples": SAMPLES,
        "engine": ENGINE,
        "lengths": {"mlneedle": [512]},
    }
    return Job(folder, entry, made / "corpora/made/en.parquet", made / "instances.parquet")


def finished(running: Job) -> pa.Table:
    """The job's answers, without how much of each prompt the cache of the moment held."""
    said = running.finish()
    assert running.process.returncode == 0, f"{said}\n{running.log()[-5000:]}"
    return read_table(running.folder / "answers.parquet").drop_columns("cached_tokens")


def wait_for_more_than(records: int, running: Job) -> None:
    """Wait until the journal has more records."""
    running.wait_for(lambda: len(running.records()) > records)


def test_kills_at_random_moments_lose_and_double_nothing(made: Path, tmp_path: Path) -> None:
    kept: list[dict[str, Any]] = []
    for trial, victim in enumerate(VICTIMS):
        with job(tmp_path / "killed", made) as running:
            wait_for_more_than(len(kept), running)
            time.sleep(rng("kill", "engine", trial).uniform(0, 0.5))
            if victim == "engine":
                running.kill_engine()
                running.wait_for(lambda: "it starts again with" in running.log(), 60)
                wait_for_more_than(len(running.records()), running)
            running.kill()
            assert running.survivors() == [], "the engine outlived its job"
            # Each writer has its own file: what was kept is there, unchanged.
            records = {record["key"]: record for record in running.records()}
            assert all(records[record["key"]] == record for record in kept)
            assert len(kept) < len(records) < PROMPTS * SAMPLES, "killed too early or too late"
            kept = list(records.values())
    with job(tmp_path / "killed", made) as running:
        resumed = finished(running)
        keys = Counter(record["key"] for record in running.records())
    assert len(keys) == PROMPTS * SAMPLES and set(keys.values()) == {1}
    with job(tmp_path / "undisturbed", made) as running:
        assert resumed.equals(finished(running))
