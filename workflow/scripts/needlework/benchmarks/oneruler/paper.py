"""ONERULER's cells beside the paper's numbers, and reasons why a cell cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from needlework.benchmarks.oneruler.factors import ARTICLES, CWE, HIGH_RESOURCE, LONG, NIAH
from needlework.benchmarks.oneruler.plan import SHORT
from needlework.models.engine_arguments import GREEDY
from needlework.results.tabulate import (
    Beside,
    Cell,
    against,
    bounded_number,
    other_entries,
    other_models,
    other_values,
    own_instructions,
)

# The settings of the paper that move its numbers, and its metric.
SETUP = {
    "data": "oneruler",
    "haystack": None,
    "multiquery_needles": 2,
    "cwe_frequencies": "released",
    # The paper does not say its own, which the released code only counts: ours cuts no right answer.
    "max_new_tokens": "measured",
    "metric": "released",
}
# Appendix D: Figure 24 is of texts of so many tokens of this encoding.
TEXT = {"data": "oneruler", "length": 128_000, "measuring tokenizer": "cl100k_base"}
# Appendix B.1: all other models decode greedily.
DECODING = {"o3-mini-high": "the endpoint's own"}
LENGTHS = (8_000, 32_000, 64_000, 128_000)
# Figure 1a: so many languages at either end of Table 2.
ENDS = 5
NEEDLES, ONE_NEEDLE, LANGUAGES = tuple(NIAH), ("niah_single",), tuple(ARTICLES)
MODELS = (
    *("Gemini 1.5 Flash", "Qwen 2.5 72B", "o3-mini-high"),
    *("Llama 3.3 70B", "Llama 3.1 8B", "Qwen 2.5 7B"),
)


def other_prompts(
    cell: Cell,
    *,
    tasks: Sequence[str] = (),
    lengths: Sequence[int] = (),
    languages: Sequence[str] = (),
    none: bool = True,
    models: Sequence[str] = (),
) -> Iterator[str]:
    """Reasons why a cell's prompts are not the paper's; each given value must be there.

    none: the questions must allow the answer "none", as the paper's questions do.
    """
    from needlework.results import cells

    setup = {**cell.run.run.get("setup", {}), "metric": cell.part.values("metric")[0]}
    words = cell.part.where(cell.part.array("words", lambda rows: rows["task"].isin(list(CWE))))
    # In other lists, and if there are none, both frequencies are the same.
    if SHORT not in words.values("length"):
        setup.pop("cwe_frequencies", None)
    yield from cells.differences(setup, SETUP)
    yield from own_instructions(cell, "instruction_lang", "context_lang")
    yield from other_entries(cell, GREEDY, DECODING, ours_too=False)
    wanted = (
        ("task", tasks, "other tasks"),
        ("length", lengths, "other lengths"),
        ("context_lang", languages, "other languages"),
    )
    for column, values, reason in wanted:
        if values:
            yield from other_values(cell, column, values, reason)
    needles = cell.part.where(cell.part.array("needles", lambda rows: rows["task"].isin(NEEDLES)))
    if none and False in needles.values("none_option"):
        yield "without the sentence that allows the answer none"
    if models:
        yield from other_models(cell, models)


def _over_models(
    cell: Cell, table: str, row: str, column: str, reasons: Iterable[str]
) -> Mapping[str, object]:
    """Beside a mean over the paper's models, or a bound; a run that has none of them has no such number."""
    line = cell.run.line(table, row) if cell.run.run.get("published") else {}
    number, bound = bounded_number(line, column)
    return against(cell, number, reasons, bound=bound)


@Beside
def figure1a(cell: Cell) -> Mapping[str, object]:
    """The text has the gaps between large and small Wikipedias."""
    if cell.labels["group"] != "gap":
        return {}
    reasons = [*other_prompts(cell, tasks=ONE_NEEDLE, languages=LANGUAGES, models=MODELS)]
    ends = [set(side.values("context_lang")) for side in cell.sides or ()]
    if ends != [set(LANGUAGES[-ENDS:]), set(LANGUAGES[:ENDS])]:
        reasons.append("other languages")
    return _over_models(cell, "figure1a", "gap", str(cell.labels["length"]), dict.fromkeys(reasons))


@Beside
def figure1b(cell: Cell) -> Mapping[str, object]:
    """The text has the drops of a model where "none" is allowed."""
    if cell.labels["prompt"] != "drop":
        return {}
    number = cell.run.find("figure1b", _line(cell), f"drop/{cell.labels['length']}")
    return against(cell, number, other_prompts(cell, tasks=ONE_NEEDLE, none=False))


def _line(cell: Cell) -> str:
    return f"{cell.paper_name}/{cell.labels['context_lang']}"


def _heat_map(table: str) -> Beside:
    """Figures 3 and 25 have a cell a model, language and length, with instructions in that language."""

    def compare(cell: Cell) -> Mapping[str, object]:
        lang = cell.labels["context_lang"]
        same = cell.labels.get("instruction_lang", lang) == lang
        number = cell.run.find(table, _line(cell), str(cell.labels["length"])) if same else None
        return against(cell, number, other_prompts(cell, tasks=NEEDLES))

    return Beside(compare)


FIGURE3, FIGURE25 = map(_heat_map, ("figure3", "figure25"))


@Beside
def figure4b(cell: Cell) -> Mapping[str, object]:
    """The paper's text has the means of three languages, over all models, in long contexts."""
    if cell.labels.get("model", "all") != "all":
        return against(cell, None)
    reasons = other_prompts(cell, tasks=NEEDLES, lengths=LONG, models=MODELS)
    return _over_models(cell, "figure4b", cell.labels["context_lang"], "long", reasons)


@Beside
def figure5(cell: Cell) -> Mapping[str, object]:
    """The text has some means of tasks, or bounds, over all models and lengths."""
    task, group = cell.labels["task"], cell.labels["group"]
    needles = other_values(cell, "task", NEEDLES, "other tasks") if task == "niah" else ()
    # The paper's groups (its Table 2), as in `factors.GROUPS`.
    groups = {lang: "high" if ARTICLES[lang] >= HIGH_RESOURCE else "low" for lang in LANGUAGES}
    groups["en"] = "english"
    named = [lang for lang in LANGUAGES if group in ("all", groups[lang])]
    reasons = [*needles, *other_prompts(cell, lengths=LENGTHS, languages=named, models=MODELS)]
    return _over_models(cell, "figure5", group, task, reasons)


@Beside
def figure6a(cell: Cell) -> Mapping[str, object]:
    """The paper's text has means over all models, by the languages of instructions and context."""
    row = f"{cell.labels['instruction_lang']}-{cell.labels['context_lang']}"
    reasons = other_prompts(cell, tasks=NEEDLES, models=MODELS)
    return _over_models(cell, "figure6a", row, str(cell.labels["length"]), reasons)


@Beside
def figure22(cell: Cell) -> Mapping[str, object]:
    """The text has some models' means, or bounds, over all languages."""
    column = f"{cell.labels['task']}/{cell.labels['length']}"
    number, bound = bounded_number(cell.run.line("figure22", cell.paper_name), column)
    return against(cell, number, other_prompts(cell, languages=LANGUAGES), bound=bound)
