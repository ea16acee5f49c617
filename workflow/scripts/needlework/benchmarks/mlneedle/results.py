"""MLNeedle's tables and figures: the paper's, and those its reviewers missed."""

from __future__ import annotations

from collections.abc import Hashable

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.mlneedle.drawings import DRAWINGS
from needlework.benchmarks.mlneedle.factors import (
    HAYSTACK,
    LANGUAGES,
    LENGTH,
    NEEDLE,
    POSITION,
    POSITIONS,
    PRESENT,
    QUESTION,
    RETRIEVAL,
)
from needlework.benchmarks.mlneedle.layouts import LAYOUTS
from needlework.benchmarks.result import (
    MODEL,
    By,
    Computed,
    Decoding,
    Over,
    Pairs,
    Paper,
    Place,
    Result,
    Same,
    Stack,
    View,
    results,
)
from needlework.models.decoding import GREEDY

HOOKS = "needlework.benchmarks.mlneedle.hooks:"

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
SETUP = {
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
DECODING = Decoding(
    "temperature 0.7, top-k 50, top-p 1", {"Mistral-7B-Instruct-v0.2 (greedy)": GREEDY}
)
VARIANT = {"question_lang": "en", "retrieval": "semantic"}
THE_PAPERS = (
    Same(SETUP),
    DECODING,
    Over("question_lang", ("en",), "questions in another language"),
    Over("retrieval", ("semantic",), "other distractors"),
)


def _over(column: str, values: tuple[Hashable, ...]) -> Over:
    return Over(column, values, f"other values of {column}")


AT_ALL_POSITIONS = _over("position", POSITIONS)
OF_ALL = (
    _over("needle_lang", LANGUAGES),
    _over("haystack_lang", HAYSTACK.order + HAYSTACK.last),
    AT_ALL_POSITIONS,
)
BY_VARIANT = (By(QUESTION), By(RETRIEVAL))
BY_MODEL = (*BY_VARIANT, By(MODEL))
LABELS = ("question_lang", "retrieval", "model", "source")
COLUMN = LENGTH.renamed("column", words={0: "baseline"})
BY_COLUMN = By(COLUMN, "length", margin="average", last=True, text=True)
TASK = Factor("task")
NEEDLE_THERE = PRESENT.renamed("needle")
BOTH_TASKS = "task in ('exact', 'existence') and length > 0 and needle_present == True"
NEAREST = (f"{HOOKS}nearest_variant",)

TABLE1 = Place("table1", "{paper}", "{column}", check=f"{HOOKS}other_lengths", labels=VARIANT)
TABLE2 = Place(
    "table2",
    "{paper}/{haystack_lang}",
    "{needle_lang}",
    check=f"{HOOKS}longest_length",
    labels=VARIANT,
    complete=f"{HOOKS}claimed_length",
)
BY_LANGUAGES = View(
    where="task == 'exact' and length > 0",
    by=(*BY_MODEL, HAYSTACK, NEEDLE, By(LENGTH, margin="average")),
    strata="length",
    paper=Paper((TABLE2,), (*THE_PAPERS, AT_ALL_POSITIONS), show_published=True),
)
BY_POSITION = View(
    where="task == 'exact' and length > 0",
    select=NEAREST,
    by=(MODEL, LENGTH, POSITION),
    derive={"depth": f"{HOOKS}depth"},
)
BY_NEEDLE = BY_POSITION.but(
    where="task == 'exact' and length > 0 and haystack_lang == 'en'",
    by=(MODEL, LENGTH, NEEDLE),
    columns=("model", "source", "length", "haystack_lang", "needle_lang"),
    const={"haystack_lang": "en"},
    derive={},
    paper=Paper(
        (TABLE2.but(row="{paper}/en", labels={"haystack_lang": "en"}),),
        (*THE_PAPERS, AT_ALL_POSITIONS),
        show_published=True,
    ),
    sort=("model", "length", "needle_lang"),
)


def _pairs(table: str, setting: str) -> Pairs:
    return Pairs(
        setting,
        where="task == 'exact'",
        outer=BY_VARIANT,
        by=(BY_COLUMN,),
        strata="length",
        same=(
            *("example_id", "needle_lang", "haystack_lang", "question_lang", "retrieval"),
            *("position", "length", "sample"),
        ),
        names=f"{HOOKS}paper_rows",
        paper=Paper(
            (Place(table, "{line}", "{column}", check=f"{HOOKS}other_pair", labels=VARIANT),),
            (*THE_PAPERS, *OF_ALL),
        ),
    )


PAIR, ROLE = Factor("pair"), Factor("decoding", order=("greedy", "sampling"))
WHERE = ("length", "factor", "needle_lang", "position", "depth")
DECODED = BY_POSITION.but(
    select=(*NEAREST, f"{HOOKS}decoding_pairs"),
    by=(PAIR, MODEL, ROLE, LENGTH, POSITION),
    columns=("pair", "model", "source", "decoding", *WHERE),
    const={"factor": "position"},
    derive={"depth": f"{HOOKS}depth", "published": f"{HOOKS}paper_mean"},
    also=("published",),
    sort=("model", "pair", "factor", "length", "decoding", "depth", "needle_lang"),
)
TASKS_BY_POSITION = BY_POSITION.but(
    where=BOTH_TASKS,
    by=(MODEL, TASK, LENGTH, POSITION),
    columns=("model", "source", "task", "length", "factor", "position", "depth", "needle_lang"),
    const={"factor": "position"},
    sort=("model", "task", "factor", "length", "depth", "needle_lang"),
)
RESOURCES = Factor("resources")

RESULTS = results(
    {**LAYOUTS, **DRAWINGS},
    table1=Result(
        "Accuracy by context length",
        View(
            where="task == 'exact'",
            by=(*BY_MODEL, BY_COLUMN),
            strata="length",
            columns=(*LABELS, "column", "share_of_baseline"),
            paper=Paper((TABLE1,), (*THE_PAPERS, *OF_ALL), show_published=True),
            finish=f"{HOOKS}with_lengths",
        ),
        "Exact accuracy over all needle languages, haystack languages and positions, at each "
        "length and without distractors (baseline). The average is the mean of the baseline and "
        "the lengths, as in the paper. The effective length is the longest one whose accuracy is "
        "at least 75% of the baseline's; 0 means that none is. Rows with the source ``published`` "
        "are models of the paper that this run does not have.",
    ),
    table2=Result(
        "Accuracy by needle and haystack language",
        BY_LANGUAGES,
        "At each length and averaged over the lengths. The paper's caption calls its numbers "
        "averages; they are those of each model's longest length (``docs/fidelity.md``), and are "
        "compared with ours of that length. The haystack ``multilingual`` mixes all languages; "
        "the paper does not print it.",
    ),
    table3=Result(
        "Base and instruction-tuned models",
        _pairs("table3", "instruction_tuning"),
        "The paper's instruction-tuned row holds the greedy numbers of its Table 4.",
    ),
    table4=Result(
        "Greedy decoding and sampling",
        _pairs("table4", "greedy_or_sampling"),
        "The first model of a pair is the greedy one.",
    ),
    existence=Result(
        "Existence accuracy with and without the needle",
        View(
            where="task == 'existence' and length > 0",
            by=(
                *BY_MODEL,
                By(LENGTH, margin="all"),
                By(NEEDLE_THERE, "needle_present", "balanced", last=True, several=True, text=True),
            ),
            strata="needle_present",
        ),
        "Does any passage hold the answer? ``present`` is the paper's existence accuracy: all its "
        "prompts hold the needle, so a model that always says Yes gets 1. ``absent`` asks the "
        "same without the needle; in ``balanced``, the mean of both, always saying Yes, or always "
        "No, gets 0.5.",
    ),
    closed_book=Result(
        "Accuracy without passages",
        View(
            where="length == 0 and task in ('closed_book', 'exact')",
            select=(f"{HOOKS}asked_closed_book",),
            by=(
                QUESTION,
                MODEL,
                By(NEEDLE, margin="all"),
                By(
                    Factor("column", order=("closed_book", "exact"), words={"exact": "baseline"}),
                    "task",
                    text=True,
                ),
            ),
            columns=(*LABELS, "needle_lang", "column"),
            const={"retrieval": "none"},
        ),
        "The questions alone: what a model knows, or has seen in training. ``baseline`` has the "
        "needle as the only passage. Facts of the embedded sample are invented, so on it any "
        "accuracy well above 0 without passages is a leak.",
    ),
    translation_ceiling=Result(
        "Gold answers that survive translation",
        Computed(f"{HOOKS}ceilings"),
        "The metric translates answers into English. This is the share of each language's gold "
        "answers that are still right after it: what perfect answers would score.",
        needs="ceilings",
    ),
    figure1=Result(
        "Accuracy by language, needle and haystack alike",
        BY_LANGUAGES.but(
            where="task == 'exact' and length > 0 and needle_lang == haystack_lang",
            select=NEAREST,
            by=(*BY_LANGUAGES.by[:-1], By(LENGTH, margin="average", only_margin=True)),
            finish=f"{HOOKS}diagonal",
            sort=("model", "needle_lang"),
        ),
        "The mean of all lengths. The paper prints no numbers of this figure; its lines are the "
        "diagonal of Table 2.",
    ),
    figure3=Result(
        "Effect of the needle's language",
        Stack(
            (
                BY_NEEDLE.but(
                    where="task == 'exact' and length == 0",
                    by=(MODEL, NEEDLE),
                    const={"length": 0, "haystack_lang": "none"},
                    paper=None,
                ),
                BY_NEEDLE,
            ),
        ),
        "English haystacks, and no distractors.",
    ),
    figure4=Result(
        "Effect of the needle's position",
        BY_POSITION.but(
            select=(*NEAREST, f"{HOOKS}by_resources"),
            by=(MODEL, LENGTH, RESOURCES, POSITION),
            sort=("model", "length", "resources", "depth"),
        ),
        "Needles in high and medium resource languages and in low resource ones, grouped as in "
        "the paper. With more than three positions the axis is the needle's depth: 0 is before "
        "all distractors, 1 after them.",
    ),
    figure5=Result(
        "Accuracy of growing samples",
        Computed(f"{HOOKS}growing_samples", {"compared": Paper((TABLE1,), (*THE_PAPERS, *OF_ALL))}),
        "100, 600, 1,100 random prompts and so on up to all. Dark: one standard error, the square "
        "root of p (1 - p) / s, as in the paper. It takes prompts for independent draws. Light: "
        "the 95% interval over questions, which stops shrinking once more prompts bring no new "
        "questions.",
    ),
    figure6=Result(
        "Exact and existence accuracy by position and needle language",
        Stack(
            (
                TASKS_BY_POSITION,
                TASKS_BY_POSITION.but(
                    where=f"{BOTH_TASKS} and haystack_lang == 'en'",
                    by=(MODEL, TASK, LENGTH, NEEDLE),
                    const={"factor": "needle_lang"},
                    derive={},
                ),
            ),
        ),
        "Languages are those of needles in English haystacks. Existence accuracy is of prompts "
        "that hold the needle. The paper shows one model.",
    ),
    figure7=Result(
        "Exact and existence accuracy by haystack language",
        TASKS_BY_POSITION.but(
            where=f"{BOTH_TASKS} and needle_lang == 'en'",
            by=(MODEL, TASK, LENGTH, HAYSTACK),
            columns=("model", "source", "task", "length", "factor", "haystack_lang"),
            const={"factor": "haystack_lang"},
            derive={},
            sort=("model", "task", "length", "haystack_lang"),
        ),
        "The needle is English. Existence accuracy is of prompts that hold the needle. The paper "
        "shows one model.",
    ),
    figure8=Result(
        "Greedy decoding and sampling",
        Stack(
            (
                DECODED.but(
                    where=f"{DECODED.where} and haystack_lang == 'en'",
                    by=(*DECODED.by[:-1], NEEDLE),
                    const={"factor": "needle_lang"},
                    derive={"published": f"{HOOKS}paper_mean"},
                ),
                DECODED,
            ),
        ),
        "By language of the needle in English haystacks and by its position, at 8K and 32K tokens "
        "or, where a run has neither, at all its lengths.",
    ),
)
