"""Separates a model's reasoning from its answer, by the marks around it.

The journal keeps answers with their reasoning. Reasoning is removed when the file of answers is written, in
one place for every backend and benchmark. So a change of the marks does not invalidate cached answers.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from needlework.data.resources import resource_rows
from needlework.journal import Record

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.settings.models import Marks, Reasoning


class ReasoningMark(NamedTuple):
    """The strings before and after reasoning. Without `begin`, the chat template has opened it."""

    begin: str | None
    end: str


class Parted(NamedTuple):
    """An answer without reasoning. `mark` is the text that ended the reasoning; None if there was none."""

    text: str
    mark: str | None


class AnswerRow(TypedDict, total=False):
    """A request and its answer as a row of the file of answers (`records.GENERATIONS`)."""

    request_key: str
    instance_id: str
    sample: int
    text: str
    raw_text: str | None
    finish_reason: str
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    error: str | None
    outcome: str | None
    remarks: list[str] | None
    reasoning: str | None
    # No column: whether this job sent the request.
    now: bool
    # No column: the day and the address of the answer's request.
    origin: str | None


# The tables below resources/ with which replies are read: marks, and words for a prompt that is too long.
MARK_FILES = ("reasoning_marks.tsv", "answer_marks.tsv", "too_long.tsv")


KNOWN = tuple(ReasoningMark(begin or None, end) for begin, end, _ in resource_rows(MARK_FILES[0]))
_AROUND_ANSWERS = tuple(mark for mark, _ in resource_rows(MARK_FILES[1]))
# The harmony format if the engine leaves special tokens out: whole, and where a cut left its beginning.
_BARE_HARMONY = re.compile(r"\s*(?:analysis|commentary).*?(assistantfinal)", re.DOTALL)
_BARE_BEGUN = re.compile(r"\s*(?:analysis|commentary)(?=[\w\"'(])")


def marks_of(
    thoughts: Sequence[Marks] | None, reasoning: Reasoning | None
) -> tuple[ReasoningMark, ...]:
    """A model's reasoning marks: from its key `thoughts` or `reasoning`, by default all known marks."""
    if thoughts is not None:
        return tuple(ReasoningMark(dict(own).get("begin"), own.end) for own in thoughts)
    own = reasoning and reasoning.end
    known = {mark.end for mark in KNOWN}
    return (ReasoningMark(None, own), *KNOWN) if own and own not in known else KNOWN


def reasoning_of(model: AnyModel) -> Reasoning | None:
    """The key `reasoning` of a model; None for a backend that does not take it."""
    if model.backend in ("vllm", "openvino", "transformers", "inspect"):
        return model.reasoning
    return None


def part(
    text: str, marks: Sequence[ReasoningMark], *, cut: bool, opened: bool = False
) -> Parted | None:
    """The answer in `text`; None if there is no reasoning in it.

    Text before an end mark without a begin mark is reasoning: the chat template has begun it. Text after a
    begin mark without an end mark is reasoning too. `opened` says that the chat template always begins
    reasoning: if a text was then `cut` before any mark, it is all reasoning.
    """
    if marks == KNOWN and (bare := _BARE_HARMONY.match(text)):
        return Parted(text[bare.end() :].lstrip(), bare[1])
    if marks == KNOWN and cut and _BARE_BEGUN.match(text):
        return Parted("", None)
    parts: list[str] = []
    position, begin, last, closed = 0, None, None, False
    for found in _pattern(tuple(marks)).finditer(text):
        which = found[0].casefold()
        starts = any((mark.begin or "").casefold() == which for mark in marks)
        if begin is None and starts:
            parts.append(text[position : found.start()])
            begin = which
        elif begin is not None and any(
            ((mark.begin or "").casefold(), mark.end.casefold()) == (begin, which) for mark in marks
        ):
            position, begin, last, closed = found.end(), None, found[0], True
        elif begin is None and not starts and not closed:
            parts.clear()
            position, last, closed = found.end(), found[0], True
    if begin is not None:
        return Parted("".join(parts).lstrip(), None)
    if last is None:
        return Parted("", None) if cut and opened else None
    answer = ("".join(parts) + text[position:]).lstrip()
    for mark in _AROUND_ANSWERS:
        answer = answer.replace(mark, "").lstrip() if mark in answer else answer
    return Parted(answer, last)


# A tag at the beginning of an answer, and the names of tags that are no reasoning.
_TAG = re.compile(r"\s*(?:[<\[◁]|<\|)\s*(\w[\w:. -]{0,30}?)\s*(?:[>\]▷]|\|>)")
_NO_REASONING = frozenset(
    "answer final output response result solution b i u em strong p br ul ol li div span code pre h1 h2 h3 "
    "h4 table html body sup sub quote json xml".split()
)


# The letters in which the vocabularies of GPT-2 and most later models write bytes: printable ones as Latin-1
# does, the others from U+0100 on.
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = (byte for byte in range(256) if byte not in _PRINTABLE)
_BYTES = {ord(" "): 32, ord("\n"): 10, **{b: b for b in _PRINTABLE}}
_BYTES |= {256 + place: byte for place, byte in enumerate(_OTHERS)}
# A space or a line end where no word of a language that writes with these letters (Maltese) has them; a space
# and a byte of SentencePiece.
_STAND_IN = re.compile(
    r"(?<=[^\W_A-Z])[ĠĊ]|(?<=[.,:;!?)])[ĠĊ]|ĊĊ|ĠĠ|Ġ(?=[A-Z][a-z]|\d)|▁(?=\w)|<(?=0x[0-9A-F]{2}>)"
)


def undecoded(text: str) -> str | None:
    """A letter of an answer that stands for a byte, since the server did not decode the answer.

    None if there is no such letter.
    """
    if text.isascii() and "<0x" not in text:
        return None
    if found := _STAND_IN.search(text):
        return text[found.start() : found.start() + 6] if found[0] == "<" else found[0][0]
    try:
        content = bytes(_BYTES[ord(character)] for character in text)
        # The limit on tokens may have cut a character.
        decoded = getincrementaldecoder("utf-8")().decode(content)
    except (KeyError, UnicodeDecodeError):
        return None
    spaced = any(character in text for character in "ĠĊ") and not any(map(str.isspace, text))
    if (decoded.isascii() and not spaced) or not decoded.replace("\n", " ").isprintable():
        return None
    return next(character for character in text if not character.isascii())


def unknown_mark(text: str) -> str | None:
    """The unknown tag, perhaps of reasoning, that an answer opens with and closes; None without one."""
    found = _TAG.match(text)
    if found and found[1].casefold() not in _NO_REASONING and found[1].isascii():
        name = re.escape(found[1])
        closes = rf"[<\[◁]\s*/\s*{name}\s*[>\]▷]|<\|\s*(?:/|end_of_|END_){name}\s*\|>"
        if re.compile(closes, re.I).search(text, found.end()):
            return found[0].strip()
    return None


@lru_cache(maxsize=64)
def _pattern(marks: tuple[ReasoningMark, ...]) -> re.Pattern[str]:
    """Matches any mark; without marks, nothing."""
    names = {name for mark in marks for name in mark if name}
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """A complete text without the parts between known marks of reasoning."""
    found = part(text, KNOWN, cut=False)
    return text if found is None else found.text.strip()


def whole_text(record: Record) -> str:
    """All that the model wrote, without special tokens."""
    return _without(_source(record), record.get("special", ()))


def _source(record: Record) -> str:
    # Records without `whole` are from endpoints, or hold an answer that was parted when it came.
    return str(record.get("whole", record["text"]))


def answer_row(record: Record, marks: Sequence[ReasoningMark], opened: bool) -> AnswerRow:
    """A record of the journal as a row of the file of answers: `text` is without reasoning.

    If there was reasoning, `raw_text` is all that the model wrote. Reasoning without an end mark was cut.
    `reasoning_tokens` are kept only if the record counted reasoning that ends at the same mark.
    """
    row = cast(AnswerRow, {**record, "raw_text": None})
    if "error" in record:
        return row
    whole, special = record.get("whole"), record.get("special", ())
    cut = record["finish_reason"] == "length"
    found = part(_source(record), marks, cut=cut, opened=opened and whole is not None)
    if found is None:
        row["text"] = whole_text(record)
    else:
        row["text"] = _without(found.text, special).lstrip()
        row["raw_text"] = whole_text(record)
        if found.mark is None:
            row["finish_reason"] = "length"
    mark = None if found is None else found.mark
    if whole is not None and record.get("mark") != mark:
        row["reasoning_tokens"] = None
    return row


def _without(text: str, special: Sequence[str]) -> str:
    """A text without its special tokens."""
    for token in sorted(special, key=len, reverse=True):
        text = text.replace(token, "")
    return text
