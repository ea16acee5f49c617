"""In how many pages of equal models a test claims a difference that is not there, and what it finds.

    python perf/claims.py [--pages 500]

Writes perf/claims.json. Each page has a benchmark of two lengths, three depths and, for 47 questions, three
languages: every comparison of `results.numbers.claims`, along curves and between models, in one family. A
question has its own chance of a right answer, from a beta distribution with the mean `share`; `icc` is the
correlation of two of its prompts. `apart`: each of three lengths asks other questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf")]

import pandas as pd  # noqa: E402

from machine import describe, measured  # noqa: E402
from needlework.factor import Factor  # noqa: E402
from needlework.results import published  # noqa: E402
from needlework.results.cards.card import Card, CardPart  # noqa: E402
from needlework.results.numbers.claims import claims, comparison_rows, models_compared  # noqa: E402
from needlework.results.numbers.curves import curves  # noqa: E402
from needlework.results.numbers.means import KEYS  # noqa: E402
from needlework.results.numbers.tables import frame  # noqa: E402
from needlework.results.result import Context  # noqa: E402
from needlework.results.stats import clopper_pearson  # noqa: E402
from needlework.seeding import rng  # noqa: E402

MODELS = tuple("abcdef")
HELD = ("lang", "length", "depth")
CARD = Card(
    (
        CardPart(
            lambda rows, run: rows,
            held=HELD,
            length=Factor("length", "int32", label="tokens"),
            depth=Factor("depth", "double"),
            language=Factor("lang"),
        ),
    ),
    asked_in=lambda rows, run: rows["lang"],
)
NOTHING = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], [], []], names=KEYS))
# The share of false pages whose 95% interval must not lie above.
LEVEL = 0.05


class Page(NamedTuple):
    """The questions of a page, the share of right answers, and how alike a question's prompts are."""

    questions: int
    share: float
    icc: float
    apart: bool = False


PAGES = (
    Page(47, 0.5, 0.4),
    Page(47, 0.9, 0.1),
    Page(47, 0.8, 0.4, apart=True),
    Page(300, 0.7, 0.4),
    Page(2655, 0.6, 0.4),
)


def asked(page: Page) -> pd.DataFrame:
    """The rows of one model, without answers."""
    langs = ("en", "hi", "sw") if page.questions < 100 else ("en",)
    lengths = (1000, 1500, 2000) if page.apart else (1000, 2000)
    rows = pd.DataFrame(
        [
            (i, lang, length, depth)
            for i in range(page.questions)
            for lang in langs
            for place, length in enumerate(lengths)
            for depth in (0.0, 0.5, 1.0)
            if not page.apart or i % 3 == place
        ],
        columns=["question", *HELD],
    )
    names = rows[list(HELD)].astype(str).agg("-".join, axis=1)
    rows["example_id"] = "q" + rows["question"].astype(str)
    rows["instance_id"] = rows["example_id"] + "-" + names
    return rows.assign(sample=0, metric="m", task="find", finish_reason="stop")


def false_claims(page: Page, pages: int) -> dict[str, Any]:
    """Of so many pages, those with a claim, and the interval of their share."""
    one = asked(page)
    rows = pd.concat([one.assign(model=model) for model in MODELS], ignore_index=True)
    generator, size = rng("claims", *page), 1 / page.icc - 1
    false, comparisons = 0, 0
    for _ in range(pages):
        chances = generator.beta(page.share * size, (1 - page.share) * size, page.questions)
        right = generator.random(len(rows)) < chances[rows["question"].to_numpy()]
        answered = rows.assign(value=right.astype(float))
        run = Context(published.none(), {})
        found = [
            row
            for curve in curves("b", CARD, answered, NOTHING, run, MODELS)
            for row in comparison_rows(curve)
        ]
        found += models_compared({"b": answered}, {"b": list(HELD)}, MODELS)
        comparisons = len(found)
        false += bool(claims(frame("comparisons", found))["shown"].any())
    low, high = clopper_pearson(false / pages, pages)
    ends = {"low": round(low, 4), "high": round(high, 4)}
    return {**page._asdict(), "comparisons": comparisons, "false": round(false / pages, 4), **ends}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    with measured() as took:
        with ProcessPoolExecutor() as processes:
            # The largest pages first.
            simulate = partial(false_claims, pages=given.pages)
            found = list(processes.map(simulate, PAGES[::-1]))[::-1]
    result = {"pages": given.pages, "found": found, "took": took, "machine": describe()}
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))
    if any(one["low"] > LEVEL for one in found):
        sys.exit(f"more than {LEVEL:.0%} of pages claim a difference that is not there")


if __name__ == "__main__":
    main()
