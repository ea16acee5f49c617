"""YAML as plain values: PyYAML's safe loader, in C where there is one, which is ten times as fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def loader() -> Any:
    """The class that loads plain values alone."""
    import yaml  # Planning reads most modules with the standard library alone.

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(path: str | Path) -> Any:
    """The values of a file. OSError, UnicodeDecodeError or yaml.YAMLError if it cannot be read."""
    import yaml

    return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=loader())  # noqa: S506
