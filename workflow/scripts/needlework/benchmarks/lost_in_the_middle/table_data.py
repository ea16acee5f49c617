"""The numbers of Lost in the Middle's tables.

Each function takes (rows, published, settings) and makes a tidy table: accuracy of scores, one cell a
row, with its uncertainty and the paper's number beside it; or lengths of prompts in tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from needlework import cells
from needlework import published as publications
from needlework.benchmarks.lost_in_the_middle import factors
from needlework.benchmarks.lost_in_the_middle.factors import (
    COMPARISON,
    ENGLISH,
    PAIRS,
    QA,
    QA_TABLES,
    TASKS,
    VARIANTS,
    Settings,
)
from needlework.cells import MEASURES

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = ("mean", "stdev", "max")
# Of a tokenizer's counts in one setting.
COUNTS = (
    *("tokenizer", "source", "lang", "keys", "column"),
    *STATISTICS,
    *("n", "n_prompts"),
    *(f"published_{name}" for name in STATISTICS),
    "comparison",
)


def table1(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy without documents and with the gold document alone, by language and model."""
    found = {task: factors.variant(scores, task) for task in ("closed_book", "oracle")}
    return _accuracy(found, "table1", scores, published, settings)


def by_index(
    n_documents: int, scores: pd.DataFrame, published: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """Accuracy among so many documents by the gold document's index, by language and model."""
    asked = factors.variant(scores, QA)
    asked = asked[asked["n_documents"] == n_documents]
    found = {str(int(index)): rows for index, rows in asked.groupby("gold_index")}
    return _accuracy(found, QA_TABLES[n_documents], scores, published, settings)


def accuracy(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Every cell that was asked, each answer in one of them, by everything that tells prompts apart.

    `variant` is the ablation (appendices B and C, section 5.2), or "main"; `n_documents` the number of
    documents, retrieved ones (section 6) or pairs; `position` 1 for the first. Both are missing where a
    prompt has no place for the answer.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    names = settings.get("published", {})
    by = ["model", "task", "lang", "keys", "variant", "n_documents", "gold_index"]
    asked = scores.assign(variant=factors.variants(scores))
    for key, part in asked.groupby(by, sort=False, dropna=False):
        model, task, lang, keys, variant, size, index = key
        place = None if pd.isna(index) else int(index)
        cell = cells.measure(part)
        number, obstacle = None, None
        if keys != "words":
            number = factors.cell_number(
                published, names.get(model, ""), task, variant, size, place
            )
            obstacle = (
                factors.pairs_obstacle(settings, model)
                if task == PAIRS
                else factors.obstacle(settings, model, lang)
            )
        rows.append(
            dict(zip(by, key, strict=True))
            | {"source": "ours", "gold_index": place}
            | {"position": None if place is None else place + 1}
            | cell
            | factors.compared(cell, number, obstacle)
        )
    labels = ["model", "source", *by[1:], "position"]
    data = cells.frame(rows, [*labels, *MEASURES, *COMPARISON])
    data = data.astype(dict.fromkeys(("n_documents", "gold_index", "position"), "Int64"))
    order: dict[str, Sequence[str]] = {
        "task": TASKS,
        "lang": factors.languages(data["lang"]),
        "keys": ("none", "uuid", "words"),
        "variant": VARIANTS,
    }
    keys = ("task", "n_documents", "keys", "lang", "variant", "gold_index")
    return cells.ordered(data, settings, *keys, order=order)


def _accuracy(
    found: Mapping[str, pd.DataFrame],
    table: str,
    scores: pd.DataFrame,
    published: pd.DataFrame,
    settings: Settings,
) -> pd.DataFrame:
    """A row for each language, model and column of `found`; then the paper's models that were not run."""
    rows: list[dict[str, object]] = []
    for lang in factors.languages(lang for part in found.values() for lang in part["lang"]):
        for model in cells.models(settings, scores):
            name = settings.get("published", {}).get(model, "")
            for column, part in found.items():
                mine = part[(part["lang"] == lang) & (part["model"] == model)]
                if mine.empty:
                    continue
                cell = cells.measure(mine)
                number = factors.number(published, table, name, column)
                obstacle = factors.obstacle(settings, model, lang)
                rows.append(
                    {"lang": lang, "model": model, "source": "ours", "column": column}
                    | cell
                    | factors.compared(cell, number, obstacle)
                )
    for name in factors.not_run(published, table, settings, scores):
        rows += [
            {"lang": ENGLISH, "model": name, "column": column, **number}
            for column, number in factors.printed(published, table, name)
        ]
    return cells.frame(rows, ["lang", "model", "source", "column", *MEASURES, *COMPARISON])


def table2(instances: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Tokens of the closed-book and oracle prompts; see `_tokens`."""
    found = {task: factors.variant(instances, task) for task in ("closed_book", "oracle")}
    return _tokens(found, "table2", published, settings)


def table3(instances: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Tokens of the prompts with documents, by their number; see `_tokens`."""
    asked = factors.variant(instances, QA)
    found = {str(n): rows for n, rows in asked.groupby("n_documents")}
    return _tokens(found, "table3", published, settings)


def table4(instances: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Tokens of the key-value prompts, by the number of pairs; see `_tokens`."""
    asked = instances[(instances["task"] == PAIRS) & ~instances["query_aware"].astype(bool)]
    found = {str(n): rows for n, rows in asked.groupby("n_documents")}
    return _tokens(found, "table4", published, settings)


def _tokens(
    found: Mapping[str, pd.DataFrame], table: str, published: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """Mean, sample standard deviation (n - 1) and maximum of n_tokens by tokenizer, for each of `found`.

    Mean and deviation are over examples (`n`), each of which counts with the mean of its prompts
    (`n_prompts`), one for each index: pooled, the deviation of 75 pairs would be 25.5, not the
    printed 25.6. The maximum is over prompts.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    listed = list(settings.get("tokenizers", ()))
    present = {name for part in found.values() for name in part["tokenizer"]}
    names = settings.get("published_tokenizers", {})
    for tokenizer in [*listed, *sorted(present.difference(listed))]:
        for column, part in found.items():
            mine = part[part["tokenizer"] == tokenizer]
            groups = dict(list(mine.groupby(["keys", "lang"], dropna=False)))
            for keys, lang in sorted(groups, key=_english_first):
                prompts = groups[keys, lang]
                each = prompts.groupby("example_id")["n_tokens"].mean()
                values = (each.mean(), each.std(ddof=1), prompts["n_tokens"].max())
                row = "" if keys == "words" else names.get(tokenizer, "")
                numbers = [
                    publications.lookup(published, table, row, f"{column}/{name}")
                    for name in STATISTICS
                ]
                obstacle = (
                    factors.drawn_pairs(settings)
                    if keys == "uuid"
                    else factors.obstacle(settings, lang=lang)
                )
                rows.append(
                    {"tokenizer": tokenizer, "source": "ours", "lang": lang, "keys": keys}
                    | {"column": column, "n": len(each), "n_prompts": len(prompts)}
                    | dict(zip(STATISTICS, values, strict=True))
                    | _beside(values, numbers, len(each), obstacle)
                )
    theirs = published[
        (published["table"] == table)
        & ~published["row"].isin([names.get(tokenizer, "") for tokenizer in present])
    ]
    parts = theirs["column"].str.split("/", expand=True, n=1)
    for (name, column), group in theirs.assign(setting=parts[0], statistic=parts[1]).groupby(
        ["row", "setting"], sort=False
    ):
        numbers = dict(zip(group["statistic"], group["value"], strict=True))
        rows.append(
            {"tokenizer": name, "source": "published", "lang": ENGLISH, "column": column}
            | {"keys": "uuid" if table == "table4" else "none", "n": group["n"].iloc[0]}
            | numbers
            | {f"published_{statistic}": value for statistic, value in numbers.items()}
        )
    made = pd.DataFrame(rows, columns=list(COUNTS))
    return made.astype({"n": "Int64", "n_prompts": "Int64"})


def _english_first(group: tuple[str, str]) -> tuple[bool, bool, str]:
    keys, lang = group
    return keys == "words", lang != ENGLISH, str(lang)


def _beside(
    values: Sequence[float],
    numbers: Sequence[publications.Number | None],
    n: int,
    obstacle: str | None,
) -> dict[str, object]:
    """The paper's numbers, and whether ours are equal to their last printed digit."""
    found = {
        f"published_{name}": number and number.value
        for name, number in zip(STATISTICS, numbers, strict=True)
    }
    if None in numbers:
        return found | {"comparison": "cannot tell: no published number"}
    if numbers[0].n not in (None, n):
        obstacle = obstacle or f"{n:,} examples, in the paper {numbers[0].n:,}"
    if obstacle:
        return found | {"comparison": f"cannot tell: {obstacle}"}
    differ = [
        name
        for name, ours, theirs in zip(STATISTICS, values, numbers, strict=True)
        if f"{ours:.1f}" != f"{theirs.value:.1f}"
    ]
    return found | {"comparison": f"differs: {', '.join(differ)}" if differ else "equals"}
