"""Wikipedia in passages of 100 words (the DPR dump of December 2018): a sample, for random distractors."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.data.corpora.json_lines import raw_lines
from needlework.data.corpora.titled import TITLED, titled
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.seeding import rng

# All of Wikipedia's passages, and how many of them are drawn.
POOL, PASSAGES = 21_015_324, 100_000


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, int]) -> pa.Table:
    """The corpus from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0], sample_ids(POOL, PASSAGES, settings["seed"]))


def sample_ids(pool: int, n: int, seed: int) -> list[int]:
    """A sample of `n` of the ids 1 to `pool`, ascending."""
    return sorted((1 + rng("wikipedia", seed).choice(pool, n, replace=False)).tolist())


def read(path: str | Path, ids: Collection[int]) -> pa.Table:
    """TITLED rows with the ids `ids`, sorted, from psgs_w100.tsv.gz (id, text, title; passage k is row k).

    Reads line by line, and stops after the last passage of `ids`. Raises UserError if the file is damaged, a
    line of one of these passages is malformed, or the file ends before all are found.
    """
    wanted, path = sorted(ids), Path(path)
    rows: list[dict[str, str]] = []
    lines = progress(raw_lines(path), desc=path.name, unit="line", total=wanted[-1])
    for number, data in enumerate(lines):
        if number == wanted[len(rows)]:
            rows.append(_row(path, number, data))
            if len(rows) == len(wanted):
                rows.sort(key=lambda row: row["passage_id"])
                return pa.Table.from_pylist(rows, schema=TITLED)
    raise UserError(
        f"{path} ends before passage {wanted[len(rows)]}: delete the file and run again."
    )


def _row(path: Path, number: int, data: bytes) -> dict[str, str]:
    try:
        line = data.decode("utf-8").rstrip("\r\n")
        name, text, title = next(csv.reader([line], delimiter="\t", strict=True))
        if name != str(number) or not text.strip():
            raise ValueError
    except (ValueError, csv.Error, UnicodeDecodeError):
        raise UserError(
            f"{path}, line {number + 1}: it is not passage {number} with a text and a title; the file is "
            "damaged: delete it and run again."
        ) from None
    return {"passage_id": name, "text": titled(title, text), "title": title}
