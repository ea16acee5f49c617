"""mLongRR's tables: of answers, and of prompts, which need no model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr.factors import (
    DEPTH,
    LANG,
    LANGUAGES,
    LENGTH,
    METRIC,
    N_NEEDLES,
    NAMES,
    QUESTION,
    QUESTIONS,
)
from needlework.benchmarks.mlongrr.paper import LENGTHS, abstract, beside_tokens_a_word, log
from needlework.benchmarks.mlongrr.rows import (
    MEAN,
    by_drawn_metric,
    first_prompt,
    first_text,
    usual,
    with_paper_model,
)
from needlework.factor import Factor, in_1000
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.result import (
    PERCENT,
    Context,
    Grid,
    Line,
    Mark,
    Number,
    PromptTable,
    table,
)
from needlework.results.tabulate import MODEL, By, Cell, Measure, tabulate

if TYPE_CHECKING:
    import pandas as pd

# mLongRR's tables that need no model: tokens a word, how haystacks are built, where needles stand.

BY_TOKENIZER = (Factor("tokenizer"), By(Factor("paper_model"), nullable=True))
LANGUAGE = Factor("language", order=LANGUAGES, words=NAMES)
SIZE = Factor("size", words={length: f"{length // 1000}k" for length in LENGTHS})
WHAT = Factor("what", order=("haystack_tokens", "sentences"))

# How factors are called in tables.
TOKENIZERS = Factor("tokenizer", label="Tokenizer")
LANGUAGES_CALLED = Factor(
    "language", label="Language", order=tuple(NAMES.values()), last=("Average",)
)
SIZES = Factor("size", label="Length", order=("2k", "8k", "16k", "32k", "64k"))
WHAT_CALLED = Factor(
    "what",
    order=("haystack_tokens", "sentences"),
    words={
        "haystack_tokens": "Tokens",
        "sentences": "Sentences",
        **{f"sentences_before_{depth}": f"before {depth}%" for depth in range(1, 100)},
    },
)


def _tokens_a_word_grid(digits: int) -> Grid:
    return Grid(
        rows=(TOKENIZERS,),
        columns=(LANGUAGES_CALLED,),
        number=Number(digits=digits),
        note="Tokens per word.",
        empty="no prompts",
    )


@table("Tokens per word", _tokens_a_word_grid(2), needs="instances")
def table2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Words are counted with NLTK, in the articles that the authors counted, if the text is theirs. No model
    is needed. The paper truncates its numbers of GPT-4 and its averages instead of rounding them.
    """
    return _tokens_a_word(rows, run, "table2", 2)


@table("Tokens per word, to five digits", _tokens_a_word_grid(5), needs="instances")
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
        first_text(with_paper_model(rows, run), run),
        (*BY_TOKENIZER, By(LANGUAGE, LANG.name, text=True, margin="Average", last=True)),
        run,
        measure=Measure(("value",), mean_of_languages),
        beside=beside_tokens_a_word(name, digits),
    )


@table(
    "How haystacks are built",
    Grid(
        rows=(LANGUAGES_CALLED, SIZES),
        columns=(WHAT_CALLED,),
        float_per=(TOKENIZERS,),
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

    from needlework.results import cells

    def mean_number(cell: Cell) -> Mapping[str, float]:
        return {"value": float(cell.part.column("number").astype("float64").mean())}

    asked = with_numbers(with_paper_model(rows, run))
    asked = first_prompt(first_text(asked[asked["task"] == "retrieval"], run), run)
    language, size = By(LANGUAGE, LANG.name, text=True), By(SIZE, LENGTH.name, text=True)
    by = (*BY_TOKENIZER, language, size, WHAT)
    made = tabulate(asked, by, run, measure=Measure(("value",), mean_number), beside=log)
    tokens = made["what"] == "haystack_tokens"
    made = cells.apart(cells.apart(made, tokens, "tokens"), ~tokens, "sentences")
    return made.drop(columns=["value", "published", "published_cell"])


def with_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per number of a haystack in the authors' log, with the columns `what` and `number`."""
    import pandas as pd

    inside = ~rows["depth"].isin([0, 100]) & rows["depth"].notna()
    # Released haystacks with a needle inside have other white space, so other tokens than the log's.
    counted = rows if inside.all() else rows[~inside]
    whole = [
        own.assign(what=what, number=own[what])
        for what, own in (("haystack_tokens", counted), ("sentences", rows))
    ]
    inner = rows[inside]
    names = "sentences_before_" + inner["depth"].astype(int).astype(str)
    return pd.concat([*whole, inner.assign(what=names, number=inner["sentences_before"])])


@table(
    "Where needles stand",
    Grid(
        rows=(TOKENIZERS, Factor("length", label="Length", format=in_1000)),
        columns=(Factor("depth", label="Depth (%)"),),
        number=Number(digits=1),
        lines=(Line("least, most", ("least", "most"), Number(1), "least == least"),),
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

    asked = first_prompt(first_text(rows[rows["task"] == "retrieval"], run), run)
    measure = Measure(("value", "n", "least", "most"), spread)
    return tabulate(asked, (Factor("tokenizer"), LENGTH, DEPTH), run, measure=measure)


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
MODELS = Factor("model", label="Model")
LANGS = Factor("lang", label="Language", order=("all", *LANGUAGES), words={**NAMES, "all": "All"})
NEEDLES = Factor("n_needles", "int32", label="Needles")
ASKED = Factor("question", label="Asked", order=QUESTIONS)
METRICS = Factor("metric", label="Metric", order=METRIC.order)
EXHAUSTED = Mark(
    "n_exhausted > 0", "some prompts are shorter than the length, because the text ran out"
)


@table(
    "Accuracy by language and number of needles",
    Grid(
        rows=(MODELS, NEEDLES, ASKED, METRICS),
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
    asked = first_prompt(first_text(rows[rows["task"] != "absent"], run), run)
    by = (MODEL, N_NEEDLES, QUESTION, METRIC, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN, beside=abstract)


@table(
    "Questions without a needle that are refused",
    Grid(
        rows=(MODELS, NEEDLES, ASKED),
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
    asked = usual(rows[rows["task"] == "absent"], run)
    by = (MODEL, N_NEEDLES, QUESTION, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN)


answered_in = by_answers_language(LANG, asked="lang", of=by_drawn_metric)
