"""Which of MLNeedle's scores belong together, in which order, and what the paper's settings are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework import cells
from needlework.decoding import GREEDY

if TYPE_CHECKING:
    import pandas as pd

LANGUAGES = ("en", "de", "es", "zh", "vi", "hi", "ar")
HAYSTACKS = (*LANGUAGES, "multilingual")
POSITIONS = ("start", "middle", "end")

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
    "metric": "containment",
    "answer_languages": sorted(LANGUAGES),
}
# Section 2; greedy decoding is the ablation of Table 4.
GREEDY_ROW = " (greedy)"
PAPER_DECODING = "temperature 0.7, top-k 50, top-p 1"
PAPER_VARIANT = ("en", "semantic")


class Settings(cells.Settings, total=False):
    """What MLNeedle's tables and figures need to know of a run.

    claimed_length: model to the context length that its makers claim, in tokens. instruction_tuning:
    pairs [base, instruction-tuned]. greedy_or_sampling: pairs [greedy, sampling]. setup: the run's values
    of the keys of PAPER_SETUP.
    """

    claimed_length: Mapping[str, int]
    instruction_tuning: Sequence[Sequence[str]]
    greedy_or_sampling: Sequence[Sequence[str]]


def languages(present: Iterable[str]) -> list[str]:
    """Languages in the order of the paper's Table 2, then others by code, `multilingual` last."""
    found = set(present) - {"none"}
    known = [lang for lang in LANGUAGES if lang in found]
    last = ["multilingual"] if "multilingual" in found else []
    return known + sorted(found.difference(known, last)) + last


def lengths(scores: pd.DataFrame) -> list[int]:
    """The context lengths in tokens, ascending; the baseline is not among them."""
    return sorted(int(length) for length in set(scores["length"]) if length > 0)


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
    reasons = cells.differences(settings.get("setup", {}), PAPER_SETUP)
    for model in scores["model"].unique():
        greedy = settings.get("published", {}).get(model, "").endswith(GREEDY_ROW)
        paper = GREEDY if greedy else PAPER_DECODING
        ours = settings.get("decoding", {}).get(model, paper)
        reasons += cells.differences({"decoding": ours}, {"decoding": paper})
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
