"""MLNeedle's cells beside the paper's numbers: the number of each cell, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework.benchmarks.mlneedle.factors import HAYSTACK, LANGUAGES, MULTILINGUAL, POSITIONS
from needlework.models.engine_arguments import GREEDY
from needlework.results.result import Context, Labels
from needlework.results.tabulate import (
    Beside,
    Cell,
    Place,
    against,
    other_entries,
    other_settings,
    other_values,
    own_instructions,
    printed,
    published_rows,
    rows_of,
)

if TYPE_CHECKING:
    import pandas as pd

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
SETUP = {
    "needles": "mlqa",
    "mlqa_split": "test",
    "haystack": "mmarco",
    "passages": 10000,
    "top": 300,
    "embedder": "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
    "aligned": False,
    "truncate_last": True,
    "translator": "google",
    "metric": "containment",
    "answer_languages": sorted(LANGUAGES),
    "max_new_tokens": 128,
}
MIXED = {MULTILINGUAL: sorted(LANGUAGES)}
# Section 2; greedy decoding is the ablation of Table 4.
SAMPLED, GREEDY_ROW = "temperature 0.7, top-k 50, top-p 1", " (greedy)"
GREEDILY = {f"Mistral-7B-Instruct-v0.2{GREEDY_ROW}": GREEDY}
# What all of the paper's numbers are of, and the values that its means are over, by column.
VARIANT = {"question_lang": "en", "retrieval": "semantic"}
ALL = {
    "needle_lang": LANGUAGES,
    "haystack_lang": HAYSTACK.order + HAYSTACK.last,
    "position": POSITIONS,
}


def other_prompts(cell: Cell, *columns: str) -> Iterator[str]:
    """Reasons why a cell's prompts are not the paper's. The columns named must have all values of ALL."""
    yield from other_settings(cell.run, SETUP)
    if MULTILINGUAL in cell.part.values("haystack_lang"):
        yield from other_settings(cell.run, MIXED)
    yield from other_entries(cell, SAMPLED, GREEDILY)
    yield from other_values(cell, "question_lang", ("en",), "questions in another language")
    yield from own_instructions(cell, "question_lang")
    yield from other_values(cell, "retrieval", ("semantic",), "other distractors")
    for column in columns:
        yield from other_values(cell, column, ALL[column])


def other_lengths(cell: Cell, table: str, line: str) -> str | None:
    """A reason if a mean is over other lengths than the mean in the paper's line."""
    if cell.labels["column"] != "average":
        return None
    theirs = set(cell.run.line(table, line)) - {"average", "claimed_length", "effective_length"}
    ours = {str(length) if length else "baseline" for length in cell.part.values("length")}
    return None if ours == theirs else "other lengths"


TABLE1 = printed(
    Place("table1"),
    reasons=lambda cell, number: other_prompts(cell, *ALL),
    last=lambda cell: other_lengths(cell, "table1", cell.paper_name),
    also=VARIANT,
)


def claimed_length(run: Context, model: str) -> int | None:
    """The context length in tokens that a model claims, by the paper's Table 1."""
    found = run.find("table1", model, "claimed_length")
    return None if found is None else int(found.value)


def _compare_table2(cell: Cell) -> Mapping[str, object]:
    """Table 2 prints the numbers of each model's longest length, though its caption says average."""
    name, own = cell.paper_name, cell.labels
    longest = claimed_length(cell.run, name) or 0
    ours, why = [n for n in cell.above["model"].values("length") if n > 0], None
    if str(longest) != str(own["length"]) and ours != [longest]:
        if own["length"] != "average":
            return against(cell, None, other_prompts(cell, "position"))
        why = f"the paper's is of {longest} tokens alone"
    number = cell.run.find("table2", f"{name}/{own['haystack_lang']}", str(own["needle_lang"]))
    return against(cell, number, other_prompts(cell, "position"), why)


def _table2(haystack: str, **labels: str) -> Beside:
    """Table 2, or its lines of one haystack, which have these labels."""
    place = Place("table2", f"{{model}}/{haystack}", "{needle_lang}")

    def length(run: Context, labels: Labels) -> dict[str, int | str]:
        return {"length": claimed_length(run, labels["model"]) or ""}

    return Beside(_compare_table2, rows_of(place, also={**VARIANT, **labels}, more=length))


TABLE2 = _table2("{haystack_lang}")
TABLE2_ENGLISH = _table2("en", haystack_lang="en")


def in_pairs(
    run: Context, rows: pd.DataFrame, table: str, pairs: Iterable[Sequence[str]]
) -> Beside:
    """Numbers of the paper's Table 3 or 4 beside pairs of models; `rows` are the models' answers."""
    lines = run.tables.get(table, {})
    # By pair and role (first, second, delta): the paper's line.
    named: dict[str, dict[str, str]] = {}
    for pair in pairs:
        own = named["|".join(pair)] = {}
        for role, model in zip(("first", "second"), pair, strict=True):
            if (rows["model"] == model).any():
                name = run.paper_name(model)
                own[role] = next((n for n in (name, name + GREEDY_ROW) if n in lines), "")
        if len(own) == 2 and all(own.values()):
            own["delta"] = "delta"

    def compare(cell: Cell) -> Mapping[str, object]:
        pair, role = cell.labels["pair"], cell.labels["role"]
        line = named[pair].get(role, "")
        why = other_lengths(cell, table, line)
        greedy = named[pair].get("second", "").endswith(GREEDY_ROW)
        ours = cell.run.paper_name(pair.split("|")[1]).endswith(GREEDY_ROW)
        if role != "first" and greedy and not ours:
            why = why or "the paper's is of greedy decoding"
        number = cell.run.find(table, line, cell.labels["column"])
        return against(cell, number, other_prompts(cell, *ALL), why)

    def papers(run: Context, models: pd.DataFrame, shown: pd.DataFrame) -> Iterator[Labels]:
        """The lines of the paper's own pair for which this run has no line."""
        roles = dict(zip(lines, ("first", "second", "delta"), strict=False))
        ours = {line for own in named.values() for line in own.values()}
        printed = published_rows(
            run, models.iloc[:0], table, lambda line, column: {"model": line, "column": column}
        )
        for row in printed:
            if row["model"] not in ours:
                pair = "|".join(list(lines)[:2])
                yield {**VARIANT, "pair": pair, "role": roles[row["model"]], **row}

    return Beside(compare, papers)
