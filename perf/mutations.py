"""Small faults in construction, scoring, journal, statistics and results: do the tests find them?

    python perf/mutations.py                     120 faults, drawn by seed; writes perf/mutations.json
    python perf/mutations.py --rooms journal     of one room alone
    python perf/mutations.py --same FILE         the faults of an earlier result, at this commit; of a fault's
                                                 tests, the one that found it is tried first

The quick tests run once, to see which of them call which function. Then each fault gets the tests that
call its function, the shortest first, until one fails or 40 seconds of a processor have passed. A result
that a fixture of several tests shares is counted for the first of them. A fault of which a test finds
nothing may change no behaviour: somebody must look at it, and write the test.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest

import machine

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).with_suffix(".json")
LIBRARY = "workflow/scripts/needlework"
SEED, NUMBER, SECONDS = 65, 120, 40
# Globs below the library, and where the tests of each are.
ROOMS = {
    "construction": (
        *("prompts/**/*.py", "benchmarks/*/prompts.py", "benchmarks/*/plan.py"),
        *("benchmarks/*/documents.py", "benchmarks/*/haystack.py", "benchmarks/*/niah.py"),
        *("benchmarks/*/cwe.py", "benchmarks/*/pairs.py", "retrieval/*.py"),
    ),
    "scoring": (
        *("scoring/**/*.py", "benchmarks/*/scores.py", "benchmarks/*/strict.py"),
        *("benchmarks/*/careful.py", "benchmarks/*/released.py", "benchmarks/*/match.py"),
    ),
    "journal": ("journal.py", "records.py", "models/generation.py", "models/old_journals.py"),
    "statistics": (
        *("results/stats.py", "results/doctor/comparison.py", "results/doctor/checks.py"),
        *("results/comparisons.py", "benchmarks/*/measures.py"),
    ),
    "results": (
        *("results/*.py", "results/drawing/*.py", "results/explorer/*.py"),
        *(
            "results/doctor/*.py",
            "benchmarks/*/tables.py",
            "benchmarks/*/figures.py",
            "benchmarks/*/results.py",
        ),
    ),
}
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
# What a fault in them changes is a message, a type or nothing.
SPARED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.AnnAssign, ast.arguments)


@dataclass(frozen=True)
class Fault:
    """A piece of a function that is replaced: which one of the same pieces, by their order."""

    room: str
    file: str
    function: str
    old: str
    new: str
    nth: int


def changed(node: ast.AST) -> ast.AST | None:
    """The node with a fault, or None where this script knows none for it."""
    new = copy(node)
    if isinstance(new, ast.Compare) and len(new.ops) == 1:
        new.ops = [OTHER[type(new.ops[0])]()]
    elif isinstance(new, ast.BoolOp | ast.BinOp) and type(new.op) in OTHER:
        new.op = OTHER[type(new.op)]()
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
    elif isinstance(new, ast.Constant) and type(new.value) is int:
        new.value += 1
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
    elif isinstance(new, ast.Call) and isinstance(new.func, ast.Name) and new.func.id in NAMES:
        new.func = ast.Name(NAMES[new.func.id], ast.Load())
    else:
        return None
    return new


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """All functions of a module that are in no other function."""
    for node in tree.body:
        within = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (one for one in within if isinstance(one, ast.FunctionDef))


def pieces(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a function's body, without what is spared."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SPARED):
            yield child
            yield from pieces(child)


def first_line(function: ast.FunctionDef) -> int:
    """Where Python says that it begins: at its first decorator."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def faulty(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Each expression of a function that can be replaced, and what by."""
    for node in (piece for part in function.body for piece in [part, *pieces(part)]):
        new = changed(node)
        if new is not None and isinstance(node, ast.expr):
            yield node, new


def places(text: str, name: str) -> Iterator[tuple[ast.FunctionDef, ast.expr, str, str, int]]:
    """Each piece of a function that can be replaced: old and new text, and which of the same it is."""
    for function in functions(ast.parse(text)):
        seen: dict[str, int] = {}
        if function.name == name:
            for node, new in faulty(function):
                old = ast.get_source_segment(text, node) or ""
                nth = seen[old] = seen.get(old, -1) + 1
                # Brackets of its own, as those around it may be part of what stands there.
                yield function, node, old, f"({ast.unparse(new)})", nth


def draw(root: Path, rooms: list[str], number: int) -> list[Fault]:
    """Faults of each room, by seed; a function has one at most."""
    drawn: list[Fault] = []
    for room in rooms:
        names = sorted({p for glob in ROOMS[room] for p in (root / LIBRARY).glob(glob)})
        taken = {(fault.file, fault.function) for fault in drawn}
        found = {
            (path.relative_to(root).as_posix(), function.name): None
            for path in names
            for function in functions(ast.parse(path.read_text(encoding="utf-8")))
            if any(faulty(function))
        }
        seeded = random.Random(f"{SEED} {room}")
        chosen = seeded.sample([one for one in found if one not in taken], number // len(rooms))
        for file, name in chosen:
            text = (root / file).read_text(encoding="utf-8")
            made = [Fault(room, file, name, *found) for _, _, *found in places(text, name)]
            drawn.append(seeded.choice(made))
    return drawn


def put(fault: Fault, text: str) -> tuple[str, int] | None:
    """The module's text with the fault, and its function's first line; None where it is not there."""
    for function, node, old, new, nth in places(text, fault.function):
        if (old, new, nth) == (fault.old, fault.new, fault.nth):
            lines = text.encode().splitlines(keepends=True)
            starts = [sum(map(len, lines[: n - 1])) for n in (node.lineno, node.end_lineno or 0)]
            start, end = starts[0] + node.col_offset, starts[1] + (node.end_col_offset or 0)
            raw = text.encode()
            return (raw[:start] + new.encode() + raw[end:]).decode(), first_line(function)
    return None


# As a plugin of pytest


class Calls:
    """Which functions of the library each test calls, and the seconds that it takes."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.now: set[str] = set()
        self.tests: dict[str, tuple[float, list[str]]] = {}

    def see(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call in another thread than the tests'."""
        if event == "call":
            self.note(frame.f_code)

    def note(self, code: CodeType) -> None:
        """Keep a function of the library."""
        if code.co_filename.startswith(self.library):
            name = code.co_filename.removeprefix(self.library)
            self.now.add(f"{name}:{code.co_firstlineno}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """A test with its fixtures."""
        self.now.clear()
        start = time.process_time()
        threading.setprofile(self.see)
        # Twice as fast as a tracing function, but of one thread.
        profile = cProfile.Profile(subcalls=False, builtins=False)
        profile.enable()
        try:
            return (yield)
        finally:
            profile.disable()
            for entry in profile.getstats():
                if not isinstance(entry.code, str):
                    self.note(entry.code)
            self.tests[item.nodeid] = (time.process_time() - start, sorted(self.now))


class First:
    """The first test that failed."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep its name."""
        if report.failed and not self.name:
            self.name = report.nodeid


def child(root: Path, seconds: int, work: Callable[[], object]) -> object:
    """What a function returns in a process of its own, or "time" after so many seconds of a processor.

    One that waits may take ten times as long, since other work may run beside it.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.chdir(root)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        with os.fdopen(writing, "w") as pipe:
            json.dump(work(), pipe)
        os._exit(0)
    os.close(writing)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(pid, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return json.loads(said) if said else "time"


def coverage(root: Path, tests: list[str]) -> dict[str, tuple[float, list[str]]]:
    """The seconds of each quick test, and the functions that it calls."""

    def run() -> object:
        calls = Calls(f"{root / LIBRARY}/")
        pytest.main([*OPTIONS, "-m", "not slow", *tests], plugins=[calls])
        return calls.tests

    found = child(root, 36_000, run)
    assert isinstance(found, dict)
    return found


OPTIONS = ["-q", "-n0", "-p", "no:cacheprovider"]


def trial(
    root: Path, fault: Fault, tests: dict[str, tuple[float, list[str]]], earlier: str = ""
) -> dict[str, object]:
    """What finds a fault: a test's name, or nothing; "time" for a loop, or more tests than fit.

    Of the tests that call its function, the `earlier` one is tried first, then the shortest.
    """
    path = root / fault.file
    text = path.read_text(encoding="utf-8")
    made = put(fault, text)
    if made is None:
        return asdict(fault) | {"found": "not there"}
    place = f"{Path(fault.file).relative_to(LIBRARY)}:{made[1]}"
    calling = [(took, name) for name, (took, called) in tests.items() if place in called]
    own = sorted(calling, key=lambda one: (one[1] != earlier, *one))
    first = First()
    start = time.monotonic()
    found: object = None
    if own:
        path.write_text(made[0], encoding="utf-8")

        def run() -> object:
            names = [name for _, name in own]
            code = pytest.main([*OPTIONS, "-x", *names], plugins=[first])
            # A fault can break a module of tests before any of its tests runs.
            broken = code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
            return first.name or (f"{names[0]} (cannot be collected)" if broken else None)

        found = child(root, SECONDS, run)
        path.write_text(text, encoding="utf-8")
    seconds = round(time.monotonic() - start, 1)
    return asdict(fault) | {"tests": len(own), "found": found, "seconds": seconds}


def copy_of(root: Path, folder: Path) -> Path:
    """The checkout's files, which a fault may be put into, beside the real data."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, text=True
    )
    for name in listed.splitlines():
        if (root / name).is_file():
            (folder / "own" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / "own" / name)
    if (root.parent / "shared").is_dir():
        (folder / "shared").symlink_to(root.parent / "shared")
    return folder / "own"


def main() -> None:
    """Draw the faults, or take those of a file; try each, and write what found it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="a checkout")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--number", type=int, default=NUMBER)
    parser.add_argument("--tests", nargs="+", default=["tests/unit"], help="those to look among")
    parser.add_argument("--same", type=Path, help="a result whose faults are taken")
    parser.add_argument(
        "--coverage", type=Path, help="keeps what the tests call, for the next time"
    )
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    earlier: dict[Fault, str] = {}
    if given.same:
        for kept in json.loads(given.same.read_text(encoding="utf-8"))["faults"]:
            own = {key: value for key, value in kept.items() if key in Fault.__annotations__}
            earlier[Fault(**own)] = str(kept.get("found"))
    else:
        earlier = dict.fromkeys(draw(given.root, given.rooms, given.number), "")
    # Python writes no bytecode: a fault and its repair may have the same size and second.
    sys.dont_write_bytecode = True
    for name in ("numpy", "pandas", "pyarrow.parquet", "matplotlib.figure", "yaml"):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        root = copy_of(given.root.resolve(), Path(folder))
        if given.coverage and given.coverage.exists():
            tests = json.loads(given.coverage.read_text(encoding="utf-8"))
        else:
            tests = coverage(root, given.tests)
            if given.coverage:
                given.coverage.write_text(json.dumps(tests), encoding="utf-8")
        tried = []
        for fault, found in earlier.items():
            tried.append(trial(root, fault, tests, found))
            print(json.dumps(tried[-1]), flush=True)
            result = {"machine": machine.describe(["pytest"]), "seed": SEED, "faults": tried}
            result["found"] = sum("::" in str(one["found"]) for one in tried)
            given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
