"""Factors: what tells the prompts of a benchmark apart, and how their values are ordered and named.

Planning reads this too, so it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from needlework.hooks import load_hook


@dataclass(frozen=True)
class Factor:
    """A column of instances and scores, or of a result.

    type: Arrow type, by name. label: what an axis or a column head calls it. order: its values, in
    order; values that are not listed follow, sorted, and those in `last` come after all others. words:
    what single values are called in tables and figures. format: how other values are written
    ("language": English name of a code; "1024" and "1000": a number of tokens in units of K).
    shared: a value whose rows belong to every other value as well (prompts without distractors
    belong to every kind of retrieval). asked: whether prompts were made to have it; otherwise it says how
    they turned out, and comparisons of models neither pair nor divide prompts by it.
    """

    name: str
    type: str = "string"
    label: str = ""
    order: tuple[Hashable, ...] = ()
    last: tuple[Hashable, ...] = ()
    words: Mapping[Any, str] = field(default_factory=dict)
    format: str = ""
    shared: Hashable | None = None
    asked: bool = True

    def sorted(self, present: Iterable[Any]) -> list[Any]:
        """These values, each once, in order."""
        found = set(present)
        listed = [value for value in self.order if value in found]
        last = [value for value in self.last if value in found]
        return [*listed, *sorted(found.difference(listed, last)), *last]

    def called(self, value: Any) -> str:
        """What tables and figures call a value."""
        if value in self.words:
            return self.words[value]
        if self.format in ("1024", "1000"):
            unit = int(self.format)
            return f"{int(value) // unit}K" if int(value) % unit == 0 else f"{int(value):,}"
        if self.format == "language":
            # Prompts are built with factors, and do not depend on names: `codedigest` follows imports.
            return str(load_hook("needlework.benchmarks.language_names:language_name")(str(value)))
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    def renamed(self, name: str, **changes: Any) -> Factor:
        """The same factor under another name, such as a column of a result."""
        return replace(self, name=name, **changes)
