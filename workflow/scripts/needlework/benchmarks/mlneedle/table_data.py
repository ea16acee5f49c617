"""The numbers of MLNeedle's tables: the paper's four, and those its reviewers missed.

Each function takes (scores, published, settings) and makes a tidy table: one cell a row, with its
uncertainty and the paper's number beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework import cells, stats
from needlework import published as publications
from needlework.benchmarks.mlneedle import factors
from needlework.benchmarks.mlneedle.factors import POSITIONS, Settings
from needlework.cells import COMPARISON, MCNEMAR, MEASURES

if TYPE_CHECKING:
    import pandas as pd

VARIANT = ("question_lang", "retrieval")
# Two models answered the same prompt where these agree.
PAIR_KEY = (
    "example_id",
    "needle_lang",
    "haystack_lang",
    "question_lang",
    "retrieval",
    "position",
    "length",
    "sample",
)


def table1(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by context length, the mean over baseline and lengths, and effective lengths.

    `column` is claimed_length, effective_length, baseline, a length in tokens, or average. Of the
    first two `value` is a number of tokens, 0 where no length keeps 75% of the baseline.
    """
    rows: list[dict[str, object]] = []
    exact = scores[scores["task"] == "exact"]
    for variant, model, mine in _models(exact, settings):
        name = settings.get("published", {}).get(model, "")
        labels = {**_labels(variant), "model": model, "source": "ours"}
        groups = {int(length): group for length, group in mine.groupby("length")}
        measured = {length: cells.measure(group) for length, group in groups.items()}
        means = {length: float(cell["value"]) for length, cell in measured.items()}
        baseline = means.pop(0, None)
        for column, tokens in (
            ("claimed_length", settings.get("claimed_length", {}).get(model)),
            ("effective_length", stats.effective_length(means, baseline)),
        ):
            cell = dict.fromkeys(MEASURES, math.nan)
            cell["value"] = math.nan if tokens is None else float(tokens)
            number = publications.lookup(published, "table1", name, column)
            rows.append(labels | {"column": column} | cell | cells.compared(cell, number, None))
        for length, cell in measured.items():
            number = publications.lookup(published, "table1", name, _column(length))
            obstacle = _full_set_obstacle(settings, variant, groups[length])
            share = float(cell["value"]) / baseline if baseline else math.nan
            rows.append(
                labels
                | {"column": _column(length), "share_of_baseline": share}
                | cell
                | cells.compared(cell, number, obstacle)
            )
        cell = cells.measure(mine, strata="length")
        number = publications.lookup(published, "table1", name, "average")
        obstacle = _average_obstacle(settings, variant, mine, published, "table1", name)
        rows.append(labels | {"column": "average"} | cell | cells.compared(cell, number, obstacle))
    for name in cells.not_run(published, "table1", settings, exact):
        rows += [
            {"model": name, "column": column, **number}
            for column, number in _printed(published, "table1", name)
        ]
    return _frame(rows, ["model", "source", "column", "share_of_baseline"])


def table2(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy by needle and haystack language, at every length and (`length` average) over them.

    The paper's caption says average, but its numbers are those of each model's longest length
    (docs/fidelity.md): ours of that length are compared with them.
    """
    rows: list[dict[str, object]] = []
    exact = scores[(scores["task"] == "exact") & (scores["length"] > 0)]
    for variant, model, mine in _models(exact, settings):
        name = settings.get("published", {}).get(model, "")
        longest = publications.lookup(published, "table1", name, "claimed_length")
        theirs = 0 if longest is None else int(longest.value)
        here = factors.lengths(mine)
        groups = dict(list(mine.groupby(["haystack_lang", "needle_lang"])))
        for haystack in factors.languages(mine["haystack_lang"]):
            for needle in factors.languages(mine["needle_lang"]):
                group = groups.get((haystack, needle))
                if group is None:
                    continue
                obstacle = factors.obstacle(settings, variant, group, position=POSITIONS)
                paper = publications.lookup(published, "table2", f"{name}/{haystack}", needle)
                for length in [None, *here]:
                    part = group if length is None else group[group["length"] == length]
                    cell = cells.measure(part, strata="length")
                    same = theirs == length or here == [theirs]
                    reason = None if same else f"the paper's is of {theirs} tokens alone"
                    number = paper if same or length is None else None
                    rows.append(
                        _labels(variant)
                        | {"model": model, "source": "ours"}
                        | {"haystack_lang": haystack, "needle_lang": needle}
                        | {"length": "average" if length is None else str(length)}
                        | cell
                        | cells.compared(cell, number, obstacle or reason)
                    )
    for name in cells.not_run(published, "table2", settings, exact):
        model, haystack = name.rsplit("/", 1)
        longest = publications.lookup(published, "table1", model, "claimed_length")
        theirs = "" if longest is None else str(int(longest.value))
        rows += [
            {"model": model, "haystack_lang": haystack, "needle_lang": needle}
            | {"length": theirs, **number}
            for needle, number in _printed(published, "table2", name)
        ]
    return _frame(rows, ["model", "source", "haystack_lang", "needle_lang", "length"])


def table3(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Base models against their instruction-tuned variants; see `_pairs` for the columns."""
    return _pairs(scores, published, settings, settings.get("instruction_tuning", ()), "table3")


def table4(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Greedy decoding against sampling; see `_pairs` for the columns."""
    return _pairs(scores, published, settings, settings.get("greedy_or_sampling", ()), "table4")


def existence(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Existence accuracy where the needle is present (the paper's), where absent, and their mean.

    A model that always answers Yes has 1, 0 and 0.5. `length` is a length in tokens or `all`.
    """
    rows: list[dict[str, object]] = []
    asked = scores[(scores["task"] == "existence") & (scores["length"] > 0)]
    for variant, model, mine in _models(asked, settings):
        for length in [None, *factors.lengths(mine)]:
            part = mine if length is None else mine[mine["length"] == length]
            present = part["needle_present"].astype(bool)
            kinds = {"present": part[present], "absent": part[~present]}
            if present.any() and not present.all():
                kinds["balanced"] = part
            rows += [
                _labels(variant)
                | {"model": model, "source": "ours"}
                | {"length": "all" if length is None else str(length), "needle": kind}
                | cells.measure(group, strata="needle_present")
                for kind, group in kinds.items()
                if len(group)
            ]
    return _frame(rows, ["model", "source", "length", "needle"], compared=False)


def closed_book(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy without any passage, and of the same questions with the needle alone (baseline).

    The first is what a model knows, or has seen, without reading. `needle_lang` may be `all`.
    """
    rows: list[dict[str, object]] = []
    short = scores[(scores["length"] == 0) & scores["task"].isin(["closed_book", "exact"])]
    closed = short[short["task"] == "closed_book"]
    for variant, model, mine in _models(closed, settings):
        questions = short[(short["model"] == model) & (short["question_lang"] == variant[0])]
        for needle in [None, *factors.languages(mine["needle_lang"])]:
            for task, column in (("closed_book", "closed_book"), ("exact", "baseline")):
                part = questions[questions["task"] == task]
                part = part if needle is None else part[part["needle_lang"] == needle]
                if len(part):
                    rows.append(
                        {"question_lang": variant[0], "retrieval": "none", "model": model}
                        | {"source": "ours", "needle_lang": needle or "all", "column": column}
                        | cells.measure(part)
                    )
    return _frame(rows, ["model", "source", "needle_lang", "column"], compared=False)


def translation_ceiling(
    ceilings: pd.DataFrame, published: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """The share of gold answers that survive translation into English, by language.

    `ceilings` has columns lang, n (answers translated) and n_survived (of them still right).
    """
    import pandas as pd

    rows = []
    counts = ceilings.groupby("lang")[["n", "n_survived"]].sum()
    for lang in factors.languages(counts.index):
        n, survived = int(counts.loc[lang, "n"]), int(counts.loc[lang, "n_survived"])
        value = survived / n if n else math.nan
        low, high = stats.wilson(value, n)
        rows.append((lang, value, n, stats.standard_error(value, n), low, high))
    return pd.DataFrame(rows, columns=["lang", "value", "n", "se", "ci_low", "ci_high"])


def _pairs(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    settings: Settings,
    pairs: Iterable[Sequence[str]],
    table: str,
) -> pd.DataFrame:
    """Both models of each pair, and the second less the first on the prompts that both answered.

    `pair` is "first|second", `role` first, second or delta. Rows of role delta have an interval of
    the paired difference, McNemar's exact p, and how many prompts only one of the two got right.
    """
    import pandas as pd

    exact = scores[scores["task"] == "exact"]
    rows: list[dict[str, object]] = []
    lines: set[str] = set()
    for first, second in pairs:
        names = {
            role: _printed_name(published, table, settings, model)
            for role, model in (("first", first), ("second", second))
            if (exact["model"] == model).any()
        }
        if len(names) == 2 and all(names.values()):
            names["delta"] = "delta"
        lines |= set(names.values())
        # Table 3 prints an instruction-tuned model's greedy numbers without saying so.
        tuned = settings.get("published", {}).get(second, "")
        sampled = names.get("second", "") == tuned + factors.GREEDY_ROW
        for variant in factors.variants(exact):
            here = factors.select(exact, variant)
            one, two = here[here["model"] == first], here[here["model"] == second]
            both = cells.paired(one, two, PAIR_KEY)
            for role, model, part in (
                ("first", first, one),
                ("second", second, two),
                ("delta", "delta", both),
            ):
                name = names.get(role, "")
                reason = (
                    "the paper's is of greedy decoding" if sampled and role != "first" else None
                )
                for length in [*sorted({int(n) for n in part["length"]}), None]:
                    among = _at(part, length)
                    if among.empty:
                        continue
                    if role == "delta":
                        cell = cells.difference(_at(one, length), _at(two, length), among, "length")
                        # Both models' settings must be the paper's.
                        among = pd.concat([among, _at(two, length)])
                    else:
                        cell = cells.measure(among, strata="length")
                    obstacle = (
                        _average_obstacle(settings, variant, among, published, table, name)
                        if length is None
                        else _full_set_obstacle(settings, variant, among)
                    )
                    column = "average" if length is None else _column(length)
                    number = publications.lookup(published, table, name, column)
                    rows.append(
                        _labels(variant)
                        | {"pair": f"{first}|{second}", "source": "ours"}
                        | {"role": role, "model": model, "column": column}
                        | cell
                        | cells.compared(cell, number, obstacle or reason)
                    )
    rows += _printed_pair(published, table, lines)
    return _frame(rows, ["pair", "role", "model", "source", "column"], MCNEMAR)


def _at(scores: pd.DataFrame, length: int | None) -> pd.DataFrame:
    return scores if length is None else scores[scores["length"] == length]


def _models(
    scores: pd.DataFrame, settings: Settings
) -> Iterator[tuple[tuple[str, str], str, pd.DataFrame]]:
    """Each variant, model and its scores."""
    for variant in factors.variants(scores):
        here = factors.select(scores, variant)
        for model in cells.models(settings, here):
            yield variant, model, here[here["model"] == model]


def _labels(variant: tuple[str, str]) -> dict[str, object]:
    return dict(zip(VARIANT, variant, strict=True))


def _column(length: int) -> str:
    return str(length) if length else "baseline"


def _full_set_obstacle(
    settings: Settings, variant: tuple[str, str], scores: pd.DataFrame
) -> str | None:
    return factors.obstacle(
        settings,
        variant,
        scores,
        needle_lang=factors.LANGUAGES,
        haystack_lang=factors.HAYSTACKS,
        position=POSITIONS,
    )


def compared_with_table1(
    cell: Mapping[str, float | int],
    scores: pd.DataFrame,
    published: pd.DataFrame,
    settings: Settings,
    model: str,
) -> dict[str, object]:
    """COMPARISON of the mean of a model's scores at one length with the paper's Table 1."""
    name = settings.get("published", {}).get(model, "")
    length = int(scores["length"].iloc[0])
    number = publications.lookup(published, "table1", name, _column(length))
    obstacle = _full_set_obstacle(settings, factors.variants(scores)[0], scores)
    return cells.compared(cell, number, obstacle)


def _average_obstacle(
    settings: Settings,
    variant: tuple[str, str],
    scores: pd.DataFrame,
    published: pd.DataFrame,
    table: str,
    name: str,
) -> str | None:
    theirs = {column for column, _ in _printed(published, table, name)}
    theirs -= {"average", "claimed_length", "effective_length"}
    ours = {_column(int(length)) for length in scores["length"]}
    other = "other lengths" if ours != theirs else None
    return _full_set_obstacle(settings, variant, scores) or other


def _printed(published: pd.DataFrame, table: str, name: str) -> list[tuple[str, dict[str, object]]]:
    """`cells.printed`, with the variant that the paper's numbers are of."""
    return [
        (column, _labels(factors.PAPER_VARIANT) | cell)
        for column, cell in cells.printed(published, table, name)
    ]


def _printed_name(published: pd.DataFrame, table: str, settings: Settings, model: str) -> str:
    """The line of the paper's table that a model belongs to, or ""."""
    name = settings.get("published", {}).get(model, "")
    lines = set(published.loc[published["table"] == table, "row"])
    return next((line for line in (name, name + factors.GREEDY_ROW) if line in lines), "")


def _printed_pair(
    published: pd.DataFrame, table: str, run: Iterable[str]
) -> list[dict[str, object]]:
    """Those lines of the paper's own pair that stand beside no line of ours."""
    lines = list(dict.fromkeys(published.loc[published["table"] == table, "row"]))
    return [
        {"pair": "|".join(lines[:2]), "role": role, "model": line, "column": column, **number}
        for role, line in zip(("first", "second", "delta"), lines, strict=False)
        if line not in run
        for column, number in _printed(published, table, line)
    ]


def _frame(
    rows: Sequence[Mapping[str, object]],
    labels: Sequence[str],
    extra: Sequence[str] = (),
    *,
    compared: bool = True,
) -> pd.DataFrame:
    comparison = COMPARISON if compared else ()
    return cells.frame(rows, [*VARIANT, *labels, *MEASURES, *extra, *comparison])
