"""Checks of what a server reads: whole prompts, every place, every length, and values unchanged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from needlework.answer_states import PROMPT_CUT
from needlework.results.doctor.comparing import alike
from needlework.results.doctor.seen import (
    ABLE,
    ALPHA,
    DRAWN,
    FAULT,
    LEAST,
    LOST,
    OPEN,
    SOUND,
    Finding,
    Seen,
    check,
    low,
    out_of,
    placed,
    rarer,
    right,
    tokens_of,
)

if TYPE_CHECKING:
    import pandas as pd

# A mean count of tokens below this share of what shorter prompts have per character: the prompt was cut.
WHOLE = 0.9
# Lengths that are further apart show a model's natural decline.
NEIGHBOURS = 6
# Values that are changed, and the share of their characters that stays.
_LIKE_DRAWN, ALIKE = re.compile(r"[0-9a-f][0-9a-f-]{18,}|\d{5,}"), 0.7
# Characters of an answer in which they are looked for.
_READ = 10_000


@check("Prompts are read whole")
def whole_prompts(seen: Seen) -> Finding:
    """Whether prompts are read whole, by the server's counts of their tokens."""
    rows = seen.served.first
    cut = rows[rows["outcome"] == PROMPT_CUT]
    if len(cut):
        most = int(cut["prompt_tokens"].max())
        cut_prompts = out_of(len(cut), len(rows), "prompts")
        sentence = f"{cut_prompts} were cut: the server read at most {most:,} tokens of them"
        return Finding(FAULT, sentence, evidence=seen.evidence(cut, wanted=False))
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
                return Finding(FAULT, sentence, evidence=seen.evidence(group))
    if told and len(counted) > 0.9 * len(seen.served.given):
        longest = int(counted["prompt_tokens"].max())
        return Finding(SOUND, f"tokens grow with the text, up to {longest:,}")
    if reads := _read_everywhere(seen):
        return Finding(SOUND, f"the server counts no tokens, but {reads}")
    why = "the server counts no tokens (`usage`)" if counted.empty else "too few lengths were asked"
    return Finding(OPEN, f"{why}, and lost answers do not show it either", "")


def _read_everywhere(seen: Seen) -> str:
    """That the longest prompts were read at each place; "" if that does not show."""
    if alike(seen):
        return "its answers are those of the other server"
    for _, own in placed(seen).groupby("part"):
        longest = own[own["size"] == own["size"].max()]
        shares = longest.groupby("place")["value"].mean()
        if len(shares) >= 3 and shares.min() >= ABLE:
            return f"it answers from each place of prompts of {tokens_of(longest)}"
    return ""


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


@check("Every place of a prompt is read")
def places(seen: Seen) -> Finding:
    """Whether there is a region from which the server does not answer, while it does from the others.

    A region that is half lost in shorter prompts is a model's natural decline, and none is reported.
    """
    rows = placed(seen)
    parts = [by_size(own) for _, own in rows.groupby("part")]
    tests = sum(map(len, parts)) * len(_REGIONS)
    able = False
    for groups in parts:
        for i, own in enumerate(groups):
            for where, region in _REGIONS.items():
                inside = own["place"].isin(region)
                (k, n), (of, total) = right(own[inside]), right(own[~inside])
                if n < LEAST or total < LEAST or of < ABLE * total:
                    continue
                able |= len(region) > 1 and rarer(0, n, total, total) < ALPHA / tests
                if k > LOST * n or rarer(k, n, of, total) >= ALPHA / tests:
                    continue
                shorter = groups[i - 1] if i else own[:0]
                before, asked = right(shorter[shorter["place"].isin(region)])
                if LOST * asked < before < ABLE * asked or _also_lost(seen, own[inside]):
                    continue
                sentence = (
                    f"{out_of(k, n)} right if the answer stands {where} of prompts of {tokens_of(own)}, "
                    f"{out_of(of, total)} elsewhere: that part is not read (a cut, an evicted cache, "
                    "sparse attention)"
                )
                wrong = own[inside & (own["value"] < 0.5)]
                return Finding(FAULT, sentence, evidence=seen.evidence(wrong))
    return _told_by_scores(seen, able, "right at every place of each length")


def by_size(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each size, from the shortest."""
    return [rows[rows["size"] == size] for size in sorted(rows["size"].unique())]


@check("Long prompts are answered as short ones")
def lengths(seen: Seen) -> Finding:
    """Whether answers that are right in short prompts are lost from some length on."""
    rows = placed(seen)
    able = False
    for _, own in rows.groupby("part"):
        groups = [group for group in by_size(own) if len(group) >= LEAST]
        for short, long in pairwise(groups):
            (of, total), (k, n) = right(short), right(long)
            if of < ABLE * total:
                break
            if long["chars"].mean() > NEIGHBOURS * short["chars"].mean():
                continue
            able |= rarer(0, n, total, total) < ALPHA
            lost = k <= LOST * n and rarer(k, n, of, total) < ALPHA
            if lost and not _also_lost(seen, long):
                sentence = (
                    f"{out_of(of, total)} right in prompts of {tokens_of(short)}, {out_of(k, n)} in those "
                    f"of {tokens_of(long)}: a lower limit, cut prompts, or positions that are scaled wrongly"
                )
                wrong = long[long["value"] < 0.5]
                return Finding(FAULT, sentence, evidence=seen.evidence(wrong))
    return _told_by_scores(seen, able, "no length from which answers are lost")


def _also_lost(seen: Seen, rows: pd.DataFrame) -> bool:
    """Whether another server is not more often right in these prompts: then it is the model's weakness."""
    if seen.other is None:
        return False
    theirs = seen.other.given[seen.other.given["instance_id"].isin(set(rows["instance_id"]))]
    # The fault itself is shown by prompts of one server, so this may be less certain.
    return rarer(*right(rows), *right(theirs)) >= 10 * ALPHA


def _told_by_scores(seen: Seen, able: bool, found: str) -> Finding:
    """Sound if the model is able to show the fault, or if its answers are the other server's."""
    if able:
        return Finding(SOUND, found)
    if alike(seen):
        return Finding(
            SOUND,
            "the model is too often wrong to tell, but answers as the other server",
        )
    rows = placed(seen)
    shortest = rows[rows["size"] == rows.groupby("part")["size"].transform("min")]
    k, n = right(shortest)
    more = "compare it with another serving of the model (--against)"
    if n and k >= ABLE * n:
        more = seen.more(2, 1)
    sentence = (
        f"the model answers {out_of(k, n)} of the shortest prompts rightly"
        if n
        else "no prompt has a place"
    )
    return Finding(OPEN, sentence, more)


@check("Values come back unchanged")
def copies(seen: Seen) -> Finding:
    """Whether values come back with some characters changed, as from a cache in few bits."""
    rows = _with_values(seen.served.given)
    theirs = _with_values(seen.other.given) if seen.other is not None else None
    exact, able = rows["value"] >= 0.5, False
    for part, own in rows.groupby("part"):
        k, n = int(own["near"].sum()), len(own)
        able |= n >= 2 * LEAST and int((exact[own.index] | own["near"]).sum()) >= ABLE * n
        if k < 3 or low(k, n) <= 0.01:
            continue
        if theirs is not None:
            same = theirs[theirs["part"] == part]
            if rarer(int(same["near"].sum()), len(same), k, n) >= ALPHA:
                continue
        sentence = (
            f"{out_of(k, n)} answers have the value with some characters changed: keys and values of too "
            "few bits, or other wrong numbers in attention"
        )
        return Finding(FAULT, sentence, evidence=seen.evidence(own[own["near"]]))
    found = f"{out_of(int(exact.sum()), len(rows), 'exact')}, {int(rows['near'].sum())} nearly so"
    return _told_by_scores(seen, able, found)


def _with_values(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose references are drawn values; `near` says that an answer has such a value changed."""
    drawn = [len(r) > 0 and all(DRAWN.fullmatch(one) for one in r) for r in rows["references"]]
    rows = rows[drawn]
    near = [_near(row.text, row.references) for row in rows.itertuples()]
    return rows.assign(near=np.array(near, dtype=bool) & (rows["value"] < 0.5).to_numpy())


def _near(text: str, references: Sequence[str]) -> bool:
    """Whether an answer has a text of a reference's form that equals it in most characters.

    The beginning of a value is none: the answer may have been cut there.
    """
    return any(
        not wanted.startswith(found)
        and len(found) <= 2 * len(wanted)
        and SequenceMatcher(None, found, wanted, autojunk=False).ratio() >= ALIKE
        for found in _LIKE_DRAWN.findall(text[:_READ].lower())
        for wanted in map(str.lower, references)
    )
