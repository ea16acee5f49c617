"""A digest of the code that a rule runs: its script and every local module that it imports.

Snakemake sees neither an edit of an imported module nor the difference between an edit and a touch.
The digest is a rule's parameter instead: it changes with what the code does, not with its comments,
docstrings or layout, and is the same on every supported Python.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@lru_cache(None)
def code_digest(*files: str) -> str:
    """The digest of `files` (paths below workflow/scripts) and of all they import, transitively.

    Modules chosen at run time by name (backends, benchmarks, tokenizers) are not imports: a rule
    names the one it uses as a further file.
    """
    digest = hashlib.sha256()
    for file in import_closure(*files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(_read(file)[0].encode() + b"\0")
    return digest.hexdigest()[:16]


@lru_cache(None)
def module_digest(file: str | Path) -> str:
    """The digest of one module's code without its imports: the same wherever it and they lie."""
    tree = ast.parse(Path(file).read_bytes(), filename=str(file))
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return hashlib.sha256(_text(tree, []).encode()).hexdigest()[:16]


@lru_cache(None)
def import_closure(*files: str) -> tuple[Path, ...]:
    """The local files that `files` are made of, themselves included, in a fixed order."""
    todo, seen = [ROOT / file for file in files], set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo.extend(_imports(file))
    return tuple(sorted(seen))


@lru_cache(None)
def _imports(file: Path) -> tuple[Path, ...]:
    _, nodes = _read(file)
    return tuple(
        path for node in nodes for name in _module_names(node, file) for path in _local_files(name)
    )


def _module_names(node: ast.Import | ast.ImportFrom, file: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        package = file.relative_to(ROOT).with_suffix("").parts[: -node.level]
        base = ".".join([*package, *([base] if base else [])])
    yield base
    yield from (f"{base}.{alias.name}" for alias in node.names)


@lru_cache(None)
def _local_files(name: str) -> tuple[Path, ...]:
    """The files that importing `name` runs: the packages on the way and the module itself."""
    parts = name.split(".")
    return tuple(
        path
        for depth in range(1, len(parts) + 1)
        for stem in [ROOT.joinpath(*parts[:depth])]
        for path in (stem.with_suffix(".py"), stem / "__init__.py")
        if path.is_file()
    )


@lru_cache(None)
def _read(file: Path) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """The file's code without comments, docstrings and layout, and its imports.

    In one pass: this is done for every module whenever Snakemake starts.
    """
    imports: list[ast.Import | ast.ImportFrom] = []
    return _text(ast.parse(file.read_bytes(), filename=str(file)), imports), imports


def _text(node: object, imports: list[ast.Import | ast.ImportFrom]) -> str:
    """A syntax tree as text; its imports are added to `imports`.

    `ast.unparse` quotes and `ast.dump` prints differently from Python to Python.
    """
    if isinstance(node, list):
        return f"[{','.join([_text(item, imports) for item in node])}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    if isinstance(node, ast.Import | ast.ImportFrom):
        imports.append(node)
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        _drop_docstring(node)
    elif isinstance(node, ast.JoinedStr):
        # Some Pythons leave empty constants in an f-string.
        node.values = [v for v in node.values if getattr(v, "value", None) != ""]
    fields = []
    for name in node._fields:
        if name not in ("ctx", "kind"):
            value = getattr(node, name, None)
            # What is absent is not shown: newer Pythons have more fields.
            if value is not None and value != []:
                fields.append(f"{name}={_text(value, imports)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _drop_docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> None:
    first = node.body[0] if node.body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        # A function without a docstring needs a `pass`; a module without one may be empty.
        node.body = node.body[1:] or ([] if isinstance(node, ast.Module) else [ast.Pass()])
