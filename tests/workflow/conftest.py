"""Runs of the workflow that several tests look at."""

from __future__ import annotations

import pytest

from runs import ROOT, Workflow


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Workflow:
    """The main job on the embedded sample, run once."""
    workflow = Workflow(ROOT, tmp_path_factory.mktemp("demo"))
    workflow.run()
    return workflow
