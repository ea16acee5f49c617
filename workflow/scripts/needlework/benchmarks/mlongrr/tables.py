"""mLongRR's tables: of answers, and of prompts, which need no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr.factors import (
    ABSENT,
    DEPTH,
    LANG,
    LANGUAGES,
    LENGTH,
    LENGTHS,
    METRIC,
    N_NEEDLES,
    NAMES,
    QUESTION,
    RETRIEVAL,
)
from needlework.benchmarks.mlongrr.paper import (
    MEAN,
    abstract,
    by_metric,
    first_prompt,
    first_text,
    log,
    tokens_a_word,
    usual,
)
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
from needlework.results.tabulate import MODEL, By, Cell, Measure, tabulate

if TYPE_CHECKING:
    import pandas as pd

# mLongRR's tables that need no model: tokens a word, how haystacks are built, where needles stand.

TOKENIZER = Factor("tokenizer", label="Tokenizer")
# `paper_model`: the paper's model that uses the tokenizer, if any.
BY_TOKENIZER = (TOKENIZER, By(Factor("paper_model"), nullable=True))
# Codes become names in the table.
LANGUAGE = Factor(
    "language",
    label="Language",
    order=(*LANGUAGES, *NAMES.values()),
    last=("Average",),
    words=NAMES,
)
_IN_K = {length: f"{length // 1000}k" for length in LENGTHS}
SIZE = Factor("size", label="Length", order=tuple(_IN_K.values()), words=_IN_K)
WHAT = Factor(
    "what",
    order=("haystack_tokens", "sentences"),
    words={
        "haystack_tokens": "Tokens",
        "sentences": "Sentences",
        **{f"sentences_before_{depth}": f"before {depth}%" for depth in range(1, 100)},
    },
)


TOKENS_A_WORD = Grid(
    rows=(TOKENIZER,),
    columns=(LANGUAGE,),
    number=Number(digits=2),
    note="Tokens per word.",
    empty="no prompts",
)


@table("Tokens per word", TOKENS_A_WORD, needs="instances")
def table2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Words are counted with NLTK, in the articles that the authors counted, if the text is theirs. No model
    is needed. The paper truncates its numbers of GPT-4 and its averages instead of rounding them.
    """
    return _tokens_a_word(rows, run, "table2", 2)


@table(
    "Tokens per word, to five digits",
    replace(TOKENS_A_WORD, number=Number(digits=5)),
    needs="instances",
)
def fertility(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Compared with the authors' notebook. In Somali and Swahili, the text holds all articles that the
    authors counted. In other languages, it ends elsewhere.
    """
    return _tokens_a_word(rows, run, "fertility", 5)


def _tokens_a_word(rows: pd.DataFrame, run: Context, name: str, digits: int) -> pd.DataFrame:
    def mean_of_languages(cell: Cell) -> Mapping[str, float]:
        """The mean over languages: over the paper's five if the rows have them all, else over all."""
        means = cell.part.frame.groupby("lang", observed=True)["fertility"].mean()
        papers = means[means.index.isin(LANGUAGES)]
        average = cell.labels["language"] == "Average" and len(papers) == len(LANGUAGES)
        return {"value": float((papers if average else means).mean())}

    return tabulate(
        first_text(rows.assign(paper_model=rows["tokenizer"].map(run.run["counted_as"])), run),
        (*BY_TOKENIZER, By(LANGUAGE, LANG.name, text=True, margin="Average", last=True)),
        run,
        measure=Measure(("value",), mean_of_languages),
        beside=tokens_a_word(name, digits),
    )


@table(
    "How haystacks are built",
    Grid(
        rows=(LANGUAGE, SIZE),
        columns=(WHAT,),
        float_per=(TOKENIZER,),
        number=Number(0, column="sentences"),
        numbers={("what", "haystack_tokens"): Number(0, column="tokens")},
        empty="no prompts with one needle",
    ),
    needs="instances",
    when=("one",),
)
def construction(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Tokens and sentences of haystacks with one needle, and sentences before the needle, compared with the
    log of the authors' notebook. With ``source: released``, the sentences are equal. The log's tokens
    (o200k_base) are sums over articles, up to 30 off the tokens of the whole text. If the needle stands
    before or behind the text, ours count the whole text.
    """

    import pandas as pd

    from needlework.results import cells

    def mean_number(cell: Cell) -> Mapping[str, float]:
        return {"value": float(cell.part.column("number").astype("float64").mean())}

    # One row per number of the authors' log: of every haystack its tokens and sentences, and the sentences
    # before a needle inside. Released haystacks with such a needle have other white space, so other tokens.
    rows = rows.assign(paper_model=rows["tokenizer"].map(run.run["counted_as"]))
    inside = ~rows["depth"].isin([0, 100]) & rows["depth"].notna()
    counted, inner = rows if inside.all() else rows[~inside], rows[inside]
    before = "sentences_before_" + inner["depth"].astype(int).astype(str)
    numbers = [
        counted.assign(what="haystack_tokens", number=counted["haystack_tokens"]),
        rows.assign(what="sentences", number=rows["sentences"]),
        inner.assign(what=before, number=inner["sentences_before"]),
    ]
    asked = pd.concat(numbers)
    asked = first_prompt(first_text(asked[asked["task"] == RETRIEVAL], run), run)
    language, size = By(LANGUAGE, LANG.name, text=True), By(SIZE, LENGTH.name, text=True)
    by = (*BY_TOKENIZER, language, size, WHAT)
    made = tabulate(asked, by, run, measure=Measure(("value",), mean_number), beside=log)
    tokens = made["what"] == "haystack_tokens"
    made = cells.apart(cells.apart(made, tokens, "tokens"), ~tokens, "sentences")
    return made.drop(columns=["value", "published", "published_cell"])


@table(
    "Where needles stand",
    Grid(
        rows=(TOKENIZER, replace(LENGTH, label="Length")),
        columns=(DEPTH,),
        number=Number(digits=1),
        lines=(FurtherLine("least, most", ("least", "most"), Number(1), "least == least"),),
        note="Percent of the haystack's tokens before the first needle, mean over all prompts.",
        empty="no prompts with one needle",
    ),
    needs="instances",
    when=("one",),
)
def real_depth(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """A needle stands between two sentences, so its real depth can differ from the depth of its column."""

    def spread(cell: Cell) -> Mapping[str, float]:
        real = cell.part.column("real_depth").astype("float64")
        ends = {"least": float(real.min()), "most": float(real.max())}
        return {"value": float(real.mean()), "n": len(real), **ends}

    asked = first_prompt(first_text(rows[rows["task"] == RETRIEVAL], run), run)
    measure = Measure(("value", "n", "least", "most"), spread)
    return tabulate(asked, (TOKENIZER, LENGTH, DEPTH), run, measure=measure)


# The table of the prompts themselves.
PROMPTS = PromptTable(
    by=("haystack", "lang", "template", "task", "n_needles", "question", "length"),
    counts=(
        ("prompts", "n_tokens", "size"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("fill", "fill", "mean"),
        ("off_least", "off", "min"),
        ("off_most", "off", "max"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("lang", ""),
    # The share of the length that prompt and room for the answer take together; by how many percent points
    # a needle stands deeper than its depth.
    computed={"fill": "(n_tokens + max_new_tokens) / length", "off": "real_depth - depth"},
    digits={"fill": 4, "off_least": 1, "off_most": 1},
    kept=("exhausted", "long_numbers"),
)


# How factors are called in tables.
LANGS = replace(LANG, order=("all", *LANGUAGES), words={**NAMES, "all": "All"})
# In numbers and the values' own names.
NEEDLES, ASKED = replace(N_NEEDLES, words={}), replace(QUESTION, words={})
EXHAUSTED = Mark(
    "n_exhausted > 0", "some prompts are shorter than the length, because the text ran out"
)


@table(
    "Accuracy by language and number of needles",
    Grid(
        rows=(MODEL, NEEDLES, ASKED, METRIC),
        columns=(LANGS,),
        number=PERCENT,
        answers="metric == 'strict' and lang == 'all'",
        note="Accuracy in %, over all lengths and depths.",
        marks=(EXHAUSTED,),
    ),
)
def accuracy(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Strict rules (``strict``): the answer is exactly the gold number or city. The notebooks' rules
    (``released``): the answer, or with several needles any answer of its file, contains the gold digits.
    Claude's notebook has rules of its own (``released_claude``). The abstract prints four accuracies by the
    notebooks' rules.
    """
    asked = first_prompt(first_text(rows[rows["task"] != ABSENT], run), run)
    by = (MODEL, N_NEEDLES, QUESTION, METRIC, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN, beside=abstract)


@table(
    "Questions without a needle that are refused",
    Grid(
        rows=(MODEL, NEEDLES, ASKED),
        columns=(LANGS,),
        number=PERCENT,
        answers="lang == 'all'",
        note="Questions without an answer in the text that were refused, in %.",
        marks=(EXHAUSTED,),
    ),
    when=("absent",),
)
def absent(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """If the text has no answer, the prompt asks for UNANSWERABLE. The paper has no such question."""
    asked = usual(rows[rows["task"] == ABSENT], run)
    by = (MODEL, N_NEEDLES, QUESTION, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN)


answered_in = by_answers_language(LANG, asked="lang", of=by_metric)
