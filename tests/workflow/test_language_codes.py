"""A language of the user's own, whatever its code, has all its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from runs import ROOT, Workflow

CODE = "hyw1"


def test_the_rules_take_every_code_that_the_configuration_takes(tmp_path: Path) -> None:
    """A dry run up to the prompts: none of their files' names is refused."""
    folder = tmp_path / "own"
    shutil.copytree(ROOT / "resources/sample/oneruler/ru", folder / CODE)
    (folder / "nouns.tsv").write_text(f"{CODE}\n")
    own = {"data": "oneruler", "languages": [CODE], "none_words": {CODE: ["none"]}}
    config = {
        "run": {"models": ["lexical"], "benchmarks": ["oneruler"]},
        "sources": {"oneruler": {"folder": str(folder)}},
        "benchmarks": {"oneruler": own | {"lengths": [512], "comparisons": {}}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, tmp_path / "run")
    target = f"results/instances/oneruler/words/{CODE}-{CODE}.parquet"
    would = workflow.would_run(target, "--configfile", str(tmp_path / "mine.yaml"))
    assert would == {"read_corpus": 4, "build_instances": 1}
