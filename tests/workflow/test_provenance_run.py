"""A run ends by writing where its results come from, once, without a secret or a machine's path."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from http_server import OpenAIServer
from runs import ROOT, SMALL_MLNEEDLE, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("provenance")]

SECRET = "sk-very-secret-0123456789"
CANARY = "sk-canary-0123456789"


def test_a_run_ends_with_its_provenance(tmp_path) -> None:
    with OpenAIServer() as server:
        config = {
            "run": {"models": ["lexical", "remote"], "benchmarks": ["mlneedle"]},
            "models": {
                "remote": {
                    "backend": "openai",
                    "name": "some-model",
                    "revision": "today",
                    "base_url": server.url,
                    "key_env": "THE_KEY",
                    "tokenizer": "words",
                    "context": 131072,
                },
                "other": {
                    "backend": "openai",
                    "name": "x",
                    "base_url": f"https://{CANARY}@host/v1",
                    "tokenizer": "words",
                    "context": 1,
                },
            },
            "benchmarks": {"mlneedle": SMALL_MLNEEDLE},
        }
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        workflow = Workflow(ROOT, tmp_path / "run")
        arguments = ["--configfile", str(path)]
        keys = {"env": os.environ | {"THE_KEY": SECRET, "NO_PROXY": "127.0.0.1"}}
        workflow.run(*arguments, **keys)
        file = workflow.result("provenance.json")
        text = file.read_text(encoding="utf-8")
        found = json.loads(text)

        assert set(found["models"]) == {"lexical", "remote"}
        remote = found["models"]["remote"]
        assert remote["identity"]["revision"] == "today"
        part = remote["benchmarks"]["mlneedle"]
        assert part["answers"] == part["ended"]["stop"] == len(server.received)
        assert part["tokens"]["prompt_tokens"] == 3 * part["answers"]
        assert part["first_prompt"]["form"] == "as a user's message"
        prompts = [r.body["messages"][0]["content"] for r in server.received]
        assert part["first_prompt"]["text"] in prompts
        assert part["ran_on"][0]["software"]["packages"]["openai"]
        assert (
            found["models"]["lexical"]["benchmarks"]["mlneedle"]["first_prompt"]["text"] in prompts
        )
        assert found["jobs"]["generate_answers/remote/mlneedle"]["seconds"] > 0
        assert any(name.startswith("resources/sample/") for name in found["files"])
        assert found["software"]["packages"]["snakemake"]
        assert found["workflow"]["version"]

        for secret in (SECRET, CANARY, "THE_KEY", str(tmp_path), str(ROOT), str(Path.home())):
            assert secret not in text
        for made in [f for f in workflow.directory.rglob("*") if f.is_file()]:
            if ".snakemake" not in made.parts:
                assert SECRET.encode() not in made.read_bytes(), made

        assert workflow.would_run(*arguments) == {}
        # Made again, from the journal: nothing but the times is another's.
        file.unlink()
        generations = workflow.result("generations/remote/mlneedle.parquet")
        before = generations.read_bytes()
        generations.unlink()
        asked = len(server.received)
        workflow.run(*arguments, **keys)
        assert len(server.received) == asked
        assert generations.read_bytes() == before
        again = json.loads(file.read_text(encoding="utf-8"))
        assert {**again, "jobs": None} == {**found, "jobs": None}
