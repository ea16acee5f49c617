"""A description as text: the parameter of the jobs that it describes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

# What only tables and figures show of a factor: no number depends on it.
PRESENTATION = ("label", "format")
HOOK = re.compile(r"needlework(?:\.\w+)+:\w+")


def description(value: object, presentation: bool = True) -> str:
    """A digest of a description, without how factors are presented where `presentation` is false."""
    return hashlib.sha256(_text(value, presentation).encode()).hexdigest()[:16]


def _text(value: object, presentation: bool) -> str:
    if is_dataclass(value):
        shown = [f for f in fields(value) if presentation or f.name not in PRESENTATION]
        parts = (f"{f.name}={_text(getattr(value, f.name), presentation)}" for f in shown)
        return f"{type(value).__name__}({','.join(parts)})"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{k!r}:{_text(v, presentation)}' for k, v in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{','.join(_text(item, presentation) for item in value)}]"
    return ascii(value)


def hooks_of(value: object) -> list[str]:
    """The hooks that a description names, without arguments, each once."""
    return sorted(set(HOOK.findall(repr(value))))
