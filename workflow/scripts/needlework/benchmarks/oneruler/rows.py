"""Selections of rows for ONERULER's results, and measures of their cells."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from needlework.answer_states import UNKNOWN
from needlework.benchmarks.oneruler.factors import ARTICLES, HIGH_RESOURCE, LONG, NIAH
from needlework.benchmarks.oneruler.paper import ENDS, SETUP
from needlework.benchmarks.oneruler.plan import ENDPOINTS
from needlework.results.columns import MEASURES
from needlework.results.result import Context
from needlework.results.tabulate import Cell, Measure, where

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.cells import Part

ONE_LANGUAGE = "instruction_lang == context_lang"
NEEDLE_TASKS = f"task in {tuple(NIAH)}"
# The verdict of an answer that the output limit cut off before any text, as happens to models that
# reason. The paper leaves it out of the needle tasks and counts it as wrong in the others (footnote 10).
# An answer that ended without text is wrong in all, as in the released rules.
UNFINISHED = "length"


def own(rows: pd.DataFrame, run: Context, condition: str) -> pd.DataFrame:
    """The rows with `condition` among the `equal_tokens` rows that allow "none"."""
    return none_allowed(equal_tokens(where(rows, condition), run))


def drawn(rows: pd.DataFrame, run: Context, condition: str, metric: str = "") -> pd.DataFrame:
    """The rows of `own` by one metric: `metric`, or the metric of the figures."""
    return own(drawn_metric(rows, run, metric), run, condition)


def metrics(present: Collection[str], run: Context) -> list[str]:
    """The metric of the figures, then the paper's metric if that differs."""
    return list(dict.fromkeys((run.run.get("metric", "strict"), str(SETUP["metric"]))))


def drawn_metric(rows: pd.DataFrame, run: Context, metric: str = "") -> pd.DataFrame:
    """The rows by the metric of the figures."""
    from needlework.results import cells

    return cells.kept(rows, rows["metric"] == (metric or run.run.get("metric", "strict")))


def equal_tokens(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of models whose prompts are measured in their own tokenizers."""
    from needlework.results import cells

    return cells.kept(rows, ~_equal_text(rows, run))


def equal_text(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of models whose prompts are measured in a common tokenizer."""
    return rows[_equal_text(rows, run)]


def _equal_text(rows: pd.DataFrame, run: Context) -> pd.Series:
    return rows["model"].isin({pair[1] for pair in run.run.get("equal_text", ())})


def none_allowed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without needle prompts that do not allow "none"; all rows if there are no others."""
    from needlework.results import cells

    needles = rows["task"].isin(list(NIAH))
    offered = rows["none_option"].astype(bool)
    return cells.kept(rows, ~needles | (offered == bool((needles & offered).any())))


def long_contexts(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's long contexts; if there are none, of the two longest lengths."""
    from needlework.results import cells

    lengths = sorted(set(rows["length"]))
    longest = [n for n in lengths if n in LONG] or lengths[-2:]
    return cells.kept(rows, rows["length"].isin(longest))


def grouped(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows with a column `group`: the resource group of the context's language."""
    groups = {lang: resources(lang, run) for lang in set(rows["context_lang"])}
    return rows.assign(group=rows["context_lang"].map(groups))


def ends(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of languages with a known Wikipedia size; the largest and the smallest are groups."""
    from needlework.results import cells

    known = [lang for lang in set(rows["context_lang"]) if articles(lang, run)]
    langs = by_articles(known, run)
    size = min(ENDS, len(langs) // 2)
    found = {"top": langs[:size], "bottom": langs[len(langs) - size :]} if size else {}
    groups = {lang: end for end, names in found.items() for lang in names}
    rows = cells.kept(rows, rows["context_lang"].isin(known))
    group = rows["context_lang"].map(groups)
    names = {end: " ".join(names) for end, names in found.items()}
    return rows.assign(group=group, languages=group.map(names))


def both_prompts(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of languages that are asked with and without the offer of "none"; `prompt` tells which."""
    offered = rows["none_option"].astype(bool)
    langs = set(rows.loc[offered, "context_lang"]) & set(rows.loc[~offered, "context_lang"])
    rows = rows.assign(prompt=offered.map({True: "with", False: "without"}))
    return rows[rows["context_lang"].isin(langs)]


def crossed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of languages that occur in a cross-lingual prompt, as context or as instruction."""
    mixed = rows[rows["instruction_lang"] != rows["context_lang"]]
    contexts, asked = set(mixed["context_lang"]), set(mixed["instruction_lang"])
    here = rows["instruction_lang"].isin(asked | contexts)
    return rows[rows["context_lang"].isin(contexts) & here]


def needles_together(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows by task, and again with all needle tasks as one task; the column `of` has the task's name."""
    import pandas as pd

    needles = rows[rows["task"].isin(list(NIAH))]
    return pd.concat([needles.assign(of="niah"), rows.assign(of=rows["task"])])


def _verdict_classes(rows: pd.DataFrame) -> pd.Series:
    """What stands in each verdict before its first colon."""
    verdicts = rows["verdict"]
    # There are a few of them, for a million rows.
    classes = {verdict: verdict.split(":")[0] for verdict in set(verdicts)}
    return verdicts.map(classes).astype(object)


def with_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the error of each strict verdict, or "correct"."""
    from needlework.results import cells

    classes = _verdict_classes(rows).replace({UNFINISHED: "no_answer"})
    return rows.assign(error=classes.mask(~cells.judged(rows), "lost"))


def behind_endpoints(rows: pd.DataFrame, run: Context, closed: bool) -> pd.DataFrame:
    """The rows of models behind endpoints, or of the others."""
    backends = run.run.get("backends", {})
    behind = {model for model in set(rows["model"]) if backends.get(model) in ENDPOINTS}
    return rows[rows["model"].isin(behind) == closed]


def reasoned(rows: pd.DataFrame) -> pd.DataFrame:
    """The answers with a count of reasoning tokens; the column `answer` is "right" or "wrong"."""
    from needlework.results import cells

    counted = rows["reasoning_tokens"].notna() & ~dropped(rows) & cells.judged(rows)
    rows = rows[counted]
    return rows.assign(answer=rows["value"].map({1.0: "right"}).fillna("wrong"))


def cut_answers(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Whether the limit cut an answer (`value`).

    If the run has models that `comparisons.reasoning` names, only their rows are returned. Answers whose
    finish reason is unknown are left out.
    """
    rows = rows[rows["finish_reason"] != UNKNOWN]
    reason = rows["model"].isin(list(run.run.get("reasoning", ())))
    rows = rows[reason] if reason.any() else rows
    return rows.assign(value=(rows["finish_reason"] == "length").astype("float64"))


def wrong_words(rows: pd.DataFrame) -> pd.DataFrame:
    """The wrong answers to tasks of common words, with `found`: how many of the ten words they contain."""
    rows = rows[_verdict_classes(rows).isin(["partial", "wrong_words"])]
    found = rows["verdict"].str.extract(r"^partial:(\d+)/", expand=False).fillna("0").astype(float)
    return rows.assign(found=found)


def own_language(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of prompts in one language, with all languages as one."""
    rows = rows[rows["instruction_lang"] == rows["context_lang"]]
    return rows.assign(instruction_lang="all", context_lang="all")


# Languages


def articles(lang: str, run: Context) -> int | None:
    """The number of articles in a language's Wikipedia; None if neither the paper nor the run has it."""
    return run.run.get("wikipedia_articles", {}).get(lang, ARTICLES.get(lang))


def resources(lang: str, run: Context) -> str:
    """The key of `factors.GROUPS` that a language belongs to."""
    number = articles(lang, run)
    if lang == "en" or number is None:
        return "english" if lang == "en" else "unknown"
    return "high" if number >= HIGH_RESOURCE else "low"


def by_articles(present: Collection[str], run: Context) -> list[str]:
    """Languages by the size of their Wikipedias, then those of unknown size by code; "all" is first."""

    def place(lang: str) -> tuple[bool, int, str]:
        return lang != "all", -(articles(lang, run) or 0), lang

    return sorted(set(present), key=place)


def best_first(table: pd.DataFrame) -> pd.DataFrame:
    """Per metric, languages by the mean of their values over models and lengths, best first, after "all"."""
    means = table.groupby(["metric", "context_lang"])["value"].transform("mean")
    means = means.mask(table["context_lang"] == "all", math.inf)
    order = table.assign(mean=means).sort_values(
        ["mean", "context_lang", "length"], ascending=[False, True, True], kind="stable"
    )
    return table.loc[order.index]


def ranked(table: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows with the rank of each language (1 is best) and its rank in the paper."""
    means = table.groupby(["model", "metric"])["value"]
    ranks = []
    for row in table.itertuples():
        known = row.model == "all" and run.run.get("published")
        found = run.find("figure4b", row.context_lang, "rank") if known else None
        ranks.append(None if found is None else found.value)
    rank = means.rank(ascending=False, method="min").astype("Int64")
    table = table.assign(rank=rank, published_rank=ranks)
    return table.astype({"published_rank": "Int64", "n_articles": "Int64"})


def dropped(rows: pd.DataFrame) -> pd.Series:
    """Whether the paper leaves an answer out: an answer to a needle task that was cut before any text."""
    return (rows["verdict"] == UNFINISHED) & rows["task"].isin(list(NIAH))


def long_first(present: Collection[str], run: Context) -> list[str]:
    """The order of lengths: long contexts together, then each length."""
    return sorted(present, key=lambda length: (length != "long", str(length).zfill(9)))


# What the cells of ONERULER's results say: means as the paper counts, shares of errors, other means.

CI = ("ci_low", "ci_high")


def _accuracy(cell: Cell) -> Mapping[str, float]:
    """The mean as the paper counts, how many answers it leaves out, and the mean of all prompts."""
    from needlework.results import cells

    part = cell.part
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


def _share(cell: Cell) -> Mapping[str, float]:
    """How many answers have a cell's error, and what share of all prompts."""
    from needlework.results import stats

    part = cell.part
    here = part.array("error", lambda frame: frame["error"]) == cell.labels["error"]
    clusters = part.table.codes("example_id")[0][part.places]
    found = vars(stats.estimate(here.astype("float64"), clusters))
    return {"n_errors": int(here.sum()), **found, "n_exhausted": _exhausted(part)}


def mean_of(column: str) -> Measure:
    """The mean of a column that is not a share; its interval over questions is from the bootstrap."""

    def of(cell: Cell) -> Mapping[str, float]:
        from needlework.results import stats

        part = cell.part
        values = part.array(column, lambda frame: frame[column].astype("float64"))
        questions = part.table.codes("example_id")[0][part.places]
        seed = ("oneruler", column, *cell.labels.values())
        interval = stats.bootstrap_interval(values, questions, seed=seed)
        return {
            "value": float(values.mean()),
            "n": len(values),
            "se_independent": float(values.std() / len(values) ** 0.5),
            "n_questions": len(set(questions)),
            **dict(zip(CI, interval, strict=True)),
            **part.lost(),
            "n_exhausted": _exhausted(part),
        }

    lost = ("n_skipped", "n_error", "n_cut", "n_empty", "n_prompt_cut", "n_refused")
    columns = ("value", "n", "se_independent", "n_questions", *CI, *lost)
    return Measure((*columns, "n_exhausted"), of)


# The mean and its certainty as the paper counts, how many answers were dropped for that, the share of
# right answers among all prompts, and how many prompts ended before their length because the vocabulary did.
ACCURACY = Measure((*MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), _accuracy)
SHARE = Measure(("n_errors", "value", "n", *CI, "n_questions", "n_exhausted"), _share)
