"""Which of several candidates an answer chooses: numbers, cities, classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from needlework.scoring.careful.statements import Statement
from needlework.scoring.careful.words import COLON, SENTENCE


class Candidate(NamedTuple):
    """A candidate's name and where the answer mentions it."""

    name: str
    start: int
    end: int


def chosen(
    statement: Statement, found: Sequence[Candidate], *, compared: bool, single: bool = True
) -> set[str]:
    """The candidates that an answer gives as its own, after denials, conclusions and comparisons."""
    kept = [c for c in found if not _dismissed(statement, c)]
    if single:
        kept = _behind_but(statement, kept) or kept
    if len(_names(kept)) <= 1:
        return _names(kept)
    for decide in (_concluded, _largest, _settled, _compared) if compared else (_concluded,):
        fewer = decide(statement, kept)
        if len(_names(fewer)) == 1:
            return _names(fewer)
        kept = fewer or kept
    return _names(kept)


# Between a word such as "largest" and its candidate.
_FEW = 4


def _names(found: Iterable[Candidate]) -> set[str]:
    return {candidate.name for candidate in found}


def _dismissed(statement: Statement, candidate: Candidate) -> bool:
    state = statement.state_of((candidate.start, candidate.end))
    return state in ("denied", "asked")


def _behind_but(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of the last clause that a "but" or a correction begins."""
    for clause in reversed(statement.clauses):
        if clause.lead in ("but", "retract"):
            return [c for c in found if clause.start <= c.start < clause.end]
    return []


def _concluded(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of the last conclusion; none without one."""
    for cue in reversed(statement.of("answer", "so")):
        end = statement.end_of_sentence(cue.end)
        inside = [c for c in found if cue.end <= c.start < end]
        if inside:
            return inside
    return []


def _settled(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The one candidate of the last line or behind the last colon, if it is named before."""
    gaps = statement.text.gaps
    cut = next((i for i in range(len(gaps) - 2, 0, -1) if gaps[i] in (COLON, SENTENCE)), 0)
    last = [c for c in found if c.start >= cut]
    again = _names(last) & _names(c for c in found if c.start < cut)
    few = len(statement.text.words) - cut <= _FEW
    return last if cut and few and len(_names(last)) == 1 and again else []


def _compared(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The larger of a comparison in the last sentence that has one; none without one."""
    for cue in reversed(statement.of("more", "less")):
        start, end = statement.sentence_of(cue.start)
        before = [c for c in found if start <= c.start and c.end <= cue.start]
        after = [c for c in found if cue.end <= c.start < end]
        if cue.kind == "more" and before and (after or len(_names(before)) > 1):
            return before[-1:]
        if cue.kind == "less" and before and len(_names(after)) == 1:
            return after[:1]
        if not before and after and cue.kind == "more" and len(_names(after)) == 1:
            return after
    return []


def _largest(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidate that is called the largest: behind "the largest is", else before "the largest"."""
    for cue in reversed(statement.of("largest")):
        start, end = statement.sentence_of(cue.start)
        joints = [c.end for c in statement.of("is") if 0 <= c.start - cue.end <= _FEW][:1]
        if statement.text.gaps[cue.end] == COLON:
            joints, end = [cue.end], len(statement.text.words)
        for joint in joints:
            behind = [c for c in found if 0 <= c.start - joint <= _FEW and c.start < end]
            if behind:
                return behind[:1]
        for word, place in (("former", 0), ("latter", -1)):
            if word in statement.text.words[start:end]:
                earlier = [c for c in found if c.start < end]
                return [earlier[place]]
        before = [c for c in found if start <= c.start and c.end <= cue.start]
        if len(_names(before)) == 1 or (before and cue.start - before[-1].end <= _FEW):
            return before[-1:]
    return []
