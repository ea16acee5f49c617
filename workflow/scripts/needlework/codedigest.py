"""A digest of the code that a rule runs: its script and every local module that it imports.

Snakemake sees neither an edit of an imported module nor the difference between an edit and a touch.
The digest is a rule's parameter instead: it changes with what the code does, not with its comments,
docstrings or layout, and is the same on every supported Python.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# A cache by file name and content: the digest of the code, and its imports.
_known: dict[str, tuple[str, list[str]]] = {}


def remember(path: Path) -> None:
    """Cache code digests in a file for the next start of Snakemake. The file may be deleted."""
    with suppress(OSError, ValueError):
        _known.update(json.loads(path.read_text(encoding="utf-8")))
    before = len(_known)

    def save() -> None:
        from needlework.atomic import atomic_write

        if len(_known) > before:
            with suppress(OSError), atomic_write(path) as part:
                part.write_text(json.dumps(_known), encoding="utf-8")

    atexit.register(save)


@lru_cache(None)
def code_digest(*files: str) -> str:
    """The digest of `files` (paths below workflow/scripts) and of all modules that they import, transitively.

    Modules chosen at run time by name (backends, benchmarks, tokenizers) are not imports: a rule names the
    module that it uses as a further file.
    """
    digest = hashlib.sha256()
    for file in import_closure(*files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(_learned(file)[0].encode() + b"\0")
    return digest.hexdigest()[:16]


@lru_cache(None)
def module_digest(file: str | Path) -> str:
    """The digest of one module's code without its imports. It does not depend on where they lie."""
    tree = ast.parse(Path(file).read_bytes(), filename=str(file))
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return hashlib.sha256(_text(tree, []).encode()).hexdigest()[:16]


@lru_cache(None)
def import_closure(*files: str) -> tuple[Path, ...]:
    """The local files of which `files` are made: themselves and all imports, in a fixed order."""
    todo, seen = [ROOT / file for file in files], set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo.extend(_imports(file))
    return tuple(sorted(seen))


@lru_cache(None)
def _imports(file: Path) -> tuple[Path, ...]:
    return tuple(path for name in _learned(file)[1] for path in _local_files(name))


@lru_cache(None)
def _learned(file: Path) -> tuple[str, list[str]]:
    """The digest of a file's code, and the names of the modules that it may import."""
    content = file.read_bytes()
    name = file.relative_to(ROOT).as_posix().encode()
    key = hashlib.sha256(_this_code() + name + b"\0" + content).hexdigest()
    if key not in _known:
        text, nodes = _read(content)
        names = dict.fromkeys(name for node in nodes for name in _module_names(node, file))
        _known[key] = hashlib.sha256(text.encode()).hexdigest(), list(names)
    return _known[key]


@lru_cache(None)
def _this_code() -> bytes:
    return hashlib.sha256(Path(__file__).read_bytes()).digest()


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


def _read(content: bytes) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """A file's code without comments, docstrings and layout, and its imports."""
    imports: list[ast.Import | ast.ImportFrom] = []
    return _text(ast.parse(content), imports), imports


def _text(node: object, imports: list[ast.Import | ast.ImportFrom]) -> str:
    """A syntax tree as text; its imports are added to `imports`.

    `ast.unparse` quotes and `ast.dump` prints differently from Python to Python.
    """
    if isinstance(node, list):
        run = [each for item in node for each in (item.orelse if _for_types(item) else [item])]
        return f"[{','.join([_text(item, imports) for item in run])}]"
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


def _for_types(node: object) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, whose body never runs."""
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


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
