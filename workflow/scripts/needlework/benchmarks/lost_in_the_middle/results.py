"""Lost in the Middle's tables and figures, and ours of other languages."""

from __future__ import annotations

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    INDEX,
    KEYS,
    LANG,
    PAIRS,
    QA,
    SIZE,
    TASKS,
    VARIANTS,
)
from needlework.cells import COMPARISON, MCNEMAR, MEASURES
from needlework.decoding import GREEDY
from needlework.results.result import (
    MODEL,
    By,
    Computed,
    Decoding,
    Over,
    Paper,
    Place,
    Result,
    Same,
    Stack,
    View,
    Why,
)

HOOKS = "needlework.benchmarks.lost_in_the_middle.hooks:"

# The paper's settings that move its numbers: of its questions, and of its answers (the released code's).
SETUP = Same({"corpus": "nq_open", "gold_without_answer": "keep"})
IN_ENGLISH = Over("lang", (ENGLISH,), "questions in another language")
# Section 3.2 of the paper. Pairs that were drawn are as hard as the released ones.
ANSWERS = (Same({"max_new_tokens": 100}), Decoding(GREEDY))
BOTH = ("paper", "repository")
QA_TABLES = {10: "table5", 20: "table6", 30: "table7"}

TASK = Factor("task", order=("closed_book", QA, PAIRS, "open_domain", "recall", "gain", "oracle"))
VARIANT = Factor("variant", order=(*VARIANTS, "lowest"))
POSITION = Factor("position", "int32", label="Position")

LEVELS = Place(
    "table1",
    "{paper}",
    "{task}",
    when={"task": ("closed_book", "oracle")},
    requires=(SETUP, IN_ENGLISH),
    printed=("paper",),
)
# The paper's number of each cell (Tables 1 and 5 to 7, section 5.2; the repository's 140 pairs).
PLACES = (
    LEVELS,
    *(
        Place(
            table,
            "{paper}",
            "{gold_index}",
            when={"task": QA, "variant": "main", "n_documents": n},
            complete=f"{HOOKS}printed_position",
            requires=(SETUP, IN_ENGLISH),
        )
        for n, table in QA_TABLES.items()
    ),
    Place(
        "figure10",
        "{paper}",
        "{gold_index}",
        when={"task": PAIRS, "variant": "main", "n_documents": 140, "keys": "uuid"},
        complete=f"{HOOKS}printed_position",
    ),
    Place(
        "text",
        "{paper}",
        "300_pairs/query_aware",
        when={"task": PAIRS, "variant": "query_aware", "n_documents": 300, "keys": "uuid"},
    ),
)
EVERY_PLACE = Paper(PLACES, ANSWERS, BOTH, tell_source=True)
LABELS = ("model", "source", "task", "variant", "n_documents", "gold_index", "position")
SORT = {
    "sort": ("model", "task", "variant", "n_documents", "position"),
    "orders": (TASK, VARIANT, POSITION, INDEX),
}
QUESTIONS = f"variant == 'main' and task == '{QA}' and lang == 'en'"
UUIDS = f"task == '{PAIRS}' and keys == 'uuid'"


def _printing(*indices: int, sources: tuple[str, ...] = ("paper",)) -> Paper:
    """The paper's curves of models that were not run stand beside ours: these of PLACES."""
    places = [place.but(printed=()) for place in PLACES]
    for index in indices:
        places[index] = places[index].but(printed=sources)
    return Paper(tuple(places), ANSWERS, BOTH, tell_source=True)


CURVES = View(
    prepare=f"{HOOKS}with_variant",
    where=QUESTIONS,
    by=(By(MODEL), By(TASK), By(SIZE), By(INDEX)),
    columns=LABELS,
    const={"variant": "main"},
    derive={"position": f"{HOOKS}position"},
    paper=_printing(),
    **SORT,
)
CLOSED_AND_ORACLE = CURVES.but(
    where="",
    select=(f"{HOOKS}of_curves",),
    by=(By(MODEL), By(TASK)),
    derive={},
    paper=_printing(0),
)
WITH_PAPER = CURVES.but(paper=_printing(1, 2, 3))


def _accuracy(column: Factor, of: str, where: str, table: str) -> View:
    return View(
        prepare=f"{HOOKS}with_variant",
        where=f"variant == 'main' and {where}",
        by=(By(LANG), By(MODEL), By(column, of, text=True)),
        columns=("lang", "model", "source", "column"),
        paper=Paper(
            (Place(table, "{paper}", "{column}", printed=("paper",), labels={"lang": ENGLISH}),),
            (SETUP, IN_ENGLISH, *ANSWERS),
            BOTH,
            tell_source=True,
        ),
    )


def _tokens(table: str, column: str, where: str, *requires: Same | Over | Why) -> Computed:
    words = {"where": where, "column": column, "table": table, "requires": requires}
    return Computed(f"{HOOKS}tokens", words)


def _ablation(variant: str, tasks: str = f"task == '{QA}' and lang == 'en'") -> Stack:
    """Accuracy by position in a variant and, in the same sizes, without it ("main").

    Unambiguous questions are some of the same answers, so that there is nothing to test.
    """
    same = f"{HOOKS}main_beside?variant={variant}"
    changed = CURVES.but(where=f"variant == '{variant}' and ({tasks})", beside=same)
    if variant == "unambiguous":
        changed = CURVES.but(select=(f"{HOOKS}unambiguous",))
    return Stack(
        (CURVES.but(prepare=same, where=tasks), changed.but(const={"variant": variant})), **SORT
    )


TAKEN = Factor("column", order=("closed_book", "oracle"))
NUMBERED = Factor("column", "int32")
BY_LANGUAGE = View(
    prepare=f"{HOOKS}with_variant",
    where=f"variant == 'main' and task == '{QA}'",
    by=(By(MODEL), By(LANG), By(TASK), By(SIZE), By(INDEX)),
    columns=("model", "source", "lang", "task", "n_documents", "gold_index"),
    derive={"position": f"{HOOKS}position"},
    also=("position",),
    sort=("model", "n_documents", "lang", "position"),
)
GAINS = Paper(
    (
        Place(
            "text",
            "{paper}",
            "open_domain/gain_above_20",
            requires=(SETUP,),
            printed=BOTH,
            labels={"task": "gain"},
        ),
    ),
    sources=BOTH,
    tell_source=True,
)
OPEN_DOMAIN = View(
    prepare=f"{HOOKS}with_variant",
    where="variant == 'main' and task == 'open_domain' and lang == 'en'",
    by=(By(MODEL), By(SIZE)),
    columns=LABELS,
    const={"task": "open_domain"},
    also=(*COMPARISON, "published_source"),
)
PAIRED = ("n_both", *MCNEMAR)

RESULTS = (
    Result(
        "table1",
        "",
        _accuracy(TAKEN, "task", "task in ('closed_book', 'oracle')", "table1"),
        None,
        "",
    ),
    *(
        Result(
            table,
            "",
            _accuracy(NUMBERED, "gold_index", f"task == '{QA}' and n_documents == {n}", table),
            None,
            "",
        )
        for n, table in QA_TABLES.items()
    ),
    Result(
        "accuracy",
        "",
        View(
            prepare=f"{HOOKS}with_variant",
            by=(
                *(By(MODEL), By(Factor("task", order=TASKS)), By(LANG), By(KEYS)),
                *(By(VARIANT), By(SIZE), By(INDEX, nullable=True)),
            ),
            columns=(
                *("model", "source", "task", "lang", "keys", "variant"),
                *("n_documents", "gold_index", "position"),
            ),
            derive={"position": f"{HOOKS}position"},
            paper=Paper(
                tuple(place.but(printed=()) for place in PLACES), ANSWERS, BOTH, tell_source=True
            ),
            sort=("model", "task", "n_documents", "keys", "lang", "variant", "gold_index"),
            orders=(POSITION,),
        ),
        None,
        "",
    ),
    Result(
        "table2",
        "",
        _tokens(
            "table2",
            "task",
            "variant == 'main' and task in ('closed_book', 'oracle')",
            SETUP,
            IN_ENGLISH,
        ),
        None,
        "",
        needs="instances",
    ),
    Result(
        "table3",
        "",
        _tokens(
            "table3", "n_documents", f"variant == 'main' and task == '{QA}'", SETUP, IN_ENGLISH
        ),
        None,
        "",
        needs="instances",
    ),
    Result(
        "table4",
        "",
        _tokens(
            "table4",
            "n_documents",
            f"variant == 'main' and task == '{PAIRS}'",
            Why(f"{HOOKS}drawn_pairs"),
        ),
        None,
        "",
        needs="instances",
    ),
    Result(
        "figure1",
        "",
        Stack(
            (
                WITH_PAPER.but(select=(f"{HOOKS}usual_size",), finish=f"{HOOKS}the_example"),
                CLOSED_AND_ORACLE.but(finish=f"{HOOKS}the_example"),
            ),
            led=True,
            **SORT,
        ),
        None,
        "",
    ),
    Result("figure5", "", Stack((WITH_PAPER, CLOSED_AND_ORACLE), led=True, **SORT), None, ""),
    Result(
        "figure6",
        "",
        View(
            prepare=f"{HOOKS}with_variant",
            where=QUESTIONS,
            by=(By(MODEL), By(SIZE)),
            strata="gold_index",
            columns=LABELS,
            const={"task": QA},
            paper=Paper(
                tuple(
                    Place(
                        table,
                        "{paper}",
                        "",
                        when={"n_documents": n},
                        mean=True,
                        check=f"{HOOKS}other_positions",
                        requires=(SETUP, IN_ENGLISH),
                        printed=("paper",),
                        labels={"task": QA},
                    )
                    for n, table in QA_TABLES.items()
                ),
                ANSWERS,
                BOTH,
                tell_source=True,
            ),
            **SORT,
        ),
        None,
        "",
    ),
    Result(
        "figure10",
        "",
        CURVES.but(
            where=f"variant == 'main' and {UUIDS}",
            paper=_printing(4, sources=BOTH),
            finish=f"{HOOKS}lowest",
        ),
        None,
        "",
    ),
    Result(
        "figure11",
        "",
        CURVES.but(
            select=(f"{HOOKS}with_encoder_decoder",),
            derive={**CURVES.derive, "architecture": f"{HOOKS}architecture"},
            also=("architecture",),
        ),
        None,
        "",
    ),
    Result(
        "figure12",
        "",
        _ablation("query_aware", f"(task == '{QA}' and lang == 'en') or ({UUIDS})"),
        None,
        "",
    ),
    Result(
        "figure13",
        "",
        CURVES.but(
            select=(f"{HOOKS}tuning_pairs",),
            by=(By(Factor("pair")), By(MODEL), By(Factor("role")), *CURVES.by[1:]),
            also=("pair", "role"),
            beside=f"{HOOKS}base_models",
            sort=("model", "pair"),
        ),
        None,
        "",
    ),
    Result(
        "figure14",
        "",
        Stack(
            (
                OPEN_DOMAIN,
                OPEN_DOMAIN.but(
                    select=(f"{HOOKS}retrieved",),
                    by=(By(SIZE),),
                    const={"task": "recall", "model": ""},
                ),
                Computed(
                    f"{HOOKS}gains",
                    {
                        "compared": GAINS,
                        "columns": (*OPEN_DOMAIN.columns, *MEASURES, *OPEN_DOMAIN.also, *PAIRED),
                    },
                ),
            ),
            led=True,
            sort=("model", "n_documents"),
        ),
        None,
        "",
    ),
    Result("figure15", "", _ablation("unambiguous"), None, ""),
    Result("figure16", "", _ablation("random_distractors"), None, ""),
    Result("figure17", "", _ablation("random_order"), None, ""),
    Result(
        "figure18",
        "",
        CURVES.but(
            select=(f"{HOOKS}shared_questions",),
            # Of some questions only, so Tables 5 to 7 are of others.
            paper=Paper((), ANSWERS, BOTH, tell_source=True),
            also=("absent",),
            finish=f"{HOOKS}with_absent",
        ),
        None,
        "",
    ),
    Result("languages", "", BY_LANGUAGE, None, ""),
    Result(
        "key_value_words",
        "",
        BY_LANGUAGE.but(
            where=f"variant == 'main' and task == '{PAIRS}'", select=(f"{HOOKS}words_and_uuids",)
        ),
        None,
        "",
    ),
)
