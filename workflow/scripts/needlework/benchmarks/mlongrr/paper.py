"""mLongRR's cells beside the paper's numbers, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from needlework.benchmarks.mlongrr.factors import LANGUAGES, NAMES
from needlework.results.tabulate import (
    Beside,
    Cell,
    against,
    other_entries,
    other_settings,
    other_values,
    own_instructions,
)

LENGTHS = (2000, 8000, 16000, 32000, 64000)
DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}
# The paper's settings that move its accuracies. Wording and budget may be its text's or the released files'.
SETUP = {"data": "mlongrr", "depth_rule": "gpt4o", "max_new_tokens": 50}
PROMPT = {"prompts": "paper"}
SPREAD = {"spread": 25}
# The abstract's best models (Figure 3).
BEST = ("GPT-4o", "Gemini-1.5")


def other_texts(cell: Cell) -> Iterator[str]:
    """The reason if a cell's haystacks are not the paper's news articles."""
    yield from other_values(cell, "haystack", ("mlongrr_articles",), "other texts")


@Beside
def abstract(cell: Cell) -> Mapping[str, object]:
    """The abstract has four accuracies of its best models: English and Somali, one and three needles."""
    own = cell.labels
    n_needles, lang = own["n_needles"], own["lang"]
    printed = n_needles in DEPTHS and lang in ("en", "so") and own["question"] == "number"
    if not printed or own["metric"] not in ("strict", "released"):
        return {}
    needles = "needle" if n_needles == 1 else "needles"
    number = cell.run.find(
        "abstract", f"best models/{NAMES[lang]}", f"{n_needles} {needles}/number"
    )
    return against(
        cell, number if cell.paper_name in BEST else None, _other_answers(cell, n_needles)
    )


def _other_answers(cell: Cell, n_needles: int) -> Iterator[str]:
    from needlework.results.cells import differences

    yield from other_values(cell, "depth", DEPTHS[n_needles], "other depths")
    run = cell.run.run
    yield from other_settings(cell.run, SETUP)
    yield from differences({"prompts": run["template"]}, PROMPT)
    if n_needles > 1:
        yield from differences({"spread": run["spread"][n_needles]}, SPREAD)
    yield from own_instructions(cell, "lang")
    yield from other_entries(cell, "the endpoint's own", ours_too=False)
    yield from other_texts(cell)
    yield from other_values(cell, "length", LENGTHS, "other lengths")


def beside_tokens_a_word(table: str, digits: int) -> Beside:
    """Table 2 has one row per language and one column per model, and a row of averages."""

    def compare(cell: Cell) -> Mapping[str, object]:
        language, model = cell.labels["language"], cell.labels["paper_model"]
        number = cell.run.find(table, language, str(model))
        return against(cell, number, _other_words(cell), digits=digits)

    return Beside(compare)


def _other_words(cell: Cell) -> Iterator[str]:
    from needlework.benchmarks.mlongrr.corpus import FIFTY_ARTICLES

    language = cell.labels["language"]
    if language == "Average" and not set(LANGUAGES).issubset(cell.part.values("lang")):
        yield "other languages"
    yield from other_texts(cell)
    yield from own_instructions(cell, "lang")
    if why := cell.run.run["other_tokenizers"].get(cell.labels["tokenizer"]):
        yield why
    if language not in {NAMES[lang] for lang in FIFTY_ARTICLES}:
        yield "where the authors' 50 articles end is unknown"


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
