"""MLNeedle's tables: the paper's tables, and further ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlneedle import paper
from needlework.benchmarks.mlneedle.factors import (
    HAYSTACK,
    LANGUAGES,
    LENGTH,
    NEEDLE,
    PRESENT,
    QUESTION,
    RETRIEVAL,
)
from needlework.factor import Factor
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.columns import COMPARISON, MEASURES
from needlework.results.result import (
    ABSENT,
    DELTA,
    Context,
    Grid,
    Mark,
    Number,
    PromptTable,
    pairs,
    table,
)
from needlework.results.tabulate import MODEL, By, mean, model_pairs, tabulate, where
from needlework.scoring.metric import CAREFUL

if TYPE_CHECKING:
    import pandas as pd


LABELS = ["question_lang", "retrieval", "model", "source"]
BY_MODEL = (QUESTION, RETRIEVAL, MODEL)
APART = (QUESTION, RETRIEVAL)
TWO = Number(digits=2)

NEEDLES = replace(NEEDLE, order=("all", *LANGUAGES))
LENGTHS = replace(LENGTH, label="Length", words={"all": "all"})
# Rows of Table 1 that are lengths, not accuracies.
OF_LENGTH = ("claimed_length", "effective_length")
COLUMNS = LENGTH.renamed(
    "column",
    label="",
    order=(*OF_LENGTH, "baseline"),
    last=("average",),
    words={
        0: "baseline",
        "claimed_length": "Claimed",
        "effective_length": "Effective",
        "baseline": "Baseline",
        "average": "Avg.",
    },
)
COLUMN = By(COLUMNS, "length", margin="average", last=True, text=True)
TOKENS = Number(column="tokens", factor=LENGTHS, compared=False)


def exact(rows: pd.DataFrame) -> pd.DataFrame:
    """The answers to questions that ask for the answer, not its existence, with and without distractors."""
    return where(rows, "task == 'exact'")


def write_effective_length(
    value: float, cell: Mapping[str, Any], shown: pd.DataFrame, of_paper: bool
) -> str:
    """An effective length as text, or "<" and the shortest length that the model or the paper has."""
    if value:
        return LENGTHS.called(int(value))
    mine = shown["published"].notna() if of_paper else shown["model"] == cell["model"]
    lengths = [int(n) for n in shown.loc[mine, "column"] if str(n).isdigit()]
    return f"<{LENGTHS.called(min(lengths))}" if lengths else ABSENT


@table(
    "Accuracy by context length",
    Grid(
        rows=(MODEL,),
        columns=(COLUMNS,),
        apart=APART,
        numbers={
            ("column", "claimed_length"): TOKENS,
            ("column", "effective_length"): replace(
                TOKENS, factor=None, write=write_effective_length
            ),
        },
        marks=(
            Mark(
                "share_of_baseline >= 0.75 - 1e-12", "at least 75% of the baseline", underline=True
            ),
        ),
        answers="column == 'average'",
    ),
)
def table1(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all needle languages, haystack languages and positions, at each length and without
    distractors (baseline). The average is the mean of the baseline and the lengths, as in the paper. The
    effective length is the longest one whose accuracy is at least 75% of the baseline's. If no length reaches
    this, the table has “<” and the shortest length, and the CSV 0.
    """
    import pandas as pd

    from needlework.results import cells

    by = (*BY_MODEL, COLUMN)
    made = tabulate(exact(rows), by, run, measure=mean("length"), beside=paper.TABLE1, models=rows)
    made = made.reindex(columns=[*LABELS, "column", "share_of_baseline", *MEASURES, *COMPARISON])
    parts = []
    for key, own in made.groupby(LABELS, sort=False):
        if key[-1] != "published":
            baseline = own.loc[own["column"] == "baseline", "value"]
            whole = float(baseline.iloc[0]) if len(baseline) else math.nan
            # The average has none.
            shares = (own["value"] / (whole or math.nan)).mask(own["column"] == "average")
            parts.append(_lengths(own, run))
            own = own.assign(share_of_baseline=shares)
        parts.append(own)
    made = pd.concat(parts or [made]).reindex(columns=made.columns).astype(made.dtypes.to_dict())
    made = cells.apart(made, made["column"].isin(OF_LENGTH), "tokens")
    return made.astype({"tokens": "Int64", "published_tokens": "Int64"})


def _lengths(own: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of a model's claimed and effective length, in tokens; 0 where no length keeps 75%.

    `own` are its rows of Table 1.
    """
    import pandas as pd

    from needlework.results import cells, stats

    labels = own[LABELS].iloc[0].to_dict()
    means = dict(zip(own["column"], own["value"], strict=True))
    by_length = {int(n): value for n, value in means.items() if str(n).isdigit()}
    tokens = {
        "claimed_length": run.run.get("claimed_length", {}).get(labels["model"]),
        "effective_length": stats.effective_length(by_length, means.get("baseline")),
    }
    told = (str(said).partition(": ") for said in own["comparison"])
    why = next((reason for verdict, _, reason in told if verdict == "cannot tell"), None)
    made = []
    for column, value in tokens.items():
        cell = dict.fromkeys(MEASURES, math.nan)
        cell["value"] = math.nan if value is None else float(value)
        found = run.find("table1", run.paper_name(labels["model"]), column)
        other = why if column == "effective_length" else None
        compared = cells.compared(cell, found, other, digits=0)
        made.append({**labels, "column": column, **cell, **compared})
    return pd.DataFrame(made)


@table(
    "Accuracy by needle and haystack language",
    Grid(
        rows=(HAYSTACK,),
        columns=(NEEDLES,),
        apart=APART,
        number=TWO,
        where="length == 'average' or source == 'published'",
        float_per=(MODEL,),
        note="Averaged over the context lengths.",
    ),
)
def table2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Averaged over the lengths; the CSV also has each length. The paper's caption calls its numbers
    averages, but they are those of each model's longest length (``docs/fidelity.md``). They are compared with
    ours of that length. The haystack ``multilingual`` mixes all languages; the paper does not have it.
    """
    return tabulate(
        where(exact(rows), "length > 0"),
        (*BY_MODEL, HAYSTACK, NEEDLE, By(LENGTH, margin="average")),
        run,
        measure=mean("length"),
        beside=paper.TABLE2,
        models=rows,
    )


PAIRS = pairs((COLUMNS,), apart=APART, answers="role != 'delta' and column == 'average'")


@table("Base and instruction-tuned models", PAIRS, when=("instruction_tuning",), notes=(DELTA,))
def table3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper's instruction-tuned row repeats the greedy row of its Table 4."""
    return _in_pairs(rows, run, "table3", run.run.get("instruction_tuning", ()))


@table("Greedy decoding and sampling", PAIRS, when=("decoding",), notes=(DELTA,))
def table4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First: greedy decoding. Second: sampling."""
    return _in_pairs(rows, run, "table4", run.run.get("greedy_or_sampling", ()))


def _in_pairs(
    rows: pd.DataFrame, run: Context, name: str, pairs: Sequence[Sequence[str]]
) -> pd.DataFrame:
    asked = exact(rows)
    return model_pairs(
        asked,
        pairs,
        (QUESTION, RETRIEVAL),
        (COLUMN,),
        run,
        same=(
            *("example_id", "needle_lang", "haystack_lang", "question_lang", "retrieval"),
            *("position", "length", "sample"),
        ),
        strata="length",
        beside=paper.in_pairs(run, asked, name, pairs),
    )


@table(
    "Existence accuracy with and without the needle",
    Grid(
        rows=(MODEL, LENGTHS),
        columns=(
            Factor(
                "needle",
                label="Needle",
                order=("present", "absent", "balanced"),
                words={"balanced": "mean of both"},
            ),
        ),
        apart=APART,
        answers="length == 'all' and needle != 'balanced'",
        empty="no existence prompts",
    ),
    by_metric=CAREFUL,
)
def existence(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Does any passage hold the answer? Present: all prompts hold the needle, as in the paper, and a model
    that always says Yes scores 1. Absent: the same questions without the needle. Mean of both: a model that
    always says Yes, or always No, scores 0.5.
    """
    needle = PRESENT.renamed("needle")
    there = By(needle, "needle_present", "balanced", last=True, several=True, text=True)
    asked = where(rows, "task == 'existence' and length > 0")
    by = (*BY_MODEL, By(LENGTH, margin="all"), there)
    return tabulate(asked, by, run, measure=mean("needle_present"))


@table(
    "Accuracy without passages",
    Grid(
        rows=(
            MODEL,
            replace(
                COLUMNS, label="Passages", words={"closed_book": "none", "baseline": "needle alone"}
            ),
        ),
        columns=(NEEDLES,),
        apart=APART,
        number=TWO,
        answers="needle_lang == 'all'",
        empty="no closed-book prompts",
    ),
)
def closed_book(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The questions without passages show what a model knows or has seen in training. “Needle alone” has the
    needle as the only passage. The facts of the embedded sample are invented. If a model scores well above 0
    on them without passages, it has seen the sample.
    """
    rows = where(rows, "length == 0 and task in ('closed_book', 'exact')")
    keys = ["model", "question_lang", "needle_lang"]
    asked = rows.merge(rows.loc[rows["task"] == "closed_book", keys].drop_duplicates(), on=keys)
    passages = Factor("column", order=("closed_book", "exact"), words={"exact": "baseline"})
    by = (QUESTION, MODEL, By(NEEDLE, margin="all"), By(passages, "task", text=True))
    made = tabulate(asked, by, run, retrieval="none")
    return made[[*LABELS, "needle_lang", "column", *MEASURES]]


@table(
    "Gold answers that survive translation",
    Grid(
        rows=(Factor("lang", label="Language"), Factor("n", label="n")),
        head="Survived",
        over="answers",
        empty="nothing was translated",
    ),
    needs="ceilings",
    when=("english_answers",),
)
def translation_ceiling(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The metric translates answers into English. The table has the share of each language's gold answers
    that are still right after translation, which is the score of perfect answers.
    """
    import pandas as pd

    from needlework.results import stats

    made = []
    counts = rows.groupby("lang")[["n", "n_survived"]].sum()
    for lang in NEEDLE.sorted(counts.index):
        n, survived = int(counts.loc[lang, "n"]), int(counts.loc[lang, "n_survived"])
        value = survived / n if n else math.nan
        interval = stats.clopper_pearson(value, n)
        made.append((lang, value, n, stats.standard_error(value, n), *interval))
    names = ["value", "n", "se_independent", "ci_low_independent", "ci_high_independent"]
    return pd.DataFrame(made, columns=["lang", *names])


answered_in = by_answers_language(QUESTION, NEEDLE, HAYSTACK, asked="question_lang")

# The table of the prompts themselves.
PROMPTS = PromptTable(
    by=("needle_lang", "task", "length"),
    counts=(
        ("prompts", "example_id", "size"),
        ("questions", "example_id", "nunique"),
        ("haystacks", "haystack_lang", "nunique"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("distractors_mean", "n_distractors", "mean"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("needle_lang", ""),
)
