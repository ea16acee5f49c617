"""What every Snakemake script shares: where its output goes, and how its errors read."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.guard import end_with_parent
from needlework.progress import show_on

logger = logging.getLogger("needlework")


@contextmanager
def running(snakemake: Any) -> Iterator[logging.Logger]:
    """Send all output of a rule's script to its log file; give the logger.

    What libraries and child processes print goes there too. A UserError ends the job with its one
    sentence on the terminal; any other exception with its last line there and its traceback in the log.
    The job ends with Snakemake, should that be killed.
    """
    end_with_parent()
    path = Path(snakemake.log[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
    own = getattr(snakemake, "wildcards", None) or ()
    show_on(terminal, " ".join([snakemake.rule, *own]), str(path))
    with path.open("w", encoding="utf-8") as log:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        logging.basicConfig(
            level=logging.INFO,
            format="%(asctime)s %(levelname)s %(message)s",
            stream=sys.stderr,
            force=True,
        )
        try:
            yield logger
        except UserError as error:
            logger.error("%s", error)
            print(f"\n{snakemake.rule}: {error}", file=terminal, flush=True)
            sys.exit(1)
        except Exception as error:
            traceback.print_exc()
            last = traceback.format_exception_only(error)[-1].strip()
            print(f"\n{snakemake.rule}: {last} (traceback in {path})", file=terminal, flush=True)
            sys.exit(1)
