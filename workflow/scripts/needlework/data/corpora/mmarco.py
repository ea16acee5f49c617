"""mMARCO: MS MARCO's 8.8 million passages in fourteen languages, with the same pids in each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.records import PASSAGES
from needlework.seeding import rng

if TYPE_CHECKING:
    from needlework.settings.sources import Mmarco

    class Drawn(Mmarco):
        """The settings of mMARCO, with the run's seed."""

        seed: int


# No line of the collections is near this; without a limit, a file without lines would fill memory.
MAX_LINE_BYTES = 1 << 20


def table(corpus: str, lang: str, files: Sequence[str], settings: Drawn) -> pa.Table:
    """The corpus in `lang` from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0], sample_ids(settings.pool, settings.passages, settings.seed))


def sample_ids(pool: int, n: int, seed: int) -> list[int]:
    """A sample of `n` of the pids 0 to `pool` - 1, ascending. It is the same in every language.

    A larger `n` adds pids to the sample and removes none. Raises UserError if `n` exceeds `pool`.
    """
    if n > pool:
        raise UserError(
            f"{n} passages cannot be sampled from a pool of {pool}: raise `sources.mmarco.pool`."
        )
    return sorted(rng("mmarco", seed).permutation(pool)[:n].tolist())


def read(tsv_path: str | Path, ids: Collection[int]) -> pa.Table:
    """PASSAGES rows with the pids `ids`, ascending, from <language>_collection.tsv or a prefix of it.

    Reads line by line, and stops after the last passage of `ids`. Raises UserError if a line is malformed,
    one of these passages is blank, or the file ends before all are found.
    """
    wanted = set(ids)
    texts: dict[int, str] = {}
    largest = -1
    lines = progress(_lines(Path(tsv_path)), desc=Path(tsv_path).name, unit="line")
    for number, line in enumerate(lines, start=1):
        pid, text = _row(tsv_path, number, line)
        largest = max(largest, pid)
        if pid not in wanted:
            continue
        if pid in texts or not text.strip():
            raise _malformed(
                tsv_path, number, f"passage {pid} is blank or there for the second time"
            )
        texts[pid] = text
        if len(texts) == len(wanted):
            break
    if len(texts) < len(wanted):
        raise UserError(
            f"{tsv_path} ends at passage {largest} and lacks {len(wanted) - len(texts):,} of the "
            f"{len(wanted):,} sampled ones: raise `sources.mmarco.prefix_mb`, or set "
            f"`sources.mmarco.pool` to {largest + 1} or less."
        )
    pids = sorted(texts)
    return pa.table(
        {"passage_id": [str(pid) for pid in pids], "text": [texts[pid] for pid in pids]},
        schema=PASSAGES,
    )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from iter(lambda: file.readline(MAX_LINE_BYTES), b"")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: run the rule that downloads it.") from None


def _row(path: str | Path, number: int, line: bytes) -> tuple[int, str]:
    pid, tab, text = line.rstrip(b"\r\n").partition(b"\t")
    if not tab or not pid.isdigit() or len(line) == MAX_LINE_BYTES:
        raise _malformed(path, number, "it is not a number, a tab and a passage")
    try:
        return int(pid), text.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed(path, number, "it is not UTF-8") from None


def _malformed(path: str | Path, number: int, what: str) -> UserError:
    return UserError(
        f"{path}, line {number}: {what}; the file is damaged: delete it and run again."
    )
