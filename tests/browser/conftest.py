"""A real Chromium, and the explorer's pages in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from explorer_run import ROOT, Asked, explore
from needlework.prompts.spans import Span, literal


@dataclass
class Watched:
    """A page, what it asked for, and what it complained of."""

    page: object
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, url: str, wait: str = ".list .row") -> None:
        """Go to an address and wait for an element."""
        self.page.goto(url)
        self.page.wait_for_selector(wait, timeout=20_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """Debian's Chromium, headless."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs the package playwright: run `make setup`"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def watched(chromium) -> Iterator[Watched]:
    """A page in a context of its own; at the end, it has not complained."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    own = Watched(context.new_page())
    own.page.on("request", lambda request: own.requests.append(request.url))
    own.page.on(
        "console",
        lambda message: (
            own.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    own.page.on("pageerror", lambda error: own.complaints.append(str(error)))
    yield own
    context.close()
    assert own.complaints == []


AXE = ROOT / "explorer/node_modules/axe-core/axe.min.js"


COLOURS = "axe.run({runOnly: ['color-contrast', 'link-in-text-block']})"


@pytest.fixture
def accessible(chromium) -> Callable[..., None]:
    """Checks that axe-core finds nothing wrong with a page at two widths; landmarks have names.

    Of a dark page, only the colours are others.
    """
    if not AXE.is_file():
        pytest.skip("needs axe-core: run `make setup-explorer`")

    def check(scheme: str, address: str, wait: str, unfold: str = "0") -> None:
        context = chromium.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(wait)
        page.evaluate(unfold)
        page.evaluate(AXE.read_text("utf-8"))
        dark = scheme == "dark"
        for width in (1440,) if dark else (1440, 400):
            page.set_viewport_size({"width": width, "height": 900})
            found = page.evaluate(COLOURS if dark else "axe.run()")
            assert len(found["passes"]) > (0 if dark else 10)
            wrong = [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]]
            assert wrong == [], width
        assert page.locator("aside:not([aria-label]), nav:not([aria-label])").count() == 0
        context.close()

    return check


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """The page of a small run: three languages, two models, one file."""
    return explore(tmp_path_factory.mktemp("small"), small_run(), PASSAGES)


@pytest.fixture(scope="session")
def opened(tmp_path_factory) -> Path:
    """The page of a model and two controls, asked two tasks at two places; three requests went wrong."""
    asked = literal("question", "Who wrote the first program?")
    spans = [literal("needle", "It was Ada Lovelace. "), asked]
    wrong = {
        0: {"outcome": "cut", "finish": "length"},
        1: {"outcome": "empty", "reasoning": "Ada, I think.", "remarks": ["reasoning_only"]},
        2: {"outcome": "answered", "remarks": ["odd_count: 300 of 960 tokens"]},
    }
    run = [
        Asked(
            spans,
            {
                "model": "Ada Lovelace" if place else "" if i == 1 else f"Babbage {i}",
                "reader": "Ada Lovelace",
                "empty": "",
            },
            factors={"tongue": "en", "place": place, "size": 1000},
            example=f"example-{i}",
            task=task,
            **(wrong.get(i, {}) if place == 0 and task == "find" else {}),
        )
        for task in ("find", "count")
        for place in (0.0, 1.0)
        for i in range(12 if place == 0 else 9)
    ]
    shown = {"designed": ("place", ("find",)), "controls": ("reader", "empty")}
    return explore(tmp_path_factory.mktemp("opened"), run, **shown)


@pytest.fixture(scope="session")
def beside(tmp_path_factory) -> Path:
    """The same run, its shards beside the page."""
    return explore(tmp_path_factory.mktemp("beside"), small_run(), PASSAGES, one_file=0)


PASSAGES = {
    "hay": "Charles Babbage drew engines. " * 200,
    "needle": "The first program was written by Ada Lovelace, in notes.",
}


def small_run() -> list[Asked]:
    """Twelve questions in three languages at three depths; the second model knows only English."""
    spans = [
        literal("instruction", "Answer from the text.\n\n"),
        Span("distractor", "texts/en/hay", 0, 3000),
        Span("needle", "texts/en/needle", 0, len(PASSAGES["needle"])),
        Span("distractor", "texts/en/hay", 3000, 6000),
        literal("question", "\n\nWho wrote the first program?"),
    ]
    return [
        Asked(
            spans,
            {
                "good": "Ada Lovelace",
                "poor": "Ada Lovelace" if tongue == "en" else "Charles Babbage",
            },
            factors={"tongue": tongue, "place": place, "size": 1000},
            example=f"example-{i}",
        )
        for tongue in ("en", "hi", "ar")
        for place in (0.0, 0.5, 1.0)
        for i in range(12)
    ]
