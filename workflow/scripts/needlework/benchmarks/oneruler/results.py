"""ONERULER's tables and figures: the paper's, and every cell by both metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from needlework.benchmarks.columns import MEASURES
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.oneruler.drawings import DRAWINGS
from needlework.benchmarks.oneruler.factors import (
    ARTICLES,
    CONTEXT,
    CWE,
    ERROR,
    GROUP,
    INSTRUCTION,
    LENGTH,
    LONG,
    LONG_CONTEXTS,
    METRIC,
    NIAH,
    NONE_OPTION,
    PRESENT,
    TASK,
)
from needlework.benchmarks.oneruler.layouts import LAYOUTS
from needlework.benchmarks.result import (
    MODEL,
    AllModels,
    By,
    Computed,
    Decoding,
    Measure,
    Over,
    Paper,
    Place,
    Requirement,
    Stack,
    View,
    Why,
    shown_by,
)
from needlework.models.decoding import GREEDY

HOOKS = "needlework.benchmarks.oneruler.hooks:"
# The models of the paper's means.
MODELS = (
    *("Gemini 1.5 Flash", "Qwen 2.5 72B", "o3-mini-high"),
    *("Llama 3.3 70B", "Llama 3.1 8B", "Qwen 2.5 7B"),
)
LENGTHS = (8_000, 32_000, 64_000, 128_000)
BOTH = ("paper", "repository")


def _requires(
    tasks: Iterable[str] = NIAH,
    lengths: Iterable[int] = (),
    languages: Iterable[str] = (),
    *,
    all_models: bool = False,
    none_allowed: bool = True,
) -> tuple[Requirement, ...]:
    """What the paper's mean is over: of each model all of these, with `all_models` over all its models."""
    wanted = (
        Over("task", tuple(tasks), "other tasks", per_model=True),
        Over("length", tuple(lengths), "other lengths", per_model=True),
        Over("context_lang", tuple(languages), "other languages", per_model=True),
    )
    return (
        Why(f"{HOOKS}other_setup"),
        # Appendix B.1: greedy, but for the models named here.
        Decoding(GREEDY, {"o3-mini-high": "the endpoint's own"}, ours_too=False),
        *(over for over in wanted if over.values),
        *([Why(f"{HOOKS}none_forbidden")] if none_allowed else []),
        *([AllModels(MODELS)] if all_models else []),
    )


def _paper(place: Place, *, silent: bool = False, bounds: bool = False, **over: Any) -> Paper:
    """Its number at `place`, which is over all of `_requires(**over)`."""
    run_only = over.get("all_models", False)
    return Paper((place,), _requires(**over), BOTH, False, bounds, run_only, silent)


CERTAINTY = ("ci_low_clustered", "ci_high_clustered")
# What every cell says beside its labels: the mean and its certainty as the paper counts, how many
# answers were dropped for that, the share of right answers among all prompts, and how many prompts
# ended before their length because the vocabulary did.
MEASURE = Measure((*MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), f"{HOOKS}measure")
SHARE = Measure(
    ("n_errors", "value", "n", *CERTAINTY, "n_questions", "n_exhausted"), f"{HOOKS}share"
)
BY_METRIC = By(METRIC, values=f"{HOOKS}metrics")
BY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles")
EVERY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles", margin="all")
BY_INSTRUCTION = By(INSTRUCTION, values=f"{HOOKS}by_articles")
EVERY_TASK = By(TASK, margin="all")
BY_ERROR = By(ERROR, shares=True)
ONE_LANGUAGE = "instruction_lang == context_lang"
OWN = (f"{HOOKS}equal_tokens", f"{HOOKS}none_allowed")
DRAWN = (f"{HOOKS}drawn_metric", *OWN)
STRICT = (f"{HOOKS}drawn_metric?metric=strict", *OWN)
WITH_ERRORS = (*STRICT, f"{HOOKS}with_errors")
LONG_ONES = f"{HOOKS}long_contexts"
GROUPED = f"{HOOKS}grouped"


def _mean(column: str, seed: str) -> Measure:
    hook = f"{HOOKS}mean_of?column={column}&seed={seed}"
    lost = ("n_skipped", "n_error", "n_cut", "n_exhausted")
    return Measure(("value", "n", "se", "n_questions", *CERTAINTY, *lost), hook)


FIGURE3_PLACE = Place("figure3", "{paper}/{context_lang}", "{length}")
FIGURE4B = Place("figure4b", "{context_lang}", "long")
NEEDLES = View(
    by=(BY_METRIC, MODEL, EVERY_CONTEXT, LENGTH),
    where=f"{ONE_LANGUAGE} and task in {tuple(NIAH)}",
    select=OWN,
    measure=MEASURE,
)
SINGLE = NEEDLES.but(where=f"{ONE_LANGUAGE} and task == 'niah_single'")
WORDS = NEEDLES.but(where=f"{ONE_LANGUAGE} and task in {tuple(CWE)}")
FIGURE3 = NEEDLES.but(
    paper=_paper(FIGURE3_PLACE), finish=f"{HOOKS}best_first", sort=("metric", "model")
)
CELL = ("metric", "none_option", "instruction_lang", "context_lang", "task", "length")
BY_CELL = ("model", "metric", "context_lang", "instruction_lang", "task", "none_option", "length")
EVERY_CELL = View(
    by=(MODEL, METRIC, NONE_OPTION, BY_INSTRUCTION, BY_CONTEXT, TASK, LENGTH),
    measure=MEASURE,
    paper=Paper(()),
)
# Without the sentence that allows "none" not all of the tasks need be there.
ALL_NEEDLES = EVERY_CELL.but(
    where=f"task in {tuple(NIAH)} and none_option == True",
    by=(*EVERY_CELL.by[:5], EVERY_CELL.by[6]),
    columns=("model", "source", *CELL),
    const={"task": "niah"},
)
PER_LENGTH = By(LENGTH, text=True)
ERRORS = View(
    where=f"{ONE_LANGUAGE} and task in {PRESENT}",
    select=WITH_ERRORS,
    by=(MODEL, By(CONTEXT, margin="all", only_margin=True), EVERY_TASK, PER_LENGTH, BY_ERROR),
    columns=("model", "source", "task", "context_lang", "length", "error"),
    measure=SHARE,
)
LONG_ERRORS = ERRORS.but(
    select=(*WITH_ERRORS, LONG_ONES),
    by=(MODEL, EVERY_CONTEXT, EVERY_TASK, By(LENGTH, margin="long", only_margin=True), BY_ERROR),
)
SINGLE_ERRORS = SINGLE.but(select=WITH_ERRORS, by=(MODEL, BY_ERROR), measure=SHARE)
BY_GROUP = By(Factor("group", order=("top", "bottom")), contrast=("gap", "top", "bottom"))
BY_PROMPT = By(
    Factor("prompt", order=(True, False), words={True: "with", False: "without"}),
    "none_option",
    text=True,
    contrast=("drop", False, True),
)


def _errors_by_language(closed: str) -> View:
    hook = f"{HOOKS}behind_endpoints?closed={closed}"
    return SINGLE_ERRORS.but(
        select=(*WITH_ERRORS, LONG_ONES, hook), by=(MODEL, BY_CONTEXT, BY_ERROR)
    )


OF_LANGUAGE = {
    "language": f"{HOOKS}name_of",
    "resources": f"{HOOKS}group_of",
    "n_articles": f"{HOOKS}articles_of",
}
# Words of several captions.
STRICTLY = ", by the strict rules"

_result = shown_by({**LAYOUTS, **DRAWINGS})

RESULTS = (
    _result(
        "accuracy",
        "Accuracy by task and length",
        Stack(
            (
                EVERY_CELL,
                EVERY_CELL.but(select=(f"{HOOKS}own_language",)),
                ALL_NEEDLES.but(select=(f"{HOOKS}own_language",)),
                ALL_NEEDLES.but(paper=_paper(FIGURE3_PLACE.but(check=f"{HOOKS}two_languages"))),
            ),
            sort=BY_CELL,
            orders=(By(METRIC), BY_CONTEXT, BY_INSTRUCTION, TASK, NONE_OPTION),
        ),
        "Every cell by both metrics: the strict rules, and the released ones with their false "
        "verdicts. ``value`` and ``n`` are as the paper counts: answers that the output limit cut "
        "before any text are left out of the needle tasks (``n_dropped``) and wrong in the tasks "
        "of common words. ``value_all`` and ``n_all`` are of all prompts, skipped and failed ones "
        "among them. ``n_exhausted`` prompts are shorter than the length, because the language's "
        "list of words ended before. The task ``niah`` is all five needle tasks, beside the "
        "paper's Figure 3; the language ``all`` is all whose instructions are in the context's "
        "language.",
    ),
    _result(
        "languages",
        "Accuracy by language",
        NEEDLES.but(
            select=(*OWN, LONG_ONES),
            by=(METRIC, By(MODEL, margin="all"), BY_CONTEXT),
            columns=(
                *("model", "source", "metric", "context_lang", *OF_LANGUAGE),
                *("rank", "published_rank"),
            ),
            derive=OF_LANGUAGE,
            paper=_paper(FIGURE4B.but(when={"model": "all"}), lengths=LONG, all_models=True),
            finish=f"{HOOKS}ranked",
            sort=("model", "metric", "rank", "context_lang"),
            orders=(Factor("context_lang"), Factor("rank", "int64")),
        ),
        f"The paper's Table 2 with our ranks: the five needle tasks in {LONG_CONTEXTS}, for all "
        "models together and for each, by both metrics. ``value`` leaves out answers that the "
        "output limit cut before any text, as the paper does; ``value_all`` is of all prompts. "
        "High-resource languages have at least 250,000 articles. The paper's text has three of "
        "the means over its models, and their ranks.",
    ),
    _result(
        "lengths_tau",
        "Rank agreement of equal tokens and equal text",
        Computed(
            f"{HOOKS}agreement",
            {"requires": _requires(lengths=LENGTHS, languages=ARTICLES, all_models=True)},
        ),
        "Kendall's tau over the needle tasks' accuracies of languages: with equal tokens, each "
        "model in its own tokenizer, and with equal text, all models in a common one (appendix "
        "D). The paper has one number, over all its models; it is compared with a run of all of "
        "them, in all lengths and languages.",
        "equal_text",
    ),
    _result(
        "errors",
        "Errors where the answer is in the text",
        Stack(
            (ERRORS, LONG_ERRORS),
            sort=("model", "context_lang", "task", "length"),
            orders=(EVERY_CONTEXT, TASK, By(LENGTH, values=f"{HOOKS}long_first")),
        ),
        f"Shares of all prompts{STRICTLY}: the answer ``none`` although there is a number, wrong "
        "numbers only, some right numbers but not exactly these, neither a number nor ``none``, "
        "and no text at all, cut by the limit or not.",
        "present",
    ),
    _result(
        "table4",
        "Tokens of the books",
        Computed("needlework.benchmarks.oneruler.books:tokens"),
        "Whole files, in each tokenizer of the run; no model is needed. The paper names tiktoken's "
        "o200k, but 24 of its 26 numbers are those of cl100k_base, so both are compared.",
        "books",
        needs="books",
    ),
    _result(
        "figure1a",
        "Languages with large and small Wikipedias",
        SINGLE.but(
            select=(*OWN, f"{HOOKS}ends"),
            by=(BY_METRIC, LENGTH, BY_GROUP),
            columns=("metric", "group", "languages", "length"),
            derive={"languages": f"{HOOKS}ends_of"},
            paper=_paper(
                Place("figure1a", "gap", "{length}", when={"group": "gap"}),
                tasks=["niah_single"],
                languages=ARTICLES,
                all_models=True,
                silent=True,
            ),
        ),
        "S-NIAH of all models for the five languages at either end of the paper's Table 2, or "
        "half of a run's languages where these are fewer than ten. The paper's gaps are from its "
        "text.",
        "single",
    ),
    _result(
        "figure1b",
        "With and without the option none",
        SINGLE.but(
            select=(f"{HOOKS}equal_tokens", f"{HOOKS}both_prompts"),
            by=(*SINGLE.by, BY_PROMPT),
            columns=("metric", "model", "source", "context_lang", "prompt", "length"),
            paper=_paper(
                Place("figure1b", FIGURE3_PLACE.row, "drop/{length}", when={"prompt": "drop"}),
                tasks=["niah_single"],
                none_allowed=False,
                silent=True,
            ),
            sort=("metric", "model", "context_lang", "prompt", "length"),
            orders=(Factor("prompt", order=("with", "without", "drop")),),
        ),
        "S-NIAH with the sentence that allows the answer ``none``, and without; in English, or in "
        "all languages that have both where English has not. The CSV has every language. The "
        "paper's drop is o3-mini-high's in English.",
        "without_none",
    ),
    _result(
        "figure3",
        "Accuracy by language and length",
        FIGURE3,
        "All needle tasks, in percent, languages best first. The paper's numbers are from the "
        "image of the figure in its repository.",
        "needles",
    ),
    _result(
        "figure4a",
        "Long contexts by model",
        NEEDLES.but(select=(*DRAWN, LONG_ONES, GROUPED), by=(MODEL, GROUP)),
        f"All needle tasks in {LONG_CONTEXTS}, by the resources of the language.",
        "needles",
    ),
    _result(
        "figure4b",
        "Long contexts by language",
        NEEDLES.but(
            select=(*OWN, LONG_ONES),
            by=(BY_METRIC, Factor("context_lang")),
            derive={"group": f"{HOOKS}group_of"},
            paper=_paper(FIGURE4B, lengths=LONG, all_models=True),
            sort=("metric", "-value", "context_lang"),
        ),
        f"All needle tasks and models in {LONG_CONTEXTS}. The paper's numbers are from its text.",
        "needles",
    ),
    _result(
        "figure5",
        "Accuracy by task",
        View(
            where=ONE_LANGUAGE,
            select=(*OWN, GROUPED, f"{HOOKS}needles_together"),
            by=(BY_METRIC, By(TASK, "of"), By(GROUP, margin="all")),
            measure=MEASURE,
            paper=Paper(
                tuple(
                    Place(
                        "figure5",
                        row,
                        "{task}",
                        when={**group, **task},
                        requires=_requires(tasks, lengths=LENGTHS, all_models=True),
                    )
                    for group, row in (({"group": "english"}, "en"), ({}, "{group}"))
                    for task, tasks in (({"task": "niah"}, NIAH), ({}, ()))
                ),
                sources=BOTH,
                bounds=True,
                run_only=True,
            ),
        ),
        "All models and lengths, by the resources of the language.",
    ),
    _result(
        "figure6a",
        "Cross-lingual accuracy",
        NEEDLES.but(
            where=f"task in {tuple(NIAH)}",
            select=(*OWN, f"{HOOKS}crossed"),
            by=(BY_METRIC, BY_CONTEXT, BY_INSTRUCTION, LENGTH),
            paper=_paper(
                Place("figure6a", "{instruction_lang}-{context_lang}", "{length}"), all_models=True
            ),
        ),
        "All needle tasks and models, by the language of the context (panels) and of the "
        "instructions (lines).",
        "crossed",
    ),
    _result(
        "figure6b",
        "Errors with a single needle",
        SINGLE_ERRORS,
        f"Shares of all S-NIAH prompts{STRICTLY}.",
        "single",
    ),
    _result(
        "figure17",
        "Accuracy by model and length",
        NEEDLES.but(select=DRAWN, by=(MODEL, LENGTH)),
        "All needle tasks and languages.",
        "needles",
    ),
    _result(
        "figure18",
        "Errors in long contexts, models behind endpoints",
        _errors_by_language("yes"),
        f"Shares of all S-NIAH prompts in {LONG_CONTEXTS}{STRICTLY}, of models behind endpoints.",
        "single",
        "endpoint",
    ),
    _result(
        "figure19",
        "Errors in long contexts, open models",
        _errors_by_language("no"),
        f"Shares of all S-NIAH prompts in {LONG_CONTEXTS}{STRICTLY}, of models with open weights.",
        "single",
        "open",
    ),
    _result(
        "figure20",
        "Reasoning tokens of right and wrong answers",
        NEEDLES.but(
            select=(*DRAWN, f"{HOOKS}reasoned"),
            by=(MODEL, Factor("answer"), LENGTH),
            measure=_mean("reasoning_tokens", "model,answer,length"),
        ),
        "The needle tasks, for models that report them. Answers that the limit cut before any "
        "text are left out.",
        "needles",
        "reasoning",
    ),
    _result(
        "figure21",
        "Answers cut by the output limit",
        WORDS.but(select=(*DRAWN, f"{HOOKS}cut_answers"), by=(MODEL, TASK, LENGTH)),
        "The tasks of common words, for models that reason.",
        "words",
        "reasoning",
    ),
    _result(
        "figure22",
        "Common words by length",
        WORDS.but(
            by=(BY_METRIC, MODEL, TASK, LENGTH),
            paper=_paper(
                Place("figure22", "{paper}", "{task}/{length}"),
                tasks=(),
                languages=ARTICLES,
                bounds=True,
            ),
        ),
        "Both tasks over all languages; answers that the limit cut before any text are wrong. "
        "The CSV has the paper's bounds.",
        "words",
    ),
    _result(
        "figure23",
        "Right words in wrong answers",
        WORDS.but(
            select=(*STRICT, f"{HOOKS}wrong_words", GROUPED),
            by=(MODEL, TASK, GROUP, LENGTH),
            measure=_mean("found", "model,task,group,length"),
        ),
        "How many of the ten common words, by the resources of the language. Answers without text "
        "are left out.",
        "words",
    ),
    _result(
        "figure24",
        "One text in several tokenizers",
        Computed(f"{HOOKS}text_lengths"),
        "The longest text of each language; no model is needed. The texts are NIAH's prompts, "
        "measured in the first of ``run.tokenizers``, or else in the first model's tokenizer "
        "(``measured_in``). The paper's numbers, for Tamil, are from its text; they stand beside "
        "released texts of 128,000 tokens of cl100k_base alone.",
        needs="token_counts",
    ),
    _result(
        "figure25",
        "Equal text by language and length",
        FIGURE3.but(
            select=(f"{HOOKS}equal_text", f"{HOOKS}none_allowed"),
            paper=_paper(Place("figure25", FIGURE3_PLACE.row, FIGURE3_PLACE.column)),
        ),
        "Figure 3 where all models read the same text, its length measured in a common tokenizer.",
        "equal_text",
    ),
)
