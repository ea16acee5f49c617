"""The benchmark that docs/adding-a-benchmark.md builds, built and run from that page."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest

from runs import ROOT, Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("added")]

PAGE = ROOT / "docs/adding-a-benchmark.md"
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def added(tmp_path_factory) -> Workflow:
    folder = tmp_path_factory.mktemp("added")
    root = copy_workflow(folder / "copy")
    for title, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        name, _, place = title.partition(", ")
        path = folder / name if name == "open_book.yaml" else root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if place else ""
        path.write_text(before + text, encoding="utf-8")
    workflow = Workflow(root, folder / "run")
    workflow.run("--configfile", str(folder / "open_book.yaml"))
    return workflow


def test_the_example_is_small() -> None:
    blocks = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    code, schema = (text for title, text in blocks.items() if title.startswith("workflow/"))
    lines = [*code.splitlines(), *schema.splitlines()]
    assert len(list(filter(str.strip, lines))) <= 110


def test_the_example_passes_the_linter(added) -> None:
    package = added.root / "workflow/scripts/needlework/benchmarks/open_book.py"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", package],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_every_cell_of_the_table_is_there(added) -> None:
    table = pd.read_csv(added.result("tables/open_book/accuracy.csv"))
    cells = table.set_index(["model", "lang", "place"])["value"]
    assert set(table["lang"]) == {"all", "en", "hi"}
    assert (cells["oracle"] == 1.0).all()
    assert (cells["empty"] == 0.0).all()
    assert len(cells) == 3 * 3 * 2


def test_table_figure_and_prompts_are_written(added) -> None:
    assert r"\toprule" in added.result("tables/open_book/accuracy.tex").read_text()
    assert added.result("figures/open_book/places.png").stat().st_size > 5_000
    prompts = pd.read_csv(added.result("tables/open_book/prompts-words.csv"))
    asked = {
        lang: pq.read_metadata(added.result(f"corpora/sample_questions/{lang}.parquet")).num_rows
        for lang in ("en", "hi")
    }
    assert asked["en"] > asked["hi"] > 0
    assert prompts.groupby("lang")["prompts"].agg(list).to_dict() == {
        lang: [n, n] for lang, n in asked.items()
    }


def test_its_results_are_targets(added) -> None:
    config = str(added.directory.parent / "open_book.yaml")
    assert added.would_run("open_book_accuracy", "open_book_places", "--configfile", config) == {}
