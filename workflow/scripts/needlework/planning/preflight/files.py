"""Files from earlier runs or the user: missing files, files from the future, results without records."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.folders import entries
from needlework.planning.chosen import models_of

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def check_model_files(config: Configuration, results: str | Path = "results") -> None:
    """Raise UserError if a model's file of answers or chat template is gone, and older answers exist.

    Snakemake refuses a missing file only if it must make the answers anew; otherwise it would keep the older
    answers.
    """
    for name, model in models_of(config):
        older = Path(results) / "generations" / name
        for key in ("answers", "chat_template"):
            given = getattr(model, key)
            for path in given if isinstance(given, tuple) else [given]:
                if path and not Path(path).exists() and entries(older, ".parquet"):
                    raise UserError(
                        f"models.{name}.{key} is {path}, which does not exist, but {older} has older "
                        "answers: correct the path, which is relative to the folder in which the workflow "
                        "runs, or delete that folder."
                    )


def without_records(folder: str | Path = ".") -> str:
    """A warning if there are results without Snakemake's records; "" if there are none.

    Without its records, Snakemake does not know parameters and code, and decides by the times of files alone.
    """
    results, records = Path(folder) / "results", Path(folder) / ".snakemake/metadata"
    if not entries(results) or entries(records):
        return ""
    return (
        f"{results.absolute()} comes without the records in .snakemake. So a change of settings is not "
        "noticed, and if the files' times were not kept, everything is made again (from the journal, if it "
        "is there). If this version made the results with this configuration, run once with --touch and the "
        "same targets."
    )


# Files whose time is ahead of the clock: Snakemake fails each job that reads one, after its work is done.

# Less than a job takes, and more than the clocks of a network's file servers differ.
TOLERATED_S = 1.0


def check_times(files: Iterable[str]) -> None:
    """Raise UserError if a file that jobs will read has a time in the future.

    Files that came with a wrong time have one, and all results if the clock was set back after they were
    made.
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
        f"{first}{others} is dated {shown}, but the clock says {clock}. Snakemake fails jobs that read files "
        f"of the future. Correct the clock, or set the files' times to now with `{find}`. It reruns nothing."
    )


def _root(file: str) -> str:
    """The folder of results where a file is one of them, the file itself elsewhere."""
    return "results" if file.startswith("results/") else file
