"""The tables below resources/ that careful verdicts are made with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from needlework import safe_yaml

FOLDERS = ("numbers", "phrases", "writings")
RESOURCES = Path(__file__).resolve().parents[5] / "resources"


def files() -> list[str]:
    """The tables, below resources/: what scores of the metric "careful" depend on beside the code."""
    found = (path for folder in FOLDERS for path in (RESOURCES / folder).iterdir())
    return sorted(str(path.relative_to(RESOURCES)) for path in found)


def rows(name: str | Path) -> Iterator[list[str]]:
    """The rows of a table of tab-separated values below resources/, without comments."""
    for line in (RESOURCES / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


@cache
def mapping(name: str) -> dict[Any, Any]:
    """A YAML file's mapping."""
    return dict(safe_yaml.read(RESOURCES / name))


def split(listed: str) -> list[str]:
    """Phrases that semicolons separate."""
    return [phrase.strip() for phrase in listed.split(";") if phrase.strip()]
