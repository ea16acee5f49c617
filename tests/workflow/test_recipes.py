"""docs/recipes.md as it stands, with a server on loopback in place of `vllm serve`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from http_server import OpenAIServer
from runs import ROOT, Workflow

pytestmark = [pytest.mark.xdist_group("served"), pytest.mark.slow]

PAGE = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```yaml title="(\w+\.yaml)"\n(.*?)^```', PAGE, re.M | re.S))
COMMANDS = re.findall(r"^\.venv/bin/snakemake (.+)$", PAGE, re.M)
ADDRESS = "http://localhost:8000/v1"


class Recipes:
    """The page's files in a folder, and its commands there, against a server."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        self.folder, self.server = folder, server
        self.workflow = Workflow(ROOT, folder / "run")
        for name, text in FILES.items():
            assert name == "beside.yaml" or ADDRESS in text
            own = yaml.safe_load(text.replace(ADDRESS, server.url))
            # One benchmark's questions are enough to see that the command works.
            if "run" in own:
                own["run"] |= {"benchmarks": ["lost_in_the_middle"], "limit": 2}
            (folder / name).write_text(yaml.safe_dump(own), encoding="utf-8")

    def arguments(self, part: str, leave_out: str = "") -> list[str]:
        """The arguments of the only command that contains a text."""
        (command,) = (c for c in COMMANDS if part in c and c.endswith(".yaml"))
        words = [w for w in command.split() if w not in ("--cores", "all", leave_out)]
        return [str(self.folder / word) if word in FILES else word for word in words]

    def requests(self) -> int:
        """How many requests the server has got."""
        return len(self.server.received)


@pytest.fixture(scope="module")
def recipes(tmp_path_factory) -> Iterator[Recipes]:
    """After the page's first run."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    with OpenAIServer() as server:
        made = Recipes(tmp_path_factory.mktemp("recipes"), server)
        made.workflow.run("--configfile", str(made.folder / "served.yaml"))
        yield made


def test_the_served_model_has_scores(recipes) -> None:
    assert "--cores all --configfile served.yaml" in COMMANDS
    table = recipes.workflow.result("tables/lost_in_the_middle/accuracy.csv")
    assert set(pd.read_csv(table)["model"]) == {"served"}
    assert recipes.requests() > 0


def test_scoring_again_sends_no_request(recipes) -> None:
    scores = recipes.workflow.result("scores/served/lost_in_the_middle.parquet")
    before, sent = scores.stat().st_mtime_ns, recipes.requests()
    recipes.workflow.run(*recipes.arguments("--forcerun score_answers"))
    assert scores.stat().st_mtime_ns > before
    assert recipes.requests() == sent


def test_an_adapter_is_compared_with_its_base(recipes) -> None:
    recipes.workflow.run(*recipes.arguments("adapter.yaml"))
    pairs = pd.read_csv(recipes.workflow.result("comparisons/lost_in_the_middle.csv"))
    assert {tuple(pair) for pair in pairs[["first", "second"]].to_numpy()} == {("base", "adapted")}


def test_the_figure_has_the_papers_numbers_beside_the_model(recipes) -> None:
    planned = recipes.arguments("lost_in_the_middle_figure5")
    assert recipes.workflow.would_run(*planned)["generate_answers"] == 1
    # On the sample, without the preset.
    recipes.workflow.run(
        *recipes.arguments("lost_in_the_middle_figure5", "presets/lost_in_the_middle.yaml")
    )
    drawn = pd.read_csv(recipes.workflow.result("figures/lost_in_the_middle/figure5.csv"))
    assert drawn[drawn["model"] == "served"]["published"].notna().any()


def test_costs_are_estimated_without_a_request(recipes) -> None:
    sent = recipes.requests()
    planned = recipes.arguments("estimate")
    assert recipes.workflow.would_run(*planned)["estimate"] == 1
    text = recipes.workflow.run(*recipes.arguments("estimate", "presets/lost_in_the_middle.yaml"))
    assert re.search(r"^served\b", text.stdout + text.stderr, re.M)
    assert recipes.requests() == sent


def test_the_citation_is_that_of_the_citation_file() -> None:
    page = (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```bibtex\n(.*?)^```", page, re.M | re.S)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    fields = dict(re.findall(r"^  (\w+) = \{\{?(.+?)\}?\},$", shown, re.M))
    (author,) = citation["authors"]
    assert fields == {
        "title": citation["title"],
        "author": author["name"],
        "version": citation["version"],
    }


@pytest.mark.parametrize("preset", ["own_questions", "own_passages"])
def test_commands_in_the_headers_of_presets_work(preset: str, tmp_path: Path) -> None:
    file = ROOT / f"presets/{preset}.yaml"
    shown = re.findall(r"^# {3}\S*snakemake (.+?)(?: {2,}.*)?$", file.read_text("utf-8"), re.M)
    assert len(shown) == 2
    for command in shown:
        words = [w for w in command.split() if w not in ("--cores", "all")]
        assert Workflow(ROOT, tmp_path).would_run(*words)
