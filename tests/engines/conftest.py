"""The tiny model that vLLM runs, and the small one of OpenVINO."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import run

from smollm2 import first_layers


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model` and `adapter`: see tiny_model.py."""
    folder = tmp_path_factory.mktemp("tiny")
    run(Path(__file__).with_name("tiny_model.py"), folder / "made", folder=folder)
    return folder / "made"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2's first layers, for what does not depend on their number."""
    return first_layers(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal's folder of OpenVINO's models, with the converted files of all tests."""
    return tmp_path_factory.mktemp("journal")
