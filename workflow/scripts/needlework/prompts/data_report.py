"""A report on the user's own data: used and omitted rows, and whether the prompts need more.

It needs only the standard library, since planning imports it.
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
    """The needs of a benchmark from a table ("corpus/language"): lengths in tokens, numbers of documents.

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
    """The needs of a benchmark from its tables. A slice is given as its settings and its tables by name."""
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
class TableSize:
    """The size of a table: texts (of a book: sentences) and tokens."""

    texts: int
    tokens: int


def table_in_words(use: Use, size: TableSize, tokenizer: str) -> tuple[str, bool]:
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


@dataclass(frozen=True)
class LeftOut:
    """A slice of prompts: the numbers of its prompts and questions, and the counts of its `Built`."""

    benchmark: str
    tokenizer: str
    name: str
    prompts: int
    questions: int
    counts: Mapping[str, int]


# By a count's name (`Built.counts`): what it is a part of (its unit), whether it is missing there, and what
# is said of it.
_COUNTS = {
    "needle_too_long": (
        *("prompts", True),
        "are left out, since the context with the answer is longer than the prompt may be: raise `lengths`, "
        "or shorten these contexts",
    ),
    "exhausted": (
        *("prompts", False),
        "are shorter than their length, since the text ends: add texts, or lower `lengths`",
    ),
    "no_answer_left": (
        *("questions", True),
        "are left out, since an answer has only articles and punctuation, which the metric ignores: rewrite "
        "the answer",
    ),
    "questions_lacking": ("questions", True, "are lacking: add rows, or lower `questions`"),
    "too_few_documents": (
        *("questions", False),
        "have too few other passages for the largest of `n_documents`: add passages, or lower it",
    ),
    "answer_of_punctuation": (
        *("questions", False),
        "have an answer of punctuation alone, which every reply seems to hold: rewrite the answer",
    ),
}


def left_out(slices: Iterable[LeftOut]) -> list[str]:
    """One sentence on each count of a benchmark, summed over slices and tokenizers.

    Counts of prompts are added over slices. Slices of one language ask the same questions, so of counts of
    questions the largest in a language is taken, and languages are added.
    """
    found: dict[tuple[str, str], dict[str, dict[str, tuple[int, int]]]] = {}
    for one in slices:
        for count, n in one.counts.items():
            unit, missing, _ = _COUNTS.get(count, ("", False, ""))
            whole = (one.prompts if unit == "prompts" else one.questions) + n * missing
            groups = found.setdefault((one.benchmark, count), {}).setdefault(one.tokenizer, {})
            group = one.name.partition("-")[0] if unit == "questions" else one.name
            before = groups.get(group, (0, 0))
            groups[group] = max(before[0], n), max(before[1], whole, n)
    said: dict[str, None] = {}
    for (benchmark, count), tokenizers in found.items():
        unit, _, text = _COUNTS.get(count, ("", False, ""))
        sums = {
            name: tuple(map(sum, zip(*g.values(), strict=True))) for name, g in tokenizers.items()
        }
        for name, (n, whole) in sums.items():
            where = benchmark if len(set(sums.values())) == 1 else f"{benchmark} ({name})"
            what = (
                f"{n:,} of {whole:,} {unit} {text}" if unit else f"{count.replace('_', ' ')}: {n:,}"
            )
            if n:
                said[f"{where}: {what}."] = None
    return list(said)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def report(
    found: Sequence[Found],
    used: Sequence[Use],
    size: Callable[[str], TableSize],
    tokenizer: str,
) -> list[tuple[str, bool]]:
    """All sentences, each with whether nothing is missing."""
    rows = [(one.said(), not one.lost) for one in found]
    return rows + [table_in_words(use, size(use.table), tokenizer) for use in used]


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
