"""How well papers and models agree, from printed numbers: Kendall's tau of orders, and differences of means.

Intervals redraw every share from a binomial of its n, around a value that its print rounds to. A tau of noisy
orders is nearer to 0 than that of the true ones, so an interval spans both the drawn taus and their mirror
image around the printed tau, at 98% each (perf/between_papers.json has its coverage).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.results.published import Number, equal
from needlework.seeding import rng

if TYPE_CHECKING:
    import pandas as pd

# Printed numbers that contradict others of their paper, each with the computation that shows it.

_M4LE_REFERENCE, _MISTRAL = "GPT-3.5-Turbo-16K", "Mistral-7B-Instruct-v0.2"
# Means that lie closer than this cannot be told apart from 49 numbers of two digits.
_CLOSE = 0.01


class Erratum(NamedTuple):
    """A number that contradicts its own paper: id, printed value, derived value and derivation."""

    erratum: str
    id: str
    printed: float
    computed: float
    computation: str


def errata(numbers: pd.DataFrame) -> pd.DataFrame:
    """All errata: one row per number and contradiction."""
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


Floats = npt.NDArray[np.float64]
COLUMNS = (
    *("topic", "paper", "first", "second", "at", "kind"),
    *("value", "low", "high", "p", "items", "n"),
)
DRAWS, TAIL, TAIL_OF_DIFFERENCES = 2000, 0.01, 0.025
# As many orders as can all be tried; more are drawn.
_ALL, _ORDERS = 6, 999
# ONERULER: at most 250 answers; 2.8% of o3-mini's were dropped, of which cells is unknown.
ASSUMED_N = 243


class Scores(NamedTuple):
    """Shares of items (rows), each the mean of several cells (columns), with their n and printed unit."""

    values: Floats
    n: Floats
    unit: float
    names: tuple[str, ...]

    def means(self) -> Floats:
        """The mean of each item."""
        return self.values.mean(axis=1)

    def only(self, names: tuple[str, ...]) -> Scores:
        """Some items, in this order."""
        at = [self.names.index(name) for name in names]
        return Scores(self.values[at], self.n[at], self.unit, names)

    def draws(self, seed: tuple[object, ...]) -> Floats:
        """Simulated means of the items under other draws of questions: shape (draws, items)."""
        random = rng("between papers", *seed)
        size = (DRAWS, *self.values.shape)
        half = self.unit / 2
        true = np.clip(self.values + random.uniform(-half, half, size), 0, 1)
        there = self.n > 0
        drawn = random.binomial(np.where(there, self.n, 1).astype(int), true) / np.maximum(
            self.n, 1
        )
        return np.where(there, drawn, true).mean(axis=2)


def scores(cells: pd.DataFrame, items: str) -> Scores:
    """The cells of a table, grouped by the column `items`. All items have equally many cells."""
    parts = [(str(name), part) for name, part in cells.groupby(items, sort=True)]
    n = [part["n"].astype("float64").fillna(0).to_numpy() for _, part in parts]
    values = np.array([part["value"].to_numpy(dtype=np.float64) for _, part in parts])
    unit = float(cells["precision"].max())
    return Scores(values, np.array(n), unit, tuple(name for name, _ in parts))


def of_the_run(rows: pd.DataFrame, benchmark: str) -> dict[str, Scores]:
    """The shares of languages of a run's models, by model and benchmark: of the needle's in MLNeedle, and of
    ONERULER's needles where all is in one language. By the first metric, of answers with a score.
    """
    asked = rows[rows["value"].notna() & rows["metric"].isin(rows["metric"].head(1))]
    if benchmark == "mlneedle":
        side, asked = "needle_lang", asked[(asked["task"] == "exact") & (asked["length"] > 0)]
    else:
        side, asked = "context_lang", asked[asked["task"].str.startswith("niah")]
        asked = asked[asked["context_lang"] == asked["instruction_lang"]]
    found = {}
    for model, own in asked.groupby("model"):
        cells = own.groupby(side)["value"].agg(value="mean", n="size").reset_index()
        found[f"{model}, {benchmark}"] = scores(cells.assign(precision=0.0), side)
    return found


def tau(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis; 0 if all values of a side are equal."""
    one, other = _signs(first), _signs(second)
    untied = np.sqrt((one != 0).sum(-1) * (other != 0).sum(-1))
    return (one * other).sum(-1) / np.maximum(untied, 1)


def _signs(values: Floats) -> Floats:
    gaps = np.round(values[..., :, None] - values[..., None, :], 9)
    return np.sign(gaps)[..., *np.triu_indices(values.shape[-1], 1)]


def compared_orders(first: Scores, second: Scores, *seed: object) -> dict[str, Any]:
    """tau of both orders with its interval, and p of a permutation test of no agreement."""
    one, other = first.means(), second.means()
    value = float(tau(one, other))
    drawn = tau(first.draws((*seed, 1)), second.draws((*seed, 2)))
    low, high = np.quantile(drawn, (TAIL, 1 - TAIL))
    low, high = min(low, 2 * value - high), max(high, 2 * value - low)
    return {
        **{"kind": "tau", "value": value, "items": len(one), "p": _p(one, other, value, seed)},
        **{"low": max(-1.0, float(low)), "high": min(1.0, float(high))},
        "n": int(min(first.n.sum(1).min(), second.n.sum(1).min())) or None,
    }


def _p(one: Floats, other: Floats, value: float, seed: tuple[object, ...]) -> float:
    """Two-sided: how many orders agree or disagree as much."""
    if len(one) <= _ALL:
        orders = np.array(list(permutations(other)))
        return float((np.abs(tau(one, orders)) >= abs(value) - 1e-9).mean())
    random = rng("orders of papers", *seed)
    orders = random.permuted(np.tile(other, (_ORDERS, 1)), axis=1)
    return float(((np.abs(tau(one, orders)) >= abs(value) - 1e-9).sum() + 1) / (_ORDERS + 1))


def compared_means(first: Scores, second: Scores, *seed: object) -> dict[str, Any]:
    """The second side's mean over all items less the first's, with its interval."""
    drawn = second.draws((*seed, 2)).mean(1) - first.draws((*seed, 1)).mean(1)
    low, high = np.quantile(drawn, (TAIL_OF_DIFFERENCES, 1 - TAIL_OF_DIFFERENCES))
    return {
        **{"kind": "difference", "value": float(second.means().mean() - first.means().mean())},
        **{"low": float(low), "high": float(high), "p": None, "items": len(first.names)},
        "n": int(min(first.n.sum(), second.n.sum())) or None,
    }


def between(numbers: pd.DataFrame, run: Mapping[str, Scores]) -> pd.DataFrame:
    """All comparisons of the papers, and of a run's models beside them, to four digits."""
    import pandas as pd

    heat = numbers[(numbers["paper"] == "oneruler") & (numbers["table"] == "figure3")]
    heat = heat.assign(n=heat["n"].fillna(ASSUMED_N))
    rows = [*_languages(heat), *_needles(numbers, heat, run), *_models(numbers, heat)]
    rows += [*_lengths(numbers, heat), *_depths(numbers)]
    return pd.DataFrame(rows, columns=list(COLUMNS)).round(4)


def _languages(heat: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """ONERULER: the order of 26 languages by two models."""
    for length, cells in heat.groupby("length"):
        own = {str(model): scores(part, "lang") for model, part in cells.groupby("model")}
        for one, other in combinations(own, 2):
            made = compared_orders(own[one], own[other], length, one, other)
            at = {"first": one, "second": other, "at": str(length)}
            yield {"topic": "languages", "paper": "oneruler", **at, **made}


def _needles(
    numbers: pd.DataFrame, heat: pd.DataFrame, run: Mapping[str, Scores]
) -> Iterator[dict[str, Any]]:
    """MLNeedle's and a run's order of languages beside ONERULER's mean over models, at the same length."""
    table = numbers[(numbers["paper"] == "mlneedle") & (numbers["table"] == "table2")]
    found = []
    for model, cells in table.groupby("model", sort=False):
        length = "32000" if str(model).startswith("Mistral") else "8000"
        for side, whose in (("lang", "needle"), ("haystack_lang", "haystack")):
            found.append(
                (f"{model}, {whose}", length, "languages of two papers", scores(cells, side))
            )
    found += [(name, "32000", "languages of the run", own) for name, own in run.items()]
    for name, length, topic, own in found:
        whole = scores(heat[heat["length"] == int(length)], "lang")
        shared = tuple(sorted(set(own.names) & set(whole.names)))
        if len(shared) > 2:
            made = compared_orders(own.only(shared), whole.only(shared), name, length)
            at = {"first": name, "second": "ONERULER, six models", "at": length}
            yield {"topic": topic, "paper": "mlneedle, oneruler", **at, **made}


def _models(numbers: pd.DataFrame, heat: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """ONERULER's order of models at its ends, and the two models that two papers asked about one data set."""
    ends = [scores(heat[heat["length"] == length], "model") for length in (8000, 128000)]
    made = compared_orders(*ends, "models")
    yield {
        **{"topic": "models", "paper": "oneruler", "first": "8000", "second": "128000"},
        **{"at": "26 languages", **made},
    }
    for paper, table, column in (
        ("lost_in_the_middle", "table6", None),
        ("m4le", "table7", "2000"),
    ):
        cells = numbers[(numbers["paper"] == paper) & (numbers["table"] == table)]
        cells = cells[cells["source"] == "paper"]
        cells = cells if column is None else cells[cells["column"] == column]
        names = ("lmsys/longchat-13b-16k", "openai/gpt-3.5-turbo-16k")
        sides = [scores(cells[cells["model_name"] == name], "model_name") for name in names]
        yield {
            **{"topic": "models", "paper": paper, "first": names[0], "second": names[1]},
            **{"at": f"{table}, Natural Questions", **compared_means(*sides, paper)},
        }


def _lengths(numbers: pd.DataFrame, heat: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """What 32K costs beside 8K, in both papers."""
    one = numbers[(numbers["paper"] == "mlneedle") & (numbers["table"] == "table1")]
    one = one[one["model"].str.startswith("Mistral")].replace(
        {"length": {8192: 8000, 32768: 32000}}
    )
    for paper, table in (("mlneedle", one), ("oneruler", heat)):
        for model, cells in table.groupby("model"):
            sides = [scores(cells[cells["length"] == at], "model") for at in (8000, 32000)]
            made = compared_means(*sides, paper, model)
            at = {"first": str(model), "second": str(model), "at": "32K less 8K"}
            yield {"topic": "length", "paper": paper, **at, **made}


def _depths(numbers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Lost in the Middle: the middle of 20 documents less the first; no other paper prints places."""
    table = numbers[(numbers["paper"] == "lost_in_the_middle") & (numbers["table"] == "table6")]
    for model, cells in table[table["source"] == "paper"].groupby("model"):
        sides = [scores(cells[cells["column"] == place], "model") for place in ("0", "9")]
        made = compared_means(*sides, model)
        at = {"first": str(model), "second": str(model), "at": "place 10 less place 1"}
        yield {"topic": "depth", "paper": "lost_in_the_middle", **at, **made}
