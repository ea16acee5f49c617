"""ONERULER's tables and figures: the paper's, and every cell by both metrics."""

from __future__ import annotations

from needlework.benchmarks.columns import MEASURES
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.oneruler import drawings, factors, layouts
from needlework.benchmarks.oneruler.factors import CONTEXT, LENGTH, METRIC, TASK
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
    Result,
    Stack,
    View,
    results,
)
from needlework.models.decoding import GREEDY

HOOKS = "needlework.benchmarks.oneruler.hooks:"

# What the paper's numbers are of: settings, decoding (appendix B.1), tasks, lengths, languages, models.
DECODING = Decoding(GREEDY, {"o3-mini-high": "the endpoint's own"}, ours_too=False)
SETTINGS = (f"{HOOKS}other_setup", DECODING)
ALL_NEEDLES = Over("task", tuple(factors.NIAH), "other tasks")
ONE_NEEDLE = Over("task", ("niah_single",), "other tasks")
ALL_LENGTHS = Over("length", (8_000, 32_000, 64_000, 128_000), "other lengths")
LONG_LENGTHS = Over("length", factors.LONG, "other lengths")
ALL_LANGUAGES = Over("context_lang", tuple(factors.ARTICLES), "other languages")
NONE_ALLOWED = f"{HOOKS}none_forbidden"
ALL_MODELS = AllModels(
    (
        *("Gemini 1.5 Flash", "Qwen 2.5 72B", "o3-mini-high"),
        *("Llama 3.3 70B", "Llama 3.1 8B", "Qwen 2.5 7B"),
    )
)
OF_NEEDLES = (ALL_NEEDLES, NONE_ALLOWED)
OF_ALL = (*SETTINGS, ALL_NEEDLES, ALL_LENGTHS, ALL_LANGUAGES, NONE_ALLOWED, ALL_MODELS)
OF_ONE = (ONE_NEEDLE, ALL_LANGUAGES, NONE_ALLOWED, ALL_MODELS)
OF_LONG = (ALL_NEEDLES, LONG_LENGTHS, NONE_ALLOWED, ALL_MODELS)


def _paper(place: Place, *over: Requirement, silent: bool = False, bounds: bool = False) -> Paper:
    """Its numbers at `place`, each of which is over all of these."""
    return Paper((place,), (*SETTINGS, *over), silent=silent, bounds=bounds)


FIGURE1A = Place("figure1a", "gap", "{length}", when={"group": "gap"})
FIGURE3 = Place("figure3", "{paper}/{context_lang}", "{length}")
FIGURE1B = Place("figure1b", FIGURE3.row, "drop/{length}", when={"prompt": "drop"})
TWO_LANGUAGES = FIGURE3.but(check=f"{HOOKS}two_languages")
FIGURE4B = Place("figure4b", "{context_lang}", "long", when={"model": "all"})
FIGURE5 = Place("figure5", "{group}", "{task}")
FIGURE22 = Place("figure22", "{paper}", "{task}/{length}")
FIGURE6A = Place("figure6a", "{instruction_lang}-{context_lang}", "{length}")

CI = ("ci_low_clustered", "ci_high_clustered")
# What every cell says beside its labels: the mean and its certainty as the paper counts, how many
# answers were dropped for that, the share of right answers among all prompts, and how many prompts
# ended before their length because the vocabulary did.
MEASURE = Measure((*MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), f"{HOOKS}measure")
SHARE = Measure(("n_errors", "value", "n", *CI, "n_questions", "n_exhausted"), f"{HOOKS}share")
MEAN = ("value", "n", "se", "n_questions", *CI, "n_skipped", "n_error", "n_cut", "n_exhausted")
TOKENS = Measure(MEAN, f"{HOOKS}mean_of?column=reasoning_tokens")
FOUND = Measure(MEAN, f"{HOOKS}mean_of?column=found")

BY_METRIC = By(METRIC, values=f"{HOOKS}metrics")
BY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles")
EVERY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles", margin="all")
BY_INSTRUCTION = By(factors.INSTRUCTION, values=f"{HOOKS}by_articles")
EVERY_TASK = By(TASK, margin="all")
BY_END = By(Factor("group", order=("top", "bottom")), contrast=("gap", "top", "bottom"))
PROMPT = Factor("prompt", order=("with", "without", "drop"))
BY_PROMPT = By(PROMPT, contrast=("drop", "without", "with"))
BY_ERROR = By(factors.ERROR, shares=True)
ONE_LANGUAGE = "instruction_lang == context_lang"
NEEDLE_TASKS = f"task in {tuple(factors.NIAH)}"
OWN = (f"{HOOKS}equal_tokens", f"{HOOKS}none_allowed")
DRAWN = (f"{HOOKS}drawn_metric", *OWN)
STRICT = (f"{HOOKS}drawn_metric?metric=strict", *OWN)
WITH_ERRORS = (*STRICT, f"{HOOKS}with_errors")
LONG, GROUPED = f"{HOOKS}long_contexts", f"{HOOKS}grouped"

NEEDLES = View(
    by=(BY_METRIC, MODEL, EVERY_CONTEXT, LENGTH),
    where=f"{ONE_LANGUAGE} and {NEEDLE_TASKS}",
    select=OWN,
    measure=MEASURE,
    when=("needles",),
)
SINGLE = NEEDLES.but(where=f"{ONE_LANGUAGE} and task == 'niah_single'", when=("single",))
WORDS = NEEDLES.but(where=f"{ONE_LANGUAGE} and task in {tuple(factors.CWE)}", when=("words",))
RANKED = {"finish": f"{HOOKS}best_first", "sort": ("metric", "model")}
BEST_FIRST = NEEDLES.but(paper=_paper(FIGURE3, *OF_NEEDLES), **RANKED)
BY_CELL = ("model", "metric", "context_lang", "instruction_lang", "task", "none_option", "length")
EVERY_CELL = View(
    by=(MODEL, METRIC, factors.NONE_OPTION, BY_INSTRUCTION, BY_CONTEXT, TASK, LENGTH),
    measure=MEASURE,
    paper=Paper(()),
    sort=BY_CELL,
)
# Without the sentence that allows "none" not all of the tasks need be there.
NEEDLE_CELLS = EVERY_CELL.but(
    where=f"{NEEDLE_TASKS} and none_option == True",
    by=(*EVERY_CELL.by[:5], By(TASK, margin="niah", only_margin=True), LENGTH),
)
ALL_CONTEXTS = By(CONTEXT, margin="all", only_margin=True)
ERRORS = View(
    where=f"{ONE_LANGUAGE} and task in {factors.PRESENT}",
    select=WITH_ERRORS,
    by=(MODEL, EVERY_TASK, ALL_CONTEXTS, By(LENGTH, text=True), BY_ERROR),
    measure=SHARE,
    when=("present",),
    sort=("model", "context_lang", "task", "length"),
)
LONG_ERRORS = ERRORS.but(
    select=(*WITH_ERRORS, LONG),
    by=(MODEL, EVERY_TASK, EVERY_CONTEXT, By(LENGTH, margin="long", only_margin=True), BY_ERROR),
    orders=(By(LENGTH, values=f"{HOOKS}long_first"),),
)
SINGLE_ERRORS = SINGLE.but(select=WITH_ERRORS, by=(MODEL, BY_ERROR), measure=SHARE)
BY_LANGUAGE = SINGLE_ERRORS.of(LONG, by=(MODEL, BY_CONTEXT, BY_ERROR))
STRICTLY, IN_LONG = "by the strict rules", f"in {factors.LONG_CONTEXTS}"

RESULTS = results(
    {**layouts.LAYOUTS, **drawings.DRAWINGS},
    accuracy=Result(
        "Accuracy by task and length",
        Stack(
            (
                EVERY_CELL,
                EVERY_CELL.but(select=(f"{HOOKS}own_language",)),
                NEEDLE_CELLS.but(select=(f"{HOOKS}own_language",)),
                NEEDLE_CELLS.but(paper=_paper(TWO_LANGUAGES, *OF_NEEDLES)),
            ),
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
    languages=Result(
        "Accuracy by language",
        NEEDLES.but(
            select=(*OWN, LONG),
            by=(By(MODEL, margin="all"), METRIC, BY_CONTEXT),
            derive={
                "language": f"{HOOKS}name_of",
                "resources": f"{HOOKS}group_of",
                "n_articles": f"{HOOKS}articles_of",
                **{"rank": "", "published_rank": ""},
            },
            paper=_paper(FIGURE4B, *OF_LONG),
            finish=f"{HOOKS}ranked",
            sort=("model", "metric", "rank", "context_lang"),
            orders=(Factor("context_lang"),),
            when=(),
        ),
        f"The paper's Table 2 with our ranks: the five needle tasks {IN_LONG}, for all "
        "models together and for each, by both metrics. ``value`` leaves out answers that the "
        "output limit cut before any text, as the paper does; ``value_all`` is of all prompts. "
        "High-resource languages have at least 250,000 articles. The paper's text has three of "
        "the means over its models, and their ranks.",
    ),
    lengths_tau=Result(
        "Rank agreement of equal tokens and equal text",
        Computed(f"{HOOKS}agreement", {"requires": OF_ALL}),
        "Kendall's tau over the needle tasks' accuracies of languages: with equal tokens, each "
        "model in its own tokenizer, and with equal text, all models in a common one (appendix "
        "D). The paper has one number, over all its models; it is compared with a run of all of "
        "them, in all lengths and languages.",
        ("equal_text",),
    ),
    errors=Result(
        "Errors where the answer is in the text",
        Stack((ERRORS, LONG_ERRORS)),
        f"Shares of all prompts, {STRICTLY}: the answer ``none`` although there is a number, wrong "
        "numbers only, some right numbers but not exactly these, neither a number nor ``none``, "
        "and no text at all, cut by the limit or not.",
    ),
    table4=Result(
        "Tokens of the books",
        Computed("needlework.benchmarks.oneruler.books:tokens"),
        "Whole files, in each tokenizer of the run; no model is needed. The paper names tiktoken's "
        "o200k, but 24 of its 26 numbers are those of cl100k_base, so both are compared.",
        ("books",),
        needs="books",
    ),
    figure1a=Result(
        "Languages with large and small Wikipedias",
        SINGLE.but(
            select=(*OWN, f"{HOOKS}ends"),
            by=(BY_METRIC, LENGTH, BY_END),
            columns=("metric", "group", "languages", "length"),
            derive={"languages": f"{HOOKS}ends_of"},
            paper=_paper(FIGURE1A, *OF_ONE, silent=True),
        ),
        "S-NIAH of all models for the five languages at either end of the paper's Table 2, or "
        "half of a run's languages where these are fewer than ten. The paper's gaps are from its "
        "text.",
    ),
    figure1b=Result(
        "With and without the option none",
        SINGLE.but(
            select=(f"{HOOKS}equal_tokens", f"{HOOKS}both_prompts"),
            by=(*SINGLE.by, BY_PROMPT),
            columns=("metric", "model", "source", "context_lang", "prompt", "length"),
            paper=_paper(FIGURE1B, ONE_NEEDLE, silent=True),
            sort=("metric", "model", "context_lang", "prompt", "length"),
            when=("without_none",),
        ),
        "S-NIAH with the sentence that allows the answer ``none``, and without; in English, or in "
        "all languages that have both where English has not. The CSV has every language. The "
        "paper's drop is o3-mini-high's in English.",
    ),
    figure3=Result(
        "Accuracy by language and length",
        BEST_FIRST,
        "All needle tasks, in percent, languages best first. The paper's numbers are from the "
        "image of the figure in its repository.",
    ),
    figure4a=Result(
        "Long contexts by model",
        NEEDLES.but(select=(*DRAWN, LONG, GROUPED), by=(MODEL, factors.GROUP)),
        f"All needle tasks {IN_LONG}, by the resources of the language.",
    ),
    figure4b=Result(
        "Long contexts by language",
        NEEDLES.but(
            select=(*OWN, LONG),
            by=(BY_METRIC, Factor("context_lang")),
            derive={"group": f"{HOOKS}group_of"},
            paper=_paper(FIGURE4B, *OF_LONG),
            sort=("metric", "-value", "context_lang"),
        ),
        f"All needle tasks and models {IN_LONG}. The paper's numbers are from its text.",
    ),
    figure5=Result(
        "Accuracy by task",
        View(
            where=ONE_LANGUAGE,
            select=(*OWN, GROUPED, f"{HOOKS}needles_together"),
            by=(BY_METRIC, By(TASK, "of"), By(factors.GROUP, margin="all")),
            measure=MEASURE,
            paper=Paper(
                (FIGURE5.but(when={"task": "niah"}, requires=(ALL_NEEDLES,)), FIGURE5),
                (*SETTINGS, ALL_LENGTHS, NONE_ALLOWED, ALL_MODELS),
                bounds=True,
            ),
        ),
        "All models and lengths, by the resources of the language.",
    ),
    figure6a=Result(
        "Cross-lingual accuracy",
        NEEDLES.but(
            where=NEEDLE_TASKS,
            select=(*OWN, f"{HOOKS}crossed"),
            by=(BY_METRIC, BY_CONTEXT, BY_INSTRUCTION, LENGTH),
            paper=_paper(FIGURE6A, *OF_NEEDLES, ALL_MODELS),
            when=("crossed",),
        ),
        "All needle tasks and models, by the language of the context (panels) and of the "
        "instructions (lines).",
    ),
    figure6b=Result(
        "Errors with a single needle", SINGLE_ERRORS, f"Shares of all S-NIAH prompts, {STRICTLY}."
    ),
    figure17=Result(
        "Accuracy by model and length",
        NEEDLES.but(select=DRAWN, by=(MODEL, LENGTH)),
        "All needle tasks and languages.",
    ),
    figure18=Result(
        "Errors in long contexts, models behind endpoints",
        BY_LANGUAGE.of(f"{HOOKS}behind_endpoints?closed=yes"),
        f"Shares of all S-NIAH prompts {IN_LONG}, {STRICTLY}, of models behind endpoints.",
        ("endpoint",),
    ),
    figure19=Result(
        "Errors in long contexts, open models",
        BY_LANGUAGE.of(f"{HOOKS}behind_endpoints?closed=no"),
        f"Shares of all S-NIAH prompts {IN_LONG}, {STRICTLY}, of models with open weights.",
        ("open",),
    ),
    figure20=Result(
        "Reasoning tokens of right and wrong answers",
        NEEDLES.but(
            select=(*DRAWN, f"{HOOKS}reasoned"),
            by=(MODEL, Factor("answer"), LENGTH),
            measure=TOKENS,
        ),
        "The needle tasks, for models that report them. Answers that the limit cut before any "
        "text are left out.",
        ("reasoning",),
    ),
    figure21=Result(
        "Answers cut by the output limit",
        WORDS.but(select=(*DRAWN, f"{HOOKS}cut_answers"), by=(MODEL, TASK, LENGTH)),
        "The tasks of common words, for models that reason.",
        ("reasoning",),
    ),
    figure22=Result(
        "Common words by length",
        WORDS.but(
            by=(BY_METRIC, MODEL, TASK, LENGTH),
            paper=_paper(FIGURE22, ALL_LANGUAGES, bounds=True),
        ),
        "Both tasks over all languages; answers that the limit cut before any text are wrong. "
        "The CSV has the paper's bounds.",
    ),
    figure23=Result(
        "Right words in wrong answers",
        WORDS.but(
            select=(*STRICT, f"{HOOKS}wrong_words", GROUPED),
            by=(MODEL, TASK, factors.GROUP, LENGTH),
            measure=FOUND,
        ),
        "How many of the ten common words, by the resources of the language. Answers without text "
        "are left out.",
    ),
    figure24=Result(
        "One text in several tokenizers",
        Computed(f"{HOOKS}text_lengths"),
        "The longest text of each language; no model is needed. The texts are NIAH's prompts, "
        "measured in the first of ``run.tokenizers``, or else in the first model's tokenizer "
        "(``measured_in``). The paper's numbers, for Tamil, are from its text; they stand beside "
        "released texts of 128,000 tokens of cl100k_base alone.",
        needs="token_counts",
    ),
    figure25=Result(
        "Equal text by language and length",
        BEST_FIRST.but(
            select=(f"{HOOKS}equal_text", f"{HOOKS}none_allowed"),
            paper=_paper(FIGURE3.but(table="figure25"), *OF_NEEDLES),
            when=("equal_text",),
        ),
        "Figure 3 where all models read the same text, its length measured in a common tokenizer.",
    ),
)
