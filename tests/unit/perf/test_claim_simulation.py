"""What tests claim: the committed simulation of pages, and a page of it anew."""

from __future__ import annotations

import json
from pathlib import Path

import claims as simulation

RESULT = json.loads(Path(simulation.__file__).with_suffix(".json").read_text("utf-8"))


def test_pages_of_equal_models_seldom_have_a_claim() -> None:
    """A false one in a share whose 95% interval reaches 5%, of 500 pages of each kind."""
    assert RESULT["pages"] >= 500
    assert {page["questions"] for page in RESULT["found"]} >= {47, 300, 2655}
    assert all(page["low"] <= simulation.LEVEL for page in RESULT["found"])
    assert all(page["comparisons"] >= 27 for page in RESULT["found"])


def test_a_page_is_simulated_as_the_committed_ones() -> None:
    found = simulation.false_claims(simulation.PAGES[0], 2)
    committed = RESULT["found"][0]
    names = [*simulation.Page._fields, "comparisons"]
    assert {name: found[name] for name in names} == {name: committed[name] for name in names}
