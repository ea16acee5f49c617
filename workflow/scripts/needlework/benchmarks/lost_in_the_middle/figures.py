"""Lost in the Middle's figures: positions, numbers of documents, and ablations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    INDEX,
    LANG,
    LEVELS,
    OPEN,
    PAIRS,
    POSITION,
    QA,
    QA_TABLES,
    SIZE,
    TASK,
)
from needlework.benchmarks.lost_in_the_middle.tables import (
    SHOWN_TASK,
    SORTED,
    curves,
    main,
    with_variant,
)
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.drawing.style import COLOURS
from needlework.results.result import MCNEMAR, Context, Decorated, Lines, Run, figure
from needlework.results.tabulate import (
    MODEL,
    PAIRED,
    UNPUBLISHED,
    Beside,
    Cell,
    arranged,
    mean,
    stacked,
    typed,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

# Prompts that the paper has too: English questions with documents, and pairs of UUIDs.
QUESTIONS = f"task == '{QA}' and lang == '{ENGLISH}'"
UUIDS = f"task == '{PAIRS}' and keys == 'uuid'"
# The model of the paper's Figure 1, and the size of its Figures 1, 12 and 13.
EXAMPLE, USUAL = "GPT-3.5-Turbo", 20
# Figure 18 leaves a model out of a panel if it answered less than this share of the panel's prompts:
# all others would be cut down to the few that it answered.
LEAST_ANSWERED = 0.5
NOTHING_SHARED = "no question that all models answered at every position"

# How figures show what is not in the prompts' factors. No further name of a language rebuilds prompts.
FACTORS = (
    TASK,
    POSITION,
    LANG.renamed("lang", last=("uuid",), format=language_name, words={"uuid": "UUIDs"}),
    Factor("architecture", order=("encoder-decoder", "decoder-only")),
)


def origin(data: pd.DataFrame, run: Run) -> str:
    """A note on where the published numbers of a figure are printed."""
    both = data[data["published"].notna()]
    paper = both[both["published_source"] == "paper"]
    sizes = sorted(set(paper.loc[paper["task"] == QA, "n_documents"]))
    tables = ["1"] if paper["task"].isin(LEVELS).any() else []
    tables += [QA_TABLES[size].removeprefix("table") for size in sizes]
    said = []
    if tables:
        many = f"Tables {', '.join(tables[:-1])} and {tables[-1]}"
        said.append(f"the paper's {many if tables[1:] else f'Table {tables[0]}'}")
    if (paper["task"] == PAIRS).any():
        said.append("a number in its section 5.2" if tables else "the paper's section 5.2")
    released = dict.fromkeys(both.loc[both["published_source"] == "repository", "model"])
    if released:
        said.append(f"the released code's EXPERIMENTS.md ({', '.join(released)})")
    return " and ".join(said)


CURVES = Lines(
    x="position",
    scaled=True,
    panel="n_documents",
    panel_title="{n_documents} documents",
    limits=None,
    paper=origin,
    nothing="no model answered English questions with documents",
)
BY_MODEL = replace(
    CURVES,
    panel="model",
    panel_title="",
    row=("task", "n_documents"),
    row_title="{n_documents} {task}",
)


def with_levels(asked: pd.DataFrame, rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The curves of these rows, with level lines for closed book and for the gold document alone.

    The result is empty if `asked` has no rows of this run.
    """
    curve = curves(asked, run, variant="main", models=rows)
    if not (curve["source"] == "ours").any():
        return typed(curve.iloc[:0], POSITION)
    sides = main(rows, f"task in {LEVELS} and lang == '{ENGLISH}'")
    sides = sides[sides["model"].isin(set(main(rows, QUESTIONS)["model"]))]
    levels = curves(sides, run, (MODEL, SHOWN_TASK), variant="main", models=rows)
    return arranged(stacked(curve, levels), run, *SORTED, INDEX)[list(curve.columns)]


@figure(
    "The U-shaped curve",
    replace(
        BY_MODEL,
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
    asked = main(rows, QUESTIONS)
    sizes = set(asked["n_documents"])
    size = min(sizes, key=lambda n: (abs(n - USUAL), n), default=USUAL)
    made = with_levels(asked[asked["n_documents"] == size], rows, run)
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
    return with_levels(main(rows, QUESTIONS), rows, run)


@figure(
    "Accuracy by the number of documents",
    Lines(x="n_documents", limits=None, axis="Accuracy, all positions", nothing=CURVES.nothing),
    when=("english",),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all positions. The paper prints no numbers."""
    more: dict[str, Any] = {"measure": mean("gold_index"), "beside": UNPUBLISHED, "task": QA}
    return arranged(curves(main(rows, QUESTIONS), run, (MODEL, SIZE), **more), run, *SORTED)


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
    made = curves(main(rows, UUIDS), run, variant="main", models=rows)
    return arranged(made, run, *SORTED)


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
    both = list(run.run.get("encoder_decoder", ()))

    def architecture(cell: Cell) -> str:
        return "encoder-decoder" if cell.labels["model"] in both else "decoder-only"

    asked = main(rows, QUESTIONS)
    asked = asked if asked["model"].isin(both).any() else asked.iloc[:0]
    also: dict[str, Any] = {"architecture": architecture, "also": ["architecture"]}
    return arranged(curves(asked, run, variant="main", **also), run, *SORTED)


def recall_named(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows with recall as a line of its own, although it belongs to no model."""
    return data.assign(model=data["model"].fillna(""))


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
    asked = main(rows, f"task == '{OPEN}' and lang == '{ENGLISH}'")
    # One row per prompt, over all models: whether one of the retrieved documents holds an answer.
    found = asked.drop_duplicates(["example_id", "n_documents"])
    found = found.assign(value=found["answer_present"].astype(float), finish_reason="stop")
    silent = Beside(lambda cell: {})
    read = curves(asked, run, (MODEL, SIZE), task=OPEN, beside=silent)
    recall = curves(found, run, (SIZE,), task="recall", model="", beside=silent)
    parts = [read, recall.assign(source="ours")]
    if not (read["source"] == "ours").any():
        parts = [part.iloc[:0] for part in parts]
    return arranged(stacked(*parts), run, MODEL, SIZE, POSITION, INDEX)


def shared(data: pd.DataFrame, run: Run) -> str:
    """A sentence: how many questions each panel's models share, and which models are left out."""
    counts, out = [], []
    for size, part in data.groupby("n_documents"):
        counts.append(f"{part['n_questions'].max():,} ({size} documents)")
        few = part[~part["absent"].fillna("").isin(["", NOTHING_SHARED])]
        out += [f"{', '.join(few['model'])} ({size} documents)"] if len(few) else []
    words = f"Questions that all models of a panel answered at every position: {', '.join(counts)}."
    less = f"Left out, with answers to less than {LEAST_ANSWERED:.0%} of the prompts"
    return words + (f" {less}: {'; '.join(out)}." if out else "")


@figure(
    "All models on the questions that all answered",
    replace(CURVES, why="absent", note=shared),
    when=("english",),
)
def figure18(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Only questions that all models of a panel answered. If a model answered less than half of a panel's
    prompts, the panel leaves it out and a note names it, since otherwise few questions would remain. The
    paper does so with GPT-4, which answered 500 of the questions. The paper prints no numbers.
    """
    import pandas as pd

    from needlework.results import cells
    from needlework.results.cells import Table

    asked = main(rows, QUESTIONS)
    parts, absent = [asked.iloc[:0]], []
    for size, part in asked.groupby("n_documents"):
        prompts = len(part.drop_duplicates(["example_id", "gold_index"]))
        given = part[cells.judged(part)]
        once = given.drop_duplicates(["example_id", "model", "gold_index"])
        few = {
            model: f"answered {n:,} of {prompts:,} prompts"
            for model in set(part["model"])
            if (n := int((once["model"] == model).sum())) < LEAST_ANSWERED * prompts
        }
        once = once[~once["model"].isin(list(few))]
        wanted = once["model"].nunique() * once["gold_index"].nunique()
        count = once["example_id"].value_counts()
        given = given[given["example_id"].isin(set(count[count == wanted].index))]
        given = given[~given["model"].isin(list(few))]
        parts.append(given)
        for model in set(part["model"]).difference(given["model"]):
            row = {"model": model, "source": "ours", "task": QA, "variant": "main"}
            lost = Table(part[part["model"] == model]).all().lost()
            counts = {"n_documents": size, "n": 0, "n_questions": 0, **lost}
            absent.append(row | counts | {"absent": few.get(model, NOTHING_SHARED)})
    # Of some questions only, so Tables 5 to 7 are of others.
    made = curves(pd.concat(parts), run, variant="main", beside=UNPUBLISHED, also=["absent"])
    left_out = pd.DataFrame(absent, columns=made.columns)
    made = typed(pd.concat([made.assign(absent=""), left_out]), INDEX, POSITION)
    return arranged(made, run, *SORTED)


# Figures of ablations: what a change of one thing does.


def _ablation(title: str, variant: str, changed: str, plain: str, nothing: str) -> Decorated:
    """A panel a model, a row a size: the line with a change (blue) and the one without (grey)."""
    lines = replace(
        BY_MODEL,
        line="variant",
        looks={variant: (COLOURS[0], "o"), "main": ("#777777", "s")},
        called={variant: changed, "main": plain},
        nothing=nothing,
    )
    return figure(title, lines, when=(variant,), notes=(MCNEMAR,))


def ablation(rows: pd.DataFrame, run: Context, variant: str) -> pd.DataFrame:
    """Accuracy by position in a variant, and in "main" with the same sizes and models."""
    rows = where(with_variant(rows), f"({QUESTIONS}) or ({UUIDS})")
    plain, changed = rows[rows["variant"] == "main"], rows[rows["variant"] == variant]
    for keys in (["task", "n_documents"], ["task", "model"]):
        plain = plain.merge(changed[keys].drop_duplicates(), on=keys)
    made = curves(plain, run, variant="main")
    # Without an answer in the variant, nothing is tested.
    if len(changed):
        tested = curves(changed, run, variant=variant, tested_against=plain, also=PAIRED)
        made = stacked(made, tested)
    return arranged(made, run, *SORTED, INDEX)


@_ablation(
    "Query before and after the documents or pairs",
    "query_aware",
    "query before and after",
    "query after",
    "no English prompt has the query before its documents, and none of UUIDs before its pairs",
)
def figure12(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """First: the question (or key) stands only after the documents (or pairs), as in the paper's Tables 5 to
    7 and the released code's 140 pairs. Second: it also stands before them, for which section 5.2 reports
    perfect accuracy among 300 pairs. This figure shows English questions and UUIDs; the table of every cell
    has the others.
    """
    return ablation(rows, run, "query_aware")


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
    import pandas as pd

    rows = main(rows, QUESTIONS)
    parts = [rows.iloc[:0].assign(pair="", role="")]
    for models in run.run.get("instruction_tuning", ()):
        both = rows[rows["model"].isin(models)]
        if both["model"].nunique() == 2:
            roles = dict(zip(models, ("base", "instruction-tuned"), strict=True))
            parts.append(both.assign(pair="|".join(models), role=both["model"].map(roles)))
    asked = pd.concat(parts)
    # The base models' answers, under the names of the models to compare with.
    base = asked[asked["role"] == "base"]
    base = base.assign(model=base["pair"].str.split("|").str[1], role="instruction-tuned")
    by = (pair := Factor("pair"), MODEL, Factor("role"), SHOWN_TASK, SIZE, INDEX)
    also = ("pair", "role", *PAIRED)
    made = curves(asked, run, by, variant="main", tested_against=base, also=also)
    return arranged(made, run, MODEL, pair)


@_ablation(
    "Random distractors",
    "random_distractors",
    "random distractors",
    "retrieved distractors",
    "no English prompt has random distractors",
)
def figure16(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions. First: retrieved distractors, as in the paper's Tables 5 to 7. Second: random
    distractors.
    """
    return ablation(rows, run, "random_distractors")


@_ablation(
    "Distractors in random order",
    "random_order",
    "random order, said in the prompt",
    "order of relevance",
    "no English prompt has its distractors in random order",
)
def figure17(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English questions. First: the order of relevance, as in the paper's Tables 5 to 7. Second: random
    order, and an instruction that says so.
    """
    return ablation(rows, run, "random_order")
