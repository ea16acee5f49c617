"""perf/own_model.py reads README's and the quick start's files."""

from __future__ import annotations

import yaml

from needlework.planning.config import validated
from own_model import ROOT, files


def test_documented_files_are_found_with_a_port_of_ours() -> None:
    made = files(18080)
    assert "18080" in made["serve.py"] and "8080, 1" not in made["serve.py"].replace("18080", "")
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    mine = yaml.safe_load(made["mine.yaml"])
    config["models"] |= mine["models"]
    config["run"] = mine["run"]
    assert validated(config)["models"]["mine"]["base_url"] == "http://localhost:18080/v1"
