"""What the doctor's checks share: their outcome, what they look at, and their tests."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from needlework.results.doctor.answers import KEY, PromptTexts, ServerAnswers
from needlework.results.doctor.comparison import CellRow

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["sound", "fault", "cannot tell"]
SOUND: Verdict = "sound"
FAULT: Verdict = "fault"
OPEN: Verdict = "cannot tell"

# The chance of a false alarm, of each check.
ALPHA = 0.001
# Right in at least the first share of prompts and at most the second: able, and lost. A model's natural
# decline over length and depth is less abrupt.
ABLE, LOST = 0.75, 0.25
# The fewest prompts at a place or length that a check compares.
LEAST = 4
# Shown of each check.
SHOWN = 5

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
# What prompts have drawn at random, so that an answer can have it from a prompt only.
DRAWN = re.compile(rf"\b(?:{_UUID}|\d{{6,}})\b")


@dataclass(frozen=True)
class Evidence:
    """A prompt by its benchmark and id, its answer, the wanted answer, and a note for the reader."""

    benchmark: str
    instance_id: str
    answer: str
    wanted: str = ""
    note: str = ""


class Finding(NamedTuple):
    """What a check found: its verdict, the sentence with the numbers, what would tell more, and evidence."""

    verdict: Verdict
    sentence: str
    more: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Check:
    """The outcome of a check, by name and title: the title is a statement that holds if it is sound."""

    name: str
    title: str
    verdict: Verdict
    sentence: str
    more: str = ""
    evidence: tuple[Evidence, ...] = ()


def check(title: str) -> Callable[[Callable[[Seen], Finding]], Callable[[Seen], Check]]:
    """A decorator: the function becomes a check that has the function's name and this title."""

    def made(finds: Callable[[Seen], Finding]) -> Callable[[Seen], Check]:
        @wraps(finds)
        def checked(seen: Seen) -> Check:
            return Check(finds.__name__, title, *finds(seen))

        return checked

    return made


@dataclass(frozen=True)
class Seen:
    """What the checks look at: a server, another serving of the same model if there is one, and the prompts.

    `cells` is the comparison of both (`comparison.cell_rows`). `worse_by` is the loss of scores that is no
    fault; without it, answers must be the same.
    """

    served: ServerAnswers
    other: ServerAnswers | None
    prompts: PromptTexts
    cells: Sequence[CellRow] = ()
    worse_by: float | None = None

    @cached_property
    def both(self) -> pd.DataFrame:
        """The prompts that both servers answered: the served one's columns, and `<column>_other`."""
        if self.other is None:
            raise ValueError("there is no other server")
        theirs = self.other.given[
            [*KEY, "text", "value", "prompt_tokens", "asked_in", "answered_in"]
        ]
        return self.served.given.merge(theirs, on=KEY, suffixes=("", "_other"))

    def more(self, needed: float, have: float) -> str:
        """How many prompts and tokens would give the number that is `needed` where there are `have`."""
        n = len(self.served.first) + len(self.served.again)
        tokens = self.served.read or int(self.served.first["n_tokens"].sum())
        factor = max(1.1, needed / max(1, have))
        prompts = math.ceil(factor * n / 10) * 10
        return f"ask {prompts:,} prompts (--prompts), of about {factor * tokens / 1e6:.1f} million tokens"

    def answered(self, row: Any, note: str = "", wanted: bool = True) -> Evidence:
        """The evidence of a row of answers."""
        return Evidence(
            row.benchmark,
            row.instance_id,
            row.raw_text if isinstance(row.raw_text, str) else row.text,
            ", ".join(row.references[:3]) if wanted else "",
            note,
        )

    def evidence(
        self, rows: pd.DataFrame, note: str = "", wanted: bool = True
    ) -> tuple[Evidence, ...]:
        """The evidence of the first rows."""
        return tuple(self.answered(row, note, wanted) for row in rows[:SHOWN].itertuples())


def low(k: int, n: int) -> float:
    """The lower end of the exact one-sided interval of a share k of n, at `ALPHA`."""
    from scipy.special import betaincinv

    return float(betaincinv(k, n - k + 1, ALPHA)) if k else 0.0


def rarer(k: int, n: int, of: int, total: int) -> float:
    """Fisher's one-sided p that k of n is not a smaller share than `of` of `total`."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[k, n - k], [of, total - of]], alternative="less").pvalue)


def percent(share: float) -> str:
    """A share in [0, 1] as whole percent."""
    return f"{100 * share:.0f}%"


def out_of(k: int, n: int, noun: str = "") -> str:
    """A count as "3 of 1,200 prompts"."""
    return f"{k:,} of {n:,}" + f" {noun}" * bool(noun)


def counts(rows: pd.DataFrame) -> pd.Series:
    """The tokens of prompts by the server's count, or by ours if it counts not all of them."""
    counted = rows["prompt_tokens"].fillna(0)
    return counted if (counted > 0).all() else rows["n_tokens"]


def tokens_of(rows: pd.DataFrame) -> str:
    """The median length of prompts, in words."""
    number = float(counts(rows).median())
    return f"{number:,.0f} tokens" if number < 1000 else f"{round(number, -2):,.0f} tokens"


def right(rows: pd.DataFrame) -> tuple[int, int]:
    """How many rows are right, and how many there are."""
    return int((rows["value"] >= 0.5).sum()), len(rows)


def placed(seen: Seen) -> pd.DataFrame:
    """The answered prompts with a needle at a known place, and a score."""
    rows = seen.served.given
    return rows[rows["place"].notna() & rows["value"].notna()]
