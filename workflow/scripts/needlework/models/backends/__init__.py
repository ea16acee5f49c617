"""Backends: one module or package for each way to run a model. Planning imports this without NumPy."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def backend_names() -> list[str]:
    """The valid values of a model's `backend`: the packages and modules here, except settings."""
    modules = {path.stem for path in HERE.glob("*.py") if not path.stem.endswith("_settings")}
    packages = {path.parent.name for path in HERE.glob("*/backend.py")}
    return sorted(modules - {"__init__", "base"} | packages)


def backend_file(name: str) -> str:
    """The file of a backend's code, below workflow/scripts."""
    module = f"{name}/backend" if (HERE / name / "backend.py").is_file() else name
    return f"needlework/models/backends/{module}.py"
