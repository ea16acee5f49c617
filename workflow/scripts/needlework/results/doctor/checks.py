"""The checks of the doctor: each finds one kind of fault in a server's answers, or says that it cannot tell.

A check reports a fault only if its test's p is below `ALPHA`, or if the server itself shows the fault: by its
counts of tokens, by what it gave in place of an answer, by a value that only another prompt has. What a model
cannot do is no fault, so a check of what was read compares prompts that differ in length or place alone, and
tells only if the same model is right in the easier ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from needlework.answer_states import (
    EMPTY,
    FAILED,
    LENGTH,
    OTHER_MODEL,
    PROMPT_CUT,
    REASONED,
    REFUSED,
    RETRIED,
    SKIPPED,
    UNASKED,
    UNDECODED,
    UNKNOWN_MARK,
)
from needlework.results.doctor.answers import PromptTexts, ServerAnswers
from needlework.results.doctor.comparison import CellRow, beyond, missing, unproven
from needlework.results.significance import paired_test
from needlework.results.stats import mcnemar

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
# A mean count of tokens below this share of what shorter prompts have per character: the prompt was cut.
WHOLE = 0.9
# Shown of each check.
SHOWN = 5

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
# What prompts have drawn at random, so that an answer can have it from a prompt only.
_DRAWN = re.compile(rf"\b(?:{_UUID}|\d{{6,}})\b")
_ERROR = re.compile(
    r"\W*(?:(?:internal |upstream |inference |engine |backend )?(?:server )?(?:error|exception)\b|traceback\b"
    r"|(?:request |gateway |upstream )?time(?:d[ -])?out\b|rate limit|too many requests|bad gateway"
    r"|service (?:is )?(?:temporarily )?unavailable|(?:model|server|engine) (?:is )?(?:currently )?overloaded"
    r"|cuda (?:error|out of memory)|out of memory|upstream (?:connect|request))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Evidence:
    """A prompt, by its benchmark and id, the answer, the one that was wanted, and what to see in them."""

    benchmark: str
    instance_id: str
    answer: str
    wanted: str = ""
    note: str = ""


@dataclass(frozen=True)
class Check:
    """The outcome of a check: its verdict, the sentence that gives the numbers, and what would tell more."""

    name: str
    title: str
    verdict: Verdict
    sentence: str
    more: str = ""
    evidence: tuple[Evidence, ...] = ()


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
        names = ["benchmark", "instance_id", "sample"]
        theirs = self.other.given[
            [*names, "text", "value", "prompt_tokens", "asked_in", "answered_in"]
        ]
        return self.served.given.merge(theirs, on=names, suffixes=("", "_other"))

    @cached_property
    def alike(self) -> bool:
        """Whether another server's answers were compared, and are the same: at least most of them."""
        if self.other is None or same_texts(self).verdict != SOUND:
            return False
        return bool((self.both["text"] == self.both["text_other"]).mean() >= 0.5)

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


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _of(k: int, n: int, noun: str = "") -> str:
    return f"{k:,} of {n:,}" + f" {noun}" * bool(noun)


def _tokens(rows: pd.DataFrame) -> str:
    """How long prompts are, by the server's count or else by ours."""
    counted = rows["prompt_tokens"].fillna(0)
    own = counted if (counted > 0).all() else rows["n_tokens"]
    number = float(own.median())
    return f"{number:,.0f} tokens" if number < 1000 else f"{round(number, -2):,.0f} tokens"


# What the server read.


def whole_prompts(seen: Seen) -> Check:
    """Whether prompts are read whole, by the server's counts of their tokens."""
    name, title, rows = "whole_prompts", "Prompts are read whole", seen.served.first
    cut = rows[rows["outcome"] == PROMPT_CUT]
    if len(cut):
        why = str(cut.iloc[0]["error"])
        sentence = f"{_of(len(cut), len(rows), 'prompts')} were cut: {why}"
        return Check(name, title, FAULT, sentence, evidence=seen.evidence(cut, wanted=False))
    counted = seen.served.counted
    told = False
    for _, own in counted.groupby(["part", "asked_in"], dropna=False):
        sizes = sorted(
            own["size"].unique(), key=lambda size: own[own["size"] == size]["chars"].mean()
        )
        groups = [own[own["size"] == size] for size in sizes]
        if len(groups) < 3 or min(map(len, groups)) < LEAST:
            continue
        told = True
        (c0, t0), (c1, t1) = ((g["chars"].mean(), g["prompt_tokens"].mean()) for g in groups[:2])
        for group in groups[2:]:
            expected = t0 + (t1 - t0) / (c1 - c0) * (group["chars"].mean() - c0)
            read = group["prompt_tokens"].mean()
            if read < WHOLE * expected:
                sentence = (
                    f"the server counts {read:,.0f} tokens in prompts that have about {expected:,.0f}, by "
                    "the tokens and characters of shorter ones: it cuts prompts"
                )
                return Check(name, title, FAULT, sentence, evidence=seen.evidence(group))
    if told and len(counted) > 0.9 * len(seen.served.given):
        longest = int(counted["prompt_tokens"].max())
        return Check(name, title, SOUND, f"tokens grow with the text, up to {longest:,}")
    if reads := _read_everywhere(seen):
        return Check(name, title, SOUND, f"the server counts no tokens, but {reads}")
    why = "the server counts no tokens (`usage`)" if counted.empty else "too few lengths were asked"
    return Check(name, title, OPEN, f"{why}, and lost answers do not show it either", "")


def _read_everywhere(seen: Seen) -> str:
    """That the longest prompts were read at each place; "" if that does not show."""
    if seen.alike:
        return "its answers are those of the other server"
    for _, own in _placed(seen).groupby("part"):
        longest = own[own["size"] == own["size"].max()]
        shares = longest.groupby("place")["value"].mean()
        if len(shares) >= 3 and shares.min() >= ABLE:
            return f"it answers from each place of prompts of {_tokens(longest)}"
    return ""


def same_prompts(seen: Seen) -> Check:
    """Whether both servers count the same tokens in the same prompts."""
    name, title, both = "same_prompts", "Both servers read the same tokens", seen.both
    both = both[(both["prompt_tokens"].fillna(0) > 0) & (both["prompt_tokens_other"].fillna(0) > 0)]
    more = both["prompt_tokens"].astype(int) - both["prompt_tokens_other"].astype(int)
    if both.empty:
        if seen.alike:
            return Check(
                name, title, SOUND, "a server counts no tokens, but both give the same answers"
            )
        return Check(name, title, OPEN, "a server counts no tokens (`usage`)")
    changed = both[more != 0]
    if len(changed) < 2:
        return Check(name, title, SOUND, f"equal counts of all {len(both):,} prompts")
    least, most = int(more.min()), int(more.max())
    sentence = f"{_of(len(changed), len(both), 'prompts')} have {least:+,} to {most:+,} tokens"
    if least == most:
        sentence = (
            f"each of {len(both):,} prompts has {least:+,} tokens: another chat template (or one that is "
            "applied twice), special tokens, or a system prompt"
        )
    elif most <= 0:
        sentence += ": it cuts prompts, or has another tokenizer or template"
    else:
        sentence += ": another tokenizer, chat template or system prompt"
    return Check(name, title, FAULT, sentence, evidence=seen.evidence(changed, wanted=False))


def _placed(seen: Seen) -> pd.DataFrame:
    """The answered prompts with a needle at a known place, and a score."""
    rows = seen.served.given
    return rows[rows["place"].notna() & rows["value"].notna()]


def _right(rows: pd.DataFrame) -> tuple[int, int]:
    """How many rows are right, and how many there are."""
    return int((rows["value"] >= 0.5).sum()), len(rows)


# Regions of a prompt that may be lost together, by the places in them.
_REGIONS: dict[str, tuple[float, ...]] = {
    "at the beginning": (0.0,),
    "in the first quarter": (0.0, 0.25),
    "at a quarter": (0.25,),
    "in the middle": (0.25, 0.5, 0.75),
    "at half": (0.5,),
    "at three quarters": (0.75,),
    "in the last quarter": (0.75, 1.0),
    "at the end": (1.0,),
    "anywhere but at the end": (0.0, 0.25, 0.5, 0.75),
    "anywhere but at the beginning": (0.25, 0.5, 0.75, 1.0),
}


def places(seen: Seen) -> Check:
    """Whether there is a region from which the server does not answer, while it does from the others.

    A region that is half lost in shorter prompts is a model's natural decline, and none is reported.
    """
    name, title, rows = "places", "Every place of a prompt is read", _placed(seen)
    parts = [_by_size(own) for _, own in rows.groupby("part")]
    tests = sum(map(len, parts)) * len(_REGIONS)
    able = False
    for groups in parts:
        for i, own in enumerate(groups):
            for where, region in _REGIONS.items():
                inside = own["place"].isin(region)
                (k, n), (of, total) = _right(own[inside]), _right(own[~inside])
                if n < LEAST or total < LEAST or of < ABLE * total:
                    continue
                able |= len(region) > 1 and rarer(0, n, total, total) < ALPHA / tests
                if k > LOST * n or rarer(k, n, of, total) >= ALPHA / tests:
                    continue
                shorter = groups[i - 1] if i else own[:0]
                before, asked = _right(shorter[shorter["place"].isin(region)])
                if LOST * asked < before < ABLE * asked:
                    continue
                sentence = (
                    f"{_of(k, n)} right if the answer stands {where} of prompts of {_tokens(own)}, "
                    f"{_of(of, total)} elsewhere: that part is not read (a cut, an evicted cache, sparse "
                    "attention)"
                )
                wrong = own[inside & (own["value"] < 0.5)]
                return Check(name, title, FAULT, sentence, evidence=seen.evidence(wrong))
    return _told_by_scores(seen, name, title, able, "right at every place of each length")


def _by_size(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each size, from the shortest."""
    return [rows[rows["size"] == size] for size in sorted(rows["size"].unique())]


def lengths(seen: Seen) -> Check:
    """Whether answers that are right in short prompts are lost from some length on."""
    name, title, rows = "lengths", "Long prompts are answered as short ones", _placed(seen)
    able = False
    for _, own in rows.groupby("part"):
        groups = [group for group in _by_size(own) if len(group) >= LEAST]
        for short, long in pairwise(groups):
            (of, total), (k, n) = _right(short), _right(long)
            if of < ABLE * total:
                break
            able |= rarer(0, n, total, total) < ALPHA
            if k <= LOST * n and rarer(k, n, of, total) < ALPHA:
                sentence = (
                    f"{_of(of, total)} right in prompts of {_tokens(short)}, {_of(k, n)} in those of "
                    f"{_tokens(long)}: the limit is lower, prompts are cut, or positions are scaled wrongly"
                )
                wrong = long[long["value"] < 0.5]
                return Check(name, title, FAULT, sentence, evidence=seen.evidence(wrong))
    return _told_by_scores(seen, name, title, able, "no length from which answers are lost")


def _told_by_scores(seen: Seen, name: str, title: str, able: bool, found: str) -> Check:
    """Sound if the model is able to show the fault, or if its answers are the other server's."""
    if able:
        return Check(name, title, SOUND, found)
    if seen.alike:
        return Check(
            name,
            title,
            SOUND,
            "the model is too often wrong to tell, but answers as the other server",
        )
    rows = _placed(seen)
    shortest = rows[rows["size"] == rows.groupby("part")["size"].transform("min")]
    k, n = _right(shortest)
    more = "compare it with another serving of the model (--against)"
    if n and k >= ABLE * n:
        more = (
            f"ask {4 * LEAST} prompts per place and length or more (--prompts {_larger(seen, 4)})"
        )
    sentence = (
        f"the model answers {_of(k, n)} of the shortest prompts rightly"
        if n
        else "no prompt has a place"
    )
    return Check(name, title, OPEN, sentence, more)


def _larger(seen: Seen, factor: float) -> str:
    """A larger number of prompts, and what it costs."""
    n = len(seen.served.first) + len(seen.served.again)
    tokens = seen.served.read or int(seen.served.first["n_tokens"].sum())
    return f"{round(factor * n, -1):,.0f}, about {factor * tokens / 1e6:.1f} million tokens"


def copies(seen: Seen) -> Check:
    """Whether values come back with some characters changed, as from a cache in few bits."""
    name, title, rows = "copies", "Values come back unchanged", seen.served.given
    rows = rows[
        [len(r) > 0 and all(_DRAWN.fullmatch(one) for one in r) for r in rows["references"]]
    ]
    near = [_near(row.text, row.references) for row in rows.itertuples()]
    exact = rows["value"] >= 0.5
    rows = rows.assign(near=[n and not e for n, e in zip(near, exact, strict=True)])
    able = False
    for _, own in rows.groupby("part"):
        k, n = int(own["near"].sum()), len(own)
        able |= n >= 2 * LEAST and int((exact[own.index] | own["near"]).sum()) >= ABLE * n
        if k >= 3 and low(k, n) > 0.01:
            sentence = (
                f"{_of(k, n)} answers have the value with some characters changed: keys and values of too "
                "few bits, or other wrong numbers in attention"
            )
            return Check(name, title, FAULT, sentence, evidence=seen.evidence(own[own["near"]]))
    return _told_by_scores(
        seen, name, title, able, f"{_of(int(exact.sum()), len(rows), 'exact')}, none nearly so"
    )


def _near(text: str, references: Sequence[str]) -> bool:
    """Whether an answer has a value of a reference's form that equals it in most characters."""
    for found in _DRAWN.findall(text.lower()):
        for wanted in references:
            if len(found) == len(wanted) and found != wanted:
                same = sum(a == b for a, b in zip(found, wanted.lower(), strict=True))
                if same >= 0.65 * len(wanted):
                    return True
    return False


def own_answers(seen: Seen) -> Check:
    """Whether answers are of the own prompt: none has a value that only another prompt has."""
    name, title, rows = "own_answers", "No answer is another request's", seen.served.given
    strange: dict[int, set[str]] = {}
    values = 0
    for row in rows.itertuples():
        found = set(_DRAWN.findall(row.text.lower()))
        values += len(found) > 0
        if found:
            own = seen.prompts.text(row.benchmark, row.instance_id).lower()
            if left := {value for value in found if value not in own}:
                strange[row.Index] = left
    others: dict[str, tuple[str, str]] = {}
    if strange:
        wanted = set().union(*strange.values())
        for key in seen.prompts.names():
            for value in wanted.intersection(_DRAWN.findall(seen.prompts.text(*key).lower())):
                others.setdefault(value, key)
    mixed = rows.loc[[i for i, left in strange.items() if left & others.keys()]]
    sure = [i for i in mixed.index if any(len(v) == 36 for v in strange[i] & others.keys())]
    if sure or len(mixed) >= 2:
        sentence = f"{_of(len(mixed), values, 'answers')} with a value have one that only another prompt has"
        return Check(name, title, FAULT, sentence, evidence=seen.evidence(mixed))
    if seen.other is not None:
        mixed = _swapped(seen)
        if len(mixed) >= 4:
            n = len(seen.both)
            sentence = (
                f"{_of(len(mixed), n, 'answers')} are the other server's to another prompt alone"
            )
            return Check(name, title, FAULT, sentence, evidence=seen.evidence(mixed))
        return Check(
            name, title, SOUND, "none has a value, or the other server's text, of another prompt"
        )
    if values >= 20:
        return Check(
            name, title, SOUND, f"{values:,} answers with a value have it from their own prompt"
        )
    return Check(
        *(name, title, OPEN, f"only {values} answers have a value that can be traced to a prompt"),
        "compare it with another serving of the model (--against)",
    )


def _swapped(seen: Seen) -> pd.DataFrame:
    """Answers that are not the other server's, but its text for the prompts of one other question alone."""
    theirs: dict[str, set[str]] = {}
    for text, question in zip(seen.both["text_other"], seen.both["example_id"], strict=True):
        theirs.setdefault(text, set()).add(question)
    both = seen.both
    kept = [
        len(row.text) >= 20
        and row.text != row.text_other
        and len(theirs.get(row.text, ())) == 1
        and row.example_id not in theirs[row.text]
        for row in both.itertuples()
    ]
    return both[kept]


def repeats(seen: Seen) -> Check:
    """Whether the server gives the same answer to the same prompt, in another order and company."""
    name, title, twice = "repeats", "The same prompt has the same answer", seen.served.twice()
    k, n = int((twice["text"] != twice["text_again"]).sum()), len(twice)
    flipped = int(((twice["value"] >= 0.5) != (twice["value_again"] >= 0.5)).sum())
    said = f"{_of(k, n)} second answers differ, and {flipped} of them in being right"
    differ = twice[twice["text"] != twice["text_again"]]
    notes = tuple(
        replace(seen.answered(row), note=f"the second answer: {row.text_again}")
        for row in differ[:SHOWN].itertuples()
    )
    if low(k, n) > 0.5:
        sentence = (
            f"{said}: the temperature is not 0, answers depend on other requests, or servers of one address "
            "differ"
        )
        return Check(name, title, FAULT, sentence, evidence=notes)
    if n < 10:
        return Check(
            name, title, OPEN, f"only {n} prompts have a second answer", "ask more prompts"
        )
    return Check(name, title, SOUND, said, evidence=notes)


# What the server gave in place of an answer.


def _kinds(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series, int]]:
    """The kinds of lost answers: words, which rows are of the kind, and the fewest that are a fault."""
    remarks = rows["remarks"].map(lambda r: " ".join(r) if r is not None and len(r) else "")
    blank = ~rows["text"].fillna("").str.strip().astype(bool)
    ended, outcome = rows["finish_reason"] == LENGTH, rows["outcome"]
    thoughts = (
        ((outcome == EMPTY) & remarks.str.contains(REASONED))
        | (ended & blank)
        | (ended & remarks.str.contains(UNKNOWN_MARK))
    )
    error = rows["given"] & rows["text"].fillna("").map(lambda text: bool(_ERROR.match(text)))
    # Errors that went when the request was sent again.
    error |= remarks.str.contains(f"{RETRIED}: status 200")
    yield "got an error in place of an answer, with status 200", error, 2
    yield "have no answer, after all attempts", outcome.isin([FAILED, UNASKED]), 2
    yield "were refused as too long, though they fit into the context", outcome == REFUSED, 2
    yield "are thoughts that used up the tokens of the answer", thoughts, 3
    yield "are empty", (outcome == EMPTY) & ~thoughts, 3
    yield "have characters that are no text", remarks.str.contains(UNDECODED), 3
    longer = rows["completion_tokens"].fillna(0) > rows["max_new_tokens"]
    yield "are longer than `max_tokens` allows", longer & rows["given"], 3


def outcomes(seen: Seen) -> Check:
    """Whether requests end in an answer: none is empty, an error, cut in thoughts, or refused."""
    name, title = "outcomes", "Requests end in an answer"
    rows = seen.served.first[seen.served.first["outcome"] != SKIPPED]
    theirs = seen.other.first if seen.other else None
    usual = [int(of.sum()) for _, of, _ in _kinds(theirs)] if theirs is not None else None
    found: list[tuple[str, pd.DataFrame]] = []
    lost = 0
    for i, (words, of, least) in enumerate(_kinds(rows)):
        k, n = int(of.sum()), len(rows)
        lost += k
        common = (
            usual is not None
            and theirs is not None
            and usual[i]
            and (rarer(usual[i], len(theirs), k, n) >= ALPHA)
        )
        if k >= least and (least == 2 or low(k, n) > 0.005) and not common:
            found.append((f"{k:,} {words}", rows[of]))
    if found:
        sentence = f"of {len(rows):,} requests, " + "; ".join(words for words, _ in found)
        return Check(name, title, FAULT, sentence, evidence=seen.evidence(found[0][1]))
    if len(rows) < 50:
        return Check(name, title, OPEN, f"only {len(rows)} prompts were asked", "ask more prompts")
    said = (
        f"all {len(rows):,} have one"
        if not lost
        else f"{lost} of {len(rows):,} have none, as elsewhere or by chance"
    )
    return Check(name, title, SOUND, said)


def languages(seen: Seen) -> Check:
    """Whether answers are in the language of the question."""
    name, title, rows = (
        "languages",
        "Answers are in the language of the question",
        seen.served.given,
    )
    rows = rows[rows["asked_in"].notna() & rows["answered_in"].notna()]
    could = 0
    for asked, own in rows.groupby("asked_in"):
        other = own[own["answered_in"] != asked]
        k, n = len(other), len(own)
        could += n >= 5
        if k < 3 or low(k, n) <= 0.1:
            continue
        into = Counter(other["answered_in"]).most_common(1)[0][0]
        sentence = (
            f"{_of(k, n)} answers to questions in {asked} are in another language, most in {into}"
        )
        if seen.other is not None:
            both = seen.both[
                (seen.both["asked_in"] == asked) & seen.both["answered_in_other"].notna()
            ]
            of = int((both["answered_in_other"] != asked).sum())
            if rarer(of, len(both), k, n) < ALPHA:
                sentence += f"; of the other server's, {_of(of, len(both))}"
                return Check(name, title, FAULT, sentence, evidence=seen.evidence(other))
        elif asked == "en" or into != "en" or _knows(seen, str(asked)):
            return Check(name, title, FAULT, sentence, evidence=seen.evidence(other))
        else:
            more = "compare it with another serving of the model (--against)"
            return Check(name, title, OPEN, f"{sentence}, as from a model that lacks {asked}", more)
    if could:
        return Check(
            name,
            title,
            SOUND,
            f"{_of(int((rows['asked_in'] == rows['answered_in']).sum()), len(rows))} whose language shows",
        )
    if seen.alike:
        return Check(
            name, title, SOUND, "too few answers show a language, but they are the other server's"
        )
    return Check(
        name,
        title,
        OPEN,
        f"only {len(rows)} answers show a language",
        "ask more prompts, or other --languages",
    )


def _knows(seen: Seen, lang: str) -> bool:
    """Whether the model is right in prompts of a language whose answers show none, such as numbers."""
    rows = seen.served.given
    k, n = _right(rows[(rows["asked_in"] == lang) & rows["answered_in"].isna()])
    return n >= LEAST and k >= ABLE * n


def model_served(seen: Seen) -> Check:
    """Whether replies name the model that was asked for."""
    name, title, rows = (
        "model_served",
        "Replies name the model that was asked for",
        seen.served.first,
    )
    said = [
        next((x for x in r if x.startswith(OTHER_MODEL)), "") if r is not None else ""
        for r in rows["remarks"]
    ]
    others = rows[[bool(one) for one in said]]
    if len(others):
        names = ", ".join(sorted({one.partition(": ")[2] for one in said if one})[:3])
        return Check(
            name,
            title,
            FAULT,
            f"{_of(len(others), len(rows), 'replies')} name {names}",
            evidence=seen.evidence(others),
        )
    return Check(name, title, SOUND, "no reply names another")


# Against another serving of the model.

# Texts of sound servers may differ on more prompts than those of one server, since kernels add numbers in
# another order: so much more is no fault.
NOISE = 0.3


def same_texts(seen: Seen) -> Check:
    """Whether both servers give the same texts, as far as each gives itself the same ones."""
    name, title, both = "same_texts", "Answers are the other server's", seen.both
    k, n = int((both["text"] != both["text_other"]).sum()), len(both)
    assert seen.other is not None
    own = [side.twice() for side in (seen.served, seen.other)]
    floor = sum(int((t["text"] != t["text_again"]).sum()) for t in own)
    total = sum(map(len, own))
    said = f"texts differ on {_of(k, n, 'prompts')}, and of themselves on {_of(floor, total)}"
    if not n or total < 10:
        return Check(name, title, OPEN, f"{said}: too few to tell", "ask more prompts")
    differ = both[both["text"] != both["text_other"]]
    notes = tuple(
        replace(seen.answered(row), note=f"the other server: {row.text_other}")
        for row in differ[:SHOWN].itertuples()
    )
    if k / n - floor / total > NOISE and rarer(floor, total, k, n) < ALPHA:
        if seen.worse_by is not None:
            return Check(
                name,
                title,
                SOUND,
                f"{said}, which is no fault as long as scores hold",
                evidence=notes,
            )
        sentence = f"{said}: not the same weights, cache, attention, positions or template"
        more = "to allow other texts as long as scores hold, add --fail-if-worse-by 2"
        return Check(name, title, FAULT, sentence, more, notes)
    if seen.worse_by is None and floor / total > 1 - NOISE:
        more = "make the answers of each server repeat, or add --fail-if-worse-by 2"
        return Check(name, title, OPEN, f"{said}: more could not differ between them", more)
    return Check(name, title, SOUND, said, evidence=notes)


def not_worse(seen: Seen) -> Check:
    """Whether scores are no worse than the other server's."""
    name, title, both = "not_worse", "Scores are the other server's", seen.both
    assert seen.other is not None
    before, after = both["value_other"].to_numpy(float), both["value"].to_numpy(float)
    lost, won = int((after < before).sum()), int((after > before).sum())
    if both.empty:
        return Check(name, title, OPEN, "no prompt was answered by both")
    means = " and ".join(_percent(float(np.mean(values))) for values in (before, after))
    said = f"of {len(both):,} prompts, {lost} lost and {won} won; means {means}"
    worse = seen.evidence(both[after < before])
    if seen.worse_by is not None:
        if found := beyond(seen.cells, seen.worse_by):
            return Check(name, title, FAULT, f"{said}: {'; '.join(found[:3])}", evidence=worse)
        if gone := missing(seen.cells, seen.other.name, seen.served.name):
            return Check(
                name, title, OPEN, f"{'; '.join(gone)}: what is missing cannot be compared"
            )
        if why := unproven(seen.cells, seen.worse_by, seen.other.name):
            return Check(name, title, OPEN, f"{said}; {why}")
        return Check(
            name,
            title,
            SOUND,
            f"{said}: no cell is worse by more than {100 * seen.worse_by:g} points",
        )
    questions = both["benchmark"] + " " + both["example_id"]
    p = paired_test(after - before, questions)[0]
    if lost > won and p < ALPHA and mcnemar(before >= 0.5, after >= 0.5).p < ALPHA:
        return Check(name, title, FAULT, f"{said}: worse", evidence=worse)
    if seen.alike or (len(both) >= 100 and float(np.mean(before)) >= 0.3):
        return Check(name, title, SOUND, said)
    return Check(
        name,
        title,
        OPEN,
        f"{said}: too few right answers to lose",
        "ask more prompts, or what the model can answer",
    )


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
