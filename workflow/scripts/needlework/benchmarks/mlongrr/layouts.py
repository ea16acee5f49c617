"""How mLongRR's tables are laid out, and what the table of its prompts counts."""

from __future__ import annotations

from dataclasses import replace

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import PERCENT, Grid, Layout, Line, Mark, Number, PromptTable
from needlework.benchmarks.mlongrr.factors import LANGUAGES, NAMES, QUESTIONS

MODEL = Factor("model", label="Model", words={"all": "All models"})
LANG = Factor("lang", label="Language", order=("all", *LANGUAGES), words={**NAMES, "all": "All"})
LANGUAGE = Factor("language", label="Language", order=tuple(NAMES.values()), last=("Average",))
LENGTH = Factor("length", label="Length", format="1000")
SIZE = Factor("size", label="Length", order=("2k", "8k", "16k", "32k", "64k"))
N_NEEDLES = Factor("n_needles", "int32", label="Needles")
QUESTION = Factor("question", label="Asked", order=QUESTIONS)
METRIC = Factor("metric", label="Metric", order=("strict", "released", "released_claude"))
TOKENIZER = Factor("tokenizer", label="Tokenizer")
DEPTH = Factor("depth", label="Depth (%)")
WHAT = Factor(
    "what",
    order=("haystack_tokens", "sentences"),
    words={
        "haystack_tokens": "Tokens",
        "sentences": "Sentences",
        **{f"sentences_before_{depth}": f"before {depth}%" for depth in range(1, 100)},
    },
)
CHANGE = Number(digits=1, scale=100, signed=True)
TEST = Line("Holm's p", ("p_holm",), Number(3, least=0.001), "p_holm == p_holm")
FIRST = Factor("first", label="From", words=NAMES)
SECOND = FIRST.renamed("second", label="to")
EXHAUSTED = Mark(
    "n_exhausted > 0", "some prompts are shorter than the length, as the text ran out before it"
)
PAIRS = Grid(
    rows=(MODEL, FIRST, SECOND),
    columns=(QUESTION, N_NEEDLES),
    number=CHANGE,
    float_per=(Factor("kind"),),
    lines=(TEST,),
    note="The second less the first in percent points, over prompts that both answered.",
    empty="nothing to pair",
)


def _tokens_a_word(digits: int) -> Layout:
    return (
        Grid(
            rows=(TOKENIZER,),
            columns=(LANGUAGE,),
            number=Number(digits=digits),
            note="Tokens a word.",
            empty="no prompts",
        ),
    )


LAYOUTS: dict[str, Layout] = {
    "table2": _tokens_a_word(2),
    "fertility": _tokens_a_word(5),
    "construction": (
        Grid(
            rows=(LANGUAGE, SIZE),
            columns=(WHAT,),
            float_per=(TOKENIZER,),
            number=Number(digits=0),
            empty="no prompts with one needle",
        ),
    ),
    "accuracy": (
        Grid(
            rows=(MODEL, N_NEEDLES, QUESTION, METRIC),
            columns=(LANG,),
            number=PERCENT,
            answers="metric == 'strict' and lang == 'all'",
            marks=(EXHAUSTED,),
            note="Accuracy in %, over all lengths and depths.",
        ),
    ),
    "absent": (
        Grid(
            rows=(MODEL, N_NEEDLES, QUESTION),
            columns=(LANG,),
            number=PERCENT,
            answers="lang == 'all'",
            marks=(EXHAUSTED,),
            note="Questions without an answer in the text that were refused, in %.",
        ),
    ),
    "mcnemar": (
        replace(
            PAIRS,
            show="kind == 'needles'",
            rows=(MODEL, FIRST.renamed("first", label="Needles"), SECOND),
            columns=(QUESTION,),
        ),
        replace(PAIRS, show="kind == 'languages'"),
        replace(
            PAIRS, show="kind == 'models'", rows=(FIRST.renamed("first", label="Model"), SECOND)
        ),
    ),
    "texts": (
        Grid(
            rows=(MODEL, LANG, FIRST, SECOND),
            columns=(QUESTION, N_NEEDLES),
            number=CHANGE,
            lines=(
                TEST,
                Line("McNemar's p", ("p_mcnemar",), Number(3, least=0.001), "p_holm == p_holm"),
                Line(
                    "the paper's p",
                    ("published_p_mcnemar",),
                    Number(1),
                    "published_p_mcnemar == published_p_mcnemar",
                ),
            ),
            note=PAIRS.note,
        ),
    ),
    "translated": (
        Grid(
            rows=(MODEL, LANG),
            columns=(QUESTION, N_NEEDLES),
            number=CHANGE,
            lines=(TEST,),
            note="Translated prompts less English ones, in percent points.",
            empty="no prompt was asked in both languages",
        ),
    ),
    "slope": (
        Grid(
            rows=(MODEL,),
            columns=(QUESTION, N_NEEDLES),
            number=CHANGE,
            over="(model, language)",
            note="Percent points of accuracy for a token a word more; n: pairs of model and language.",
        ),
    ),
    "certainty": (
        Grid(
            rows=(N_NEEDLES, Factor("level", label="Mean over")),
            head="Width",
            number=PERCENT,
            lines=(
                Line("answers", ("answers",), Number(1), "answers > 0"),
                Line("with 20 a cell", ("twenty",), PERCENT, "twenty > 0"),
            ),
            note="How wide 95% intervals (Wilson) are on average, in percent points.",
        ),
    ),
    "real_depth": (
        Grid(
            rows=(TOKENIZER, LENGTH),
            columns=(DEPTH,),
            number=Number(digits=1),
            lines=(Line("least, most", ("least", "most"), Number(1), "least == least"),),
            note="Percent of the haystack's tokens before the first needle, mean of all prompts.",
            empty="no prompts with one needle",
        ),
    ),
}

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
