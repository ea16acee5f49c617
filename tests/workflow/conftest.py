"""Runs of the workflow that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from http_server import OpenAIServer
from runs import Workflow, copy_workflow, finished_demo


@pytest.fixture
def server(monkeypatch) -> Iterator[OpenAIServer]:
    """A server on loopback that speaks OpenAI's protocol."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as running:
        yield running


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Workflow:
    """The main job on the embedded sample: a copy of the checkout's run where that is finished, or a new one.

    A new one is without the language model, which takes most of the time: tests/engines asks it.
    """
    found = finished_demo(tmp_path_factory.mktemp("demo"))
    if found is not None:
        return found
    folder = tmp_path_factory.mktemp("demo")
    workflow = Workflow(copy_workflow(folder), folder)
    config = folder / "config.yaml"
    text = config.read_text(encoding="utf-8")
    assert "models: [smollm2, " in text
    config.write_text(text.replace("models: [smollm2, ", "models: ["), encoding="utf-8")
    workflow.run()
    return workflow
