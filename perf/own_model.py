"""The minutes from a clone to the first number of one's own model, by README's path.

    python perf/own_model.py [FOLDER]

SmolLM2 behind llama.cpp's server, as docs/quickstart.md serves it, is the model of README's mine.yaml. The
clone is of this checkout's last commit, in FOLDER or a temporary folder. Each step's seconds are printed, the
lines that a user types, and the first number.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parents[1]


def block(page: str, begins: str) -> str:
    """The first fenced block of a page of the documentation that begins with a text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return next(
        own
        for own in re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S)
        if own.startswith(begins)
    )


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Print what a step took."""
    began = time.monotonic()
    yield
    print(f"{step}: {time.monotonic() - began:.0f} s", flush=True)


def files(port: int) -> dict[str, str]:
    """README's configuration and the quick start's server, for a port that is free."""
    address = "http://localhost:8000/v1"
    mine = block("README.md", "run:\n  models: [mine]")
    assert address in mine and "the-name-it-serves" in mine
    mine = mine.replace(address, f"http://localhost:{port}/v1").replace(
        "the-name-it-serves", "smollm2"
    )
    serve = block("docs/quickstart.md", "import glob, signal, xllamacpp")
    return {"mine.yaml": mine, "serve.py": serve.replace("8080", str(port))}


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return when the server lists its models; RuntimeError if it ended."""
    while True:
        try:
            urllib.request.urlopen(f"http://localhost:{port}/v1/models", timeout=5).close()
            return
        except OSError:
            if server.poll() is not None:
                raise RuntimeError("the server ended") from None
            time.sleep(0.2)


def measure(folder: Path) -> str:
    """Go README's path in a folder; the last lines of the run."""
    clone = folder / "needlework"
    with timed("clone"):
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    with timed("set-up"):
        subprocess.run(["make", "-s", "weights"], cwd=clone, check=True, stdout=subprocess.DEVNULL)
        pip = [".venv/bin/python", "-m", "pip", "install", "-q", "xllamacpp"]
        subprocess.run(pip, cwd=clone, check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name, text in files(port).items():
        (clone / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.splitlines())} lines")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([".venv/bin/python", "serve.py"], cwd=clone, **quiet) as server:
        try:
            with timed("server"):
                wait_for(port, server)
            command = [".venv/bin/snakemake", "--cores", "all", "--configfile", "mine.yaml"]
            with timed("first number"):
                done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(f"the run failed:\n{done.stderr[-2000:]}")
        finally:
            server.kill()
    return "\n".join((done.stdout + done.stderr).splitlines()[-4:])


if __name__ == "__main__":
    print(machine.describe())
    with tempfile.TemporaryDirectory() as made:
        print(measure(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made)))
