"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def named_tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Any]]:
    """Loads a tokenizer by its name in tokenizers_made.NAMES, once a module; skips without its files."""
    import tokenizers_made

    folder, loaded = tmp_path_factory.mktemp("tokenizers"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(folder))

        def load(name: str) -> Any:
            if name not in loaded:
                encoding = name in tokenizers_made.ENCODINGS
                mirror = request.getfixturevalue("mirror") if encoding else None
                loaded[name] = tokenizers_made.load(name, folder, mirror)
            return loaded[name]

        yield load
