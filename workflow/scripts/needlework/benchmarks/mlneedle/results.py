"""MLNeedle's tables and figures: the paper's, and those its reviewers missed."""

from __future__ import annotations

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
from needlework.decoding import GREEDY
from needlework.results.result import (
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
)

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
    Over("retrieval", ("semantic",), "other distractors", exempt=("none",)),
)
AT_ALL_POSITIONS = Over("position", POSITIONS, "other values of position", exempt=("none",))
OF_ALL = (
    Over("needle_lang", LANGUAGES, "other values of needle_lang", exempt=("none",)),
    Over(
        "haystack_lang",
        HAYSTACK.order + HAYSTACK.last,
        "other values of haystack_lang",
        exempt=("none",),
    ),
    AT_ALL_POSITIONS,
)

BY_VARIANT = (By(QUESTION), By(RETRIEVAL))
BY_MODEL = (*BY_VARIANT, By(MODEL))
LABELS = ("question_lang", "retrieval", "model", "source")
COLUMN = LENGTH.renamed("column", words={0: "baseline"})
BY_COLUMN = By(COLUMN, "length", margin="average", last=True, text=True)
TASK = Factor("task", words={"exact": "Exact accuracy", "existence": "Existence accuracy"})
NEEDLE_THERE = PRESENT.renamed("needle")
BOTH_TASKS = "task in ('exact', 'existence') and length > 0 and needle_present == True"
NEAREST = (f"{HOOKS}nearest_variant",)

TABLE1 = Place(
    "table1",
    "{paper}",
    "{column}",
    check=f"{HOOKS}other_lengths",
    printed=("paper",),
    labels=VARIANT,
)
TABLE2 = Place(
    "table2",
    "{paper}/{haystack_lang}",
    "{needle_lang}",
    check=f"{HOOKS}longest_length",
    printed=("paper",),
    labels=VARIANT,
    complete=f"{HOOKS}claimed_length",
)
BY_LANGUAGES = View(
    where="task == 'exact' and length > 0",
    by=(*BY_MODEL, By(HAYSTACK), By(NEEDLE), By(LENGTH, margin="average", text=False)),
    strata="length",
    columns=(*LABELS, "haystack_lang", "needle_lang", "length"),
    paper=Paper((TABLE2,), (*THE_PAPERS, AT_ALL_POSITIONS)),
)
BY_POSITION = View(
    where="task == 'exact' and length > 0",
    select=NEAREST,
    by=(By(MODEL), By(LENGTH), By(POSITION)),
    columns=("model", "source", "length", "position", "depth"),
    derive={"depth": f"{HOOKS}depth"},
)


def _pairs(table: str, setting: str) -> Pairs:
    return Pairs(
        setting,
        where="task == 'exact'",
        outer=BY_VARIANT,
        by=(BY_COLUMN,),
        strata="length",
        columns=("question_lang", "retrieval", "pair", "role", "model", "source", "column"),
        same=(
            *("example_id", "needle_lang", "haystack_lang", "question_lang", "retrieval"),
            *("position", "length", "sample"),
        ),
        names=f"{HOOKS}printed_names",
        paper=Paper(
            (Place(table, "{line}", "{column}", check=f"{HOOKS}other_pair", labels=VARIANT),),
            (*THE_PAPERS, *OF_ALL),
        ),
    )


PAIR, ROLE = Factor("pair"), Factor("decoding", order=("greedy", "sampling"))
DECODED = View(
    where="task == 'exact' and length > 0",
    select=(*NEAREST, f"{HOOKS}decoding_pairs"),
    by=(By(PAIR), By(MODEL), By(ROLE), By(LENGTH), By(POSITION)),
    columns=(
        *("pair", "model", "source", "decoding", "length", "factor"),
        *("needle_lang", "position", "depth"),
    ),
    const={"factor": "position"},
    derive={"depth": f"{HOOKS}depth", "published": f"{HOOKS}printed_mean"},
    also=("published",),
)
TASKS_BY_POSITION = BY_POSITION.but(
    where=BOTH_TASKS,
    by=(By(MODEL), By(TASK), By(LENGTH), By(POSITION)),
    columns=(
        *("model", "source", "task", "length", "factor"),
        *("position", "depth", "needle_lang"),
    ),
    const={"factor": "position"},
)
RESOURCES = Factor("resources")

RESULTS = (
    Result(
        "table1",
        "Accuracy by context length",
        View(
            where="task == 'exact'",
            by=(*BY_MODEL, BY_COLUMN),
            strata="length",
            columns=(*LABELS, "column", "share_of_baseline"),
            paper=Paper((TABLE1,), (*THE_PAPERS, *OF_ALL)),
            finish=f"{HOOKS}with_lengths",
        ),
        LAYOUTS["table1"],
        (
            "**Accuracy by context length** (the paper's Table 1). Exact accuracy over all needle "
            "languages, haystack languages and positions, at each length and without distractors "
            "(baseline). The average is the mean of the baseline and the lengths, as in the paper. "
            "The effective length is the longest one whose accuracy is at least 75% of the "
            "baseline's; 0 means that none is. Rows with the source ``published`` are models of the "
            "paper that this run does not have."
        ),
        place="Table 1",
    ),
    Result(
        "table2",
        "Accuracy by needle and haystack language",
        BY_LANGUAGES,
        LAYOUTS["table2"],
        (
            "**Accuracy by needle and haystack language** (the paper's Table 2), at each length and "
            "averaged over the lengths. The paper's caption says that its numbers are averages; "
            "they are those of each model's longest length (``docs/fidelity.md``), and are compared "
            "with ours of that length. The haystack ``multilingual`` mixes all languages; the paper "
            "does not print it."
        ),
        place="Table 2",
    ),
    Result(
        "table3",
        "Base and instruction-tuned models",
        _pairs("table3", "instruction_tuning"),
        LAYOUTS["table3"],
        (
            "**Base and instruction-tuned models** (the paper's Table 3). Rows ``delta`` are the "
            "second model less the first on the prompts that both answered, with the interval of "
            "that paired difference. McNemar's exact p takes prompts for independent draws, so it "
            "is too small where few questions are asked often: trust the interval over questions. "
            "The paper's instruction-tuned row holds the greedy numbers of its Table 4."
        ),
        place="Table 3",
    ),
    Result(
        "table4",
        "Greedy decoding and sampling",
        _pairs("table4", "greedy_or_sampling"),
        LAYOUTS["table4"],
        (
            "**Greedy decoding and sampling** (the paper's Table 4). Rows ``delta`` are sampling "
            "less greedy decoding on the prompts that both answered, with the interval of that "
            "paired difference and McNemar's exact p, which takes prompts for independent draws."
        ),
        place="Table 4",
    ),
    Result(
        "existence",
        "Existence accuracy with and without the needle",
        View(
            where="task == 'existence' and length > 0",
            by=(
                *BY_MODEL,
                By(LENGTH, margin="all", text=False),
                By(NEEDLE_THERE, "needle_present", "balanced", last=True, several=True, text=True),
            ),
            strata="needle_present",
            columns=(*LABELS, "length", "needle"),
        ),
        LAYOUTS["existence"],
        (
            "**Existence accuracy.** The model is asked whether any passage holds the answer. "
            "``present`` is the paper's existence accuracy: all its prompts hold the needle, so a "
            "model that always says Yes gets 1. ``absent`` asks the same without the needle, and "
            "``balanced`` is the mean of both: always saying Yes, or always No, gets 0.5."
        ),
    ),
    Result(
        "closed_book",
        "Accuracy without passages",
        View(
            where="length == 0 and task in ('closed_book', 'exact')",
            select=(f"{HOOKS}asked_closed_book",),
            by=(
                By(QUESTION),
                By(MODEL),
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
        LAYOUTS["closed_book"],
        (
            "**Accuracy without passages.** The questions alone: what a model knows, or has seen in "
            "training, without reading. ``baseline`` is the same questions with the needle as the "
            "only passage. Facts of the embedded sample are invented, so on it any accuracy well "
            "above 0 without passages is a leak."
        ),
    ),
    Result(
        "translation_ceiling",
        "Gold answers that survive translation",
        Computed(f"{HOOKS}ceilings"),
        LAYOUTS["translation_ceiling"],
        (
            "**Gold answers that survive translation.** The metric translates a model's answer into "
            "English. This is the share of gold answers in each language that are still right after "
            "the same translation: what a model that answered perfectly in that language would "
            "score through its translation alone."
        ),
        needs="ceilings",
    ),
    Result(
        "figure1",
        "Accuracy by language, needle and haystack alike",
        BY_LANGUAGES.but(
            where="task == 'exact' and length > 0 and needle_lang == haystack_lang",
            select=NEAREST,
            by=(*BY_LANGUAGES.by[:-1], By(LENGTH, margin="average", only_margin=True)),
            finish=f"{HOOKS}diagonal",
            sort=("model", "needle_lang"),
        ),
        DRAWINGS["figure1"],
        (
            "**Accuracy where needle and haystack share a language**, mean of all lengths (the "
            "paper's Figure 1). Bars are 95% intervals over questions. The paper prints no numbers "
            "for its Figure 1; the dashed lines are the diagonal of its Table 2, which is of each "
            "model's longest length alone."
        ),
        place="Figure 1",
    ),
    Result(
        "figure3",
        "Effect of the needle's language",
        Stack(
            (
                View(
                    where="task == 'exact' and length == 0",
                    select=NEAREST,
                    by=(By(MODEL), By(NEEDLE)),
                    columns=("model", "source", "length", "haystack_lang", "needle_lang"),
                    const={"length": 0, "haystack_lang": "none"},
                ),
                View(
                    where="task == 'exact' and length > 0 and haystack_lang == 'en'",
                    select=NEAREST,
                    by=(By(MODEL), By(LENGTH), By(NEEDLE)),
                    columns=("model", "source", "length", "haystack_lang", "needle_lang"),
                    const={"haystack_lang": "en"},
                    paper=Paper(
                        (
                            Place(
                                "table2",
                                "{paper}/en",
                                "{needle_lang}",
                                check=f"{HOOKS}longest_length",
                                printed=("paper",),
                                labels={"haystack_lang": "en"},
                                complete=f"{HOOKS}claimed_length",
                            ),
                        ),
                        (*THE_PAPERS, AT_ALL_POSITIONS),
                    ),
                ),
            ),
            sort=("model", "length", "needle_lang"),
            orders=(NEEDLE,),
        ),
        DRAWINGS["figure3"],
        (
            "**Effect of the needle's language** in English haystacks, and without distractors (the "
            "paper's Figure 3). Bars are 95% intervals over questions. Dashed: the first row of "
            "each block of the paper's Table 2."
        ),
        place="Figure 3",
    ),
    Result(
        "figure4",
        "Effect of the needle's position",
        BY_POSITION.but(
            select=(*NEAREST, f"{HOOKS}by_resources"),
            by=(By(MODEL), By(LENGTH), By(RESOURCES), By(POSITION)),
            columns=("model", "source", "length", "resources", "position", "depth"),
            sort=("model", "length", "resources", "depth"),
        ),
        DRAWINGS["figure4"],
        (
            "**Effect of the needle's position**, for needles in high and medium resource languages "
            "and in low resource ones (the paper's Figure 4 and its grouping). With more than three "
            "positions the axis is the needle's depth: 0 is before all distractors, 1 after them. "
            "Bars are 95% intervals over questions."
        ),
        place="Figure 4",
    ),
    Result(
        "figure5",
        "Accuracy of growing samples",
        Computed(f"{HOOKS}growing_samples", {"compared": Paper((TABLE1,), (*THE_PAPERS, *OF_ALL))}),
        DRAWINGS["figure5"],
        (
            "**Accuracy of growing random samples** of the prompts (the paper's Figure 5): 100, "
            "600, 1,100 and so on up to all. Dark: one standard error, the square root of p (1 - p) "
            "/ s, as in the paper. It takes prompts for independent draws. Light: the 95% interval "
            "over questions, which stops shrinking once more prompts bring no new questions. "
            "Dashed: the paper's Table 1."
        ),
        place="Figure 5",
    ),
    Result(
        "figure6",
        "Exact and existence accuracy by position and needle language",
        Stack(
            (
                TASKS_BY_POSITION,
                TASKS_BY_POSITION.but(
                    where=f"{BOTH_TASKS} and haystack_lang == 'en'",
                    by=(By(MODEL), By(TASK), By(LENGTH), By(NEEDLE)),
                    const={"factor": "needle_lang"},
                    derive={},
                ),
            ),
            sort=("model", "task", "factor", "length", "depth", "needle_lang"),
            orders=(NEEDLE,),
        ),
        DRAWINGS["figure6"],
        (
            "**Exact and existence accuracy** by position of the needle and, in English haystacks, "
            "by its language (the paper's Figure 6, there for one model). Existence accuracy is of "
            "prompts that hold the needle. Bars are 95% intervals over questions."
        ),
        place="Figure 6",
    ),
    Result(
        "figure7",
        "Exact and existence accuracy by haystack language",
        TASKS_BY_POSITION.but(
            where=f"{BOTH_TASKS} and needle_lang == 'en'",
            by=(By(MODEL), By(TASK), By(LENGTH), By(HAYSTACK)),
            columns=("model", "source", "task", "length", "factor", "haystack_lang"),
            const={"factor": "haystack_lang"},
            derive={},
            sort=("model", "task", "length", "haystack_lang"),
        ),
        DRAWINGS["figure7"],
        (
            "**Exact and existence accuracy by language of the haystack**, needle in English (the "
            "paper's Figure 7, there for one model). Existence accuracy is of prompts that hold the "
            "needle. Bars are 95% intervals over questions."
        ),
        place="Figure 7",
    ),
    Result(
        "figure8",
        "Greedy decoding and sampling",
        Stack(
            (
                DECODED.but(
                    where=f"{DECODED.where} and haystack_lang == 'en'",
                    by=(*DECODED.by[:-1], By(NEEDLE)),
                    const={"factor": "needle_lang"},
                    derive={"published": f"{HOOKS}printed_mean"},
                ),
                DECODED,
            ),
            sort=("model", "pair", "factor", "length", "decoding", "depth", "needle_lang"),
            orders=(NEEDLE,),
        ),
        DRAWINGS["figure8"],
        (
            "**Greedy decoding and sampling**, by language of the needle in English haystacks and "
            "by its position (the paper's Figure 8), at 8K and 32K tokens or, where a run has "
            "neither, at all its lengths. Bars are 95% intervals over questions. Dashed: the "
            "paper's means over all positions (Table 4)."
        ),
        place="Figure 8",
    ),
)
