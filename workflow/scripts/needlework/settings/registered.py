"""Values that are among what the workflow knows: benchmarks, corpora, and texts of instructions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from needlework.benchmarks.parts import names
from needlework.settings.base import (
    BY_TYPE,
    BYTES_OF_A_PATH,
    IS_PATH,
    OBJECT,
    ONE_LINE,
    STRING,
    Lines,
    OneOf,
)

BenchmarkName = Annotated[str, OneOf(lambda _: names())]


def corpus(serves: str) -> OneOf:
    """The name of a corpus that serves as this, such as `needles`, which the context `serving` says."""
    return OneOf(lambda context: context["serving"](serves) if context else (), corpus=serves)


# The texts of a language's instructions: a folder, or the texts by name.
Instructions = Annotated[
    Annotated[
        str, Field(min_length=1, max_length=BYTES_OF_A_PATH, pattern=ONE_LINE), IS_PATH, STRING
    ]
    | Annotated[dict[str, Lines], OBJECT],
    BY_TYPE,
]
