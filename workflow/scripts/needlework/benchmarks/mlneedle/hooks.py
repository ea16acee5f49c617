"""What the descriptions of MLNeedle's results cannot say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework import seeding
from needlework.benchmarks.columns import COMPARISON, MEASURES
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.mlneedle.factors import NEEDLE, QUESTION, RESOURCES, RETRIEVAL
from needlework.results import cells, paper, stats
from needlework.results.context import Cell, Context, model_order
from needlework.results.parts import Part, Table

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.result import Paper, Place, View

# Greedy decoding is the ablation of Table 4.
GREEDY_ROW = " (greedy)"
# Figure 5: sizes of the growing sample (paper, appendix E.2).
FIRST_SIZE, STEP = 100, 500
# Figure 8 of the paper shows two lengths; a run that has neither gets all of its own.
DECODING_LENGTHS = (8192, 32768)


def nearest_variant(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows whose question language and retrieval are nearest to the paper's."""
    long = rows[rows["length"] > 0]
    # Question languages that have a baseline only come after all others.
    langs = QUESTION.sorted((long if len(long) else rows)["question_lang"].dropna())
    if not langs:
        return rows
    rows = cells.kept(rows, rows["question_lang"] == langs[0])
    kinds = RETRIEVAL.sorted(set(rows["retrieval"]) - {RETRIEVAL.shared})
    return cells.kept(rows, rows["retrieval"].isin([*kinds[:1], RETRIEVAL.shared]))


def by_resources(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the resources of the needle's language (Figure 4)."""
    groups = {lang: name for name, langs in RESOURCES.items() for lang in langs}
    return rows.assign(resources=rows["needle_lang"].map(groups).astype(object).fillna("other"))


def depth(part: Part, labels: Labels, context: Context) -> float:
    """The depth of the needle, which all rows of a position share."""
    return float(part.column("depth").iloc[0])


def asked_closed_book(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Questions that were asked without any passage, with and without the needle."""
    keys = ["model", "question_lang", "needle_lang"]
    asked = rows.loc[rows["task"] == "closed_book", keys].drop_duplicates()
    return rows.merge(asked, on=keys)


def longest_length(cell: Cell, place: Place) -> str | bool | None:
    """Table 2 prints the numbers of each model's longest length, though its caption says average."""
    name = cell.context.paper_name(cell.labels["model"])
    longest = cell.context.find("table1", name, "claimed_length")
    theirs = 0 if longest is None else int(longest.value)
    mine = cell.above["model"]
    ours = [length for length in mine.values("length") if length > 0]
    if str(theirs) == str(cell.labels["length"]) or ours == [theirs]:
        return None
    return (
        f"the paper's is of {theirs} tokens alone" if cell.labels["length"] == "average" else True
    )


def claimed_length(labels: Labels, context: Context) -> dict[str, int | str]:
    """The length of which a row of the paper's Table 2 is."""
    found = context.find("table1", labels["model"], "claimed_length")
    return {"length": "" if found is None else int(found.value)}


def other_lengths(cell: Cell, place: Place) -> str | None:
    """A mean over other lengths than the paper's is no average of its."""
    if cell.labels["column"] != "average":
        return None
    line = cell.labels.get("line", cell.context.paper_name(cell.labels["model"]))
    theirs = set(cell.context.line(place.table, line))
    theirs -= {"average", "claimed_length", "effective_length"}
    ours = {str(length) if length else "baseline" for length in cell.part.values("length")}
    return None if ours == theirs else "other lengths"


def with_lengths(
    table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame
) -> pd.DataFrame:
    """Table 1 with each model's claimed and effective length, and shares of the baseline.

    Of the two lengths `value` is a number of tokens, 0 where no length keeps 75% of the baseline.
    """
    import pandas as pd

    labels = ["question_lang", "retrieval", "model", "source"]
    made = []
    for key, own in table.groupby(labels, sort=False):
        if key[-1] == "published":
            made.append(own)
            continue
        means = dict(zip(own["column"], own["value"], strict=True))
        means.pop("average", None)
        baseline = means.pop("baseline", None)
        model = str(key[2])
        tokens = {
            "claimed_length": context.run.get("claimed_length", {}).get(model),
            "effective_length": stats.effective_length(
                {int(length): mean for length, mean in means.items()}, baseline
            ),
        }
        rows = []
        for column, value in tokens.items():
            cell: dict[str, Any] = dict.fromkeys(MEASURES, math.nan)
            cell["value"] = math.nan if value is None else float(value)
            found = context.find("table1", context.paper_name(model), column)
            rows.append(
                dict(zip(labels, key, strict=True))
                | {"column": column, **cell, **cells.compared(cell, found, None)}
            )
        share = own["value"] / baseline if baseline else math.nan
        share = own.assign(share_of_baseline=share)
        share.loc[share["column"] == "average", "share_of_baseline"] = math.nan
        made += [pd.DataFrame(rows), share]
    whole = pd.concat(made) if made else table
    return whole.reindex(columns=table.columns).astype(table.dtypes.to_dict())


def paper_rows(
    first: str, second: str, rows: pd.DataFrame, table: str, context: Context
) -> dict[str, str]:
    """The lines of the paper's table that a pair's models and their difference belong to."""
    lines, names = context.tables.get(table, {}), {}
    for role, model in (("first", first), ("second", second)):
        if (rows["model"] == model).any():
            name = context.paper_name(model)
            names[role] = next((n for n in (name, name + GREEDY_ROW) if n in lines), "")
    return names | ({"delta": "delta"} if len(names) == 2 and all(names.values()) else {})


def other_pair(cell: Cell, place: Place) -> str | None:
    """Other lengths than the paper's; or other decoding, which Table 3 does not tell (its are greedy)."""
    if reason := other_lengths(cell, place):
        return reason
    if cell.labels["role"] == "first" or not cell.labels["second_line"].endswith(GREEDY_ROW):
        return None
    if cell.context.paper_name(cell.labels["pair"].split("|")[1]).endswith(GREEDY_ROW):
        return None
    return "the paper's is of greedy decoding"


def decoding_pairs(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of each pair of a greedy and a sampling model, once a pair (Figure 8)."""
    import pandas as pd

    parts = [rows.iloc[:0].assign(pair="", decoding="")]
    for pair in context.run.get("greedy_or_sampling", ()):
        both = rows[rows["model"].isin(pair)]
        lengths = set(both["length"]).intersection(DECODING_LENGTHS) or set(both["length"])
        both = both[both["length"].isin(lengths)]
        roles = both["model"].map(dict(zip(pair, ("greedy", "sampling"), strict=True)))
        parts.append(both.assign(pair="|".join(pair), decoding=roles))
    return pd.concat(parts)


def paper_mean(part: Part, labels: Labels, context: Context) -> float | None:
    """The paper's mean over all positions (Table 4)."""
    name = context.paper_name(labels["model"])
    found = context.find("table4", name, str(labels["length"]))
    return None if found is None else found.value


def growing_samples(rows: pd.DataFrame, context: Context, compared: Paper) -> pd.DataFrame:
    """Accuracy of growing random samples of prompts (100, 600, 1100, ... all) by model and length.

    `se` is the paper's equation (1). A larger sample holds every smaller one. The full sample is compared
    with Table 1.
    """
    exact = nearest_variant(cells.kept(rows, rows["task"] == "exact"), context)
    table = Table(cells.kept(exact, exact["length"] > 0))
    by_model = {str(model): part for model, part in table.all().split("model").items()}
    made = []
    for model in model_order(by_model.keys(), context.run):
        for length, part in by_model[model].split("length").items():
            samples = part.column("sample").to_numpy()
            group = part.places[np.lexsort((samples, part.codes("instance_id")))]
            draw = seeding.rng("mlneedle", "figure5", model, length)
            order = group[draw.permutation(len(group))]
            for size in [*range(FIRST_SIZE, len(group), STEP), len(group)]:
                values = Part(table, order[:size]).measure()
                labels = {"model": model, "length": length, "column": str(length), "size": size}
                row = {**labels, "source": "ours", **values}
                if size == len(group):
                    row |= paper.compared(compared, Cell(labels, part, {}, context, values))
                made.append(row)
    columns = ["model", "source", "length", "size", *MEASURES, *COMPARISON]
    return cells.frame(made, columns)


def diagonal(
    table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame
) -> pd.DataFrame:
    """Only cells whose needle and haystack share a language, the paper's too."""
    return table[table["needle_lang"] == table["haystack_lang"]]


def ceilings(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The share of gold answers that survive translation into English, by language.

    `rows` has columns lang, n (answers translated) and n_survived (of them still right).
    """
    import pandas as pd

    made = []
    counts = rows.groupby("lang")[["n", "n_survived"]].sum()
    for lang in NEEDLE.sorted(counts.index):
        n, survived = int(counts.loc[lang, "n"]), int(counts.loc[lang, "n_survived"])
        value = survived / n if n else math.nan
        made.append((lang, value, n, stats.standard_error(value, n), *stats.wilson(value, n)))
    return pd.DataFrame(made, columns=["lang", "value", "n", "se", "ci_low", "ci_high"])
