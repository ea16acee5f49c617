"""The tables in the repository's folder `resources/`."""

from __future__ import annotations

from pathlib import Path

RESOURCES = Path(__file__).resolve().parents[4] / "resources"


def resource_rows(name: str | Path) -> list[list[str]]:
    """The rows of a tab-separated table below resources/, without comments."""
    lines = (RESOURCES / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]
