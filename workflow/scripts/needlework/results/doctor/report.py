"""The doctor's report: verdict, checks, right answers by length and place, languages; and its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from needlework import __version__
from needlework.results.doctor.answers import ServerAnswers
from needlework.results.doctor.comparison import escaped
from needlework.results.doctor.page import SIGNS
from needlework.results.doctor.seen import (
    FAULT,
    OPEN,
    SOUND,
    Check,
    Evidence,
    Seen,
    Verdict,
    counts,
)

EXIT_STATUS: dict[Verdict, int] = {SOUND: 0, FAULT: 1, OPEN: 2}
# Characters of a prompt's part, and of an answer, that are shown.
_PROMPT, _ANSWER = 160, 400


class Report(TypedDict):
    """The content of doctor.json."""

    verdict: Verdict
    exit_status: int
    sentence: str
    model: dict[str, Any]
    against: dict[str, Any] | None
    version: str
    # When the last answer came (ISO 8601).
    asked: str
    # Requests and prompt tokens of the model, with second answers.
    prompts: int
    tokens: int
    checks: list[dict[str, Any]]
    # By benchmark and task: how many are right by length and place.
    where: list[dict[str, Any]]
    languages: list[dict[str, Any]]
    # How the entries of the two models differ, and what their engines say.
    settings: list[str]


def report(seen: Seen, checks: Sequence[Check], asked: str, settings: Sequence[str]) -> Report:
    """The report of a checkup; `asked` is when its last answer came."""
    verdict = _verdict(checks)
    served = seen.served
    return {
        "verdict": verdict,
        "exit_status": EXIT_STATUS[verdict],
        "sentence": _sentence(seen, checks, verdict),
        "model": {"name": served.name, "serves": served.serves},
        "against": {"name": seen.other.name, "serves": seen.other.serves} if seen.other else None,
        "version": __version__,
        "asked": asked,
        "prompts": len(served.first) + len(served.again),
        "tokens": served.read,
        "checks": [_check(seen, check) for check in checks],
        "where": where(served, seen.other),
        "languages": _languages(served, seen.other),
        "settings": list(settings),
    }


def _verdict(checks: Sequence[Check]) -> Verdict:
    verdicts = {check.verdict for check in checks}
    return FAULT if FAULT in verdicts else OPEN if OPEN in verdicts or not verdicts else SOUND


def _sentence(seen: Seen, checks: Sequence[Check], verdict: Verdict) -> str:
    name = f"{seen.served.name} ({seen.served.serves})"
    if seen.other is not None:
        name += f" against {seen.other.name} ({seen.other.serves})"
    n = f"{len(seen.served.first):,} prompts"
    if verdict == FAULT:
        first, *others = [check for check in checks if check.verdict == FAULT]
        more = f" ({len(others)} more below)" if others else ""
        return f"{name}: a fault. {first.title}: no; {first.sentence}{more}."
    if verdict == OPEN:
        open_checks = [check for check in checks if check.verdict == OPEN]
        titles = "; ".join(f"{check.title}: {check.sentence}" for check in open_checks[:2])
        few = f"{len(open_checks)} of {len(checks)} checks could not have shown one"
        return f"{name}: cannot tell. No fault in {n}, but {few}. {titles}."
    return (
        f"{name}: sound. {len(checks)} checks of {n} found no fault, and each could have shown one."
    )


def _check(seen: Seen, check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "title": check.title,
        "verdict": check.verdict,
        "sentence": check.sentence,
        "more": check.more,
        "evidence": [_evidence(seen, each) for each in check.evidence],
    }


def _evidence(seen: Seen, of: Evidence) -> dict[str, Any]:
    """A prompt in pieces [role, text], each shortened in its middle, with the answer."""
    pieces = seen.prompts.parted(of.benchmark, of.instance_id)
    joined: list[list[str]] = []
    for role, text in pieces:
        lit = "needle" if role == "needle" else "text"
        if joined and joined[-1][0] == lit:
            joined[-1][1] += text
        else:
            joined.append([lit, text])
    return {
        "benchmark": of.benchmark,
        "instance_id": of.instance_id,
        "prompt": [[role, _shortened(text, 2 * _PROMPT)] for role, text in joined],
        "answer": _shortened(of.answer, _ANSWER),
        "wanted": _shortened(of.wanted, _ANSWER),
        "note": _shortened(of.note, _ANSWER),
    }


def _shortened(text: str, most: int) -> str:
    """A text without its middle, if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"


def where(served: ServerAnswers, other: ServerAnswers | None) -> list[dict[str, Any]]:
    """For each benchmark and task: a cell per length and place, with how many of its answers are right."""
    made = []
    rows = served.given
    rows = rows[rows["value"].notna() & rows["place"].notna()]
    for part, own in rows.groupby("part"):
        theirs = other.given if other else None
        cells = []
        for (size, place), here in own.groupby(["size", "place"]):
            cell = {
                "size": int(size),
                "place": float(place),
                "right": int((here["value"] >= 0.5).sum()),
                "n": len(here),
            }
            if theirs is not None:
                same = theirs[theirs["instance_id"].isin(set(here["instance_id"]))]
                cell |= {"right_other": int((same["value"] >= 0.5).sum()), "n_other": len(same)}
            cells.append(cell)
        sizes = [
            {"size": int(size), "tokens": int(np.median(counts(here)))}
            for size, here in own.groupby("size")
        ]
        made.append({"part": str(part), "sizes": sizes, "cells": cells})
    return made


def _languages(served: ServerAnswers, other: ServerAnswers | None) -> list[dict[str, Any]]:
    rows = served.given[served.given["asked_in"].notna() & served.given["value"].notna()]
    made = []
    for lang, own in rows.groupby("asked_in"):
        found = {
            "lang": str(lang),
            "right": int((own["value"] >= 0.5).sum()),
            "n": len(own),
            "answered_in": own["answered_in"].dropna().value_counts().to_dict(),
        }
        if other is not None:
            same = other.given[other.given["instance_id"].isin(set(own["instance_id"]))]
            found |= {"right_other": int((same["value"] >= 0.5).sum()), "n_other": len(same)}
        made.append(found)
    return made


def in_markdown(found: Report) -> str:
    """The report for the comment of a pull request."""
    lines = [f"## needlework doctor: {found['verdict']}", "", escaped(found["sentence"]), ""]
    lines += ["| | check | found |", "|---|---|---|"]
    for check in found["checks"]:
        more = f" To tell: {check['more']}." if check["more"] else ""
        said = escaped(check["sentence"] + "." + more)
        lines.append(f"| {SIGNS[check['verdict']]} | {escaped(check['title'])} | {said} |")
    lines += ["", *found["settings"]]
    lines += [
        f"{found['prompts']:,} requests, the last on {found['asked']}; needlework {found['version']}. "
        "✓ sound, ✗ a fault, ? cannot tell."
    ]
    return "\n".join(lines) + "\n"
