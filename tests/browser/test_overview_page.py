"""The page of results in a real browser: it is accessible, fits its window and asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explorer_run import ROOT
from needlework.factor import Factor
from needlework.results.page.overview_page import write_page
from needlework.results.result import Grid
from needlework.results.written_tables import html_table

pytestmark = [pytest.mark.xdist_group("chromium")]

AXE = ROOT / "explorer/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="module")
def page(small) -> Path:
    """The page of the small run, with a table and a figure."""
    folder = small.parent.parent
    (folder / "t.csv").write_text("model,value,comparison\ngood,1.0,covers\npoor,0.3,below\n")
    grid = Grid(rows=(Factor("model", label="Model"), Factor("comparison")), head="Accuracy")
    shown = html_table(pd.read_csv(folder / "t.csv"), (grid,), "Everything")
    (folder / "t.html").write_text(shown)
    (folder / "f.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="300"><circle r="9"/></svg>'
    )
    numbers = str(folder / "t.csv")
    entry = {"title": "Everything", "caption": None, "numbers": numbers}
    printed = {"benchmark": "made_up", "table": "table 9", "verdict": "covers", "result": "t"}
    printed |= {
        "row": "good",
        "column": "x",
        "published": 1.0,
        "value": 1.0,
        "reason": "",
        "link": "",
    }
    pd.DataFrame([printed]).to_csv(folder / "reproduction.csv", index=False)
    write_page(
        {
            "made_up": {
                "title": "Made up",
                "closed_book": ("task", "closed_book"),
                "designed": (),
                "task_names": {},
                "asked": ("tongue", "place", "size"),
                "data": "",
                "scores": [
                    str(folder / f"run/{model}/scores.parquet") for model in ("good", "poor")
                ],
                "tables": {
                    "t": {
                        **entry,
                        "file": str(folder / "t.csv"),
                        "shown": str(folder / "t.html"),
                    }
                },
                "figures": {
                    "f": {**entry, "file": str(folder / "f.svg")},
                },
            }
        },
        ["good", "poor"],
        template=ROOT / "resources/overview/index.html.j2",
        target=folder / "index.html",
        reproduction=[folder / "reproduction.csv", folder / "f.svg"],
    )
    return folder / "index.html"


@pytest.fixture(scope="module")
def full(page) -> Path:
    """The page of the benchmark."""
    return page.with_name("made_up.html")


@pytest.mark.parametrize("name", ["index", "made_up"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overview_is_accessible(chromium, page, scheme, name) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core: run `make setup-explorer`")
    context = chromium.new_context(color_scheme=scheme)
    tab = context.new_page()
    tab.goto(page.with_name(f"{name}.html").as_uri())
    tab.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    tab.evaluate(AXE.read_text("utf-8"))
    found = tab.evaluate("axe.run()")
    assert len(found["passes"]) > 10
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_overview_fits_and_leads_to_wrong_answers(watched, page, width) -> None:
    watched.page.set_viewport_size({"width": width, "height": 800})
    watched.open(page.as_uri(), "table.finding")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert {Path(url).name for url in watched.requests} == {"index.html", "f.svg"}
    watched.page.click("a:has-text('Made up in full')")
    watched.page.wait_for_selector("table.means")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    watched.page.click("p a:has-text('poor')")
    watched.page.wait_for_selector(".list .row")
    assert "reference not found" in watched.page.inner_text(".list .row >> nth=0")


@pytest.mark.parametrize("width", [400, 1400])
def test_the_first_table_is_on_the_first_screen(watched, page, width) -> None:
    watched.page.set_viewport_size({"width": width, "height": 800})
    watched.open(page.as_uri(), "table.finding")
    assert watched.page.locator("table").first.bounding_box()["y"] < 500
    # No cell of it hangs over the edge.
    cells = watched.page.eval_on_selector_all(
        "table.finding td, table.finding tbody th",
        "all => all.map(a => a.getBoundingClientRect().right)",
    )
    assert max(cells) <= width
    assert watched.page.locator("h1").bounding_box()["y"] < 200


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


def test_a_mean_leads_to_its_answers(watched, full) -> None:
    watched.open(full.as_uri(), "table.means")
    watched.page.click("table.means >> nth=0 >> tr:has-text('poor') a")
    watched.page.wait_for_selector(".list .row")
    assert "reference not found" in watched.page.inner_text(".list .row >> nth=0")


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
