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
# Of the models one reader: the language model takes most of the time.
READER = ["--config", "run={models: [lexical]}"]


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
    done = workflow.run("--configfile", FIRST, *READER)
    page = workflow.result("index.html").read_text("utf-8")
    assert "SmolLM2 is answering 165 prompts" in page and "the same command goes on" in page
    left = workflow.would_run(*READER)
    # One benchmark is built and answered; its prompts and answers stay.
    assert left["generate_answers"] == 4 and left["build_instances"] == 32
    assert workflow.would_run("--configfile", FIRST, *READER) == {}
    # The terminal has few lines, and the log file has them all.
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) < 40, "\n".join(said)
    assert not re.search("Select jobs|Execute|Finished jobid", "\n".join(said))
    (log, *_) = (tmp_path / ".snakemake/log").glob("*.log")
    assert log.read_text("utf-8").count("Finished jobid") > 25
