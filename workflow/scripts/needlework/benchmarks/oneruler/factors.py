"""ONERULER's factors in tables and figures: which answers belong together, and which count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from needlework import cells, stats
from needlework import published as publications
from needlework.benchmarks.oneruler.plan import SHORT
from needlework.decoding import GREEDY

if TYPE_CHECKING:
    import pandas as pd

# The tasks in the order of the paper's Figure 5, and what they are called there.
NIAH = {
    "niah_single": "S-NIAH",
    "niah_multikey": "MK-NIAH",
    "niah_multivalue": "MV-NIAH",
    "niah_multiquery": "MQ-NIAH",
    "niah_none": "None-NIAH",
}
CWE = {"cwe_easy": "CWE-easy", "cwe_hard": "CWE-hard"}
TASKS = {**NIAH, **CWE}
# Tasks whose answer is in the text: what can be overlooked.
PRESENT = tuple(task for task in NIAH if task != "niah_none")

# The paper's Table 2: its languages, and how many articles their Wikipedias have.
ARTICLES = {
    "en": 6_961_391,
    "de": 2_992_863,
    "fr": 2_668_204,
    "sv": 2_605_454,
    "nl": 2_180_999,
    "ru": 2_031_560,
    "es": 2_013_009,
    "it": 1_906_293,
    "pl": 1_649_832,
    "zh": 1_465_839,
    "ja": 1_452_150,
    "uk": 1_368_238,
    "vi": 1_293_417,
    "pt": 1_144_604,
    "fa": 1_030_086,
    "sr": 703_048,
    "ko": 699_221,
    "no": 643_075,
    "fi": 589_626,
    "cs": 563_790,
    "hu": 554_772,
    "da": 306_973,
    "ta": 172_122,
    "hi": 165_001,
    "sw": 97_374,
    "st": 1_383,
}
# Section 2: a language with at least as many articles is of high resource.
HIGH_RESOURCE = 250_000
GROUPS = {
    "english": "English",
    "high": "Other high-resource",
    "low": "Low-resource",
    "unknown": "Of unknown resources",
}
# Section 3.1: what the paper calls long contexts.
LONG = (64_000, 128_000)
# The verdict of an answer that the output limit cut off before any text, as happens to models that
# reason. The paper leaves it out of the needle tasks and counts it as wrong in the others (footnote 10).
# An answer that ended without text is wrong in all, as in the released rules.
UNFINISHED = "length"

# The models of the paper's means, and the settings that move its numbers.
PAPER_MODELS = (
    "Gemini 1.5 Flash",
    "Qwen 2.5 72B",
    "o3-mini-high",
    "Llama 3.3 70B",
    "Llama 3.1 8B",
    "Qwen 2.5 7B",
)
PAPER_SETUP = {
    "data": "oneruler",
    "multiquery_needles": 2,
    "cwe_frequencies": "released",
    "metric": "released",
}
PAPER_LENGTHS = (8_000, 32_000, 64_000, 128_000)
# Appendix B.1: greedy, but for the models named here.
PAPER_DECODING = {"o3-mini-high": "the endpoint's own"}
# Appendix D: Figure 24 is of texts of so many tokens of this encoding.
PAPER_TEXT = ("cl100k_base", 128_000)

# What the paper's text says of some numbers, instead of them (the end of their column).
BOUNDS = ("at_least", "at_most")

# What every cell says beside its labels: the mean and its certainty as the paper counts, how many
# answers were dropped for that, the share of right answers among all prompts, and how many prompts
# ended before their length because the vocabulary did.
MEASURES = (*cells.MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted")


class Settings(cells.Settings, total=False):
    """What the tables and figures need to know of a run, beside `cells.Settings`.

    metric: "strict" or "released", whose values the figures draw. equal_text: pairs of models, one
    with prompts measured in its own tokenizer, the other the same with prompts measured in a common
    one. backends: how each model is run. reasoning: models that reason. text_tokenizer: the tokenizer
    in which the texts that all tokenizers count are measured. encodings: tokenizer to its encoding,
    for those of OpenAI. wikipedia_articles: by language, beside those of Table 2.
    """

    metric: str
    equal_text: Sequence[Sequence[str]]
    backends: Mapping[str, str]
    reasoning: Sequence[str]
    text_tokenizer: str
    encodings: Mapping[str, str]
    wikipedia_articles: Mapping[str, int]


def metrics(settings: Settings) -> list[str]:
    """The metric that the figures draw, then the paper's, where that is another."""
    return list(dict.fromkeys((settings.get("metric", "strict"), str(PAPER_SETUP["metric"]))))


def chosen(
    scores: pd.DataFrame,
    settings: Settings,
    tasks: Iterable[str],
    *,
    equal_text: bool = False,
    none_option: bool | None = True,
    crossed: bool = False,
) -> pd.DataFrame:
    """The scores of `tasks` that a figure is of: one metric, instructions in the context's language.

    Models are those that are measured in their own tokenizers, or with `equal_text` the others of the
    pairs. `none_option` None takes the needle tasks with and without the sentence that allows the
    answer "none"; True takes those without it where there are no others. `crossed` takes the prompts
    of two languages as well.
    """
    second = {pair[1] for pair in settings.get("equal_text", ())}
    rows = scores[
        (scores["metric"] == settings.get("metric", "strict"))
        & scores["task"].isin(list(tasks))
        & (scores["model"].isin(second) == equal_text)
    ]
    if not crossed:
        rows = rows[rows["instruction_lang"] == rows["context_lang"]]
    if none_option is not None:
        needles = rows["task"].isin(list(NIAH))
        offered = rows["none_option"].astype(bool)
        wanted = none_option and bool((needles & offered).any())
        rows = rows[~needles | (offered == wanted)]
    return rows


def dropped(scores: pd.DataFrame) -> pd.Series:
    """Which answers the paper leaves out: those to needle tasks that were cut before any text."""
    return (scores["verdict"] == UNFINISHED) & scores["task"].isin(list(NIAH))


def measure(scores: pd.DataFrame) -> dict[str, float | int]:
    """MEASURES of these scores. A skipped or failed request is in `n_all` and `value_all` alone."""
    return _Answers(scores).measure(np.arange(len(scores)))


def summarise(scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """One row a group of `by`, with MEASURES, in the order in which the groups come."""
    import pandas as pd

    answers = _Answers(scores)
    groups = sorted(scores.groupby(list(by)).indices.items(), key=lambda item: item[1][0])
    rows = [
        # A single name's keys are no tuples.
        dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        | answers.measure(places)
        for key, places in groups
    ]
    return pd.DataFrame(rows, columns=[*by, *MEASURES])


class _Answers:
    """Scores as arrays: there are thousands of cells, and slices of a frame are slow."""

    def __init__(self, scores: pd.DataFrame) -> None:
        import pandas as pd

        self._value = scores["value"].to_numpy(dtype=np.float64)
        self._question = pd.factorize(scores["example_id"], sort=True)[0]
        self._dropped = dropped(scores).to_numpy(dtype=bool)
        self._counted = cells.judged(scores) & ~self._dropped
        reasons = scores["finish_reason"].to_numpy(dtype=object)
        self._lost = {
            "n_skipped": reasons == "skipped",
            "n_error": reasons == "error",
            "n_cut": reasons == "length",
        }
        self._exhausted = scores["exhausted"].to_numpy(dtype=bool)

    def measure(self, places: npt.NDArray[np.intp]) -> dict[str, float | int]:
        """MEASURES of the rows at these places."""
        counted = places[self._counted[places]]
        estimate = stats.estimate(self._value[counted], self._question[counted], seed=("estimate",))
        return {
            **asdict(estimate),
            **{name: int(flags[places].sum()) for name, flags in self._lost.items()},
            "n_dropped": int(self._dropped[places].sum()),
            "value_all": float(self._value[places].mean()) if len(places) else np.nan,
            "n_all": len(places),
            "n_exhausted": int(self._exhausted[places].sum()),
        }


def difference(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """second - first of two cells, with Newcombe's interval from the intervals of both.

    The interval is of `value`; `value_all` is the difference over all prompts.
    """
    a, b = first, second
    ends = {}
    for kind in ("", "_clustered"):
        low, high = f"ci_low{kind}", f"ci_high{kind}"
        down = np.hypot(b["value"] - b[low], a[high] - a["value"])
        up = np.hypot(b[high] - b["value"], a["value"] - a[low])
        ends[low] = max(-1.0, b["value"] - a["value"] - down)
        ends[high] = min(1.0, b["value"] - a["value"] + up)
    return {
        "value": b["value"] - a["value"],
        "se": float(np.hypot(a["se"], b["se"])),
        **ends,
        "value_all": b["value_all"] - a["value_all"],
        **{name: a[name] + b[name] for name in MEASURES if name.startswith("n")},
        "n_questions": max(a["n_questions"], b["n_questions"]),
    }


def articles(lang: str, settings: Settings) -> int | None:
    """The number of articles in a language's Wikipedia; None where neither the paper nor the run says."""
    return settings.get("wikipedia_articles", {}).get(lang, ARTICLES.get(lang))


def resources(lang: str, settings: Settings) -> str:
    """The key of GROUPS that a language belongs to."""
    if lang == "en":
        return "english"
    number = articles(lang, settings)
    if number is None:
        return "unknown"
    return "high" if number >= HIGH_RESOURCE else "low"


def languages(present: Iterable[str], settings: Settings) -> list[str]:
    """Languages by the size of their Wikipedias, then those of unknown size by code."""
    return sorted(set(present), key=lambda lang: (-(articles(lang, settings) or 0), lang))


def lengths(scores: pd.DataFrame) -> list[int]:
    """The lengths in tokens, ascending."""
    return sorted(int(length) for length in set(scores["length"]))


def long(scores: pd.DataFrame) -> list[int]:
    """The paper's long contexts; where these scores have neither, their two longest."""
    here = lengths(scores)
    return [length for length in here if length in LONG] or here[-2:]


def length_label(length: int) -> str:
    """128000 as "128K", as in the paper; other lengths in full."""
    return f"{length // 1000}K" if length % 1000 == 0 else f"{length:,}"


def class_of(verdicts: pd.Series) -> pd.Series:
    """The error classes of verdicts: "partial" of "partial:3/4"."""
    return verdicts.str.split(":").str[0]


def number(
    published: pd.DataFrame, table: str, row: str, column: str
) -> publications.Number | None:
    """A printed number, from the paper's text, or else from the figure in its repository."""
    for source in ("paper", "repository"):
        if found := publications.lookup(published, table, row, column, source):
            return found
    return None


def mean_number(
    published: pd.DataFrame, settings: Settings, table: str, row: str, column: str
) -> publications.Number | None:
    """`number`, of a mean over the paper's models: None where a run has none of these."""
    return number(published, table, row, column) if settings.get("published") else None


def beside(
    cell: Mapping[str, float],
    published: pd.DataFrame,
    place: tuple[str, str, str],
    why: str | None,
) -> dict[str, object]:
    """`cells.COMPARISON` with what the paper prints of a `place` (table, row, column), and `bound`.

    `bound` is None beside a number. Where the text only says "above 80%" it is "at_least", or
    "at_most" ("none above 1%"): an interval that lies wholly on the right side of a bound agrees with it
    too.
    """
    table, row, column = place
    found, bound = number(published, table, row, column), None
    for kind in BOUNDS if found is None else ():
        if found := number(published, table, row, f"{column}/{kind}"):
            bound = kind
            break
    comparison = cells.compared(cell, found, why)
    if comparison["comparison"] == {"at_least": "above", "at_most": "below"}.get(bound or ""):
        comparison["comparison"] = "covers"
    return {"bound": bound, **comparison}


def obstacle(
    scores: pd.DataFrame,
    settings: Settings,
    *,
    tasks: Iterable[str] = NIAH,
    all_models: bool = False,
    lengths: Iterable[int] = (),
    languages: Iterable[str] = (),
) -> str | None:
    """Why a mean of these scores answers another question than the paper's, or None.

    The paper's mean is over `tasks`, with `all_models` over all its models, and over `lengths` and
    `languages` of contexts where any are named: of each model all of them.
    """
    setup = {**settings.get("setup", {}), "metric": str(scores["metric"].iloc[0])}
    # In other lists, and where there are none, both frequencies are the same.
    if not (scores["task"].isin(list(CWE)) & (scores["length"] == SHORT)).any():
        setup.pop("cwe_frequencies", None)
    reasons = cells.differences(setup, PAPER_SETUP) + _other_decoding(scores, settings)
    parts = [part for _, part in scores.groupby("model", sort=False)]
    for column, what, wanted in (
        ("task", "tasks", set(tasks)),
        ("length", "lengths", set(lengths)),
        ("context_lang", "languages", set(languages)),
    ):
        if wanted and any(set(part[column]) != wanted for part in parts):
            reasons.append(f"other {what}")
    if not scores.loc[scores["task"].isin(list(NIAH)), "none_option"].astype(bool).all():
        reasons.append("without the sentence that allows the answer none")
    if all_models:
        names = settings.get("published", {})
        if {names.get(model) for model in set(scores["model"])} != set(PAPER_MODELS):
            reasons.append("other models")
    return "; ".join(reasons) or None


def _other_decoding(scores: pd.DataFrame, settings: Settings) -> list[str]:
    """How those of the paper's models that have scores decode, where it is not as in the paper."""
    names, used = settings.get("published", {}), settings.get("decoding", {})
    reasons: list[str] = []
    for model in cells.models(settings, scores):
        if model in names and model in used:
            paper = PAPER_DECODING.get(names[model], GREEDY)
            reasons += cells.differences({"decoding": used[model]}, {"decoding": paper})
    return list(dict.fromkeys(reasons))
