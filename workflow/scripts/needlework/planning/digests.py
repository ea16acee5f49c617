"""Digests of what results depend on besides their rows: if one changes, the results are made again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.language_names import LANGUAGE_NAMES
from needlework.benchmarks.result import Result
from needlework.codedigest import code_digest
from needlework.hooks import hook_file
from needlework.results.describe import description, hooks_of


def numbers_digest(results: Iterable[Result]) -> dict[str, str]:
    """Of what the numbers of these results depend on: descriptions, and the code of their hooks."""
    return _digests({result.name: result.numbers for result in results}, "make_numbers.py")


def shown_digest(benchmark: Benchmark, results: Iterable[Result]) -> dict[str, str]:
    """Of what tables and figures of these numbers depend on: titles, layouts, drawings, names."""
    shown = {result.name: (result.title, result.shown) for result in results}
    names = {"called": benchmark.called, "languages": LANGUAGE_NAMES}
    return _digests({**shown, **names}, "show_results.py", presentation=True)


def _digests(
    described: Mapping[str, Any], script: str, *, presentation: bool = False
) -> dict[str, str]:
    hooks = sorted({hook_file(hook) for hook in hooks_of([*described.values()])})
    made = {name: description(value, presentation) for name, value in described.items()}
    return {**made, "code": code_digest(script, *hooks)}
