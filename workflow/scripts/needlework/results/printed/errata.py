"""Printed numbers that contradict others of their paper, each with the computation that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from needlework.results.published import Number, equal

if TYPE_CHECKING:
    import pandas as pd

_M4LE_REFERENCE, _MISTRAL = "GPT-3.5-Turbo-16K", "Mistral-7B-Instruct-v0.2"
# Means that lie closer than this cannot be told apart from 49 numbers of two digits.
_CLOSE = 0.01


class Erratum(NamedTuple):
    """A number's id, what is printed, what its own paper gives instead, and how."""

    erratum: str
    id: str
    printed: float
    computed: float
    computation: str


def errata(numbers: pd.DataFrame) -> pd.DataFrame:
    """All of them, a row for each number and contradiction."""
    import pandas as pd

    own = numbers[numbers["source"] == "paper"]
    found = [*_m4le(own), *_captions(own), *_effective_lengths(own), *_two_values(own)]
    return pd.DataFrame(found, columns=list(Erratum._fields))


def marked(numbers: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """The numbers with the identifiers of their errata."""
    names = found.groupby("id")["erratum"].agg(lambda own: " ".join(sorted(set(own))))
    return numbers.assign(errata=numbers["id"].map(names).fillna("").astype("string"))


def _m4le(own: pd.DataFrame) -> Iterator[Erratum]:
    """Table 3 is the mean of the normalised scores s / (s + r) of Tables 7 to 45."""
    tables = own[(own["paper"] == "m4le") & own["table"].str.startswith("table")]
    scores = tables[tables["row"].str.contains("/") & (tables["table"] != "table2")]
    reference = scores[(scores["model"] == _M4LE_REFERENCE) & (scores["length"] == 1000)]
    beside = scores["task"].map(reference.set_index("task")["value"])
    normal = scores.assign(normal=scores["value"] / (scores["value"] + beside))
    means = normal.groupby(["model", "length"])["normal"].agg(["mean", "size"])
    for row in tables[(tables["table"] == "table3") & tables["length"].notna()].itertuples():
        mean, tasks = means.loc[(row.model, row.length)]
        if equal(float(mean), Number(row.value, None), 2) == "differs":
            how = f"mean of s / (s + r), {int(tasks)} tasks of Tables 7 to 45, r of {_M4LE_REFERENCE} at 1K"
            yield Erratum("m4le-table3", row.id, row.value, float(mean), how)


def _captions(own: pd.DataFrame) -> Iterator[Erratum]:
    """MLNeedle's Table 2 says "averaged across the context lengths", and is the longest length's."""
    mlneedle = own[own["paper"] == "mlneedle"]
    first, second = (mlneedle[mlneedle["table"] == name] for name in ("table1", "table2"))
    for model, cells in second.groupby("model", sort=False):
        by_length = first[(first["model"] == model) & first["length"].notna()]
        average, longest = by_length["value"].mean(), by_length.sort_values("length").iloc[-1]
        mean = cells["value"].mean()
        if abs(mean - longest["value"]) + _CLOSE < abs(mean - average):
            how = (
                f"the table's mean over 49 cells is {mean:.3f}; Table 1 has {longest['value']:.3f} at "
                f"{longest['length']} tokens and {average:.3f} on average"
            )
            for row in cells.itertuples():
                yield Erratum("mlneedle-table2-caption", row.id, mean, average, how)


def _effective_lengths(own: pd.DataFrame) -> Iterator[Erratum]:
    """MLNeedle's rule: the longest length with 75% of the accuracy at the baseline; 0 is none."""
    first = own[(own["paper"] == "mlneedle") & (own["table"] == "table1")]
    for _, cells in first.groupby("model", sort=False):
        by_column = cells.set_index("column")["value"]
        held = cells[cells["length"].notna() & (cells["value"] >= 0.75 * by_column["baseline"])]
        ours = float(held["length"].max()) if len(held) else 0.0
        if ours != by_column["effective_length"]:
            row = cells[cells["column"] == "effective_length"].iloc[0]
            how = (
                f"75% of the baseline {by_column['baseline']:.3f} is {0.75 * by_column['baseline']:.3f}; "
                f"the accuracy at 4096 tokens is {by_column['4096']:.3f}"
            )
            yield Erratum("mlneedle-effective-length", row["id"], row["value"], ours, how)


def _two_values(own: pd.DataFrame) -> Iterator[Erratum]:
    """One quantity printed twice with different digits: MLNeedle's Tables 1 and 4, and the text and the
    tables of Lost in the Middle."""
    where = own.set_index(["paper", "table", "row", "column"])
    pairs = [
        ("mlneedle", ("table1", _MISTRAL, column), ("table4", _MISTRAL, column))
        for column in ("baseline", "4096", "8192", "16384", "32768", "average")
    ]
    turbo, long = "GPT-3.5-Turbo", "GPT-3.5-Turbo (16K)"
    for model, documents, table in ((turbo, 20, "table6"), (long, 30, "table7")):
        said = ("text", model, f"{documents}_documents/9")
        pairs.append(("lost_in_the_middle", said, (table, model, "9")))
    for paper, one, other in pairs:
        first, second = where.loc[(paper, *one)], where.loc[(paper, *other)]
        if first["value"] != second["value"]:
            for row, beside, place in ((first, second, other), (second, first, one)):
                how = f"{' | '.join(place)} has {beside['value']:.3f}"
                yield Erratum("two-values", row["id"], row["value"], beside["value"], how)
