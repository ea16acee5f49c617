"""ONERULER's tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler import paper
from needlework.benchmarks.oneruler.agreement import agreement
from needlework.benchmarks.oneruler.factors import (
    CONTEXT,
    CONTEXT_CODE,
    CWE,
    ERROR,
    INSTRUCTION,
    INSTRUCTION_CODE,
    LENGTH,
    LONG_CONTEXTS,
    METRIC,
    NONE_OPTION,
    PRESENT,
    TASK,
    TASKS,
)
from needlework.benchmarks.oneruler.rows import (
    ACCURACY,
    NEEDLE_TASKS,
    ONE_LANGUAGE,
    SHARE,
    articles,
    by_articles,
    largest_first,
    long_contexts,
    of_metric,
    resources,
    selected,
    with_errors,
)
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.result import (
    PERCENT,
    Context,
    FurtherLine,
    Grid,
    Mark,
    Number,
    PromptTable,
    table,
)
from needlework.results.tabulate import (
    MODEL,
    UNPUBLISHED,
    By,
    Cell,
    arranged,
    stacked,
    tabulate,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

BY_CONTEXT = By(CONTEXT, order=by_articles)
EVERY_CONTEXT = By(CONTEXT, order=by_articles, margin="all")
BY_INSTRUCTION = By(INSTRUCTION, order=by_articles)
EVERY_TASK = By(TASK, margin="all")
EVERY_MODEL = By(MODEL, margin="all")
BY_ERROR = By(ERROR, shares=True)

# How tables call the values of factors.
LENGTHS = replace(LENGTH, label="", order=("all",), words={"all": "All"})
MODELS = Factor("model", label="Model", words={"all": "All models"})
TASK_NAMES = replace(TASK, words={**TASKS, "niah": "all NIAH"})
ALL_PROMPTS = FurtherLine("all prompts", ("value_all",), PERCENT, "n_all != n")
LEFT_OUT = {
    "n_dropped": "As in the paper, {} answers of needle tasks are left out, because the output limit cut "
    "them before any text. The line 'all prompts' counts them as wrong."
}
EXHAUSTED = Mark(
    "n_exhausted > 0",
    "some prompts are shorter than the length, because the vocabulary ran out",
)


@table(
    "Accuracy by task and length",
    Grid(
        rows=(MODELS, TASK_NAMES),
        columns=(LENGTHS, METRIC),
        number=PERCENT,
        where=f"context_lang == 'all' and (none_option == True or task in {list(CWE)})",
        lines=(ALL_PROMPTS,),
        marks=(EXHAUSTED,),
        answers="metric == 'strict' and task != 'niah'",
        counts=LEFT_OUT,
        note="Accuracy in %, over all languages, with instructions in the context's language; by the "
        "strict and by the released rules.",
    ),
)
def accuracy(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """By two metrics: strict rules, and the released rules with their false verdicts. If the output limit cut
    an answer before any text, the needle tasks leave it out and the tasks of common words count it as wrong,
    as in the paper. The CSV also has means of all prompts. The task niah is all five needle tasks, as in the
    paper's Figure 3. The language all is every language, with instructions in the context's language.
    """
    prompts = (MODEL, METRIC, NONE_OPTION, BY_INSTRUCTION, BY_CONTEXT)
    tasks = (*prompts, TASK, LENGTH)
    all_needles = (*prompts, By(TASK, margin="niah", only_margin=True), LENGTH)
    # Without the sentence that allows "none" not all of the tasks need be there.
    needles = where(rows, f"{NEEDLE_TASKS} and none_option == True")
    every, every_needle = (
        where(part, ONE_LANGUAGE).assign(instruction_lang="all", context_lang="all")
        for part in (rows, needles)
    )
    made = stacked(
        tabulate(rows, tasks, run, measure=ACCURACY, beside=UNPUBLISHED),
        tabulate(every, tasks, run, measure=ACCURACY, beside=UNPUBLISHED),
        tabulate(every_needle, all_needles, run, measure=ACCURACY, beside=UNPUBLISHED),
        tabulate(needles, all_needles, run, measure=ACCURACY, beside=paper.FIGURE3),
    )
    sort = (MODEL, METRIC, BY_CONTEXT, BY_INSTRUCTION, TASK, NONE_OPTION, LENGTH)
    return arranged(made, run, *sort)


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Columns with a language's ranks over all models by both metrics, and the paper's rank in brackets."""
    every = table[table["model"] == "all"].set_index(["context_lang", "metric"])
    ours, paper = every["rank"].to_dict(), every["published_rank"].dropna().to_dict()
    theirs = {key: f" ({rank:.0f})" for key, rank in paper.items() if key[1] == "released"}
    texts = {
        f"rank_{metric}": [
            f"{ours.get((lang, metric), '')}{theirs.get((lang, metric), '')}"
            for lang in table["context_lang"]
        ]
        for metric in METRIC.order
    }
    return table.assign(**texts)


@table(
    "Accuracy by language",
    Grid(
        rows=(
            Factor("language"),
            Factor("rank_strict", label="Rank (strict)"),
            Factor("rank_released", label="(released)"),
            Factor("resources", words={"english": "English"}),
        ),
        columns=(Factor("model", words=MODELS.words), METRIC),
        number=PERCENT,
        prepare=ranks,
        lines=(ALL_PROMPTS,),
        marks=(EXHAUSTED,),
        answers="metric == 'strict' and model != 'all'",
        counts=LEFT_OUT,
        note=f"Accuracy in % over the NIAH tasks in {LONG_CONTEXTS}, by the strict and by the released "
        "rules. Brackets after a rank: the paper's rank.",
    ),
    over_models=True,
)
def languages(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper's Table 2 with our ranks: the five needle tasks in long contexts (64K and 128K, or a run's
    two longest lengths). As in the paper, answers that the output limit cut before any text are left out; the
    CSV also has means of all prompts. High-resource languages have at least 250,000 Wikipedia articles. The
    paper's text has three of the means over its models, and their ranks.
    """

    def theirs(cell: Cell) -> float | None:
        known = cell.labels["model"] == "all" and run.run.get("published")
        found = run.find("figure4b", cell.labels["context_lang"], "rank") if known else None
        return None if found is None else found.value

    made = tabulate(
        long_contexts(selected(rows, run, f"{ONE_LANGUAGE} and {NEEDLE_TASKS}")),
        (EVERY_MODEL, METRIC, BY_CONTEXT),
        run,
        measure=ACCURACY,
        beside=paper.figure4b,
        language=lambda cell: language_name(cell.labels["context_lang"]),
        resources=lambda cell: resources(cell.labels["context_lang"], run.run),
        n_articles=lambda cell: articles(cell.labels["context_lang"], run.run),
        rank=None,
        published_rank=theirs,
    )
    rank = made.groupby(["model", "metric"])["value"].rank(ascending=False, method="min")
    whole = dict.fromkeys(("rank", "published_rank", "n_articles"), "Int64")
    made = made.assign(rank=rank).astype(whole)
    return arranged(made, run, EVERY_MODEL, METRIC, "rank", "context_lang")


@table(
    "Rank agreement of equal tokens and equal text",
    Grid(
        rows=(
            Factor("model", label="Models", words={"all": "All pairs"}),
            Factor("other", label="and", words={"all": ""}),
            METRIC,
        ),
        columns=(LENGTHS,),
        number=Number(digits=2),
        over="languages",
        note="Kendall's τ between the accuracies of languages with equal tokens and with equal text; "
        "n: languages. The paper's τ is over all of its models.",
        empty="no pair was run",
    ),
    when=("equal_text",),
    over_models=True,
)
def lengths_tau(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Kendall's tau between the accuracies of languages in the needle tasks with equal tokens (each model's
    own tokenizer) and with equal text (one tokenizer for all models, appendix D). The paper prints one
    number, over all its models. It is compared with a run of all of them, in all lengths and languages.
    """
    return agreement(rows, run)


@table(
    "Errors where the answer is in the text",
    Grid(
        rows=(MODELS, TASK_NAMES),
        columns=(ERROR,),
        number=PERCENT,
        where="length == 'long' and context_lang == 'all'",
        without="n_errors == 0",
        note=f"Share of prompts in %, by the strict rules, in {LONG_CONTEXTS}.",
    ),
    when=("present",),
    by_metric=False,
)
def errors(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all prompts, by the strict rules. The errors: the answer ``none`` although there is a number,
    only wrong numbers, some right numbers but not exactly the right ones, neither a number nor ``none``, and
    no text (cut by the limit or not).
    """
    present = f"{ONE_LANGUAGE} and task in {PRESENT}"
    asked = with_errors(selected(of_metric(rows, run, "strict"), run, present))
    all_contexts = By(CONTEXT, margin="all", only_margin=True)
    each_length = (MODEL, EVERY_TASK, all_contexts, By(LENGTH, text=True), BY_ERROR)
    long = By(LENGTH, margin="long", only_margin=True)
    in_long = (MODEL, EVERY_TASK, EVERY_CONTEXT, long, BY_ERROR)
    made = stacked(
        tabulate(asked, each_length, run, measure=SHARE),
        tabulate(long_contexts(asked), in_long, run, measure=SHARE),
    )
    # Long contexts together, then each length.
    by_length = By(
        LENGTH, order=lambda n, run: sorted(n, key=lambda n: (n != "long", str(n).zfill(9)))
    )
    return arranged(made, run, MODEL, EVERY_CONTEXT, EVERY_TASK, by_length)


answered_in = by_answers_language(
    INSTRUCTION_CODE, CONTEXT_CODE, asked="instruction_lang", of=of_metric
)

# The table of the prompts themselves.
PROMPTS = PromptTable(
    by=("instruction_lang", "context_lang", "task", "none_option", "length"),
    counts=(
        ("prompts", "n_tokens", "size"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("fill", "fill", "mean"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("instruction_lang", "context_lang"),
    # The share of the length that prompt and room for the answer take together.
    computed={"fill": "(n_tokens + max_new_tokens) / length"},
    digits={"fill": 4},
)


# The paper's Table 4: how many tokens each language's book has.

# The first is the encoding that the caption names; the second gives 24 of its 26 numbers.
ENCODINGS = ("o200k_base", "cl100k_base")


@table(
    "Tokens of the books",
    Grid(
        rows=(replace(CONTEXT, label="Language"),),
        columns=(Factor("tokenizer", label="Tokenizer"),),
        number=Number(digits=0),
        note="Tokens of each book.",
        empty="no books",
    ),
    needs="books",
    when=("books",),
)
def table4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Whole files, in each tokenizer of the run. No model is needed. The paper names tiktoken's o200k, but 24
    of its 26 numbers are those of cl100k_base, so both are compared.
    """
    # A count has no interval: it equals the paper's or differs.
    import pandas as pd

    from needlework.results import cells, published

    encodings = run.run.get("encodings", {})

    setup = {"data": run.run.get("setup", {}).get("data")}
    made = []
    for row in rows.to_dict("records"):
        found = run.find("table4", row["context_lang"], "tokens")
        why = cells.differences(setup, {"data": paper.SETUP["data"]})
        encoding = encodings.get(row["tokenizer"], row["tokenizer"])
        if encoding not in ENCODINGS:
            why += cells.differences({"tokenizer": encoding}, {"tokenizer": ENCODINGS[0]})
        if found is None:
            verdict = published.UNPUBLISHED
        elif why:
            verdict = f"cannot tell: {'; '.join(why)}"
        else:
            verdict = "equals" if row["n_tokens"] == found.value else "differs"
        made.append(
            {name: row[name] for name in ("context_lang", "tokenizer")}
            | {"source": "ours", "value": row["n_tokens"], "comparison": verdict}
            | {"published": found and found.value, "published_cell": found and found.cell}
        )
    columns = ("context_lang", "tokenizer", "source", "value")
    data = pd.DataFrame(made, columns=[*columns, "published", "published_cell", "comparison"])
    return largest_first(data.astype({"published": "Int64"}), run)
