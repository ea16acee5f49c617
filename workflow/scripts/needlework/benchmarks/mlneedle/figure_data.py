"""The numbers that MLNeedle's figures draw: published as CSV beside each figure.

Every function takes (scores, published, settings) and gives one point a row, with `source` "ours" or
"published", MEASURES, and the paper's number where it prints one. The figures are of the variant
nearest to the paper's: questions in English, semantic retrieval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from needlework import cells, seeding
from needlework import published as publications
from needlework.benchmarks.mlneedle import factors, table_data
from needlework.benchmarks.mlneedle.factors import Settings
from needlework.cells import COMPARISON, MEASURES

if TYPE_CHECKING:
    import pandas as pd

# Figure 4 of the paper.
RESOURCES = {"high and medium": ("en", "es", "de"), "low": ("zh", "vi", "hi", "ar")}
TASKS = {"exact": "Exact accuracy", "existence": "Existence accuracy"}
# Figure 5: sizes of the growing sample (paper, appendix E.2).
FIRST_SIZE, STEP = 100, 500
# Figure 8 of the paper shows two lengths; a run that has neither gets all of its own.
DECODING_LENGTHS = (8192, 32768)


def figure1(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy where needle and haystack share a language, over all lengths, by model and language.

    The published numbers are the diagonal of Table 2, which is of one length alone.
    """
    exact = _chosen(scores)
    alike = exact[exact["needle_lang"] == exact["haystack_lang"]]
    table = table_data.table2(alike, published, settings)
    diagonal = table["needle_lang"] == table["haystack_lang"]
    shown = diagonal & ((table["length"] == "average") | (table["source"] == "published"))
    return _ordered(table[shown], settings, "needle_lang")


def figure3(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy in English haystacks, and without any, by model, length and needle language."""
    import pandas as pd

    exact = _chosen(scores)
    table = table_data.table2(exact[exact["haystack_lang"] == "en"], published, settings)
    english = (table["haystack_lang"] == "en") & (table["length"] != "average")
    table = table[english].astype({"length": "int64"})
    baseline = cells.summarise(exact[exact["length"] == 0], ["model", "needle_lang"])
    baseline = baseline.assign(source="ours", haystack_lang="none", length=0)
    labels = ["model", "source", "length", "haystack_lang", "needle_lang"]
    parts = [part for part in (baseline, table) if len(part)] or [table]
    data = pd.concat(parts).reindex(columns=[*labels, *MEASURES, *COMPARISON])
    return _ordered(data, settings, "length", "needle_lang")


def figure4(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by model, length, resources of the needle's language, and the needle's position."""
    exact = _chosen(scores)
    exact = exact[exact["length"] > 0]
    groups = {lang: name for name, langs in RESOURCES.items() for lang in langs}
    exact = exact.assign(resources=exact["needle_lang"].map(groups).fillna("other"))
    data = _by_position(exact, ["model", "length", "resources"])
    return _ordered(data, settings, "length", "resources", "depth")


def figure5(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy of growing random samples of prompts (100, 600, 1100, ... all) by model and length.

    `se` is the paper's equation (1). A larger sample holds every smaller one. The full sample is
    compared with Table 1.
    """
    import pandas as pd

    exact = _chosen(scores)
    rows = []
    for (model, length), group in exact[exact["length"] > 0].groupby(["model", "length"]):
        group = group.sort_values(["instance_id", "sample"])
        order = seeding.rng("mlneedle", "figure5", model, length).permutation(len(group))
        drawn = group[["value", "example_id", "finish_reason"]].iloc[order]
        for size in [*range(FIRST_SIZE, len(group), STEP), len(group)]:
            cell = cells.measure(drawn.iloc[:size])
            labels = {"model": model, "source": "ours", "length": int(length), "size": size}
            if size == len(group):
                cell |= table_data.compared_with_table1(cell, group, published, settings, model)
            rows.append(labels | cell)
    columns = ["model", "source", "length", "size", *MEASURES, *COMPARISON]
    return _ordered(pd.DataFrame(rows, columns=columns), settings, "length", "size")


def figure6(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Exact and existence accuracy by position, and by needle language in English haystacks.

    `factor` says which of the two. Existence accuracy is of prompts that hold the needle, as in the
    paper.
    """
    import pandas as pd

    both = _both_tasks(scores)
    by = ["model", "task", "length"]
    position = _by_position(both, by).assign(factor="position")
    english = both[both["haystack_lang"] == "en"]
    needle = cells.summarise(english, [*by, "needle_lang"]).assign(factor="needle_lang")
    columns = [*by, "factor", "position", "depth", "needle_lang", *MEASURES]
    data = pd.concat([position, needle]).reindex(columns=columns)
    return _ordered(data, settings, "task", "factor", "length", "depth", "needle_lang")


def figure7(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Exact and existence accuracy of English needles by haystack language."""
    both = _both_tasks(scores)
    english = both[both["needle_lang"] == "en"]
    data = cells.summarise(english, ["model", "task", "length", "haystack_lang"])
    data.insert(3, "factor", "haystack_lang")
    return _ordered(data, settings, "task", "length", "haystack_lang")


def figure8(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Greedy decoding and sampling, by needle language (haystack English) and by position.

    `published` is the paper's mean over all positions (Table 4).
    """
    import pandas as pd

    exact = _chosen(scores)
    exact = exact[exact["length"] > 0]
    names = settings.get("published", {})
    columns = ["pair", "model", "decoding", "length", "factor", "needle_lang", "position", "depth"]
    parts = [pd.DataFrame(columns=[*columns, *MEASURES])]
    for greedy, sampling in settings.get("greedy_or_sampling", ()):
        both = exact[exact["model"].isin([greedy, sampling])]
        here = set(factors.lengths(both))
        both = both[both["length"].isin(here.intersection(DECODING_LENGTHS) or here)]
        english = both[both["haystack_lang"] == "en"]
        needle = cells.summarise(english, ["model", "length", "needle_lang"])
        position = _by_position(both, ["model", "length"])
        part = pd.concat([needle.assign(factor="needle_lang"), position.assign(factor="position")])
        roles = {greedy: "greedy", sampling: "sampling"}
        part = part.assign(pair=f"{greedy}|{sampling}", decoding=part["model"].map(roles))
        parts.append(part.reindex(columns=parts[0].columns))
    data = pd.concat([part for part in parts if len(part)] or parts)
    numbers = [
        publications.lookup(published, "table4", names.get(row.model, ""), str(row.length))
        for row in data.itertuples()
    ]
    data["published"] = [None if number is None else number.value for number in numbers]
    order = ["pair", "factor", "length", "decoding", "depth", "needle_lang"]
    return _ordered(data, settings, *order)


def _chosen(scores: pd.DataFrame, task: str = "exact") -> pd.DataFrame:
    """The scores of a task in the variant nearest to the paper's."""
    here = scores[scores["task"] == task]
    variants = factors.variants(here)
    return factors.select(here, variants[0]) if variants else here


def _both_tasks(scores: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    both = pd.concat([_chosen(scores, task) for task in TASKS])
    return both[(both["length"] > 0) & both["needle_present"].astype(bool)]


def _by_position(scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`cells.summarise` by `by` and position, with the position's depth."""
    data = cells.summarise(scores, [*by, "position"])
    depth = scores.groupby("position")["depth"].first()
    data.insert(len(by) + 1, "depth", data["position"].map(depth).astype("float64"))
    return data


def _ordered(data: pd.DataFrame, settings: Settings, *by: str) -> pd.DataFrame:
    """`cells.ordered`, with languages in the paper's order."""
    langs = {
        column: factors.languages(data[column].dropna())
        for column in by
        if column in ("needle_lang", "haystack_lang")
    }
    return cells.ordered(data, settings, *by, order=langs)
