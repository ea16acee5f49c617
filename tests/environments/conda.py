"""What Snakemake asks of conda, done with uv: for environments of Python and a list for pip (envs/*.yaml).

`--use-conda` runs with this in conda's place where conda cannot be had. Snakemake creates and activates the
environments, and runs each rule's script with their Python, as it does with conda's. They hold what is
listed and nothing else, not even what a listed package asks for (but PyTorch).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

# An environment's processes note which modules they imported from elsewhere.
NOTES = """
import atexit, json, os, sys

def note():
    own = tuple(map(os.path.realpath, (sys.prefix, os.path.dirname(os.__file__), os.environ["WORKFLOW"])))
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    elsewhere = sorted(
        # PyTorch has modules without a file of their own, with a bare name for one.
        {name for name, file in files.items() if file and os.path.isabs(file)
         and not os.path.realpath(file).startswith(own)}
    )
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(json.dumps({"prefix": sys.prefix, "script": sys.argv[0], "elsewhere": elsewhere}) + "\\n")

if "NOTES" in os.environ:
    atexit.register(note)
"""


def create(file: Path, prefix: Path) -> None:
    """Make the environment of a file below `prefix`."""
    python, _, last = yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"]
    uv(["venv", "--python", python.removeprefix("python=").removesuffix(".*"), prefix])
    listed = prefix / "listed.txt"
    listed.write_text("".join(f"{line}\n" for line in last["pip"]), encoding="utf-8")
    # What PyTorch's build asks for beside, only pip knows: that of CUDA wants CUDA's packages.
    alone = [] if any(line.startswith("torch==") for line in last["pip"]) else ["--no-deps"]
    uv(["pip", "install", *alone, "--python", prefix / "bin/python", "--requirement", listed])
    (site,) = prefix.glob("lib/python*/site-packages")
    (site / "imports_elsewhere.py").write_text(NOTES, encoding="utf-8")
    (site / "imports_elsewhere.pth").write_text("import imports_elsewhere\n", encoding="utf-8")


def uv(arguments: list[str | Path]) -> None:
    """Run uv with the package index that pip's own environment variables name."""
    own = dict(os.environ)
    for theirs, ours in {
        "PIP_INDEX_URL": "UV_INDEX_URL",
        "PIP_FIND_LINKS": "UV_FIND_LINKS",
        "PIP_CERT": "SSL_CERT_FILE",
    }.items():
        if theirs in own:
            own.setdefault(ours, own[theirs])
    subprocess.run([os.environ["UV"], *arguments, "--quiet"], env=own, check=True)


def main() -> None:
    """The five commands that Snakemake gives conda."""
    asked = sys.argv[1:]
    if asked == ["--version"]:
        print("conda 26.9.0")
    elif asked == ["info", "--json"]:
        print(json.dumps({"conda_prefix": os.environ["CONDA_ROOT"], "platform": "linux-64"}))
    elif asked == ["config", "--get", "channel_priority", "--json"]:
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif asked == ["clean", "-y", "--tarballs"]:
        pass  # uv's cache is for all environments
    elif asked[:2] == ["env", "create"]:
        parser = argparse.ArgumentParser()
        for flag in ("--quiet", "--no-default-packages"):
            parser.add_argument(flag, action="store_true")
        parser.add_argument("--file", type=Path)
        parser.add_argument("--prefix", type=Path)
        chosen = parser.parse_args(asked[2:])
        create(chosen.file, chosen.prefix)
    else:
        sys.exit(f"conda {' '.join(asked)}: not known here")


if __name__ == "__main__":
    main()
