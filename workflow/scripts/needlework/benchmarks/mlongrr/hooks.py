"""What the descriptions of mLongRR's results cannot say."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from needlework.benchmarks.columns import MCNEMAR, MEASURES
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.mlongrr.factors import FACTORS, NAMES
from needlework.data.corpora.mlongrr import FIFTY_ARTICLES
from needlework.results import cells, published, stats
from needlework.results.comparisons import holm
from needlework.results.context import Cell, Context, model_order
from needlework.results.numbers import counted_models
from needlework.results.parts import Part, Table, difference

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.result import Place

# The abstract's best models (Figure 3).
BEST = ("GPT-4o", "Gemini-1.5")
ENGLISH_GPT4 = "GPT-4/English"
# How many answers a cell of ours could have, where the paper has one.
MORE = 20


# Which rows


def first_text(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of the run's first haystack."""
    return rows[rows["haystack"] == context.run["haystack"]]


def first_prompt(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of the prompt that is nearest to the paper's."""
    return rows[rows["template"] == context.run["template"]]


def drawn_metric(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows by the metric of figures."""
    return rows[rows["metric"] == context.run["metric"]]


def english_prompts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Without translated prompts."""
    return rows[rows["template"] != "translated"]


def _usual(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """What the Figures 3 to 11 are of, and cities."""
    rows = drawn_metric(rows[rows["task"] != "absent"], context)
    return first_prompt(first_text(rows, context), context)


def of_paper(rows: pd.DataFrame, context: Context, name: str) -> pd.DataFrame:
    """The rows of the model that is the paper's `name`."""
    return rows[rows["model"].map(context.paper_name) == name]


def of_no_paper(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of models that the paper has not."""
    return rows[rows["model"].map(context.paper_name) == ""]


def with_verdicts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the strict verdict, or "lost" where there is no answer."""
    return rows.assign(verdict=rows["verdict"].astype(object).mask(~cells.judged(rows), "lost"))


def with_what(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """`with_paper_model`; a row for each number (`what`, `number`) that the log has of a haystack."""
    import pandas as pd

    rows = with_paper_model(rows, context)
    inside = ~rows["depth"].isin([0, 100]) & rows["depth"].notna()
    # Released haystacks with a needle inside have other white space, so other tokens than the log's.
    counted = rows if inside.all() else rows[~inside]
    whole = [
        own.assign(what=what, number=own[what])
        for what, own in (("haystack_tokens", counted), ("sentences", rows))
    ]
    inner = rows[inside]
    names = "sentences_before_" + inner["depth"].astype(int).astype(str)
    return pd.concat([*whole, inner.assign(what=names, number=inner["sentences_before"])])


def with_paper_model(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the model of the paper that has a tokenizer, if any."""
    return rows.assign(paper_model=rows["tokenizer"].map(context.run["counted_as"]))


# Measures and labels


def measure(part: Part, context: Context, labels: Labels) -> dict[str, float | int]:
    """The mean, and how many prompts are shorter than their length, as the text ran out."""
    exhausted = part.array("exhausted", lambda frame: frame["exhausted"].astype(bool))
    return {**part.measure(), "n_exhausted": int(exhausted.sum())}


def mean_number(part: Part, context: Context, labels: Labels) -> dict[str, float]:
    """The mean of `number`."""
    return {"value": float(part.column("number").astype("float64").mean())}


def mean_fertility(part: Part, context: Context, labels: Labels) -> dict[str, float]:
    """The mean of the languages' tokens a word."""
    return {"value": float(part.frame.groupby("lang")["fertility"].mean().mean())}


def spread(part: Part, context: Context, labels: Labels) -> dict[str, float | int]:
    """The mean, the least and the most of the real depths."""
    real = part.column("real_depth").astype("float64")
    found = {"value": real.mean(), "n": len(real), "least": real.min(), "most": real.max()}
    return {
        name: number.item() if hasattr(number, "item") else number for name, number in found.items()
    }


def share(part: Part, context: Context, labels: Labels) -> dict[str, float | int]:
    """How many answers have a verdict, and which share of all prompts that is."""
    count = int((part.column("verdict") == labels["verdict"]).sum())
    return {"n_answers": count, "value": count / len(part), "n": len(part)}


def chance(part: Part, labels: Labels, context: Context) -> float | None:
    """The accuracy of a guess among the needles, which all rows of a cell share."""
    known = part.values("chance")
    return known[0] if known else None


def fertility(part: Part, labels: Labels, context: Context) -> float:
    """The tokens a word in the model's tokenizer."""
    return float(part.column("fertility").mean())


# The paper's numbers


def other_tokenizer(cell: Cell) -> str | None:
    """What sets a tokenizer apart from that of its model in the paper."""
    return cell.context.run["other_tokenizers"].get(cell.labels["tokenizer"])


def other_end(cell: Cell) -> str | None:
    """The authors counted their first 50 articles."""
    known = {NAMES[lang] for lang in FIFTY_ARTICLES}
    return (
        None
        if cell.labels["language"] in known
        else "where the authors' 50 articles end is unknown"
    )


def not_gpt4o(cell: Cell) -> str | None:
    """The log's tokens are GPT-4o's; released haystacks have the same sentences in every tokenizer."""
    theirs = cell.labels["what"] != "haystack_tokens" or cell.labels["paper_model"] == "GPT-4o"
    return None if theirs else "another tokenizer than GPT-4o's"


def of_best(cell: Cell, place: Place) -> bool | None:
    """Only of the paper's best models; True of others, which have no number."""
    return None if cell.context.paper_name(cell.labels["model"]) in BEST else True


def sum_of_articles(cell: Cell, place: Place) -> str | None:
    """The log's tokens are the articles' sums, up to 30 off those of the whole text."""
    summed = cell.labels["what"] == "haystack_tokens"
    return "the paper's is a sum over articles" if summed else None


# Tests of pairs


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
_LABELS = ("kind", "model", "lang", "n_needles", "question", "first", "second", "source")


def pairs(rows: pd.DataFrame, context: Context, kinds: str) -> pd.DataFrame:
    """The second less the first of each pair over the prompts that both answered, with McNemar's test.

    Needles, languages and models are compared in the first text with the first prompt. `p_holm` is
    corrected for all tests of the kind, so controls are in none.
    """
    rows = drawn_metric(rows[rows["task"] != "absent"], context)
    rows = rows[counted_models(rows, context)]
    made: list[dict[str, Any]] = []
    for kind in kinds.split():
        family, asked = FAMILIES[kind], rows
        if kind == "prompts":
            asked = asked[asked["template"].isin([context.run["twin"], "translated"])]
        else:
            asked = first_prompt(asked, context)
        asked = asked if kind == "texts" else first_text(asked, context)
        found = [
            row for part in _parts(asked, family, context) for row in _tests(*part, family, context)
        ]
        corrected = holm([row["p_mcnemar"] for row in found])
        made += [
            {"kind": kind, **row, "p_holm": p} for row, p in zip(found, corrected, strict=True)
        ]
    columns = [*_LABELS, *MEASURES, *MCNEMAR, "p_holm"]
    return cells.frame([{"source": "ours", **row} for row in made], columns)


def _parts(
    rows: pd.DataFrame, family: Family, context: Context
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each combination of `Family.by`, with its labels, in order."""
    if not len(rows):
        return
    parts = dict(iter(rows.groupby(list(family.by))))
    orders = [_ordered(name, set(rows[name]), context) for name in family.by]
    for key in sorted(
        parts, key=lambda key: [o.index(k) for o, k in zip(orders, key, strict=True)]
    ):
        yield dict(zip(family.by, key, strict=True)), parts[key]


def _ordered(name: str, present: Collection[Any], context: Context) -> list[Any]:
    factor = next((factor for factor in FACTORS if factor.name == name), None)
    return factor.sorted(present) if factor else model_order(present, context.run)


def _tests(
    labels: Labels, rows: pd.DataFrame, family: Family, context: Context
) -> Iterator[dict[str, Any]]:
    name = family.column
    sides = dict(iter(rows.groupby(name)))
    for first, second in combinations(_ordered(name, sides, context), 2):
        one, two = sides[first], sides[second]
        both = cells.paired(one, two, (*family.same, "sample"))
        if len(both):
            ends = {"first": first, "second": second}
            yield {**labels, **ends, **difference(Table(one).all(), Table(two).all(), both)}


def texts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """`pairs` of texts, with the paper's p beside that of GPT-4 in English, one needle (Figure 1)."""
    data = pairs(rows, context, "texts")
    number = context.find("figure1", ENGLISH_GPT4, "mcnemar_p")
    made = []
    for row in data.to_dict("records"):
        theirs = (row["lang"], row["n_needles"]) == ("en", 1) and number
        why = _not_figure1(row, context)
        said = published.equal(row["p_mcnemar"], theirs or None, 1, why)
        said = "differs: p_mcnemar" if said == "differs" else said
        made.append({"published_p_mcnemar": theirs.value if theirs else None, "comparison": said})
    return data.assign(**{k: [m[k] for m in made] for k in ("published_p_mcnemar", "comparison")})


def _not_figure1(row: Mapping[str, Any], context: Context) -> str | None:
    """What sets a pair apart from the paper's."""
    setup, decoding = context.run["setup"], context.run["decoding"][row["model"]]
    why = {
        "another model than GPT-4": context.paper_name(row["model"]) != "GPT-4",
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


# What the numbers of prompts and languages leave open


def slope(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """How accuracy changes with a token a word more, by model over languages, and over all models.

    Least squares; over all models each has a level of its own. The interval is Student's t, which takes
    (model, language) for independent points.
    """
    kinds, made = ["n_needles", "question"], []
    rows = _usual(rows, context)
    given = rows[cells.judged(rows)]
    points = given.groupby([*kinds, "model", "lang"], as_index=False)[["value", "fertility"]].mean()
    for key, every in points.groupby(kinds):
        counted = every[counted_models(every, context)]
        order = model_order(set(every["model"]), context.run)
        own = {model: every[every["model"] == model] for model in order}
        for model, some in {"all": counted, **own}.items():
            made.append({**dict(zip(kinds, key, strict=True)), "model": model, **_line(some)})
    columns = ["n_needles", "question", "model", "source", "value", "n", "n_models"]
    return cells.frame([{"source": "ours", **row} for row in made], [*columns, "ci_low", "ci_high"])


def _line(points: pd.DataFrame) -> dict[str, Any]:
    """The slope over points with a level for each model, and its interval where points are left for one."""
    from scipy.stats import t

    means = points.groupby("model")[["fertility", "value"]].transform("mean")
    x = (points["fertility"] - means["fertility"]).to_numpy()
    y = (points["value"] - means["value"]).to_numpy()
    n, models, square = len(points), points["model"].nunique(), float(x @ x)
    found = {"n": n, "n_models": models, "value": math.nan, "ci_low": math.nan, "ci_high": math.nan}
    if square == 0:
        return found
    found["value"] = beta = float(x @ y) / square
    if (free := n - models - 1) > 0:
        error = math.sqrt(float(np.sum((y - beta * x) ** 2)) / free / square)
        reach = float(t.ppf(0.975, free)) * error
        found |= {"ci_low": beta - reach, "ci_high": beta + reach}
    return found


LEVELS = {
    "cell": ("model", "lang", "length", "depth"),
    "all languages": ("model", "length", "depth"),
    "all lengths and depths": ("model", "lang"),
    "model": ("model",),
}


def certainty(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """How wide Wilson's 95% intervals are, on average, at each level at which the paper shows accuracies.

    answers: those behind a number, on average. twenty: the width if cells had MORE answers, as often right.
    """
    import pandas as pd

    rows = _usual(rows, context)
    rows = rows[counted_models(rows, context)]
    given, made = rows[cells.judged(rows) & (rows["question"] == "number")], []
    for n_needles, some in given.groupby("n_needles"):
        for level, by in LEVELS.items():
            found = some.groupby(list(by))["value"].agg(["mean", "size"])
            examples = context.run["examples"]
            widths = [_width(p, n) for p, n in zip(found["mean"], found["size"], strict=True)]
            more = [
                _width(p, n * MORE / examples)
                for p, n in zip(found["mean"], found["size"], strict=True)
            ]
            made.append(
                {
                    **{"n_needles": n_needles, "level": level, "source": "ours"},
                    **{"value": float(np.mean(widths)), "answers": float(found["size"].mean())},
                    **{"n_numbers": len(found), "twenty": float(np.mean(more))},
                }
            )
    columns = ["n_needles", "level", "source", "value", "answers", "n_numbers", "twenty"]
    return pd.DataFrame(made, columns=columns)


def _width(p: float, n: float) -> float:
    low, high = stats.wilson(p, n)
    return high - low
