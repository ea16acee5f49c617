"""Which way imports go between the library's packages, and what lies in none."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts/needlework"

# A module imports from its own room and from those before it. The modules beside the packages come
# first: every room uses them.
# A benchmark uses results, and results use none, types included.
TOP, PARTS, TYPE, BENCHMARKS = "the top", "parts", "what a benchmark is", "a benchmark"
ORDER = (
    TOP,
    PARTS,
    "services",
    "settings",
    "jobs",
    "data",
    "retrieval",
    "prompts",
    "models",
    "scoring",
    "results",
    TYPE,
    "planning",
    BENCHMARKS,
)
ON_TOP = {
    "answer_states",
    "atomic",
    "codedigest",
    "contract",
    "errors",
    "factor",
    "folders",
    "given",
    "installed",
    "journal",
    "printable",
    "published_records",
    "records",
    "safe_yaml",
    "seeding",
}


@cache
def modules() -> dict[str, Path]:
    """All modules and packages by their dotted names."""
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of the library that a module imports, also inside its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)


def room(module: str) -> str:
    parts = module.split(".")[1:]
    if not parts:
        return TOP
    if parts[0] == "benchmarks":
        own = len(parts) > 1 and parts[1] not in ("benchmark", "parts")
        return BENCHMARKS if own else TYPE if parts[1:] == ["benchmark"] else PARTS
    return parts[0] if (LIBRARY / parts[0]).is_dir() else TOP


def against_the_order(module: str, tree: ast.AST) -> list[str]:
    """What a module imports of a later room, or of another benchmark."""
    own = room(module)
    found = []
    for other in set(imported(tree)):
        if not other.startswith("needlework"):
            continue
        later = ORDER.index(room(other)) > ORDER.index(own)
        benchmarks = own == room(other) == BENCHMARKS
        if later or (benchmarks and other.split(".")[2] != module.split(".")[2]):
            found.append(other)
    return found


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_no_later_room(module: str) -> None:
    assert not against_the_order(module, parsed(module))


@pytest.mark.parametrize(
    "module, code",
    [
        ("needlework.data.words", "from needlework.prompts.tokenizers import Tokenizer"),
        ("needlework.data.words", "def f():\n    import needlework.models.generation"),
        ("needlework.records", "from needlework.jobs import progress"),
        ("needlework.results.stats", "from needlework.planning.config import validated"),
        ("needlework.results.stats", "from needlework.benchmarks.benchmark import Benchmark"),
        ("needlework.factor", "from needlework.results import stats"),
        ("needlework.benchmarks.m4le.plan", "from needlework.benchmarks.oneruler import plan"),
    ],
)
def test_an_import_against_the_order_is_seen(module: str, code: str) -> None:
    assert against_the_order(module, ast.parse(code))


def test_no_modules_import_each_other() -> None:
    """Other than for annotations."""
    graph = {name: set(imported(at_run_time(parsed(name)))) - {name} for name in modules()}
    TopologicalSorter(graph).prepare()


def at_run_time(tree: ast.Module) -> ast.Module:
    """A module without its imports for annotations alone."""
    body = [
        node
        for node in tree.body
        if getattr(node, "test", None) is None or ast.unparse(node.test) != "TYPE_CHECKING"
    ]
    return ast.Module(body, [])


FUNCTION = re.compile(r"needlework(?:\.\w+)+:\w+")


def test_packages_say_what_they_hold_and_functions_are_short() -> None:
    """No function is named in a string."""
    for name, path in modules().items():
        assert not FUNCTION.findall(path.read_text(encoding="utf-8")), name
        assert path.name != "__init__.py" or ast.get_docstring(parsed(name)), name
        for node in ast.walk(parsed(name)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.body[0].lineno <= 60, (name, node.name)


def test_the_top_holds_only_what_every_room_uses() -> None:
    assert {path.stem for path in LIBRARY.glob("*.py")} - {"__init__"} == ON_TOP


def test_a_class_has_a_name_of_its_own() -> None:
    """Within a benchmark, names are its own."""
    names = Counter(
        node.name
        for module in modules()
        if room(module) != BENCHMARKS
        for node in parsed(module).body
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, n in names.items() if n > 1}


def test_tests_lie_in_the_rooms_of_the_library() -> None:
    rooms = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    assert rooms - {"__pycache__", "perf"} <= {path.name for path in LIBRARY.iterdir()}
