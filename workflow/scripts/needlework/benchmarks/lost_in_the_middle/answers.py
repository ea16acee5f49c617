"""Selections of answers for the results of Lost in the Middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.lost_in_the_middle.factors import ENGLISH, LEAST_ANSWERED, PAIRS, QA
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd

# The size of Figures 1, 12 and 13 of the paper; a run without it gets the nearest that it has.
USUAL = 20


def with_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column `variant`, the name of their ablation.

    Rows without an ablation ("main") have the query behind the documents or pairs, and retrieved distractors
    in the order of relevance.
    """
    import numpy as np

    changes = {
        "query_aware": rows["query_aware"].eq(True),
        "random_distractors": rows["distractors"] == "random",
        "random_order": rows["order"] == "random",
    }
    return rows.assign(variant=np.select(list(changes.values()), list(changes), "main"))


def usual_size(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of 20 documents, or of the number nearest to 20."""
    sizes = set(rows["n_documents"])
    size = min(sizes, key=lambda n: (abs(n - USUAL), n), default=USUAL)
    return rows[rows["n_documents"] == size]


def of_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Closed-book and oracle answers of the models that answered questions with documents."""
    asked = rows[(rows["task"] == QA) & (rows["lang"] == ENGLISH) & (rows["variant"] == "main")]
    levels = rows["task"].isin(["closed_book", "oracle"]) & (rows["lang"] == ENGLISH)
    return rows[levels & rows["model"].isin(set(asked["model"]))]


def with_encoder_decoder(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All rows if a model has an encoder-decoder architecture, otherwise none."""
    some = rows["model"].isin(list(run.run.get("encoder_decoder", ()))).any()
    return rows if some else rows.iloc[:0]


def main_beside(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The rows without an ablation whose task, size and model were also asked in a variant."""
    rows = comparable(with_variant(rows))
    changed = rows[rows["variant"] == variant]
    keys = ["task", "n_documents"]
    plain = rows[rows["variant"] == "main"].merge(changed[keys].drop_duplicates(), on=keys)
    models = changed[["task", "model"]].drop_duplicates()
    return plain.merge(models, on=["task", "model"])


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the paper has too: English questions with documents, and pairs of UUIDs."""
    questions = (rows["task"] == QA) & (rows["lang"] == ENGLISH)
    return rows[questions | ((rows["task"] == PAIRS) & (rows["keys"] == "uuid"))]


def tuning_pairs(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of each pair of a base and an instruction-tuned model, repeated for each pair."""
    import pandas as pd

    parts = [rows.iloc[:0].assign(pair="", role="")]
    for pair in run.run.get("instruction_tuning", ()):
        both = rows[rows["model"].isin(pair)]
        if both["model"].nunique() == 2:
            roles = both["model"].map(dict(zip(pair, ("base", "instruction-tuned"), strict=True)))
            parts.append(both.assign(pair="|".join(pair), role=roles))
    return pd.concat(parts)


def base_models(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The base models' answers, under the names of the instruction-tuned models to compare with."""
    rows = comparable(with_variant(rows))
    rows = rows[(rows["task"] == QA) & (rows["variant"] == "main")]
    pairs = tuning_pairs(rows, run)
    base = pairs[pairs["role"] == "base"]
    return base.assign(model=base["pair"].str.split("|").str[1], role="instruction-tuned")


def retrieved(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per prompt, over all models: whether one of the retrieved documents holds an answer."""
    rows = rows.drop_duplicates(["example_id", "n_documents"])
    return rows.assign(value=rows["answer_present"].astype(float), finish_reason="stop")


def shared_questions(rows: pd.DataFrame) -> pd.DataFrame:
    """For each number of documents, the answers to questions that all models answered at every position."""
    import pandas as pd

    from needlework.results import cells

    parts = [rows.iloc[:0]]
    for _, part in rows.groupby("n_documents"):
        answered, absent = answered_by(part)
        wanted = answered["model"].nunique() * answered["gold_index"].nunique()
        count = answered["example_id"].value_counts()
        given = part[cells.judged(part) & ~part["model"].isin(list(absent))]
        parts.append(given[given["example_id"].isin(set(count[count == wanted].index))])
    return pd.concat(parts)


def answered_by(part: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """The prompts that each model answered, without repeats, and why models with few answers are left out."""
    from needlework.results import cells

    prompts = len(part.drop_duplicates(["example_id", "gold_index"]))
    answered = part[cells.judged(part)].drop_duplicates(["example_id", "model", "gold_index"])
    counts = {model: int((answered["model"] == model).sum()) for model in set(part["model"])}
    absent = {
        model: f"answered {n:,} of {prompts:,} prompts"
        for model, n in counts.items()
        if n < LEAST_ANSWERED * prompts
    }
    return answered[~answered["model"].isin(list(absent))], absent
