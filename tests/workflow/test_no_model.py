"""The papers' numbers that need no model, from the sources' own files to the table and the picture."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml

from runs import ROOT, Workflow
from tokenizers_made import tiktoken_cache

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("real")]

# What the mirror has of `presets/no_model.yaml`, as far as that is quick.
PART = {
    "lost_in_the_middle": {
        "tasks": ["closed_book", "oracle", "key_value"],
        "n_pairs": [{"n": 75, "indices": [0, 24, 49, 74]}],
    },
    "oneruler": {"languages": ["ko"]},
    "mlongrr": {"languages": ["so"], "lengths": [2000, 8000]},
}


@pytest.fixture(scope="module")
def numbers(mirror, tmp_path_factory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("no_model")
    own = folder / "own.yaml"
    config = {"mirror": str(mirror), "run": {"benchmarks": [*PART]}, "benchmarks": PART}
    own.write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, folder / "run")
    with pytest.MonkeyPatch.context() as patch:
        tiktoken_cache(mirror, folder, patch)
        preset = str(ROOT / "presets/no_model.yaml")
        workflow.run("--configfile", preset, str(own), "--", "reproduction_without_models")
    assert not workflow.result("generations").exists()
    assert workflow.result("reproduction_without_models.svg").stat().st_size > 5000
    return pd.read_csv(workflow.result("reproduction_without_models.csv"))


@pytest.mark.parametrize(
    ("table", "row", "column", "n"),
    [
        ("table2", "GPT-3.5-Turbo", "", 6),
        ("table4", "GPT-3.5-Turbo", "75/", 3),
        ("fertility", "Somali", "GPT-4", 2),
        ("construction/GPT4o", "Somali", "k/sentences", 8),
        ("table4", "ko", "", 1),
    ],
)
def test_numbers_without_a_model_are_the_papers(
    numbers: pd.DataFrame, table: str, row: str, column: str, n: int
) -> None:
    here = numbers["table"].eq(table) & numbers["row"].eq(row)
    found = numbers[here & numbers["column"].str.contains(column)]
    found = found[found["verdict"] != "cannot tell"]
    assert (len(found), set(found["verdict"])) == (n, {"equals"}), found
