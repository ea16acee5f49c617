"""The numbers that Lost in the Middle's figures draw: published as CSV beside each figure.

Every function takes (scores, published, settings) and gives one point a row, with `source` "ours" or
"published", MEASURES, and the paper's number where it prints one, or else its repository's. `position`
is 1 for the first of the prompt's documents or pairs, `n_documents` how many there are. All but
`languages` and `key_value_words` are of English questions, and of UUIDs as keys and values.

Where a figure sets the same questions beside each other, at the same positions, the rows of what was
changed have PAIRED: McNemar's test against the rows without the change, on what both have answers to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from needlework import cells
from needlework.benchmarks.lost_in_the_middle import factors
from needlework.benchmarks.lost_in_the_middle.factors import (
    COMPARISON,
    PAIRS,
    QA,
    QA_TABLES,
    REPOSITORY_PAIRS,
    Printed,
    Settings,
)
from needlework.cells import MCNEMAR, MEASURES

if TYPE_CHECKING:
    import pandas as pd

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
# Figure 18 leaves a model out of a panel if it answered less than this share of the panel's prompts:
# all others would be cut down to the few that it answered.
LEAST_ANSWERED = 0.5
NOTHING_SHARED = "no question that all models answered at every position"
COLUMNS = ("model", "source", "task", "variant", "n_documents", "gold_index", "position")
# One answer to each question of a cell.
SAME_QUESTION = ("example_id", "sample")
# How many questions both have an answer to, and McNemar's test.
PAIRED = ("n_both", *MCNEMAR)


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

    The paper prints one number: the lowest of all positions among 300 pairs, of one model. The variant
    "lowest" is ours beside it, or without a position the paper's alone, where that model was not run.
    Its repository has two models' curves among 140 pairs.
    """
    import pandas as pd

    asked = factors.english(scores, PAIRS)
    parts = [_curves(asked, published, settings)]
    if (asked["n_documents"] == REPOSITORY_PAIRS).any():
        for name in cells.not_run(published, "figure10", settings, scores):
            curve = _printed_curve(published, "figure10", name, PAIRS, REPOSITORY_PAIRS)
            parts.append(curve)
    number = factors.number(published, "text", PRINTED_PAIRS, "300_pairs/lowest")
    asked = asked[asked["n_documents"] == 300]
    if number and len(asked):
        names = settings.get("published", {})
        run = [m for m in cells.models(settings, asked) if names.get(m) == PRINTED_PAIRS]
        rows = [_lowest(asked[asked["model"] == model], number, settings) for model in run]
        paper = {"model": PRINTED_PAIRS, "source": "published", "task": PAIRS, "variant": "lowest"}
        paper |= {"n_documents": 300, "value": number.value, "published": number.value}
        parts.append(_frame(rows or [paper | {"published_source": number.source}]))
    return _ordered(pd.concat(parts), settings)


def _lowest(asked: pd.DataFrame, number: Printed, settings: Settings) -> dict[str, object]:
    """A model's lowest accuracy of all positions, beside the paper's."""
    measured = {int(index): cells.measure(part) for index, part in asked.groupby("gold_index")}
    # A position without an answer has no accuracy; the first of equal ones.
    index = min(measured, key=lambda i: (measured[i]["n"] == 0, measured[i]["value"]))
    lost = cells.lost(asked)
    model, missing = asked["model"].iloc[0], lost["n_skipped"] + lost["n_error"]
    obstacle = factors.pairs_obstacle(settings, model)
    if measured.keys() != PRINTED_INDICES:
        obstacle = obstacle or "other positions"
    if missing:
        obstacle = f"{missing:,} answers are missing"
    return (
        {"model": model, "source": "ours", "task": PAIRS, "variant": "lowest", "n_documents": 300}
        | {"gold_index": index, "position": index + 1, **measured[index]}
        | factors.compared(measured[index], number, obstacle)
    )


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
    """Accuracy by position in one of `factors.VARIANTS` and, in the same sizes, without it ("main").

    Unambiguous questions are some of the same answers, so that there is nothing to test.
    """
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
        beside = None if variant == "unambiguous" else plain
        parts.append(_curves(changed, published, settings, variant, beside))
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
        one, two = (both[both["model"] == model] for model in (base, tuned))
        for mine, role, beside in (
            (one, "base", None),
            (two, "instruction-tuned", one.assign(model=tuned)),
        ):
            curve = _curves(mine, published, settings, beside=beside)
            parts.append(curve.assign(pair=f"{base}|{tuned}", role=role))
    return _ordered(pd.concat([part for part in parts if len(part)] or parts), settings, "pair")


def figure14(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Reader accuracy and retriever recall by the number of retrieved documents (`n_documents`).

    Recall is the share of questions for which one of the documents holds an accepted answer; its rows
    have no model and the task "recall". Rows of the task "gain" are differences: the accuracy with the
    most documents less that with 20, on the questions that were answered with both.
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
    parts = [_columns(data), _columns(recall), *_gains(asked, published, settings)]
    return _ordered(pd.concat(parts), settings, "n_documents")


def _gains(asked: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> list[pd.DataFrame]:
    """What more than 20 retrieved documents gain (section 6), beside what the paper says of it."""
    most = asked["n_documents"].max()
    if most <= USUAL:
        return []
    rows: list[dict[str, object]] = []
    for model in cells.models(settings, asked):
        mine = asked[asked["model"] == model]
        few, many = (mine[mine["n_documents"] == n] for n in (USUAL, most))
        if few.empty or many.empty:
            continue
        cell = cells.difference(few, many, cells.paired(few, many, SAME_QUESTION))
        name = settings.get("published", {}).get(model, "")
        number = factors.number(published, "text", name, GAIN)
        rows.append(
            {"model": model, "source": "ours", "task": "gain", "n_documents": most}
            | {"n_both": cell["n"], **cell}
            | factors.compared(cell, number, ABOUT)
        )
    theirs = published[published["column"] == GAIN]
    for name in _not_run(theirs, "text", settings, asked):
        rows += [
            {"model": name, "task": "gain", **cell}
            for _, cell in factors.printed(theirs, "text", name)
        ]
    return [_frame(rows, PAIRED)] if rows else []


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
    asked: pd.DataFrame,
    published: pd.DataFrame,
    settings: Settings,
    variant: str = "main",
    beside: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Accuracy by model, task, number of documents or pairs, and position.

    With `beside`, the answers that each cell is tested against, PAIRED too.
    """
    rows: list[dict[str, object]] = []
    by = ["model", "task", "n_documents", "gold_index"]
    others = {} if beside is None else dict(list(beside.groupby(by)))
    for key, part in asked.groupby(by):
        model, task, size, index = key
        cell = cells.measure(part)
        name = settings.get("published", {}).get(model, "")
        number = factors.cell_number(published, name, task, variant, size, int(index))
        reason = factors.pairs_obstacle if task == PAIRS else factors.obstacle
        tested: dict[str, object] = {}
        if key in others:
            both = cells.paired(others[key], part, SAME_QUESTION)
            tested = {"n_both": len(both), **cells.mcnemar(both)}
        rows.append(
            {"model": model, "source": "ours", "task": task, "variant": variant}
            | {"n_documents": size, "gold_index": int(index), "position": int(index) + 1}
            | cell
            | tested
            | factors.compared(cell, number, reason(settings, model))
        )
    return _frame(rows, () if beside is None else PAIRED)


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
            number = factors.cell_number(published, name, task, "main", 0, None)
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


def _frame(rows: Sequence[dict[str, object]], more: Sequence[str] = ()) -> pd.DataFrame:
    frame = cells.frame(rows, [*COLUMNS, *MEASURES, *COMPARISON, *more])
    numbers = dict.fromkeys(("n_documents", "gold_index", "position"), "Int64")
    return frame.astype({**numbers, "published": "float64"})


def _columns(data: pd.DataFrame) -> pd.DataFrame:
    """The same rows with the columns of `_frame`."""
    data = data if "source" in data else data.assign(source="ours")
    return _frame(data.to_dict("records"))


def _ordered(data: pd.DataFrame, settings: Settings, *by: str) -> pd.DataFrame:
    tasks = ("closed_book", QA, PAIRS, "open_domain", "recall", "gain", "oracle")
    order = {"task": tasks, "variant": ["main", *factors.VARIANTS[1:], "lowest"]}
    by = tuple(by) or ("task", "variant", "n_documents", "position")
    return cells.ordered(data, settings, *by, order=order)
