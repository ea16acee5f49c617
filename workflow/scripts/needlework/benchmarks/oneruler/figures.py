"""ONERULER's figures: the figures of the paper, then those of its appendix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.answer_states import UNKNOWN
from needlework.benchmarks.oneruler import paper
from needlework.benchmarks.oneruler.factors import (
    CONTEXT,
    CWE,
    ERROR,
    ERRORS,
    GROUP,
    GROUPS,
    LENGTH,
    METRIC,
    NIAH,
    TASK,
)
from needlework.benchmarks.oneruler.plan import ENDPOINTS
from needlework.benchmarks.oneruler.rows import (
    ACCURACY,
    NEEDLE_TASKS,
    ONE_LANGUAGE,
    SHARE,
    articles,
    by_articles,
    dropped,
    exhausted,
    grouped,
    largest_first,
    long_contexts,
    measured,
    metrics,
    none_allowed,
    of_metric,
    resources,
    selected,
    verdict_classes,
    with_errors,
)
from needlework.benchmarks.oneruler.tables import (
    BY_CONTEXT,
    BY_ERROR,
    BY_INSTRUCTION,
    EVERY_CONTEXT,
)
from needlework.factor import Factor
from needlework.results import published as publications
from needlework.results.columns import COMPARISON, LEAST_ANSWERS
from needlework.results.drawing.style import COLOURS, looks
from needlework.results.result import Bars, Context, Heatmap, Lines, Points, Run, figure
from needlework.results.tabulate import MODEL, Beside, By, Cell, Measure, arranged, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

# The columns that only results have.
FACTORS = (TASK, GROUP, ERROR)
GROUP_LOOKS, ERROR_LOOKS = looks(tuple(GROUPS)), looks(tuple(ERRORS))
DRAWN = "metric == '{metric}'"
NO_NEEDLES, NO_WORDS = "no model answered needle tasks", "no model answered tasks of common words"

NEEDLE_ROWS = f"{ONE_LANGUAGE} and {NEEDLE_TASKS}"
SINGLE_ROWS = f"{ONE_LANGUAGE} and task == 'niah_single'"
WORD_ROWS = f"{ONE_LANGUAGE} and task in {tuple(CWE)}"
BY_METRIC = By(METRIC, order=metrics)
EACH = (BY_METRIC, MODEL, EVERY_CONTEXT, LENGTH)
BY_END = By(replace(GROUP, order=("top", "bottom")), contrast=("gap", "top", "bottom"))
PROMPT = Factor("prompt", order=("with", "without", "drop"))
BY_PROMPT = By(PROMPT, contrast=("drop", "without", "with"))
BOUNDED = ("bound", *COMPARISON)


HEAT = Heatmap(
    x="length",
    down="context_lang",
    panel="model",
    columns=7,
    margin="all",
    listed=("context_lang",),
    where=DRAWN,
    prepare=grouped,
    tinted=("group == 'low'", "low-resource languages"),
    counted="context_lang != 'all'",
    words="Mean of all NIAH tasks.",
    nothing=NO_NEEDLES,
)
ERRORS_BY_LANGUAGE = Points(
    x="context_lang",
    panel="model",
    columns=2,
    line="error",
    looks=ERROR_LOOKS,
    listed=("context_lang",),
    limits=None,
    axis="Share of prompts",
    only_if="value > 0",
    words="S-NIAH in {long_contexts}.",
    nothing="no model behind an endpoint answered S-NIAH wrongly",
)


def mean_of(column: str) -> Measure:
    """The mean of a column that is not a share; its interval over questions is from the bootstrap."""

    def of(cell: Cell) -> Mapping[str, float]:
        from needlework.results import stats

        part = cell.part
        values = part.array(column, lambda frame: frame[column].astype("float64"))
        questions = part.table.codes("example_id")[0][part.places]
        seed = ("oneruler", column, *cell.labels.values())
        low, high = stats.bootstrap_interval(values, questions, seed=seed)
        return {
            "value": float(values.mean()),
            "n": len(values),
            "se_independent": float(values.std() / len(values) ** 0.5),
            "n_questions": len(set(questions)),
            **{"ci_low": low, "ci_high": high},
            **part.lost(),
            "n_exhausted": exhausted(part),
        }

    lost = ("n_skipped", "n_error", "n_cut", "n_empty", "n_prompt_cut", "n_refused")
    columns = ("value", "n", "se_independent", "n_questions", "ci_low", "ci_high", *lost)
    return Measure((*columns, "n_exhausted"), of)


@figure(
    "Languages with large and small Wikipedias",
    Lines(
        x="length",
        line="group",
        members="languages",
        called={"top": "largest Wikipedias", "bottom": "smallest Wikipedias"},
        limits=None,
        axis="S-NIAH accuracy",
        where=f"({DRAWN}) and group != 'gap'",
        listed=("group",),
        words="All models.",
        nothing="fewer than two languages have a Wikipedia of known size",
    ),
    when=("single",),
    over_models=True,
)
def figure1a(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """S-NIAH of all models, for the five languages with the largest and the five with the smallest Wikipedias
    of the paper's Table 2. If a run has fewer than ten languages, each group is half of them. The CSV has the
    gaps; the paper's are from its text.
    """
    asked = selected(rows, run, SINGLE_ROWS)
    known = {lang for lang in set(asked["context_lang"]) if articles(lang, run.run)}
    langs = by_articles(known, run)
    size = min(paper.ENDS, len(langs) // 2)
    ends = {"top": langs[:size], "bottom": langs[len(langs) - size :]}
    asked = asked[asked["context_lang"].isin(langs)]
    group = asked["context_lang"].map({lang: end for end in ends for lang in ends[end]})
    names = group.map({end: " ".join(ends[end]) for end in ends})
    made = tabulate(
        asked.assign(group=group, languages=names),
        (BY_METRIC, LENGTH, BY_END),
        run,
        measure=ACCURACY,
        beside=paper.figure1a,
        languages=lambda cell: (
            "" if cell.labels["group"] == "gap" else cell.part.column("languages").iloc[0]
        ),
    )
    return made[["metric", "group", "languages", "length", *made.columns[4:]]]


def heat_map(asked: pd.DataFrame, run: Context, beside: Beside) -> pd.DataFrame:
    """Cells by language and length: the language with the best mean first, after "all"."""
    table = tabulate(asked, EACH, run, measure=ACCURACY, beside=beside)
    means = table.groupby(["metric", "context_lang"])["value"].transform("mean")
    means = means.mask(table["context_lang"] == "all", float("inf"))
    order = table.assign(mean=means).sort_values(
        ["mean", "context_lang", "length"], ascending=[False, True, True], kind="stable"
    )
    return arranged(table.loc[order.index], run, BY_METRIC, MODEL)


# Before Figure 1b, since a page opens with the first figure of models.
@figure("Accuracy by language and length", HEAT, when=("needles",))
def figure3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All needle tasks, in percent, the best language first. The paper's numbers are read from the figure's
    image in its repository.
    """
    return heat_map(selected(rows, run, NEEDLE_ROWS), run, paper.FIGURE3)


def one_language(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The English rows, as in the paper. If there are too few English answers, the rows of all languages."""
    english = data["context_lang"] == "en"
    if english.any() and data.loc[english, "n"].min() >= LEAST_ANSWERS:
        return data[english]
    return data[data["context_lang"] == "all"]


def which_language(data: pd.DataFrame, run: Run) -> str:
    """The name of the languages that `one_language` keeps."""
    langs = [lang for lang in dict.fromkeys(data["context_lang"]) if lang != "all"]
    if "en" in set(one_language(data, run)["context_lang"]):
        langs = ["en"]
    return ", ".join(map(CONTEXT.called, langs)) + "."


@figure(
    "With and without the option none",
    Lines(
        x="length",
        panel="model",
        columns=4,
        line="prompt",
        limits=None,
        axis="S-NIAH accuracy",
        where=f"({DRAWN}) and prompt != 'drop'",
        listed=("prompt",),
        prepare=one_language,
        called={"with": '"none" allowed', "without": '"none" not mentioned'},
        note=which_language,
        nothing="no model answered S-NIAH both with and without the option none",
    ),
    when=("without_none",),
)
def figure1b(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """S-NIAH in English with and without the sentence that allows the answer ``none``. If English lacks one
    of the two, or has fewer than ten answers, all languages that have both are shown. The CSV has every
    language and the drops; the paper's drop is o3-mini-high's in English.
    """
    asked = measured(where(rows, SINGLE_ROWS), run)
    offered = asked["none_option"].astype(bool)
    asked = asked.assign(prompt=offered.map({True: "with", False: "without"}))
    langs = set(asked.loc[offered, "context_lang"]) & set(asked.loc[~offered, "context_lang"])
    asked = asked[asked["context_lang"].isin(langs)]
    made = tabulate(asked, (*EACH, BY_PROMPT), run, measure=ACCURACY, beside=paper.figure1b)
    made = arranged(made, run, BY_METRIC, MODEL, EVERY_CONTEXT, PROMPT, LENGTH)
    labels = ["metric", "model", "source", "context_lang", "prompt", "length"]
    return made[[*labels, *made.columns[len(labels) :]]]


@figure(
    "Long contexts by model",
    Bars(
        x="model",
        line="group",
        looks=GROUP_LOOKS,
        axis="NIAH accuracy",
        words="In {long_contexts}.",
        nothing=NO_NEEDLES,
    ),
    when=("needles",),
)
def figure4a(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All needle tasks in long contexts (64K and 128K, or a run's two longest lengths), for languages with
    large and small Wikipedias.
    """
    asked = grouped(long_contexts(selected(of_metric(rows, run), run, NEEDLE_ROWS)), run.run)
    return tabulate(asked, (MODEL, GROUP), run, measure=ACCURACY)


@figure(
    "Long contexts by language",
    Bars(
        x="context_lang",
        line="group",
        looks=GROUP_LOOKS,
        horizontal=True,
        listed=("context_lang",),
        where=DRAWN,
        axis="NIAH accuracy",
        words="All models, in {long_contexts}.",
        nothing=NO_NEEDLES,
    ),
    when=("needles",),
    over_models=True,
)
def figure4b(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all needle tasks and models in long contexts (64K and 128K, or a run's two longest lengths).
    The paper's numbers are from its text.
    """
    made = tabulate(
        long_contexts(selected(rows, run, NEEDLE_ROWS)),
        (BY_METRIC, CONTEXT),
        run,
        measure=ACCURACY,
        beside=paper.figure4b,
        group=lambda cell: resources(cell.labels["context_lang"], run.run),
    )
    return arranged(made, run, BY_METRIC, "-value", "context_lang")


@figure(
    "Accuracy by task",
    Bars(
        x="task",
        line="group",
        looks=GROUP_LOOKS,
        where=f"{DRAWN} and task != 'niah' and group != 'all'",
        words="All models and lengths.",
        nothing="no model answered any task",
    ),
    over_models=True,
)
def figure5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all models and lengths, for languages with large and small Wikipedias."""
    import pandas as pd

    asked = grouped(selected(rows, run, ONE_LANGUAGE), run.run)
    needles = asked[asked["task"].isin(list(NIAH))]
    return tabulate(
        pd.concat([needles.assign(of="niah"), asked.assign(of=asked["task"])]),
        (BY_METRIC, By(TASK, "of"), By(GROUP, margin="all")),
        run,
        measure=ACCURACY,
        beside=paper.figure5,
        compared=BOUNDED,
    )


@figure(
    "Cross-lingual accuracy",
    Lines(
        x="length",
        panel="context_lang",
        panel_title="{context_lang} context",
        line="instruction_lang",
        line_title="{instruction_lang} instructions",
        listed=("context_lang", "instruction_lang"),
        where=DRAWN,
        axis="NIAH accuracy",
        words="All models.",
        paper="the text of the paper, mean of its models",
        nothing="no model answered prompts whose instruction is in another language",
    ),
    when=("crossed",),
    over_models=True,
)
def figure6a(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all needle tasks and models. One panel per language of the context, one line per language of
    the instructions.
    """
    asked = selected(rows, run, NEEDLE_TASKS)
    mixed = asked[asked["instruction_lang"] != asked["context_lang"]]
    contexts = set(mixed["context_lang"])
    here = asked["instruction_lang"].isin(contexts | set(mixed["instruction_lang"]))
    asked = asked[asked["context_lang"].isin(contexts) & here]
    by = (BY_METRIC, BY_CONTEXT, BY_INSTRUCTION, LENGTH)
    return tabulate(asked, by, run, measure=ACCURACY, beside=paper.figure6a)


@figure(
    "Errors with a single needle",
    Points(
        x="model",
        line="error",
        looks=ERROR_LOOKS,
        limits=None,
        axis="Share of all S-NIAH prompts",
        only_if="value > 0",
        nothing="no model answered S-NIAH wrongly",
    ),
    when=("single",),
    by_metric=False,
)
def figure6b(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all S-NIAH prompts, by the strict rules. The paper draws stacked bars."""
    asked = with_errors(selected(of_metric(rows, run, "strict"), run, SINGLE_ROWS))
    return tabulate(asked, (MODEL, BY_ERROR), run, measure=SHARE)


@figure(
    "Accuracy by model and length",
    Lines(
        x="length",
        axis="NIAH accuracy",
        words="All languages.",
        nothing=NO_NEEDLES,
    ),
    when=("needles",),
)
def figure17(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all needle tasks and languages."""
    return tabulate(
        selected(of_metric(rows, run), run, NEEDLE_ROWS), (MODEL, LENGTH), run, measure=ACCURACY
    )


def errors_by_language(rows: pd.DataFrame, run: Context, closed: bool) -> pd.DataFrame:
    """Shares of errors in long contexts by language, for models behind endpoints or for all other models."""
    asked = long_contexts(with_errors(selected(of_metric(rows, run, "strict"), run, SINGLE_ROWS)))
    backends = run.run.get("backends", {})
    behind = {model for model in set(asked["model"]) if backends.get(model) in ENDPOINTS}
    asked = asked[asked["model"].isin(behind) == closed]
    return tabulate(asked, (MODEL, BY_CONTEXT, BY_ERROR), run, measure=SHARE)


@figure(
    "Errors in long contexts, models behind endpoints",
    ERRORS_BY_LANGUAGE,
    when=("single", "endpoint"),
    by_metric=False,
)
def figure18(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all S-NIAH prompts in long contexts (64K and 128K, or a run's two longest lengths), by the
    strict rules, for models behind endpoints. The paper draws stacked bars.
    """
    return errors_by_language(rows, run, closed=True)


@figure(
    "Errors in long contexts, open models",
    replace(
        ERRORS_BY_LANGUAGE, nothing="no model but those behind endpoints answered S-NIAH wrongly"
    ),
    when=("single", "open"),
    by_metric=False,
)
def figure19(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all S-NIAH prompts in long contexts (64K and 128K, or a run's two longest lengths), by the
    strict rules, for models with open weights. The paper draws stacked bars.
    """
    return errors_by_language(rows, run, closed=False)


@figure(
    "Reasoning tokens of right and wrong answers",
    Lines(
        x="length",
        panel="model",
        line="answer",
        line_title="{answer} answers",
        looks={"right": (COLOURS[2], "o"), "wrong": (COLOURS[1], "s")},
        limits=None,
        axis="Reasoning, mean",
        unit="tokens",
        words="NIAH tasks.",
        nothing="no model reported reasoning tokens",
    ),
    when=("needles", "reasoning"),
)
def figure20(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The needle tasks, for models that report reasoning tokens. Answers that the limit cut before any text
    are left out.
    """
    from needlework.results import cells

    asked = selected(of_metric(rows, run), run, NEEDLE_ROWS)
    asked = asked[asked["reasoning_tokens"].notna() & ~dropped(asked) & cells.judged(asked)]
    asked = asked.assign(answer=asked["value"].map({1.0: "right"}).fillna("wrong"))
    by = (MODEL, Factor("answer"), LENGTH)
    return tabulate(asked, by, run, measure=mean_of("reasoning_tokens"))


@figure(
    "Answers cut by the output limit",
    Points(
        x="length",
        panel="model",
        columns=4,
        line="task",
        column="n_cut",
        n="n_all",
        prompts="answers",
        limits=None,
        axis="Cut by the limit",
        unit="answers",
        nothing=NO_WORDS,
    ),
    when=("words", "reasoning"),
    by_metric=False,
)
def figure21(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The tasks of common words, for the models that ``comparisons.reasoning`` names, or for all models if
    the run has none of these.
    """
    asked = selected(of_metric(rows, run), run, WORD_ROWS)
    asked = asked[asked["finish_reason"] != UNKNOWN]
    reason = asked["model"].isin(list(run.run.get("reasoning", ())))
    asked = asked[reason] if reason.any() else asked
    asked = asked.assign(value=(asked["finish_reason"] == "length").astype("float64"))
    return tabulate(asked, (MODEL, TASK, LENGTH), run, measure=ACCURACY)


@figure(
    "Common words by length",
    Lines(
        x="length",
        panel="task",
        where=DRAWN,
        words="All languages.",
        nothing=NO_WORDS,
    ),
    when=("words",),
)
def figure22(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Both tasks of common words, over all languages. Answers that the limit cut before any text count as
    wrong. The CSV has the paper's bounds.
    """
    return tabulate(
        selected(rows, run, WORD_ROWS),
        (BY_METRIC, MODEL, TASK, LENGTH),
        run,
        measure=ACCURACY,
        beside=paper.figure22,
        compared=BOUNDED,
    )


@figure(
    "Right words in wrong answers",
    Lines(
        x="length",
        row=("task",),
        panel="model",
        line="group",
        looks=GROUP_LOOKS,
        limits=(0, 10),
        axis="Right",
        unit="words of ten",
        words="Wrong answers only.",
        nothing="no wrong answer to a task of common words was given",
    ),
    when=("words",),
    by_metric=False,
)
def figure23(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """How many of the ten common words stand in a wrong answer, for languages with large and small
    Wikipedias. Answers without text are left out.
    """
    asked = selected(of_metric(rows, run, "strict"), run, WORD_ROWS)
    asked = asked[verdict_classes(asked).isin(["partial", "wrong_words"])]
    words = asked["verdict"].str.extract(r"^partial:(\d+)/", expand=False)
    asked = grouped(asked.assign(found=words.fillna("0").astype(float)), run.run)
    return tabulate(asked, (MODEL, TASK, GROUP, LENGTH), run, measure=mean_of("found"))


def which_text(data: pd.DataFrame, run: Run) -> str:
    """A note on the texts that all tokenizers count."""
    length = LENGTH.called(data["length"].max())
    measured_in = data["measured_in"].iloc[0]
    return f"Texts of {length} tokens of {measured_in}, including room for the answer."


@figure(
    "One text in several tokenizers",
    Points(
        x="context_lang",
        line="tokenizer",
        listed=("context_lang",),
        axis="The same text",
        unit="tokens",
        column="n_tokens",
        prompts="texts",
        least=1,
        limits=None,
        only_if="tokenizer != tokenizer.min()",
        note=which_text,
        nothing="texts are counted in fewer than two tokenizers",
    ),
    needs="token_counts",
)
def figure24(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Tokens of the longest text per language. No model is needed. The texts are NIAH's prompts; their length
    is measured in the first of ``run.tokenizers``, or else in the first model's tokenizer. The paper's
    numbers, for Tamil, are from its text. They are compared only with released texts of 128,000 tokens of
    cl100k_base.
    """
    import pandas as pd

    from needlework.results import cells, stats

    same = where(rows, ONE_LANGUAGE)
    needles = where(same, NEEDLE_TASKS)
    same = needles if len(needles) else same
    same = same[same["length"] == same["length"].max()]
    encodings = run.run.get("encodings", {})
    measured_in = run.run.get("text_tokenizer", "")
    made = []
    for (lang, tokenizer), part in same.groupby(["context_lang", "tokenizer"]):
        length, n_tokens = int(part["length"].iloc[0]), float(part["n_tokens"].mean())
        # The interval is over prompts.
        seed = ("oneruler", "n_tokens", lang, tokenizer)
        low, high = stats.bootstrap_interval(part["n_tokens"], part["example_id"], seed=seed)
        found = run.find("figure24", str(lang), encodings.get(tokenizer, ""))
        value = None if found is None else found.value
        ours = {
            "data": run.run.get("setup", {}).get("data"),
            "length": length,
            "measuring tokenizer": encodings.get(measured_in, measured_in),
        }
        why = "; ".join(cells.differences(ours, paper.TEXT)) or None
        made.append(
            {"context_lang": lang, "tokenizer": tokenizer}
            | {"measured_in": measured_in, "length": length}
            | {"n_tokens": n_tokens, "n": len(part)}
            | {"n_exhausted": int(part["exhausted"].sum())}
            | {"ci_low": low, "ci_high": high}
            | {"published": None if why else value, "published_cell_n_tokens": found and found.cell}
            | {"comparison": publications.compare(n_tokens, low, high, value, why)}
        )
    columns = (
        *("context_lang", "tokenizer", "measured_in", "length", "n_tokens", "n", "n_exhausted"),
        *("ci_low", "ci_high", "published", "published_cell_n_tokens", "comparison"),
    )
    return largest_first(pd.DataFrame(made, columns=columns), run)


@figure(
    "Equal text by language and length",
    replace(
        HEAT,
        words="Mean of all NIAH tasks; every model reads the same text.",
        nothing="no pair of models is named in comparisons.equal_text",
    ),
    when=("equal_text",),
)
def figure25(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Like Figure 3, but all models read the same text, whose length is measured in a common tokenizer."""
    asked = none_allowed(measured(where(rows, NEEDLE_ROWS), run, common=True))
    return heat_map(asked, run, paper.FIGURE25)
