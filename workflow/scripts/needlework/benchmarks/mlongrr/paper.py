"""mLongRR's rows as the paper selects them, its numbers beside ours, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr.factors import DEPTHS, LANGUAGES, LENGTHS, NAMES
from needlework.results.columns import MEASURES
from needlework.results.result import Context
from needlework.results.tabulate import (
    Beside,
    Cell,
    Measure,
    against,
    other_entries,
    other_settings,
    other_values,
    own_instructions,
)

if TYPE_CHECKING:
    import pandas as pd

# The paper's settings that move its accuracies. Wording and budget may be its text's or the released files'.
SETUP = {"data": "mlongrr", "depth_rule": "gpt4o", "max_new_tokens": 50}
# The abstract's best models (Figure 3).
BEST = ("GPT-4o", "Gemini-1.5")


def by_metric(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows by the metric of figures."""
    return rows[rows["metric"] == run.run["metric"]]


def first_text(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the run's first haystack."""
    return rows[rows["haystack"] == run.run["haystack"]]


def first_prompt(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the prompt that is nearest to the paper's."""
    return rows[rows["template"] == run.run["template"]]


def usual(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of Figures 3 to 11: those with the first text and prompt, scored by the metric of figures."""
    return by_metric(first_prompt(first_text(rows, run), run), run)


def _mean_and_exhausted(cell: Cell) -> Mapping[str, float]:
    exhausted = cell.part.array("exhausted", lambda frame: frame["exhausted"].astype(bool))
    return {**cell.part.measure(), "n_exhausted": int(exhausted.sum())}


# The mean, and how many prompts are shorter than their length because the text ran out.
MEAN = Measure((*MEASURES, "n_exhausted"), _mean_and_exhausted)


def other_texts(cell: Cell) -> Iterator[str]:
    """The reason if a cell's haystacks are not the paper's news articles."""
    yield from other_values(cell, "haystack", ("mlongrr_articles",), "other texts")


@Beside
def abstract(cell: Cell) -> Mapping[str, object]:
    """The abstract has four accuracies of its best models: English and Somali, one and three needles."""
    from needlework.results.cells import differences

    own, run = cell.labels, cell.run.run
    n_needles, lang = own["n_needles"], own["lang"]
    printed = n_needles in DEPTHS and lang in ("en", "so") and own["question"] == "number"
    if not printed or own["metric"] not in ("strict", "released"):
        return {}

    def reasons() -> Iterator[str]:
        yield from other_values(cell, "depth", DEPTHS[n_needles], "other depths")
        yield from other_settings(cell.run, SETUP)
        yield from differences({"prompts": run["template"]}, {"prompts": "paper"})
        if n_needles > 1:
            yield from differences({"spread": run["spread"][n_needles]}, {"spread": 25})
        yield from own_instructions(cell, "lang")
        yield from other_entries(cell, "the endpoint's own", ours_too=False)
        yield from other_texts(cell)
        yield from other_values(cell, "length", LENGTHS, "other lengths")

    column = f"{n_needles} {'needle' if n_needles == 1 else 'needles'}/number"
    number = cell.run.find("abstract", f"best models/{NAMES[lang]}", column)
    return against(cell, number if cell.paper_name in BEST else None, reasons())


def tokens_a_word(table: str, digits: int) -> Beside:
    """The numbers of Table 2: a row per language and a row of averages, a column per model."""

    def compare(cell: Cell) -> Mapping[str, object]:
        from needlework.benchmarks.mlongrr.corpus import FIFTY_ARTICLES

        language, model = cell.labels["language"], cell.labels["paper_model"]

        def reasons() -> Iterator[str]:
            if language == "Average" and not set(LANGUAGES).issubset(cell.part.values("lang")):
                yield "other languages"
            yield from other_texts(cell)
            yield from own_instructions(cell, "lang")
            if why := cell.run.run["other_tokenizers"].get(cell.labels["tokenizer"]):
                yield why
            if language not in {NAMES[lang] for lang in FIFTY_ARTICLES}:
                yield "where the authors' 50 articles end is unknown"

        number = cell.run.find(table, language, str(model))
        return against(cell, number, reasons(), digits=digits)

    return Beside(compare)


@Beside
def log(cell: Cell) -> Mapping[str, object]:
    """The log of the authors' notebook, of GPT-4o."""
    own = cell.labels
    tokens = own["what"] == "haystack_tokens"

    def reasons() -> Iterator[str]:
        yield from other_settings(cell.run, {"source": "released"})
        yield from other_texts(cell)
        # Released haystacks have the same sentences in every tokenizer.
        if tokens and own["paper_model"] != "GPT-4o":
            yield "another tokenizer than GPT-4o's"

    number = cell.run.find("construction/GPT4o", own["language"], f"{own['size']}/{own['what']}")
    # Up to 30 off those of the whole text.
    why = "the log's tokens are sums over articles" if tokens else None
    return against(cell, number, reasons(), why, digits=0)
