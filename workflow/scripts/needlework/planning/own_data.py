"""Which tables of the user's own data a run reads, and what its benchmarks take of them."""

from __future__ import annotations

import re
from dataclasses import astuple
from typing import Any

from needlework.planning.layout import Layout
from needlework.results.page.own_data import uses

# The file of a table (`corpus_table`).
_TABLE = re.compile(r"results/corpora/([^/]+)/([^/]+)\.parquet")


def own_tables(files: Layout) -> list[str]:
    """The tables ("corpus/language") of the user's own data that prompts of this run are built from."""
    found = [
        table
        for benchmark in _benchmarks(files)
        for _, tables in _slices(files, benchmark)
        for own in tables.values()
        for table in own
    ]
    return list(dict.fromkeys(own for table in dict.fromkeys(found) for own in _own(files, table)))


def _own(files: Layout, table: str) -> list[str]:
    """The user's table that a table is, or those that it is made of."""
    corpus, lang = table.split("/")
    if files.is_own_corpus(corpus):
        return [table]
    own = map(_TABLE.fullmatch, files.corpus_sources(corpus, lang))
    return [f"{made[1]}/{made[2]}" for made in own if made]


def own_uses(files: Layout) -> list[tuple[Any, ...]]:
    """What the benchmarks need from these tables, as tuples of the fields of `results.own_data.Use`."""
    own = set(own_tables(files))
    found = [use for b in _benchmarks(files) for use in uses(b, _slices(files, b))]
    return [astuple(use) for use in found if use.table in own]


def _benchmarks(files: Layout) -> list[str]:
    """The benchmarks of a run that has data of the user's own."""
    return files.config["run"]["benchmarks"] if files.config["corpora"] else []


def _slices(files: Layout, benchmark: str) -> list[tuple[Any, Any]]:
    tokenizer = files.text_tokenizer
    return [
        (
            files.slice_settings(benchmark, tokenizer, name),
            files.slice_tables(benchmark, tokenizer, name),
        )
        for name in files.slices(benchmark)
    ]
