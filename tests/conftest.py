"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MIRROR = ROOT.parent / "shared" / "mirror"


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Real data in the sources' own layout; tests that need it skip where it is not."""
    if not MIRROR.is_dir():
        pytest.skip(f"real data is not at {MIRROR}: this test needs a mirror of the sources")
    return MIRROR
