"""The digest of a rule's code changes with what the code does, and with nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import pytest

from needlework import codedigest

SCRIPTS = Path(codedigest.__file__).resolve().parents[1]

FILES = {
    "rule.py": '''\
"""A rule's script."""
from needlework.first import work  # imported by its full name

work(1)
''',
    "needlework/__init__.py": '"""The package."""\n\n__version__ = "1"\n',
    "needlework/first.py": '''\
"""First."""

import needlework.pack.inner as inner


def work(n: int) -> str:
    """Work."""
    from .second import twice  # inside a function

    return f"{twice(n)!r:>{n}} of {inner.NAME['a']} {{}}" + "it's"
''',
    "needlework/second.py": '''\
class Number:
    """A number."""

    def twice(self) -> int:
        """Doubled."""
        return 2


def twice(n: int) -> int:
    return 2 * n
''',
    "needlework/pack/__init__.py": "from ..third import VALUE\n",
    "needlework/pack/inner.py": 'from . import sibling\nfrom .. import fourth\n\nNAME = {"a": 1}\n',
    "needlework/pack/sibling.py": "SIZE = 1\n",
    "needlework/third.py": "VALUE = 3\n",
    "needlework/fourth.py": "VALUE = 4\n",
    # Reached by its name at run time alone.
    "needlework/pack/chosen.py": "import numpy\nfrom needlework import fifth\n",
    "needlework/fifth.py": "VALUE = 5\n",
    "needlework/unused.py": "VALUE = 6\n",
}
IMPORTED = sorted(set(FILES) - {f"needlework/{n}.py" for n in ("pack/chosen", "fifth", "unused")})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of scripts with a library, which a test may edit."""
    for name, text in FILES.items():
        path = tmp_path / "workflow/scripts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copy2(codedigest.__file__, tmp_path / "workflow/scripts/needlework/codedigest.py")
    return tmp_path / "workflow/scripts"


def fresh(scripts: Path) -> ModuleType:
    """The module as a new process would load it from `scripts`: with nothing remembered."""
    path = scripts / "needlework/codedigest.py"
    spec = importlib.util.spec_from_file_location("a_codedigest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(scripts: Path, *files: str) -> str:
    return fresh(scripts).code_digest(*(files or ("rule.py",)))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# What is part of it


def test_all_that_is_imported_and_nothing_else(tree: Path) -> None:
    found = [f.relative_to(tree).as_posix() for f in fresh(tree).import_closure("rule.py")]
    assert found == IMPORTED
    seen = digest(tree)
    for file in FILES:
        with (tree / file).open("a", encoding="utf-8") as written:
            written.write("\nADDED = 1\n")
        before, seen = seen, digest(tree)
        assert (seen != before) == (file in IMPORTED), file


def test_run_time_modules_count_only_if_named(tree: Path) -> None:
    """In whichever order."""
    named = ("rule.py", "needlework/pack/chosen.py")
    before = digest(tree, *named)
    assert before == digest(tree, *reversed(named)) != digest(tree)
    replace(tree / "needlework/fifth.py", "5", "55")
    assert digest(tree, *named) != before


def test_a_module_that_moves_is_another(tree: Path) -> None:
    before = digest(tree)
    (tree / "needlework/third.py").rename(tree / "needlework/third_.py")
    replace(tree / "needlework/pack/__init__.py", "..third", "..third_")
    after = digest(tree)
    assert after != before
    # Another library's module is not ours to follow.
    replace(tree / "needlework/pack/__init__.py", "..third_", "third_")
    assert digest(tree) != after


# What changes nothing


SAME = [
    ("x = 1", "if TYPE_CHECKING:\n    from needlework import unused\nx = 1"),
    ("", '"""Nothing but a docstring."""\n'),
    ("def f():\n    pass\n", 'def f():\n    """Does nothing."""\n'),
    ('class A:\n    """One."""\n    x = 1', "class A:\n    '''Another\n    one.'''\n\n    x = 1"),
    (
        "def f(n):\n    return 2 * n",
        "def f(n):\n    return (\n        2\n        *\n        n\n    )",
    ),
    ("x = 2  # doubled", "\n\n\nx = 2\n"),
    ("x = 'a'", 'x = "a"'),
    ("x = 'ab'", 'x = "a" "b"'),
    ("x = 1000", "x = 1_000"),
    ("x = f'{a}b'", 'x = f"{a}" "b"'),
    ("x = (1, 2,)", "x = 1, 2"),
]


ALIKE = [
    ("x = 2 * n", "x = 3 * n"),
    ("x = 2 * n", "x = 2 + n"),
    ("x = 2 * n", "x = n * 2"),
    ("class A: ...", "class B: ..."),
    ("def f(n): ...", "def f(n=0): ..."),
    ("def f(): return 'a'", "def f(): return 'b'"),
    ("def f():\n    '''Says.'''\n    return 1", "def f():\n    '''Says.'''\n    1\n    return 1"),
    ("def f(): return 1", "def f(): yield 1"),
    ("x = None", "x = 'None'"),
    ("x = 1", "x = 1.0"),
    ("x = 1", "x = '1'"),
    ("x = 1", "x = True"),
    ("x = b'a'", "x = 'a'"),
    ("x = 'a\\u200b'", "x = 'a'"),
    ("x = f'{a}'", "x = f'{a!r}'"),
    ("x = f'{a:>3}'", "x = f'{a:>4}'"),
    ("x = {None: 1}", "x = {**a}"),
    ("x = a[1:]", "x = a[:1]"),
    ("f(a, b)", "f(a, *b)"),
    ("f(a=b)", "f(**{'a': b})"),
    ("x = [a, [b]]", "x = [[a], b]"),
    ("def f(a, /, b): ...", "def f(a, b, /): ..."),
    ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
    ("async def f(): ...", "def f(): ..."),
    ("from a import b", "from a import b as c"),
    ("global a", "nonlocal a"),
    ("x: int = 1", "x: str = 1"),
    ("del a", "a"),
    ("a = b", "a += b"),
    ("while a:\n    b\nelse:\n    c", "while a:\n    b\n    c"),
]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [*((*texts, True) for texts in SAME), *((*texts, False) for texts in ALIKE)],
)
def test_modules_that_mean_the_same_are_one(tree: Path, one: str, other: str, same: bool) -> None:
    digests = set()
    for text in (one, other):
        (tree / "needlework/third.py").write_text(text, encoding="utf-8")
        digests.add(digest(tree))
    assert (len(digests) == 1) is same


# Wherever it is computed


ALL = """\
import sys
sys.path.insert(0, sys.argv[1])
from needlework.codedigest import ROOT, code_digest
for path in sorted(ROOT.rglob("*.py")):
    print(path.relative_to(ROOT).as_posix(), code_digest(path.relative_to(ROOT).as_posix()))
"""


@cache
def all_digests(python: str, scripts: Path, directory: Path, hash_seed: str) -> str:
    """The digests of every file below `scripts`, by another process in `directory`."""
    return subprocess.run(
        [python, "-B", "-c", ALL, str(scripts)],
        cwd=directory,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_same_from_another_folder_in_another_process(tree: Path, tmp_path: Path) -> None:
    """And in a copy of the repository."""
    copy = tmp_path / "elsewhere/deeper/needlework/workflow/scripts"
    shutil.copytree(tree, copy)
    here = all_digests(sys.executable, tree, tree, "1")
    assert here.count("\n") == len(FILES) + 1
    assert all_digests(sys.executable, copy, tmp_path, "2") == here


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_the_same_with_another_python(version: str, tmp_path: Path) -> None:
    """Of all of the library's own code."""
    candidates = [
        shutil.which(f"python{version}"),
        *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    ]
    # A version manager's launcher may be there for a version that is not chosen.
    runs = [p for p in candidates if p and not subprocess.run([p, "-V"]).returncode]
    if not runs:
        pytest.skip(f"Python {version} is not on this machine")
    here = all_digests(sys.executable, SCRIPTS, SCRIPTS, "0")
    assert all_digests(runs[0], SCRIPTS, tmp_path, "0") == here


# The repository


def test_a_rules_script_leads_to_the_modules_of_its_work() -> None:
    """And no script shadows a library: their folder is on the path of every job."""
    files = "build_instances.py", "needlework/benchmarks/mlneedle/prompts.py"
    found = {path.relative_to(SCRIPTS).as_posix() for path in codedigest.import_closure(*files)}
    assert {
        *("needlework/__init__.py", "needlework/benchmarks/__init__.py"),
        *("needlework/benchmarks/mlneedle/plan.py", "needlework/prompts/counting/pieces.py"),
        *("needlework/data/comparison/normalisation.py", "needlework/prompts/tokenizers.py"),
    } <= found
    # Scoring and drawing do not rebuild prompts.
    assert not {path for path in found if "figures" in path or "scoring" in path}
    ours = {path.stem for path in SCRIPTS.iterdir()} - {"needlework", "__pycache__"}
    assert not ours & (set(packages_distributions()) | sys.stdlib_module_names)


def test_a_moved_module_keeps_its_own_digest(tmp_path) -> None:
    for name, text in {
        "a": "from needlework.x import f\n\nVALUE = f(1)\n",
        "b": '"""Moved."""\nfrom needlework.room.x import f\n\nVALUE = f(1)  # 1\n',
        "c": "from needlework.x import f\n\nVALUE = f(2)\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    first, moved, changed = (codedigest.module_digest(tmp_path / f"{n}.py") for n in "abc")
    assert first == moved != changed


# What is remembered


@pytest.mark.parametrize("content", [None, "{", '{"a": 1}'])
def test_what_is_remembered_of_code_changes_no_digest(tree, tmp_path, monkeypatch, content) -> None:
    expected, path = digest(tree), tmp_path / "code.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ends = []
    for _ in range(2):
        module = fresh(tree)
        monkeypatch.setattr(module.atexit, "register", ends.append)
        module.remember(path)
        assert module.code_digest("rule.py") == expected
        ends.pop()()
        assert len(json.loads(path.read_text(encoding="utf-8"))) >= len(IMPORTED)
    with (tree / "rule.py").open("a", encoding="utf-8") as file:
        file.write("ADDED = 1\n")
    module = fresh(tree)
    module.remember(path)
    assert module.code_digest("rule.py") != expected
