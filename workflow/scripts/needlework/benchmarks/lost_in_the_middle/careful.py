"""The second scorer's verdicts on Lost in the Middle's answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from needlework.scoring.careful import markup
from needlework.scoring.careful.verdicts import Verdict, of_words, tagged
from needlework.scoring.careful.writings import fold

# A UUID however its parts are separated.
_UUID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(?:[\s-]{0,3}[0-9a-f]{4}){3}[\s-]{0,3}[0-9a-f]{12}(?![0-9a-f])"
)
# A model that goes on with the next key.
_RUNS_ON = re.compile(r"\n\s*(?:key|json)\b.{0,20}[:=]", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not exist|not found|no such|not in the|cannot find|could not find|not present)\b"
)
_NOT_BEFORE = re.compile(r"\b(?:not|isn't|instead of|rather than)\W{1,4}$")
_AFTER_KEY = re.compile(r"\bkey\W{0,6}$")
_IS_KEY = re.compile(r"[\"'`]?\s*(?::|=|->|→|is\b)")


def question(text: str, references: Sequence[str]) -> Verdict:
    """1.0 if an answer asserts any of the references, and why."""
    return of_words(text, references, ["en"])


def key_value(text: str, value: str) -> Verdict:
    """1.0 if an answer gives the value and no other, and why."""
    first = _RUNS_ON.split(text.lstrip(), maxsplit=1)[0]
    said = fold(markup.plain(tagged(first))).casefold()
    wanted = fold(value).casefold()
    if not said.strip():
        return 0.0, "empty"
    if not _UUID.fullmatch(wanted):
        return of_words(text, [value], ["en"])
    # A key before its value is none.
    found = {
        re.sub(r"[\s-]", "", each.group())
        for each in _UUID.finditer(said)
        if not _IS_KEY.match(said, each.end()) and not _AFTER_KEY.search(said[: each.start()])
    }
    denied = {
        re.sub(r"[\s-]", "", each.group())
        for each in _UUID.finditer(said)
        if _NOT_BEFORE.search(said[: each.start()])
    }
    gold = wanted.replace("-", "")
    if gold in denied:
        return 0.0, "denied"
    if found - denied == {gold}:
        return (0.0, "denied") if _DENIED.search(said) else (1.0, "right")
    if gold not in found:
        return 0.0, "other"
    # A bare list of values chooses none of them; a sentence with several may.
    listed = not any(map(str.isalpha, _UUID.sub("", said)))
    return (0.0 if listed else None), "several"
