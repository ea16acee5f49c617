"""Digests of the code that makes results: if one changes, the results are made again."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.benchmarks.parts import part_file
from needlework.codedigest import code_digest


def numbers_digest(benchmark: str) -> str:
    """Of the code that makes the numbers of a benchmark's results; captions are no code."""
    return code_digest("make_numbers.py", part_file(benchmark, "results"))


def shown_digest(benchmark: str) -> str:
    """Of the code that lays out tables and draws figures of these numbers."""
    return code_digest("show_results.py", part_file(benchmark, "results"))


def card_digest(benchmarks: Iterable[str]) -> str:
    """Of the code that makes the numbers of report cards."""
    return code_digest("make_cards.py", *(part_file(name, "card") for name in benchmarks))
