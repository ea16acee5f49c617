"""Lost in the Middle's figures of ablations: what a change of one thing does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle import answers, figure_notes
from needlework.benchmarks.lost_in_the_middle.factors import INDEX, PAIRS, QA, SIZE
from needlework.benchmarks.lost_in_the_middle.figures import BY_MODEL, CURVES, english
from needlework.benchmarks.lost_in_the_middle.tables import (
    POSITION,
    TASK,
    VARIANT,
    curves,
)
from needlework.factor import Factor
from needlework.results.context import Context
from needlework.results.figures.style import COLOURS
from needlework.results.result import MCNEMAR, Lines, figure
from needlework.results.tabulate import MODEL, PAIRED, arranged, stacked, where

if TYPE_CHECKING:
    import pandas as pd

ENGLISH = f"task == '{QA}' and lang == 'en'"
UUIDS = f"task == '{PAIRS}' and keys == 'uuid'"


def _lines(variant: str, changed: str, plain: str, nothing: str, **more: Any) -> Lines:
    """A panel a model, a row a size: the line with a change (blue) and the one without (grey)."""
    return replace(
        BY_MODEL,
        line="variant",
        looks={variant: (COLOURS[0], "o"), "main": ("#777777", "s")},
        called={variant: changed, "main": plain},
        nothing=nothing,
        **more,
    )


def ablation(rows: pd.DataFrame, run: Context, variant: str, tasks: str = ENGLISH) -> pd.DataFrame:
    """Accuracy by position in a variant and, in the same sizes, without it ("main").

    Unambiguous questions are some of the same answers, so that there is nothing to test.
    """
    plain = answers.main_beside(rows, variant)
    main = curves(where(plain, tasks), run, variant="main", sort=())
    if variant == "unambiguous":
        changed = curves(answers.unambiguous(english(rows)), run, variant=variant, sort=())
    else:
        asked = where(answers.with_variant(rows), f"variant == '{variant}' and ({tasks})")
        changed = curves(asked, run, variant=variant, tested_against=plain, also=PAIRED, sort=())
    # Without an answer in the variant, nothing is tested.
    made = stacked(main, changed) if len(changed) else main
    return arranged(made, run, MODEL, TASK, VARIANT, SIZE, POSITION, INDEX)


@figure(
    "Query before and after the documents or pairs",
    _lines(
        "query_aware",
        "query before and after",
        "query after",
        "no English prompt has the query before its documents, and none of UUIDs before its pairs",
    ),
    when=("query_aware",),
    notes=(MCNEMAR,),
)
def figure12(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First: the question, or the key, after the documents or pairs alone, as in the paper's
    Tables 5 to 7 and the released code's 140 pairs. Second: before them as well, for which
    section 5.2 reports perfect accuracy among 300 pairs. English questions and UUIDs; the
    table of every cell has the others.
    """
    return ablation(rows, run, "query_aware", f"({ENGLISH}) or ({UUIDS})")


@figure(
    "Base and instruction-tuned models",
    replace(
        CURVES,
        row=("pair",),
        row_title="",
        suffix="role",
        nothing="no base model and its instruction-tuned variant answered English questions",
    ),
    when=("instruction_tuning",),
    notes=(MCNEMAR,),
)
def figure13(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First the base model, second the instruction-tuned one, which the paper's Tables 5 to 7
    have.
    """
    pair = Factor("pair")
    return curves(
        answers.tuning_pairs(english(rows), run),
        run,
        (pair, MODEL, Factor("role"), TASK, SIZE, INDEX),
        variant="main",
        tested_against=answers.base_models(rows, run),
        also=("pair", "role", *PAIRED),
        sort=(MODEL, pair),
    )


@figure(
    "Unambiguous questions",
    _lines(
        "unambiguous",
        "unambiguous questions",
        "all questions",
        "no list says which English questions are unambiguous",
        counted="variant == 'main'",
        note=figure_notes.unambiguous,
    ),
    when=("unambiguous",),
)
def figure15(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Beside all English questions, of which the paper's numbers are. The paper's list is not
    published: the run's configuration names one.
    """
    return ablation(rows, run, "unambiguous")


@figure(
    "Random distractors",
    _lines(
        "random_distractors",
        "random distractors",
        "retrieved distractors",
        "no English prompt has random distractors",
    ),
    when=("random_distractors",),
    notes=(MCNEMAR,),
)
def figure16(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions. First: retrieved distractors, as in the paper's Tables 5 to 7;
    second: random ones.
    """
    return ablation(rows, run, "random_distractors")


@figure(
    "Distractors in random order",
    _lines(
        "random_order",
        "random order, and said so",
        "order of relevance",
        "no English prompt has its distractors in random order",
    ),
    when=("random_order",),
    notes=(MCNEMAR,),
)
def figure17(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions, with an instruction that says so. First: the order of relevance, as
    in the paper's Tables 5 to 7; second: the random one.
    """
    return ablation(rows, run, "random_order")
