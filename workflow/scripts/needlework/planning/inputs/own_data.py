"""Which of the user's own data the prompts of a run are built from."""

from __future__ import annotations

import re
from dataclasses import astuple
from typing import Any

from needlework.planning.inputs.prompts import Prompts
from needlework.planning.layout import paths
from needlework.prompts.data_report import uses

# The file of a table (`corpus_table`).
_TABLE = re.compile(r"results/corpora/([^/]+)/([^/]+)\.parquet")


def own_data_instances(prompts: Prompts) -> list[str]:
    """The files of prompts built from the user's own data. They also count omitted rows."""
    names = prompts.benchmarks if own_tables(prompts) else []
    made = [own for name in names for own in prompts.prompts_of_models(name).values()]
    return paths([own["instances"] for own in made])


def own_tables(prompts: Prompts) -> list[str]:
    """The tables ("corpus/language") of the user's own data that prompts of this run are built from."""
    found = [
        table
        for benchmark in _benchmarks(prompts)
        for _, tables in _slices(prompts, benchmark)
        for own in tables.values()
        for table in own
    ]
    return list(
        dict.fromkeys(own for table in dict.fromkeys(found) for own in _own(prompts, table))
    )


def _own(prompts: Prompts, table: str) -> list[str]:
    """The user's table that a table is, or those that it is made of."""
    corpus, lang = table.split("/")
    if prompts.corpora.is_own_corpus(corpus):
        return [table]
    own = map(_TABLE.fullmatch, prompts.corpora.sources(corpus, lang))
    return [f"{made[1]}/{made[2]}" for made in own if made]


def own_uses(prompts: Prompts) -> list[tuple[Any, ...]]:
    """The benchmarks' needs from these tables, as tuples of fields of `data_report.Use`."""
    own = set(own_tables(prompts))
    found = [use for b in _benchmarks(prompts) for use in uses(b, _slices(prompts, b))]
    return [astuple(use) for use in found if use.table in own]


def _benchmarks(prompts: Prompts) -> list[str]:
    """The benchmarks of a run that has data of the user's own."""
    return prompts.benchmarks if prompts.config.corpora else []


def _slices(prompts: Prompts, benchmark: str) -> list[tuple[Any, Any]]:
    """The settings of a benchmark's slices, and the tables that they are built from."""
    named = [(benchmark, prompts.text_tokenizer, name) for name in prompts.slices(benchmark)]
    return [(prompts.slice_settings(*each), prompts.slice_tables(*each)) for each in named]
