"""The outcomes of a model's requests for a benchmark, as counts and as sentences.

Needs only the standard library, since Snakemake's own process imports it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from needlework import answer_states as states
from needlework.printable import printable

if TYPE_CHECKING:
    from needlework.models.thoughts import AnswerRow

# Each outcome that is not an answer, and each remark: what happened, and what to do.
_SAID = {
    states.EMPTY: "{n} of {sent} answers are empty{reasoned} and count as wrong. {remedy_empty} To ask and "
    "pay again, set `generation: {{again: [empty]}}`",
    states.CUT: "{n} of {sent} answers were cut at the limit on new tokens and are scored as they are. If "
    "the model reasons, set `reasoning`",
    states.PROMPT_CUT: "{n} of {sent} prompts were cut by the server ({example}) and count as failures, not "
    "as wrong answers. Raise the server's context or lower `context`. To ask and pay again, set "
    "`generation: {{again: [cut]}}`",
    states.REFUSED: "{n} of {sent} requests were refused, though their prompts fit into the model's "
    "`context` ({example}). Lower `context`, or raise the server's. The same command asks them again",
    states.FAILED: "{n} of {sent} requests failed ({example}). Correct the cause. The same command asks "
    "them again",
    states.SKIPPED: "{n} of {total} prompts do not fit into the model's context and were not sent",
    states.UNASKED: "{n} of {total} requests were not sent before the job failed. The same command sends "
    "them",
    states.UNKNOWN_END: "{n} of {sent} answers came without a `finish_reason`, so they may be incomplete",
    states.OTHER_MODEL: "{n} of {sent} answers name another model than `name` ({example}). Check what the "
    "endpoint serves",
    states.ODD_COUNT: "{n} of {sent} prompts have an unexpected count of tokens ({example}). Set "
    "`tokenizer` to the model's own, or check that the server does not cut prompts",
    states.UNKNOWN_MARK: "{n} of {sent} answers begin with an unknown tag ({example}) and are scored with "
    "the text in it. If that text is reasoning, name the tag in `thoughts` of the model",
    states.UNDECODED: "{n} of {sent} answers are in a tokenizer's letters, such as {example} for a byte, "
    "and are scored as they are. The server does not decode them. Correct its tokenizer, and set `variant` "
    "of the model to ask again",
    states.LONGER: "{n} of {sent} answers are longer than their limit on new tokens ({example}) and are "
    "scored whole. A run of this model would have cut them",
    states.BESIDE_PROMPT: "{n} of {sent} requests had other text before the prompt ({example}). If it is no "
    "part of the model's chat template, ask the prompts without it",
    states.DROPPED: "{n} of {sent} requests were sent without a setting that the provider does not take "
    "({example}). The provider's own value was used",
    states.DATED: "{n} of {sent} prompts have the fixed date {example}, since the chat template writes "
    "today's. To set another, use `template: {{date: ...}}`",
    states.CONTROL_TOKENS: "{n} of {total} prompts quote the text of a control token, such as {example}, "
    "which the model may read as one",
}


# If an outcome or a remark occurs in more jobs than this, they share a line.
MOST_ALIKE = 4


@dataclass
class Account:
    """The outcomes of the requests of a job."""

    model: str
    benchmark: str
    # The number of requests, by outcome; and of answers, by kind of remark.
    outcomes: dict[str, int] = field(default_factory=dict)
    remarks: dict[str, int] = field(default_factory=dict)
    # The first message of each kind.
    examples: dict[str, str] = field(default_factory=dict)
    # The value of `state` with which the job was planned.
    asked_as: str = ""
    # A name of this account alone.
    name: str = ""
    # Why the job failed.
    failed: str = ""
    # Whether a model is asked. A built-in reader answers without a request.
    asked: bool = True
    # The number of answers by the day and the address of their requests: "<ISO date> <address>", where either
    # may be empty.
    origins: dict[str, int] = field(default_factory=dict)
    # The number of requests that the job sent, and the `origins` of their answers.
    sent_now: int = 0
    new_origins: dict[str, int] = field(default_factory=dict)
    # The configured address; "" for a model that runs here.
    address: str = ""
    # Sentences on damage to the journal.
    losses: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of all requests."""
        return sum(self.outcomes.values())

    @property
    def sent(self) -> int:
        """The requests that were sent, now or before."""
        return self.total - self.count(states.SKIPPED) - self.count(states.UNASKED)

    def left(self, again: Iterable[str]) -> int:
        """How many requests the next run sends; `again` is `generation.again`."""
        chosen = [{"cut": states.PROMPT_CUT, "empty": states.EMPTY}[kind] for kind in again]
        return sum(map(self.count, [states.REFUSED, states.FAILED, states.UNASKED, *chosen]))

    def state(self, again: Iterable[str]) -> str:
        """A parameter of the job. It changes if the job left requests that must be sent again."""
        return self.name if self.left(again) else self.asked_as

    def sentences(self) -> list[str]:
        """A sentence for each count that is not zero, with the cause and the remedy."""
        return [self.sentence(kind) for kind in _SAID if self.count(kind)]

    def count(self, kind: str) -> int:
        """How many requests have this outcome or remark."""
        return self.outcomes.get(kind, 0) or self.remarks.get(kind, 0)

    def sentence(self, kind: str) -> str:
        """A sentence on the requests with this outcome or remark: the cause, and the remedy."""
        reasoned = self.remarks.get(states.REASONED, 0)
        words = {
            "n": f"{self.count(kind):,}",
            "sent": f"{self.sent:,}",
            "total": f"{self.total:,}",
            "example": self.examples.get(kind, ""),
            "reasoned": f", {reasoned:,} of them beside reasoning," if reasoned else "",
            "remedy_empty": "Raise the answer's limit, or set the server's reasoning parser."
            if reasoned
            else "Check the server's chat template.",
        }
        return " ".join(_SAID[kind].format(**words).split())

    def from_journal(self) -> dict[str, int]:
        """The answers that were not sent now, by their origins."""
        return dict(Counter(self.origins) - Counter(self.new_origins))

    def before(self) -> Account:
        """The account in a later run, which has sent nothing of it."""
        return replace(self, sent_now=0, new_origins={})

    def summary(self) -> str:
        """The counts of all requests in one sentence."""
        return _requests([self])


def account_of(
    rows: Iterable[AnswerRow], model: str, benchmark: str, asked: bool = True
) -> Account:
    """The account of rows of answers, each with outcome, remarks and error, perhaps with origin and now.

    Answers of a control count as answers.
    """
    outcomes: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    new: Counter[str] = Counter()
    sent_now = 0
    examples: dict[str, str] = {}
    for row in rows:
        outcome = str(row["outcome"] or states.ANSWERED)
        outcomes[outcome if asked else states.ANSWERED] += 1
        if error := row.get("error"):
            examples.setdefault(outcome, printable(str(error), lines=False))
        sent_now += bool(row.get("now")) and outcome != states.SKIPPED
        if origin := printable(row.get("origin") or "", lines=False):
            origins[origin] += 1
            new[origin] += bool(row.get("now"))
        for remark in row["remarks"] or ():
            kind, _, example = remark.partition(": ")
            remarks[kind] += 1
            if example:
                examples.setdefault(kind, printable(example, lines=False))
    own = Account(model, benchmark, dict(outcomes), dict(remarks), examples, asked=asked)
    return replace(own, origins=dict(origins), new_origins=dict(+new), sent_now=sent_now)


def summed(accounts: Iterable[Account]) -> list[Account]:
    """One account per model: the sum of its shards' accounts."""
    found: dict[tuple[str, str], Account] = {}
    for own in accounts:
        key = own.model, own.benchmark
        if key not in found:
            found[key] = Account(*key, failed=own.failed, asked=own.asked, address=own.address)
        one = found[key]
        one.outcomes = dict(Counter(one.outcomes) + Counter(own.outcomes))
        one.remarks = dict(Counter(one.remarks) + Counter(own.remarks))
        one.origins = dict(Counter(one.origins) + Counter(own.origins))
        one.new_origins = dict(Counter(one.new_origins) + Counter(own.new_origins))
        one.sent_now += own.sent_now
        one.losses = [*dict.fromkeys(one.losses + own.losses)]
        one.examples = own.examples | one.examples
        one.failed = one.failed or own.failed
    return list(found.values())


def write_account(account: Account, path: str | Path) -> None:
    """Write an account as JSON."""
    own = replace(account, failed=printable(account.failed, lines=False))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(asdict(own), indent=1), encoding="utf-8")


def read_account(path: str | Path) -> Account | None:
    """The account in a file; None if the file is missing or cannot be read."""
    try:
        return Account(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Remark:
    """A warning about requests or answers; of one model and benchmark, and its kind, if it is of one job."""

    text: str
    model: str = ""
    benchmark: str = ""
    kind: str = ""


def last_lines(accounts: Iterable[Account]) -> list[str]:
    """The last lines of a run: how many requests were sent and answered, and warnings about the others."""
    every = summed(accounts)
    return [*requests_line(every), *(remark.text for remark in remarks(every))]


def requests_line(accounts: Iterable[Account]) -> list[str]:
    """How many requests were sent and answered; [] without accounts."""
    every = summed(accounts)
    models = [own for own in every if own.asked]
    if models:
        return [f"Requests: {_requests(models)}"]
    return ["No request was sent: all answers are of built-in readers."] if every else []


def remarks(accounts: Iterable[Account]) -> Iterator[Remark]:
    """The warnings about requests without an answer, about answers, and about failed jobs."""
    every = summed(accounts)
    having = {kind: [own for own in every if own.count(kind)] for kind in _SAID}
    for own in every:
        job = own.model, own.benchmark
        where = ", ".join(job)
        for kind, others in having.items():
            if own in others and len(others) <= MOST_ALIKE:
                yield Remark(f"{where}: {own.sentence(kind)}.", *job, kind)
        if own.failed:
            yield Remark(f"{where}: the job failed: {own.failed}", *job)
    for loss in dict.fromkeys(loss for own in every for loss in own.losses):
        yield Remark(f"{loss}.")
    for kind, others in having.items():
        if len(others) > MOST_ALIKE:
            yield Remark(_of_many(kind, others, every), kind=kind)


# So many addresses of a model are named: a cluster may have a port for each job.
_MOST_ADDRESSES = 3
_OTHER = "not the configured"


def _requests(accounts: Iterable[Account]) -> str:
    """How many requests were sent now, where and when those of the other answers were, and all answers."""
    models: dict[str, Account] = {}
    for own in summed(replace(own, benchmark="") for own in accounts):
        models[own.model] = own
    found = {own.model: own.from_journal() for own in models.values() if own.from_journal()}
    asked: dict[str, list[str]] = {}
    for model, origins in found.items():
        asked.setdefault(_asked(origins, models[model].address), []).append(model)
    said = f"{sum(own.sent_now for own in models.values()):,} sent now, "
    said += f"{sum(sum(origins.values()) for origins in found.values()):,} from the journal"
    if len(asked) == 1:
        said += "".join(asked)
    answered = sum(own.outcomes.get(states.ANSWERED, 0) for own in models.values())
    total = sum(own.total for own in models.values())
    said += f"; {answered:,} of {total:,} answered in full."
    if len(asked) > 1:
        each = "; ".join(f"{', '.join(names)}{where}" for where, names in asked.items())
        said += f" From the journal: {each}."
    if _OTHER in said:
        said += " To ask a model everything again, set its `variant` to a new word."
    return said


def _asked(origins: Mapping[str, int], configured: str) -> str:
    """Where and when answers were asked for, as ", asked at ... on ...": by its origins and address."""
    # Older records have a digest of the address.
    digest = hashlib.sha256(configured.encode()).hexdigest()[:8]
    days: dict[str, Counter[str]] = {}
    for origin, n in origins.items():
        day, gap, address = origin.partition(" ")
        day, address = (day, address) if gap else ("", origin)
        days.setdefault(configured if address == digest else address, Counter())[day] += n
    parts = []
    for address in sorted(days, key=lambda address: -days[address].total()):
        count = f"{days[address].total():,} " if len(days) > 1 else ""
        parts.append(f"{count}{_place(address, configured)}{_period(days[address])}")
    more = len(parts) - _MOST_ADDRESSES
    shown = ", ".join(part.strip() for part in parts[:_MOST_ADDRESSES])
    shown += f", the rest at {more:,} more" if more > 0 else ""
    return f", asked {shown}" if shown else ""


def _place(address: str, configured: str) -> str:
    if address == configured:
        return f"at {address} " if address else ""
    known = "://" in address or " " in address
    other = f"({_OTHER} {configured}) " if address and configured else ""
    return f"at {address if known else 'an address that is not recorded'} {other}"


def _period(days: Iterable[str]) -> str:
    known = sorted(filter(None, days))
    if len(known) < 2:
        return f"on {known[0]}" if known else ""
    return f"from {known[0]} to {known[-1]}"


def _of_many(kind: str, accounts: Sequence[Account], run: Sequence[Account]) -> str:
    """One line of what happened in many jobs of a run alike, with those where it happened most."""
    counted = [own for own in run if own.asked or own in accounts]
    (every,) = summed(replace(own, model="", benchmark="", asked=True) for own in counted)
    most = sorted(accounts, key=lambda own: -own.count(kind))[:MOST_ALIKE]
    named = "; ".join(f"{own.model}, {own.benchmark} ({own.count(kind):,})" for own in most)
    more = len(accounts) - len(most)
    return f"{every.sentence(kind)}. Most in {named}; and {more} more."
