"""What results were made from, with what, and on what: results/provenance.json.

What files were made from stands in their own metadata, and where models ran in their jobs' records
(`needlework.models.job_records`). The rest is looked up when all is done.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from needlework.atomic import atomic_write
from needlework.data.registry import load_registry
from needlework.folders import files_below
from needlework.journal import Journal
from needlework.models.job_records import software
from needlework.records import read_notes, read_table
from needlework.results.clone import workflow
from needlework.results.seal import seal


def made_from(files: Iterable[str | Path]) -> dict[str, str]:
    """The sha256 of every file, other than the workflow's Parquet, that `files` came from in the end.

    As their metadata has it, so of the bytes that were read. Names are relative to the working directory
    or the repository; of files that lie elsewhere they end in "@" and the digest's beginning.
    """
    todo: list[tuple[Path, str | None]] = [(Path(file), None) for file in files]
    seen, leaves = set(), {}
    while todo:
        file, known = todo.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        metadata = pq.read_schema(file).metadata or {}
        if known and b"needlework.inputs" not in metadata:
            # The user's own data.
            leaves[str(file)] = known
        for name, digest in json.loads(metadata.get(b"needlework.inputs", b"{}")).items():
            if name.endswith(".parquet"):
                todo.append((Path(name), digest))
            # Arrays are intermediate and may be gone.
            elif not name.endswith(".npy"):
                leaves[name] = digest
    return dict(sorted(leaves.items()))


def sources(leaves: Mapping[str, str], registry: str | Path) -> list[dict[str, Any]]:
    """What was downloaded of the files in `leaves`: what it is, where it came from, how it was checked."""
    known = load_registry(registry)
    found = []
    for name, digest in leaves.items():
        if name.startswith("results/sources/"):
            fetched = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
            source = known[fetched["id"].split("/")[0]]
            if fetched.get("via") == "mirror":
                # A mirror is where this machine found it, and may be private.
                fetched["url"] = None
            about = {key: getattr(source, key) for key in ("revision", "licence", "homepage")}
            found.append({**fetched, "sha256": digest, **about})
    return found


def answers(file: str | Path) -> dict[str, Any]:
    """How a model's answers to a benchmark ended, and their tokens as the backend counted them."""
    columns = ["prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"]
    table = read_table(file, ["finish_reason", *columns])
    ended = pc.value_counts(table["finish_reason"]).to_pylist()
    return {
        "answers": table.num_rows,
        "ended": {row["values"]: row["counts"] for row in sorted(ended, key=str)},
        "tokens": {name: pc.sum(table[name]).as_py() for name in columns},
    }


def model_part(journal: str | Path, model: str, generations: Mapping[str, str]) -> dict[str, Any]:
    """What is known of a model: its identity, and for each benchmark its answers and jobs.

    `generations` are the files of its answers by benchmark. Jobs of another identity (another revision,
    other sampling) gave none of these answers and are left out.
    """
    known = sorted(Journal(Path(journal) / "jobs" / model).load().values(), key=lambda r: r["key"])
    part: dict[str, Any] = {"benchmarks": {}}
    for benchmark, file in generations.items():
        part["identity"] = read_notes(file).get("identity")
        own = [
            record
            for record in known
            if record["benchmark"] == benchmark and record["identity"] == part["identity"]
        ]
        first = [record["first_prompt"] for record in own if record["first_prompt"]]
        ran = {
            json.dumps({k: r[k] for k in ("software", "gpus", "engine") if k in r}, sort_keys=True)
            for r in own
        }
        part["benchmarks"][benchmark] = {
            **answers(file),
            "first_prompt": first[0] if first else None,
            "ran_on": [json.loads(text) for text in sorted(ran)],
        }
    return part


def times(folder: str | Path) -> dict[str, dict[str, float | None]]:
    """Seconds, and the most memory in MiB, of every job below Snakemake's folder of benchmark files."""
    found = {}
    for file in files_below(folder):
        if file.suffix != ".tsv":
            continue
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
        if rows:
            name = file.relative_to(folder).with_suffix("").as_posix()
            found[name] = {
                key: _number(rows[-1].get(column))
                for key, column in (("seconds", "s"), ("memory_mib", "max_rss"))
            }
    return found


def _number(text: str | None) -> float | None:
    """Snakemake writes "-" or "NA" where it could not measure."""
    try:
        return float(text or "")
    except ValueError:
        return None


def collect(
    configuration: Mapping[str, Any],
    *,
    generations: Mapping[str, Mapping[str, str]],
    scores: Sequence[str],
    results: Sequence[str],
    registry: str | Path,
    journal: str | Path,
    benchmarks: str | Path,
) -> dict[str, Any]:
    """All of it. `generations` has the files of answers by model and benchmark, `results` those of all
    else that is sealed, `benchmarks` the folder of Snakemake's benchmark files."""
    answered = [file for own in generations.values() for file in own.values()]
    leaves = made_from([*scores, *answered])
    return {
        "workflow": workflow(),
        "configuration": configuration,
        "software": software(),
        "files": leaves,
        "sources": sources(leaves, registry),
        "models": {model: model_part(journal, model, own) for model, own in generations.items()},
        "jobs": times(benchmarks),
        "seal": seal({*scores, *results, *answered}, generations, journal),
    }


def write(value: Mapping[str, Any], path: str | Path, secrets: Iterable[str]) -> None:
    """Write JSON in which none of `secrets` stands, should a server, say, have said one."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    for secret in secrets:
        # Shorter ones are no secrets, and could be anything.
        if len(secret) >= 8:
            text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "***")
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
