"""A rule's script: everything it says is in its log, its errors are one line on the terminal."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from needlework.jobs.job import no_collection

SCRIPTS = Path(__file__).resolve().parents[3] / "workflow/scripts"

SCRIPT = """\
import logging, os, subprocess, sys, time, warnings
from types import SimpleNamespace

sys.path.insert(0, {scripts!r})
from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.jobs.progress import progress

snakemake = SimpleNamespace(
    rule="read_corpus", log=["logs/read_corpus/en.log"], output=["results/en.parquet"]
)
print("before")
logging.basicConfig()  # as a library may have done
with running(snakemake) as logger:
{body}
"""


def run(
    directory: Path, body: str, stderr: int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    script = SCRIPT.format(scripts=str(SCRIPTS), body=textwrap.indent(body, "    "))
    own = {"cwd": directory, "env": {**os.environ, **environment}, "text": True}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, **own)


def log(directory: Path) -> str:
    return (directory / "logs/read_corpus/en.log").read_text(encoding="utf-8")


SPEAKING = """\
print("printed", "पता")
print("to stderr", file=sys.stderr)
logger.info("%d rows", 5)
logging.getLogger("a.library").warning("a library's warning")
warnings.warn("deprecated")
subprocess.run([sys.executable, "-c", "print('a child')"])
os.write(2, b"from C\\n")
"""


def test_all_output_goes_to_the_log(tmp_path) -> None:
    done = run(tmp_path, SPEAKING)
    assert (done.returncode, done.stdout, done.stderr) == (0, "before\n", "")
    found = log(tmp_path)
    library = ["WARNING a library's warning", "UserWarning: deprecated"]
    for words in ("printed पता", "to stderr", "INFO 5 rows", *library, "a child", "from C"):
        assert words in found
    assert "before" not in found
    # The log is that of the last run, also of one that leaves early.
    done = run(tmp_path, 'print("second")\nsys.exit(3)')
    assert (done.returncode, done.stderr, log(tmp_path)) == (3, "", "second\n")


def test_a_user_error_is_one_sentence_on_the_terminal(tmp_path) -> None:
    body = 'print("working")\nraise UserError("config.yaml: वह mend it.")'
    done = run(tmp_path, body, LC_ALL="C")
    assert done.returncode == 1
    assert done.stderr == "\nread_corpus: config.yaml: वह mend it.\n"
    assert "ERROR config.yaml: वह mend it." in log(tmp_path)
    assert "working" in log(tmp_path) and "Traceback" not in log(tmp_path)


# Rust's panics, such as tiktoken's, are no Exception.
PANIC = "class Panic(BaseException): ...\ndef fail():\n    raise Panic('boom')\nfail()"


@pytest.mark.parametrize(
    ("body", "said"),
    [("def fail():\n    return {}['it']\nfail()", "KeyError: 'it'"), (PANIC, "Panic: boom")],
)
def test_other_errors_put_their_traceback_in_the_log(tmp_path, body, said) -> None:
    done = run(tmp_path, body)
    assert done.returncode == 1
    assert done.stderr.startswith("\nread_corpus: ") and done.stderr.count("\n") == 2
    assert f"{said} (traceback in logs/read_corpus/en.log)\n" in done.stderr
    assert "Traceback" in log(tmp_path) and "in fail" in log(tmp_path)


FULL = """\
import resource
import pyarrow as pa
from needlework.records import write_table
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
{work}
"""


@pytest.mark.parametrize(
    "work",
    [
        "write_table(pa.table({'a': [str(n * n) for n in range(9999)]}), 'results/en.parquet')",
        "open('results.txt', 'w').write('a' * 9999)",
    ],
)
def test_a_disk_that_takes_nothing_more_is_one_sentence(tmp_path, work: str) -> None:
    """A limit on the size of files fails as a full disk does, with another number."""
    done = run(tmp_path, FULL.format(work=work))
    assert done.returncode == 1
    assert done.stderr.startswith("\nread_corpus: results/en.parquet cannot be written (")
    assert done.stderr.endswith("and run again; finished work is kept.\n")
    assert done.stderr.count("\n") == 2
    assert not list(tmp_path.rglob("*.parquet*"))


def test_a_log_that_cannot_be_written_is_one_sentence(tmp_path) -> None:
    (tmp_path / "logs").write_text("in the way")
    done = run(tmp_path, "pass")
    assert done.returncode == 1
    assert done.stderr.startswith("\nread_corpus: logs/read_corpus cannot be written (")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_is_off_inside_and_as_before_afterwards(before) -> None:
    try:
        (gc.enable if before else gc.disable)()
        with pytest.raises(ValueError), no_collection():
            assert not gc.isenabled()
            raise ValueError
        assert gc.isenabled() == before
    finally:
        gc.enable()


def test_what_was_logged_before_a_kill_is_there(tmp_path) -> None:
    done = run(tmp_path, 'logger.info("so far")\nos.kill(os.getpid(), 9)')
    assert done.returncode == -9
    assert "so far" in log(tmp_path)
