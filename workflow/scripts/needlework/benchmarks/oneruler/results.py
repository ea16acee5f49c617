"""ONERULER's tables and figures: the paper's, and every cell by both metrics."""

from __future__ import annotations

from collections.abc import Iterable

from needlework import cells
from needlework.benchmarks.factor import Factor
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
        "",
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
        None,
        "",
    ),
    Result(
        "languages",
        "",
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
        None,
        "",
    ),
    Result(
        "lengths_tau",
        "",
        Computed(
            f"{HOOKS}agreement",
            {"requires": _requires(lengths=LENGTHS, languages=ARTICLES, all_models=True)},
        ),
        None,
        "",
    ),
    Result(
        "errors",
        "",
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
        None,
        "",
    ),
    Result(
        "figure1a",
        "",
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
        None,
        "",
    ),
    Result(
        "figure1b",
        "",
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
        None,
        "",
    ),
    Result("figure3", "", FIGURE3, None, ""),
    Result(
        "figure4a",
        "",
        View(
            where=NEEDLES,
            select=(*DRAWN, LONG_ONES, GROUPED),
            by=(By(MODEL), By(GROUP)),
            columns=("model", "source", "group"),
            measure=MEASURE,
        ),
        None,
        "",
    ),
    Result(
        "figure4b",
        "",
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
        None,
        "",
    ),
    Result(
        "figure5",
        "",
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
        None,
        "",
    ),
    Result(
        "figure6a",
        "",
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
        None,
        "",
    ),
    Result("figure6b", "", SINGLE_ERRORS, None, ""),
    Result(
        "figure17",
        "",
        View(
            where=NEEDLES,
            select=DRAWN,
            by=(By(MODEL), By(LENGTH)),
            columns=("model", "source", "length"),
            measure=MEASURE,
        ),
        None,
        "",
    ),
    Result("figure18", "", _errors_by_language("yes"), None, ""),
    Result("figure19", "", _errors_by_language("no"), None, ""),
    Result(
        "figure20",
        "",
        View(
            where=NEEDLES,
            select=(*DRAWN, f"{HOOKS}reasoned"),
            by=(By(MODEL), By(Factor("answer")), By(LENGTH)),
            columns=("model", "source", "answer", "length"),
            measure=_mean("reasoning_tokens", "model,answer,length"),
        ),
        None,
        "",
    ),
    Result(
        "figure21",
        "",
        View(
            where=WORDS,
            select=(*DRAWN, f"{HOOKS}cut_answers"),
            by=(By(MODEL), By(TASK), By(LENGTH)),
            columns=("model", "source", "task", "length"),
            measure=MEASURE,
        ),
        None,
        "",
    ),
    Result(
        "figure22",
        "",
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
        None,
        "",
    ),
    Result(
        "figure23",
        "",
        View(
            where=WORDS,
            select=(*STRICT, f"{HOOKS}wrong_words", GROUPED),
            by=(By(MODEL), By(TASK), By(GROUP), By(LENGTH)),
            columns=("model", "source", "task", "group", "length"),
            measure=_mean("found", "model,task,group,length"),
        ),
        None,
        "",
    ),
    Result("figure24", "", Computed(f"{HOOKS}text_lengths"), None, "", needs="token_counts"),
    Result(
        "figure25",
        "",
        FIGURE3.but(
            select=(f"{HOOKS}equal_text", f"{HOOKS}none_allowed"),
            paper=_paper("figure25", "{paper}/{context_lang}", "{length}", *_requires()),
        ),
        None,
        "",
    ),
)
