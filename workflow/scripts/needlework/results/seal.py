"""A seal over a run's results: the sha256 of each file, and of the answers that its journal holds.

A journal may be shared and grow, so only the records that a run used are sealed.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.journal import Journal, Record
from needlework.models.accounts import PROMPT_CUT, UNANSWERED, UNKNOWN
from needlework.models.generation import is_answer
from needlework.models.thoughts import written
from needlework.records import file_digest, read_names, read_table

logger = logging.getLogger("needlework")

# Finish reasons of answers that no journal keeps: such requests are sent again.


def used_records(journal: str | Path, generations: Iterable[str | Path]) -> Iterator[Record]:
    """The records of a model's journal that gave the answers in its files of generations, each key once.

    A key can have several records; the one with the answer in the file is meant. Warns where there is none.
    """
    wanted = {}
    for file in generations:
        names = ["request_key", "text", "finish_reason", "raw_text", "outcome"]
        table = read_table(file, [name for name in names if name in read_names(file)])
        for row in table.to_pylist():
            if row["finish_reason"] not in UNANSWERED or row.get("outcome") == PROMPT_CUT:
                wanted[row["request_key"]] = row
    for record in Journal(journal).records():
        if (row := wanted.get(record["key"])) and _gave(record, row):
            del wanted[record["key"]]
            yield record
    if wanted:
        logger.warning("%s lacks %d of the answers that were used.", journal, len(wanted))


def _gave(record: Record, row: Mapping[str, Any]) -> bool:
    """Whether a record is that of a row, from which reasoning may have been removed."""
    if not is_answer(record):
        return False
    raw = row.get("raw_text")
    # A failure, but one that was paid for.
    if row.get("outcome") == PROMPT_CUT:
        return written(record) == raw
    # Reasoning that was cut makes the answer one that was cut.
    reasons = (
        UNKNOWN if record.get("unknown_end") else None,
        record["finish_reason"],
        "length" if raw is not None else None,
    )
    return (
        written(record) == (row["text"] if raw is None else raw) and row["finish_reason"] in reasons
    )


def _answers_digest(records: Iterable[Record]) -> dict[str, Any]:
    """How many records there are, and a digest of their keys and answers in any order."""
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
) -> dict[str, Any]:
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


def differences(
    provenance: Mapping[str, Any], folder: str | Path, journal: str | Path
) -> list[str]:
    """What of a folder is not what its provenance sealed, a sentence each.

    `journal` is the folder of the journal. Raises UserError where the provenance has no seal.
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
