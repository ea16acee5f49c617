"""Are two models different? Paired differences on the same prompts, tests, a LaTeX table and a figure.

All tests and intervals are over questions (clusters), not over prompts: one question is asked at several
depths and lengths, and an easy question is easy in all of them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from needlework.answer_states import UNANSWERED
from needlework.errors import UserError
from needlework.factor import MOST_LEVELS, Factor
from needlework.results import stats
from needlework.results.drawing.style import COLOURS, PAGE, style
from needlework.results.result import PERCENT, Grid, Number
from needlework.results.significance import ALPHA, holm, paired_test
from needlework.results.written_tables import lay_out
from needlework.scoring.metric import CAREFUL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = ("metric", "by", "level", "first", "second")
MEASURES = (
    "n",
    "n_questions",
    "mean_first",
    "mean_second",
    "difference",
    "ci_low",
    "ci_high",
    "n_first_only",
    "n_second_only",
    "p_mcnemar",
    "p",
    "p_holm",
)


class ComparedPair(NamedTuple):
    """Two sides to compare.

    Models with different tokenizers get the same questions in different prompts.
    """

    first: str
    second: str
    same_prompts: bool = True


def indistinguishable(
    models: Sequence[str], alike: Collection[tuple[str, str]]
) -> list[tuple[str, ...]]:
    """The maximal sets of at least two models in which all pairs are `alike`, in the order of `models`.

    A model can be in several sets: a and b may be alike, and b and c, but not a and c.
    """
    edges = {frozenset(pair) for pair in alike}
    sets: list[frozenset[str]] = []

    def extend(chosen: frozenset[str], left: list[str], done: list[str]) -> None:
        """Bron and Kerbosch's enumeration of maximal cliques."""
        if not left and not done and len(chosen) > 1:
            sets.append(chosen)
        for model in list(left):
            together = [m for m in left if frozenset((m, model)) in edges]
            before = [m for m in done if frozenset((m, model)) in edges]
            extend(chosen | {model}, together, before)
            left.remove(model)
            done.append(model)

    extend(frozenset(), list(models), [])
    place = {model: i for i, model in enumerate(models)}
    ordered = [tuple(sorted(own, key=place.__getitem__)) for own in sets]
    return sorted(ordered, key=lambda own: [place[model] for model in own])


def prompts_differ(one: pd.DataFrame, two: pd.DataFrame, factors: Sequence[str]) -> str | None:
    """How the prompts of two sets of scores differ, in words; None if they are the same."""
    ids = [set(scores["instance_id"]) for scores in (one, two)]
    if ids[0] == ids[1]:
        return None
    keys = [set(_asked(scores, factors)) for scores in (one, two)]
    other = [len(own - ids[1 - i]) for i, own in enumerate(ids)]
    if keys[0] == keys[1]:
        return (
            f"the questions and factors agree, but {other[0]:,} of {len(ids[0]):,} prompts have another "
            "text (another tokenizer, template, corpus or version)"
        )
    said = []
    for name in factors:
        levels = [set(scores[name].dropna().unique()) for scores in (one, two)]
        for place, (own, others) in zip(("first", "second"), (levels, levels[::-1]), strict=True):
            if missing := sorted(map(str, own - others)):
                shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
                said.append(f"only the {place} has {name} {shown}")
    questions = [set(scores["example_id"]) for scores in (one, two)]
    if questions[0] != questions[1]:
        said.append(
            f"{len(questions[0] - questions[1]):,} questions are only in the first and "
            f"{len(questions[1] - questions[0]):,} only in the second"
        )
    said.append(f"{other[0]:,} prompts are only in the first and {other[1]:,} only in the second")
    return "; ".join(said)


def _asked(scores: pd.DataFrame, factors: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    """What was asked, for each row: the question and its factors."""
    return scores[["example_id", *factors]].astype(str).itertuples(index=False, name=None)


def paired(
    one: pd.DataFrame, two: pd.DataFrame, factors: Sequence[str], *, same_prompts: bool
) -> pd.DataFrame:
    """The first model's rows of prompts that both models answered, with `value_first` and `value_second`.

    Both values are of the same prompt. Without `same_prompts`, they are of the same question under the same
    factors, as for models with different tokenizers. Requests without an answer are left out.
    """
    by = ["metric", "sample"]
    by += ["instance_id"] if same_prompts else ["example_id", *factors]
    return _given(one).merge(
        _given(two)[[*by, "value"]],
        on=by,
        suffixes=("_first", "_second"),
        validate="one_to_one",
    )


def _given(scores: pd.DataFrame) -> pd.DataFrame:
    return scores[~scores["finish_reason"].isin(UNANSWERED) & scores["value"].notna()]


def compare(
    scores: Mapping[str, pd.DataFrame], pairs: Sequence[ComparedPair], factors: Sequence[str]
) -> pd.DataFrame:
    """One row per pair, metric, and level of each factor, with the columns LABELS and MEASURES.

    `by` is "all" for the row over all prompts.

    `scores` are by side, `factors` what was asked of prompts (`Benchmark.asked`). The difference is the
    second's mean less the first's, with a 95% interval over questions; `p` is of `paired_test`. `p_holm`
    corrects for all rows of one metric and `by`.

    Raises UserError if two models were asked nothing in common.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for first, second, same_prompts in pairs:
        both = paired(scores[first], scores[second], factors, same_prompts=same_prompts)
        if both.empty:
            raise UserError(
                f"{first} and {second} have no prompt in common: "
                f"{prompts_differ(scores[first], scores[second], factors) or 'no request was answered'}."
            )
        for metric, own in both.groupby("metric", sort=True):
            groups = [("all", "", own)]
            for name in factors:
                levels = own[name].nunique()
                if 1 < levels <= MOST_LEVELS:
                    groups += [(name, level, part) for level, part in own.groupby(name)]
            rows += [
                dict(zip(LABELS, (metric, by, str(level), first, second), strict=True))
                | _measured(part)
                for by, level, part in groups
            ]
    table = pd.DataFrame(rows, columns=[*LABELS, *MEASURES])
    table["p_holm"] = table.groupby(["metric", "by"])["p"].transform(holm)
    return table


def _measured(both: pd.DataFrame) -> dict[str, object]:
    """MEASURES of pairs, but for the correction."""
    one, two = both["value_first"].to_numpy(), both["value_second"].to_numpy()
    questions = both["example_id"].to_numpy()
    found = stats.paired_difference(one, two, questions)
    binary = np.isin([one, two], (0.0, 1.0)).all()
    test = stats.mcnemar(one, two)
    return {
        "n": found.n,
        "n_questions": found.n_questions,
        "mean_first": float(one.mean()),
        "mean_second": float(two.mean()),
        "difference": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n_first_only": test.first_only,
        "n_second_only": test.second_only,
        "p_mcnemar": test.p if binary else math.nan,
        "p": paired_test(two - one, questions)[0],
    }


def sets_of(table: pd.DataFrame, models: Sequence[str]) -> dict[str, list[tuple[str, ...]]]:
    """For each metric, the sets of models that cannot be told apart over all prompts (p_holm >= 0.05).

    Models that were not compared with each other are in no common set.
    """
    overall = table[table["by"] == "all"]
    return {
        str(metric): indistinguishable(
            models,
            list(own.loc[own["p_holm"] >= ALPHA, ["first", "second"]].itertuples(index=False)),
        )
        for metric, own in overall.groupby("metric", sort=False)
    }


def in_a_line(table: pd.DataFrame, title: str) -> str:
    """One line: how many pairs of models differ, by the paper's metric that scores the most prompts.

    The second scorer's metric counts only if there is no other.
    """
    overall = table[table["by"] == "all"]
    asked = overall.groupby("metric")["n"].sum()
    papers = asked.drop(CAREFUL, errors="ignore")
    metric = (asked if papers.empty else papers).idxmax()
    own = overall[overall["metric"] == metric]
    differ = int((own["p_holm"] < ALPHA).sum())
    return (
        f"{title}: {differ} of {len(own)} pairs of models differ ({str(metric).replace('_', ' ')})."
    )


def as_text(table: pd.DataFrame, sets: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """The comparisons over everything, for a terminal."""
    lines = []
    for row in table[table["by"] == "all"].itertuples():
        p = "p < 0.001" if row.p_holm < 0.001 else f"p = {row.p_holm:.3f}"
        lines.append(
            f"{row.metric}: {row.second} - {row.first} = {100 * row.difference:+.1f} points "
            f"[{100 * row.ci_low:+.1f}, {100 * row.ci_high:+.1f}], {p} (Holm), n = {row.n:,}, "
            f"{row.n_questions:,} questions{nothing_to_show(row.n_questions)}"
        )
    return "\n".join([*lines, *not_told_apart(sets)])


def nothing_to_show(n_questions: int) -> str:
    """A remark if there are too few questions to show a difference at p < ALPHA; "" if there are enough."""
    if 2.0 ** (1 - n_questions) < ALPHA:
        return ""
    return ", too few to show a difference"


def not_told_apart(sets: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """One sentence per metric that has sets of models which cannot be told apart."""
    shown = {
        metric: ", ".join(f"{{{', '.join(names)}}}" for names in own)
        for metric, own in sets.items()
    }
    return [f"{metric}: not told apart: {names}." for metric, names in shown.items() if names]


Sets = Mapping[str, Sequence[Sequence[str]]]

_MEASURES = {
    "n_asked": "Prompts",
    "n_questions": "Questions",
    "mean_first": "First",
    "mean_second": "Second",
    "difference": "Difference",
    "p_holm": "Holm's p",
}
_NOTE = (
    "Second model minus the first, in percent points, on the same prompts. Holm's p: exact test over "
    "questions, corrected over the pairs of a metric."
)
_GRID = Grid(
    rows=(Factor("metric", label="Metric"), Factor("pair", label="Models")),
    columns=(Factor("measure", order=tuple(_MEASURES), words=_MEASURES),),
    by=("metric",),
    number=PERCENT,
    numbers={
        ("measure", "n_asked"): Number(0),
        ("measure", "n_questions"): Number(0),
        ("measure", "difference"): replace(PERCENT, signed=True),
        ("measure", "p_holm"): Number(3, least=0.001),
    },
    empty="nothing was compared",
)
# Panels beside each other; inches of a row, and of what stands around a row of panels.
_PANELS, _ROW, _AROUND = 3, 0.2, 0.55


def as_latex(table: pd.DataFrame, sets: Sets, name: str, title: str) -> str:
    """The comparisons over all prompts as LaTeX floats. `name` and `title` are the benchmark's."""
    overall = table[table["by"] == "all"]
    overall = overall.assign(
        pair=overall["second"] + " − " + overall["first"], n_asked=overall["n"].astype("float64")
    )
    tidy = overall.melt(
        ["metric", "pair", "ci_low", "ci_high"], list(_MEASURES), var_name="measure"
    )
    other = tidy["measure"] != "difference"
    tidy[["ci_low", "ci_high"]] = tidy[["ci_low", "ci_high"]].mask(other)
    # A pair has one row, where it was compared in this order.
    tidy = tidy.sort_values(["metric", "pair"], kind="stable")
    grid = replace(
        _GRID,
        note=" ".join([_NOTE + _few(overall), *not_told_apart(sets)]),
    )
    return lay_out(tidy, (grid,), f"{name}-comparisons", f"{title}: models compared")


def figure(table: pd.DataFrame, sets: Sets, title: str) -> Figure:
    """A panel for each metric: the differences with their intervals."""
    from needlework.results.drawing.grid import LINE, figure_of
    from needlework.results.drawing.picture import evenly

    overall = table[table["by"] == "all"]
    metrics = list(dict.fromkeys(overall["metric"]))
    # The largest difference by the first metric stands first.
    other = overall["metric"] != metrics[0]
    by_size = overall.assign(other=other).sort_values(
        ["other", "difference"], ascending=[True, False]
    )
    pairs = list(dict.fromkeys(by_size[["first", "second"]].itertuples(index=False, name=None)))
    panels = evenly(metrics, _PANELS)
    nrows, ncols = len(panels), len(panels[0])
    words = small_print(overall, sets)
    text = "\n".join(textwrap.fill(line, int(PAGE * 21)) for line in words)
    height = nrows * (len(pairs) * _ROW + _AROUND) + 0.4 + LINE * (text.count("\n") + 1)
    with style():
        made = figure_of(PAGE, height)
        axes = made.subplots(nrows, ncols, sharex=True, sharey=True, squeeze=False).ravel()
        for ax in axes[len(metrics) :]:
            ax.remove()
        for ax, metric in zip(axes, metrics, strict=False):
            _pairs_panel(ax, overall[overall["metric"] == metric], pairs)
            ax.set_title(str(metric).replace("_", " "))
            ax.set_xlabel("Difference (points)")
            ax.tick_params(labelbottom=True)
        made.suptitle(f"{title}: models compared", fontsize=8.5)
        made.supxlabel(text, x=0.01, ha="left", fontsize=6, color="#555555")
    return made


def _pairs_panel(ax: Axes, rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> None:
    """One metric: pairs from top to bottom."""
    for row in rows.itertuples():
        y = len(pairs) - 1 - pairs.index((row.first, row.second))
        value = 100 * row.difference
        filled = row.p_holm < ALPHA
        ax.errorbar(
            [value],
            [y],
            xerr=[[value - 100 * row.ci_low], [100 * row.ci_high - value]],
            fmt="o",
            color=COLOURS[0],
            markerfacecolor=COLOURS[0] if filled else "white",
            zorder=3,
        )
    ax.axvline(0, color="#555555", linewidth=0.8, zorder=2)
    ax.set_yticks(range(len(pairs)), [f"{second} − {first}" for first, second in pairs][::-1])
    ax.set_ylim(-0.6, len(pairs) - 0.4)
    ax.grid(axis="y", visible=False)


def _few(overall: pd.DataFrame) -> str:
    """A sentence if no answers to so few questions could show a difference."""
    n = int(overall["n_questions"].max()) if len(overall) else 0
    return f" {n} questions{said}." if (said := nothing_to_show(n)) else ""


def small_print(overall: pd.DataFrame, sets: Sets) -> list[str]:
    """The text below: n, the meaning of marks, and models that cannot be told apart."""
    from needlework.results.drawing.picture import span_of

    n, questions = span_of(overall["n"]), span_of(overall["n_questions"])
    return [
        f"n = {n} prompts of {questions} questions per pair, answered by both models. Error bars: 95% "
        "intervals over questions. Filled: p < 0.05 after Holm's correction over the pairs of a metric."
        f"{_few(overall)}",
        *not_told_apart(sets),
    ]
