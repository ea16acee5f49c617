"""From an artifact and a fresh clone, the tables come out again; a folder is compared with its seal."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import yaml

from needlework.journal import Journal
from needlework.records import file_digest
from rocrate_cache import errors
from runs import ROOT, SMALL_MLNEEDLE, Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("artifact")]

# Two benchmarks: with distractors, and with documents of their own.
CONFIG = {
    "run": {"models": ["lexical"], "benchmarks": ["mlneedle", "oneruler"]},
    "benchmarks": {
        "mlneedle": SMALL_MLNEEDLE,
        "oneruler": {
            "languages": ["en"],
            "cross_lingual": [],
            "lengths": [1000],
            "tasks": ["niah_single", "cwe_easy"],
            "examples": 1,
        },
    },
}


def listed(value: object) -> list:
    """JSON-LD leaves out the list around one value."""
    return value if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Workflow:
    """A run with its artifact."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    workflow = Workflow(ROOT, folder / "run")
    workflow.run("artifact", "--configfile", str(folder / "config.yaml"))
    return workflow


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
    for name in [*tables, "results/scores/lexical/mlneedle.parquet"]:
        assert entities[name]["sha256"] == file_digest(crate / name)
        assert (crate / name).read_bytes() == (packed.directory / name).read_bytes()
    assert (
        results["results/scores/lexical/mlneedle.parquet"] == "#job/score_answers/lexical/mlneedle"
    )
    assert "seconds" in entities["#job/score_answers/lexical/mlneedle"]["description"]
    assert '"backend": "lexical"' in entities["#model/lexical"]["value"]


def test_an_artifact_rebuilds_the_tables_without_a_model(packed, crate, tmp_path) -> None:
    clone = Workflow(copy_workflow(tmp_path / "elsewhere/clone"), tmp_path / "elsewhere/run")
    journal = crate / "journal"
    before = sorted(journal.rglob("*.jsonl"))
    clone.run(
        "--configfile",
        str(crate / "configuration.yaml"),
        "--config",
        f"journal={journal}",
    )
    for kind in ("tables", "scores", "figures"):
        files = [p for p in packed.result(kind).rglob("*") if p.is_file()]
        named = {part for file in files for part in (file.parent.name, file.stem)}
        assert set(CONFIG["run"]["benchmarks"]) <= named
        for file in files:
            again = clone.directory / file.relative_to(packed.directory)
            assert again.read_bytes() == file.read_bytes(), file
    # Whoever had asked a model would have written down what it answered.
    assert sorted(journal.rglob("*.jsonl")) == before
    sealed = [
        json.loads((run.result("provenance.json")).read_text())["seal"] for run in (packed, clone)
    ]
    assert sealed[0]["journal"] == sealed[1]["journal"]


def test_verify_says_what_differs(packed) -> None:
    (folder,) = (packed.directory / "journal/generations").glob("lexical@*")
    with Journal(folder) as journal:
        journal.append([{"key": "later", "text": "x", "finish_reason": "stop"}])
    assert "are as results/provenance.json sealed them" in packed.run("verify").stdout
    table = packed.result("tables/mlneedle/table1.csv")
    old = table.read_bytes()
    table.write_bytes(old.replace(b"1", b"2"))
    failed = packed.run("verify", check=False)
    table.write_bytes(old)
    assert failed.returncode
    assert "results/tables/mlneedle/table1.csv has changed." in failed.stderr
