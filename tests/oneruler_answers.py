"""False and missed verdicts of ONERULER's strict rules, on answers that were read by hand.

python tests/oneruler_answers.py          writes "ONERULER's strict rules" of docs/second-scorer.md
python tests/oneruler_answers.py tuning   lists the wrong verdicts of that half
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "workflow/scripts"))

from needlework.benchmarks.oneruler import strict  # noqa: E402
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, phrases  # noqa: E402
from needlework.scoring.metrics import numbers  # noqa: E402

NONE_WORDS = phrases()
HALVES = ("tuning", "held_out")
EXPLANATION = """\
The verdicts of ONERULER's own metric, `strict`, are compared with a person's on the answers in
[tests/data/oneruler_answers](../tests/data/oneruler_answers). A `none` is missed if an answer says that
there is no such number and the rules do not see it. It is false if the rules see it in an answer that does
not say so. A number is wrong if the rules read another number, or none. The held-out half was committed
before any phrase was changed; phrases are tuned on the other half only. One author wrote both halves, with
reports of such errors in mind, so real answers will show more errors. Languages that are not listed have
about as many rows and no error. `python tests/oneruler_answers.py` writes this section."""
BEGIN, END = (
    "<!-- Written by tests/oneruler_answers.py. -->\n",
    "<!-- The end of what it writes. -->\n",
)
PAGE = ROOT / "docs/second-scorer.md"


class Row(NamedTuple):
    """An answer, the language of its instruction, and the verdict of a reader."""

    answer: str
    language: str
    verdict: str


def rows(half: str) -> list[Row]:
    """The rows of a half of the table."""
    path = ROOT / f"tests/data/oneruler_answers/{half}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def verdict(row: Row) -> str:
    """The verdict of the strict rules on an answer, in the table's words."""
    read = strict.answer(row.answer, ANSWER_TAGS)
    found = numbers(read)
    if found:
        return " ".join(map(str, sorted(found)))
    return "none" if strict.score_none(read, NONE_WORDS[row.language])[0] else "other"


def wrong(half: str) -> Iterator[tuple[Row, str]]:
    """The rows on which the rules differ from a reader, with the rules' verdict."""
    for row in rows(half):
        said = verdict(row)
        if sorted(said.split()) != sorted(row.verdict.split()):
            yield row, said


def section() -> str:
    """The section of the page, in Markdown: the languages with errors, and all together."""
    lines = [
        "",
        EXPLANATION,
        "",
        "| language | tuning: rows | missed none | false none | wrong numbers | held out: rows | missed none"
        " | false none | wrong numbers |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    errors = {half: list(wrong(half)) for half in HALVES}
    table = {half: rows(half) for half in HALVES}
    languages = sorted({row.language for half in HALVES for row in table[half]})
    for language in [*languages, None]:
        cells = []
        for half in HALVES:
            here = [(r, said) for r, said in errors[half] if language in (None, r.language)]
            missed = sum(r.verdict == "none" for r, _ in here)
            false = sum(r.verdict == "other" for r, _ in here)
            count = sum(language in (None, r.language) for r in table[half])
            cells += [count, missed, false, len(here) - missed - false]
        if language is None or sum(cells[1:4]) + sum(cells[5:]):
            lines.append(f"| {language or 'all'} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", ""])


def page() -> str:
    """The page with the section as it must be."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + section() + END + rest.split(END)[1]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for row, said in wrong(sys.argv[1]):
            print(row.language, repr(row.answer), "is", row.verdict, "and read as", said)
    else:
        PAGE.write_text(page(), encoding="utf-8")
