"""Journals of an older version are answers to the same requests: no move, no new name asks again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.utils import update_config

from factories.models import backend_of
from needlework.journal import Journal
from needlework.models.backends.base import Backend, Request
from needlework.models.generation import generate
from needlework.models.request_keys import request_key
from needlework.planning.config import validated
from needlework.prompts.spans import literal

DATA = Path(__file__).resolve().parents[2] / "data/journal_ebf43f2"
KEYS = json.loads((DATA / "keys.json").read_text())


def requests() -> list[Request]:
    rows = json.loads((DATA / "requests.json").read_text(encoding="utf-8"))
    for row in rows:
        row["spans"] = [literal(role, text) for role, text in row["spans"]]
    return [Request(sample=0, documents={}, **row) for row in rows]


def backend(root: Path, name: str, **changes: Any) -> Backend:
    config = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    models = yaml.safe_load((DATA / "models.yaml").read_text(encoding="utf-8"))
    if changes:
        models[name] |= changes
    config["run"]["models"] = ["lexical"]
    update_config(config, {"models": models})
    entry = validated(config)["models"][name]
    return backend_of(entry["backend"], {**entry, "model": name, "journal": "journal"})


def refuse_to_load() -> None:
    raise AssertionError("something is missing in the journal")


@pytest.mark.parametrize("name", ["lexical", "oracle", "empty", "remote"])
def test_records_of_an_older_version_answer_everything(name, root, tmp_path) -> None:
    shutil.copytree(DATA / name, tmp_path / "journal")
    with Journal(tmp_path / "journal") as journal:
        found = generate(requests(), backend(root, name), journal, loaded=refuse_to_load)
    records = [json.loads(line) for line in (DATA / name / "records.jsonl").open(encoding="utf-8")]
    assert sorted(found["text"].to_pylist()) == sorted(record["text"] for record in records)
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["records.jsonl"]


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_models_are_those_of_an_older_version(name, root) -> None:
    own = backend(root, name)
    identity = own.former_identity() or own.identity()
    found = [
        request_key(identity, r.prompt, r.sample, r.max_new_tokens, own.depends_on(r))
        for r in requests()
    ]
    assert found == KEYS[name]


@pytest.mark.parametrize("name", ["remote", "lexical"])
def test_another_temperature_and_a_changed_reader_ask_again(root, tmp_path, monkeypatch, name):
    monkeypatch.setenv("REMOTE_KEY", "not-a-key")
    shutil.copytree(DATA / name, tmp_path / "journal")
    changes = {"sampling": {"temperature": 0.6, "seed": 3}} if name == "remote" else {}
    if not changes:
        digest = "needlework.models.backends.base.module_digest"
        monkeypatch.setattr(digest, lambda _: "another")
    with Journal(tmp_path / "journal") as journal:
        with pytest.raises(AssertionError, match="missing"):
            generate(requests(), backend(root, name, **changes), journal, loaded=refuse_to_load)
