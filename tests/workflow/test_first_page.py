"""The first page of `make demo`, and the run that goes on from there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from needlework.models.selection import Selection
from runs import ROOT, Workflow

FIRST = "config/first.yaml"
# Without the language model, which takes most of the time.
READERS = ["--config", "run={models: [lexical, oracle, empty]}"]


def only(file: str) -> dict[str, Selection]:
    """What SmolLM2 is asked, by benchmark."""
    return yaml.safe_load((ROOT / file).read_text("utf-8"))["models"]["smollm2"]["only"]


def test_the_first_prompts_are_among_the_demos() -> None:
    whole = only("config.yaml")["lost_in_the_middle"]
    for factor, values in only(FIRST)["lost_in_the_middle"].items():
        assert set(values) <= set(whole[factor]), factor


def test_make_demo_makes_the_first_page_first() -> None:
    said = subprocess.run(
        ["make", "--dry-run", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    first, rest = re.findall(r"snakemake --cores all.*", said)
    assert FIRST in first and FIRST not in rest
    # A page that is there is never made again from fewer answers.
    assert "test -e results/index.html" in said[: said.index(first)]


@pytest.mark.slow
def test_what_the_first_page_took_is_kept(tmp_path: Path) -> None:
    workflow = Workflow(ROOT, tmp_path)
    done = workflow.run("--configfile", FIRST, *READERS)
    page = workflow.result("index.html").read_text("utf-8")
    assert "SmolLM2 is answering 165 prompts" in page and "the same command goes on" in page
    left = workflow.would_run(*READERS)
    # One benchmark is built and answered; its prompts and answers stay.
    assert left["generate_answers"] == 12 and left["build_instances"] == 32
    assert workflow.would_run("--configfile", FIRST, *READERS) == {}
    # The terminal has few lines, and the log file has them all.
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) < 40, "\n".join(said)
    assert not re.search("Select jobs|Execute|Finished jobid", "\n".join(said))
    (log, *_) = (tmp_path / ".snakemake/log").glob("*.log")
    assert log.read_text("utf-8").count("Finished jobid") > 30


@pytest.mark.slow
def test_the_last_lines_are_the_answer_to_the_command(tmp_path: Path) -> None:
    workflow = Workflow(ROOT, tmp_path)
    small = {"languages": ["en"], "tasks": ["multi_document_qa"]}
    small["n_documents"] = [{"n": 10, "gold_indices": [0]}]
    run = {"models": ["lexical"], "benchmarks": ["lost_in_the_middle"]}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"run": run, "benchmarks": {"lost_in_the_middle": small}}))

    def says(*targets: str) -> list[str]:
        done = workflow.run(*targets, "--configfile", str(file))
        return (done.stdout + done.stderr).strip().splitlines()

    *_, line, page = says()
    assert page == "Open results/index.html to read the results."
    assert re.fullmatch(
        r"lexical  Lost in the Middle  \d+ \[\d+, \d+\]  n=\d+  best_subspan_em  10 documents  \S+",
        line,
    )
    *_, artifact, export, reproduction = says("artifact", "export", "reproduction")
    assert artifact.startswith("Wrote results/artifact.crate.zip: ")
    assert export.startswith("Wrote results/export: ")
    assert re.match(r"Wrote results/reproduction\.csv, \d+ printed numbers", reproduction)
    # What becomes of requests is not the answer to these.
    for target, answer in (("verify", "sealed them"), ("estimate", "Left to do")):
        said = "\n".join(says(target))
        assert answer in said and "request" not in said.lower(), said
