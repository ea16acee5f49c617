"""The tiny model that vLLM runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model` and `adapter`: see tiny_model.py."""
    folder = tmp_path_factory.mktemp("tiny")
    run(Path(__file__).with_name("tiny_model.py"), folder / "made", folder=folder)
    return folder / "made"
