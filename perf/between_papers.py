"""How often the intervals of `snakemake between_papers` hold the truth, in simulated papers.

    python perf/between_papers.py [--runs 20]

Writes perf/between_papers.json. The printed shares are taken as the truth, anywhere in what their
print rounds to. A simulated paper draws answers from them with the printed n, and rounds its shares
as the paper does. `coverage` is the share of simulated intervals that hold the true tau or
difference, over all pairs of models or sides.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf")]

import numpy as np  # noqa: E402

from machine import describe  # noqa: E402
from needlework.results.printed import agreement  # noqa: E402
from needlework.results.printed.agreement import Scores, scores, tau  # noqa: E402
from needlework.results.printed.numbers import labels, table  # noqa: E402
from needlework.seeding import rng  # noqa: E402


def designs() -> Iterator[tuple[str, Scores, Scores]]:
    """Both sides of the comparisons, by kind."""
    known = labels(ROOT / "resources/printed_labels.yaml")
    files = sorted((ROOT / "resources/published").glob("*.csv"))
    numbers = table(files, known)
    heat = numbers[numbers["table"].eq("figure3") & numbers["paper"].eq("oneruler")]
    heat = heat.assign(n=heat["n"].fillna(agreement.ASSUMED_N))
    for _, cells in heat.groupby("length"):
        own = [scores(part, "lang") for _, part in cells.groupby("model")]
        for one, other in combinations(own, 2):
            yield "tau of 26 languages", one, other
    second = numbers[numbers["table"].eq("table2") & numbers["paper"].eq("mlneedle")]
    for model, cells in second.groupby("model"):
        at = 32000 if str(model).startswith("Mistral") else 8000
        whole = scores(heat[heat["length"] == at], "lang")
        for side in ("lang", "haystack_lang"):
            part = scores(cells, side)
            shared = tuple(name for name in part.names if name in whole.names)
            yield "tau of 6 languages", part.only(shared), whole.only(shared)
    for _, cells in heat.groupby("model"):
        ends = [scores(cells[cells["length"] == at], "model") for at in (8000, 32000)]
        yield "difference of lengths", ends[0], ends[1]
    places = numbers[numbers["table"].eq("table6") & numbers["source"].eq("paper")]
    for _, cells in places[places["paper"].eq("lost_in_the_middle")].groupby("model"):
        ends = [scores(cells[cells["column"] == place], "model") for place in ("0", "9")]
        yield "difference of places", ends[0], ends[1]


def simulated(own: Scores, random: np.random.Generator) -> tuple[Scores, Scores]:
    """True shares, and the paper that would be printed of them."""
    half = own.unit / 2
    true = np.clip(own.values + random.uniform(-half, half, own.values.shape), 0, 1)
    drawn = random.binomial(own.n.astype(int), true) / own.n
    printed = np.round(drawn / own.unit) * own.unit
    return own._replace(values=true), own._replace(values=printed)


def coverage(runs: int, every: int = 1) -> dict[str, Any]:
    """By kind: the share of intervals that hold the truth, and how wide they are."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for i, (kind, one, other) in enumerate(list(designs())[::every]):
        # Differences are made in a tenth of the time.
        for run in range(runs if kind.startswith("tau") else 10 * runs):
            random = rng("coverage between papers", i, run)
            (true, first), (truth, second) = simulated(one, random), simulated(other, random)
            if kind.startswith("tau"):
                value = float(tau(true.means(), truth.means()))
                made = agreement.compared_orders(first, second, "coverage", run)
            else:
                value = float(truth.means().mean() - true.means().mean())
                made = agreement.compared_means(first, second, "coverage", run)
            held = made["low"] - 1e-9 <= value <= made["high"] + 1e-9
            found.setdefault(kind, []).append((held, made["high"] - made["low"]))
    return {
        kind: {
            "intervals": len(own),
            "coverage": round(float(np.mean([held for held, _ in own])), 4),
            "width": round(float(np.mean([width for _, width in own])), 4),
        }
        for kind, own in found.items()
    }


def main() -> None:
    """Simulate, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="one design of so many")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    found = coverage(given.runs, given.every)
    made = {"machine": describe(), "runs": given.runs, "coverage": found}
    given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made["coverage"], indent=1))


if __name__ == "__main__":
    main()
