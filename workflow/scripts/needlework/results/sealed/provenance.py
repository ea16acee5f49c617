"""The inputs, software and machines of a run (results/provenance.json), and a seal over its results.

The inputs of files are read from the files' own metadata, the machines of models from their jobs' records
(`needlework.models.job_records`). All else is looked up at the end of the run. The seal has the sha256 of
each file, and of the answers in the journal. A journal may be shared and may grow, so only the records that
the run used are sealed.
"""

from __future__ import annotations

import csv
import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pyarrow.compute as pc
import pyarrow.parquet as pq

from needlework.answer_states import PROMPT_CUT, UNANSWERED, UNKNOWN
from needlework.atomic import atomic_write
from needlework.data.published_files import load_registry
from needlework.errors import UserError
from needlework.folders import files_below, sibling_folders
from needlework.journal import Journal, Record
from needlework.models.answer_folders import journal_of
from needlework.models.generation import is_answer
from needlework.models.job_records import software
from needlework.models.thoughts import whole_text
from needlework.records import file_digest, read_names, read_notes, read_table
from needlework.results.sealed.clone import Version, workflow

logger = logging.getLogger("needlework")


class Digest(TypedDict):
    """How many records there are, and a digest of their keys and answers in any order."""

    records: int
    sha256: str


class Seal(TypedDict):
    """The sha256 of each file, and of the journal's answers by model."""

    files: dict[str, str]
    journal: dict[str, Digest]


class Download(TypedDict):
    """A downloaded file."""

    id: str
    # None if it came from a mirror.
    url: str | None
    via: NotRequired[str]
    sha256: str
    revision: str
    licence: str
    homepage: str


class EndCounts(TypedDict):
    """How a model's answers to a benchmark ended, and their tokens as the backend counted them."""

    answers: int
    ended: dict[str, int]
    tokens: dict[str, int | None]


class OfBenchmark(EndCounts):
    """A model's answers to a benchmark, the first prompt as sent, and software, GPUs and engine settings."""

    first_prompt: dict[str, object] | None
    ran_on: list[dict[str, object]]


class OfModel(TypedDict):
    """A model's identity, and its answers and jobs by benchmark."""

    benchmarks: dict[str, OfBenchmark]
    identity: NotRequired[dict[str, object] | None]


class Spent(TypedDict):
    """The resources that a job took."""

    seconds: float | None
    memory_mib: float | None


class Provenance(TypedDict):
    """The inputs, software and machines of a run."""

    workflow: Version
    configuration: Mapping[str, Any]
    software: Mapping[str, Any]
    files: dict[str, str]
    sources: list[Download]
    models: dict[str, OfModel]
    jobs: dict[str, Spent]
    # Runs of older versions have none.
    seal: Seal


def used_records(journal: str | Path, generations: Iterable[str | Path]) -> Iterator[Record]:
    """The journal records that hold the answers in a model's files of generations, one per key.

    `journal` is the folder of the entry's name; the folder of the model's identity lies beside it. If a key
    has several records, the record with the answer in the file is returned. Logs a warning if there is none.
    """
    journal, generations = Path(journal), list(generations)
    wanted = {}
    for file in generations:
        names = ["request_key", "text", "finish_reason", "raw_text", "outcome"]
        table = read_table(file, [name for name in names if name in read_names(file)])
        for row in table.to_pylist():
            if row["finish_reason"] not in UNANSWERED or row.get("outcome") == PROMPT_CUT:
                wanted[row["request_key"]] = row
    identities = [read_notes(file).get("identity") for file in generations]
    searched = [journal_of(journal.parent, own, journal.name) for own in identities[:1] if own]
    searched.append(Journal(journal, sibling_folders(journal)))
    # The records of a folder come before those of others, so that mostly only one is read.
    for record in (record for each in searched if wanted for record in each.records()):
        if (row := wanted.get(record["key"])) and _gave(record, row):
            del wanted[record["key"]]
            yield record
        if not wanted:
            return
    if wanted:
        logger.warning("%s lacks %d of the answers that were used.", journal, len(wanted))


def _gave(record: Record, row: Mapping[str, object]) -> bool:
    """Whether a record is that of a row, from which reasoning may have been removed."""
    if not is_answer(record):
        return False
    raw = row.get("raw_text")
    # A failure, but one that was paid for.
    if row.get("outcome") == PROMPT_CUT:
        return whole_text(record) == raw
    # Reasoning that was cut makes the answer one that was cut.
    reasons = (
        UNKNOWN if record.get("unknown_end") else None,
        record["finish_reason"],
        "length" if raw is not None else None,
    )
    return (
        whole_text(record) == (row["text"] if raw is None else raw)
        and row["finish_reason"] in reasons
    )


def _answers_digest(records: Iterable[Record]) -> Digest:
    lines = sorted(
        json.dumps([r["key"], r.get("text"), r.get("finish_reason")], ensure_ascii=False)
        for r in records
    )
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return {"records": len(lines), "sha256": hashlib.sha256(text).hexdigest()}


def seal(
    files: Iterable[str | Path],
    generations: Mapping[str, Mapping[str, str]],
    journal: str | Path,
) -> Seal:
    """The seal of `files`, and of the journal's answers by model; `generations` as in provenance."""
    return {
        "files": {str(file): file_digest(file) for file in sorted(map(str, files))},
        "journal": {
            model: _answers_digest(
                used_records(Path(journal) / "generations" / model, own.values())
            )
            for model, own in generations.items()
        },
    }


def unsealed(provenance: Provenance, folder: str | Path, journal: str | Path) -> list[str]:
    """One sentence for each file of a folder that differs from the seal in its provenance.

    `journal` is the folder of the journal. Raises UserError if the provenance has no seal.
    """
    sealed = provenance.get("seal")
    if not sealed:
        raise UserError(
            "results/provenance.json holds no seal: it was written by another version; run "
            "`snakemake` again."
        )
    folder, found = Path(folder), []
    for name, digest in sealed["files"].items():
        file = folder / name
        if not file.is_file():
            found.append(f"{name} is missing.")
        elif file_digest(file) != digest:
            found.append(f"{name} has changed.")
    for model, own in sealed["journal"].items():
        generations = sorted(
            folder / name
            for name in sealed["files"]
            if name.startswith(f"results/generations/{model}/") and (folder / name).is_file()
        )
        there = _answers_digest(used_records(Path(journal) / "generations" / model, generations))
        if there != own:
            found.append(
                f"The journal of {model} holds {there['records']} of the {own['records']} answers "
                f"that were used{'' if there['records'] != own['records'] else ', and others'}."
            )
    return found


def made_from(files: Iterable[str | Path]) -> dict[str, str]:
    """The sha256 of every original file that `files` were made from, through the workflow's Parquet files.

    The digests are from the metadata of the files, so they are of the bytes that were read. Names are
    relative to the working directory or the repository. The names of files that lie elsewhere end in "@" and
    the beginning of the digest.
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


def downloads(leaves: Mapping[str, str], registry: str | Path) -> list[Download]:
    """The downloads among the files in `leaves`."""
    known = load_registry(registry)
    found: list[Download] = []
    for name, digest in leaves.items():
        if name.startswith("results/sources/"):
            fetched: Download = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
            source = known[fetched["id"].split("/")[0]]
            if fetched.get("via") == "mirror":
                # A mirror is where this machine found it, and may be private.
                fetched["url"] = None
            found.append(
                {
                    **fetched,
                    "sha256": digest,
                    "revision": source.revision,
                    "licence": source.licence,
                    "homepage": source.homepage,
                }
            )
    return found


def end_counts(file: str | Path) -> EndCounts:
    """How the answers in a file of generations ended."""
    columns = ["prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"]
    table = read_table(file, ["finish_reason", *columns])
    ended = pc.value_counts(table["finish_reason"]).to_pylist()
    return {
        "answers": table.num_rows,
        "ended": {row["values"]: row["counts"] for row in sorted(ended, key=str)},
        "tokens": {name: pc.sum(table[name]).as_py() for name in columns},
    }


def jobs_of_model(journal: Path, model: str) -> Collection[Record]:
    """The records of all jobs in a journal, among them those of a model's entry.

    A record has the model's identity, so an entry with another name finds its own records.
    """
    folder = journal / "jobs" / model
    return Journal(folder, sibling_folders(folder)).load().values()


def model_part(journal: str | Path, model: str, generations: Mapping[str, str]) -> OfModel:
    """A model's provenance: its identity, and its answers and jobs per benchmark.

    `generations` are the files of its answers by benchmark. Jobs of another identity (another revision,
    other sampling) gave none of these answers and are left out.
    """
    known = sorted(jobs_of_model(Path(journal), model), key=lambda record: record["key"])
    part: OfModel = {"benchmarks": {}}
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
            **end_counts(file),
            "first_prompt": first[0] if first else None,
            "ran_on": [json.loads(text) for text in sorted(ran)],
        }
    return part


def times(folder: str | Path) -> dict[str, Spent]:
    """The seconds and the most memory, in MiB, of every job, from Snakemake's folder of benchmark files."""
    found: dict[str, Spent] = {}
    for file in files_below(folder):
        if file.suffix != ".tsv":
            continue
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
        if rows:
            name = file.relative_to(folder).with_suffix("").as_posix()
            last = rows[-1]
            found[name] = {
                "seconds": _number(last.get("s")),
                "memory_mib": _number(last.get("max_rss")),
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
) -> Provenance:
    """The provenance of a run.

    `generations` has the files of answers by model and benchmark. `results` has all other files that are
    sealed. `benchmarks` is the folder of Snakemake's benchmark files.
    """
    answered = [file for own in generations.values() for file in own.values()]
    leaves = made_from([*scores, *answered])
    return {
        "workflow": workflow(),
        "configuration": configuration,
        "software": software(),
        "files": leaves,
        "sources": downloads(leaves, registry),
        "models": {model: model_part(journal, model, own) for model, own in generations.items()},
        "jobs": times(benchmarks),
        "seal": seal({*scores, *results, *answered}, generations, journal),
    }


def write(value: Provenance, path: str | Path, secrets: Iterable[str]) -> None:
    """Write JSON in which none of `secrets` stands, should a server, say, have said one."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    for secret in secrets:
        # Shorter ones are no secrets, and could be anything.
        if len(secret) >= 8:
            text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "***")
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
