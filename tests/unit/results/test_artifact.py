"""The seal over a run, and what of it goes into an artifact."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from needlework.data.published_files import load_registry
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import generate
from needlework.prompts.spans import literal
from needlework.records import GENERATIONS, ROOT, file_digest, write_table
from needlework.results.sealed import artifact
from needlework.results.sealed.artifact import RulePaths, jobs_of, withheld, write_artifact
from needlework.results.sealed.provenance import seal, unsealed, used_records
from needlework.services.endpoints import PRIVATE_URL
from rocrate_cache import errors

GENERATED = "results/generations/m/b.parquet"


@pytest.fixture
def run(tmp_path, monkeypatch) -> dict:
    """A folder with a table, two answers of which one failed, and a journal that holds more."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"request_key": "k1", "text": "Ada", "finish_reason": "stop"},
        {"request_key": "k2", "text": "", "finish_reason": "error"},
    ]
    write_table(pa.Table.from_pylist(rows, schema=GENERATIONS), GENERATED)
    Path("results/tables").mkdir()
    Path("results/tables/a.csv").write_text("value\n1.0\n")
    with Journal("journal/generations/m") as journal:
        journal.append(
            [
                # An answer that a limit cut was asked again: the second is the one that was used.
                {"key": "k1", "text": "Ad", "finish_reason": "length"},
                {"key": "k1", "text": "Ada", "finish_reason": "stop"},
                {"key": "of another run", "text": "x", "finish_reason": "stop"},
            ]
        )
    sealed = seal(["results/tables/a.csv", GENERATED], {"m": {"b": GENERATED}}, "journal")
    return {"seal": sealed}


def test_only_records_that_were_used_are_sealed(run) -> None:
    """So a shared journal may grow."""
    assert unsealed(run, ".", "journal") == []
    assert run["seal"]["journal"]["m"]["records"] == 1
    assert [r["text"] for r in used_records("journal/generations/m", [GENERATED])] == ["Ada"]
    with Journal("journal/generations/m") as journal:
        journal.append([{"key": "new", "text": "y", "finish_reason": "stop"}])
    assert unsealed(json.loads(json.dumps(run)), ".", "journal") == []


class Thinking(Backend):
    """Answers with what it is asked; `former` is what its older records call it."""

    former: str | None = None

    def identity(self) -> dict[str, object]:
        return {"backend": "new" if self.former else "old"}

    def former_identity(self) -> dict[str, object] | None:
        return {"backend": self.former} if self.former else None

    def generate(self, batch: Sequence[Request]) -> list[Answer]:
        special = ("<|end|>",)
        return [
            Answer(text := request.prompt, "stop", whole=f"{text}<|end|>", special=special)
            for request in batch
        ]


@pytest.mark.parametrize("former", [None, "old"])
def test_records_with_reasoning_and_of_old_keys_are_used(tmp_path, former) -> None:
    texts = ["Ada", "<think>hm</think>Ada", "<think>is cut"]
    requests = [
        Request(f"i{i}", 0, "exact", [literal("question", text)], ["x"], 8, 1, {})
        for i, text in enumerate(texts)
    ]
    if former:
        with Journal(tmp_path / "g") as journal:
            generate(requests, Thinking({}), journal)
    model = Thinking({})
    model.former = former
    with Journal(tmp_path / "g") as journal:
        table = generate(requests, model, journal)
    assert table["text"].to_pylist() == ["Ada", "Ada", ""]
    write_table(table, tmp_path / "g.parquet")
    assert len(list(used_records(tmp_path / "g", [tmp_path / "g.parquet"]))) == len(texts)


def test_an_answer_without_a_record_is_warned_of(tmp_path, caplog) -> None:
    rows = [{"request_key": "k", "text": "Ada", "finish_reason": "stop"}]
    write_table(pa.Table.from_pylist(rows, schema=GENERATIONS), tmp_path / "g.parquet")
    assert list(used_records(tmp_path / "g", [tmp_path / "g.parquet"])) == []
    assert "lacks 1 of the answers that were used" in caplog.text


def test_what_differs_from_the_seal_is_named(run) -> None:
    (file,) = Path("journal/generations/m").glob("*.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"Ada"' not in line))
    lost = "The journal of m holds 0 of the 1 answers that were used."
    assert unsealed(run, ".", "journal") == [lost]
    Path("results/tables/a.csv").write_text("value\n0.9\n")
    Path(GENERATED).unlink()
    found = unsealed(run, ".", "journal")
    assert found[:2] == [f"{GENERATED} is missing.", "results/tables/a.csv has changed."]
    with pytest.raises(UserError, match="holds no seal"):
        unsealed({}, ".", "journal")


RULES = [
    RulePaths(
        "score_answers",
        ["results/scores/{model}/{benchmark}.parquet"],
        "benchmarks/score_answers/{model}/{benchmark}.tsv",
    ),
    RulePaths("tables", ["results/tables/b/t1.csv", "results/tables/b/t2.csv"], "benchmarks/t.tsv"),
    RulePaths("explorer", ["results/explorer"]),
]
JOBS = [
    ("explorer", None, ("results/explorer/data/documents-0.js",)),
    ("score_answers", "score_answers/m/b", ("results/scores/m/b.parquet",)),
    ("score_answers", "score_answers/n/b", ("results/scores/n/b.parquet",)),
    ("tables", "t", ("results/tables/b/t1.csv", "results/tables/b/t2.csv")),
]


def test_files_are_given_to_the_jobs_that_wrote_them() -> None:
    paths = ["elsewhere.txt", *(path for *_, outputs in JOBS for path in outputs)]
    assert [(job.rule, job.name, job.outputs) for job in jobs_of(paths, RULES)] == JOBS


def test_only_texts_under_plainly_free_licences_go_along() -> None:
    """None of the user's own data."""
    for licence in ("CC-BY-SA-3.0", "MIT"):
        assert withheld({"sources": [{"id": "mlqa/data.zip", "licence": licence}]}) == []
    other = "CC-BY-SA-3.0 for the text; the repository that publishes it is CC-BY-NC-4.0."
    for licence in ("CC-BY-NC-4.0", other, "none stated"):
        provenance = {"sources": [{"id": "mlqa/data.zip", "licence": licence}]}
        assert withheld(provenance) == [f"mlqa ({licence})"]
    for configuration, key in (
        ({"corpora": {"tickets": {"kind": "texts"}}}, "corpora.tickets"),
        ({"sources": {"mlongrr": {"folder": "texts"}}}, "sources.mlongrr.folder"),
        ({"benchmarks": {"m4le": {"folder": "raw_data"}}}, "benchmarks.m4le.folder"),
    ):
        found = withheld({"configuration": configuration, "sources": []})
        assert found == [f"{key} (data of the user's own)"]


def test_an_artifact_references_sources_without_their_bytes(run, tmp_path) -> None:
    """A mirror's address is private, and the licence may forbid the text."""
    registry = ROOT / "resources/sources.yaml"
    own = load_registry(registry)["mmarco"]
    private = tmp_path / "mirror/collection.tsv"
    private.parent.mkdir()
    private.write_text("SECRET TEXT")
    source = {"id": own.files[0].id, "url": str(private), "sha256": file_digest(private)}
    source |= {"licence": own.licence, "revision": own.revision}
    prompt = {"sha256": "0", "text": "SECRET TEXT"}
    models = {"m": {"identity": {"backend": "x"}, "benchmarks": {"b": {"first_prompt": prompt}}}}
    # Each model has its own records, not the last alone.
    models["another"] = {"identity": {"backend": "y"}, "benchmarks": {}}
    provenance = {
        "workflow": {"version": "0.1.0", "commit": None, "modified": None},
        "configuration": {"run": {"models": ["m"], "benchmarks": ["b"]}},
        "software": {"packages": {"snakemake": "9"}},
        **{"sources": [source], "models": models, **run},
    }
    with Journal("journal/jobs/m") as journal:
        journal.append([{"key": "j", "identity": {"backend": "x"}, "first_prompt": prompt}])
    corpus = Path("results/corpora/c/en.parquet")
    corpus.parent.mkdir(parents=True)
    corpus.write_text("SECRET TEXT")
    Path("results/provenance.json").write_text(json.dumps(provenance))
    write_artifact("a.zip", "results/provenance.json", RULES, registry=registry, journal="journal")
    with zipfile.ZipFile("a.zip") as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    journals = {f"journal/{kind}/m/artifact.jsonl" for kind in ("generations", "jobs")}
    assert {"results/tables/a.csv", *journals} <= set(inside)
    assert not [name for name, content in inside.items() if b"SECRET TEXT" in content]
    metadata = inside["ro-crate-metadata.json"].decode()
    assert str(private) not in metadata
    (entity,) = [e for e in json.loads(metadata)["@graph"] if e["@id"] == own.files[0].url]
    assert entity["sha256"] == source["sha256"]
    assert "mmarco (" in metadata and "left out" in metadata
    assert errors(Path("a.zip"), tmp_path) == []


def test_the_workflows_configuration_is_packed_without_private_addresses(tmp_path) -> None:
    own = tmp_path / "config.yaml"
    text = "a: {base_url: http://gpu:8000/v1, x: 1}\nb:\n  base_url: 'http://10.0.0.1/v1'  # mine\n"
    text += 'd: {args: {endpoint: "https://box.corp/v1?key=secret99", region: x}}\n'
    own.write_text(f"{text}c: {{base_url: https://api.openai.com/v1}}\n")
    shown = artifact._without_addresses(own, tmp_path).read_text()
    assert "gpu" not in shown and "10.0.0.1" not in shown and "https://api.openai.com/v1}" in shown
    assert yaml.safe_load(shown)["d"] == {"args": {"endpoint": PRIVATE_URL, "region": "x"}}
    assert yaml.safe_load(shown)["a"] == {"base_url": PRIVATE_URL, "x": 1}
    own.write_text("a: {base_url: https://api.openai.com/v1}\n")
    assert artifact._without_addresses(own, tmp_path) == own
