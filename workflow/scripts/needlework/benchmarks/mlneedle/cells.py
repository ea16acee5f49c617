"""From MLNeedle's scores to cells: which answers belong together, their mean, and its certainty."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from needlework import published as publications
from needlework import stats

if TYPE_CHECKING:
    import pandas as pd

LANGUAGES = ("en", "de", "es", "zh", "vi", "hi", "ar")
HAYSTACKS = (*LANGUAGES, "multilingual")
POSITIONS = ("start", "middle", "end")

# What every cell of every table says beside its labels.
MEASURES = (
    "value",
    "n",
    "se",
    "ci_low",
    "ci_high",
    "n_questions",
    "ci_low_clustered",
    "ci_high_clustered",
    "n_skipped",
    "n_error",
    "n_cut",
)
COMPARISON = ("published", "published_n", "comparison")

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
PAPER_SETUP = {
    "needles": "mlqa",
    "mlqa_split": "test",
    "haystack": "mmarco",
    "passages": 10000,
    "embedder": "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
    "aligned": False,
    "truncate_last": True,
    "translator": "google",
}
PAPER_VARIANT = ("en", "semantic")


class Settings(TypedDict, total=False):
    """What the tables and figures need to know of a run.

    models: all models, in the order of rows and colours. published: model to its name in the
    paper's numbers. claimed_length: model to the context length that its makers claim, in tokens.
    instruction_tuning: pairs [base, instruction-tuned]. decoding: pairs [greedy, sampling].
    setup: the run's values of the keys of PAPER_SETUP.
    """

    models: Sequence[str]
    published: Mapping[str, str]
    claimed_length: Mapping[str, int]
    instruction_tuning: Sequence[Sequence[str]]
    decoding: Sequence[Sequence[str]]
    setup: Mapping[str, object]


def models(settings: Settings, scores: pd.DataFrame) -> list[str]:
    """The models that have scores, in the run's order, then any others by name."""
    present = set(scores["model"])
    listed = [model for model in settings.get("models", ()) if model in present]
    return listed + sorted(present.difference(listed))


def languages(present: Iterable[str]) -> list[str]:
    """Languages in the order of the paper's Table 2, then others by code, `multilingual` last."""
    found = set(present) - {"none"}
    known = [lang for lang in LANGUAGES if lang in found]
    last = ["multilingual"] if "multilingual" in found else []
    return known + sorted(found.difference(known, last)) + last


def lengths(scores: pd.DataFrame) -> list[int]:
    """The context lengths in tokens, ascending; the baseline is not among them."""
    return sorted(int(length) for length in set(scores["length"]) if length > 0)


def length_label(length: int) -> str:
    """4096 as "4K", as in the paper; other lengths in full; 0 as "baseline"."""
    if length == 0:
        return "baseline"
    return f"{length // 1024}K" if length % 1024 == 0 else f"{length:,}"


def variants(scores: pd.DataFrame) -> list[tuple[str, str]]:
    """The (question_lang, retrieval) pairs in the scores, the paper's first.

    They are never averaged over: each has rows of its own.
    """
    import pandas as pd

    long = scores[scores["length"] > 0]
    found = set(zip(long["question_lang"], long["retrieval"], strict=True))
    # Question languages that have a baseline only.
    short = set(scores["question_lang"]) - {question_lang for question_lang, _ in found}
    found |= {(question_lang, "none") for question_lang in short if not pd.isna(question_lang)}
    order = [*LANGUAGES, *sorted({question_lang for question_lang, _ in found} - set(LANGUAGES))]
    return sorted(found, key=lambda pair: (order.index(pair[0]), pair[1] != "semantic", pair[1]))


def select(scores: pd.DataFrame, variant: tuple[str, str]) -> pd.DataFrame:
    """The scores of one variant, with the prompts that have no distractors to retrieve."""
    question_lang, retrieval = variant
    return scores[
        (scores["question_lang"] == question_lang) & scores["retrieval"].isin([retrieval, "none"])
    ]


def judged(scores: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which answers were given: a skipped or failed request tells nothing of a model."""
    reasons = scores["finish_reason"].to_numpy(dtype=object)
    value = scores["value"].to_numpy(dtype=np.float64)
    return (reasons != "skipped") & (reasons != "error") & ~np.isnan(value)


def lost(scores: pd.DataFrame) -> dict[str, int]:
    """How many requests were skipped or failed, and how many answers cut at the token limit."""
    reasons = scores["finish_reason"].to_numpy(dtype=object)
    return {
        "n_skipped": int((reasons == "skipped").sum()),
        "n_error": int((reasons == "error").sum()),
        "n_cut": int((reasons == "length").sum()),
    }


def measure(scores: pd.DataFrame, strata: str | None = None) -> dict[str, float | int]:
    """MEASURES of these scores; the mean of the means of `strata` (a column) where one is named.

    Answers that were never given are counted apart and are in no mean.
    """
    given = judged(scores)
    estimate = stats.estimate(
        scores["value"].to_numpy()[given],
        scores["example_id"].to_numpy()[given],
        None if strata is None else scores[strata].to_numpy()[given],
        seed=("mlneedle", "estimate"),
    )
    return {**asdict(estimate), **lost(scores)}


def summarise(scores: pd.DataFrame, by: Sequence[str], strata: str | None = None) -> pd.DataFrame:
    """One row a group of `by`, with MEASURES, in the order in which the groups come."""
    import pandas as pd

    rows = []
    for key, group in scores.groupby(list(by), sort=False):
        labels: tuple[Hashable, ...] = key if isinstance(key, tuple) else (key,)
        rows.append({**dict(zip(by, labels, strict=True)), **measure(group, strata)})
    return pd.DataFrame(rows, columns=[*by, *MEASURES])


def compared(
    cell: Mapping[str, float | int],
    number: publications.Number | None,
    obstacle: str | None,
) -> dict[str, object]:
    """COMPARISON of a cell with a published number, by the interval over questions.

    A mean that lacks answers is a mean of other prompts: it is not compared.
    """
    missing = cell["n_skipped"] + cell["n_error"]
    if missing > 0:
        obstacle = f"{missing:,} answers are missing"
    return {
        "published": None if number is None else number.value,
        "published_n": None if number is None else number.n,
        "comparison": publications.compare(
            float(cell["value"]),
            float(cell["ci_low_clustered"]),
            float(cell["ci_high_clustered"]),
            None if number is None else number.value,
            obstacle,
        ),
    }


def obstacle(
    settings: Settings,
    variant: tuple[str, str],
    scores: pd.DataFrame,
    **expected: Sequence[str],
) -> str | None:
    """Why these scores answer another question than the paper's, or None.

    `expected` are factors and the values over which the paper's number is a mean; prompts of the
    baseline have none of them and are not held against it, except for `needle_lang`.
    """
    reasons = [
        f"{key} is {_plain(value)}, in the paper {_plain(PAPER_SETUP[key])}"
        for key, value in settings.get("setup", {}).items()
        if key in PAPER_SETUP and value != PAPER_SETUP[key]
    ]
    question_lang, retrieval = variant
    if question_lang != PAPER_VARIANT[0]:
        reasons.append("questions in another language")
    if retrieval not in (PAPER_VARIANT[1], "none"):
        reasons.append("other distractors")
    for factor, values in expected.items():
        present = set(scores[factor]) - {"none"}
        if present and present != set(values):
            reasons.append(f"other values of {factor}")
    return "; ".join(reasons) or None


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
