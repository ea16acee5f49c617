"""How figures are printed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from needlework.settings.base import UNIQUE, OneOf, Settings, Text, key


class Figures(Settings):
    """How figures are printed. A change draws them again, from the same numbers."""

    width: Annotated[float, OneOf(lambda _: (6.9, 5.5))] = key(6.9)
    """The width in inches of figures that are wider than a column of 3.3 inches."""
    coloured: Annotated[tuple[Text, ...], Strict(False), Field(max_length=6), UNIQUE] = key(())
    """Models to draw in colour, at most six; the others are grey. An empty list colours the first six
    of `run.models`."""
