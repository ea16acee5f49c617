"""Lost in the Middle's figures: positions, numbers of documents, and ablations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle import answers
from needlework.benchmarks.lost_in_the_middle.factors import (
    INDEX,
    LEAST_ANSWERED,
    LEVELS,
    NOTHING_SHARED,
    OPEN,
    PAIRS,
    QA,
    QA_TABLES,
    SIZE,
)
from needlework.benchmarks.lost_in_the_middle.tables import POSITION, TASK, VARIANT, curves
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.drawing.style import COLOURS
from needlework.results.result import (
    MCNEMAR,
    Context,
    Lines,
    Run,
    figure,
)
from needlework.results.tabulate import (
    MODEL,
    PAIRED,
    UNPUBLISHED,
    Beside,
    Cell,
    arranged,
    stacked,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

# What the figures of Lost in the Middle say below themselves, and what they draw in another way.


def recall_named(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows with recall as a line of its own, although it belongs to no model."""
    return data.assign(model=data["model"].fillna(""))


def shared(data: pd.DataFrame, run: Run) -> str:
    """A sentence: how many questions the models of each panel share, and which models are left out."""
    counts, out = [], []
    for size, part in data.groupby("n_documents"):
        counts.append(f"{part['n_questions'].max():,} ({size} documents)")
        few = part[~part["absent"].fillna("").isin(["", NOTHING_SHARED])]
        out += [f"{', '.join(few['model'])} ({size} documents)"] if len(few) else []
    words = f"Questions that all models of a panel answered at every position: {', '.join(counts)}."
    less = f"Left out, with answers to less than {LEAST_ANSWERED:.0%} of the prompts"
    return words + (f" {less}: {'; '.join(out)}." if out else "")


def origin(data: pd.DataFrame, run: Run) -> str:
    """A note on where the published numbers of a figure are printed."""
    both = data[data["published"].notna()]
    paper = both[both["published_source"] == "paper"]
    sizes = sorted(set(paper.loc[paper["task"] == QA, "n_documents"]))
    tables = ["1"] if paper["task"].isin(LEVELS).any() else []
    tables += [QA_TABLES[size].removeprefix("table") for size in sizes]
    names = (
        f"Tables {', '.join(tables[:-1])} and {tables[-1]}"
        if tables[1:]
        else "Table " + "".join(tables)
    )
    text = "a number in its section 5.2" if tables else "the paper's section 5.2"
    released = ", ".join(dict.fromkeys(both.loc[both["published_source"] == "repository", "model"]))
    found = {
        f"the paper's {names}": tables,
        text: (paper["task"] == PAIRS).any(),
        f"the released code's EXPERIMENTS.md ({released})": released,
    }
    return " and ".join(words for words, there in found.items() if there)


# How figures order and name the values of factors and other labels.
FACTORS = (
    Factor(
        "task",
        order=(QA, PAIRS),
        words={
            QA: "documents",
            PAIRS: "pairs",
            "closed_book": "closed book",
            "oracle": "gold alone",
        },
    ),
    Factor("position", label="Position in the prompt (1 = first)"),
    Factor("n_documents", label="Documents in the prompt"),
    Factor("lang", order=("en",), last=("uuid",), format=language_name, words={"uuid": "UUIDs"}),
    Factor("architecture", order=("encoder-decoder", "decoder-only")),
)
NO_DOCUMENTS = "no model answered English questions with documents"
CURVES = Lines(
    x="position",
    scaled=True,
    panel="n_documents",
    panel_title="{n_documents} documents",
    limits=None,
    paper=origin,
    nothing=NO_DOCUMENTS,
)
BY_MODEL = replace(
    CURVES,
    panel="model",
    panel_title="",
    row=("task", "n_documents"),
    row_title="{n_documents} {task}",
)
# The model of the paper's Figure 1.
EXAMPLE = "GPT-3.5-Turbo"


def english(rows: pd.DataFrame) -> pd.DataFrame:
    """Answers to English questions with documents, as the paper asks them."""
    rows = answers.with_variant(rows)
    return where(rows, f"variant == 'main' and task == '{QA}' and lang == 'en'")


def with_levels(asked: pd.DataFrame, rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The curves of these rows, with level lines for closed book and for the gold document alone.

    Empty if `asked` has no rows of this run.
    """
    sides = answers.of_curves(answers.with_variant(rows))
    curve = _main(asked, rows, run)
    levels = _main(sides, rows, run, by=(MODEL, TASK))
    if not (curve["source"] == "ours").any():
        return curve.iloc[:0]
    return arranged(stacked(curve, levels), run, MODEL, TASK, VARIANT, SIZE, POSITION, INDEX)[
        list(curve.columns)
    ]


def _main(asked: pd.DataFrame, rows: pd.DataFrame, run: Context, **more: Any) -> pd.DataFrame:
    return curves(asked, run, variant="main", models=rows, **more)


@figure(
    "The U-shaped curve",
    replace(
        CURVES,
        panel="model",
        panel_title="",
        row=("n_documents",),
        row_title="{n_documents} documents",
        line="task",
        called={QA: "with documents"},
    ),
    when=("english",),
)
def figure1(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Accuracy by the gold document's position among 20 documents, or the number nearest to 20. Horizontal
    lines: closed book, and the gold document alone. The paper shows GPT-3.5-Turbo.
    """
    made = with_levels(answers.usual_size(english(rows)), rows, run)
    return made[(made["source"] == "ours") | (made["model"] == EXAMPLE)]


@figure(
    "Accuracy by the gold document's position",
    replace(CURVES, where="position == position"),
    when=("english",),
)
def figure5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """One panel per number of documents. Models of the paper, if shown, are grey. Table 1 and Figure 1 show
    closed book and the gold document alone.
    """
    return with_levels(english(rows), rows, run)


@figure(
    "Accuracy by the number of documents",
    Lines(
        x="n_documents",
        limits=None,
        axis="Accuracy, all positions",
        nothing=NO_DOCUMENTS,
    ),
    when=("english",),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all positions. The paper prints no numbers."""
    asked = english(rows)
    return curves(asked, run, (MODEL, SIZE), strata="gold_index", task=QA, beside=UNPUBLISHED)


@figure(
    "Key-value retrieval by position",
    replace(
        CURVES,
        panel_title="{n_documents} pairs",
        nothing="no model was asked for the values of UUIDs",
    ),
    when=("uuids",),
)
def figure10(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Keys and values are UUIDs. The released code's EXPERIMENTS.md has numbers of MPT-30B-Instruct and
    LongChat-13B (16K) among 140 pairs.
    """
    asked = answers.with_variant(rows)
    asked = where(asked, f"variant == 'main' and task == '{PAIRS}' and keys == 'uuid'")
    return _main(asked, rows, run)


@figure(
    "Encoder-decoder models",
    replace(
        CURVES,
        row=("architecture",),
        nothing="no encoder-decoder model answered English questions with documents",
    ),
    when=("encoder_decoder",),
)
def figure11(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Accuracy by the gold document's position. Above: encoder-decoder models. Below: all other models."""

    def architecture(cell: Cell) -> str:
        both = cell.labels["model"] in run.run.get("encoder_decoder", ())
        return "encoder-decoder" if both else "decoder-only"

    asked = answers.with_encoder_decoder(english(rows), run)
    return curves(asked, run, variant="main", architecture=architecture, also=["architecture"])


@figure(
    "Retriever recall and reader accuracy",
    replace(
        CURVES,
        x="n_documents",
        panel="",
        axis="Recall, accuracy",
        prepare=recall_named,
        called={"": "retriever recall"},
        looks={"": ("#333333", "*")},
        counted="task == 'open_domain'",
        words="Recall: the share of questions for which a document holds an accepted answer.",
        nothing="no model answered questions with retrieved documents (open_domain)",
    ),
    when=("open_domain",),
)
def figure14(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Recall of the retriever and accuracy of the readers by the number of retrieved documents. The answer
    may be in none of them, or in several. The paper prints no numbers of this figure.
    """
    asked = answers.with_variant(rows)
    asked = where(asked, f"variant == 'main' and task == '{OPEN}' and lang == 'en'")

    silent = Beside(lambda cell: {})
    read = curves(asked, run, (MODEL, SIZE), task=OPEN, beside=silent, sort=())
    recalled = answers.retrieved(asked)
    found = curves(recalled, run, (SIZE,), task="recall", model="", beside=silent, sort=()).assign(
        source="ours"
    )
    parts = [read, found]
    if not (read["source"] == "ours").any():
        parts = [part.iloc[:0] for part in parts]
    return arranged(stacked(*parts), run, MODEL, SIZE, POSITION, INDEX)


@figure(
    "All models on the questions that all answered",
    replace(
        CURVES,
        why="absent",
        note=shared,
    ),
    when=("english",),
)
def figure18(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Only questions that all models of a panel answered. If a model answered less than half of a panel's
    prompts, the panel leaves it out and a note names it, since otherwise few questions would remain. The
    paper does so with GPT-4, which answered 500 of the questions. The paper prints no numbers.
    """
    import pandas as pd

    asked = english(rows)
    # Of some questions only, so Tables 5 to 7 are of others.
    made = curves(
        answers.shared_questions(asked),
        run,
        variant="main",
        beside=UNPUBLISHED,
        also=["absent"],
        sort=(),
    ).assign(absent="")
    extra = pd.DataFrame(_absent(made, asked), columns=made.columns)
    whole = {name: kind for name, kind in made.dtypes.items() if str(kind) == "Int64"}
    made = pd.concat([made, extra.astype(whole)])
    return arranged(made, run, MODEL, TASK, VARIANT, SIZE, POSITION)


def _absent(made: pd.DataFrame, asked: pd.DataFrame) -> Iterator[dict[str, object]]:
    """A row for each model that has no points of a size, which says why (`absent`)."""
    from needlework.results.cells import Table

    for size, part in asked.groupby("n_documents"):
        _, absent = answers.answered_by(part)
        shown = set(made.loc[made["n_documents"] == size, "model"])
        for model in set(part["model"]) - shown:
            lost = Table(part[part["model"] == model]).all().lost()
            yield (
                {"model": model, "source": "ours", "task": QA, "variant": "main"}
                | {"n_documents": size, "n": 0, "n_questions": 0, **lost}
                | {"absent": absent.get(model, NOTHING_SHARED)}
            )


# Lost in the Middle's figures of ablations: what a change of one thing does.

ENGLISH_QUESTIONS = f"task == '{QA}' and lang == 'en'"
UUIDS = f"task == '{PAIRS}' and keys == 'uuid'"


def _lines(variant: str, changed: str, plain: str, nothing: str, **more: Any) -> Lines:
    """A panel a model, a row a size: the line with a change (blue) and the one without (grey)."""
    return replace(
        BY_MODEL,
        line="variant",
        looks={variant: (COLOURS[0], "o"), "main": ("#777777", "s")},
        called={variant: changed, "main": plain},
        nothing=nothing,
        **more,
    )


def ablation(
    rows: pd.DataFrame, run: Context, variant: str, tasks: str = ENGLISH_QUESTIONS
) -> pd.DataFrame:
    """Accuracy by position in a variant and, in the same sizes, without it ("main")."""
    plain = answers.main_beside(rows, variant)
    main = curves(where(plain, tasks), run, variant="main", sort=())
    asked = where(answers.with_variant(rows), f"variant == '{variant}' and ({tasks})")
    changed = curves(asked, run, variant=variant, tested_against=plain, also=PAIRED, sort=())
    # Without an answer in the variant, nothing is tested.
    made = stacked(main, changed) if len(changed) else main
    return arranged(made, run, MODEL, TASK, VARIANT, SIZE, POSITION, INDEX)


@figure(
    "Query before and after the documents or pairs",
    _lines(
        "query_aware",
        "query before and after",
        "query after",
        "no English prompt has the query before its documents, and none of UUIDs before its pairs",
    ),
    when=("query_aware",),
    notes=(MCNEMAR,),
)
def figure12(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First: the question (or key) stands only after the documents (or pairs), as in the paper's Tables 5 to
    7 and the released code's 140 pairs. Second: it also stands before them, for which section 5.2 reports
    perfect accuracy among 300 pairs. This figure shows English questions and UUIDs; the table of every cell
    has the others.
    """
    return ablation(rows, run, "query_aware", f"({ENGLISH_QUESTIONS}) or ({UUIDS})")


@figure(
    "Base and instruction-tuned models",
    replace(
        CURVES,
        row=("pair",),
        row_title="",
        suffix="role",
        nothing="no base model and its instruction-tuned variant answered English questions",
    ),
    when=("instruction_tuning",),
    notes=(MCNEMAR,),
)
def figure13(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First: the base model. Second: the instruction-tuned model, which the paper's Tables 5 to 7 have."""
    pair = Factor("pair")
    return curves(
        answers.tuning_pairs(english(rows), run),
        run,
        (pair, MODEL, Factor("role"), TASK, SIZE, INDEX),
        variant="main",
        tested_against=answers.base_models(rows, run),
        also=("pair", "role", *PAIRED),
        sort=(MODEL, pair),
    )


@figure(
    "Random distractors",
    _lines(
        "random_distractors",
        "random distractors",
        "retrieved distractors",
        "no English prompt has random distractors",
    ),
    when=("random_distractors",),
    notes=(MCNEMAR,),
)
def figure16(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions. First: retrieved distractors, as in the paper's Tables 5 to 7. Second: random
    distractors.
    """
    return ablation(rows, run, "random_distractors")


@figure(
    "Distractors in random order",
    _lines(
        "random_order",
        "random order, said in the prompt",
        "order of relevance",
        "no English prompt has its distractors in random order",
    ),
    when=("random_order",),
    notes=(MCNEMAR,),
)
def figure17(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions. First: the order of relevance, as in the paper's Tables 5 to 7. Second: random
    order, and an instruction that says so.
    """
    return ablation(rows, run, "random_order")
