"""Lost in the Middle's tables and figures, and ours of other languages."""

from __future__ import annotations

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.lost_in_the_middle.drawings import DRAWINGS
from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    INDEX,
    KEYS,
    LANG,
    PAIRS,
    QA,
    QA_TABLES,
    SIZE,
    TASKS,
    VARIANTS,
)
from needlework.benchmarks.lost_in_the_middle.layouts import LAYOUTS
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
QA_NOTES = {
    20: " Its section 3.3 gives 52.9% where its table has 53.8% (GPT-3.5-Turbo, index 9). "
    "Llama-2-70B-chat is not in the paper: its numbers are those of the released code's EXPERIMENTS.md "
    "(``published_source`` is ``repository``), of the 2,635 prompts that fit into its context.",
    30: " Its section 3.3 gives 49.5% where its table has 50.5% (GPT-3.5-Turbo (16K), index 9).",
}

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
        "Accuracy without documents, and with the gold document alone",
        _accuracy(TAKEN, "task", "task in ('closed_book', 'oracle')", "table1"),
        LAYOUTS["table1"],
        (
            "**Accuracy without documents, and with the gold document alone** (the paper's Table "
            "1). The first is what a model knows without reading, the second the most that it can "
            "get out of more documents. Every number has n, its interval over questions, and the "
            "paper's number with ``comparison``: whether our interval covers it. Skipped prompts "
            "(longer than the model's context) are counted and in no mean. ``published_source`` is "
            "``repository`` for numbers that are not in the paper, but in the released code's "
            "EXPERIMENTS.md: those of Llama-2-70B-chat."
        ),
        place="Table 1",
        when=("levels",),
    ),
    *(
        Result(
            table,
            f"Accuracy among {n} documents by the gold document's index",
            _accuracy(NUMBERED, "gold_index", f"task == '{QA}' and n_documents == {n}", table),
            LAYOUTS[table],
            f"**Accuracy among {n} documents** by the gold document's index, from 0 (the paper's "
            f"Table {table[-1]}), for each language of the run; the "
            f"paper's numbers are English.{QA_NOTES.get(n, '')}",
            place=f"Table {table[-1]}",
            when=(f"{n}_documents",),
        )
        for n, table in QA_TABLES.items()
    ),
    Result(
        "accuracy",
        "Accuracy of every cell",
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
        LAYOUTS["accuracy"],
        (
            "**Accuracy of every cell that was asked**: all languages, ablations and positions, "
            "each answer in one row. ``variant`` is ``main`` or what an ablation changes: "
            "``query_aware``, ``random_distractors``, ``random_order``. ``keys`` is ``uuid`` or "
            "``words`` for key-value pairs, which are counted in ``n_documents``. Unambiguous "
            "questions are among those of ``main``; Figure 15 has them apart. Where the paper or "
            "the released code prints a number of a cell, it stands beside ours as in the other "
            "tables."
        ),
    ),
    Result(
        "table2",
        "Tokens of closed-book and oracle prompts",
        _tokens(
            "table2",
            "task",
            "variant == 'main' and task in ('closed_book', 'oracle')",
            SETUP,
            IN_ENGLISH,
        ),
        LAYOUTS["table2"],
        (
            "**Tokens of closed-book and oracle prompts** (the paper's Table 2), in every tokenizer "
            "of the run, without a chat template. Mean and sample standard deviation are over "
            "questions. ``comparison`` says whether all three numbers are the paper's to the last "
            "digit printed. The paper's counts of MPT-30B and LongChat-13B (16K) seem to include "
            "these models' chat formats: closed book has 43.5 and 55.6 tokens, in GPT-3.5-Turbo's "
            "encoding 15.3. Nothing of ours can be compared with them."
        ),
        place="Table 2",
        when=("levels",),
        needs="instances",
    ),
    Result(
        "table3",
        "Tokens of multi-document prompts",
        _tokens(
            "table3", "n_documents", f"variant == 'main' and task == '{QA}'", SETUP, IN_ENGLISH
        ),
        LAYOUTS["table3"],
        (
            "**Tokens of multi-document prompts** (the paper's Table 3), in every tokenizer of the "
            "run, without a chat template. Mean and sample standard deviation are over questions, "
            "each with the mean of its prompts, one for each index of the gold document; the "
            "maximum is over prompts. The paper's counts of MPT-30B and LongChat-13B (16K) seem to "
            "include these models' chat formats (see Table 2): nothing of ours can be compared with "
            "them."
        ),
        place="Table 3",
        when=("questions",),
        needs="instances",
    ),
    Result(
        "table4",
        "Tokens of key-value prompts",
        _tokens(
            "table4",
            "n_documents",
            f"variant == 'main' and task == '{PAIRS}'",
            Why(f"{HOOKS}drawn_pairs"),
        ),
        LAYOUTS["table4"],
        (
            "**Tokens of key-value prompts** (the paper's Table 4), in every tokenizer of the run, "
            "without a chat template. Mean and sample standard deviation are over examples, each "
            "with the mean of its prompts, one for each index of the pair; the maximum is over "
            "prompts. ``keys`` is ``uuid`` for the paper's setting. Pairs that were drawn "
            "(``source: constructed``) are not the paper's, so that their counts are not compared. "
            "The paper's counts of MPT-30B and LongChat-13B (16K) seem to include these models' "
            "chat formats (see Table 2)."
        ),
        place="Table 4",
        when=("pairs",),
        needs="instances",
    ),
    Result(
        "figure1",
        "The U-shaped curve",
        Stack(
            (
                WITH_PAPER.but(select=(f"{HOOKS}usual_size",), finish=f"{HOOKS}the_example"),
                CLOSED_AND_ORACLE.but(finish=f"{HOOKS}the_example"),
            ),
            led=True,
            **SORT,
        ),
        DRAWINGS["figure1"],
        (
            "**The U-shaped curve** (the paper's Figure 1, of GPT-3.5-Turbo): accuracy by the gold "
            "document's position among 20 documents, or the number nearest to 20, with closed book "
            "and oracle as levels. Dashed: the paper's Tables 1 and 6."
        ),
        place="Figure 1",
        when=("english",),
    ),
    Result(
        "figure5",
        "Accuracy by the gold document's position",
        Stack((WITH_PAPER, CLOSED_AND_ORACLE), led=True, **SORT),
        DRAWINGS["figure5"],
        (
            "**Accuracy by the gold document's position** for each number of documents (the paper's "
            "Figure 5). Left and right of the positions: closed book and oracle. Dashed: the "
            "paper's Tables 1 and 5 to 7, in grey for its models that were not run, and for "
            "Llama-2-70B-chat the released code's EXPERIMENTS.md."
        ),
        place="Figure 5",
        when=("english",),
    ),
    Result(
        "figure6",
        "Accuracy by the number of documents",
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
        DRAWINGS["figure6"],
        (
            "**Accuracy by the number of documents**, the mean of all positions (the paper's Figure "
            "6). Dashed: the means of the numbers in the paper's Tables 5 to 7, and for "
            "Llama-2-70B-chat in the released code's EXPERIMENTS.md."
        ),
        place="Figure 6",
        when=("english",),
    ),
    Result(
        "figure10",
        "Key-value retrieval by position",
        CURVES.but(
            where=f"variant == 'main' and {UUIDS}",
            paper=_printing(4, sources=BOTH),
            finish=f"{HOOKS}lowest",
        ),
        DRAWINGS["figure10"],
        (
            "**Key-value retrieval** by the number of pairs and the position of the pair asked for "
            "(the paper's Figure 10). Keys and values are UUIDs. The paper prints one number of "
            "this figure: the lowest of GPT-3.5-Turbo (16K) among 300 pairs, 45.6%. Dashed: that, "
            "and the accuracy of MPT-30B-Instruct and LongChat-13B (16K) among 140 pairs, which the "
            "released code's EXPERIMENTS.md has. The CSV has our lowest position beside the paper's "
            "(``variant`` is ``lowest``); chosen as the lowest of several, it is a little too low, "
            "as is the paper's."
        ),
        place="Figure 10",
        when=("uuids",),
    ),
    Result(
        "figure11",
        "Encoder-decoder models",
        CURVES.but(
            select=(f"{HOOKS}with_encoder_decoder",),
            derive={**CURVES.derive, "architecture": f"{HOOKS}architecture"},
            also=("architecture",),
        ),
        DRAWINGS["figure11"],
        (
            "**Encoder-decoder models** above, all others below, by the gold document's position "
            "(the paper's Figure 11). Dashed: the paper's Tables 5 to 7."
        ),
        place="Figure 11",
        when=("encoder_decoder",),
    ),
    Result(
        "figure12",
        "Query before and after the documents or pairs",
        _ablation("query_aware", f"(task == '{QA}' and lang == 'en') or ({UUIDS})"),
        DRAWINGS["figure12"],
        (
            "**Query-aware contextualization**: the question, or the key, before and after the "
            "documents or pairs, beside the same prompts with it after them alone (the paper's "
            "Figure 12, and the pairs of its section 5.2). Dashed: the paper's Tables 5 to 7, the "
            "perfect accuracy that section 5.2 reports for 300 pairs, and the accuracy among 140 "
            "pairs with the key after them alone that the released code's EXPERIMENTS.md has. "
            "English questions and UUIDs; the table of every cell has the others. The CSV has "
            "McNemar's exact test at each position: of the questions or keys that have an answer in "
            "both (``n_both``), how many are right with the query after them alone "
            "(``n_first_only``), or with both alone (``n_second_only``), and ``p_mcnemar``."
        ),
        place="Figure 12",
        when=("query_aware",),
    ),
    Result(
        "figure13",
        "Base and instruction-tuned models",
        CURVES.but(
            select=(f"{HOOKS}tuning_pairs",),
            by=(By(Factor("pair")), By(MODEL), By(Factor("role")), *CURVES.by[1:]),
            also=("pair", "role"),
            beside=f"{HOOKS}base_models",
            sort=("model", "pair"),
        ),
        DRAWINGS["figure13"],
        (
            "**Base and instruction-tuned models** by the gold document's position (the paper's "
            "Figure 13). Dashed: the paper's Tables 5 to 7, which have the instruction-tuned one. "
            "The CSV has McNemar's exact test at each position: of the questions that both models "
            "answered (``n_both``), how many the base model alone has right (``n_first_only``), how "
            "many the other alone (``n_second_only``), and ``p_mcnemar``."
        ),
        place="Figure 13",
        when=("instruction_tuning",),
    ),
    Result(
        "figure14",
        "Retriever recall and reader accuracy",
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
        DRAWINGS["figure14"],
        (
            "**Open-domain question answering** (the paper's Figure 14): the retriever's recall and "
            "the readers' accuracy by the number of retrieved documents, none or several of which "
            "hold an answer. The paper prints no number of this figure. It says that more than 20 "
            "documents gain about 1.5% (GPT-3.5-Turbo) and about 1% (Claude-1.3), but not of how "
            "many: in the CSV, rows of the task ``gain`` have our accuracy with the most documents "
            "less that with 20, on the questions that were answered with both, and the paper's "
            "beside it without a comparison."
        ),
        place="Figure 14",
        when=("open_domain",),
    ),
    Result(
        "figure15",
        "Unambiguous questions",
        _ablation("unambiguous"),
        DRAWINGS["figure15"],
        (
            "**Unambiguous questions** beside all English questions (the paper's Figure 15). The "
            "paper's list is not published: the run's configuration names one. Dashed: the paper's "
            "Tables 5 to 7, of all questions."
        ),
        place="Figure 15",
        when=("unambiguous",),
    ),
    Result(
        "figure16",
        "Random distractors",
        _ablation("random_distractors"),
        DRAWINGS["figure16"],
        (
            "**Random distractors** beside retrieved ones, of English questions (the paper's Figure "
            "16). Dashed: the paper's Tables 5 to 7, of retrieved ones. The CSV has McNemar's exact "
            "test at each position: of the questions answered among both (``n_both``), how many are "
            "right among retrieved ones alone (``n_first_only``), or random ones alone "
            "(``n_second_only``), and ``p_mcnemar``."
        ),
        place="Figure 16",
        when=("random_distractors",),
    ),
    Result(
        "figure17",
        "Distractors in random order",
        _ablation("random_order"),
        DRAWINGS["figure17"],
        (
            "**Distractors in random order**, with an instruction that says so, beside the order of "
            "relevance, of English questions (the paper's Figure 17). Dashed: the paper's Tables 5 "
            "to 7, of the order of relevance. The CSV has McNemar's exact test at each position: of "
            "the questions answered in both orders (``n_both``), how many are right in that of "
            "relevance alone (``n_first_only``), or the random one alone (``n_second_only``), and "
            "``p_mcnemar``."
        ),
        place="Figure 17",
        when=("random_order",),
    ),
    Result(
        "figure18",
        "All models on the questions that all answered",
        CURVES.but(
            select=(f"{HOOKS}shared_questions",),
            # Of some questions only, so Tables 5 to 7 are of others.
            paper=Paper((), ANSWERS, BOTH, tell_source=True),
            also=("absent",),
            finish=f"{HOOKS}with_absent",
        ),
        DRAWINGS["figure18"],
        (
            "**All models on the same questions**: those that every model of a panel answered at "
            "every position. A model that answered less than half of a panel's prompts is left out "
            "of it and named below: the others would be cut down to the few that it answered. The "
            "CSV says in ``absent`` why a model has no points. The paper's Figure 18 does so with "
            "GPT-4, which answered 500 of the questions; it prints no numbers."
        ),
        place="Figure 18",
        when=("english",),
    ),
    Result(
        "languages",
        "Languages of the questions",
        BY_LANGUAGE,
        DRAWINGS["languages"],
        (
            "**Languages**: accuracy by the gold document's position, one line a language. The "
            "paper has English alone. Languages are compared on equal questions only where their "
            "corpus has the same ones (XQuAD)."
        ),
        when=("other_languages",),
    ),
    Result(
        "key_value_words",
        "Words instead of UUIDs",
        BY_LANGUAGE.but(
            where=f"variant == 'main' and task == '{PAIRS}'", select=(f"{HOOKS}words_and_uuids",)
        ),
        DRAWINGS["key_value_words"],
        (
            "**Words instead of UUIDs**: key-value retrieval by position, one line a language of "
            "keys and values, and one for UUIDs. The paper has UUIDs alone."
        ),
        when=("words",),
    ),
)
