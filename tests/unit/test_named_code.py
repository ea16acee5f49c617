"""What comments and docstrings name in backticks is there: modules, their contents, files and keys."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from needlework.planning.json_schema import schema

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
CODE = [*sorted(SCRIPTS.rglob("*.py")), *sorted((ROOT / "perf").glob("*.py"))]
OTHERS = [*sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "docs").glob("*.py"))]
# It names what is gone.
OTHERS.remove(Path(__file__).resolve())
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# Of other projects, and columns of a user's data.
FOREIGN = {
    *("finalseg.viterbi", "Path.glob", "ast.unparse", "ast.dump", "answers.text", "input.raw"),
    *("metrics.py", "evaluate_qa_responses.py", "compute_accuracy.py", "utils.py"),
    *("needles.csv", "cities.csv", "prompts.csv", "sentences.json", "niah.txt", "cwe.txt"),
    *("tokenizer.json", "add_patch", "corpus_score", "str.translate", "engine.step"),
}


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def tokens(file: Path) -> list[tokenize.TokenInfo]:
    source = io.StringIO(file.read_text(encoding="utf-8"))
    return list(tokenize.generate_tokens(source.readline))


@cache
def attributes(file: Path) -> set[str]:
    """What the code names with a dot."""
    return {ast.unparse(n) for n in ast.walk(parsed(file)) if isinstance(n, ast.Attribute)}


def told(file: Path) -> Iterator[tuple[int, str]]:
    """Every comment and docstring, with its line."""
    for token in tokens(file):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(parsed(file)):
        if isinstance(node, DOCUMENTED) and (said := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), said


@cache
def members() -> dict[str, set[str]]:
    """What lies in a package, in a module and in a class, by its last name."""
    found: dict[str, set[str]] = {}
    for file in (*CODE, *OTHERS):
        name = file.parent.name if file.stem == "__init__" else file.stem
        found.setdefault(file.parent.name, set()).update({file.stem, file.parent.name})
        found.setdefault(file.parent.parent.name, set()).add(file.parent.name)
        found.setdefault(name, set()).update(_names(parsed(file)))
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_names(node))
    return found


def _names(tree: ast.AST) -> set[str]:
    """Every function, class and assigned name or attribute in it, and what it imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


@cache
def keys() -> set[str]:
    """Two keys of the configuration that stand in each other, with a dot between them."""

    def below(node: object, outer: str) -> Iterator[str]:
        if isinstance(node, dict):
            for name, child in node.get("properties", {}).items():
                yield f"{outer}.{name}"
                yield from below(child, name)
            for kind in ("items", "additionalProperties", "oneOf"):
                yield from below(node.get(kind), outer)
        elif isinstance(node, list):
            for part in node:
                yield from below(part, outer)

    return set(below(schema(), ""))


@cache
def words() -> set[str]:
    """Every word of code and of texts in it, of rules, presets, the schema and the explorer."""
    found: set[str] = set()
    for file in (*CODE, *OTHERS):
        tree = parsed(file)
        own = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, DOCUMENTED)
               and n.body and isinstance(n.body[0], ast.Expr)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in own:
                found |= set(re.findall(r"\w+", str(node.value)))
        found |= {token.string for token in tokens(file) if token.type == tokenize.NAME}
    for folder in ("workflow/schemas", "workflow/rules", "presets", "explorer/src"):
        for file in (ROOT / folder).iterdir():
            found |= set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
    return found


def is_there(name: str, file: Path) -> bool:
    """Whether each part lies in the one before it; or the file's own code says so."""
    parts = name.split(".")
    if len(parts) == 1:
        return name in words()
    if parts[-1] == "py":
        return any(other.name == name for other in CODE)
    pairs = list(pairwise(parts))
    if all(part in members().get(outer, ()) for outer, part in pairs):
        return True
    return name in attributes(file) or all(f"{a}.{b}" in keys() for a, b in pairs)


def test_names_in_comments_and_docstrings_exist() -> None:
    missing = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in CODE
        for line, text in told(file)
        for name in re.findall(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`", text)
        if name not in FOREIGN and not is_there(name, file)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(
    "name",
    ["results.context", "latex.lay_out", "mlongrr_strict", "Result.conditions", "run.models_"],
)
def test_a_name_of_what_is_gone_is_found(name: str) -> None:
    assert not is_there(name, SCRIPTS / "needlework/records.py")
