"""The second scorer's verdicts on M4LE's answers; a text without one right answer has none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED, Task
from needlework.scoring.careful.choice import Candidate, chosen
from needlework.scoring.careful.phrases import of_text
from needlework.scoring.careful.statements import Statement
from needlework.scoring.careful.verdicts import Verdict, of_names, of_numbers, of_words, tagged
from needlework.scoring.careful.words import read

if TYPE_CHECKING:
    import pyarrow as pa

# An article's id: six capital letters or digits.
_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z]{6}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{6})(?![A-Za-z0-9])", re.ASCII
)
_OPTION = re.compile(r"([A-H])\s*[.、．:：)]\s*(.+)", re.DOTALL)
_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z'])")
_CHOSEN = re.compile(r"(?:选|選|答案|answer)[^A-H\n]{0,10}([A-H])(?![A-Za-z])")
_STOPS = " .。\n"
MOST_CLASSES = 100
# Types of tasks whose answer may be a count.
_COUNTED = ("CLS", "CLS+CNT")


def verdict(
    task: Task, text: str, accepted: Sequence[str], classes: Sequence[str] = ()
) -> Verdict | None:
    """1.0 if an answer to a task is right, and why; None where a task has no one right answer.

    `classes` are all answers of a classification.
    """
    if task.metric in ("rouge", "bleu") or task.released == "rouge":
        return None
    langs = [task.answer_lang]
    golds = [gold.strip(_STOPS) for gold in accepted]
    if task.metric == "f1":
        return ids(text, golds[0], langs if task.unit == "any" else ["en"])
    if classes and task.metric == "match" and golds[0] in classes:
        return of_names(text, golds, [[other] for other in classes if other not in golds], langs)
    if task.task_type in _COUNTED and golds[0].isdecimal():
        return of_numbers(text, [int(golds[0])], langs, digits=1)
    if option := _OPTION.fullmatch(golds[0]):
        return _choice(text, option[1], option[2], langs)
    return of_words(text, golds, langs)


def _choice(text: str, letter: str, option: str, langs: Sequence[str]) -> Verdict:
    """1.0 if an answer chooses an option by its letter, or by its text alone."""
    said = tagged(text)
    letters = _CHOSEN.findall(said)[-1:] or _LETTER.findall(said)
    if letters:
        right = set(letters) == {letter}
        return (
            (1.0, "right") if right else (None, "several") if letter in letters else (0.0, "other")
        )
    return of_words(text, [option], langs)


def ids(text: str, gold: str, langs: Sequence[str] = ("en",)) -> Verdict:
    """1.0 if an answer names exactly the ids of `gold`, and why; `langs` are those of its phrases."""
    wanted = set(_ID.findall(gold)) or set(re.findall(r"\w+", gold))
    named: list[str] = []

    def marked(match: re.Match[str]) -> str:
        """A word in place of an id: digits of one could be read as a number's groups."""
        named.append(match.group().upper())
        return f" ID{len(named) - 1}X "

    said = _ID.sub(marked, unicodedata.normalize("NFKC", tagged(text)))
    words = read(said)
    statement = Statement(words, of_text(said, langs, words))
    places = {f"id{i}x": name for i, name in enumerate(named)}
    candidates = [
        Candidate(places[word], i, i + 1) for i, word in enumerate(words.words) if word in places
    ]
    found = chosen(statement, candidates, compared=False, single=False)
    if candidates and any(c.end == candidates[0].start for c in statement.of("instead")):
        return 0.0, "denied"
    if found == wanted:
        return 1.0, "right"
    if not found:
        return 0.0, "other" if text.strip() else "empty"
    if wanted < found:
        return None, "several"
    return 0.0, "incomplete" if found < wanted else "other"


def classes(instances: pa.Table) -> dict[str, tuple[str, ...]]:
    """The answers of each task that asks for one of a few classes, which the instances' gold answers are.

    A task with more than `MOST_CLASSES` gold answers has none: each answer would be held against all.
    """
    found: dict[str, set[str]] = {}
    for name, accepted in zip(
        instances["task"].to_pylist(), instances["accepted"].to_pylist(), strict=True
    ):
        task = CONSTRUCTED[name]
        if task.metric == "match" and task.task_type == "CLS+RET":
            found.setdefault(name, set()).add(accepted[0].strip(_STOPS))
    return {name: tuple(sorted(own)) for name, own in found.items() if len(own) <= MOST_CLASSES}
