"""What a run found in the user's own data: used and omitted rows, and whether the prompts need more.

Needs only the standard library, since planning imports it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.atomic import atomic_write
from needlework.data.corpora.found import Found

# The names under which benchmarks read what fills their prompts.
PASSAGES, BOOKS = "passages", "books"


@dataclass(frozen=True)
class Use:
    """What a benchmark needs from a table ("corpus/language"): lengths in tokens, numbers of documents.

    `kind` is PASSAGES or BOOKS.
    """

    benchmark: str
    table: str
    kind: str
    lengths: tuple[int, ...]
    documents: tuple[int, ...]


def uses(
    benchmark: str, slices: Iterable[tuple[Mapping[str, Any], Mapping[str, Sequence[str]]]]
) -> list[Use]:
    """What a benchmark needs from its tables. A slice is given as its settings and its tables by name."""
    found: dict[tuple[str, str], tuple[set[int], set[int]]] = {}
    for settings, tables in slices:
        for kind in (PASSAGES, BOOKS):
            for table in tables.get(kind, ()):
                lengths, documents = found.setdefault((table, kind), (set(), set()))
                lengths.update(settings.get("lengths", ()))
                documents.update(n for n, _ in settings.get("places", ()))
    return [
        Use(benchmark, table, kind, tuple(sorted(lengths)), tuple(sorted(documents)))
        for (table, kind), (lengths, documents) in found.items()
    ]


@dataclass(frozen=True)
class Size:
    """The size of a table: texts (of a book: sentences) and tokens."""

    texts: int
    tokens: int


def sentence(use: Use, size: Size, tokenizer: str) -> tuple[str, bool]:
    """A sentence on the prompts for which a table suffices, and whether it suffices for all of them."""
    what = "sentences" if use.kind == BOOKS else "passages"
    said = [
        f"{use.benchmark}: {use.table} has {size.texts:,} {what} of {size.tokens:,} tokens "
        f"in all ({tokenizer})"
    ]
    short = [n for n in use.lengths if n > size.tokens]
    if use.lengths and not short:
        said.append(f"enough for the lengths {_listed(use.lengths)}")
    elif short and use.kind == BOOKS:
        said.append(f"prompts of {_listed(short)} tokens repeat it")
    elif short:
        said.append(
            f"too few for the lengths {_listed(short)}, whose prompts will not be full: add passages, or "
            f"lower `lengths`"
        )
    # The document with the answer need not be among them.
    few = [n for n in use.documents if n - 1 > size.texts]
    if use.documents and not few:
        said.append(f"enough for {_listed(use.documents)} documents")
    elif few:
        said.append(f"too few for {_listed(few)} documents: add passages, or lower `n_documents`")
    return "; ".join(said) + ".", not (short and use.kind == PASSAGES) and not few


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def report(
    found: Sequence[Found], used: Sequence[Use], size: Callable[[str], Size], tokenizer: str
) -> list[tuple[str, bool]]:
    """All sentences, each with whether nothing is missing."""
    rows = [(one.said(), not one.lost) for one in found]
    return rows + [sentence(use, size(use.table), tokenizer) for use in used]


def write_report(lines: Sequence[tuple[str, bool]], path: str | Path) -> None:
    """Write the sentences as JSON."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(lines, indent=1, ensure_ascii=False), encoding="utf-8")


def read_report(path: str | Path) -> list[tuple[str, bool]]:
    """The sentences in a file; none if there is none, or none that can be read."""
    try:
        return [
            (str(said), bool(right)) for said, right in json.loads(Path(path).read_text("utf-8"))
        ]
    except (OSError, TypeError, ValueError):
        return []
