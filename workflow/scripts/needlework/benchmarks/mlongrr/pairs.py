"""mLongRR's tests of pairs: numbers of needles, languages, models, texts and prompts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.benchmarks.mlongrr.factors import FACTORS
from needlework.benchmarks.mlongrr.rows import by_drawn_metric, first_prompt, first_text
from needlework.results import published
from needlework.results.columns import MCNEMAR, MEASURES
from needlework.results.context import Context, Labels, model_order
from needlework.results.tabulate import counted_models

if TYPE_CHECKING:
    import pandas as pd

ENGLISH_GPT4 = "GPT-4/English"
LABELS = ("kind", "model", "lang", "n_needles", "question", "first", "second", "source")


class Family(NamedTuple):
    """Tests that are corrected together: what is paired, what each is of, and what a pair has in common."""

    column: str
    by: tuple[str, ...]
    same: tuple[str, ...]


_OF_PROMPT = ("lang", "example_id")
FAMILIES = {
    "needles": Family("n_needles", ("model", "question"), _OF_PROMPT),
    "languages": Family("lang", ("model", "n_needles", "question"), ("example_id",)),
    "models": Family("model", ("n_needles", "question"), _OF_PROMPT),
    "texts": Family("haystack", ("model", "lang", "n_needles", "question"), ("example_id",)),
    "prompts": Family("template", ("model", "lang", "n_needles", "question"), ("example_id",)),
}


def in_pairs(rows: pd.DataFrame, run: Context, *kinds: str) -> pd.DataFrame:
    """The second less the first of each pair over the prompts that both answered, with McNemar's test.

    Needles, languages and models are compared in the first text with the first prompt. `p_holm` is
    corrected for all tests of the kind, so controls are in none.
    """
    from needlework.results import cells
    from needlework.results.comparisons import holm

    rows = by_drawn_metric(rows[rows["task"] != "absent"], run)
    rows = rows[counted_models(rows, run)]
    made: list[dict[str, Any]] = []
    for kind in kinds:
        family, asked = FAMILIES[kind], rows
        if kind == "prompts":
            asked = asked[asked["template"].isin([run.run["twin"], "translated"])]
        else:
            asked = first_prompt(asked, run)
        asked = asked if kind == "texts" else first_text(asked, run)
        found = [row for part in _parts(asked, family, run) for row in _tests(*part, family, run)]
        corrected = holm([row["p_mcnemar"] for row in found])
        made += [
            {"kind": kind, **row, "p_holm": p} for row, p in zip(found, corrected, strict=True)
        ]
    columns = [*LABELS, *MEASURES, *MCNEMAR, "p_holm"]
    return cells.frame([{"source": "ours", **row} for row in made], columns)


def _parts(
    rows: pd.DataFrame, family: Family, run: Context
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each combination of `Family.by`, with its labels, in order."""
    if not len(rows):
        return
    parts = dict(iter(rows.groupby(list(family.by))))
    orders = [_ordered(name, set(rows[name]), run) for name in family.by]
    for key in sorted(
        parts, key=lambda key: [o.index(k) for o, k in zip(orders, key, strict=True)]
    ):
        yield dict(zip(family.by, key, strict=True)), parts[key]


def _ordered(name: str, present: Collection[Any], run: Context) -> list[Any]:
    factor = next((factor for factor in FACTORS if factor.name == name), None)
    return factor.sorted(present) if factor else model_order(present, run.run)


def _tests(
    labels: Labels, rows: pd.DataFrame, family: Family, run: Context
) -> Iterator[dict[str, Any]]:
    from needlework.results import cells
    from needlework.results.parts import Table, difference

    name = family.column
    sides = dict(iter(rows.groupby(name)))
    for first, second in combinations(_ordered(name, sides, run), 2):
        one, two = sides[first], sides[second]
        both = cells.paired(one, two, (*family.same, "sample"))
        if len(both):
            ends = {"first": first, "second": second}
            yield {**labels, **ends, **difference(Table(one).all(), Table(two).all(), both)}


def beside_figure1(row: Mapping[str, Any], run: Context) -> dict[str, Any]:
    """The paper's p beside that of a pair of texts: GPT-4 in English, one needle."""
    number = run.find("figure1", ENGLISH_GPT4, "mcnemar_p")
    theirs = number if (row["lang"], row["n_needles"]) == ("en", 1) else None
    said = published.equal(row["p_mcnemar"], theirs, 1, _not_figure1(row, run))
    said = "differs: p_mcnemar" if said == "differs" else said
    return {
        "published_p_mcnemar": theirs and theirs.value,
        "published_cell_p_mcnemar": theirs and theirs.cell,
        "comparison": said,
    }


def _not_figure1(row: Mapping[str, Any], run: Context) -> str | None:
    """What sets a pair apart from the paper's."""
    setup, decoding = run.run["setup"], run.run["decoding"][row["model"]]
    why = {
        "another model than GPT-4": run.paper_name(row["model"]) != "GPT-4",
        "other texts": {row["first"], row["second"]} != {"mlongrr_articles", "paul_graham_essays"},
        **{
            f"{key} is {setup[key]}, in the paper {value}": setup[key] != value
            for key, value in {"data": "mlongrr", "examples": 1, "max_new_tokens": 50}.items()
        },
        "other lengths or depths": row["n"] != 25,
        f"decoding is {decoding}, in the paper the endpoint's own": decoding
        != "the endpoint's own",
    }
    return next((text for text, holds in why.items() if holds), None)
