"""Checks of what a server gives: own, whole and repeated answers, in the language of the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.answer_states import (
    EMPTY,
    FAILED,
    LENGTH,
    OTHER_MODEL,
    REASONED,
    REFUSED,
    RETRIED,
    SKIPPED,
    UNASKED,
    UNDECODED,
    UNKNOWN_MARK,
)
from needlework.results.doctor.comparing import alike
from needlework.results.doctor.seen import (
    ALPHA,
    DRAWN,
    FAULT,
    OPEN,
    SHOWN,
    SOUND,
    Finding,
    Seen,
    check,
    low,
    out_of,
    rarer,
)

if TYPE_CHECKING:
    import pandas as pd

_ERROR = re.compile(
    r"\W*(?:(?:internal |upstream |inference |engine |backend )?(?:server )?(?:error|exception)\b|traceback\b"
    r"|(?:request |gateway |upstream )?time(?:d[ -])?out\b|rate limit|too many requests|bad gateway"
    r"|service (?:is )?(?:temporarily )?unavailable|(?:model|server|engine) (?:is )?(?:currently )?overloaded"
    r"|cuda (?:error|out of memory)|out of memory|upstream (?:connect|request))",
    re.IGNORECASE,
)


@check("No answer is another request's")
def own_answers(seen: Seen) -> Finding:
    """Whether answers are of the own prompt: none has a value that only another prompt has."""
    rows = seen.served.given
    strange: dict[int, set[str]] = {}
    values = 0
    for row in rows.itertuples():
        found = set(DRAWN.findall(row.text.lower()))
        values += len(found) > 0
        if found:
            own = seen.prompts.text(row.benchmark, row.instance_id).lower()
            if left := {value for value in found if value not in own}:
                strange[row.Index] = left
    others: dict[str, tuple[str, str]] = {}
    if strange:
        wanted = set().union(*strange.values())
        for key in seen.prompts.names():
            for value in wanted.intersection(DRAWN.findall(seen.prompts.text(*key).lower())):
                others.setdefault(value, key)
    mixed = rows.loc[[i for i, left in strange.items() if left & others.keys()]]
    sure = [i for i in mixed.index if any(len(v) == 36 for v in strange[i] & others.keys())]
    if sure or len(mixed) >= 2:
        k = out_of(len(mixed), values, "answers")
        sentence = f"{k} with a value have one that only another prompt has"
        return Finding(FAULT, sentence, evidence=seen.evidence(mixed))
    if seen.other is not None:
        mixed = _swapped(seen)
        if len(mixed) >= 4:
            n = len(seen.both)
            sentence = (
                f"{out_of(len(mixed), n, 'answers')} are the other server's to another prompt alone"
            )
            return Finding(FAULT, sentence, evidence=seen.evidence(mixed))
        if len(seen.both) >= 20:
            return Finding(SOUND, "none has a value, or the other server's text, of another prompt")
    if values >= 20:
        return Finding(SOUND, f"{values:,} answers with a value have it from their own prompt")
    return Finding(
        OPEN,
        f"only {values} answers have a value that can be traced to a prompt",
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


@check("The same prompt has the same answer")
def repeats(seen: Seen) -> Finding:
    """Whether the server gives the same answer to the same prompt, in another order and company."""
    twice = seen.served.twice()
    k, n = int((twice["text"] != twice["text_again"]).sum()), len(twice)
    flipped = int(((twice["value"] >= 0.5) != (twice["value_again"] >= 0.5)).sum())
    said = f"{out_of(k, n)} second answers differ, and {flipped} of them in being right"
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
        return Finding(FAULT, sentence, evidence=notes)
    if n < 10:
        return Finding(OPEN, f"only {n} prompts have a second answer", seen.more(10, n))
    return Finding(SOUND, said, evidence=notes)


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


@check("Requests end in an answer")
def outcomes(seen: Seen) -> Finding:
    """Whether requests end in an answer: none is empty, an error, cut in thoughts, or refused."""
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
        return Finding(FAULT, sentence, evidence=seen.evidence(found[0][1]))
    if len(rows) < 50:
        return Finding(OPEN, f"only {len(rows)} prompts were asked", seen.more(50, len(rows)))
    said = (
        f"all {len(rows):,} have one"
        if not lost
        else f"{lost} of {len(rows):,} have none, as elsewhere or by chance"
    )
    return Finding(SOUND, said)


@check("Answers are in the language of the question")
def languages(seen: Seen) -> Finding:
    """Whether answers are in the language of the question."""
    rows = seen.served.given
    rows = rows[rows["asked_in"].notna() & rows["answered_in"].notna()]
    could = 0
    for asked, own in rows.groupby("asked_in"):
        other = own[own["answered_in"] != asked]
        k, n = len(other), len(own)
        could += n >= 5
        if k < 3 or low(k, n) <= 0.1:
            continue
        into = Counter(other["answered_in"]).most_common(1)[0][0]
        sentence = f"{out_of(k, n)} answers to questions in {asked} are in another language, most in {into}"
        if seen.other is not None:
            both = seen.both[
                (seen.both["asked_in"] == asked) & seen.both["answered_in_other"].notna()
            ]
            of = int((both["answered_in_other"] != asked).sum())
            if rarer(of, len(both), k, n) < ALPHA:
                sentence += f"; of the other server's, {out_of(of, len(both))}"
                return Finding(FAULT, sentence, evidence=seen.evidence(other))
        elif asked == "en" or into != "en":
            return Finding(FAULT, sentence, evidence=seen.evidence(other))
        else:
            more = "compare it with another serving of the model (--against)"
            return Finding(OPEN, f"{sentence}, as from a model that lacks {asked}", more)
    if could:
        same = int((rows["asked_in"] == rows["answered_in"]).sum())
        return Finding(SOUND, f"{out_of(same, len(rows))} whose language shows")
    if alike(seen):
        return Finding(SOUND, "too few answers show a language, but they are the other server's")
    return Finding(
        OPEN,
        f"only {len(rows)} answers show a language",
        f"{seen.more(10, len(rows))}, or ask other --languages",
    )


@check("Replies name the model that was asked for")
def model_served(seen: Seen) -> Finding:
    """Whether replies name the model that was asked for."""
    rows = seen.served.first
    said = [
        next((x for x in r if x.startswith(OTHER_MODEL)), "") if r is not None else ""
        for r in rows["remarks"]
    ]
    others = rows[[bool(one) for one in said]]
    if len(others):
        names = ", ".join(sorted({one.partition(": ")[2] for one in said if one})[:3])
        return Finding(
            FAULT,
            f"{out_of(len(others), len(rows), 'replies')} name {names}",
            evidence=seen.evidence(others),
        )
    return Finding(SOUND, "no reply names another")
