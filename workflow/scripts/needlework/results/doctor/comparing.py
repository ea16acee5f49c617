"""Checks of a server against another serving of the same model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from needlework.results.doctor.comparison import beyond, missing, unproven
from needlework.results.doctor.seen import (
    ALPHA,
    FAULT,
    OPEN,
    SHOWN,
    SOUND,
    Finding,
    Seen,
    check,
    out_of,
    percent,
)
from needlework.results.significance import paired_test
from needlework.results.stats import mcnemar

# Sound servers add numbers in another order, so their texts part too, but late: so much more of a text after
# the first difference, on average, is no fault.
NOISE = 0.2


@check("Both servers read the same tokens")
def same_prompts(seen: Seen) -> Finding:
    """Whether both servers count the same tokens in the same prompts."""
    both = seen.both
    both = both[(both["prompt_tokens"].fillna(0) > 0) & (both["prompt_tokens_other"].fillna(0) > 0)]
    more = both["prompt_tokens"].astype(int) - both["prompt_tokens_other"].astype(int)
    if both.empty:
        if alike(seen):
            return Finding(SOUND, "a server counts no tokens, but both give the same answers")
        return Finding(OPEN, "a server counts no tokens (`usage`)")
    changed = both[more != 0]
    if len(changed) < 2:
        return Finding(SOUND, f"equal counts of all {len(both):,} prompts")
    least, most = int(more.min()), int(more.max())
    sentence = f"{out_of(len(changed), len(both), 'prompts')} have {least:+,} to {most:+,} tokens"
    if least == most:
        sentence = (
            f"each of {len(both):,} prompts has {least:+,} tokens: another chat template (or one that is "
            "applied twice), special tokens, or a system prompt"
        )
    elif most <= 0:
        sentence += ": it cuts prompts, or has another tokenizer or template"
    else:
        sentence += ": another tokenizer, chat template or system prompt"
    return Finding(FAULT, sentence, evidence=seen.evidence(changed, wanted=False))


@check("Answers are the other server's but for rounding")
def same_texts(seen: Seen) -> Finding:
    """Whether both servers give the same texts, as far as each gives itself the same ones."""
    both = seen.both
    k, n = int((both["text"] != both["text_other"]).sum()), len(both)
    assert seen.other is not None
    own = [side.twice() for side in (seen.served, seen.other)]
    floor = sum(int((t["text"] != t["text_again"]).sum()) for t in own)
    total = sum(map(len, own))
    said = f"texts differ on {out_of(k, n, 'prompts')}, and of themselves on {out_of(floor, total)}"
    between = _parted(both["text"], both["text_other"])
    within = [share for t in own for share in _parted(t["text"], t["text_again"])]
    if not n or total < 10:
        return Finding(OPEN, f"{said}: too few to tell", seen.more(10, total))
    differ = both[both["text"] != both["text_other"]]
    notes = tuple(
        replace(seen.answered(row), note=f"the other server: {row.text_other}")
        for row in differ[:SHOWN].itertuples()
    )
    more_parted = float(np.mean(between) - np.mean(within))
    if more_parted > NOISE and _larger(between, within) < ALPHA:
        if seen.worse_by is not None:
            return Finding(
                SOUND,
                f"{said}, which is no fault as long as scores hold",
                evidence=notes,
            )
        sentence = f"{said}: not the same weights, cache, attention, positions or template"
        more = "to allow other texts as long as scores hold, add --fail-if-worse-by 2"
        return Finding(FAULT, sentence, more, notes)
    if seen.worse_by is None and np.mean(within) > 1 - NOISE:
        more = "make the answers of each server repeat, or add --fail-if-worse-by 2"
        return Finding(OPEN, f"{said}: more could not differ between them", more)
    return Finding(SOUND, said, evidence=notes)


def _parted(texts: Iterable[str], others: Iterable[str]) -> list[float]:
    """The share of each pair of texts that comes after their first difference: 0 if they are equal."""
    made = []
    for a, b in zip(texts, others, strict=True):
        alike_until = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))  # noqa: B905
        made.append(1 - alike_until / max(len(a), len(b)) if a != b else 0.0)
    return made


def _larger(values: Sequence[float], others: Sequence[float]) -> float:
    """Mann and Whitney's one-sided p that values are not larger than others."""
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(values, others, alternative="greater").pvalue)


def alike(seen: Seen) -> bool:
    """Whether another server's answers were compared, and are the same: at least most of them."""
    if seen.other is None or same_texts(seen).verdict != SOUND:
        return False
    return bool((seen.both["text"] == seen.both["text_other"]).mean() >= 0.5)


@check("Scores are the other server's")
def not_worse(seen: Seen) -> Finding:
    """Whether scores are no worse than the other server's."""
    both = seen.both.dropna(subset=["value", "value_other"])
    assert seen.other is not None
    before, after = both["value_other"].to_numpy(float), both["value"].to_numpy(float)
    lost, won = int((after < before).sum()), int((after > before).sum())
    if both.empty:
        return Finding(OPEN, "no prompt was answered by both")
    means = " and ".join(percent(float(np.mean(values))) for values in (before, after))
    said = f"of {len(both):,} prompts, {lost} lost and {won} won; means {means}"
    worse = seen.evidence(both[after < before])
    if seen.worse_by is not None:
        if found := beyond(seen.cells, seen.worse_by):
            return Finding(FAULT, f"{said}: {'; '.join(found[:3])}", evidence=worse)
        if gone := missing(seen.cells, seen.other.name, seen.served.name):
            return Finding(OPEN, f"{'; '.join(gone)}: what is missing cannot be compared")
        if why := unproven(seen.cells, seen.worse_by, seen.other.name):
            return Finding(OPEN, f"{said}; {why}")
        return Finding(
            SOUND,
            f"{said}: no cell is worse by more than {100 * seen.worse_by:g} points",
        )
    questions = both["benchmark"] + " " + both["example_id"]
    rare = lost > won and mcnemar(before >= 0.5, after >= 0.5).p < ALPHA
    # Prompts of one question may change together.
    if rare and paired_test(after - before, questions)[0] < 50 * ALPHA:
        return Finding(FAULT, f"{said}: worse", evidence=worse)
    if rare:
        return Finding(OPEN, f"{said}, in too few questions to tell", seen.more(2, 1))
    if alike(seen) or (len(both) >= 100 and float(np.mean(before)) >= 0.3):
        return Finding(SOUND, said)
    if float(np.mean(before)) >= 0.3:
        return Finding(OPEN, f"{said}: too few prompts", seen.more(100, len(both)))
    return Finding(
        OPEN, f"{said}: too few right answers to lose", "check a model that answers more of them"
    )
