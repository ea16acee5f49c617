"""The explorer in a real browser, from a file and from a server."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from explorer_run import PROGRAM, ROOT, STYLE, Asked, explore, identifier, write_files
from needlework.prompts.spans import Span, literal, numbered
from needlework.records import DOCUMENTS, write_table
from needlework.results.explorer.data import Explored
from needlework.results.explorer.page import write_explorer
from needlework.results.page import overview

pytestmark = [pytest.mark.xdist_group("chromium")]

AXE = ROOT / "explorer/node_modules/axe-core/axe.min.js"


@pytest.fixture
def served(beside) -> Iterator[str]:
    """The address of a plain web server's explorer."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(beside.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


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


def test_one_file_opens_without_any_request(watched, small) -> None:
    watched.open(small.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector("mark.lit")
    assert watched.requests == [small.as_uri()]


def test_shards_beside_the_page_open_from_a_file(watched, beside) -> None:
    watched.open(beside.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector("mark.lit")
    folder = beside.parent.as_uri()
    assert len(watched.requests) > 3
    assert all(url.startswith(folder) for url in watched.requests)


def test_shards_open_from_a_server_and_nothing_else_is_asked(watched, served) -> None:
    watched.open(served)
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector("mark.lit")
    own = served.removesuffix("index.html")
    assert all(url.startswith(own) for url in watched.requests)


def test_first_view_is_models_by_the_designed_factor(watched, opened) -> None:
    watched.open(opened.as_uri())
    page = watched.page
    assert shown(page).startswith("21 of 126 answers")
    until(page, "location.hash === '#f.built-in+reader=no&f.task=find'")
    assert [select.input_value() for select in page.query_selector_all(".axes select")] == [
        "model",
        "place",
    ]
    cells = page.query_selector_all(".heatmap td button")
    assert [cell.inner_text().split() for cell in cells] == [["0", "12"], ["100", "9"]]
    assert [cell.get_attribute("class") for cell in cells] == ["h0", "few"]
    first = page.inner_text(".list .row >> nth=0")
    assert {"Who wrote the first program?", "Ada Lovelace", "Babbage 0", "reference not found"} <= {
        line.strip() for line in first.splitlines()
    }


def test_all_answers_are_a_view_that_a_link_holds(watched, opened) -> None:
    watched.open(opened.as_uri())
    watched.page.keyboard.press("x")
    until_shown(watched.page, "126 of 126 answers")
    until(watched.page, "location.hash === '#all=1'")
    watched.open(f"{opened.as_uri()}#all=1")
    assert shown(watched.page).startswith("126 of 126 answers")


def test_columns_that_tell_nothing_apart_are_hidden(watched, opened) -> None:
    watched.open(opened.as_uri())
    heads = watched.page.eval_on_selector_all("[role=columnheader]", "e => e.map(c => c.innerText)")
    assert [head.split()[0] for head in heads] == [
        *("score", "question", "reference", "answer", "verdict", "place")
    ]


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
    assert card.locator(".outcome").inner_text().split("\n") == [
        "empty answer",
        "reasoning, but no answer",
    ]
    card.locator("summary", has_text="reasoning").click()
    assert "Ada, I think." in card.inner_text()
    watched.open(
        f"{opened.as_uri()}#f.remarks=odd_count&open={identifier(2)[:16]}.model", ".outcome"
    )
    assert shown(page).startswith("3 of 126 answers")
    assert "odd count of prompt tokens: 300 of 960 tokens" in page.inner_text(".outcome")


def test_a_run_of_controls_opens_without_empty_answers(watched, tmp_path) -> None:
    spans = [literal("question", "Who?")]
    run = [Asked(spans, {"reader": f"Ada {i}", "empty": ""}, example=f"e{i}") for i in range(3)]
    watched.open(explore(tmp_path, run, controls=("reader", "empty")).as_uri())
    assert shown(watched.page).startswith("3 of 6 answers")


def test_a_narrow_page_shows_question_reference_and_answer(watched, opened) -> None:
    watched.page.set_viewport_size({"width": 400, "height": 800})
    watched.open(opened.as_uri())
    card = watched.page.locator(".list .row").first
    for name in ("question", "reference", "answer", "verdict", "factors"):
        box = card.locator(f".{name}").bounding_box()
        assert box["width"] > 50 and box["x"] + box["width"] <= 400


def test_wrong_answers_come_first(watched, small) -> None:
    watched.open(small.as_uri())
    assert shown(watched.page).startswith("216 of 216 answers · mean 67 %")
    first = watched.page.inner_text(".list .row >> nth=0")
    assert "poor" in first and "reference not found" in first


def test_filters_change_list_heatmap_and_address(watched, small) -> None:
    watched.open(small.as_uri())
    watched.page.check("#f-tongue-1")
    watched.page.check("#f-model-1")
    until_shown(watched.page, "36 of 216 answers · mean 0 %")
    until(watched.page, "location.hash === '#f.tongue=hi&f.model=poor'")


def test_an_address_restores_the_view(watched, small) -> None:
    watched.open(
        f"{small.as_uri()}#f.tongue=ar&f.model=poor&q=babbage&open={identifier(72)[:16]}.poor",
        "mark.lit",
    )
    assert shown(watched.page).startswith("36 of 216 answers")
    assert watched.page.input_value("#search") == "babbage"
    assert "1 of 36" in watched.page.inner_text(".detail .where")


@pytest.mark.parametrize("name", ["size", "colour", "constructor", "__proto__"])
def test_a_filter_of_what_no_answer_has_shows_none(watched, small, name) -> None:
    watched.open(f"{small.as_uri()}#f.{name}=2000", ".nothing-found")
    assert shown(watched.page).startswith("0 of 216 answers")
    watched.page.click("text='Clear them'")
    until_shown(watched.page, "216 of 216 answers")


def test_a_filter_of_what_all_answers_share_shows_all(watched, small) -> None:
    watched.open(f"{small.as_uri()}#f.size=1000")
    assert shown(watched.page).startswith("216 of 216 answers")


def test_one_factor_is_not_both_axes(watched, small) -> None:
    watched.open(f"{small.as_uri()}#rows=tongue&cols=tongue")
    chosen = [select.input_value() for select in watched.page.query_selector_all(".axes select")]
    assert chosen[0] == "tongue" != chosen[1]


def test_a_heatmap_cell_filters_by_both_factors(watched, small) -> None:
    watched.open(f"{small.as_uri()}#rows=tongue&cols=place")
    watched.page.click("text='50' >> nth=0")
    until_shown(watched.page, "24 of 216 answers")
    until(watched.page, "location.hash === '#rows=tongue&cols=place&f.tongue=hi&f.place=0'")


def test_disagreements_of_two_models(watched, small) -> None:
    watched.open(f"{small.as_uri()}#f.model=good&vs=poor&differ=1")
    assert shown(watched.page).startswith("72 of 216 answers")


def test_search_finds_text_in_answers(watched, small) -> None:
    watched.open(small.as_uri())
    watched.page.keyboard.press("/")
    watched.page.keyboard.type("BABBAGE")
    until(watched.page, "document.querySelector('.summary p').innerText.startsWith('72 of')")


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
    page = explore(
        tmp_path,
        [
            Asked(
                spans,
                {HOSTILE: HOSTILE},
                references=[HOSTILE],
                factors={"tongue": HOSTILE, "place": 0.5, "size": 1},
                example=HOSTILE,
                translation="<i>" + HOSTILE,
            )
        ],
    )
    watched.open(page.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector("mark.lit")
    assert watched.page.title() == "needlework explorer"
    assert watched.page.locator("img, b b, .prose b, .prose script").count() == 0
    assert "<script>document.title" in watched.page.inner_text(".answer-card .prose >> nth=0")
    assert watched.page.inner_text(".answer-card .hidden-character >> nth=0") == "RLO"
    assert watched.requests == [page.as_uri()]


def test_right_to_left_text_reads_from_the_right(watched, tmp_path) -> None:
    spans = [literal("needle", "العاصمة هي باريس."), literal("question", "ما هي العاصمة؟")]
    page = explore(tmp_path, [Asked(spans, {"model": "باريس"}, references=["باريس"])])
    watched.open(f"{page.as_uri()}#open={identifier(0)[:16]}.model", "mark.lit")
    directions = watched.page.evaluate(
        "[...document.querySelectorAll('.asked .prose, .answer-card .prose, .body')]"
        ".map(e => getComputedStyle(e).direction)"
    )
    assert directions == ["rtl"] * 3


def test_a_needle_has_its_own_direction(watched, tmp_path) -> None:
    spans = [
        literal("haystack", "[1] Hay in English. "),
        literal("needle", "العاصمة هي باريس."),
        literal("haystack", " [2] More hay."),
    ]
    page = explore(tmp_path, [Asked(spans, {"model": "x"})])
    watched.open(f"{page.as_uri()}#open={identifier(0)[:16]}.model", "mark.lit")
    assert watched.page.evaluate(
        "[document.querySelector('mark.lit'), document.querySelector('.body .haystack')]"
        ".map(e => getComputedStyle(e.closest('bdi')).direction)"
    ) == ["rtl", "ltr"]


def test_an_answer_of_ten_megabytes_opens(watched, tmp_path) -> None:
    page = explore(tmp_path, [Asked([literal("question", "Who?")], {"model": "wörd " * 2_000_000})])
    watched.open(page.as_uri())
    watched.page.keyboard.press("o")
    watched.page.wait_for_selector(".answer-card .prose", timeout=5000)
    assert len(watched.page.inner_text(".answer-card .prose")) < 4000
    watched.page.click(".answer-card button")
    until(watched.page, "document.querySelector('.answer-card .prose').innerText.length > 50000")


def test_thoughts_are_kept_apart_from_the_answer(watched, tmp_path) -> None:
    page = explore(
        tmp_path,
        [Asked([literal("question", "Who?")], {"m": "Ada"}, raw="<think>Hm. Babbage?</think>Ada")],
    )
    watched.open(f"{page.as_uri()}#open={identifier(0)[:16]}.m", ".answer-card summary")
    card = watched.page.locator(".answer-card")
    assert "Hm." not in card.inner_text()
    card.locator("summary", has_text="thoughts").click()
    assert "<think>Hm. Babbage?</think>Ada" in card.inner_text()


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
    took = watched.page.evaluate(
        """() => new Promise(done => {
          const start = performance.now();
          new MutationObserver((_, me) => {
            if (!document.querySelector('mark.lit')) return;
            me.disconnect();
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
          }).observe(document.body, {childList: true, subtree: true});
          document.querySelector('.list .row').click();
        })"""
    )
    print(f"needle lit after {took:.0f} ms")
    # A fifth of it on an idle machine; other tests run beside this one.
    assert took < 1000
    start = watched.page.evaluate("performance.now()")
    watched.page.keyboard.press("f")
    until(watched.page, "document.querySelector('.body').innerText.length > 500000")
    print(f"unfolded after {watched.page.evaluate('performance.now()') - start:.0f} ms")


def test_a_prompt_shows_its_numbered_list(watched, tmp_path) -> None:
    words = [f"word{i % 300}" for i in range(2000)]
    file = tmp_path / "made_up/lists.parquet"
    rows = {"passage_id": ["a"], "text": [None], "words": [words]}
    write_table(pa.table(rows, schema=DOCUMENTS), file)
    text = numbered(words)
    spans = [Span("haystack", "made_up/lists/a", 0, len(text)), literal("question", "Which?")]
    prompts, answers = write_files(tmp_path / "run", [Asked(spans, {"m": "x"})])
    prompts = {"words": replace(prompts["words"], documents=[str(file)])}
    write_explorer(
        tmp_path,
        {"made_up": Explored("Made up", ["task"], prompts, answers)},
        program=PROGRAM,
        style=STYLE,
        one_file=0,
    )
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
    # Beside other tests the clock says how many there are, so what counts is the page's own processor time.
    clock, spent, memory = [], [], 0
    for _ in range(3):
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        tools = context.new_cdp_session(page)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = {process.pid for process in renderers()}
        page.goto(large.as_uri(), wait_until="commit")
        page.wait_for_selector(".list .row")
        page.keyboard.press("j")
        page.wait_for_selector(".row.current")
        clock.append(page.evaluate("performance.now()"))
        metrics = tools.send("Performance.getMetrics")["metrics"]
        spent.append(1000 * {m["name"]: m["value"] for m in metrics}["TaskDuration"])
        page.fill("#search", "number 7919.")
        until(page, "document.querySelector('.summary p').innerText.startsWith('2 of')")
        own = [process for process in renderers() if process.pid not in before] or renderers()
        memory = max(memory, max(process.memory_full_info().uss for process in own))
        context.close()
    print(f"usable after {list(map(round, clock))} ms, {list(map(round, spent))} of the processor")
    print(f"{memory >> 20} MiB")
    assert min(spent) < 1000
    assert memory < 300e6


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


def check_accessibility(chromium, address: str, scheme: str, wait: str) -> None:
    """What axe-core finds wrong with a page: nothing."""
    if not AXE.is_file():
        pytest.skip("needs axe-core: run `make setup-explorer`")
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    # What is checked is the page, not the policy that keeps other scripts out of it.
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(wait)
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 20
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("opened", [False, True])
def test_an_accessibility_checker_passes(chromium, small, scheme, opened) -> None:
    state = f"#f.tongue=hi&vs=good&open={identifier(36)[:16]}.poor" if opened else ""
    wait = "mark.lit" if opened else ".list .row"
    check_accessibility(chromium, f"{small.as_uri()}{state}", scheme, wait)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_in_pale_text_can_be_read(chromium, tmp_path, scheme) -> None:
    spans = [literal("instruction", "Who, Ada or Babbage?"), literal("needle", "It was Ada. ")]
    page = explore(tmp_path, [Asked(spans, {"m": "Babbage"}, references=["Ada"])])
    address = f"{page.as_uri()}#open={identifier(0)[:16]}.m"
    check_accessibility(chromium, address, scheme, ".body mark.reference")


@pytest.mark.parametrize("width", [390, 820, 1600])
def test_nothing_hangs_over_the_edge(watched, small, width) -> None:
    watched.page.set_viewport_size({"width": width, "height": 800})
    watched.open(f"{small.as_uri()}#open={identifier(36)[:16]}.poor", "mark.lit")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    watched.page.keyboard.press("Escape")
    watched.page.wait_for_selector(".list .row")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_of_the_overview_open_what_they_name(watched, small) -> None:
    link = overview.explorer("made_up", {"model": "poor", "tongue": "hi", "ended with": "stop"})
    watched.open(f"{small.as_uri()}{link.removeprefix(overview.EXPLORER)}")
    assert shown(watched.page).startswith("36 of 216 answers")
