"""Digests of the code that makes results: if one changes, the results are made again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from needlework.benchmarks.parts import part_file
from needlework.codedigest import code_digest
from needlework.errors import UserError


def numbers_digest(benchmark: str) -> str:
    """Of the code that makes the numbers of a benchmark's results; captions are no code."""
    return code_digest("make_numbers.py", part_file(benchmark, "results"))


def shown_digest(benchmark: str) -> str:
    """Of the code that lays out tables and draws figures of these numbers."""
    return code_digest("show_results.py", part_file(benchmark, "results"))


def card_digest(benchmarks: Iterable[str]) -> str:
    """Of the code that makes the numbers of report cards."""
    return code_digest("make_cards.py", *(part_file(name, "card") for name in benchmarks))


# Files whose time is ahead of the clock: Snakemake fails each job that reads one, after its work is done.

# Less than a job takes, and more than the clocks of a network's file servers differ.
TOLERATED_S = 1.0


def check_times(files: Iterable[str]) -> None:
    """Raise UserError where one of the files that jobs will read was written in the future.

    So are files that came with a wrong time, and all results from before the clock was set back.
    """
    now = time.time()
    ahead = {}
    for file in {str(file) for file in files}:
        try:
            written = Path(file).stat().st_mtime
        except OSError:
            continue
        if written > now + TOLERATED_S:
            ahead[file] = written
    if not ahead:
        return
    first = max(ahead, key=lambda file: (ahead[file], file))
    shown = datetime.fromtimestamp(min(ahead[first], 2**31)).strftime("%Y-%m-%d %H:%M:%S")
    clock = datetime.fromtimestamp(now).strftime("%Y-%m-%d %H:%M:%S")
    others = f", and {len(ahead) - 1} more," if len(ahead) > 1 else ""
    roots = sorted({_root(file) for file in ahead})
    find = f"find {' '.join(map(shlex.quote, roots[:5]))} -newermt now -exec touch {{}} +"
    raise UserError(
        f"{first}{others} is dated {shown}, but the clock says {clock}, and Snakemake fails jobs that read "
        f"files of the future: correct the clock, or set the files' times to now with `{find}`; this makes "
        "nothing anew."
    )


def _root(file: str) -> str:
    """The folder of results where a file is one of them, the file itself elsewhere."""
    return "results" if file.startswith("results/") else file
