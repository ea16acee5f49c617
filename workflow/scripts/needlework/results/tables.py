"""A table of a benchmark: its title, its numbers, its layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from needlework.results.layouts import Layout

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """`function(rows, published, settings)` makes the tidy table, and `layout` says how LaTeX shows it."""

    title: str
    function: Callable[[pd.DataFrame, pd.DataFrame, Any], pd.DataFrame]
    layout: Layout
