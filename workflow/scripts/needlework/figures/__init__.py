"""The style of all figures, and saving them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Plot(NamedTuple):
    """The numbers of a figure: `data(rows, published, settings)`; `results.drawings` says how they look.

    What `rows` are, the benchmark's plan says (`contract.Result.needs`).
    """

    title: str
    data: Callable[[pd.DataFrame, pd.DataFrame, Any], pd.DataFrame]
