"""The checks of the doctor: each finds one kind of fault in a server's answers, or says that it cannot tell.

A check reports a fault only if its test's p is below `ALPHA`, or if the server itself shows the fault: by its
counts of tokens, by what it gave in place of an answer, by a value that only another prompt has. What a model
cannot do is no fault, so a check of what was read compares prompts that differ in length or place alone, and
tells only if the same model is right in the easier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from needlework.results.doctor.answering import (
    languages,
    model_served,
    outcomes,
    own_answers,
    repeats,
)
from needlework.results.doctor.comparing import not_worse, same_prompts, same_texts
from needlework.results.doctor.reading import copies, lengths, places, whole_prompts
from needlework.results.doctor.seen import FAULT, Check, Seen

ALONE: tuple[Callable[[Seen], Check], ...] = (
    *(own_answers, outcomes, whole_prompts, places, lengths, copies),
    *(repeats, languages, model_served),
)
AGAINST: tuple[Callable[[Seen], Check], ...] = (same_prompts, same_texts, not_worse)


def checked(seen: Seen) -> list[Check]:
    """The checks of a server; those against another one too, if there is one."""
    if seen.served.given.empty:
        said = "no prompt was answered"
        return [replace(outcomes(seen), verdict=FAULT, sentence=said)]
    return [check(seen) for check in (*ALONE, *(AGAINST if seen.other is not None else ()))]
