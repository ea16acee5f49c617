"""What the descriptions of Lost in the Middle's results cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.benchmarks.columns import MCNEMAR
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    KEYS,
    LANG,
    LEAST_ANSWERED,
    NOTHING_SHARED,
    OPEN,
    PAIRS,
    QA,
)
from needlework.benchmarks.result import By
from needlework.results import cells, numbers, paper
from needlework.results import published as publications
from needlework.results.context import Cell, Context, model_order
from needlework.results.numbers import SAME_QUESTION
from needlework.results.parts import Part, Table, difference

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.result import Paper, Place, Requirement, View

# The size of Figures 1, 12 and 13 of the paper; a run without it gets the nearest that it has.
USUAL = 20
# The model of the paper's Figure 1.
EXAMPLE = "GPT-3.5-Turbo"
# The model of which section 5.2 gives the accuracy at 300 pairs, and the indices of Figure 10's axis.
PRINTED_PAIRS = "GPT-3.5-Turbo (16K)"
PRINTED_INDICES = {0, 49, 99, 149, 199, 249, 299}
# What section 6 says of more than 20 documents, and why ours cannot be compared with it.
GAIN = "open_domain/gain_above_20"
ABOUT = "the paper's number is rounded, and of a number of documents that it does not name"
STATISTICS = ("mean", "stdev", "max")
# Of a tokenizer's counts in one setting.
COUNTS = (
    *("tokenizer", "source", "lang", "keys", "column", *STATISTICS, "n", "n_prompts"),
    *(f"published_{name}" for name in STATISTICS),
    "comparison",
)
TOKENIZER, COLUMN = Factor("tokenizer"), Factor("column", order=("closed_book", "oracle"))


def with_variant(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """With the ablation that each row's prompt is of; unambiguous questions are among those of "main".

    Without an ablation the query follows the documents or pairs, the distractors are retrieved and stand
    in the order of relevance.
    """
    changes = {
        "query_aware": rows["query_aware"].eq(True),
        "random_distractors": rows["distractors"] == "random",
        "random_order": rows["order"] == "random",
    }
    return rows.assign(variant=np.select(list(changes.values()), list(changes), "main"))


def position(part: Part, labels: Labels, context: Context) -> int | None:
    """1 for the first of the prompt's documents or pairs; None for a cell of several."""
    index = labels.get("gold_index")
    return None if index is None else index + 1


def numbered(labels: Labels, context: Context) -> dict[str, int]:
    """The index of a published number, and the position that it is."""
    index = int(labels["gold_index"])
    return {"gold_index": index, "position": index + 1}


def usual_size(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of 20 documents, or of the number nearest to 20."""
    sizes = set(rows["n_documents"])
    size = min(sizes, key=lambda n: (abs(n - USUAL), n), default=USUAL)
    return rows[rows["n_documents"] == size]


def of_curves(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Closed-book and oracle answers of the models that answered questions with documents."""
    asked = rows[(rows["task"] == QA) & (rows["lang"] == ENGLISH) & (rows["variant"] == "main")]
    levels = rows["task"].isin(["closed_book", "oracle"]) & (rows["lang"] == ENGLISH)
    return rows[levels & rows["model"].isin(set(asked["model"]))]


def the_example(
    table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame
) -> pd.DataFrame:
    """Of the paper's models that were not run, the one that its Figure 1 shows."""
    return table[(table["source"] == "ours") | (table["model"] == EXAMPLE)]


def other_positions(cell: Cell, place: Place) -> str | None:
    """A mean of other positions is not that of the paper's table."""
    line = cell.context.line(place.table, cell.context.paper_name(cell.labels["model"]))
    ours = set(map(str, cell.part.values("gold_index")))
    return None if set(line) == ours else "other positions"


def lowest(table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame) -> pd.DataFrame:
    """With the lowest of all positions among 300 pairs (variant "lowest"), beside the paper's one number.

    Where its model was not run, the paper's stands alone.
    """
    import pandas as pd

    asked = table[(table["n_documents"] == 300) & (table["source"] == "ours")]
    number = context.find("text", PRINTED_PAIRS, "300_pairs/lowest")
    if number is None or asked.empty:
        return table
    rows = []
    for model, own in asked.groupby("model", sort=False):
        if context.paper_name(str(model)) != PRINTED_PAIRS:
            continue
        # A position without an answer has no accuracy; the first of equal ones.
        own = own.assign(nothing=own["n"] == 0).sort_values(["nothing", "value"], kind="stable")
        row = own.drop(columns="nothing").iloc[0].to_dict() | {"variant": "lowest"}
        part = Table(scores[(scores["model"] == model) & (scores["n_documents"] == 300)]).all()
        cell = Cell(row, part, {}, context, row)
        why = paper.obstacle(view.paper.requires if view.paper else (), cell)
        if {int(index) for index in own["gold_index"]} != PRINTED_INDICES:
            why = why or "other positions"
        lost = part.lost()
        if missing := lost["n_skipped"] + lost["n_error"]:
            why = f"{missing:,} answers are missing"
        rows.append(row | cells.compared(row, number, why) | {"published_source": number.source})
    alone: dict[str, Any] = {"model": PRINTED_PAIRS, "source": "published", "task": PAIRS}
    alone |= {"variant": "lowest"}
    alone |= {"n_documents": 300, "value": number.value, "published": number.value}
    whole = {name: kind for name, kind in table.dtypes.items() if str(kind) == "Int64"}
    extra = pd.DataFrame(rows or [alone | {"published_source": number.source}])
    return pd.concat([table, extra.reindex(columns=table.columns).astype(whole)])


def with_encoder_decoder(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """All rows, or none where no model is of that architecture."""
    some = rows["model"].isin(list(context.run.get("encoder_decoder", ()))).any()
    return rows if some else rows.iloc[:0]


def architecture(part: Part, labels: Labels, context: Context) -> str:
    """What the run says of a model."""
    both = labels["model"] in context.run.get("encoder_decoder", ())
    return "encoder-decoder" if both else "decoder-only"


def unambiguous(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of questions that a user's list says are unambiguous, as a variant of their own."""
    return rows[rows["unambiguous"].eq(True)].assign(variant="unambiguous")


def main_beside(rows: pd.DataFrame, context: Context, variant: str) -> pd.DataFrame:
    """The unchanged rows of the tasks, sizes and models that were asked in a variant too."""
    rows = comparable(with_variant(rows, context), context)
    changed = rows[rows["variant"] == variant]
    if variant == "unambiguous":
        changed = unambiguous(rows[rows["variant"] == "main"], context)
    keys = ["task", "n_documents"]
    plain = rows[rows["variant"] == "main"].merge(changed[keys].drop_duplicates(), on=keys)
    models = changed[["task", "model"]].drop_duplicates()
    return plain.merge(models, on=["task", "model"])


def comparable(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """English questions with documents, and pairs of UUIDs: those that the paper has."""
    questions = (rows["task"] == QA) & (rows["lang"] == ENGLISH)
    return rows[questions | ((rows["task"] == PAIRS) & (rows["keys"] == "uuid"))]


def tuning_pairs(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of each pair of a base and an instruction-tuned model, once a pair."""
    import pandas as pd

    parts = [rows.iloc[:0].assign(pair="", role="")]
    for pair in context.run.get("instruction_tuning", ()):
        both = rows[rows["model"].isin(pair)]
        if both["model"].nunique() == 2:
            roles = both["model"].map(dict(zip(pair, ("base", "instruction-tuned"), strict=True)))
            parts.append(both.assign(pair="|".join(pair), role=roles))
    return pd.concat(parts)


def base_models(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """What each instruction-tuned model's answers are tested against, under its name."""
    rows = comparable(with_variant(rows, context), context)
    rows = rows[(rows["task"] == QA) & (rows["variant"] == "main")]
    pairs = tuning_pairs(rows, context)
    base = pairs[pairs["role"] == "base"]
    return base.assign(model=base["pair"].str.split("|").str[1], role="instruction-tuned")


def retrieved(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Whether one of the retrieved documents holds an answer, once a prompt, whichever model answered."""
    rows = rows.drop_duplicates(["example_id", "n_documents"])
    return rows.assign(value=rows["answer_present"].astype(float), finish_reason="stop")


def gains(rows: pd.DataFrame, context: Context, compared: Paper) -> pd.DataFrame:
    """What more than 20 retrieved documents gain (section 6), beside what the paper says of it."""
    import pandas as pd

    made: list[dict[str, Any]] = []
    asked = rows[(rows["task"] == OPEN) & (rows["lang"] == ENGLISH)]
    most = asked["n_documents"].max()
    for model in model_order(set(asked["model"]), context.run) if most > USUAL else ():
        mine = asked[asked["model"] == model]
        few, many = (mine[mine["n_documents"] == n] for n in (USUAL, most))
        if few.empty or many.empty:
            continue
        both = cells.paired(few, many, SAME_QUESTION)
        cell = difference(Table(few).all(), Table(many).all(), both)
        number = context.find("text", context.paper_name(model), GAIN)
        source = {"published_source": number and number.source}
        row = {"model": model, "source": "ours", "task": "gain", "n_documents": most}
        made.append(
            row | {"n_both": cell["n"], **cell, **cells.compared(cell, number, ABOUT)} | source
        )
    if most > USUAL:
        made += paper.published_rows(compared, asked, asked, context)
    columns = dict.fromkeys([*(name for row in made for name in row), "n_both", *MCNEMAR])
    return pd.DataFrame(made, columns=list(columns))


def shared_questions(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The answers to questions that all models answered at every position, a number of documents each."""
    import pandas as pd

    parts = [rows.iloc[:0]]
    for _, part in rows.groupby("n_documents"):
        answered, absent = _answered(part)
        wanted = answered["model"].nunique() * answered["gold_index"].nunique()
        count = answered["example_id"].value_counts()
        given = part[cells.judged(part) & ~part["model"].isin(list(absent))]
        parts.append(given[given["example_id"].isin(set(count[count == wanted].index))])
    return pd.concat(parts)


def _answered(part: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Which prompts each model answered, once each, and why models that answered few are left out."""
    prompts = len(part.drop_duplicates(["example_id", "gold_index"]))
    answered = part[cells.judged(part)].drop_duplicates(["example_id", "model", "gold_index"])
    counts = {model: int((answered["model"] == model).sum()) for model in set(part["model"])}
    absent = {
        model: f"answered {n:,} of {prompts:,} prompts"
        for model, n in counts.items()
        if n < LEAST_ANSWERED * prompts
    }
    return answered[~answered["model"].isin(list(absent))], absent


def with_absent(
    table: pd.DataFrame, view: View, context: Context, scores: pd.DataFrame
) -> pd.DataFrame:
    """With a row for each model that has no points of a size, which says why (`absent`)."""
    import pandas as pd

    rows = []
    for size, part in scores.groupby("n_documents"):
        _, absent = _answered(part)
        shown = set(table.loc[table["n_documents"] == size, "model"])
        for model in set(part["model"]) - shown:
            lost = Table(part[part["model"] == model]).all().lost()
            rows.append(
                {"model": model, "source": "ours", "task": QA, "variant": "main"}
                | {"n_documents": size, "n": 0, "n_questions": 0, **lost}
                | {"absent": absent.get(model, NOTHING_SHARED)}
            )
    extra = pd.DataFrame(rows, columns=table.columns)
    whole = {name: kind for name, kind in table.dtypes.items() if str(kind) == "Int64"}
    return pd.concat([table.assign(absent=""), extra.astype(whole)])


def words_and_uuids(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Pairs of words by language, and UUIDs in the same sizes as if they were one ("uuid")."""
    words = set(rows.loc[rows["keys"] == "words", "n_documents"])
    found = rows[(rows["keys"] == "words") | rows["n_documents"].isin(words)]
    return found.assign(lang=found["lang"].astype(object).mask(found["keys"] == "uuid", "uuid"))


def tokens(
    rows: pd.DataFrame,
    context: Context,
    where: str,
    column: str,
    table: str,
    requires: tuple[Requirement, ...],
) -> pd.DataFrame:
    """Mean, sample standard deviation (n - 1) and maximum of n_tokens by tokenizer, for each of `column`.

    Mean and deviation are over examples (`n`), each of which counts with the mean of its prompts
    (`n_prompts`), one for each index: pooled, the deviation of 75 pairs would be 25.5, not the printed
    25.6. The maximum is over prompts.
    """
    asked = with_variant(rows, context).query(where, engine="python")
    names = context.run.get("published_tokenizers", {})
    made: list[dict[str, Any]] = []
    by = (By(TOKENIZER, values=f"{__name__}:tokenizers"), By(COLUMN, column), By(KEYS), By(LANG))
    for labels, part, _, _ in numbers.walk(by, Table(asked).all(), context):
        prompts = part.frame
        each = prompts.groupby("example_id")["n_tokens"].mean()
        values = (each.mean(), each.std(ddof=1), prompts["n_tokens"].max())
        line = "" if labels["keys"] == "words" else names.get(labels["tokenizer"], "")
        published = [context.find(table, line, f"{labels['column']}/{s}") for s in STATISTICS]
        why = paper.obstacle(requires, Cell(labels, part, {}, context, {}))
        made.append(
            {**labels, "source": "ours", "n": len(each), "n_prompts": len(prompts)}
            | dict(zip(STATISTICS, values, strict=True))
            | _beside(values, published, len(each), why)
        )
    theirs = context.published[context.published["table"] == table]
    run = {names.get(tokenizer, "") for tokenizer in set(asked["tokenizer"])}
    parts = theirs["column"].str.split("/", expand=True, n=1)
    theirs = theirs.assign(setting=parts[0], statistic=parts[1])[~theirs["row"].isin(run)]
    for (name, setting), group in theirs.groupby(["row", "setting"], sort=False):
        known = dict(zip(group["statistic"], group["value"], strict=True))
        made.append(
            {"tokenizer": name, "source": "published", "lang": ENGLISH, "column": setting}
            | {"keys": "uuid" if table == "table4" else "none", "n": group["n"].iloc[0]}
            | known
            | {f"published_{statistic}": value for statistic, value in known.items()}
        )
    return cells.frame(made, COUNTS)


def tokenizers(present: list[str], context: Context) -> list[str]:
    """Tokenizers in the run's order, then any others by name."""
    listed = list(context.run.get("tokenizers", ()))
    return [*listed, *sorted(set(present).difference(listed))]


def drawn_pairs(cell: Cell) -> str | None:
    """Drawn pairs are no shorter or longer than the released ones, but not to the last digit."""
    released = cell.context.run.get("setup", {}).get("source", "released") == "released"
    return None if released else "pairs are drawn, in the paper released"


def _beside(
    values: Sequence[float],
    published: Sequence[publications.Number | None],
    n: int,
    obstacle: str | None,
) -> dict[str, object]:
    """The paper's numbers, and whether ours are equal to their last printed digit."""
    found = {
        f"published_{name}": number and number.value
        for name, number in zip(STATISTICS, published, strict=True)
    }
    numbers = [number for number in published if number is not None]
    if len(numbers) < len(published):
        return found | {"comparison": "cannot tell: no published number"}
    if numbers[0].n not in (None, n):
        obstacle = obstacle or f"{n:,} examples, in the paper {numbers[0].n:,}"
    differ = [
        name
        for name, ours, theirs in zip(STATISTICS, values, numbers, strict=True)
        if f"{ours:.1f}" != f"{theirs.value:.1f}"
    ]
    told = f"differs: {', '.join(differ)}" if differ else "equals"
    return found | {"comparison": f"cannot tell: {obstacle}" if obstacle else told}
