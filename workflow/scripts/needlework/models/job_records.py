"""A record of a generation job: which model, with which software, on which GPUs.

The job writes it as soon as its model is loaded, in a journal beside that of the answers. So if the job is
killed and another machine completes the run, the earlier answers still have the right record. No host and no
path is recorded.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import json
import logging
import os
import platform
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from needlework.journal import Journal
from needlework.models.backends.base import Backend, Request
from needlework.records import ROOT

logger = logging.getLogger("needlework")

# Of a longer prompt, this number of characters at either end is shown.
SHOWN = 4000


def write_job_record(
    folder: str | Path,
    benchmark: str,
    backend: Backend,
    first: Request | None = None,
    on_gpus: bool = False,
) -> None:
    """Write one record of how a loaded model answers a benchmark's prompts.

    `folder` is the model's journal of jobs, `first` the first of all prompts (in the shard that has it).
    """
    engine = backend.settings()
    found = engine.get("ignored")
    for sentence in found if isinstance(found, list) else []:
        logger.warning("models.%s.engine.%s: leave it out.", Path(folder).name, sentence)
    record = {
        "benchmark": benchmark,
        "identity": backend.identity(),
        "software": software(),
        "gpus": visible_gpus() if on_gpus else [],
        "engine": engine,
        "overhead_tokens": backend.overhead(),
        "first_prompt": first and _shown(first, *backend.as_sent(first.prompt)),
    }
    key = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    with Journal(folder) as journal:
        if key not in journal.load():
            journal.append([{"key": key, **record}])


def _shown(request: Request, form: str, text: str) -> dict[str, object]:
    """A prompt as the model got it; of a long one its ends, and the digest of the whole."""
    left_out = len(text) - 2 * SHOWN
    short = text if left_out <= 0 else f"{text[:SHOWN]}[... {left_out} ...]{text[-SHOWN:]}"
    encoded = text.encode("utf-8", "replace")
    return {
        "instance_id": request.instance_id,
        "form": form,
        "characters": len(text),
        "sha256": hashlib.sha256(encoded).hexdigest(),
        "text": short.encode("utf-8", "replace").decode(),
    }


def software() -> dict[str, str | dict[str, str]]:
    """The versions of Python and of the packages that needlework asks for, if they are installed."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    pins = {pin for group in groups.values() for pin in group if isinstance(pin, str)}
    found = {}
    for name in sorted({re.split(r"[<>=!~ \[]", pin)[0] for pin in pins}):
        try:
            own = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        # `own.version` parses the whole description: for all packages, a tenth of a short job.
        written = re.search(r"^Version: (.+)$", own.read_text("METADATA") or "", re.MULTILINE)
        found[name] = written[1].strip() if written else own.version
    return {"python": platform.python_version(), "packages": found}


def visible_gpus() -> list[dict[str, str]]:
    """The NVIDIA GPUs that this process sees, as their driver names them."""
    if shutil.which("nvidia-smi") is None:
        return []
    fields = {"name": "name", "memory": "memory.total", "driver": "driver_version"}
    query = [f"--query-gpu={','.join(fields.values())}", "--format=csv,noheader"]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    for which in ([f"--id={visible}"] if visible else [], []):
        asked = subprocess.run(["nvidia-smi", *which, *query], capture_output=True, text=True)
        if asked.returncode == 0:
            rows = csv.reader(asked.stdout.splitlines(), skipinitialspace=True)
            return [dict(zip(fields, row, strict=True)) for row in rows]
    return []
