"""Whether the papers agree, from their printed numbers alone: what docs/results.md says of it.

    python perf/between_papers.py table                 writes docs/results/between_papers.csv
    python perf/between_papers.py coverage [--runs 20]  simulates papers, and writes perf/between_papers.json
    python perf/between_papers.py prompts [RUN]         writes docs/results/benchmark_factors.csv

`table`: Kendall's tau of orders, and differences of means. Intervals redraw every share from a binomial of
its n, around a value that its print rounds to. A tau of noisy orders is nearer to 0 than that of the true
ones, so an interval spans both the drawn taus and their mirror image around the printed tau, at 98% each.
`coverage`: the share of intervals that hold the truth if the printed shares, anywhere in what their print
rounds to, are the truth, and a paper draws answers from them and rounds its shares as this one does.
`prompts`: what the prompts of the demo, which has run in the folder RUN, hold constant.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf")]

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
import pandas as pd  # noqa: E402

from machine import describe  # noqa: E402
from needlework.planning.config import validated  # noqa: E402
from needlework.planning.rule_inputs import RuleInputs  # noqa: E402
from needlework.prompts.spans import Documents, span_text  # noqa: E402
from needlework.records import read_table  # noqa: E402
from needlework.results.published import load  # noqa: E402
from needlework.safe_yaml import read  # noqa: E402
from needlework.seeding import rng  # noqa: E402

Floats = npt.NDArray[np.float64]
DRAWS, TAIL, TAIL_OF_DIFFERENCES = 2000, 0.01, 0.025
# As many orders as can all be tried; of more, so many are drawn.
_ALL, _ORDERS = 6, 999
# ONERULER: at most 250 answers; 2.8% of o3-mini's were dropped, of which cells is unknown.
ASSUMED_N = 243
# Two models that two papers asked about Natural Questions, on the hub and in rows of each paper.
LONGCHAT, GPT = "lmsys/longchat-13b-16k", "openai/gpt-3.5-turbo-16k"
IN_TABLE6 = ("LongChat-13B (16K)", "GPT-3.5-Turbo (16K)")
IN_TABLE7 = ("LongChat-13B-16K/nq-open", "GPT-3.5-Turbo-16K/nq-open")


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
        drawn = random.binomial(self.n.astype(int), true) / self.n
        return drawn.mean(axis=2)


def scores(cells: pd.DataFrame, items: str) -> Scores:
    """The cells of a table, grouped by the column `items`. All items have equally many cells."""
    parts = [(str(name), part) for name, part in cells.groupby(items, sort=True)]
    values, n = (
        np.array([part[column].to_numpy(dtype=np.float64) for _, part in parts])
        for column in ("value", "n")
    )
    return Scores(values, n, float(cells["unit"].max()), tuple(name for name, _ in parts))


def printed(paper: str, table: str, row: str) -> pd.DataFrame:
    """The shares of a table in the rows that match, with the pattern's groups and `unit`, a digit's."""
    path = ROOT / f"resources/published/{paper}.csv"
    numbers = load(path)
    numbers["digits"] = pd.read_csv(path, dtype=str)["value"].str.partition(".")[2].str.len()
    source = "repository" if paper == "oneruler" else "paper"
    found = numbers[numbers["table"].eq(table) & numbers["source"].eq(source)]
    labels = found["row"].str.extract(f"^{row}$")
    found = found.assign(unit=10.0 ** -found["digits"].max(), **labels)
    return found[labels.notna().all(axis=1) & found["column"].str.fullmatch(r"\d+|[a-z]{2}")]


def heat() -> pd.DataFrame:
    """ONERULER's Figure 3: 26 languages, six models, four lengths."""
    cells = printed("oneruler", "figure3", "(?P<model>.+)/(?P<lang>..)")
    return cells.assign(length=cells["column"].astype(int), n=cells["n"].fillna(ASSUMED_N))


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
    ends = {"low": max(-1.0, float(low)), "high": min(1.0, float(high))}
    n = int(min(first.n.sum(1).min(), second.n.sum(1).min()))
    made = {"kind": "tau", "value": value, **ends, "p": _p(one, other, value, seed)}
    return made | {"items": len(one), "n": n}


def _p(one: Floats, other: Floats, value: float, seed: tuple[object, ...]) -> float:
    """Two-sided: how many orders agree or disagree as much."""
    every = len(one) <= _ALL
    if every:
        drawn = np.array(list(permutations(other)))
    else:
        random = rng("orders of papers", *seed)
        drawn = random.permuted(np.tile(other, (_ORDERS, 1)), axis=1)
    as_much = np.abs(tau(one, drawn)) >= abs(value) - 1e-9
    return float(as_much.mean() if every else (as_much.sum() + 1) / (_ORDERS + 1))


def compared_means(first: Scores, second: Scores, *seed: object) -> dict[str, Any]:
    """The second side's mean over all items less the first's, with its interval."""
    drawn = second.draws((*seed, 2)).mean(1) - first.draws((*seed, 1)).mean(1)
    low, high = np.quantile(drawn, (TAIL_OF_DIFFERENCES, 1 - TAIL_OF_DIFFERENCES))
    made = {"kind": "difference", "value": float(second.means().mean() - first.means().mean())}
    made |= {"low": float(low), "high": float(high), "p": None, "items": len(first.names)}
    return made | {"n": int(min(first.n.sum(), second.n.sum()))}


# By kind: what is compared, the two sides, and what seeds the draws.
Compared = tuple[dict[str, str], Scores, Scores, tuple[object, ...]]


def orders() -> Iterator[Compared]:
    """Orders of languages by two models and in two papers, and ONERULER's of models at its ends."""
    cells = heat()
    for length, own in cells.groupby("length"):
        models = {str(model): scores(part, "lang") for model, part in own.groupby("model")}
        for one, other in combinations(models, 2):
            told = {"topic": "languages", "paper": "oneruler", "first": one, "second": other}
            yield told | {"at": str(length)}, models[one], models[other], (length, one, other)
    table = printed("mlneedle", "table2", "(?P<model>.+)/(?P<haystack>..)")
    for model, own in table.groupby("model", sort=False):
        at = 32000 if str(model).startswith("Mistral") else 8000
        every = scores(cells[cells["length"] == at], "lang")
        for column, whose in (("column", "needle"), ("haystack", "haystack")):
            one, name = scores(own, column), f"{model}, {whose}"
            shared = tuple(sorted({*one.names} & {*every.names}))
            told = {"topic": "languages of two papers", "paper": "mlneedle, oneruler"}
            told |= {"first": name, "second": "ONERULER, six models", "at": str(at)}
            yield told, one.only(shared), every.only(shared), (name, str(at))
    first, last = (scores(cells[cells["length"] == at], "model") for at in (8000, 128000))
    told = {"topic": "models", "paper": "oneruler", "first": "8000", "second": "128000"}
    yield told | {"at": "26 languages"}, first, last, ("models",)


def differences() -> Iterator[Compared]:
    """Two models in two papers; what 32K costs beside 8K; the middle of 20 documents less the first."""
    documents = printed("lost_in_the_middle", "table6", "(?P<model>.+)")
    pairs = printed("m4le", "table7", "(?P<model>.+)")
    pairs = pairs[pairs["column"] == "2000"]
    both = (("lost_in_the_middle", documents, IN_TABLE6), ("m4le", pairs, IN_TABLE7))
    for paper, cells, names in both:
        one, other = (scores(cells[cells["row"] == name], "row") for name in names)
        told = {"topic": "models", "paper": paper, "first": LONGCHAT, "second": GPT}
        yield told | {"at": f"{cells['table'].iloc[0]}, Natural Questions"}, one, other, (paper,)
    mistral = printed("mlneedle", "table1", "(?P<model>Mistral.+)")
    mistral = mistral.assign(length=mistral["column"].astype(int) // 1024 * 1000)
    for paper, cells in (("mlneedle", mistral), ("oneruler", heat())):
        for model, own in cells.groupby("model"):
            one, other = (scores(own[own["length"] == at], "model") for at in (8000, 32000))
            told = {"topic": "length", "paper": paper, "first": str(model), "second": str(model)}
            yield told | {"at": "32K less 8K"}, one, other, (paper, model)
    for model, own in documents.groupby("model"):
        one, other = (scores(own[own["column"] == at], "model") for at in ("0", "9"))
        told = {"topic": "depth", "paper": "lost_in_the_middle", "first": str(model)}
        yield told | {"second": str(model), "at": "place 10 less place 1"}, one, other, (model,)


def between() -> pd.DataFrame:
    """All comparisons of the papers, to four digits."""
    rows = [told | compared_orders(*sides, *seed) for told, *sides, seed in orders()]
    rows += [told | compared_means(*sides, *seed) for told, *sides, seed in differences()]
    return pd.DataFrame(rows).round(4)


def simulated(own: Scores, random: np.random.Generator) -> tuple[Scores, Scores]:
    """True shares, and the paper that would be printed of them."""
    half = own.unit / 2
    true = np.clip(own.values + random.uniform(-half, half, own.values.shape), 0, 1)
    drawn = random.binomial(own.n.astype(int), true) / own.n
    return own._replace(values=true), own._replace(values=np.round(drawn / own.unit) * own.unit)


def coverage(runs: int, every: int = 1) -> dict[str, Any]:
    """By topic and kind: the share of intervals that hold the truth, and how wide they are."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for i, (told, one, other, _) in enumerate([*orders(), *differences()][::every]):
        is_tau = len(one.names) > 1
        # Differences are made in a tenth of the time.
        for run in range(runs if is_tau else 10 * runs):
            random = rng("coverage between papers", i, run)
            (true, first), (truth, second) = simulated(one, random), simulated(other, random)
            ours, theirs = true.means(), truth.means()
            value = tau(ours, theirs) if is_tau else theirs.mean() - ours.mean()
            compare = compared_orders if is_tau else compared_means
            made = compare(first, second, "coverage", run)
            held = made["low"] - 1e-9 <= value <= made["high"] + 1e-9
            kind = f"{made['kind']}, {told['topic']}"
            found.setdefault(kind, []).append((held, made["high"] - made["low"]))
    means = {kind: np.mean(own, axis=0).round(4).tolist() for kind, own in found.items()}
    names = ("intervals", "coverage", "width")
    return {k: dict(zip(names, (len(found[k]), *own), strict=True)) for k, own in means.items()}


ROLES = ("needle", "question")
# Each letter of scripts without spaces is a word.
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")


def factors(benchmark: str, files: Mapping[str, Any]) -> dict[str, Any]:
    """What a benchmark's prompts hold constant.

    tokens_vary and needles_vary: coefficients of variation of tokens within a nominal length, and of the
    needles' characters. overlap: the mean share of a question's words in its needles.
    """
    texts = Documents.of(benchmark, files["corpora"], files["documents"])
    rows = pd.concat([pd.DataFrame(read_table(path).to_pylist()) for path in files["instances"]])
    nominal = ["task", "n_documents"] if "n_documents" in rows else ["length"]
    asked = rows[rows[nominal[-1]].fillna(0) > 0]
    tokens = asked.groupby(nominal)["n_tokens"]
    needles, overlaps = [], []
    for prompt in asked["prompt"]:
        said = {role: [span_text(s, texts) for s in prompt if s["role"] == role] for role in ROLES}
        held, words = ({*_WORD.findall(" ".join(own).casefold())} for own in said.values())
        needles += [len(text) for text in said["needle"]]
        overlaps += [len(words & held) / len(words)] if said["needle"] and words else []
    vary, spread = (tokens.std(ddof=0) / tokens.mean()).mean(), np.std(needles) / np.mean(needles)
    made = {"benchmark": benchmark, "prompts": len(asked), "tokens_vary": vary}
    made |= {"needle_characters": np.median(needles), "needles_vary": spread}
    return made | {"overlap": np.mean(overlaps)}


def of_the_demo(folder: Path) -> pd.DataFrame:
    """What the demo's prompts hold constant, by benchmark, to four digits; `folder` is its run's."""
    prompts = RuleInputs(validated(read(ROOT / "config.yaml"))).prompts
    with contextlib.chdir(folder):
        rows = [factors(name, prompts.of(name, "words")) for name in prompts.benchmarks]
    return pd.DataFrame(rows).sort_values("benchmark").round(4)


def main() -> None:
    """Make what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("table", "coverage", "prompts"))
    parser.add_argument("run", type=Path, nargs="?", default=ROOT, help="the demo's folder")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="one comparison of so many")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "coverage":
        found = coverage(given.runs, given.every)
        made = {"machine": describe(), "runs": given.runs, "coverage": found}
        out, text = ROOT / "perf/between_papers.json", json.dumps(made, indent=1) + "\n"
    else:
        name = "between_papers" if given.what == "table" else "benchmark_factors"
        table = between() if given.what == "table" else of_the_demo(given.run)
        out = ROOT / f"docs/results/{name}.csv"
        text = table.to_csv(index=False, lineterminator="\n")
    (given.out or out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
