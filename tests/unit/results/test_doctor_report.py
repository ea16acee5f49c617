"""The doctor's report: its verdict, its counts, and its Markdown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from factories.doctor import EACH, LANGUAGES, SIZES, asked, seen, server, tokens, wrong_where
from needlework.results.doctor.checks import checked
from needlework.results.doctor.report import in_markdown, report
from needlework.results.doctor.seen import FAULT, OPEN, SOUND, Check, Evidence


def made(*verdicts: Any, **more: Any) -> Any:
    """The report of checks with these verdicts."""
    hostile = Evidence("finding", "finding 0", "x" * 5000, "w", "a note")
    own = [
        Check(f"c{i}", f"Title {i}", v, f"s{i}", evidence=(hostile,))
        for i, v in enumerate(verdicts)
    ]
    own = [replace(check, **more) for check in own]
    return report(seen(server()), own, "2026-11-28T10:00+00:00", ["Configured: `a`: 1 → 2.", ""])


@pytest.mark.parametrize(
    ("verdicts", "verdict", "status", "said"),
    [
        ([SOUND, SOUND], SOUND, 0, "sound. 2 checks of 126 prompts found no fault"),
        ([OPEN, SOUND, FAULT, FAULT], FAULT, 1, "a fault. Title 2: no; s2 (1 more below)."),
        ([SOUND, OPEN], OPEN, 2, "but 1 of 2 checks could not have shown one. Title 1: s1."),
        ([], OPEN, 2, "cannot tell"),
    ],
)
def test_a_verdict_is_its_exit_status_and_first_line(verdicts, verdict, status, said) -> None:
    found = made(*verdicts)
    assert (found["verdict"], found["exit_status"]) == (verdict, status)
    assert found["sentence"].startswith("served (org/model): ") and said in found["sentence"]
    text = in_markdown(found)
    assert text.startswith(f"## needlework doctor: {verdict}\n\nserved (org/model): ")
    assert "Configured: `a`: 1 → 2.\n" in text and "168 requests, the last on 2026-11-28" in text
    signs = {SOUND: "✓", FAULT: "✗", OPEN: "?"}
    rows = [line[2] for line in text.splitlines() if line.startswith("| ") and "Title" in line]
    assert rows == [signs[one] for one in verdicts]


def test_text_of_models_breaks_no_markdown() -> None:
    text = in_markdown(made(FAULT, sentence="a|b\n<c> `d`", title="[t](u)", more="*e*"))
    (row,) = [line for line in text.splitlines() if line.startswith("| ✗")]
    assert row == r"| ✗ | \[t\](u) | a\|b \<c\> \`d\`. To tell: \*e\*. |"


def test_a_report_counts_answers_by_place_and_language() -> None:
    reply = wrong_where(lambda p: p["place"] == 0.5 and p["length"] == 160)
    of = seen(server(reply), server())
    found = report(of, checked(of), "2026-11-28", [])
    (part,) = [part for part in found["where"] if part["part"] == "copying made"]
    assert [size["size"] for size in part["sizes"]] == list(SIZES) and len(part["cells"]) == 15
    lost = [cell for cell in part["cells"] if cell["right"] < cell["n"]]
    cell = {"size": 160, "place": 0.5, "right": 0, "n": EACH, "right_other": EACH, "n_other": EACH}
    assert lost == [cell]
    assert [row["lang"] for row in found["languages"]] == sorted(LANGUAGES)
    assert found["languages"][0]["answered_in"] == {"de": 12}
    assert found["tokens"] == sum(tokens(p) for rows in asked().values() for p in rows)
    # Long texts lose their middle, and the needle keeps its role.
    shown = found["checks"][3]["evidence"][0]["prompt"]
    assert [role for role, _ in shown] == ["text", "needle", "text"] and len(shown[0][1]) < 400
