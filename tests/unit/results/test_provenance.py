"""What results were made from: read back from files, from jobs' records and from git."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from needlework.given import given as blocks
from needlework.journal import Journal
from needlework.models.backends.base import Backend, Request
from needlework.models.job_records import SHOWN, software, visible_gpus, write_job_record
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.preflight.secrets import key_variables
from needlework.prompts.spans import literal
from needlework.records import GENERATIONS, file_digest, write_table
from needlework.results.sealed import clone as version
from needlework.results.sealed import provenance
from needlework.services.endpoints import PRIVATE_URL

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
CANARY = "sk-canary-0123456789"
ONE = pa.table({"x": [1]})


class Parrot(Backend):
    """A backend with a chat template."""

    def identity(self) -> dict[str, Any]:
        return {"backend": "parrot", **self.config}

    def as_sent(self, prompt: str) -> tuple[str, str]:
        return "in a template", f"<user>{prompt}</user>"

    def generate(self, batch: Any) -> Any:
        raise NotImplementedError


def request(text: str = "Who?") -> Request:
    return Request("i1", 0, "t", [literal("question", text)], ["x"], 4, 1, {})


def fake_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """An `nvidia-smi` that is the first on the PATH."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


# What a job writes down


def test_a_job_is_remembered_once(tmp_path) -> None:
    for revision in ("1", "1", "2"):
        write_job_record(tmp_path, "b", Parrot({"revision": revision}), request("Wh\ud800?"))
    found = list(Journal(tmp_path).load().values())
    assert [record["identity"]["revision"] for record in found] == ["1", "2"]
    # Half a character is no reason to fail.
    assert found[0]["first_prompt"]["text"] == "<user>Wh??</user>"
    assert found[0]["first_prompt"]["form"] == "in a template"
    assert found[0]["gpus"] == []
    write_job_record(tmp_path, "other", Parrot({"revision": "1"}))
    assert len(Journal(tmp_path).load()) == 3


def test_of_a_long_prompt_both_ends_are_shown(tmp_path) -> None:
    text = "a" * SHOWN + "middle" * 5000 + "z" * SHOWN
    write_job_record(tmp_path, "b", Parrot({}), request(text))
    (record,) = Journal(tmp_path).load().values()
    first = record["first_prompt"]
    assert first["characters"] == len(text) + 13
    assert len(first["text"]) < 2 * SHOWN + 30
    assert first["text"].startswith("<user>aaa") and first["text"].endswith("zzz</user>")
    assert f"[... {len(text) + 13 - 2 * SHOWN} ...]" in first["text"]


def test_software_is_what_is_installed() -> None:
    found = software()
    assert found["packages"]["pyarrow"] == pa.__version__
    assert found["packages"]["pytest"] == pytest.__version__
    assert "vllm" not in found["packages"], "it is not in this environment"


def test_gpus_are_the_driver_s(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    line = "NVIDIA H100 80GB HBM3, 81559 MiB, 550.54.15"
    fake_smi(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; echo "{line}"; echo "{line}"')
    one = {"name": "NVIDIA H100 80GB HBM3", "memory": "81559 MiB", "driver": "550.54.15"}
    assert visible_gpus() == [one, one]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,2")
    visible_gpus()
    assert "--id=0,2" in (tmp_path / "asked").read_text()
    fake_smi(tmp_path, monkeypatch, "exit 9")
    assert visible_gpus() == []
    monkeypatch.setenv("PATH", "")
    assert visible_gpus() == []


# The configuration


def configured() -> dict[str, Any]:
    config = copy.deepcopy(DEFAULT)
    unused = {"backend": "openai", "name": "x", "tokenizer": "words"}
    config["models"]["unused"] = unused | {"context": 1, "base_url": f"https://{CANARY}@host/v1"}
    config["models"]["used"] = unused | {
        **{"context": 131072, "key_env": "A_VARIABLE"},
        "base_url": f"https://user:{CANARY}@host:8000/v1?key={CANARY}",
    }
    config["run"] = {"models": ["lexical", "used"], "benchmarks": ["mlneedle"]}
    config["mirror"] = "/some/place"
    return blocks(validated(config))


def test_the_recorded_configuration_holds_no_secret() -> None:
    found = effective_config(configured())
    text = json.dumps(found)
    assert not any(secret in text for secret in (CANARY, "A_VARIABLE", "/some/place", "host:8000"))
    assert found["models"]["used"]["base_url"] == PRIVATE_URL
    assert {name: list(found[name]) for name in ("models", "tokenizers", "embedders")} == {
        **{"models": ["lexical", "used"], "tokenizers": ["words"], "embedders": ["ngram"]}
    }
    assert list(found["benchmarks"]) == ["mlneedle"]
    assert found["benchmarks"]["mlneedle"]["lengths"] == [512, 1024, 2048]
    assert {"A_VARIABLE", "HF_TOKEN", "OPENAI_API_KEY"} <= set(key_variables(configured()))


def test_the_recorded_configuration_has_used_corpora_and_templates() -> None:
    config = configured()
    entry = {"kind": "passages", "columns": {"text": "text"}}
    config["corpora"] = dict.fromkeys(("mine", "contexts", "unused"), entry)
    config["benchmarks"]["mlneedle"]["haystack"] = "mine"
    config["benchmarks"]["mlneedle"]["needles"] = "contexts_passages"
    assert list(effective_config(config)["corpora"]) == ["mine", "contexts"]
    # Chat templates of the workflow are named as in any clone.
    path = "resources/chat_templates/vicuna.jinja"
    for given, recorded in ((str(ROOT / path), path), ("/own/x.jinja", "/own/x.jinja")):
        config["models"]["used"]["chat_template"] = given
        assert effective_config(config)["models"]["used"]["chat_template"] == recorded


# The workflow


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """A repository with the workflow's folders in its root."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    folder = tmp_path / "clone"
    (folder / "workflow").mkdir(parents=True)
    (folder / "workflow/module.py").write_text("a = 1\n")
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "m"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    monkeypatch.setattr(version, "ROOT", folder)
    return folder


def test_a_clone_has_a_commit(clone, monkeypatch) -> None:
    """A copy inside another repository has none, nor is there one without git."""
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=clone, text=True).strip()
    (clone / "results.json").write_text("made by a run")
    found = version.workflow()
    assert (found["commit"], found["modified"]) == (head, False)
    (clone / "workflow/new.py").write_text("b = 2\n")
    assert version.workflow()["modified"] is True
    monkeypatch.setattr(version, "ROOT", clone / "workflow")
    assert version.workflow()["commit"] is None
    monkeypatch.setattr(version, "ROOT", clone)
    monkeypatch.setenv("PATH", "")
    assert version.workflow()["commit"] is None and version.workflow()["version"]


def test_a_hook_of_another_repository_changes_no_commit(clone, tmp_path, monkeypatch) -> None:
    found = version.workflow()
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    for name, value in (("GIT_DIR", other / ".git"), ("GIT_INDEX_FILE", other / "index")):
        monkeypatch.setenv(name, str(value))
        assert found["commit"] and version.workflow() == found
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert version.workflow() == found


def test_a_clone_of_another_user_has_its_commit(clone, tmp_path, monkeypatch) -> None:
    found = version.workflow()
    # A git to which every clone is another user's.
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    refused = subprocess.run(["git", "status"], cwd=clone, capture_output=True, text=True)
    assert "dubious ownership" in refused.stderr
    assert found["commit"] and version.workflow() == found


# Files, answers, times


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """A run's folder: a source, a corpus, instances, a model's answers."""
    monkeypatch.chdir(tmp_path)
    source = Path("results/sources/mmarco/hindi_collection.tsv")
    source.parent.mkdir(parents=True)
    source.write_text("1\tx\n")
    record = {
        **{"id": f"mmarco/{source.name}", "url": "/mirror/x.tsv", "via": "mirror", "bytes": 4},
        **{"read": "prefix", "sha256": file_digest(source), "verified": "nothing"},
        "published_sha256": "f" * 64,
    }
    Path(f"{source}.json").write_text(json.dumps(record))
    write_table(ONE, "results/corpora/mmarco/hi.parquet", inputs=[source])
    array = Path("results/distractors/b/hi.npy")
    array.parent.mkdir(parents=True)
    array.write_bytes(b"")
    inputs = ["results/corpora/mmarco/hi.parquet", array, ROOT / "config.yaml"]
    write_table(ONE, "results/instances/b/t/s.parquet", inputs=inputs)
    array.unlink()
    empty = dict.fromkeys(GENERATIONS.names)
    rows = [
        empty | {"request_key": str(n), "instance_id": str(n), "sample": 0, "text": "x"}
        | {"finish_reason": reason, "prompt_tokens": 100, "cached_tokens": None if n else 64}
        for n, reason in enumerate(["stop", "stop", "error", "length"])
    ]  # fmt: skip
    write_table(
        pa.Table.from_pylist(rows, schema=GENERATIONS),
        "results/generations/m/b.parquet",
        inputs=["results/instances/b/t/s.parquet"],
        notes={"identity": {"backend": "parrot", "revision": "1"}},
    )
    return tmp_path


def collected() -> dict[str, Any]:
    return provenance.collect(
        {"run": {}},
        generations={"m": {"b": "results/generations/m/b.parquet"}},
        scores=[],
        results=[],
        registry=ROOT / "resources/sources.yaml",
        journal="journal",
        benchmarks="benchmarks",
    )


def test_files_are_traced_to_their_sources(run) -> None:
    found = collected()
    name = "results/sources/mmarco/hindi_collection.tsv"
    # A changed file is not what was read.
    (run / name).write_text("2\ty\n")
    assert found["files"] == {
        "config.yaml": file_digest(ROOT / "config.yaml"),
        name: json.loads(Path(f"{name}.json").read_text())["sha256"],
    }
    (source,) = found["sources"]
    assert source["sha256"] == found["files"][name] == collected()["sources"][0]["sha256"]
    assert (source["id"], source["read"]) == ("mmarco/hindi_collection.tsv", "prefix")
    assert source["revision"] and source["licence"]


def test_files_of_the_user_are_all_named(run, tmp_path_factory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    files = [outside / name for name in ("a/answers.parquet", "b/answers.parquet", "b/book.txt")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(str(file))
    write_table(ONE, "results/made.parquet", inputs=files)
    found = provenance.made_from(["results/made.parquet"])
    assert sorted(found.values()) == sorted(map(file_digest, files))
    assert {name.split("@")[0] for name in found} == {"answers.parquet", "book.txt"}
    # Also through a table of the run.
    pq.write_table(pa.table({"text": ["a"]}), "data.parquet")
    write_table(ONE, "results/corpus.parquet", inputs=["data.parquet"])
    write_table(ONE, "results/made.parquet", inputs=["results/corpus.parquet"])
    found = provenance.made_from(["results/made.parquet"])
    assert found == {"data.parquet": file_digest("data.parquet")}


def test_answers_are_counted_and_their_jobs_named(run) -> None:
    part = collected()["models"]["m"]["benchmarks"]["b"]
    # What was not written down is not invented.
    assert (part["first_prompt"], part["ran_on"]) == (None, [])
    model = Parrot({"revision": "1"})
    write_job_record("journal/jobs/m", "b", model, request("first"))
    write_job_record("journal/jobs/m", "b", Parrot({"revision": "0"}), request("another model's"))
    write_job_record("journal/jobs/m", "other", model, request("another benchmark's"))
    found = collected()["models"]["m"]
    assert found["identity"] == {"backend": "parrot", "revision": "1"}
    part = found["benchmarks"]["b"]
    assert (part["answers"], part["ended"]) == (4, {"stop": 2, "error": 1, "length": 1})
    counted = {"prompt_tokens": 400, "cached_tokens": 64}
    assert part["tokens"] == counted | dict.fromkeys(("completion_tokens", "reasoning_tokens"))
    assert part["first_prompt"]["text"] == "<user>first</user>"
    assert [job["gpus"] for job in part["ran_on"]] == [[]]
    assert part["ran_on"][0]["software"] == software()


def test_answers_from_two_machines_name_both(run, tmp_path, monkeypatch) -> None:
    model = Parrot({"revision": "1"})
    write_job_record("journal/jobs/m", "b", model, request("first"), on_gpus=True)
    (tmp_path / "bin").mkdir()
    fake_smi(tmp_path / "bin", monkeypatch, 'echo "NVIDIA H200, 1 MiB, 1"')
    write_job_record("journal/jobs/m", "b", model, request("first"), on_gpus=True)
    ran_on = collected()["models"]["m"]["benchmarks"]["b"]["ran_on"]
    assert sorted(len(job["gpus"]) for job in ran_on) == [0, 1]


def test_times_are_snakemake_s(run) -> None:
    head = "s\th:m:s\tmax_rss\tcpu_time\n"
    Path("benchmarks/generate_answers/m").mkdir(parents=True)
    for name, text in {
        "generate_answers/m/b": f"{head}12.5\t0:00:12\t148.48\t3.0\n",
        "provenance": f"{head}0.1\t0:00:00\t-\t0\n",
        "empty": "",
    }.items():
        Path(f"benchmarks/{name}.tsv").write_text(text)
    assert collected()["jobs"] == {
        "generate_answers/m/b": {"seconds": 12.5, "memory_mib": 148.48},
        "provenance": {"seconds": 0.1, "memory_mib": None},
    }


def test_it_is_the_same_each_time_and_holds_no_key(run) -> None:
    odd = 'key-with-"quotes"-ü'
    write_job_record(
        "journal/jobs/m", "b", Parrot({"revision": "1"}), request(f"{CANARY} {odd} short")
    )
    for name in ("a.json", "b.json"):
        provenance.write(collected(), name, [CANARY, odd, "", "short"])
    text = Path("a.json").read_text(encoding="utf-8")
    assert text == Path("b.json").read_text(encoding="utf-8")
    assert CANARY not in text and odd not in text and "quotes" not in text
    assert json.loads(text)["models"]["m"]["benchmarks"]["b"]["first_prompt"]["text"] == (
        "<user>*** *** short</user>"
    )
    assert str(run) not in text
    assert not list(run.glob("*.part"))
