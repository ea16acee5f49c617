"""Wikipedia in passages of 100 words (the DPR dump of December 2018): a sample, for random distractors."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.data.corpora.titled import TITLED, titled
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.seeding import rng

MAX_LINE_BYTES = 1 << 20
# All of Wikipedia's passages, and how many of them are drawn.
POOL, PASSAGES = 21_015_324, 100_000


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, int]) -> pa.Table:
    """The corpus from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0], sample_ids(POOL, PASSAGES, settings["seed"]))


def sample_ids(pool: int, n: int, seed: int) -> list[int]:
    """A sample of `n` of the ids 1 to `pool`, ascending."""
    return sorted((1 + rng("wikipedia", seed).choice(pool, n, replace=False)).tolist())


def read(path: str | Path, ids: Collection[int]) -> pa.Table:
    """TITLED rows with the ids `ids`, sorted, of psgs_w100.tsv.gz (id, text, title; passage k is row k).

    Reads line by line, and stops after the last passage of `ids`. UserError if the file is damaged, a line
    of one of these passages is malformed, or the file ends before all are found.
    """
    wanted = sorted(ids)
    rows: list[dict[str, str]] = []
    lines = progress(_lines(Path(path)), desc=Path(path).name, unit="line", total=wanted[-1])
    for number, data in enumerate(lines):
        if number != wanted[len(rows)]:
            continue
        rows.append(_row(path, number, data))
        if len(rows) == len(wanted):
            break
    if len(rows) < len(wanted):
        raise UserError(
            f"{path} ends before passage {wanted[len(rows)]}: delete the file and run again."
        )
    rows.sort(key=lambda row: row["passage_id"])
    return pa.Table.from_pylist(rows, schema=TITLED)


def _row(path: str | Path, number: int, data: bytes) -> dict[str, str]:
    try:
        fields = next(
            csv.reader([data.decode("utf-8").rstrip("\r\n")], delimiter="\t", strict=True)
        )
        name, text, title = fields
        if name != str(number) or not text.strip():
            raise ValueError
    except (ValueError, csv.Error, UnicodeDecodeError):
        raise UserError(
            f"{path}, line {number + 1}: it is not passage {number} with a text and a title; the file is "
            "damaged: delete it and run again."
        ) from None
    return {"passage_id": name, "text": titled(title, text), "title": title}


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) as file:
            yield from iter(lambda: file.readline(MAX_LINE_BYTES), b"")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: run the rule that downloads it.") from None
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(
            f"{path} cannot be read to its end ({error}): it is damaged; delete it and run again."
        ) from None
