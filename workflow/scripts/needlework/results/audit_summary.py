"""What an audit found, in Markdown for a pull request, and for which questions that holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from needlework.journal import Journal
from needlework.results.audits import missing, name_of

_HEAD = (
    *("cell", "questions", "prompts", "base", "changed", "difference", "lost", "won"),
    *("texts changed", "of themselves", "by the setting", "result"),
)


class Setting(NamedTuple):
    """The two models, what the configuration says differently of them, and what their engines used."""

    base: str
    changed: str
    changes: Mapping[str, Sequence[Any]]
    base_engine: Mapping[str, Any]
    changed_engine: Mapping[str, Any]


def engine_used(
    journal: str | Path, benchmark: str, identity: Mapping[str, Any]
) -> dict[str, object]:
    """What the engine of a model's last recorded job on a benchmark used."""
    jobs = [
        job
        for job in Journal(journal).load().values()
        if job["benchmark"] == benchmark and job["identity"] == identity
    ]
    return dict(jobs[-1]["engine"]) if jobs else {}


def summary(table: Sequence[Mapping[str, Any]], of: Setting, audit: Mapping[str, Any]) -> str:
    """The summary. `table` has the rows of `audits.rows`, `audit` the configuration's block."""
    lines = [f"## Audit: `{of.changed}` against `{of.base}`", ""]
    lines += [*_settings(of), *_verdict(table, of), ""]
    lines += [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in table]
    lines += ["", *_validity(table, audit)]
    return "\n".join(lines) + "\n"


def _settings(of: Setting) -> list[str]:
    def listed(pairs: Mapping[str, Sequence[Any]]) -> str:
        shown = {
            k: ["not set" if v is None else escaped(v) for v in pair] for k, pair in pairs.items()
        }
        return ", ".join(f"`{escaped(k)}`: {a} → {b}" for k, (a, b) in shown.items())

    one, two = _flat(of.base_engine), _flat(of.changed_engine)
    told = {n: (one.get(n), two.get(n)) for n in {**one, **two} if one.get(n) != two.get(n)}
    lines = [f"Configured: {listed(of.changes) or 'no difference'}.", ""]
    if of.base_engine and of.changed_engine:
        lines += [f"The engine says that it used: {listed(told) or 'the same'}.", ""]
    for model, engine in ((of.base, of.base_engine), (of.changed, of.changed_engine)):
        lines += [
            f"**Ignored** (`{model}`): {escaped(said)}." for said in engine.get("ignored", [])
        ]
    return lines + [""] * (lines[-1] != "")


def _flat(engine: Mapping[str, Any]) -> dict[str, object]:
    """Settings by name, and those that an engine lists in one text (`name: value`) each by its own."""
    found: dict[str, object] = {}
    for name, value in engine.items():
        if isinstance(value, str) and "{" in value:
            found |= {f"{name}.{key}": own for key, own in re.findall(r"(\w+): (\w+)", value)}
        elif name != "ignored":
            found[name] = value
    return found


def _verdict(table: Sequence[Mapping[str, Any]], of: Setting) -> list[str]:
    """How many cells say what, in one line; and which model lacks answers, if one does."""
    kinds = Counter(row["sentence"].split(":")[0].split(" by ")[0] for row in table)
    said = [
        f"{kind} in {n} of {len(table)} cells" for kind, n in sorted(kinds.items(), reverse=True)
    ]
    lines = [f"**{'; '.join(said).capitalize() or 'Nothing was asked'}.**"]
    if lost := missing(table, f"`{of.base}`", f"`{of.changed}`"):
        lines += ["", f"**{'; '.join(lost)}.** A gate (`fail_if`) does not pass without them."]
    return lines


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        escaped(name_of(row)),
        f"{row['n_questions']} of {row['n_available']}",
        str(row["n"]),
        _percent(row["mean_base"]),
        _percent(row["mean_changed"]),
        _interval(row["difference"], row["ci_low"], row["ci_high"]),
        str(row["lost"]),
        str(row["won"]),
        _percent(row["texts_differ"]),
        f"{_percent(row['texts_floor_base'])}, {_percent(row['texts_floor_changed'])}",
        _interval(row["texts_d"], row["texts_d_low"], row["texts_d_high"]),
        row["sentence"],
    ]


def _interval(value: float, low: float, high: float) -> str:
    return "" if value != value else f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _percent(share: float) -> str:
    return "" if share != share else f"{100 * share:.1f}%"


def _validity(table: Sequence[Mapping[str, Any]], audit: Mapping[str, Any]) -> list[str]:
    """For which questions this holds, and how to go on."""
    whole = [row for row in table if row["by"] == "all"]
    asked = "; ".join(
        f"{row['benchmark']}: {row['n_questions']} of {row['n_available']} questions, {row['n']} prompts"
        for row in whole
    )
    lines = [
        f"This holds for the questions from which these were drawn by seed {audit['seed']} ({asked}), as "
        "this run builds its prompts, and says nothing of other lengths, languages or tasks. Differences "
        f"are in percent points, of questions' means. All {len(table)} intervals hold together with a "
        f'probability of {100 * (1 - audit["alpha"]):g}%, however often the audit was looked at. "Of '
        'themselves": texts that differ between two answers of the base, and of the changed model, to '
        f'the prompts of up to {audit["again"]} questions, in other orders and batches. "By the setting": by '
        "how much more often texts of the two models differ in such pairs (D), which is 0 if nothing changed."
    ]
    if lost := sum(row["n_unanswered"] for row in whole):
        lines.append(f"**{lost} prompts have no answer of both models and are left out.**")
    open_cells = [row for row in table if not row["settled"]]
    more = [row["n_available"] for row in whole if row["n_questions"] < row["n_available"]]
    if open_cells and more:
        lines.append(
            f"{len(open_cells)} cells are not settled: a larger `audit.questions` (now "
            f"{audit['questions']}, up to {max(more)}) goes on with the same questions and more."
        )
    elif open_cells:
        lines.append(f"{len(open_cells)} cells are not settled, and all questions were asked.")
    return [line for each in lines for line in (each, "")][:-1]


def escaped(value: object) -> str:
    """A value as text of a Markdown table: it may come from data."""
    text = re.sub(r"\s+", " ", str(value))
    return re.sub(r"([\\|`*<>\[\]])", r"\\\1", text)
