"""The page of results in a real browser: it is accessible, fits its window and asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explorer_run import FACTORS, ROOT, Asked, explore
from needlework.factor import Factor
from needlework.results.numbers.claims import claims, models_compared
from needlework.results.numbers.means import headline, means
from needlework.results.numbers.tables import empty, frame
from needlework.results.page.overview_page import write_page
from needlework.results.result import Grid
from needlework.results.rows import scores_of
from needlework.results.written_tables import html_table

pytestmark = [pytest.mark.xdist_group("chromium")]


@pytest.fixture(scope="module")
def page(small) -> Path:
    """The page of the small run, with a table and a figure."""
    folder = small.parent.parent
    table, shown, figure = (folder / name for name in ("t.csv", "t.html", "f.svg"))
    table.write_text("model,value,comparison\ngood,1.0,covers\npoor,0.3,below\n")
    grid = Grid(rows=(Factor("model", label="Model"), Factor("comparison")), head="Accuracy")
    shown.write_text(html_table(pd.read_csv(table), (grid,), "Everything"))
    figure.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="300"><circle r="9"/></svg>'
    )
    entry = {"title": "Everything", "caption": None, "numbers": str(table)}
    printed = {"benchmark": "made_up", "table": "table 9", "verdict": "covers", "result": "t"}
    printed |= {"row": "good", "column": "x", "published": 1.0, "value": 1.0}
    pd.DataFrame([printed | {"reason": "", "link": ""}]).to_csv(folder / "r.csv", index=False)
    scores = [str(folder / f"run/{model}/scores.parquet") for model in ("good", "poor")]
    made_up = {
        **{"title": "Made up", "closed_book": ("task", "closed_book"), "designed": ()},
        **{"task_names": {}, "asked": ("tongue", "place", "size"), "scores": scores},
        "data": "This run: made up. The paper: " + "other texts, " * 12,
        "tables": {"t": {**entry, "file": str(table), "shown": str(shown)}},
        "figures": {"f": {**entry, "file": str(figure)}},
    }
    target, template = folder / "index.html", ROOT / "resources/overview/index.html.j2"
    both = [folder / "r.csv", figure]
    models = ["good", "poor"]
    own, closed_book = scores_of(scores), ("task", "closed_book")
    pairs = models_compared(
        {"made_up": headline(own, (), closed_book)}, {"made_up": FACTORS}, models
    )
    tables = {**empty(), "means": frame("means", list(means("made_up", own, closed_book)))}
    tables["comparisons"] = claims(frame("comparisons", list(pairs)))
    said = {"reproduction": both, "tables": tables}
    write_page({"made_up": made_up}, models, template=template, target=target, **said)
    return target


@pytest.fixture(scope="module")
def full(page) -> Path:
    """The page of the benchmark."""
    return page.with_name("made_up.html")


@pytest.mark.parametrize("name", ["index", "made_up"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overview_is_accessible(accessible, page, scheme, name) -> None:
    unfold = "document.querySelectorAll('details').forEach(one => { one.open = true })"
    address = page.with_name(f"{name}.html").as_uri()
    accessible(scheme, address, "h1", unfold)


@pytest.mark.parametrize("width", [390, 1400])
def test_the_overview_fits_and_leads_to_wrong_answers(watched, page, width) -> None:
    """Its first table is on the first screen."""
    tab = watched.page
    tab.set_viewport_size({"width": width, "height": 800})
    watched.open(page.as_uri(), "table.finding")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert {Path(url).name for url in watched.requests} == {"index.html", "f.svg"}
    assert tab.locator("table").first.bounding_box()["y"] < 500
    assert tab.locator("h1").bounding_box()["y"] < 200
    # No cell of it hangs over the edge.
    cells = tab.eval_on_selector_all(
        "table.finding td, table.finding tbody th",
        "all => all.map(a => a.getBoundingClientRect().right)",
    )
    assert max(cells) <= width
    tab.click("a:has-text('Made up in full')")
    tab.wait_for_selector("table.means")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for link in ("p a:has-text('poor')", "table.means >> nth=0 >> tr:has-text('poor') a"):
        watched.open(page.with_name("made_up.html").as_uri(), "table.means")
        tab.click(link)
        tab.wait_for_selector(".list .row")
        assert "reference not found" in tab.inner_text(".list .row >> nth=0")


def test_links_open_the_table_that_they_name(watched, page) -> None:
    watched.open(page.as_uri(), "table.finding")
    watched.page.click("p.links a:has-text('agreement with the paper')")
    assert not watched.page.is_visible("td:has-text('covers')")
    watched.page.click("table.agreement a:has-text('table 9')")
    watched.page.wait_for_selector("td:has-text('covers')", timeout=2000)


def test_a_table_is_sorted_by_the_keyboard(watched, full) -> None:
    """Downwards, upwards, and as it was."""
    watched.open(full.as_uri(), "table.means")
    watched.page.click("summary:has-text('Everything')")
    head = watched.page.locator("table.laid thead th >> nth=2")
    assert head.get_attribute("aria-sort") is None
    first = []
    for order in ("descending", "ascending", None):
        head.locator("button").press("Enter")
        assert head.get_attribute("aria-sort") == order
        first.append(watched.page.inner_text("table.laid tbody th >> nth=0"))
    assert first == ["good", "poor", "good"]


def test_a_table_stands_without_scripts(chromium, full) -> None:
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(full.as_uri())
    tab.click("summary:has-text('Everything')")
    assert tab.locator("table.laid tbody tr").count() == 2
    assert tab.locator("table.laid button").count() == 0
    context.close()


@pytest.mark.parametrize("name", ["index", "made_up"])
def test_no_cell_is_cut_in_print(chromium, page, name) -> None:
    tab = chromium.new_page(viewport={"width": 718, "height": 1000})
    tab.emulate_media(media="print")
    tab.goto(page.with_name(f"{name}.html").as_uri())
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    right = "all => all.map(a => a.getBoundingClientRect().right)"
    assert max(tab.eval_on_selector_all("td, th, img", right)) <= 718
    assert tab.eval_on_selector_all("details", "all => all.every(one => one.open)")
    tab.close()


def test_headings_and_figures_are_on_one_page_in_print(chromium, page) -> None:
    """Columns are divided as pages are."""
    tab = chromium.new_page()
    tab.emulate_media(media="print")
    tab.goto(page.as_uri())
    columns = "width: 700px; max-width: none; columns: 700px; column-fill: auto"
    for height in range(600, 1200, 30):
        tab.evaluate(f"document.body.style.cssText = 'height: {height}px; {columns}'")
        places = tab.evaluate(
            """['h2', 'h2 + p', 'figure'].map(name => document.querySelector(`#made_up ${name}`)
            .getClientRects()).map(all => [all.length, all[0].left])"""
        )
        assert [number for number, _ in places] == [1, 1, 1], height
        assert len({left for _, left in places}) == 1, height
    tab.close()


def test_the_summary_stands_alone_and_shows_names_whole(watched, page, tmp_path) -> None:
    """As wide as the report's text in a window of 1400 pixels."""
    models = ["Mistral-7B-Instruct-v0.2", "Qwen2.5-7B-Instruct", "aya-expanse-8b"]
    run = [Asked([], dict.fromkeys(models, "Ada"), example=f"e{i}") for i in range(12)]
    explore(tmp_path, run)
    made_up = {
        **{"closed_book": ("task", "closed_book"), "designed": (), "task_names": {}, "data": ""},
        **{"asked": FACTORS, "tables": {}, "figures": {}},
        "scores": [str(tmp_path / f"run/{model}/scores.parquet") for model in models],
    }
    benchmarks = {f"b{i}": made_up | {"title": f"Made up {i}"} for i in range(6)}
    target, template = tmp_path / "results/index.html", ROOT / "resources/overview/index.html.j2"
    summary = target.with_name("summary.html")
    write_page(benchmarks, models, template=template, target=target, summary=summary)
    tab = watched.page
    tab.set_viewport_size({"width": 1134, "height": 800})
    watched.open(summary.as_uri(), "table.finding")
    assert tab.title() == f"needlework: {', '.join(models)}"
    assert "system-ui" in tab.evaluate("getComputedStyle(document.body).fontFamily")
    heights = tab.eval_on_selector_all(
        "table.finding tbody th",
        "all => all.map(a => a.querySelector('i').nextSibling).map("
        "name => { const r = document.createRange(); r.selectNode(name); return r.getClientRects().length })",
    )
    assert heights == [1] * len(models)
    tab.click("a:has-text('All results on one page')")
    tab.wait_for_url(target.as_uri())
