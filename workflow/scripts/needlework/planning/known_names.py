"""Names that must be known: the nearest known one, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from needlework.errors import UserError
from needlework.planning.values import LONGEST, quoted

_RECORDS = "no records of Every Eval Ever are written any more: "
_AUDITS = "audits became the doctor: "
_UNAMBIGUOUS = "the paper's list of unambiguous questions is not public: "
# Keys that went, a value that has no key of its own, and targets: why, and what to use in their place.
GONE = {
    "records": f"{_RECORDS}leave it out",
    "run.audits": f"{_AUDITS}set `run.doctor`, as in [{{model: <changed>, against: <base>}}]",
    "audit": f"{_AUDITS}give this block the name `doctor`",
    "run.limit": "a run has no limit of hours, money or tokens any more: set the most questions per cell, "
    "such as `limit: 10`, and ask `snakemake estimate` what they take",
    "benchmarks.lost_in_the_middle.unambiguous": f"{_UNAMBIGUOUS}leave it out, or make your own questions a "
    "corpus of `corpora` that `needles` names",
    "benchmarks.lost_in_the_middle.gold_without_answer": "questions whose gold passage holds no answer are "
    "always kept, and counted as `gold_without_answer` in the table of prompts: leave it out, or take such "
    "questions out of your own corpus",
}
GONE_TARGETS = {
    "records": f"{_RECORDS}use `artifact`, or results/scores and results/tables",
    "audit": f"{_AUDITS}use `doctor`",
    "lost_in_the_middle_figure15": f"{_UNAMBIGUOUS}see `lost_in_the_middle_figure5`, of all questions",
    "published": "read the papers' numbers from resources/published",
    **dict.fromkeys(
        ("between_papers", "benchmark_factors"),
        "read docs/results.md, whose numbers perf/between_papers.py makes",
    ),
}


class KeyedError(UserError):
    """An error of one key: `path` leads to it, or to the nearest block that exists."""

    def __init__(self, message: str, path: Iterable[str | int]) -> None:
        super().__init__(message)
        self.path = [str(part) for part in path]


def nearest(word: object, known: Iterable[object]) -> str:
    """A hint for an error message: the nearest known word, and the list of known words."""
    names = sorted(map(str, known))
    # A long word is like no name, and comparing it would take minutes.
    text = str(word) if not isinstance(word, str | list | Mapping) or len(word) <= LONGEST else ""
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(text.lower(), folded, n=1, cutoff=0.5)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    shown = names[:30] + ["..."] * (len(names) > 30)
    return f"{hint}Known: {', '.join(shown) or '(nothing)'}"


def check_named(key: str, names: Iterable[str], registry: Collection[str], where: str) -> None:
    """Raise UserError if one of `names`, which stand under `key`, is not in the registry `where`."""
    for name in names:
        if name not in registry:
            raise KeyedError(
                f"{key} names {quoted(name)}, which is not in `{where}`: {nearest(name, registry)}.",
                [key],
            )
