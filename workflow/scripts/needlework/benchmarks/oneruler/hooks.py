"""What the descriptions of ONERULER's results cannot say."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from needlework.benchmarks.columns import COMPARISON
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.language_names import language_name
from needlework.benchmarks.oneruler.factors import (
    ARTICLES,
    CWE,
    HIGH_RESOURCE,
    LONG,
    NIAH,
)
from needlework.benchmarks.oneruler.plan import SHORT
from needlework.results import cells, paper, stats
from needlework.results import published as publications
from needlework.results.context import Cell, Context
from needlework.results.parts import Part, Table

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.result import Place, Requirement, View

# The verdict of an answer that the output limit cut off before any text, as happens to models that
# reason. The paper leaves it out of the needle tasks and counts it as wrong in the others (footnote 10).
# An answer that ended without text is wrong in all, as in the released rules.
UNFINISHED = "length"
# Figure 1a of the paper: so many languages at either end.
ENDS = 5
# Appendix D: Figure 24 is of texts of so many tokens of this encoding.
PAPER_TEXT = {"data": "oneruler", "length": 128_000, "measuring tokenizer": "cl100k_base"}
SETUP = {
    "data": "oneruler",
    "haystack": None,
    "multiquery_needles": 2,
    "cwe_frequencies": "released",
    "metric": "released",
}


# Which rows


def metrics(present: Collection[str], context: Context) -> list[str]:
    """The metric that the figures draw, then the paper's, where that is another."""
    return list(dict.fromkeys((context.run.get("metric", "strict"), SETUP["metric"])))


def drawn_metric(rows: pd.DataFrame, context: Context, metric: str = "") -> pd.DataFrame:
    """The rows of one metric: that which the figures draw."""
    return cells.kept(rows, rows["metric"] == (metric or context.run.get("metric", "strict")))


def equal_tokens(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of models whose prompts are measured in their own tokenizers."""
    return cells.kept(rows, ~_equal_text(rows, context))


def equal_text(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of models whose prompts are measured in a common tokenizer."""
    return rows[_equal_text(rows, context)]


def _equal_text(rows: pd.DataFrame, context: Context) -> pd.Series:
    return rows["model"].isin({pair[1] for pair in context.run.get("equal_text", ())})


def none_allowed(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Without needle prompts that lack the sentence that allows "none", unless there are no others."""
    needles = rows["task"].isin(list(NIAH))
    offered = rows["none_option"].astype(bool)
    return cells.kept(rows, ~needles | (offered == bool((needles & offered).any())))


def long_contexts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The paper's long contexts; where these rows have neither, their two longest."""
    lengths = sorted(set(rows["length"]))
    longest = [n for n in lengths if n in LONG] or lengths[-2:]
    return cells.kept(rows, rows["length"].isin(longest))


def grouped(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the resources of the context's language (`group`)."""
    groups = {lang: resources(lang, context) for lang in set(rows["context_lang"])}
    return rows.assign(group=rows["context_lang"].map(groups))


def ends(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Languages of known size; the largest and smallest Wikipedias in groups, with their names."""
    known = [lang for lang in set(rows["context_lang"]) if articles(lang, context)]
    langs = by_articles(known, context)
    size = min(ENDS, len(langs) // 2)
    found = {"top": langs[:size], "bottom": langs[len(langs) - size :]} if size else {}
    groups = {lang: end for end, names in found.items() for lang in names}
    rows = cells.kept(rows, rows["context_lang"].isin(known))
    group = rows["context_lang"].map(groups)
    names = {end: " ".join(names) for end, names in found.items()}
    return rows.assign(group=group, languages=group.map(names))


def both_prompts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The languages that are asked with and without the sentence that allows "none" (`prompt`)."""
    offered = rows["none_option"].astype(bool)
    langs = set(rows.loc[offered, "context_lang"]) & set(rows.loc[~offered, "context_lang"])
    rows = rows.assign(prompt=np.where(offered, "with", "without"))
    return rows[rows["context_lang"].isin(langs)]


def crossed(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Contexts and instructions in those languages that stand in a prompt with another one."""
    mixed = rows[rows["instruction_lang"] != rows["context_lang"]]
    contexts, asked = set(mixed["context_lang"]), set(mixed["instruction_lang"])
    here = rows["instruction_lang"].isin(asked | contexts)
    return rows[rows["context_lang"].isin(contexts) & here]


def needles_together(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Tasks, and all tasks with needles once more as one (`of`)."""
    import pandas as pd

    needles = rows[rows["task"].isin(list(NIAH))]
    return pd.concat([needles.assign(of="niah"), rows.assign(of=rows["task"])])


def _verdict_classes(rows: pd.DataFrame) -> pd.Series:
    """What stands in each verdict before its first colon."""
    verdicts = rows["verdict"]
    # There are a few of them, for a million rows.
    classes = {verdict: verdict.split(":")[0] for verdict in set(verdicts)}
    return verdicts.map(classes).astype(object)


def with_errors(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the error of each strict verdict, or "correct"."""
    classes = _verdict_classes(rows).replace({UNFINISHED: "no_answer"})
    return rows.assign(error=classes.mask(~cells.judged(rows), "lost"))


def behind_endpoints(rows: pd.DataFrame, context: Context, closed: str) -> pd.DataFrame:
    """The rows of models behind endpoints, or of the others."""
    backends = context.run.get("backends", {})
    behind = {model for model in set(rows["model"]) if backends.get(model) == "openai"}
    return rows[rows["model"].isin(behind) == (closed == "yes")]


def reasoned(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Answers with a count of reasoning tokens, right or wrong (`answer`); what is no answer is neither."""
    counted = rows["reasoning_tokens"].notna() & ~dropped(rows) & cells.judged(rows)
    rows = rows[counted]
    return rows.assign(answer=rows["value"].map({1.0: "right"}).fillna("wrong"))


def cut_answers(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Whether the limit cut an answer (`value`), of the models that reason where the run names any."""
    if reasoning := list(context.run.get("reasoning", ())):
        rows = rows[rows["model"].isin(reasoning)]
    return rows.assign(value=(rows["finish_reason"] == "length").astype("float64"))


def wrong_words(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Wrong answers to tasks of common words, and how many of the ten words stand in them (`found`)."""
    rows = rows[_verdict_classes(rows).isin(["partial", "wrong_words"])]
    found = rows["verdict"].str.extract(r"^partial:(\d+)/", expand=False).fillna("0").astype(float)
    return rows.assign(found=found)


def own_language(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Prompts whose instructions are in the context's language, as if all were of one language."""
    rows = rows[rows["instruction_lang"] == rows["context_lang"]]
    return rows.assign(instruction_lang="all", context_lang="all")


# Languages


def articles(lang: str, context: Context) -> int | None:
    """The number of articles in a language's Wikipedia; None where neither the paper nor the run says."""
    return context.run.get("wikipedia_articles", {}).get(lang, ARTICLES.get(lang))


def resources(lang: str, context: Context) -> str:
    """The key of `factors.GROUPS` that a language belongs to."""
    number = articles(lang, context)
    if lang == "en" or number is None:
        return "english" if lang == "en" else "unknown"
    return "high" if number >= HIGH_RESOURCE else "low"


def by_articles(present: Collection[str], context: Context) -> list[str]:
    """Languages by the size of their Wikipedias, then those of unknown size by code; "all" is first."""

    def place(lang: str) -> tuple[bool, int, str]:
        return lang != "all", -(articles(lang, context) or 0), lang

    return sorted(set(present), key=place)


def group_of(part: Part, labels: Labels, context: Context) -> str:
    """The resources of a cell's language."""
    return resources(labels["context_lang"], context)


def articles_of(part: Part, labels: Labels, context: Context) -> int | None:
    """The size of its Wikipedia."""
    return articles(labels["context_lang"], context)


def name_of(part: Part, labels: Labels, context: Context) -> str:
    """Its English name."""
    return language_name(labels["context_lang"])


def ends_of(part: Part, labels: Labels, context: Context) -> str:
    """The languages at one end."""
    return "" if labels["group"] == "gap" else part.column("languages").iloc[0]


def best_first(
    table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame
) -> pd.DataFrame:
    """Of each metric, languages by the mean of their values over models and lengths; all of them first."""
    means = table.groupby(["metric", "context_lang"])["value"].transform("mean")
    means = means.mask(table["context_lang"] == "all", math.inf)
    order = table.assign(mean=means).sort_values(
        ["mean", "context_lang", "length"], ascending=[False, True, True], kind="stable"
    )
    return table.loc[order.index]


def ranked(table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame) -> pd.DataFrame:
    """With the rank of each language (1 is best), and the paper's."""
    means = table.groupby(["model", "metric"])["value"]
    ranks = []
    for row in table.itertuples():
        known = row.model == "all" and context.run.get("published")
        found = context.find("figure4b", row.context_lang, "rank") if known else None
        ranks.append(None if found is None else found.value)
    rank = means.rank(ascending=False, method="min").astype("Int64")
    table = table.assign(rank=rank, published_rank=ranks)
    return table.astype({"published_rank": "Int64", "n_articles": "Int64"})


# What a cell says


def dropped(rows: pd.DataFrame) -> pd.Series:
    """Which answers the paper leaves out: those to needle tasks that were cut before any text."""
    return (rows["verdict"] == UNFINISHED) & _of_needles(rows)


def _of_needles(rows: pd.DataFrame) -> pd.Series:
    return rows["task"].isin(list(NIAH))


def measure(part: Part, context: Context, labels: Labels) -> dict[str, float | int]:
    """The mean as the paper counts, how many answers it leaves out, and the mean of all prompts."""
    out = part.array("dropped", dropped)
    given = part.array("given", cells.judged)
    value = part.array("value", lambda frame: frame["value"].astype(float))
    return {
        **part.measure(counted=part.where(given & ~out)),
        "n_dropped": int(out.sum()),
        "value_all": float(value.mean()) if len(part) else math.nan,
        "n_all": len(part),
        "n_exhausted": _exhausted(part),
    }


def _exhausted(part: Part) -> int:
    return int(part.array("exhausted", lambda frame: frame["exhausted"].astype(bool)).sum())


def share(part: Part, context: Context, labels: Labels) -> dict[str, object]:
    """How many answers have a cell's error, and what share of all prompts."""
    here = part.array("error", lambda frame: frame["error"]) == labels["error"]
    clusters = part.table.codes("example_id")[0][part.places]
    found = vars(stats.estimate(here.astype("float64"), clusters))
    return {"n_errors": int(here.sum()), **found, "n_exhausted": _exhausted(part)}


def mean_of(part: Part, context: Context, labels: Labels, column: str) -> dict[str, float | int]:
    """The mean of a column that is no share: its interval over questions is from the bootstrap."""
    values = part.array(column, lambda frame: frame[column].astype("float64"))
    questions = part.table.codes("example_id")[0][part.places]
    seed = ("oneruler", column, *labels.values())
    low, high = stats.bootstrap_interval(values, questions, seed=seed, draws=1000)
    return {
        "value": float(values.mean()),
        "n": len(values),
        "se": float(values.std() / len(values) ** 0.5),
        "n_questions": len(set(questions)),
        "ci_low_clustered": low,
        "ci_high_clustered": high,
        **part.lost(),
        "n_exhausted": _exhausted(part),
    }


# Why a cell is not compared with the paper


def other_setup(cell: Cell) -> str:
    """Where the run's settings and the cell's metric are not the paper's."""
    setup = {**cell.context.run.get("setup", {}), "metric": cell.part.values("metric")[0]}
    words = cell.part.where(cell.part.array("words", lambda rows: rows["task"].isin(list(CWE))))
    # In other lists, and where there are none, both frequencies are the same.
    if SHORT not in words.values("length"):
        setup.pop("cwe_frequencies", None)
    return "; ".join(cells.differences(setup, SETUP))


def none_forbidden(cell: Cell) -> str | None:
    """The paper's questions allow the answer none."""
    needles = cell.part.where(cell.part.array("needles", _of_needles))
    allowed = needles.values("none_option")
    return "without the sentence that allows the answer none" if False in allowed else None


def two_languages(cell: Cell, place: Place) -> bool | None:
    """The paper's Figure 3 is of instructions in the context's language."""
    return cell.labels["instruction_lang"] != cell.labels["context_lang"] or None


# Figures and tables that are made by themselves


def text_lengths(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """How many tokens the longest text of each language is in every tokenizer (`n_tokens`; Figure 24).

    `rows` has the same prompts in several tokenizers; those of NIAH are taken where there are any.
    `length` is their length in the tokenizer `measured_in`. The interval is over prompts. The paper's
    numbers stand beside texts of its length, data and measuring tokenizer alone.
    """
    import pandas as pd

    same = rows[rows["instruction_lang"] == rows["context_lang"]]
    needles = same[same["task"].isin(list(NIAH))]
    same = needles if len(needles) else same
    same = same[same["length"] == same["length"].max()]
    encodings = context.run.get("encodings", {})
    measured_in = context.run.get("text_tokenizer", "")
    made = []
    for (lang, tokenizer), part in same.groupby(["context_lang", "tokenizer"]):
        length, n_tokens = int(part["length"].iloc[0]), float(part["n_tokens"].mean())
        seed = ("oneruler", "n_tokens", lang, tokenizer)
        low, high = stats.bootstrap_interval(
            part["n_tokens"], part["example_id"], seed=seed, draws=1000
        )
        found = context.find("figure24", str(lang), encodings.get(tokenizer, ""))
        value = None if found is None else found.value
        ours = {
            "data": context.run.get("setup", {}).get("data"),
            "length": length,
            "measuring tokenizer": encodings.get(measured_in, measured_in),
        }
        why = "; ".join(cells.differences(ours, PAPER_TEXT)) or None
        made.append(
            {"context_lang": lang, "tokenizer": tokenizer}
            | {"measured_in": measured_in, "length": length}
            | {"n_tokens": n_tokens, "n": len(part)}
            | {"n_exhausted": int(part["exhausted"].sum())}
            | {"ci_low_clustered": low, "ci_high_clustered": high}
            | {"published": None if why else value}
            | {"comparison": publications.compare(n_tokens, low, high, value, why)}
        )
    columns = [
        *("context_lang", "tokenizer", "measured_in", "length", "n_tokens", "n", "n_exhausted"),
        *("ci_low_clustered", "ci_high_clustered", "published", "comparison"),
    ]
    data = pd.DataFrame(made, columns=columns)
    places = {lang: i for i, lang in enumerate(by_articles(data["context_lang"], context))}
    return data.sort_values("context_lang", key=lambda c: c.map(places), kind="stable")


def agreement(
    rows: pd.DataFrame, context: Context, requires: tuple[Requirement, ...]
) -> pd.DataFrame:
    """Kendall's tau between equal tokens and equal text, over the accuracies of languages.

    `model` and `other` are a pair of `comparisons.equal_text`, or both "all": over all pairs and
    languages together. `length` may be "all": over lengths and languages together. `n` cells are
    compared; those of one language are not independent, which the interval (of Fisher's z, with the
    variance of Fieller, Hartley and Pearson, 1957) does not know. The paper's number is of all its
    models, lengths and languages, by the released metric; of p it only says that it is below
    `published_p`.
    """
    made: list[dict[str, object]] = []
    alone = rows[rows["task"].isin(list(NIAH)) & (rows["instruction_lang"] == rows["context_lang"])]
    for metric in metrics((), context):
        asked = drawn_metric(alone, context, metric)
        sides = [none_allowed(side(asked, context), context) for side in (equal_tokens, equal_text)]
        made += _agreement(sides, metric, context, requires)
    labels = ["model", "source", "other", "metric", "length"]
    return cells.frame(made, [*labels, *TAU, *COMPARISON, "published_p", "comparison_p"])


TAU = ("value", "n", "p", "ci_low_clustered", "ci_high_clustered")


def _agreement(
    sides: list[pd.DataFrame], metric: str, context: Context, requires: tuple[Requirement, ...]
) -> list[dict[str, object]]:
    import pandas as pd

    pairs = [tuple(pair) for pair in context.run.get("equal_text", ())]
    keys = ["context_lang", "length"]
    one, two = (
        {model: own.groupby(keys)["mean"].first() for model, own in _means(side).groupby("model")}
        for side in sides
    )
    joined = [pd.DataFrame(columns=["pair", "length", "a", "b"])]
    for pair in pairs:
        if pair[0] in one and pair[1] in two:
            both = pd.DataFrame({"a": one[pair[0]], "b": two[pair[1]]}).dropna().reset_index()
            joined.append(both.assign(pair=[pair] * len(both)))
    data = pd.concat([part for part in joined if len(part)] or joined)
    there = [pair for pair in pairs if pair[0] in one and pair[1] in two]
    why = _other_agreement(pd.concat(sides), there, context, requires)
    made: list[dict[str, object]] = []
    for pair in [("all", "all"), *pairs]:
        for length in [None, *sorted(set(data["length"]))]:
            part = (
                data
                if pair == ("all", "all")
                else data[np.array([own == pair for own in data["pair"]], dtype=bool)]
            )
            part = part if length is None else part[part["length"] == length]
            cell = _tau(part["a"].to_numpy(float), part["b"].to_numpy(float))
            of_paper = pair == ("all", "all") and length is None and context.run.get("published")
            published = context.line("lengths_tau", "all") if of_paper else {}
            tau, bound = published.get("tau"), published.get("p/at_most")
            value = None if tau is None else tau.value
            ends = (cell["value"], cell["ci_low_clustered"], cell["ci_high_clustered"])
            made.append(
                {"model": pair[0], "source": "ours", "other": pair[1], "metric": metric}
                | {"length": "all" if length is None else str(length), **cell}
                | {"published": value, "published_n": None}
                | {"comparison": publications.compare(*ends, value, why)}
                | _compared_p(cell["p"], bound, why)
            )
    return made


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy by model, language and length, without what the paper leaves out."""
    counted = rows[cells.judged(rows) & ~dropped(rows)]
    means = counted.groupby(["model", "context_lang", "length"])["value"].mean()
    return means.rename("mean").reset_index()


def _other_agreement(
    rows: pd.DataFrame,
    pairs: Sequence[tuple[str, ...]],
    context: Context,
    requires: tuple[Requirement, ...],
) -> str | None:
    """Why tau over `pairs` of models that have scores is not the paper's, or None."""
    names = dict(context.run.get("published", {}))
    # The entry with equal text is the same model, but its name in the paper is not for it to bear:
    # all other numbers are of equal tokens.
    names |= {other: names[model] for model, other in pairs if model in names}
    rows = rows[rows["model"].isin({model for pair in pairs for model in pair})]
    if rows.empty:
        return None
    part = Table(rows).all()
    lost = part.lost()
    if missing := lost["n_skipped"] + lost["n_error"]:
        return f"{missing:,} answers are missing"
    both = Context(context.published, {**context.run, "published": names})
    return paper.obstacle(requires, Cell({}, part, {}, both, {}))


def _tau(first: Sequence[float], second: Sequence[float]) -> dict[str, float | int]:
    """Kendall's tau-b, its two-sided p and 95% interval; NaN where one side is constant."""
    from scipy.stats import kendalltau

    n = len(first)
    cell: dict[str, float | int] = {**dict.fromkeys(TAU, math.nan), "n": n}
    if n < 2:
        return cell
    found = kendalltau(first, second)
    cell["value"], cell["p"] = float(found.statistic), float(found.pvalue)
    if n > 4 and abs(cell["value"]) < 1:
        half = stats.Z * math.sqrt(0.437 / (n - 4))
        z = math.atanh(cell["value"])
        cell["ci_low_clustered"] = float(np.tanh(z - half))
        cell["ci_high_clustered"] = float(np.tanh(z + half))
    return cell


def _compared_p(p: float, bound: publications.Number | None, why: str | None) -> dict[str, object]:
    """Whether our p, too, is below that of the paper."""
    if bound is None:
        return {"published_p": None, "comparison_p": "cannot tell: no published number"}
    why = "no p of ours" if math.isnan(p) else why
    found = f"cannot tell: {why}" if why else "below" if p < bound.value else "not below"
    return {"published_p": bound.value, "comparison_p": found}


def long_first(present: Collection[str], context: Context) -> list[str]:
    """Long contexts together, then each length."""
    return sorted(present, key=lambda length: (length != "long", str(length).zfill(9)))
