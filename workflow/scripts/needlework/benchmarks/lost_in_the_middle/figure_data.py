"""The numbers that Lost in the Middle's figures draw: published as CSV beside each figure.

Every function takes (scores, published, settings) and gives one point a row, with `source` "ours" or
"published", MEASURES, and the paper's number where it prints one, or else its repository's. `position`
is 1 for the first of the prompt's documents or pairs, `n_documents` how many there are. All but
`languages` and `key_value_words` are of English questions, and of UUIDs as keys and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from needlework import cells
from needlework.benchmarks.lost_in_the_middle import factors
from needlework.benchmarks.lost_in_the_middle.factors import (
    COMPARISON,
    QA_TABLES,
    Printed,
    Settings,
)
from needlework.cells import MEASURES

if TYPE_CHECKING:
    import pandas as pd

QA, PAIRS = "multi_document_qa", "key_value"
# The size of Figures 1, 12 and 13 of the paper; a run without it gets the nearest that it has.
USUAL = 20
# The model of the paper's Figure 1.
EXAMPLE = "GPT-3.5-Turbo"
# The model of which section 5.2 gives the accuracy at 300 pairs.
PRINTED_PAIRS = "GPT-3.5-Turbo (16K)"
# The number of pairs of which the released repository prints numbers.
REPOSITORY_PAIRS = 140
# Figure 18 leaves a model out of a panel if it answered less than this share of the panel's prompts:
# all others would be cut down to the few that it answered.
LEAST_ANSWERED = 0.5
NOTHING_SHARED = "no question that all models answered at every position"
COLUMNS = ("model", "source", "task", "variant", "n_documents", "gold_index", "position")


def figure1(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by position among 20 documents, closed book and oracle; the paper's example model."""
    import pandas as pd

    asked = factors.english(scores, QA)
    if asked.empty:
        return _frame([])
    size = min(set(asked["n_documents"]), key=lambda n: (abs(n - USUAL), n))
    curves = _curves(asked[asked["n_documents"] == size], published, settings)
    data = pd.concat([curves, *_levels(scores, published, settings, set(asked["model"]))])
    table = QA_TABLES.get(size, "")
    if EXAMPLE in _not_run(published, table, settings, scores):
        data = pd.concat([data, _printed_curve(published, table, EXAMPLE, QA, size)])
        for column, cell in factors.printed(published, "table1", EXAMPLE):
            data = pd.concat([data, _frame([{"model": EXAMPLE, "task": column, **cell}])])
    return _ordered(data, settings)


def figure5(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by number of documents and position, with closed book and oracle."""
    import pandas as pd

    asked = factors.english(scores, QA)
    if asked.empty:
        return _frame([])
    parts = [_curves(asked, published, settings)]
    parts += _levels(scores, published, settings, set(asked["model"]))
    for size in sorted(set(asked["n_documents"])):
        table = QA_TABLES.get(size, "")
        for name in _not_run(published, table, settings, scores):
            parts.append(_printed_curve(published, table, name, QA, size))
    for name in _not_run(published, "table1", settings, scores):
        rows = [
            {"model": name, "task": column, **cell}
            for column, cell in factors.printed(published, "table1", name)
        ]
        parts.append(_frame(rows))
    return _ordered(pd.concat(parts), settings)


def figure6(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The mean over positions by number of documents.

    The paper's are the means of the numbers in its Tables 5 to 7.
    """
    rows: list[dict[str, object]] = []
    asked = factors.english(scores, QA)
    for model in cells.models(settings, asked):
        mine = asked[asked["model"] == model]
        name = settings.get("published", {}).get(model, "")
        for size, part in mine.groupby("n_documents"):
            cell = cells.measure(part, strata="gold_index")
            table = QA_TABLES.get(size, "")
            number = _mean_of(published, table, name)
            theirs = {int(index) for index, _ in factors.printed(published, table, name)}
            other = theirs != set(part["gold_index"])
            obstacle = factors.obstacle(settings, model) or ("other positions" if other else None)
            labels = {"model": model, "source": "ours", "task": QA, "n_documents": size}
            rows.append(labels | cell | factors.compared(cell, number, obstacle))
    for size in sorted(set(asked["n_documents"])):
        table = QA_TABLES.get(size, "")
        for name in _not_run(published, table, settings, scores):
            mean = _mean_of(published, table, name)
            rows.append(
                {"model": name, "source": "published", "task": QA, "n_documents": size}
                | {"value": mean.value, "published": mean.value, "published_source": mean.source}
            )
    return _ordered(_frame(rows), settings)


def figure10(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy of key-value retrieval by number of pairs and position.

    The paper prints one number: the lowest of all positions among 300 pairs, of one model. Its row
    has no position. Its repository has two models' curves among 140 pairs.
    """
    import pandas as pd

    asked = factors.english(scores, PAIRS)
    parts = [_curves(asked, published, settings)]
    if (asked["n_documents"] == REPOSITORY_PAIRS).any():
        for name in cells.not_run(published, "figure10", settings, scores):
            curve = _printed_curve(published, "figure10", name, PAIRS, REPOSITORY_PAIRS)
            parts.append(curve)
    number = factors.number(published, "text", PRINTED_PAIRS, "300_pairs/lowest")
    if number and (asked["n_documents"] == 300).any():
        row = {"model": PRINTED_PAIRS, "source": "published", "task": PAIRS, "variant": "lowest"}
        row |= {"n_documents": 300, "value": number.value, "published": number.value}
        parts.append(_frame([row | {"published_source": number.source}]))
    return _ordered(pd.concat(parts), settings)


def figure11(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by position, encoder-decoder models and the others apart (`architecture`)."""
    encoder_decoder = list(settings.get("encoder_decoder", ()))
    asked = factors.english(scores, QA)
    if not asked["model"].isin(encoder_decoder).any():
        return _frame([]).assign(architecture=[])
    data = _curves(asked, published, settings)
    both = data["model"].isin(encoder_decoder)
    data["architecture"] = both.map({True: "encoder-decoder", False: "decoder-only"})
    return _ordered(data, settings)


def ablation(
    tasks: Sequence[str],
    variant: str,
    scores: pd.DataFrame,
    published: pd.DataFrame,
    settings: Settings,
) -> pd.DataFrame:
    """Accuracy by position in one of `factors.VARIANTS` and, in the same sizes, without it ("main")."""
    import pandas as pd

    parts = [_frame([])]
    for task in tasks:
        changed = factors.english(scores, task, variant)
        if changed.empty:
            continue
        plain = factors.english(scores, task)
        plain = plain[plain["n_documents"].isin(set(changed["n_documents"]))]
        plain = plain[plain["model"].isin(set(changed["model"]))]
        parts.append(_curves(plain, published, settings))
        parts.append(_curves(changed, published, settings, variant))
    return _ordered(pd.concat([part for part in parts if len(part)] or parts), settings)


def figure13(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by position of the models of each pair [base, instruction-tuned] (`pair`, `role`)."""
    import pandas as pd

    asked = factors.english(scores, QA)
    parts = [_frame([]).assign(pair=[], role=[])]
    for base, tuned in settings.get("instruction_tuning", ()):
        both = asked[asked["model"].isin([base, tuned])]
        if both["model"].nunique() < 2:
            continue
        part = _curves(both, published, settings).assign(pair=f"{base}|{tuned}")
        part["role"] = part["model"].map({base: "base", tuned: "instruction-tuned"})
        parts.append(part)
    return _ordered(pd.concat([part for part in parts if len(part)] or parts), settings, "pair")


def figure14(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Reader accuracy and retriever recall by the number of retrieved documents (`n_documents`).

    Recall is the share of questions for which one of the documents holds an accepted answer; its rows
    have no model and the task "recall".
    """
    import pandas as pd

    asked = factors.english(scores, "open_domain")
    if asked.empty:
        return _frame([])
    data = cells.summarise(asked, ["model", "n_documents"]).assign(task="open_domain")
    # The same prompts, whichever model answered them.
    prompts = asked.drop_duplicates(["example_id", "n_documents"])
    prompts = prompts.assign(value=prompts["answer_present"].astype(float), finish_reason="stop")
    recall = cells.summarise(prompts, ["n_documents"]).assign(task="recall", model="")
    return _ordered(pd.concat([_columns(data), _columns(recall)]), settings, "n_documents")


def figure18(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by number of documents and position, on the questions that all models answered.

    A model without points of a size has a row that says why (`absent`): it answered less than
    LEAST_ANSWERED of the prompts and is left out, or the models share no question. The paper's GPT-4
    answered 500.
    """
    import pandas as pd

    asked = factors.english(scores, QA)
    parts = [_frame([]).assign(absent=[])]
    for size, part in asked.groupby("n_documents"):
        prompts = len(part.drop_duplicates(["example_id", "gold_index"]))
        given = part[cells.judged(part)]
        answered = given.drop_duplicates(["example_id", "model", "gold_index"])
        counts = {model: int((answered["model"] == model).sum()) for model in set(part["model"])}
        absent = {
            model: f"answered {n:,} of {prompts:,} prompts"
            for model, n in counts.items()
            if n < LEAST_ANSWERED * prompts
        }
        answered = answered[~answered["model"].isin(list(absent))]
        wanted = answered["model"].nunique() * answered["gold_index"].nunique()
        shared = answered["example_id"].value_counts()
        shared = set(shared[shared == wanted].index)
        if not shared:
            absent |= dict.fromkeys(counts.keys() - absent.keys(), NOTHING_SHARED)
        here = given[given["example_id"].isin(shared) & ~given["model"].isin(list(absent))]
        # Of some questions only, so Tables 5 to 7 are of others.
        parts.append(_curves(here, published.iloc[:0], settings).assign(absent=""))
        rows = [
            {"model": model, "source": "ours", "task": QA, "variant": "main", "n_documents": size}
            | {"n": 0, "n_questions": 0, **cells.lost(part[part["model"] == model])}
            for model in absent
        ]
        parts.append(_frame(rows).assign(absent=list(absent.values())))
    return _ordered(pd.concat([part for part in parts if len(part)] or parts), settings)


def languages(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by language, number of documents and position."""
    return _by_language(factors.variant(scores, QA), settings)


def key_value_words(
    scores: pd.DataFrame, published: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """Accuracy of key-value retrieval by language of the words, and of UUIDs (`lang` "uuid")."""
    import pandas as pd

    asked = scores[(scores["task"] == PAIRS) & ~scores["query_aware"].astype(bool)]
    words = asked[asked["keys"] == "words"]
    uuids = asked[(asked["keys"] == "uuid") & asked["n_documents"].isin(set(words["n_documents"]))]
    return _by_language(pd.concat([words, uuids.assign(lang="uuid")]), settings)


def _by_language(asked: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    data = cells.summarise(asked, ["model", "lang", "task", "n_documents", "gold_index"])
    data["position"] = data["gold_index"] + 1
    langs = factors.languages(data["lang"])
    by = ("n_documents", "lang", "position")
    return cells.ordered(data, settings, *by, order={"lang": langs})


def _curves(
    asked: pd.DataFrame, published: pd.DataFrame, settings: Settings, variant: str = "main"
) -> pd.DataFrame:
    """Accuracy by model, task, number of documents or pairs, and position."""
    rows: list[dict[str, object]] = []
    by = ["model", "task", "n_documents", "gold_index"]
    for (model, task, size, index), part in asked.groupby(by):
        cell = cells.measure(part)
        name = settings.get("published", {}).get(model, "")
        table, row, column = "", name, str(int(index))
        reason = factors.pairs_obstacle if task == PAIRS else factors.obstacle
        if task == QA and variant == "main":
            table = QA_TABLES.get(size, "")
        elif task == PAIRS and variant == "main" and size == REPOSITORY_PAIRS:
            table = "figure10"
        elif task == PAIRS and variant == "query_aware" and size == 300:
            table, column = "text", "300_pairs/query_aware"
        number = factors.number(published, table, row, column)
        rows.append(
            {"model": model, "source": "ours", "task": task, "variant": variant}
            | {"n_documents": size, "gold_index": int(index), "position": int(index) + 1}
            | cell
            | factors.compared(cell, number, reason(settings, model))
        )
    return _frame(rows)


def _levels(
    scores: pd.DataFrame, published: pd.DataFrame, settings: Settings, models: set[str]
) -> list[pd.DataFrame]:
    """Closed-book and oracle accuracy of these models, without a position."""
    rows: list[dict[str, object]] = []
    for task in ("closed_book", "oracle"):
        asked = factors.english(scores, task)
        for model, part in asked[asked["model"].isin(models)].groupby("model"):
            cell = cells.measure(part)
            name = settings.get("published", {}).get(model, "")
            number = factors.number(published, "table1", name, task)
            rows.append(
                {"model": model, "source": "ours", "task": task, "variant": "main"}
                | cell
                | factors.compared(cell, number, factors.obstacle(settings, model))
            )
    return [_frame(rows)] if rows else []


def _not_run(
    published: pd.DataFrame, table: str, settings: Settings, scores: pd.DataFrame
) -> list[str]:
    """The paper's models that were not run; none where the run's questions are not the paper's."""
    if factors.obstacle(settings):
        return []
    return factors.not_run(published, table, settings, scores)


def _printed_curve(
    published: pd.DataFrame, table: str, name: str, task: str, size: int
) -> pd.DataFrame:
    return _frame(
        [
            {"model": name, "task": task, "variant": "main", "n_documents": size}
            | {"gold_index": int(index), "position": int(index) + 1, **cell}
            for index, cell in factors.printed(published, table, name)
        ]
    )


def _mean_of(published: pd.DataFrame, table: str, name: str) -> Printed | None:
    found = [cell for _, cell in factors.printed(published, table, name)]
    if not found:
        return None
    values = [float(str(cell["value"])) for cell in found]
    return Printed(sum(values) / len(values), None, str(found[0]["published_source"]))


def _frame(rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    frame = cells.frame(rows, [*COLUMNS, *MEASURES, *COMPARISON])
    numbers = dict.fromkeys(("n_documents", "gold_index", "position"), "Int64")
    return frame.astype({**numbers, "published": "float64"})


def _columns(data: pd.DataFrame) -> pd.DataFrame:
    """The same rows with the columns of `_frame`."""
    data = data if "source" in data else data.assign(source="ours")
    return _frame(data.to_dict("records"))


def _ordered(data: pd.DataFrame, settings: Settings, *by: str) -> pd.DataFrame:
    tasks = ("closed_book", QA, PAIRS, "open_domain", "recall", "oracle")
    order = {"task": tasks, "variant": ["main", *factors.VARIANTS[1:], "lowest"]}
    by = tuple(by) or ("task", "variant", "n_documents", "position")
    return cells.ordered(data, settings, *by, order=order)
