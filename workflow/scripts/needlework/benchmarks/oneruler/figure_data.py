"""The numbers that ONERULER's figures draw: published as CSV beside each figure.

Every function takes (rows, published, settings) and gives one point a row, with factors.MEASURES and
the paper's number where it gives one. Unless they say otherwise they are of prompts whose
instructions are in the context's language and allow the answer "none", and of the models that are
measured in their own tokenizers; a mean over models is one over all their answers (micro-accuracy).

Where the paper has numbers of accuracy, `metric` says by which rules a row is: first that which is
drawn, then the released one, in whose rows ours are compared with the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING

from needlework import cells, stats
from needlework import published as publications
from needlework.benchmarks.oneruler import factors
from needlework.benchmarks.oneruler.factors import CWE, MEASURES, NIAH, TASKS, Settings

if TYPE_CHECKING:
    import pandas as pd

    Data = Callable[[pd.DataFrame, pd.DataFrame, Settings], pd.DataFrame]

# Figure 1a of the paper: so many languages at either end.
ENDS = 5
# Figures 6b, 18 and 19, in the order in which they are drawn.
ERRORS = {
    "none_error": "'none', although present",
    "wrong_number": "wrong number",
    "partial": "partly right",
    "no_number": "no number and no 'none'",
    "no_answer": "no answer",
    "lost": "skipped or failed",
}


def _in_the_papers_metric_too(make: Data) -> Data:
    """`make` of the drawn metric, and below it of the paper's where that is another; both in `metric`."""

    @wraps(make)
    def made(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
        import pandas as pd

        parts = []
        for metric in factors.metrics(settings):
            data = make(scores, published, {**settings, "metric": metric})
            data.insert(0, "metric", metric)
            parts.append(data)
        return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)

    return made


@_in_the_papers_metric_too
def figure1a(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """S-NIAH by length, all models, of the languages with the largest and smallest Wikipedias.

    `group` is "top", "bottom", or "gap", the difference of the two.
    """
    import pandas as pd

    single = factors.chosen(scores, settings, ["niah_single"])
    known = [lang for lang in set(single["context_lang"]) if factors.articles(lang, settings)]
    single = single[single["context_lang"].isin(known)]
    langs = factors.languages(known, settings)
    size = min(ENDS, len(langs) // 2)
    ends = {"top": langs[:size], "bottom": langs[len(langs) - size :]} if size else {}
    rows = []
    for length in factors.lengths(single):
        here = single[single["length"] == length]
        parts = {end: here[here["context_lang"].isin(names)] for end, names in ends.items()}
        measured = {end: factors.measure(part) for end, part in parts.items()}
        for end, names in ends.items():
            rows.append(
                {"group": end, "languages": " ".join(names), "length": length} | measured[end]
            )
        if ends:
            number = factors.mean_number(published, settings, "figure1a", "gap", str(length))
            cell = factors.difference(measured["bottom"], measured["top"])
            why = factors.obstacle(
                here, settings, tasks=["niah_single"], all_models=True, languages=factors.ARTICLES
            )
            labels = {"group": "gap", "languages": "", "length": length}
            rows.append(labels | cell | cells.compared(cell, number, why))
    columns = ["group", "languages", "length", *MEASURES, *cells.COMPARISON]
    return pd.DataFrame(rows, columns=columns)


@_in_the_papers_metric_too
def figure1b(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """S-NIAH with and without the sentence that allows "none", and the drop, by model and length.

    `prompt` is "with", "without" or "drop"; the languages are those that have both, each by itself and
    all together ("all").
    """
    import pandas as pd

    both = factors.chosen(scores, settings, ["niah_single"], none_option=None)
    offered = both["none_option"].astype(bool)
    langs = set(both.loc[offered, "context_lang"]) & set(both.loc[~offered, "context_lang"])
    both = both[both["context_lang"].isin(langs)]
    names = settings.get("published", {})
    by = ["model", "context_lang", "length"]
    rows = []
    for view in (both.assign(context_lang="all"), both):
        for (model, lang, length), part in view.groupby(by, sort=False):
            offered = part["none_option"].astype(bool)
            if offered.all() or not offered.any():
                continue
            kinds = {"with": part[offered], "without": part[~offered]}
            measured = {kind: factors.measure(answers) for kind, answers in kinds.items()}
            labels = {"model": model, "context_lang": lang, "length": int(length)}
            rows += [labels | {"prompt": kind} | cell for kind, cell in measured.items()]
            row = f"{names.get(model, '')}/{lang}"
            number = factors.number(published, "figure1b", row, f"drop/{length}")
            cell = factors.difference(measured["with"], measured["without"])
            why = factors.obstacle(kinds["with"], settings, tasks=["niah_single"])
            rows.append(labels | {"prompt": "drop"} | cell | cells.compared(cell, number, why))
    columns = ["model", "context_lang", "prompt", "length", *MEASURES, *cells.COMPARISON]
    order = {
        "context_lang": ["all", *factors.languages(langs, settings)],
        "prompt": ["with", "without", "drop"],
    }
    data = pd.DataFrame(rows, columns=columns)
    return cells.ordered(data, settings, "context_lang", "prompt", "length", order=order)


@_in_the_papers_metric_too
def figure3(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks by model, language and length, the paper's beside it."""
    return _heatmap(factors.chosen(scores, settings, NIAH), published, settings, "figure3")


@_in_the_papers_metric_too
def figure25(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Figure 3 where every model reads the same text, however many tokens it is to it."""
    same = factors.chosen(scores, settings, NIAH, equal_text=True)
    return _heatmap(same, published, settings, "figure25")


def figure4a(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks in long contexts, by model and resources of the language."""
    long = _grouped(_long(factors.chosen(scores, settings, NIAH)), settings)
    return _by_group(long, settings, "model")


@_in_the_papers_metric_too
def figure4b(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks in long contexts by language, all models; best first."""
    long = _long(factors.chosen(scores, settings, NIAH))
    data = factors.summarise(long, ["context_lang"])
    rows = []
    for row in data.to_dict("records"):
        lang = row["context_lang"]
        part = long[long["context_lang"] == lang]
        number = factors.mean_number(published, settings, "figure4b", lang, "long")
        why = factors.obstacle(part, settings, all_models=True, lengths=factors.LONG)
        rows.append(cells.compared(row, number, why))
    comparison = {name: [row[name] for row in rows] for name in cells.COMPARISON}
    group = [factors.resources(lang, settings) for lang in data["context_lang"]]
    data = data.assign(**comparison)
    data.insert(1, "group", group)
    best = data.sort_values(["value", "context_lang"], ascending=[False, True])
    return best.reset_index(drop=True)


@_in_the_papers_metric_too
def figure5(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by task and resources of the language, all models and lengths.

    `task` may be "niah", all tasks with needles, and `group` "all": section 3 has bounds of such means.
    """
    import pandas as pd

    rows = _grouped(factors.chosen(scores, settings, TASKS), settings)
    # As in `factors.mean_number`.
    means = published if settings.get("published") else published.iloc[:0]
    compared = []
    for task, members in {"niah": list(NIAH), **{task: [task] for task in TASKS}}.items():
        for group in ("all", *factors.GROUPS):
            here = rows[rows["task"].isin(members) & ((rows["group"] == group) | (group == "all"))]
            if here.empty:
                continue
            cell = factors.measure(here)
            why = factors.obstacle(
                here, settings, tasks=members, all_models=True, lengths=factors.PAPER_LENGTHS
            )
            place = "figure5", {"english": "en"}.get(group, group), task
            labels = {"task": task, "group": group}
            compared.append(labels | cell | factors.beside(cell, means, place, why))
    columns = ["task", "group", *MEASURES, "bound", *cells.COMPARISON]
    return pd.DataFrame(compared, columns=columns)


@_in_the_papers_metric_too
def figure6a(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks by context, instructions and length, all models.

    The contexts and instructions are those languages that stand in a prompt with another one.
    """
    import pandas as pd

    needles = factors.chosen(scores, settings, NIAH, crossed=True)
    mixed = needles[needles["instruction_lang"] != needles["context_lang"]]
    contexts, asked = set(mixed["context_lang"]), set(mixed["instruction_lang"])
    here = needles["context_lang"].isin(contexts) & needles["instruction_lang"].isin(
        asked | contexts
    )
    rows = []
    by = ["context_lang", "instruction_lang", "length"]
    for (context, instruction, length), part in needles[here].groupby(by, sort=False):
        cell = factors.measure(part)
        number = factors.mean_number(
            published, settings, "figure6a", f"{instruction}-{context}", str(length)
        )
        why = factors.obstacle(part, settings, all_models=True)
        labels = dict(zip(by, (context, instruction, length), strict=True))
        rows.append(labels | cell | cells.compared(cell, number, why))
    data = pd.DataFrame(rows, columns=[*by, *MEASURES, *cells.COMPARISON])
    langs = factors.languages(contexts | asked, settings)
    return _sorted(data, context_lang=langs, instruction_lang=langs, length=None)


def figure6b(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Errors of S-NIAH by model: what share of all prompts has each."""
    single = _strict(scores, settings)
    return cells.ordered(
        _errors(single, ["model"]), settings, "error", order={"error": list(ERRORS)}
    )


def figure17(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks by model and length, all languages."""
    needles = factors.chosen(scores, settings, NIAH)
    return cells.ordered(factors.summarise(needles, ["model", "length"]), settings, "length")


def figure18(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Errors of S-NIAH in long contexts by model and language: models behind endpoints."""
    return _errors_by_language(scores, settings, closed=True)


def figure19(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Figure 18 of all other models."""
    return _errors_by_language(scores, settings, closed=False)


def figure20(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Reasoning tokens of right and wrong answers to the NIAH tasks, by model and length.

    `value` is the mean number of tokens. Answers that are none are neither.
    """
    import pandas as pd

    needles = factors.chosen(scores, settings, NIAH)
    counted = needles[
        needles["reasoning_tokens"].notna() & ~factors.dropped(needles) & cells.judged(needles)
    ]
    rows = []
    for (model, length, value), part in counted.groupby(["model", "length", "value"], sort=False):
        labels = {"model": model, "answer": "right" if value == 1 else "wrong", "length": length}
        rows.append(labels | _mean(part, "reasoning_tokens", *labels.values()))
    data = pd.DataFrame(rows, columns=["model", "answer", "length", *_MEANS])
    return cells.ordered(data, settings, "answer", "length")


def figure21(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Answers to the CWE tasks that the output limit cut off, by model, task and length.

    Of the models that reason, where the run names any; else of all. `value` is their share.
    """
    words = factors.chosen(scores, settings, CWE)
    if reasoning := list(settings.get("reasoning", ())):
        words = words[words["model"].isin(reasoning)]
    cut = words.assign(value=(words["finish_reason"] == "length").astype("float64"))
    data = factors.summarise(cut, ["model", "task", "length"])
    return cells.ordered(data, settings, "task", "length", order={"task": list(CWE)})


@_in_the_papers_metric_too
def figure22(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy of both CWE tasks by model and length, all languages; section 3.1 has bounds of some."""
    import pandas as pd

    words, by = factors.chosen(scores, settings, CWE), ["model", "task", "length"]
    parts = dict(list(words.groupby(by, sort=False)))
    names, compared = settings.get("published", {}), []
    for cell in factors.summarise(words, by).to_dict("records"):
        model, task, length = (cell[name] for name in by)
        why = factors.obstacle(
            parts[model, task, length], settings, tasks=[task], languages=factors.ARTICLES
        )
        place = "figure22", names.get(model, ""), f"{task}/{length}"
        compared.append(cell | factors.beside(cell, published, place, why))
    data = pd.DataFrame(compared, columns=[*by, *MEASURES, "bound", *cells.COMPARISON])
    return cells.ordered(data, settings, "task", "length", order={"task": list(CWE)})


def figure23(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """How many of the ten words stand in wrong answers to the CWE tasks (`value`).

    By model, task, resources of the language and length; answers that are none are left out.
    """
    import pandas as pd

    words = factors.chosen(_strictly(scores), {**settings, "metric": "strict"}, CWE)
    classes = factors.class_of(words["verdict"])
    words = _grouped(words[classes.isin(["partial", "wrong_words"])], settings)
    found = words["verdict"].str.extract(r"^partial:(\d+)/", expand=False).fillna("0").astype(float)
    words = words.assign(found=found)
    rows = []
    by = ["model", "task", "group", "length"]
    for key, part in words.groupby(by, sort=False):
        rows.append(dict(zip(by, key, strict=True)) | _mean(part, "found", *key))
    data = pd.DataFrame(rows, columns=[*by, *_MEANS])
    order = {"task": list(CWE), "group": list(factors.GROUPS)}
    return cells.ordered(data, settings, "task", "group", "length", order=order)


def figure24(counts: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """How many tokens the longest text of each language is in every tokenizer (`n_tokens`).

    `counts` has the same prompts in several tokenizers; those of NIAH are taken where there are any.
    `length` is their length in the tokenizer `measured_in`. The interval is over prompts. The paper's
    numbers stand beside texts of its length, data and measuring tokenizer alone.
    """
    import pandas as pd

    same = counts[counts["instruction_lang"] == counts["context_lang"]]
    needles = same[same["task"].isin(list(NIAH))]
    same = needles if len(needles) else same
    same = same[same["length"] == same["length"].max()]
    encodings = settings.get("encodings", {})
    measured_in = settings.get("text_tokenizer", "")
    rows = []
    for (lang, tokenizer), part in same.groupby(["context_lang", "tokenizer"], sort=False):
        length, n_tokens = int(part["length"].iloc[0]), float(part["n_tokens"].mean())
        seed = ("oneruler", "n_tokens", lang, tokenizer)
        low, high = stats.bootstrap_interval(
            part["n_tokens"], part["example_id"], seed=seed, draws=1000
        )
        number = factors.number(published, "figure24", lang, encodings.get(tokenizer, ""))
        why = _other_text(length, settings)
        value = None if number is None else number.value
        rows.append(
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
    data = pd.DataFrame(rows, columns=columns)
    langs = factors.languages(data["context_lang"], settings)
    return _sorted(data, context_lang=langs, tokenizer=None)


def _other_text(length: int, settings: Settings) -> str | None:
    """Why texts of this length are not those of the paper's Figure 24, or None."""
    encoding, tokens = factors.PAPER_TEXT
    measured = settings.get("text_tokenizer", "")
    ours = {
        "data": settings.get("setup", {}).get("data"),
        "length": length,
        "measuring tokenizer": settings.get("encodings", {}).get(measured, measured),
    }
    paper = {"data": factors.PAPER_SETUP["data"], "length": tokens, "measuring tokenizer": encoding}
    return "; ".join(cells.differences(ours, paper)) or None


def _heatmap(
    needles: pd.DataFrame, published: pd.DataFrame, settings: Settings, table: str
) -> pd.DataFrame:
    """Accuracy by model, language (and "all") and length; languages best first."""
    import pandas as pd

    by = ["model", "context_lang", "length"]
    single = factors.summarise(needles, by)
    every = factors.summarise(needles.assign(context_lang="all"), by)
    data = pd.concat([every, single], ignore_index=True)
    names, compared = settings.get("published", {}), []
    groups = dict(list(needles.groupby(by, sort=False)))
    for cell in data.to_dict("records"):
        key = tuple(cell[name] for name in by)
        row = f"{names.get(cell['model'], '')}/{cell['context_lang']}"
        number = factors.number(published, table, row, str(cell["length"]))
        why = factors.obstacle(groups[key], settings) if key in groups else None
        compared.append(cells.compared(cell, number, why))
    data = data.assign(**{name: [row[name] for row in compared] for name in cells.COMPARISON})
    return cells.ordered(
        data, settings, "context_lang", "length", order={"context_lang": ["all", *_best(single)]}
    )


def _best(data: pd.DataFrame) -> list[str]:
    """Languages by the mean of their values over models and lengths, best first."""
    means = data.groupby("context_lang")["value"].mean()
    return sorted(means.index, key=lambda lang: (-means[lang], lang))


def _long(scores: pd.DataFrame) -> pd.DataFrame:
    return scores[scores["length"].isin(factors.long(scores))]


def _grouped(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """With the column `group`: the resources of the context's language."""
    groups = {lang: factors.resources(lang, settings) for lang in set(scores["context_lang"])}
    return scores.assign(group=scores["context_lang"].map(groups))


def _by_group(scores: pd.DataFrame, settings: Settings, by: str) -> pd.DataFrame:
    data = factors.summarise(scores, [by, "group"])
    return cells.ordered(data, settings, "group", order={"group": list(factors.GROUPS)})


def _strictly(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of the strict metric: its verdicts are the error classes."""
    return scores[scores["metric"] == "strict"]


def _strict(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    strict: Settings = {**settings, "metric": "strict"}
    return factors.chosen(_strictly(scores), strict, ["niah_single"])


def _errors_by_language(scores: pd.DataFrame, settings: Settings, *, closed: bool) -> pd.DataFrame:
    single = _long(_strict(scores, settings))
    backends = settings.get("backends", {})
    behind = {model for model in set(single["model"]) if backends.get(model) == "openai"}
    data = _errors(single[single["model"].isin(behind) == closed], ["model", "context_lang"])
    langs = factors.languages(data["context_lang"], settings)
    order = {"context_lang": langs, "error": list(ERRORS)}
    return cells.ordered(data, settings, "context_lang", "error", order=order)


def errors_of(scores: pd.DataFrame) -> pd.Series:
    """The key of ERRORS of each strict verdict, or "correct"."""
    classes = factors.class_of(scores["verdict"]).replace({factors.UNFINISHED: "no_answer"})
    return classes.mask(~cells.judged(scores), "lost")


def _errors(scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """One row a group and error: how many (`n_errors`), and what share of all prompts (`value`)."""
    import pandas as pd

    rows = []
    for key, part in scores.assign(error=errors_of(scores)).groupby(list(by), sort=False):
        labels = dict(zip(by, key, strict=True))
        rows += [labels | row for row in error_shares(part)]
    return pd.DataFrame(rows, columns=[*by, "error", "n_errors", *SHARES])


# Of a mean that is no share: the interval over questions is from the bootstrap.
_MEANS = (
    *("value", "n", "se", "n_questions", "ci_low_clustered", "ci_high_clustered"),
    *("n_skipped", "n_error", "n_cut", "n_exhausted"),
)


def _mean(scores: pd.DataFrame, column: str, *seed: object) -> dict[str, float | int]:
    """_MEANS of a column of `scores`."""
    values = scores[column].to_numpy(dtype="float64")
    questions = scores["example_id"].to_numpy()
    named = ("oneruler", column, *seed)
    low, high = stats.bootstrap_interval(values, questions, seed=named, draws=1000)
    return {
        "value": float(values.mean()),
        "n": len(values),
        "se": float(values.std() / len(values) ** 0.5),
        "n_questions": len(set(questions)),
        "ci_low_clustered": low,
        "ci_high_clustered": high,
        **cells.lost(scores),
        "n_exhausted": int(scores["exhausted"].sum()),
    }


SHARES = ("value", "n", "ci_low_clustered", "ci_high_clustered", "n_questions", "n_exhausted")


def error_shares(scores: pd.DataFrame) -> list[Mapping[str, object]]:
    """For each of ERRORS its number and share in `scores`, which have the column `error`."""
    clusters = scores["example_id"].to_numpy()
    rows = []
    for error in ERRORS:
        here = (scores["error"] == error).to_numpy()
        estimate = asdict(stats.estimate(here.astype("float64"), clusters))
        exhausted = {"n_exhausted": int(scores["exhausted"].sum())}
        rows.append(
            {"error": error, "n_errors": int(here.sum())}
            | {name: estimate[name] for name in SHARES if name in estimate}
            | exhausted
        )
    return rows


def _sorted(data: pd.DataFrame, **order: Sequence[str] | None) -> pd.DataFrame:
    """Rows by these columns: in the order given, or by value."""

    def rank(column: pd.Series) -> pd.Series:
        places = order[str(column.name)]
        if places is None:
            return column
        return column.map({name: i for i, name in enumerate(places)}).astype("float64")

    return data.sort_values(list(order), key=rank, kind="stable").reset_index(drop=True)
