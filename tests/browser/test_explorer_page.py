"""The explorer in a real browser, from a file and from a server."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from explorer_run import PROGRAM, STYLE, Asked, explore, identifier, write_files
from needlework.prompts.spans import Span, literal, numbered
from needlework.records import DOCUMENTS, write_table
from needlework.results.explorer.data import Explored
from needlework.results.explorer.page import write_explorer
from needlework.results.numbers.means import EXPLORER, explorer

pytestmark = [pytest.mark.xdist_group("chromium")]


def until(page, condition: str) -> None:
    """Wait until a JavaScript expression is true. The page's policy forbids Playwright's own way."""
    deadline = time.monotonic() + 10
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.01)


def shown(page) -> str:
    """The line that says how many answers pass the filters."""
    return page.inner_text(".summary p")


def until_shown(page, beginning: str) -> None:
    """Wait until that line begins so."""
    until(page, f"document.querySelector('.summary p').innerText.startsWith('{beginning}')")


@pytest.mark.parametrize("kind", ["one file", "shards", "server"])
def test_a_page_opens_and_asks_for_nothing_else(watched, small, beside, kind) -> None:
    with contextlib.ExitStack() as stack:
        page = small if kind == "one file" else beside
        own = page.parent.as_uri() if kind != "server" else stack.enter_context(served(beside))
        watched.open(f"{own}/{page.name}")
        watched.page.keyboard.press("o")
        watched.page.wait_for_selector("mark.lit")
    if kind == "one file":
        assert watched.requests == [page.as_uri()]
    assert all(url.startswith(f"{own}/") for url in watched.requests)
    assert (len(watched.requests) > 3) is (kind != "one file")


@contextlib.contextmanager
def served(page: Path) -> Iterator[str]:
    """The address of a plain web server of a page's folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_first_view_is_models_by_the_designed_factor(watched, opened) -> None:
    """Columns that tell nothing apart are hidden; all answers are a view that a link holds."""
    watched.open(opened.as_uri())
    page = watched.page
    assert shown(page).startswith("21 of 126 answers")
    until(page, "location.hash === '#f.built-in+reader=no&f.task=find'")
    chosen = [select.input_value() for select in page.query_selector_all(".axes select")]
    assert chosen == ["model", "place"]
    cells = page.query_selector_all(".heatmap td button")
    assert [cell.inner_text().split() for cell in cells] == [["0", "12"], ["100", "9"]]
    assert [cell.get_attribute("class") for cell in cells] == ["h0", "few"]
    # The list is as wide as the window, beside the filters.
    assert page.locator(".list").bounding_box()["width"] > 1100
    first = {line.strip() for line in page.inner_text(".list .row >> nth=0").splitlines()}
    asked = {"Who wrote the first program?", "Ada Lovelace", "Babbage 0", "reference not found"}
    assert asked <= first
    heads = page.eval_on_selector_all("[role=columnheader]", "e => e.map(c => c.innerText)")
    names = [head.split()[0] for head in heads]
    assert names == ["score", "question", "reference", "answer", "verdict", "place"]
    page.keyboard.press("x")
    until_shown(page, "126 of 126 answers")
    until(page, "location.hash === '#all=1'")
    page.set_viewport_size({"width": 400, "height": 800})
    watched.open(f"{opened.as_uri()}#all=1")
    assert shown(page).startswith("126 of 126 answers")
    # A narrow page shows question, reference and answer, too.
    for name in ("question", "reference", "answer", "verdict", "factors"):
        box = page.locator(".list .row").first.locator(f".{name}").bounding_box()
        assert box["width"] > 50 and box["x"] + box["width"] <= 400


ENDS, FIVE = (0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize(
    ("asked", "first", "columns"),
    [
        # Long prompts have more places: what is lost in them is not lost by place.
        ({1000: ("a", ENDS), 2000: ("a", FIVE)}, "f.size=2000", 5),
        # What more models were asked comes first.
        ({1000: ("ab", ENDS), 2000: ("a", FIVE)}, "f.size=1000", 2),
        # No model was asked two sizes.
        ({1000: ("a", ENDS), 2000: ("b", FIVE)}, "", 5),
        # Sizes with the same places stay.
        ({1000: ("a", FIVE), 2000: ("a", FIVE), 4000: ("a", ENDS)}, "f.size=1000&f.size=2000", 5),
        ({1000: ("a", FIVE), 2000: ("a", FIVE)}, "", 5),
        # A size that goes with the place cannot be held.
        ({1000: ("a", ENDS[:1]), 2000: ("a", ENDS[1:])}, "", 2),
        # Prompts without a place are of none; they are shown where there are no others.
        ({1000: ("a", (*ENDS, -1.0)), 2000: ("a", ENDS)}, "f.place=0&f.place=1", 2),
        ({1000: ("a", (-1.0,)), 2000: ("a", (-1.0,))}, "", 2),
    ],
)
def test_first_view_holds_constant_what_cards_hold(
    watched, tmp_path, asked, first, columns
) -> None:
    run = [
        Asked(
            [literal("question", "Who?")],
            dict.fromkeys(models, "Ada Lovelace" if size == 1000 else "Babbage"),
            factors={"tongue": tongue, "place": place, "size": size},
            example=f"example-{i}",
        )
        for size, (models, places) in asked.items()
        for place in places
        for tongue in ("en", "hi")
        for i in range(5)
    ]
    held = ("place", "tongue", "size", "not_there")
    page = explore(tmp_path, run, designed=("place", ()), without="-1", held=held)
    watched.open(page.as_uri())
    until(watched.page, f"location.hash.slice(1) === '{first}'")
    assert watched.page.locator(".heatmap thead th").count() == columns


def test_outcomes_and_remarks_can_be_found_and_read(watched, opened) -> None:
    watched.open(opened.as_uri())
    page = watched.page
    page.click("text='answer cut at the limit on new tokens'")
    until_shown(page, "1 of 126 answers")
    page.keyboard.press("o")
    page.wait_for_selector(".outcome")
    assert page.inner_text(".answer-card.first .outcome") == "answer cut at the limit on new tokens"
    watched.open(f"{opened.as_uri()}#open={identifier(1)[:16]}.model", ".outcome")
    card = page.locator(".answer-card.first")
    told = card.locator(".outcome").inner_text().split("\n")
    assert told == ["empty answer", "reasoning, but no answer"]
    card.locator("summary", has_text="reasoning").click()
    assert "Ada, I think." in card.inner_text()
    place = f"#f.remarks=odd_count&open={identifier(2)[:16]}.model"
    watched.open(f"{opened.as_uri()}{place}", ".outcome")
    assert shown(page).startswith("3 of 126 answers")
    assert "unexpected count of prompt tokens: 300 of 960 tokens" in page.inner_text(".outcome")


def test_a_run_of_controls_opens_without_empty_answers(watched, tmp_path) -> None:
    """Thoughts are kept apart from the answer."""
    spans, raw = [literal("question", "Who?")], "<think>Hm. Babbage?</think>Ada"
    run = [
        Asked(spans, {"reader": f"Ada {i}", "empty": ""}, example=f"e{i}", raw=raw)
        for i in range(3)
    ]
    page = explore(tmp_path, run, controls=("reader", "empty"))
    watched.open(page.as_uri())
    assert shown(watched.page).startswith("3 of 6 answers")
    watched.open(f"{page.as_uri()}#open={identifier(0)[:16]}.reader", ".answer-card summary")
    card = watched.page.locator(".answer-card.first")
    assert "Hm." not in card.inner_text()
    card.locator("summary", has_text="thoughts").click()
    assert raw in card.inner_text()


def test_an_answer_of_ten_megabytes_opens(watched, tmp_path) -> None:
    page = explore(tmp_path, [Asked([literal("question", "Who?")], {"model": "wörd " * 2_000_000})])
    watched.open(page.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector(".answer-card .prose", timeout=5000)
    assert len(watched.page.inner_text(".answer-card .prose")) < 4000
    watched.page.click(".answer-card button")
    until(watched.page, "document.querySelector('.answer-card .prose').innerText.length > 50000")


def test_filters_change_list_heatmap_and_address(watched, small) -> None:
    """Wrong answers come first."""
    watched.open(small.as_uri())
    assert shown(watched.page).startswith("216 of 216 answers · mean 67 %")
    first = watched.page.inner_text(".list .row >> nth=0")
    assert "poor" in first and "reference not found" in first
    watched.page.keyboard.press("/")
    watched.page.keyboard.type("BABBAGE")
    until_shown(watched.page, "72 of")
    watched.page.fill("#search", "")
    until_shown(watched.page, "216 of")
    watched.page.check("#f-tongue-1")
    watched.page.check("#f-model-1")
    until_shown(watched.page, "36 of 216 answers · mean 0 %")
    until(watched.page, "location.hash === '#f.tongue=hi&f.model=poor'")


def test_an_address_restores_the_view(watched, small) -> None:
    page, link = watched.page, {"model": "poor", "tongue": "hi", "ended with": "stop"}
    named = explorer("made_up", link).removeprefix(EXPLORER)
    for address, wait, said in (
        # Of what no answer has, and of what all share.
        *((f"#f.{n}=2000", ".nothing-found", "0 of") for n in ("size", "colour", "__proto__")),
        ("#f.constructor=2000", ".nothing-found", "0 of"),
        ("#f.size=1000", ".list .row", "216 of"),
        # Disagreements of two models, and a link of the overview.
        ("#f.model=good&vs=poor&differ=1", ".list .row", "72 of"),
        (named, ".list .row", "36 of"),
    ):
        page.goto("about:blank")
        watched.open(f"{small.as_uri()}{address}", wait)
        assert shown(page).startswith(f"{said} 216 answers"), address
        if said == "0 of":
            page.click("text='Clear them'")
            until_shown(page, "216 of 216 answers")
    page.goto("about:blank")
    view = f"#f.tongue=ar&f.model=poor&q=babbage&open={identifier(72)[:16]}.poor"
    watched.open(f"{small.as_uri()}{view}", "mark.lit")
    assert shown(page).startswith("36 of 216 answers")
    assert page.input_value("#search") == "babbage"
    assert "1 of 36" in page.inner_text(".detail .where")


def test_a_heatmap_cell_filters_by_both_factors(watched, small) -> None:
    page = watched.page
    watched.open(f"{small.as_uri()}#rows=tongue&cols=tongue")
    chosen = [select.input_value() for select in page.query_selector_all(".axes select")]
    assert chosen[0] == "tongue" != chosen[1]
    page.goto("about:blank")
    watched.open(f"{small.as_uri()}#rows=tongue&cols=place")
    page.click("text='50' >> nth=0")
    until_shown(page, "24 of 216 answers")
    until(page, "location.hash === '#rows=tongue&cols=place&f.tongue=hi&f.place=0'")


def test_keys_move_open_unfold_and_close(watched, small) -> None:
    watched.open(small.as_uri())
    page = watched.page
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.get_attribute(".row.current", "aria-rowindex") == "3"
    page.keyboard.press("Enter")
    page.wait_for_selector("mark.lit")
    folded = len(page.inner_text(".body"))
    page.keyboard.press("f")
    until(page, f"document.querySelector('.body').innerText.length > {folded}")
    page.keyboard.press("n")
    page.wait_for_selector("mark.current")
    page.keyboard.press("j")
    until(page, "document.querySelector('.where').innerText.startsWith('3 of')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".detail", state="detached")
    until(page, "document.activeElement.matches('.list')")
    page.keyboard.press("?")
    assert page.is_visible("dialog")


def test_the_prompt_says_where_needle_answer_and_reference_are(watched, small) -> None:
    watched.open(f"{small.as_uri()}#open={identifier(36)[:16]}.poor", "mark.lit")
    page = watched.page
    assert "first program was written by Ada Lovelace" in page.inner_text("mark.lit")
    assert page.inner_text("mark.lit mark.reference") == "Ada Lovelace"
    assert page.locator(".tick.answer").count() > 5
    assert "characters folded" in page.inner_text(".body")
    page.locator(".tick.answer").first.click()
    page.wait_for_selector("mark.answer.current")
    assert page.inner_text("mark.answer.current") == "Charles Babbage"
    cards = page.locator(".answer-card")
    assert cards.count() == 2
    assert cards.nth(0).inner_text().startswith("✗ poor")


HOSTILE = (
    '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
    "<b>bold</b> \u202egnorw\u202c \u0007 end"
)


def test_text_of_models_is_never_markup(watched, tmp_path) -> None:
    spans = [literal("needle", HOSTILE), literal("question", HOSTILE)]
    factors = {"tongue": HOSTILE, "place": 0.5, "size": 1}
    own = {"references": [HOSTILE], "factors": factors, "example": HOSTILE}
    asked = Asked(spans, {HOSTILE: HOSTILE}, translation="<i>" + HOSTILE, **own)
    page = explore(tmp_path, [asked])
    watched.open(page.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector("mark.lit")
    assert watched.page.title() == "needlework explorer"
    assert watched.page.locator("img, b b, .prose b, .prose script").count() == 0
    assert "<script>document.title" in watched.page.inner_text(".answer-card .prose >> nth=0")
    assert watched.page.inner_text(".answer-card .hidden-character >> nth=0") == "RLO"
    assert watched.requests == [page.as_uri()]


def test_right_to_left_text_reads_from_the_right(watched, tmp_path) -> None:
    """A needle has its own direction."""
    needle = literal("needle", "العاصمة هي باريس.")
    spans = [needle, literal("question", "ما هي العاصمة؟")]
    hay = [literal("haystack", text) for text in ("[1] Hay in English. ", " [2] More hay.")]
    run = [Asked(spans, {"model": "باريس"}, references=["باريس"])]
    run += [Asked([hay[0], needle, hay[1]], {"model": "x"}, example="example-2")]
    page = explore(tmp_path, run)
    watched.open(f"{page.as_uri()}#open={identifier(0)[:16]}.model", "mark.lit")
    directions = watched.page.evaluate(
        "[...document.querySelectorAll('.asked .prose, .answer-card .prose, .body')]"
        ".map(e => getComputedStyle(e).direction)"
    )
    assert directions == ["rtl"] * 3
    watched.page.goto("about:blank")
    watched.open(f"{page.as_uri()}#open={identifier(1)[:16]}.model", "mark.lit")
    assert watched.page.evaluate(
        "[document.querySelector('mark.lit'), document.querySelector('.body .haystack')]"
        ".map(e => getComputedStyle(e.closest('bdi')).direction)"
    ) == ["rtl", "ltr"]


def test_a_missing_shard_is_said(chromium, tmp_path) -> None:
    spans = [literal("question", "Who?")]
    page = explore(tmp_path, [Asked(spans, {"model": "nobody"})], one_file=0)
    (page.parent / "data/made_up-index.js").unlink()
    tab = chromium.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_selector("[role=alert]")
    assert "data/made_up-index.js" in tab.inner_text("[role=alert]")
    tab.close()


def test_a_needle_in_128k_tokens_is_shown_at_once(watched, tmp_path) -> None:
    # Half a million characters are about 128K tokens.
    book = "".join(f"Sentence {i} of a long book tells nothing of it. " for i in range(11_000))
    assert len(book) > 500_000
    middle = len(book) // 2
    spans = [
        literal("instruction", "Read. "),
        Span("haystack", "texts/en/book", 0, middle),
        literal("needle", " Ada Lovelace wrote it. "),
        Span("haystack", "texts/en/book", middle, len(book)),
        literal("question", "Who?"),
    ]
    page = explore(tmp_path, [Asked(spans, {"m": "Ada Lovelace"})], {"book": book}, one_file=0)
    watched.open(page.as_uri())
    # Beside other tests the clock says how many there are: what counts is the page's own processor time.
    tools = processor_clock(watched.page)
    before = processor_ms(tools)
    watched.page.click(".list .row")
    watched.page.wait_for_selector("mark.lit")
    assert processor_ms(tools) - before < 1000
    watched.page.keyboard.press("f")
    until(watched.page, "document.querySelector('.body').innerText.length > 500000")


def test_a_prompt_shows_its_numbered_list(watched, tmp_path) -> None:
    words = [f"word{i % 300}" for i in range(2000)]
    file = tmp_path / "made_up/lists.parquet"
    rows = {"passage_id": ["a"], "text": [None], "words": [words]}
    write_table(pa.table(rows, schema=DOCUMENTS), file)
    text = numbered(words)
    spans = [Span("haystack", "made_up/lists/a", 0, len(text)), literal("question", "Which?")]
    prompts, answers = write_files(tmp_path / "run", [Asked(spans, {"m": "x"})])
    prompts = {"words": replace(prompts["words"], documents=[str(file)])}
    told = {"made_up": Explored("Made up", ["task"], prompts, answers)}
    write_explorer(tmp_path, told, program=PROGRAM, style=STYLE, one_file=0)
    watched.open(f"{(tmp_path / 'index.html').as_uri()}#open={identifier(0)[:16]}.m", ".body")
    watched.page.keyboard.press("f")
    until(watched.page, "document.querySelector('.body').innerText.includes('2000. word199')")
    assert text in watched.page.inner_text(".body").replace("\xa0", " ")


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    """100,000 instances."""
    tongues = [f"t{i:02}" for i in range(26)]
    spans = [literal("needle", "It is here. "), literal("question", "Where?")]
    run = [
        Asked(
            spans,
            {"model": f"The answer to question {i % 5000} is number {i * 7919 % 99991}."},
            factors={"tongue": tongues[i % 26], "place": i % 11 / 10, "size": 1000 * (1 + i % 5)},
            example=f"example-{i % 2000}",
            values={"model": float(i % 3 == 0)},
        )
        for i in range(100_000)
    ]
    return explore(tmp_path_factory.mktemp("large"), run)


@pytest.mark.slow
def test_100000_instances_are_usable_within_a_second_and_300_mb(chromium, large) -> None:
    spent, memory = [], 0
    for _ in range(2):
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        tools = processor_clock(page)
        before = {process.pid for process in renderers()}
        page.goto(large.as_uri(), wait_until="commit")
        page.wait_for_selector(".list .row")
        page.keyboard.press("j")
        page.wait_for_selector(".row.current")
        spent.append(processor_ms(tools))
        page.fill("#search", "number 7919.")
        until(page, "document.querySelector('.summary p').innerText.startsWith('2 of')")
        own = [process for process in renderers() if process.pid not in before] or renderers()
        memory = max(memory, max(process.memory_full_info().uss for process in own))
        context.close()
    print(f"usable after {list(map(round, spent))} ms of the processor, {memory >> 20} MiB")
    assert min(spent) < 1000 and memory < 300e6


def processor_clock(page: Any) -> Any:
    """Where `processor_ms` asks for the time that a page takes."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    return tools


def processor_ms(tools: Any) -> float:
    """The milliseconds of a processor that the page's tasks took so far."""
    metrics = tools.send("Performance.getMetrics")["metrics"]
    return 1000 * float({m["name"]: m["value"] for m in metrics}["TaskDuration"])


def renderers() -> list[psutil.Process]:
    """Chromium's processes that hold pages."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "--type=renderer" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_passes(accessible, small, tmp_path, scheme) -> None:
    """The list, a prompt, and marks in pale text."""
    spans = [literal("instruction", "Who, Ada or Babbage?"), literal("needle", "It was Ada. ")]
    pale = explore(tmp_path, [Asked(spans, {"m": "Babbage"}, references=["Ada"])])
    state = f"#f.tongue=hi&vs=good&open={identifier(36)[:16]}.poor"
    accessible(scheme, small.as_uri(), ".list .row")
    accessible(scheme, f"{small.as_uri()}{state}", "mark.lit")
    address = f"{pale.as_uri()}#open={identifier(0)[:16]}.m"
    accessible(scheme, address, ".body mark.reference")


def test_nothing_hangs_over_the_edge(watched, small) -> None:
    page = watched.page
    watched.open(f"{small.as_uri()}#open={identifier(36)[:16]}.poor", "mark.lit")
    for wait in ("mark.lit", ".list .row"):
        page.wait_for_selector(wait)
        for width in (390, 820, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
