"""The part that all Snakemake scripts share: where output goes, and how errors are shown."""

from __future__ import annotations

import errno
import gc
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from needlework.errors import UserError
from needlework.jobs.gpus import own_gpus
from needlework.jobs.guard import end_with_parent
from needlework.jobs.progress import show, show_on
from needlework.jobs.stop import Stopped, check_stop
from needlework.printable import printable

# Errors that only a disk, or its permissions, can cause.
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}

# New objects before a collection. With Python's 700, collections take a tenth of a job that draws.
NEW_OBJECTS = 50_000

logger = logging.getLogger("needlework")


@contextmanager
def running(snakemake: Any) -> Iterator[logging.Logger]:
    """Send all output of a rule's script to its log file; yield the logger.

    Output of libraries and child processes goes there too. If a UserError ends the job, its one sentence is
    printed on the terminal. For any other exception it is the last line, and the log has the traceback. If
    Snakemake is killed, the job ends too. A job with the resource `gpu` gets as many devices of its own.
    """
    end_with_parent()
    # Imported modules stay to the end, so the collector need not visit them.
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    path = Path(snakemake.log[0])
    terminal = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log_file = path.open("w", encoding="utf-8")
    except OSError as error:
        show(f"\n{snakemake.rule}: {disk_trouble(error, path)}", terminal)
        sys.exit(1)
    own = getattr(snakemake, "wildcards", None) or ()
    show_on(terminal, " ".join([snakemake.rule, *own]), str(path))
    with log_file as log:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
        try:
            # A cluster may start it later than its run was stopped.
            check_stop()
            with own_gpus(getattr(snakemake, "resources", {}).get("gpu", 0)):
                yield logger
        except (UserError, Stopped) as error:
            logger.error("%s", error)
            show(f"\n{snakemake.rule}: {printable(str(error))}", terminal)
            sys.exit(1)
        except OSError as error:
            if error.errno not in DISK_ERRORS:
                _report(snakemake, error, path, terminal)
            # If the log's disk is full too, the terminal still shows the error.
            with suppress(OSError):
                traceback.print_exc()
            outputs = [*snakemake.output] or [path]
            show(f"\n{snakemake.rule}: {disk_trouble(error, Path(outputs[0]))}", terminal)
            sys.exit(1)
        except (SystemExit, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # Rust's panics are no Exception
            _report(snakemake, error, path, terminal)
        # At its end, Python would collect everything: a tenth of a short job's time.
        gc.freeze()


class _Printable(logging.Formatter):
    """Lines of a log in which a server's or a user's text can do no harm."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _report(snakemake: Any, error: BaseException, path: Path, terminal: TextIO) -> NoReturn:
    """Report an unexpected error and the file with its traceback, and end the job."""
    print(printable(traceback.format_exc()), file=sys.stderr)
    last = printable(traceback.format_exception_only(error)[-1].strip())
    show(f"\n{snakemake.rule}: {last} (traceback in {path})", terminal)
    sys.exit(1)


def disk_trouble(error: OSError, output: Path) -> str:
    """The message for output that cannot be written because the disk is full or read-only."""
    where = Path(error.filename) if error.filename else output
    return (
        f"{where} cannot be written ({error.strerror or error}): free some space, or correct the "
        "permissions, and run again; finished work is kept."
    )


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn the garbage collector off for code that keeps all objects that it makes, without reference cycles.

    With the collector on, visiting the kept objects again and again takes about a tenth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
