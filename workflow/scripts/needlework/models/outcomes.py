"""Turns records of the journal into rows of answers: the outcome of each request, and remarks on it."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from needlework.answer_states import (
    ANSWERED,
    CONTROL_TOKENS,
    CUT,
    EMPTY,
    ERROR,
    FAILED,
    LENGTH,
    ODD_COUNT,
    OTHER_MODEL,
    PROMPT_CUT,
    REASONED,
    REFUSED,
    SKIPPED,
    STOP,
    UNASKED,
    UNDECODED,
    UNKNOWN,
    UNKNOWN_END,
    UNKNOWN_MARK,
)
from needlework.journal import Journal, Record
from needlework.models.backends.base import Request
from needlework.models.thoughts import AnswerRow, ReasoningMark, answer_row, undecoded, unknown_mark

# Whether a server read the whole of each prompt: the tokens that it counted, beside our own.
#
# A server may cut a prompt and answer all the same, and say so only in `prompt_tokens`. Tokenizers differ, so
# a count is compared with those of the same model's prompts of the same kind (task and languages). Some
# servers leave out what their prefix cache holds: where a prompt begins as another does, a low count is no
# proof.

# Equal counts of the server's for prompts whose own counts differ by more than this share: a limit.
SPREAD = 0.1
# A ratio below this share of the usual one: the prompt was cut.
SHARE = 0.5
# A usual ratio below this is odd: honest tokenizers differ by so much in few languages.
ODD = 0.5
# Of shorter prompts, the chat template's tokens are a large part.
SHORT = 200
# Two prompts may have one count by chance; a limit gives it to at least this share of all, or is the largest.
_CROWD = 0.05
# No server has a context so short: a count below is no count, or the end of a prompt that a cache holds.
LEAST = 64
# The largest count, of prompts to so many questions, is no chance either if it is well below our own:
# texts that our tokenizer counts alike have different counts with any other.
_FLAT = 3
# The tokens that follow a shared beginning are known by their share of the characters: less is none of them.
_END = 0.25


class PromptRead(NamedTuple):
    """An answered prompt."""

    kind: str
    # Its tokens by our count.
    own: int
    # Its tokens by the server's count.
    counted: int
    question: str
    # How many of its own tokens are the beginning of another prompt too.
    shared: int = 0


def read_tokens(records: Iterable[Record]) -> list[int]:
    """How many tokens a server read of each record's prompt; 0 if it does not say.

    `cached_tokens` are a part of `prompt_tokens`. But if an address ever had more of them, they come on top
    at this address.
    """
    counts = [
        (own.get("origin"), own.get("prompt_tokens") or 0, own.get("cached_tokens") or 0)
        for own in records
    ]
    apart = {origin for origin, read, cached in counts if cached > (1 + SPREAD) * read}
    return [read + (cached if origin in apart else 0) for origin, read, cached in counts]


def cut_prompts(prompts: Sequence[PromptRead]) -> dict[int, str]:
    """The prompts that the server cut: index to a text with both counts of tokens."""
    places = (_limited(prompts) | _low(prompts)) - _cached(prompts)
    return {place: _said(prompts[place]) for place in sorted(places)}


def _said(prompt: PromptRead) -> str:
    """That the server cut a prompt, with both counts; our tokenizer may count fewer tokens than its own."""
    read = f"the endpoint read {prompt.counted}"
    if prompt.counted < prompt.own:
        read += f" of {prompt.own} tokens (ours, by the model's `tokenizer`)"
    else:
        read += f" tokens, too few beside other prompts ({prompt.own} by the model's `tokenizer`)"
    return f"{read}: it cut the prompt"


def odd_prompts(prompts: Sequence[PromptRead]) -> dict[int, str]:
    """Prompts with odd counts that a tokenizer or cache may explain, by index.

    Each has a text with both counts.
    """
    usual, low = _usual(prompts), _low(prompts)
    return {
        place: f"the endpoint counted {prompt.counted} tokens, our tokenizer {prompt.own}"
        for place, prompt in enumerate(prompts)
        if place in low or (prompt.own >= SHORT and usual.get(prompt.kind, 1.0) < ODD)
    }


def _ratio(prompt: PromptRead) -> float:
    return prompt.counted / max(1, prompt.own)


def _usual(prompts: Iterable[PromptRead]) -> dict[str, float]:
    """The usual ratio by kind: the median of the longer prompts, or of all where there are none."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for prompt in prompts:
        if prompt.own >= SHORT:
            ratios[prompt.kind].append(_ratio(prompt))
    # With as many cut prompts as whole ones, the median would be a cut one's.
    return {kind: median(sorted(own)[len(own) // 4 :]) for kind, own in ratios.items()}


def _low(prompts: Sequence[PromptRead]) -> set[int]:
    """The places of longer prompts whose count is well below the usual."""
    usual = _usual(prompts)
    return {
        place
        for place, prompt in enumerate(prompts)
        if prompt.own >= SHORT
        and prompt.counted >= LEAST
        and _ratio(prompt) < SHARE * usual.get(prompt.kind, 0.0)
    }


def _cached(prompts: Sequence[PromptRead]) -> set[int]:
    """The places of prompts whose count may be that of their end, since another begins as they do.

    Prompts with one count have ends of one length then, and the largest count is that of a whole prompt.
    """
    whole = max((_ratio(prompt) for prompt in prompts if prompt.own >= SHORT), default=1.0)
    counts = _by_count(prompts)
    largest, found = max(counts, default=0), set[int]()
    for counted, same in counts.items():
        ends = {p: whole * (prompts[p].own - prompts[p].shared) for p in same}
        alike = [p for p in same if abs(ends[p] - counted) <= SPREAD * (counted + SHORT)]
        if _is_crowd(same, prompts) and (counted == largest or len(alike) <= len(same) / 2):
            continue
        found |= {
            p
            for p in same
            if prompts[p].shared > SPREAD * prompts[p].own and counted >= _END * ends[p]
        }
    return found


def _by_count(prompts: Sequence[PromptRead]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = defaultdict(list)
    for place, prompt in enumerate(prompts):
        if prompt.counted >= LEAST:
            places[prompt.counted].append(place)
    return places


def _is_crowd(same: Sequence[int], prompts: Sequence[PromptRead]) -> bool:
    return len(same) >= max(3, _CROWD * len(prompts))


def _limited(prompts: Sequence[PromptRead]) -> set[int]:
    """The places of prompts whose count is a limit of the server's."""
    counts = _by_count(prompts)
    largest, found = max(counts, default=0), set[int]()
    for counted, same in counts.items():
        own, is_largest = [prompts[place].own for place in same], counted == largest
        least, most = min(own), max(own)
        crowd = _is_crowd(same, prompts)
        if (is_largest or crowd) and most > (1 + SPREAD) * least:
            # The shortest of them may have been read whole; so may the longer ones, where few counts that are
            # not below ours are equal.
            longer = {p for p in same if prompts[p].own > (1 + SPREAD) * least}
            found |= {p for p in longer if crowd or prompts[p].counted < prompts[p].own}
            found |= {p for p in same if prompts[p].counted < (1 - SPREAD) * prompts[p].own}
        elif is_largest and counted < (1 - SPREAD) * least and least >= SHORT:
            questions = {prompts[place].question for place in same}
            found |= set(same) if len(questions) >= _FLAT else set()
    return found


# What `generation.again` calls the outcomes of answers that were paid for.
AGAIN = {"cut": PROMPT_CUT, "empty": EMPTY}
_UNASKED: AnswerRow = {"text": "", "finish_reason": ERROR, "error": "not sent before the job ended"}


class PromptSize(NamedTuple):
    """A prompt: kind, question, tokens, the limit of its answer, and its shared tokens (`PromptRead`)."""

    kind: str
    question: str
    tokens: int
    new: int
    shared: int = 0

    @classmethod
    def of(cls, request: Request) -> PromptSize:
        """The size of a request; a later sample has the whole prompt of the first."""
        return cls(
            sys.intern(request.kind),
            sys.intern(request.example_id or request.instance_id),
            request.n_tokens,
            request.max_new_tokens,
            request.n_tokens if request.sample else request.shared,
        )

    def read(self, counted: int) -> PromptRead:
        """The prompt as a PromptRead; `counted` is its number of tokens by the server's count."""
        return PromptRead(self.kind, self.tokens, counted, self.question, self.shared)


class Outcomes:
    """The outcomes of a job's requests, by key.

    `records` are the outcomes so far, which others add to; `controls` the texts of control tokens in prompts.
    """

    def __init__(
        self,
        records: dict[str, Record],
        sizes: Mapping[str, PromptSize],
        controls: Mapping[str, str],
        context: int | None,
        marks: Sequence[ReasoningMark],
        opened: bool,
        asked: bool,
    ) -> None:
        self._records, self._sizes, self._controls = records, sizes, controls
        self._context, self._marks, self._opened, self._asked = context, marks, opened, asked
        self._cut: dict[str, str] = {}
        self._odd: dict[str, str] = {}
        self._compare()

    def _compare(self) -> None:
        """Find the prompts that the server cut."""
        answered = {
            key: record
            for key, record in self._records.items()
            if self._asked and "error" not in record
        }
        counts = dict(zip(answered, read_tokens(answered.values()), strict=True))
        keys = [key for key, counted in counts.items() if counted]
        read = [self._sizes[key].read(counts[key]) for key in keys]
        self._cut = {keys[place]: said for place, said in cut_prompts(read).items()}
        self._odd = {keys[place]: said for place, said in odd_prompts(read).items()}

    def _empty(self, key: str) -> bool:
        record = self._records[key]
        if not self._asked or "error" in record or record["finish_reason"] != STOP:
            return False
        row = answer_row(record, self._marks, self._opened)
        return row["finish_reason"] == STOP and not str(row["text"]).strip()

    def replace(
        self, journal: Journal, wanted: Iterable[str], holds: Callable[[Record], bool]
    ) -> None:
        """If requests were asked again, take the better answers of the journal.

        An answer with text is better than an empty one, and an answer to a whole prompt better than one to a
        cut prompt, whichever was first. So all runs agree on the answer.
        """
        self._compare()
        own = {key for key in wanted if key in self._records}
        poor = {key for key in own if key in self._cut or self._empty(key)}
        if poor:
            found = journal.settled(poor, lambda record: holds(record) and self.better(record))
            if found:
                self._records.update(found)
                self._compare()

    def better(self, record: Record) -> bool:
        """Whether a record of the journal is a better answer than the one that its request has."""
        key = record["key"]
        if key in self._cut:
            before = self._records[key].get("prompt_tokens") or 0
            return (record.get("prompt_tokens") or 0) > 1.1 * before
        return bool(answer_row(record, self._marks, self._opened)["text"].strip())

    def retried(self, again: Collection[str]) -> set[str]:
        """The keys of requests that are asked again though they were answered."""
        kinds = {AGAIN[name] for name in again}
        return {key for key in self._records if kinds and self._outcome(key) in kinds}

    def _outcome(self, key: str) -> str:
        record = self._records[key]
        if record["finish_reason"] == SKIPPED:
            return REFUSED if self._within(key) else SKIPPED
        if "error" in record:
            return FAILED
        if key in self._cut:
            return PROMPT_CUT
        if self._empty(key):
            return EMPTY
        row = answer_row(record, self._marks, self._opened)
        return CUT if row["finish_reason"] == LENGTH else ANSWERED

    def _within(self, key: str) -> bool:
        """Whether a request that a server refused as too long fits into the declared context."""
        own, context = self._sizes[key], self._context
        refused = self._records[key].get("refused", False)
        return bool(refused and context is not None and own.tokens + own.new <= context)

    def row(self, key: str) -> AnswerRow:
        """The row of a request in the file of answers, without its names."""
        if key not in self._records:
            return {**_UNASKED, "raw_text": None, "outcome": UNASKED, "remarks": None}
        record, outcome = self._records[key], self._outcome(key)
        row = answer_row(record, self._marks, self._opened)
        if record.get("unknown_end") and row["finish_reason"] == STOP:
            row["finish_reason"] = UNKNOWN
        if outcome == REFUSED:
            row["finish_reason"] = ERROR
        if outcome == PROMPT_CUT:
            whole = row["raw_text"] if row["raw_text"] is not None else row["text"]
            row |= {"text": "", "raw_text": whole, "finish_reason": ERROR}
            row["error"] = self._cut[key]
        return {**row, "outcome": outcome, "remarks": self._remarks(key, record) or None}

    def _remarks(self, key: str, record: Record) -> list[str]:
        found = []
        if record.get("reasoning") and self._empty(key):
            found.append(REASONED)
        if record.get("unknown_end"):
            found.append(UNKNOWN_END)
        found += record.get("remarks", ())
        if record.get("served"):
            found.append(f"{OTHER_MODEL}: {record['served']}")
        if key in self._odd and key not in self._cut:
            found.append(f"{ODD_COUNT}: {self._odd[key]}")
        text = answer_row(record, self._marks, self._opened)["text"]
        if mark := undecoded(text):
            found.append(f"{UNDECODED}: {mark}")
        elif mark := unknown_mark(text):
            found.append(f"{UNKNOWN_MARK}: {mark}")
        if key in self._controls:
            found.append(f"{CONTROL_TOKENS}: {self._controls[key]}")
        return found


def best_records(
    records: Iterable[Record], marks: Sequence[ReasoningMark], opened: bool
) -> dict[str, Record]:
    """The record that counts for each key, if requests were asked again (`Outcomes.replace`)."""
    found: dict[str, tuple[tuple[bool, int], Record]] = {}
    for record in records:
        text = answer_row(record, marks, opened)["text"]
        rank = bool(text.strip()), record.get("prompt_tokens") or 0
        if record["key"] not in found or rank > found[record["key"]][0]:
            found[record["key"]] = rank, record
    return {key: record for key, (_, record) in found.items()}
