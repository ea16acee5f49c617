"""MLNeedle's figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlneedle import paper
from needlework.benchmarks.mlneedle.factors import (
    HAYSTACK,
    LENGTH,
    MULTILINGUAL,
    NEEDLE,
    POSITION,
    QUESTION,
    RESOURCES,
    RETRIEVAL,
)
from needlework.benchmarks.mlneedle.tables import BY_MODEL, exact
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.columns import COMPARISON, MEASURES
from needlework.results.result import Context, Dots, Lines, Run, figure, model_order
from needlework.results.tabulate import (
    MODEL,
    By,
    Cell,
    arranged,
    mean,
    measured,
    stacked,
    tabulate,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

TASK = Factor("task", words={"exact": "Accuracy", "existence": "Existence accuracy"})
FACTORS = (
    # The names of languages are not among the factors: a further name would build all prompts anew.
    replace(NEEDLE, format=language_name),
    replace(HAYSTACK, format=language_name, words={MULTILINGUAL: "mix"}),
    TASK,
    Factor("size", label="Number of prompts"),
)
TOKENS = "{length} {unit_of_length}"
NO_HAYSTACK = "no model answered prompts with a haystack"
BOTH_TASKS = "task in ('exact', 'existence') and length > 0 and needle_present == True"
# Figure 5: sizes of the growing sample (appendix E.2).
FIRST_SIZE, STEP = 100, 500
# Figure 8 of the paper shows two lengths; a run that has neither gets all of its own.
DECODING_LENGTHS = (8192, 32768)


def nearest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the question language and the retrieval that are nearest to the paper's."""
    from needlework.results import cells

    long = rows[rows["length"] > 0]
    # Question languages that have a baseline only come after all others.
    langs = QUESTION.sorted((long if len(long) else rows)["question_lang"].dropna())
    if not langs:
        return rows
    rows = cells.kept(rows, rows["question_lang"] == langs[0])
    kinds = RETRIEVAL.sorted(set(rows["retrieval"]) - {RETRIEVAL.shared})
    return cells.kept(rows, rows["retrieval"].isin([*kinds[:1], RETRIEVAL.shared]))


def in_haystacks(rows: pd.DataFrame, lang: str = "") -> pd.DataFrame:
    """The rows of `nearest` with distractors, in all languages or in one."""
    within = f" and haystack_lang == '{lang}'" if lang else ""
    return nearest(where(exact(rows), f"length > 0{within}"))


def depth(cell: Cell) -> float:
    """The depth of the needle, which all rows of a position share."""
    return float(cell.part.column("depth").iloc[0])


@figure(
    "Accuracy by language, needle and haystack alike",
    Dots(
        x="needle_lang",
        words="Mean over all lengths.",
        paper="the paper's Table 2, for the longest length",
        nothing="no model answered prompts whose needle and haystack share a language",
    ),
)
def figure1(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all lengths. The paper draws a radar without numbers. In the CSV, its numbers are the
    diagonal of its Table 2.
    """
    made = tabulate(
        nearest(where(exact(rows), "length > 0 and needle_lang == haystack_lang")),
        (*BY_MODEL, HAYSTACK, NEEDLE, By(LENGTH, margin="average", only_margin=True)),
        run,
        measure=mean("length"),
        beside=paper.TABLE2,
        models=rows,
    )
    return arranged(made[made["needle_lang"] == made["haystack_lang"]], run, MODEL, NEEDLE)


@figure(
    "Effect of the needle's language",
    Lines(
        x="needle_lang",
        panel="length",
        panel_title=TOKENS,
        called={0: "No distractors"},
        only_if="length > 0",
        words="Haystack English.",
        paper="the paper's Table 2, haystack English",
        nothing="no model answered prompts with an English haystack",
    ),
)
def figure3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """English haystacks, and the baseline without distractors."""
    alone = nearest(where(exact(rows), "length == 0"))
    without = tabulate(alone, (MODEL, NEEDLE), run, length=0, haystack_lang="none")
    english = tabulate(
        in_haystacks(rows, "en"),
        (MODEL, LENGTH, NEEDLE),
        run,
        haystack_lang="en",
        beside=paper.TABLE2_ENGLISH,
        models=rows,
    )
    columns = ["model", "source", "length", "haystack_lang", "needle_lang", *MEASURES, *COMPARISON]
    return arranged(stacked(without, english), run, MODEL, LENGTH, NEEDLE)[columns]


def with_languages(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows with the run's languages (`needle_languages`) in the name of each resource group."""
    names = {"other": "Other languages"}
    for name, langs in RESOURCES.items():
        ran = [lang for lang in langs if lang in run["needle_languages"]]
        names[name] = f"{name.capitalize()} resource\n({', '.join(ran)})"
    return data.assign(resources=data["resources"].map(names))


@figure(
    "Effect of the needle's position",
    Lines(
        x="depth",
        scaled=True,
        row=("resources",),
        panel="length",
        panel_title=TOKENS,
        prepare=with_languages,
        nothing=NO_HAYSTACK,
    ),
)
def figure4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Needles in high and medium resource languages, and in low resource languages, grouped as in the paper.
    If there are more than three positions, the axis is the needle's depth: 0% is before all distractors, 100%
    after them.
    """
    near, resources = in_haystacks(rows), Factor("resources")
    groups = {lang: name for name, langs in RESOURCES.items() for lang in langs}
    near = near.assign(resources=near["needle_lang"].map(groups).astype(object).fillna("other"))
    made = tabulate(near, (MODEL, LENGTH, resources, POSITION), run, depth=depth)
    return arranged(made, run, MODEL, LENGTH, resources, "depth")


@figure(
    "Accuracy of growing samples",
    Lines(
        x="size",
        scaled=True,
        panel="model",
        line="length",
        limits=None,
        line_title=TOKENS,
        levels=("size",),
        words="Prompts are drawn at random; the last point has all of them.",
        paper="the paper's Table 1",
        nothing=NO_HAYSTACK,
    ),
)
def figure5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Random samples of 100, 600, 1,100, ... prompts, up to all. The interval over questions stops shrinking
    once more prompts bring no new questions. The paper draws one standard error, the square root of p (1 - p)
    / s, as if prompts were independent draws; the CSV has it.
    """
    import numpy as np

    from needlework import seeding
    from needlework.results import cells
    from needlework.results.cells import Part, Table

    table, made = Table(where(nearest(exact(rows)), "length > 0")), []
    by_model = {str(model): part for model, part in table.all().split("model").items()}
    for model in model_order(by_model.keys(), run.run):
        for length, part in by_model[model].split("length").items():
            samples = part.column("sample").to_numpy()
            group = part.places[np.lexsort((samples, part.codes("instance_id")))]
            draw = seeding.rng("mlneedle", "figure5", model, length)
            # A larger sample holds every smaller one.
            order = group[draw.permutation(len(group))]
            for size in [*range(FIRST_SIZE, len(group), STEP), len(group)]:
                labels = {"model": model, "length": length, "column": str(length), "size": size}
                cell = measured(Cell(labels, Part(table, order[:size]), {}, run), mean())
                compared = paper.TABLE1.compare(cell) if size == len(group) else {}
                made.append({**labels, "source": "ours", **cell.values, **compared})
    return cells.frame(made, ["model", "source", "length", "size", *MEASURES, *COMPARISON])


@figure(
    "Accuracy and existence accuracy by position and needle language",
    Lines(
        x=("depth", "needle_lang"),
        scaled=True,
        row=("task",),
        panel="model",
        line="length",
        line_title=TOKENS,
        words="By needle language, the haystack is English.",
        nothing=NO_HAYSTACK,
    ),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """By position, and by the needle's language in English haystacks. Existence accuracy is over prompts that
    hold the needle. The paper shows one model.
    """
    both = where(rows, BOTH_TASKS)
    made = _by_position_and_language(
        nearest(both), nearest(where(both, "haystack_lang == 'en'")), run, MODEL, TASK, LENGTH
    )
    made = arranged(made, run, MODEL, TASK, "factor", LENGTH, "depth", NEEDLE)
    labels = ["model", "source", "task", "length", "factor", "position", "depth", "needle_lang"]
    return made[[*labels, *MEASURES]]


def _by_position_and_language(
    rows: pd.DataFrame, english: pd.DataFrame, run: Context, *by: Factor, **labels: Any
) -> pd.DataFrame:
    """Cells by position and, in English haystacks, by the needle's language; `factor` says by which."""
    return stacked(
        tabulate(rows, (*by, POSITION), run, factor="position", depth=depth, **labels),
        tabulate(english, (*by, NEEDLE), run, factor="needle_lang", **labels),
    )


@figure(
    "Accuracy and existence accuracy by haystack language",
    Lines(
        x="haystack_lang",
        row=("task",),
        panel="model",
        line="length",
        line_title=TOKENS,
        words="Needle English; mix: a haystack of all languages.",
        nothing="no model answered prompts with an English needle",
    ),
)
def figure7(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The needle is English. Existence accuracy is over prompts that hold the needle. The paper shows one
    model.
    """
    asked = nearest(where(rows, f"{BOTH_TASKS} and needle_lang == 'en'"))
    made = tabulate(asked, (MODEL, TASK, LENGTH, HAYSTACK), run, factor="haystack_lang")
    made = arranged(made, run, MODEL, TASK, LENGTH, HAYSTACK)
    return made[["model", "source", "task", "length", "factor", "haystack_lang", *MEASURES]]


@figure(
    "Greedy decoding and sampling",
    Lines(
        x=("needle_lang", "depth"),
        scaled=True,
        row=("pair",),
        panel="length",
        panel_title=TOKENS,
        row_title="",
        suffix="decoding",
        levels=("depth",),
        words="By needle language, the haystack is English.",
        paper="the paper's means over the positions (Table 4)",
        nothing="no pair of models, one greedy and one sampled, answered such prompts",
    ),
    when=("decoding",),
)
def figure8(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """By the needle's language in English haystacks, and by its position, at 8K and 32K tokens. If a run has
    neither length, all of its lengths are shown.
    """

    def paper_mean(cell: Cell) -> float | None:
        found = run.find("table4", cell.paper_name, str(cell.labels["length"]))
        return None if found is None else found.value

    pair, role = Factor("pair"), Factor("decoding", order=("greedy", "sampling"))
    near, english = (_in_pairs(in_haystacks(rows, lang), run) for lang in ("", "en"))
    by = (pair, MODEL, role, LENGTH)
    made = _by_position_and_language(near, english, run, *by, published=paper_mean)
    made = arranged(made, run, MODEL, pair, "factor", LENGTH, role, "depth", NEEDLE)
    labels = ["pair", "model", "source", "decoding", "length", "factor", "needle_lang"]
    return made[[*labels, "position", "depth", *MEASURES, "published"]]


def _in_pairs(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of each pair of a greedy and a sampling model, once a pair."""
    import pandas as pd

    parts = [rows.iloc[:0].assign(pair="", decoding="")]
    for pair in run.run.get("greedy_or_sampling", ()):
        both = rows[rows["model"].isin(pair)]
        lengths = set(both["length"]).intersection(DECODING_LENGTHS) or set(both["length"])
        both = both[both["length"].isin(lengths)]
        roles = both["model"].map(dict(zip(pair, ("greedy", "sampling"), strict=True)))
        parts.append(both.assign(pair="|".join(pair), decoding=roles))
    return pd.concat(parts)
