"""Asks prompts of models of the backend `inspect` in the environment of inspect_ai: see test_providers.py.

Importing inspect_ai takes seconds, so it is imported once. Each job is a line of JSON on standard input and
runs in a process of its own, with its own environment variables: an entry and prompts, with a folder for the
journal and for what came of it, or lines of Python with their input. For each job, two lines are written: the
process's id, and its exit status once it has ended.
"""

import io
import json
import logging
import os
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.given import given
from needlework.journal import Journal
from needlework.models import remote_models
from needlework.models.accounts import account_of
from needlework.models.backends.base import Request, load_backend
from needlework.models.generation import Policy, generate
from needlework.prompts.spans import literal


def ask(job: dict[str, Any]) -> None:
    """Ask a job's prompts, and write rows and account."""
    folder = Path(job["folder"])
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    remote_models.FIRST_PAUSE_S = 0.01
    remote_models.ATTEMPTS = 3
    requests = [
        Request(f"i{n:03d}", 0, "exact", [literal("question", p)], ["x"], 16, 1, {})
        for n, p in enumerate(job["prompts"])
    ]
    rows: list[dict] = []
    failed = ""
    try:
        with Journal(folder / "journal") as journal:
            generate(
                requests,
                load_backend("remote", given(job["entry"])),
                journal,
                Policy(context=40000, max_failed=1000),
                told=rows.extend,
            )
    except UserError as error:
        failed = str(error)
    account = asdict(account_of(rows, "m", "b"))
    found = {"rows": rows, "failed": failed, "account": account}
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")


def run(job: dict[str, Any]) -> None:
    """Be the process that a job asks for."""
    os.environ.clear()
    os.environ.update(job["environment"])
    with (Path(job["folder"]) / "said.txt").open("w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    if "code" in job:
        sys.stdin = io.StringIO(job["input"])
        exec(job["code"], {"__name__": "__main__"})
        sys.stdout.flush()
    else:
        ask(job)


for package in ("inspect_ai.model", "anthropic", "google.genai", "openai"):
    import_module(package)
for line in sys.stdin:
    child = os.fork()
    if not child:
        status = 1
        try:
            run(json.loads(line))
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
