"""ONERULER's tables and figures: the paper's, and every cell by both metrics."""

from __future__ import annotations

from collections.abc import Iterable

from needlework import cells
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
    METRIC,
    NIAH,
    NONE_OPTION,
    PRESENT,
    TASK,
)
from needlework.benchmarks.oneruler.layouts import LAYOUTS
from needlework.decoding import GREEDY
from needlework.results.result import (
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
    Why,
)

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
) -> tuple[Requirement, ...]:
    """What the paper's mean is over: of each model all of these, with `all_models` over all its models."""
    wanted = (("task", tasks), ("length", lengths), ("context_lang", languages))
    words = {"task": "tasks", "length": "lengths", "context_lang": "languages"}
    return (
        Why(f"{HOOKS}other_setup"),
        # Appendix B.1: greedy, but for the models named here.
        Decoding(GREEDY, {"o3-mini-high": "the endpoint's own"}, ours_too=False),
        *(
            Over(column, tuple(values), f"other {words[column]}", per_model=True)
            for column, values in wanted
            if values
        ),
        Why(f"{HOOKS}none_forbidden"),
        *([AllModels(MODELS)] if all_models else []),
    )


# What every cell says beside its labels: the mean and its certainty as the paper counts, how many
# answers were dropped for that, the share of right answers among all prompts, and how many prompts
# ended before their length because the vocabulary did.
MEASURE = Measure(
    (*cells.MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), f"{HOOKS}measure"
)
SHARE = Measure(
    (
        *("n_errors", "value", "n", "ci_low_clustered", "ci_high_clustered"),
        *("n_questions", "n_exhausted"),
    ),
    f"{HOOKS}share",
)
MEAN = (
    *("value", "n", "se", "n_questions", "ci_low_clustered", "ci_high_clustered"),
    *("n_skipped", "n_error", "n_cut", "n_exhausted"),
)
BY_METRIC = By(METRIC, values=f"{HOOKS}metrics")
BY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles")
EVERY_CONTEXT = By(CONTEXT, values=f"{HOOKS}by_articles", margin="all")
BY_INSTRUCTION = By(INSTRUCTION, values=f"{HOOKS}by_articles")
BY_ERROR = By(ERROR, shares=True)
ONE_LANGUAGE = "instruction_lang == context_lang"
NEEDLES = f"{ONE_LANGUAGE} and task in {tuple(NIAH)}"
SINGLE = f"{ONE_LANGUAGE} and task == 'niah_single'"
WORDS = f"{ONE_LANGUAGE} and task in {tuple(CWE)}"
OWN = (f"{HOOKS}equal_tokens", f"{HOOKS}none_allowed")
DRAWN = (f"{HOOKS}drawn_metric", *OWN)
STRICT = (f"{HOOKS}drawn_metric?metric=strict", *OWN)
LONG_ONES = f"{HOOKS}long_contexts"
GROUPED = f"{HOOKS}grouped"
# Rows in which all cells of a mean have all languages or tasks.
CELL = ("model", "metric", "none_option", "instruction_lang", "context_lang", "task", "length")


def _paper(table: str, row: str, column: str, *requires: Requirement, **changes: bool) -> Paper:
    return Paper((Place(table, row, column),), requires, BOTH, **changes)


FIGURE3 = View(
    where=NEEDLES,
    select=OWN,
    by=(BY_METRIC, By(MODEL), EVERY_CONTEXT, By(LENGTH)),
    columns=("metric", "model", "source", "context_lang", "length"),
    measure=MEASURE,
    paper=_paper("figure3", "{paper}/{context_lang}", "{length}", *_requires()),
    finish=f"{HOOKS}best_first",
    sort=("metric", "model"),
)
EVERY_CELL = View(
    by=(
        *(By(MODEL), By(METRIC), By(NONE_OPTION), BY_INSTRUCTION),
        *(BY_CONTEXT, By(TASK), By(LENGTH)),
    ),
    columns=(
        *("model", "source", "metric", "none_option", "instruction_lang"),
        *("context_lang", "task", "length"),
    ),
    measure=MEASURE,
    paper=Paper(()),
)
# Without the sentence that allows "none" not all of the tasks need be there.
ALL_NEEDLES = EVERY_CELL.but(
    where=f"task in {tuple(NIAH)} and none_option == True",
    by=(*EVERY_CELL.by[:5], EVERY_CELL.by[6]),
    const={"task": "niah"},
)
ERRORS = View(
    where=f"{ONE_LANGUAGE} and task in {PRESENT}",
    select=(*STRICT, f"{HOOKS}with_errors"),
    by=(By(MODEL), By(CONTEXT, margin="all", only_margin=True), By(TASK, margin="all"),
        By(LENGTH, text=True), BY_ERROR),
    columns=("model", "source", "task", "context_lang", "length", "error"),
    measure=SHARE,
)  # fmt: skip
SINGLE_ERRORS = View(
    where=SINGLE,
    select=(*STRICT, f"{HOOKS}with_errors"),
    by=(By(MODEL), BY_ERROR),
    columns=("model", "source", "error"),
    measure=SHARE,
)


def _errors_by_language(closed: str) -> View:
    return SINGLE_ERRORS.but(
        select=(*SINGLE_ERRORS.select, LONG_ONES, f"{HOOKS}behind_endpoints?closed={closed}"),
        by=(By(MODEL), BY_CONTEXT, BY_ERROR),
        columns=("model", "source", "context_lang", "error"),
    )


def _mean(column: str, seed: str) -> Measure:
    return Measure(MEAN, f"{HOOKS}mean_of?column={column}&seed={seed}")


RESULTS = (
    Result(
        "accuracy",
        "Accuracy by task and length",
        Stack(
            (
                EVERY_CELL,
                EVERY_CELL.but(select=(f"{HOOKS}own_language",)),
                ALL_NEEDLES.but(select=(f"{HOOKS}own_language",)),
                ALL_NEEDLES.but(
                    paper=Paper(
                        (
                            Place(
                                "figure3",
                                "{paper}/{context_lang}",
                                "{length}",
                                check=f"{HOOKS}two_languages",
                            ),
                        ),
                        _requires(),
                        BOTH,
                    )
                ),
            ),
            sort=(
                *("model", "metric", "context_lang", "instruction_lang"),
                *("task", "none_option", "length"),
            ),
            orders=(By(METRIC), BY_CONTEXT, BY_INSTRUCTION, TASK, NONE_OPTION),
        ),
        LAYOUTS["accuracy"],
        (
            "**Accuracy of every cell** by both metrics: the strict rules, and the released ones "
            "with their false verdicts. ``value`` and ``n`` are as the paper counts: answers that "
            "the output limit cut before any text are left out of the needle tasks (``n_dropped``) "
            "and wrong in the tasks of common words. ``value_all`` and ``n_all`` are of all "
            "prompts, skipped and failed ones among them. ``n_exhausted`` prompts are shorter than "
            "the length, because the language's list of words ended before. The task ``niah`` is "
            "all five needle tasks together, beside the paper's Figure 3; the language ``all`` is "
            "all of those whose instructions are in the context's language."
        ),
    ),
    Result(
        "languages",
        "Accuracy by language",
        View(
            where=NEEDLES,
            select=(*OWN, LONG_ONES),
            by=(By(METRIC), By(MODEL, margin="all"), BY_CONTEXT),
            columns=(
                *("model", "source", "metric", "context_lang", "language", "resources"),
                *("n_articles", "rank", "published_rank"),
            ),
            derive={
                "language": f"{HOOKS}name_of",
                "resources": f"{HOOKS}group_of",
                "n_articles": f"{HOOKS}articles_of",
            },
            measure=MEASURE,
            paper=Paper(
                (Place("figure4b", "{context_lang}", "long", when={"model": "all"}),),
                _requires(lengths=LONG, all_models=True),
                BOTH,
                run_only=True,
            ),
            finish=f"{HOOKS}ranked",
            sort=("model", "metric", "rank", "context_lang"),
            orders=(Factor("context_lang"), Factor("rank", "int64")),
        ),
        LAYOUTS["languages"],
        (
            "**Accuracy by language** over the five needle tasks in long contexts (64K and 128K, or "
            "a run's two longest), for all models together and for each, by both metrics, with "
            "ranks and the size of the language's Wikipedia (the paper's Table 2). ``value`` leaves "
            "out answers that the output limit cut before any text, as the paper does; "
            "``value_all`` is of all prompts. High-resource languages have at least 250,000 "
            "articles. The paper's text has three of the means over its models, and their ranks."
        ),
    ),
    Result(
        "lengths_tau",
        "Rank agreement of equal tokens and equal text",
        Computed(
            f"{HOOKS}agreement",
            {"requires": _requires(lengths=LENGTHS, languages=ARTICLES, all_models=True)},
        ),
        LAYOUTS["lengths_tau"],
        (
            "**Kendall's tau between the two ways to measure length**: equal tokens, each model in "
            "its own tokenizer, and equal text, all models in a common one (appendix D). Over the "
            "accuracies of languages in the needle tasks. The paper has one number, over all its "
            "models; it is compared with a run of all of them, in all lengths and languages."
        ),
        when=("equal_text",),
    ),
    Result(
        "errors",
        "Errors where the answer is in the text",
        Stack(
            (
                ERRORS,
                ERRORS.but(
                    select=(*ERRORS.select, LONG_ONES),
                    by=(
                        By(MODEL),
                        EVERY_CONTEXT,
                        By(TASK, margin="all"),
                        By(LENGTH, margin="long", only_margin=True),
                        BY_ERROR,
                    ),
                ),
            ),
            sort=("model", "context_lang", "task", "length"),
            orders=(EVERY_CONTEXT, TASK, By(LENGTH, values=f"{HOOKS}long_first")),
        ),
        LAYOUTS["errors"],
        (
            "**Errors where the answer is in the text**, by the strict rules: the answer ``none`` "
            "although there is a number, wrong numbers only, some right numbers but not exactly "
            "these, neither a number nor ``none``, and no text at all, cut by the limit or not. "
            "Shares of all prompts."
        ),
        when=("present",),
    ),
    Result(
        "figure1a",
        "Languages with large and small Wikipedias",
        View(
            where=SINGLE,
            select=(*OWN, f"{HOOKS}ends"),
            by=(
                BY_METRIC,
                By(LENGTH),
                By(Factor("group", order=("top", "bottom")), contrast=("gap", "top", "bottom")),
            ),
            columns=("metric", "group", "languages", "length"),
            derive={"languages": f"{HOOKS}ends_of"},
            measure=MEASURE,
            paper=Paper(
                (Place("figure1a", "gap", "{length}", when={"group": "gap"}),),
                _requires(["niah_single"], languages=ARTICLES, all_models=True),
                BOTH,
                run_only=True,
                silent=True,
            ),
        ),
        DRAWINGS["figure1a"],
        (
            "**Languages with large and small Wikipedias** (the paper's Figure 1a): S-NIAH of all "
            "models for the five languages at either end of the paper's Table 2, or half of a run's "
            "languages where these are fewer than ten. The paper's gaps are from its text."
        ),
        place="Figure 1a",
        when=("single",),
    ),
    Result(
        "figure1b",
        "With and without the option none",
        View(
            where=SINGLE,
            select=(f"{HOOKS}equal_tokens", f"{HOOKS}both_prompts"),
            by=(
                BY_METRIC,
                By(MODEL),
                EVERY_CONTEXT,
                By(LENGTH),
                By(
                    Factor("prompt", order=(True, False), words={True: "with", False: "without"}),
                    "none_option",
                    text=True,
                    contrast=("drop", False, True),
                ),
            ),
            columns=("metric", "model", "source", "context_lang", "prompt", "length"),
            measure=MEASURE,
            paper=Paper(
                (
                    Place(
                        "figure1b",
                        "{paper}/{context_lang}",
                        "drop/{length}",
                        when={"prompt": "drop"},
                    ),
                ),
                tuple(w for w in _requires(["niah_single"]) if w != Why(f"{HOOKS}none_forbidden")),
                BOTH,
                silent=True,
            ),
            sort=("metric", "model", "context_lang", "prompt", "length"),
            orders=(Factor("prompt", order=("with", "without", "drop")),),
        ),
        DRAWINGS["figure1b"],
        (
            "**With and without the option none** (the paper's Figure 1b): S-NIAH with the sentence "
            "that allows the answer ``none``, and without; in English, or in all languages that "
            "have both where English has not. The CSV has every language and all of them together. "
            "The paper's drop is o3-mini-high's in English."
        ),
        place="Figure 1b",
        when=("without_none",),
    ),
    Result(
        "figure3",
        "Accuracy by language and length",
        FIGURE3,
        DRAWINGS["figure3"],
        (
            "**Accuracy by language and length** (the paper's Figure 3): all needle tasks, in "
            "percent, languages best first. Small numbers: the paper's, from the image of the "
            "figure in its repository."
        ),
        place="Figure 3",
        when=("needles",),
    ),
    Result(
        "figure4a",
        "Long contexts by model",
        View(
            where=NEEDLES,
            select=(*DRAWN, LONG_ONES, GROUPED),
            by=(By(MODEL), By(GROUP)),
            columns=("model", "source", "group"),
            measure=MEASURE,
        ),
        DRAWINGS["figure4a"],
        (
            "**Long contexts by model** (the paper's Figure 4a): all needle tasks at 64K and 128K, "
            "or a run's two longest lengths, by the resources of the language."
        ),
        place="Figure 4a",
        when=("needles",),
    ),
    Result(
        "figure4b",
        "Long contexts by language",
        View(
            where=NEEDLES,
            select=(*OWN, LONG_ONES),
            by=(BY_METRIC, By(Factor("context_lang"))),
            columns=("metric", "context_lang", "group"),
            derive={"group": f"{HOOKS}group_of"},
            measure=MEASURE,
            paper=_paper(
                "figure4b",
                "{context_lang}",
                "long",
                *_requires(lengths=LONG, all_models=True),
                run_only=True,
            ),
            sort=("metric", "-value", "context_lang"),
        ),
        DRAWINGS["figure4b"],
        (
            "**Long contexts by language** (the paper's Figure 4b): all needle tasks and all "
            "models. The paper's numbers are from its text."
        ),
        place="Figure 4b",
        when=("needles",),
    ),
    Result(
        "figure5",
        "Accuracy by task",
        View(
            where=ONE_LANGUAGE,
            select=(*OWN, GROUPED, f"{HOOKS}needles_together"),
            by=(BY_METRIC, By(TASK, "of"), By(GROUP, margin="all")),
            columns=("metric", "task", "group"),
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
                (),
                BOTH,
                bounds=True,
                run_only=True,
            ),
        ),
        DRAWINGS["figure5"],
        (
            "**Accuracy by task** (the paper's Figure 5) of all models and lengths, by the "
            "resources of the language. Hatched bars hold prompts that are shorter than their "
            "length, because the language's list of words ended before."
        ),
        place="Figure 5",
    ),
    Result(
        "figure6a",
        "Cross-lingual accuracy",
        View(
            where=f"task in {tuple(NIAH)}",
            select=(*OWN, f"{HOOKS}crossed"),
            by=(BY_METRIC, BY_CONTEXT, BY_INSTRUCTION, By(LENGTH)),
            columns=("metric", "context_lang", "instruction_lang", "length"),
            measure=MEASURE,
            paper=_paper(
                "figure6a",
                "{instruction_lang}-{context_lang}",
                "{length}",
                *_requires(all_models=True),
                run_only=True,
            ),
        ),
        DRAWINGS["figure6a"],
        (
            "**Cross-lingual accuracy** (the paper's Figure 6a): all needle tasks and all models, "
            "by the language of the context (panels) and of the instructions (lines). The paper's "
            "numbers are from its text."
        ),
        place="Figure 6a",
        when=("crossed",),
    ),
    Result(
        "figure6b",
        "Errors with a single needle",
        SINGLE_ERRORS,
        DRAWINGS["figure6b"],
        (
            "**Errors with a single needle** (the paper's Figure 6b): shares of all S-NIAH prompts, "
            "by the strict rules."
        ),
        place="Figure 6b",
        when=("single",),
    ),
    Result(
        "figure17",
        "Accuracy by model and length",
        View(
            where=NEEDLES,
            select=DRAWN,
            by=(By(MODEL), By(LENGTH)),
            columns=("model", "source", "length"),
            measure=MEASURE,
        ),
        DRAWINGS["figure17"],
        (
            "**Accuracy by model and length** (the paper's Figure 17): all needle tasks and all "
            "languages."
        ),
        place="Figure 17",
        when=("needles",),
    ),
    Result(
        "figure18",
        "Errors in long contexts, models behind endpoints",
        _errors_by_language("yes"),
        DRAWINGS["figure18"],
        (
            "**Errors in long contexts** by language, models behind endpoints (the paper's Figure "
            "18): shares of all S-NIAH prompts at 64K and 128K, or at a run's two longest lengths, "
            "by the strict rules."
        ),
        place="Figure 18",
        when=("single",),
    ),
    Result(
        "figure19",
        "Errors in long contexts, open models",
        _errors_by_language("no"),
        DRAWINGS["figure19"],
        (
            "**Errors in long contexts** by language, open models (the paper's Figure 19): shares "
            "of all S-NIAH prompts at 64K and 128K, or at a run's two longest lengths, by the "
            "strict rules."
        ),
        place="Figure 19",
        when=("single",),
    ),
    Result(
        "figure20",
        "Reasoning tokens of right and wrong answers",
        View(
            where=NEEDLES,
            select=(*DRAWN, f"{HOOKS}reasoned"),
            by=(By(MODEL), By(Factor("answer")), By(LENGTH)),
            columns=("model", "source", "answer", "length"),
            measure=_mean("reasoning_tokens", "model,answer,length"),
        ),
        DRAWINGS["figure20"],
        (
            "**Reasoning tokens of right and wrong answers** to the needle tasks (the paper's "
            "Figure 20), for models that report them. Answers that the limit cut before any text "
            "are left out."
        ),
        place="Figure 20",
        when=("needles", "reasoning"),
    ),
    Result(
        "figure21",
        "Answers cut by the output limit",
        View(
            where=WORDS,
            select=(*DRAWN, f"{HOOKS}cut_answers"),
            by=(By(MODEL), By(TASK), By(LENGTH)),
            columns=("model", "source", "task", "length"),
            measure=MEASURE,
        ),
        DRAWINGS["figure21"],
        (
            "**Answers cut by the output limit** in the tasks of common words (the paper's Figure "
            "21), for models that reason."
        ),
        place="Figure 21",
        when=("words", "reasoning"),
    ),
    Result(
        "figure22",
        "Common words by length",
        View(
            where=WORDS,
            select=OWN,
            by=(BY_METRIC, By(MODEL), By(TASK), By(LENGTH)),
            columns=("metric", "model", "source", "task", "length"),
            measure=MEASURE,
            paper=_paper(
                "figure22",
                "{paper}",
                "{task}/{length}",
                *_requires((), languages=ARTICLES),
                bounds=True,
            ),
        ),
        DRAWINGS["figure22"],
        (
            "**Common words by length** (the paper's Figure 22): accuracy of both tasks over all "
            "languages; answers that the limit cut before any text are wrong. Hollow points hold "
            "prompts that are shorter than their length, because the language's list of words ended "
            "before. The CSV has the paper's bounds."
        ),
        place="Figure 22",
        when=("words",),
    ),
    Result(
        "figure23",
        "Right words in wrong answers",
        View(
            where=WORDS,
            select=(*STRICT, f"{HOOKS}wrong_words", GROUPED),
            by=(By(MODEL), By(TASK), By(GROUP), By(LENGTH)),
            columns=("model", "source", "task", "group", "length"),
            measure=_mean("found", "model,task,group,length"),
        ),
        DRAWINGS["figure23"],
        (
            "**Right words in wrong answers** to the tasks of common words (the paper's Figure 23): "
            "how many of the ten, by the resources of the language. Answers without text are left "
            "out."
        ),
        place="Figure 23",
        when=("words",),
    ),
    Result(
        "figure24",
        "One text in several tokenizers",
        Computed(f"{HOOKS}text_lengths"),
        DRAWINGS["figure24"],
        (
            "**One text in several tokenizers** (the paper's Figure 24): how many tokens the "
            "longest text of each language is. No model is needed. The texts are NIAH's prompts, "
            "measured in the first of ``run.tokenizers``, or else in the first model's tokenizer "
            "(``measured_in``). The paper's numbers, for Tamil, are from its text; they stand "
            "beside released texts of 128,000 tokens of cl100k_base, and beside no others."
        ),
        place="Figure 24",
        needs="token_counts",
    ),
    Result(
        "figure25",
        "Equal text by language and length",
        FIGURE3.but(
            select=(f"{HOOKS}equal_text", f"{HOOKS}none_allowed"),
            paper=_paper("figure25", "{paper}/{context_lang}", "{length}", *_requires()),
        ),
        DRAWINGS["figure25"],
        (
            "**Equal text by language and length** (the paper's Figure 25): Figure 3 where all "
            "models read the same text, its length measured in a common tokenizer."
        ),
        place="Figure 25",
        when=("equal_text",),
    ),
)
