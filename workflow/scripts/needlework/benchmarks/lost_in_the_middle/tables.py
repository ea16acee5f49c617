"""Lost in the Middle's tables: accuracies, and how many tokens prompts have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle import factors, paper
from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    INDEX,
    KEYS,
    LANG,
    LEVELS,
    OPEN,
    PAIRS,
    POSITION,
    QA,
    SIZE,
    TASK,
    VARIANT,
)
from needlework.factor import Factor
from needlework.results import published as publications
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.columns import MEASURES
from needlework.results.result import (
    LOST,
    PERCENT,
    Context,
    Grid,
    Mark,
    Number,
    PromptTable,
    table,
)
from needlework.results.tabulate import (
    MODEL,
    By,
    Cell,
    Levels,
    arranged,
    other_settings,
    own_instructions,
    tabulate,
    walk,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

# How figures sort their rows.
SHOWN_TASK = TASK.renamed("task", order=("closed_book", QA, PAIRS, OPEN, "recall", "oracle"))
SORTED = (MODEL, SHOWN_TASK, VARIANT, SIZE, POSITION)
LABELS = ["model", "source", "task", "variant", "n_documents", "gold_index", "position"]

# How factors are called in tables.
HEADS = {"closed_book": "Closed-Book", "oracle": "Gold alone"}
TABLE_TASK = TASK.renamed("task", order=factors.TASKS, words=HEADS)
TABLE_LANG = LANG.renamed("lang", order=())
COLUMN = Factor("column", "int32", order=LEVELS, words=HEADS)
ACCURACIES: dict[str, Any] = {
    "rows": (MODEL.renamed("model", label="Model"),),
    "lines": (LOST,),
    "marks": (
        Mark(
            "published_source == 'repository'",
            "from the released code's EXPERIMENTS.md",
            paper=True,
        ),
    ),
    "number": PERCENT,
    "note": "Accuracy in %.",
}


def with_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column `variant`, the name of their ablation.

    In rows without an ablation ("main"), the query stands behind the documents or pairs, and distractors are
    retrieved and in the order of relevance.
    """
    import numpy as np

    changes = {
        "query_aware": rows["query_aware"].eq(True),
        "random_distractors": rows["distractors"] == "random",
        "random_order": rows["order"] == "random",
    }
    return rows.assign(variant=np.select(list(changes.values()), list(changes), "main"))


def main(rows: pd.DataFrame, condition: str) -> pd.DataFrame:
    """The rows without an ablation for which a condition holds, with `variant`."""
    return where(with_variant(rows), f"variant == 'main' and {condition}")


def position(cell: Cell) -> int | None:
    """The position of the document or pair in the prompt, from 1; None for a cell with several positions."""
    index = cell.labels.get("gold_index")
    return None if index is None else index + 1


def curves(
    rows: pd.DataFrame,
    run: Context,
    by: Levels = (MODEL, SHOWN_TASK, SIZE, INDEX),
    also: Sequence[str] = (),
    **more: Any,
) -> pd.DataFrame:
    """Accuracies by position: LABELS, measures, the paper's numbers, the columns `also`, and tests.

    `more` are arguments of `tabulate`, such as labels.
    """
    given: dict[str, Any] = {"beside": paper.CELLS, "position": position} | more
    made = tabulate(rows, by, run, compared=paper.COMPARED, **given)
    columns = dict.fromkeys([*LABELS, *MEASURES, *paper.COMPARED, *also, *made])
    return made.reindex(columns=list(columns))


def _grid(label: str) -> Grid:
    column = COLUMN.renamed("column", label=label)
    return Grid(columns=(column,), apart=(TABLE_LANG,), **ACCURACIES)


def _accuracies(
    rows: pd.DataFrame, run: Context, name: str, column: By, condition: str
) -> pd.DataFrame:
    more: dict[str, Any] = {"compared": paper.COMPARED, "models": rows}
    asked, beside = main(rows, condition), paper.TABLES[name]
    return tabulate(asked, (LANG, MODEL, column), run, beside=beside, **more)


def _by_index(rows: pd.DataFrame, run: Context, n: int) -> pd.DataFrame:
    column = By(Factor("column", "int32"), "gold_index", text=True)
    asked = f"task == '{QA}' and n_documents == {n}"
    return _accuracies(rows, run, factors.QA_TABLES[n], column, asked)


@table("Accuracy without documents, and with the gold document alone", _grid(""), when=("levels",))
def table1(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Without documents: what a model knows already. With the gold document alone: the best that it can do
    with more documents. Means leave out prompts that are longer than the model's context. The numbers of
    Llama-2-70B-chat are from the released code's EXPERIMENTS.md, not from the paper.
    """
    column = By(Factor("column", order=LEVELS), "task", text=True)
    return _accuracies(rows, run, "table1", column, f"task in {LEVELS}")


BY_INDEX = _grid(INDEX.label)


@table("Accuracy among 10 documents by the gold document's index", BY_INDEX, when=("10_documents",))
def table5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Indices count from 0. The paper's numbers are for English."""
    return _by_index(rows, run, 10)


@table("Accuracy among 20 documents by the gold document's index", BY_INDEX, when=("20_documents",))
def table6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Indices count from 0. The paper's numbers are for English. For GPT-3.5-Turbo at index 9, the paper's
    section 3.3 has 52.9% and its table 53.8%. The numbers of Llama-2-70B-chat are from the released code's
    EXPERIMENTS.md, for the 2,635 prompts that fit into its context.
    """
    return _by_index(rows, run, 20)


@table("Accuracy among 30 documents by the gold document's index", BY_INDEX, when=("30_documents",))
def table7(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Indices count from 0. The paper's numbers are for English. For GPT-3.5-Turbo (16K) at index 9, the
    paper's section 3.3 has 49.5% and its table 50.5%.
    """
    return _by_index(rows, run, 30)


def _cells(show: str, *columns: Factor, float_per: tuple[Factor, ...] = ()) -> Grid:
    apart = (KEYS, TABLE_LANG, VARIANT)
    return Grid(columns=columns, apart=apart, where=show, float_per=float_per, **ACCURACIES)


@table(
    "Accuracy of every cell",
    _cells(f"task in {list(HEADS)}", TABLE_TASK),
    _cells(
        f"task in {[QA, PAIRS]}",
        INDEX.renamed("gold_index", label="Index of the gold document or pair"),
        float_per=(SIZE, TASK.renamed("task", order=())),
    ),
    _cells(
        f"task == '{OPEN}'",
        SIZE.renamed("n_documents", label="Retrieved documents"),
        float_per=(TASK.renamed("task", words={OPEN: "retrieved documents"}),),
    ),
)
def accuracy(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All languages, ablations and positions; each answer counts in one row. Key-value retrieval counts pairs
    instead of documents.
    """
    made = tabulate(
        with_variant(rows),
        (MODEL, TABLE_TASK, LANG, KEYS, VARIANT, SIZE, By(INDEX, nullable=True)),
        run,
        beside=paper.CELLS,
        compared=paper.COMPARED,
        position=position,
    )
    by = (MODEL, TABLE_TASK, SIZE, KEYS, LANG, VARIANT, INDEX)
    return arranged(made.astype({"position": "Int64"}), run, *by)


answered_in = by_answers_language(
    TABLE_LANG,
    asked="lang",
    of=lambda rows, run: where(rows, "task != 'key_value'"),
    when=("questions",),
)


# Lost in the Middle's tables of prompts: how many tokens they have, for which no model is needed.

STATISTICS = ("mean", "stdev", "max")
# Of a tokenizer's counts in one setting.
COUNTS = (
    *("tokenizer", "source", "lang", "keys", "column", *STATISTICS, "n", "n_prompts"),
    *(f"published_{name}" for name in STATISTICS),
    *(f"published_cell_{name}" for name in STATISTICS),
    "comparison",
)
TOKENS = (
    "Counted by every tokenizer of the run. Mean and sample standard deviation are over questions or "
    "examples. Ours equal the paper's if all three numbers do, to the last printed digit."
)
MEANS = "Each question or example counts as the mean of its prompts; the maximum is over prompts."
# An inference: the closed-book prompts have 15.3 tokens without one (docs/fidelity.md).
CHAT_FORMATS = (
    "The paper's counts of MPT-30B and LongChat-13B (16K) seem to include these models' chat formats, so "
    "ours are not compared with them."
)


def statistics(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one row per statistic in place of one column per statistic."""
    import pandas as pd

    parts = []
    for name in STATISTICS:
        part = table.assign(statistic=name, value=table[name], published=table[f"published_{name}"])
        listed = part["comparison"].fillna("")
        same = listed.str.startswith("differs") & ~listed.str.contains(name)
        parts.append(part.assign(comparison=listed.mask(same, "equals")))
    return pd.concat(parts)


def _token_grid(label: str) -> Grid:
    return Grid(
        rows=(Factor("tokenizer", label="Tokenizer"),),
        columns=(
            COLUMN.renamed("column", label=label),
            Factor("statistic", order=STATISTICS, words={"mean": "avg", "stdev": "± stdev"}),
        ),
        apart=(KEYS, TABLE_LANG),
        number=Number(digits=1),
        numbers={("statistic", "max"): Number(digits=0)},
        prepare=statistics,
        note="Tokens of the prompts, without a chat template; n: examples. " + CHAT_FORMATS,
        empty="no prompts",
    )


@table(
    "Tokens of prompts without documents, and with the gold document alone",
    _token_grid(""),
    needs="instances",
    when=("levels",),
    notes=(
        f"{TOKENS} Closed book, the paper has 43.5 tokens for MPT-30B and 55.6 for LongChat-13B (16K); "
        "GPT-3.5-Turbo's encoding has 15.3.",
    ),
)
def table2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return _tokens(rows, run, "table2", "task", f"task in {LEVELS}")


@table(
    "Tokens of multi-document prompts",
    _token_grid("Documents"),
    needs="instances",
    when=("questions",),
    notes=(TOKENS, MEANS),
)
def table3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return _tokens(rows, run, "table3", "n_documents", f"task == '{QA}'")


@table(
    "Tokens of key-value prompts",
    _token_grid("Pairs"),
    needs="instances",
    when=("pairs",),
    notes=(
        f"{TOKENS} {MEANS} The paper's keys are UUIDs. Constructed pairs (``source: constructed``) are not "
        "the paper's, so their counts are not compared.",
    ),
)
def table4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return _tokens(rows, run, "table4", "n_documents", f"task == '{PAIRS}'")


def _tokens(rows: pd.DataFrame, run: Context, name: str, column: str, asked: str) -> pd.DataFrame:
    """Mean, sample standard deviation (n - 1) and maximum of n_tokens by tokenizer, for each of `column`.

    Mean and deviation are over examples (`n`), each of which counts with the mean of its prompts
    (`n_prompts`), one for each index: pooled, the deviation of 75 pairs would be 25.5, not the printed
    25.6. The maximum is over prompts.
    """
    from needlework.results import cells

    rows, names = main(rows, asked), run.run.get("published_tokenizers", {})
    setting = By(Factor("column", order=LEVELS), column)
    by = (By(Factor("tokenizer"), order=_in_order), setting, KEYS, LANG)
    made: list[dict[str, object]] = []
    for cell in walk(rows, by, run):
        prompts, labels = cell.part.frame, cell.labels
        each = prompts.groupby("example_id")["n_tokens"].mean()
        values = (each.mean(), each.std(ddof=1), prompts["n_tokens"].max())
        line = "" if labels["keys"] == "words" else names.get(labels["tokenizer"], "")
        published = [run.find(name, line, f"{labels['column']}/{s}") for s in STATISTICS]
        others = list(paper.other_questions(cell))
        if name == "table4":
            # Drawn pairs are no shorter or longer than the released ones, but not to the last digit.
            drawn = any(other_settings(run, {"source": "released"}))
            others = ["pairs are drawn, in the paper released"] * drawn
        why = "; ".join([*others, *own_instructions(cell, "lang")]) or None
        made.append(
            {**labels, "source": "ours", "n": len(each), "n_prompts": len(prompts)}
            | dict(zip(STATISTICS, values, strict=True))
            | _beside(values, published, len(each), why)
        )
    mine = {names.get(tokenizer, "") for tokenizer in set(rows["tokenizer"])}
    return cells.frame([*made, *_published(run, name, mine)], COUNTS)


def _published(run: Context, name: str, mine: set[str]) -> Iterable[dict[str, object]]:
    """The paper's rows of tokenizers that are not ours."""
    theirs = run.published[run.published["table"] == name]
    keys = "uuid" if name == "table4" else "none"
    parts = theirs["column"].str.split("/", expand=True, n=1)
    theirs = theirs.assign(setting=parts[0], statistic=parts[1])[~theirs["row"].isin(mine)]
    for (line, setting), group in theirs.groupby(["row", "setting"], sort=False):
        known = dict(zip(group["statistic"], group["value"], strict=True))
        labels = {"tokenizer": line, "source": "published", "lang": ENGLISH, "column": setting}
        printed = {f"published_{statistic}": value for statistic, value in known.items()}
        yield {**labels, "keys": keys, "n": group["n"].iloc[0], **known, **printed}


def _in_order(present: Collection[str], run: Context) -> list[str]:
    """Tokenizers in the run's order, then any others by name."""
    listed = list(run.run.get("tokenizers", ()))
    return [*listed, *sorted(set(present).difference(listed))]


def _beside(
    values: Sequence[float],
    published: Sequence[publications.PrintedNumber | None],
    n: int,
    obstacle: str | None,
) -> dict[str, object]:
    """The paper's numbers, and whether ours are equal to their last printed digit."""
    found: dict[str, object] = {}
    for name, number in zip(STATISTICS, published, strict=True):
        found[f"published_{name}"] = number and number.value
        found[f"published_cell_{name}"] = number and number.cell
    numbers = [number for number in published if number is not None]
    if len(numbers) < len(published):
        return found | {"comparison": publications.UNPUBLISHED}
    if numbers[0].n not in (None, n):
        obstacle = obstacle or f"{n:,} examples, in the paper {numbers[0].n:,}"
    differ = [
        name
        for name, ours, theirs in zip(STATISTICS, values, numbers, strict=True)
        if f"{ours:.1f}" != f"{theirs.value:.1f}"
    ]
    told = f"differs: {', '.join(differ)}" if differ else "equals"
    return found | {"comparison": f"cannot tell: {obstacle}" if obstacle else told}


# The table of the prompts themselves.
PROMPTS = PromptTable(
    # What the prompts of one row have in common.
    by=("task", "lang", "n_documents", "query_aware", "order", "distractors", "keys"),
    counts=(
        ("prompts", "example_id", "size"),
        ("questions", "example_id", "nunique"),
        ("places", "gold_index", "nunique"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
    ),
    slice_names=("lang",),
    kept=("answer_of_punctuation", "distractors_with_answer", "unusable_words"),
    sorted=False,
)
