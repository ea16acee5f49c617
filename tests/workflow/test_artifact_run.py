"""A run says where its results are from, without a secret; from its artifact and a clone they come again."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from http_server import OpenAIServer
from needlework.journal import Journal
from needlework.records import file_digest
from rocrate_cache import errors
from runs import ROOT, SMALL_MLNEEDLE, Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("artifact")]

SECRET = "sk-very-secret-0123456789"
CANARY = "sk-canary-0123456789"
ENDPOINT = {"backend": "openai", "tokenizer": "words", "context": 131072}
# Two benchmarks: with distractors, and with documents of their own.
CONFIG = {
    "run": {"models": ["remote"], "benchmarks": ["mlneedle", "oneruler"]},
    "models": {
        "remote": ENDPOINT | {"name": "some-model", "revision": "today", "key_env": "THE_KEY"},
        "other": ENDPOINT | {"name": "x", "base_url": f"https://{CANARY}@host/v1"},
    },
    "benchmarks": {
        "mlneedle": SMALL_MLNEEDLE | {"questions": 5},
        "oneruler": {
            "languages": ["en"],
            "cross_lingual": [],
            "lengths": [1000],
            "tasks": ["niah_single", "cwe_easy"],
            "examples": 1,
        },
    },
}


@dataclass
class Packed(Workflow):
    """A run with its artifact, and the endpoint that it asked."""

    server: OpenAIServer
    env: dict[str, str]
    said: str = ""

    def says(self, *targets: str) -> str:
        """The terminal's lines of a run of these targets."""
        config = str(self.directory.parent / "config.yaml")
        done = self.run(*targets, "--configfile", config, env=self.env)
        return (done.stdout + done.stderr).strip()

    def provenance(self) -> dict:
        return json.loads(self.result("provenance.json").read_text(encoding="utf-8"))


def listed(value: object) -> list:
    """JSON-LD leaves out the list around one value."""
    return value if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Iterator[Packed]:
    folder = tmp_path_factory.mktemp("packed")
    with OpenAIServer() as server:
        remote = CONFIG["models"]["remote"] | {"base_url": server.url}
        config = CONFIG | {"models": CONFIG["models"] | {"remote": remote}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        env = os.environ | {"THE_KEY": SECRET, "NO_PROXY": "127.0.0.1"}
        run = Packed(ROOT, folder / "run", server, env)
        run.said = run.says("artifact", "export", "reproduction")
        yield run


@pytest.fixture(scope="module")
def crate(packed, tmp_path_factory) -> Path:
    """The artifact, unpacked."""
    folder = tmp_path_factory.mktemp("crate")
    with zipfile.ZipFile(packed.result("artifact.crate.zip")) as archive:
        archive.extractall(folder)
    return folder


def test_the_artifact_is_a_workflow_run_crate(packed, tmp_path) -> None:
    pytest.importorskip("rocrate_validator", reason="needs roc-validator: run `make setup`")
    assert errors(packed.result("artifact.crate.zip"), tmp_path) == []


def test_a_crate_without_its_workflow_is_refused(crate, tmp_path) -> None:
    pytest.importorskip("rocrate_validator", reason="needs roc-validator: run `make setup`")
    metadata = json.loads((crate / "ro-crate-metadata.json").read_text())
    for entity in metadata["@graph"]:
        entity.pop("mainEntity", None)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/ro-crate-metadata.json").write_text(json.dumps(metadata))
    assert errors(tmp_path / "broken", tmp_path)


def test_a_run_ends_with_its_provenance(packed) -> None:
    found, received = packed.provenance(), packed.server.received
    assert set(found["models"]) == {"remote"}
    remote = found["models"]["remote"]
    assert remote["identity"]["revision"] == "today"
    parts = remote["benchmarks"]
    assert sum(part["answers"] for part in parts.values()) == len(received)
    prompts = [request.body["messages"][0]["content"] for request in received]
    for part in parts.values():
        assert part["answers"] == part["ended"]["stop"] > 0
        assert part["tokens"]["prompt_tokens"] == 3 * part["answers"]
        assert part["first_prompt"]["form"] == "as a user's message"
        assert part["ran_on"][0]["software"]["packages"]["openai"]
        assert part["first_prompt"]["text"] in prompts
    assert found["jobs"]["generate_answers/remote/mlneedle"]["seconds"] > 0
    assert any(name.startswith("resources/sample/") for name in found["files"])
    assert found["software"]["packages"]["snakemake"]
    assert found["workflow"]["version"]
    assert packed.would_run("--configfile", str(packed.directory.parent / "config.yaml")) == {}


def test_the_last_lines_are_the_answer_to_the_command(packed) -> None:
    *_, artifact, export, reproduction = packed.said.splitlines()
    assert artifact.startswith("Wrote results/artifact.crate.zip: ")
    assert export.startswith("Wrote results/export: ")
    assert re.match(r"Wrote results/reproduction\.csv, \d+ printed numbers", reproduction)
    # What becomes of requests is not the answer to these.
    said = packed.says("estimate")
    assert "Left to do" in said and "request" not in said.lower(), said


def test_no_secret_and_no_path_of_the_machine_is_written(packed, crate) -> None:
    text = packed.result("provenance.json").read_text(encoding="utf-8")
    for secret in (SECRET, CANARY, "THE_KEY", str(packed.directory), str(ROOT), str(Path.home())):
        assert secret not in text
    for made in [f for folder in (packed.directory, crate) for f in folder.rglob("*")]:
        if made.is_file() and ".snakemake" not in made.parts:
            assert SECRET.encode() not in made.read_bytes(), made


def test_every_result_has_its_checksum_and_its_job(packed, crate) -> None:
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    tables = [name for name in entities if name.startswith("results/tables/")]
    assert len(tables) > 4
    results = {
        result["@id"]: action["@id"]
        for action in graph
        if action["@type"] == "CreateAction" and action["@id"].startswith("#job/")
        for result in listed(action["result"])
    }
    for name in [*tables, "results/scores/remote/mlneedle.parquet"]:
        assert entities[name]["sha256"] == file_digest(crate / name)
        assert (crate / name).read_bytes() == (packed.directory / name).read_bytes()
    assert results["results/scores/remote/mlneedle.parquet"] == "#job/score_answers/remote/mlneedle"
    assert "seconds" in entities["#job/score_answers/remote/mlneedle"]["description"]
    assert '"backend": "openai"' in entities["#model/remote"]["value"]


def test_an_artifact_rebuilds_the_tables_without_a_model(packed, crate, tmp_path) -> None:
    """All is as before but for what says when and where."""
    clone = Workflow(copy_workflow(tmp_path / "elsewhere/clone"), tmp_path / "elsewhere/run")
    journal = crate / "journal"
    before, asked = sorted(journal.rglob("*.jsonl")), len(packed.server.received)
    done = clone.run(
        *("--configfile", str(crate / "configuration.yaml")),
        *(
            "--config",
            f"journal={journal}",
            f"models={{remote: {{base_url: {packed.server.url}, key_env: null}}}}",
        ),
        env=packed.env,
    )
    *_, mlneedle, oneruler, page = (done.stdout + done.stderr).strip().splitlines()
    assert page == "Open results/index.html to read the results."
    for line, title in ((mlneedle, "MLNeedle"), (oneruler, "ONERULER")):
        share = r"\d+ \[\d+, \d+\] +n=\d+"
        assert re.fullmatch(rf"remote  {title} +{share}  \w+ +[\d,]+ tokens +\S+", line), line
    for kind in ("tables", "scores", "figures", "generations"):
        files = [p for p in packed.result(kind).rglob("*") if p.is_file()]
        named = {part for file in files for part in (file.parent.name, file.stem)}
        assert set(CONFIG["run"]["benchmarks"]) <= named
        for file in files:
            again = clone.directory / file.relative_to(packed.directory)
            assert again.read_bytes() == file.read_bytes(), file
    assert len(packed.server.received) == asked
    assert sorted(journal.rglob("*.jsonl")) == before
    found, again = (
        json.loads(run.result("provenance.json").read_text()) for run in (packed, clone)
    )
    # The clone has no Git.
    assert {k for k in found if found[k] != again[k]} == {"jobs", "workflow"}


def test_verify_says_what_differs(packed) -> None:
    (folder,) = (packed.directory / "journal/generations").iterdir()
    with Journal(folder) as journal:
        journal.append([{"key": "later", "text": "x", "finish_reason": "stop"}])
    said = packed.says("verify")
    assert "are as results/provenance.json sealed them" in said and "request" not in said.lower()
    table = packed.result("tables/mlneedle/table1.csv")
    old = table.read_bytes()
    table.write_bytes(old.replace(b"1", b"2"))
    failed = packed.run("verify", check=False)
    table.write_bytes(old)
    assert failed.returncode
    assert "results/tables/mlneedle/table1.csv has changed." in failed.stderr
