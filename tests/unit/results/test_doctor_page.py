"""The doctor's page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from needlework.results.doctor.page import write_page

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "</dd><script>alert(1)</script><img src=x onerror=alert(2)> \x00\u202e\ud800`<b>`"
VOID = {"meta", "br", "img", "link"}


class Elements(HTMLParser):
    """The elements of a page, in their order: name, attributes, pieces of text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.all) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.all[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.all[at][2].append(data)

    def texts(self, tag: str) -> list[str]:
        """The texts of the elements of a name."""
        return [" ".join("".join(text).split()) for name, _, text in self.all if name == tag]


def check(verdict: str, name: str = "places", **more: Any) -> dict[str, Any]:
    shown = {
        **{"benchmark": "oneruler", "instance_id": "i1", "answer": "7", "wanted": "42", "note": ""},
        "prompt": [["text", "Hay. "], ["needle", "It is 42."], ["text", " Hay."]],
    }
    found = {"name": name, "title": name.title(), "verdict": verdict, "sentence": "0 of 8 right"}
    return {**found, "more": "", "evidence": [{**shown, **more}]}


def elements(path: Path, *checks: dict[str, Any], **more: Any) -> Elements:
    """The page of a report with these checks."""
    found: dict[str, Any] = {
        **{"verdict": checks[0]["verdict"], "exit_status": 1, "sentence": "m: the first sentence."},
        **{"model": {"name": "m"}, "against": None, "version": "1.2", "asked": "2026-11-28"},
        **{"prompts": 9, "tokens": 1234, "checks": list(checks), "where": [], "languages": []},
        **{"settings": ["Configured: `kv`: not set → \\<fp8\\>."], **more},
    }
    write_page(found, ROOT / "resources/doctor", path / "index.html")  # type: ignore[arg-type]  # a report
    return Elements((path / "index.html").read_text("utf-8"))


@pytest.mark.parametrize(
    ("verdict", "sign"), [("sound", "✓"), ("fault", "✗"), ("cannot tell", "?")]
)
def test_the_first_line_is_the_verdict(tmp_path, verdict, sign) -> None:
    (body,) = elements(tmp_path, check(verdict)).texts("body")
    assert body.startswith(f"{sign} {verdict}m: the first sentence.")


def test_markup_of_models_and_data_stays_text(tmp_path) -> None:
    plain = elements(tmp_path, check("fault"), against={"name": "o"})
    hostile = check("fault", answer=HOSTILE, note=HOSTILE, wanted=HOSTILE, instance_id=HOSTILE)
    hostile["evidence"][0]["prompt"] = [["text", HOSTILE], ["needle", HOSTILE]]
    texts = dict.fromkeys(("title", "sentence"), HOSTILE)
    names = {"model": {"name": HOSTILE}, "against": {"name": HOSTILE}, "settings": [HOSTILE]}
    page = elements(tmp_path, hostile | texts, sentence=HOSTILE, **names)
    kinds = {name for name, _, _ in plain.all} | {"p", "code"}
    assert {name for name, _, _ in page.all} <= kinds
    assert not [key for _, attributes, _ in page.all for key in attributes if key.startswith("on")]
    assert "<script>alert(1)</script>" in page.texts("dd")[-1]
    assert "⟨U+0000⟩⟨U+202E⟩⟨U+D800⟩" in page.texts("body")[0]


def test_a_long_text_is_cut(tmp_path) -> None:
    page = elements(tmp_path, check("fault", answer="x" * 100_000))
    assert 1000 < max(len(text) for text in page.texts("dd")) < 3000


def test_the_needle_is_marked_in_its_prompt(tmp_path) -> None:
    page = elements(tmp_path, check("sound"))
    assert page.texts("mark")[-1] == "It is 42." and "Hay. It is 42. Hay." in page.texts("dd")


def test_evidence_of_faults_alone_is_open(tmp_path) -> None:
    page = elements(tmp_path, check("fault"), check("sound", "copies"), check("cannot tell", "x"))
    opened = ["open" in attributes for name, attributes, _ in page.all if name == "details"]
    assert opened == [True, False, False]


def test_cells_stand_by_place_and_length_beside_the_other_server(tmp_path) -> None:
    cells = [
        {"size": 1, "place": 0.0, "right": 8, "n": 8, "right_other": 7, "n_other": 8},
        {"size": 2, "place": 0.0, "right": 2, "n": 8, "right_other": 6, "n_other": 8},
        {"size": 2, "place": 0.25, "right": 0, "n": 5, "right_other": 0, "n_other": 0},
    ]
    sizes = [{"size": 1, "tokens": 1012}, {"size": 2, "tokens": 4090}]
    where = [{"part": "a_benchmark a_benchmark", "sizes": sizes, "cells": cells}]
    page = elements(tmp_path, check("sound"), where=where, against={"name": "o"})
    assert page.texts("caption") == ["a benchmark"]
    assert page.texts("tr")[-3].endswith("1,0124,090")
    own = ["beginning", "8/8 vs 7/8", "2/8 vs 6/8", "25%", "–", "0/5"]
    texts = [" ".join("".join(text).split()) for name, _, text in page.all if name in ("th", "td")]
    assert texts[-len(own) :] == own
    shares = [a["style"] for name, a, _ in page.all if name == "td" and "style" in a]
    assert shares == ["--v:1.000", "--v:0.250", "--v:0.000"]


def test_settings_are_shown_without_their_markdown(tmp_path) -> None:
    page = elements(tmp_path, check("sound"))
    assert page.texts("dd")[-1] == "Configured: kv: not set → <fp8>."
    assert page.texts("code") == ["kv"]
