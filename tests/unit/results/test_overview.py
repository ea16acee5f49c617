"""The page of results: its means are the scores', its links lead to what they name, its text is no markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from needlework.factor import Factor
from needlework.planning.rule_inputs import RuleInputs
from needlework.records import scores_schema, write_table
from needlework.results import reproduction
from needlework.results.drawing import notice
from needlework.results.drawing.grid import figure_of
from needlework.results.drawing.save import save_figure
from needlework.results.numbers.means import means
from needlework.results.numbers.tables import empty, frame
from needlework.results.page import overview
from needlework.results.page.overview_page import Front, write_page, write_unfinished
from needlework.results.reproduction import picture
from needlework.results.result import Grid
from needlework.results.written_tables import html_table

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "resources/overview/index.html.j2"
HOSTILE = "<script>alert(1)</script>"
CLOSED_BOOK = ("task", "closed_book")


def rows(model: str, values: dict[str, float], finish: str = "stop") -> list[dict]:
    """Scores of ten questions in each language, a share of them right; how the first request ended."""
    return [
        {
            **{"instance_id": f"{tongue}{i}", "sample": 0, "model": model, "metric": "exact"},
            **{"value": float(i < 10 * share), "verdict": "match", "example_id": f"q{i}"},
            **{"finish_reason": "stop" if i else finish, "task": "find", "first_lang": tongue},
        }
        for tongue, share in values.items()
        for i in range(10)
    ]


def made(*models: list[dict]) -> pd.DataFrame:
    return pd.DataFrame([row for own in models for row in own])


def grids_of(name: str, scores: pd.DataFrame, *shown: Any) -> list[overview.MeanGrid]:
    return overview.grids(frame("means", list(means(name, scores, *shown))))


A = made(rows("a", {"en": 0.8}))
TWO = made(rows("a", {"en": 0.8, "hi": 0.2}), rows("b", {"en": 1.0}))


def test_means_are_by_model_and_language() -> None:
    scores = made(rows("a", {"en": 0.8, "hi": 0.2}), rows("b", {"en": 1.0, "hi": 1.0}))
    (grid,) = grids_of("made_up", scores, CLOSED_BOOK)
    assert (grid.metric, grid.languages) == ("exact", ("en", "hi"))
    assert [cell.value for cell in grid.rows["a"]] == pytest.approx([0.5, 0.8, 0.2])
    assert [cell.n for cell in grid.rows["a"]] == [20, 10, 10]
    assert all(cell.low <= cell.value <= cell.high for cell in grid.rows["a"])
    assert grid.rows["b"][0].n_questions == 10
    # A run in one language has no columns of languages.
    (grid,) = grids_of("made_up", A, CLOSED_BOOK)
    assert grid.languages == () and len(grid.rows["a"]) == 1


def test_what_a_reader_must_know_of_answers_is_a_warning() -> None:
    failed = made(rows("a", {"en": 1.0, "hi": 1.0}, finish="error"))
    assert grids_of("made_up", failed, CLOSED_BOOK)[0].rows["a"][0].n == 18
    short = A.assign(exhausted=[True, True, *[False] * 7, None])
    (warning,) = overview.warnings("made_up", short)
    assert warning.text.startswith("2 of 10 prompts are shorter")
    assert warning.link == "explorer/index.html#b=made_up&f.model=a&f.exhausted=yes"
    (warning,) = overview.warnings("made_up", pd.concat([short, short.assign(model="b")]))
    assert warning.model == "a, b" and "f.model=a&f.model=b" in warning.link
    (warning,) = overview.warnings("made_up", TWO)
    assert warning.model == "b"
    assert warning.text.startswith("answered 10 of 20 questions (counted per task")


def test_a_mean_leads_to_its_answers_by_its_metric() -> None:
    lax = A.assign(metric="lax", value=0.0)
    both = grids_of("b", pd.concat([A, lax]), CLOSED_BOOK)
    assert [(grid.metric, grid.headline) for grid in both] == [("exact", True), ("lax", False)]
    apart = lax.assign(instance_id=lax["instance_id"] + "x")
    parts = grids_of("b", pd.concat([A, apart]), CLOSED_BOOK)
    (languages,) = grids_of("b", TWO, CLOSED_BOOK)
    for cell, told in (
        (languages.rows["a"][2], "f.model=a&f.first_lang=hi"),
        (both[1].rows["a"][0], "m=lax&f.model=a"),
        (parts[1].rows["a"][0], "f.model=a&f.metric=lax"),
    ):
        assert cell.link == f"explorer/index.html#b=b&{told}"


def other_task(task: str) -> pd.DataFrame:
    """The scores of A of another task, all wrong."""
    return A.assign(task=task, value=0.0, instance_id=A["instance_id"] + task)


def test_closed_book_prompts_are_in_no_mean_but_their_own() -> None:
    asked = other_task("closed_book")
    every = pd.concat([asked, A, other_task("find two")], ignore_index=True)
    (grid,) = grids_of("b", every, CLOSED_BOOK)
    (cell,) = grid.rows["a"]
    assert (cell.n, cell.value) == (20, pytest.approx(0.4))
    assert cell.link == "explorer/index.html#b=b&f.model=a&f.task=find&f.task=find+two"
    (alone,) = grids_of("b", asked, CLOSED_BOOK)
    assert alone.rows["a"][0].n == 10


def test_tasks_that_are_not_designed_have_means_of_their_own(tmp_path) -> None:
    both = pd.concat([other_task("count"), A], ignore_index=True)
    found = grids_of("b", both, CLOSED_BOOK, ("find", "absent"))
    assert [grid.tasks for grid in found] == [("find",), ("count",)]
    assert [grid.rows["a"][0].value for grid in found] == pytest.approx([0.8, 0.0])
    assert found[1].rows["a"][0].link == "explorer/index.html#b=b&f.model=a&f.task=count"
    assert [grid.tasks for grid in grids_of("b", A, CLOSED_BOOK, ("find",))] == [()]
    page = full_page(tmp_path, both, ["a"])
    assert (
        "Made up, <code>exact</code>: Finding</h3>" in page
        and "<code>exact</code>: count</h3>" in page
    )
    first = (tmp_path / "results/index.html").read_text("utf-8")
    assert '<span class="lower">count: 0 [0, ' in first


@pytest.mark.parametrize("n, columns", [(1, False), (6, True), (7, False)])
def test_several_languages_are_columns_and_many_a_table(tmp_path, n: int, columns: bool) -> None:
    tongues = ["ar", "bn", "de", "en", "es", "fi", "hi"][:n]
    page = full_page(tmp_path, made(rows("a", dict.fromkeys(tongues, 0.5))), ["a"])
    assert ('<th scope="col">ar</th>' in page) is columns
    apart = n > 6
    assert ("<summary>By first language</summary>" in page) is apart
    assert all((f'<th scope="row">{tongue}</th>' in page) is apart for tongue in tongues)


def test_a_figure_of_nothing_is_a_sentence_and_no_picture(tmp_path) -> None:
    drawn, nothing = figure_of(3, 1), notice("Nothing to draw: <nobody> answered")
    drawn.text(0.1, 0.1, "drawn")
    figures = {}
    for name, figure in (("a", drawn), ("b", nothing)):
        save_figure([figure], tmp_path / f"results/{name}", ["svg"])
        files = {"file": f"results/{name}.svg", "numbers": "results/numbers.csv"}
        files = {key: str(tmp_path / path) for key, path in files.items()}
        figures[name] = {**files, "title": f"Title {name}", "caption": ""}
    (tmp_path / "results/numbers.csv").write_text("value\n1\n")
    page = a_page(tmp_path, A, ["a"], {"figures": figures})
    full = (tmp_path / "results/made_up.html").read_text("utf-8")
    assert 'src="a.svg"' in page and "b.svg" not in page + full
    assert "Title b. Nothing to draw: &lt;nobody&gt; answered." in full


@pytest.mark.parametrize("verdict", ["covers", "cannot tell"])
def test_printed_numbers_stand_above_the_means(verdict: str, tmp_path: Path) -> None:
    """As a picture whose dots are links; in a run without any verdict as a sentence."""
    place = {"benchmark": "b", "table": "table1", "row": "m", "column": "x", "result": "t"}
    numbers = {"published": 0.5, "value": 0.5, "ci_low": 0.4, "ci_high": 0.6}
    said = {"verdict": verdict, "reason": "other <data>", "link": "explorer/index.html#b=b"}
    table = pd.DataFrame([place | numbers | said])[list(reproduction.COLUMNS)]
    figure = (
        picture(table, {"b": "B"}) if verdict == "covers" else notice(reproduction.coverage(table))
    )
    save_figure([figure], tmp_path / "results/reproduction")
    table.to_csv(tmp_path / "results/reproduction.csv", index=False)
    both = [tmp_path / f"results/reproduction.{ending}" for ending in ("csv", "svg")]
    summary = tmp_path / "summary.html"
    page = a_page(tmp_path, A, ["a"], summary=summary, reproduction=both)
    top = page[page.index('<section id="reproduction"') : page.index('id="made_up"')]
    if verdict == "covers":
        assert '<a tabindex="-1" xlink:href="explorer/index.html#b=b"' in top and "<svg " in top
        assert "1 of 1 printed numbers are covered; 0 more have no verdict." in top
        assert "data:image/svg+xml;base64," in summary.read_text("utf-8")
    else:
        assert "<svg" not in top and "most often because other &lt;data&gt;." in top


def test_the_page_shows_tables_and_escapes_text(tmp_path) -> None:
    table = tmp_path / "results/tables/t.csv"
    table.parent.mkdir(parents=True)
    table.write_text(f"model,value\n{HOSTILE},0.123456789\n")
    grid = Grid(rows=(Factor("model", label="Model"),), head="Accuracy")
    shown = table.with_suffix(".html")
    shown.write_text(html_table(pd.read_csv(table), (grid,), "T"))
    entry = {"file": str(table), "shown": str(shown), "numbers": str(table), "title": "T"}
    entry["caption"] = "**A table** of ``values``."
    scores = made(rows(HOSTILE, {"en": 0.5, "hi": 0.5}))
    summary = tmp_path / "results/summary.html"
    main = a_page(tmp_path, scores, [HOSTILE], {"tables": {"t": entry}}, summary=summary)
    page = (tmp_path / "results/made_up.html").read_text("utf-8")
    assert HOSTILE not in main + page + summary.read_text("utf-8")
    assert '<a href="made_up.html#made_up-t" title="T">T</a>' in main
    assert "A table" not in main and "<strong>A table</strong> of" in page
    assert 'href="results/explorer/index.html#b=made_up' in summary.read_text("utf-8")
    assert '<td data-v="0.123457">0.123</td>' in page
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert 'href="tables/t.csv"' in page and "50.0" in page


def made_up(folder: Path) -> dict[str, Any]:
    """A benchmark without tables and figures."""
    return {
        "title": "Made up",
        "closed_book": CLOSED_BOOK,
        "designed": ("find",),
        "task_names": {"find": "Finding"},
        "asked": ("first_lang",),
        "data": "",
        "scores": [str(folder / "results/scores.parquet")],
        "tables": {},
        "figures": {},
    }


def a_page(
    folder: Path, scores: pd.DataFrame, models: list[str], changes: Mapping[str, Any] = {}, **said
) -> str:
    """The page of one benchmark with these scores."""
    own, target = {**made_up(folder), **changes}, folder / "results/index.html"
    schema = scores_schema({"first_lang": "string"})
    write_table(pa.Table.from_pylist(scores.to_dict("records"), schema=schema), own["scores"][0])
    write_page({"made_up": own}, models, template=TEMPLATE, target=target, **said)
    return target.read_text("utf-8")


def full_page(folder: Path, scores: pd.DataFrame, models: list[str], **said) -> str:
    """The page that the benchmark of `a_page` has of its own."""
    a_page(folder, scores, models, **said)
    return (folder / "results/made_up.html").read_text("utf-8")


READERS = {"oracle": "oracle", "empty": "empty"}
FRONT = Front({"readers": READERS})


def control_scores(oracle: float = 1.0) -> pd.DataFrame:
    return made(rows("oracle", {"en": oracle}), rows("empty", {"en": 0.0}))


def test_controls_are_in_no_mean_beside_models(tmp_path) -> None:
    scores = pd.concat([control_scores(), A], ignore_index=True)
    page = a_page(tmp_path, scores, ["a", "oracle", "empty"], front=FRONT)
    assert "</i>a</th>" in page and "oracle</th>" not in page
    assert "Self-check passed: all 10 reference answers (oracle) are scored right" in page
    # A model is not compared with what controls were asked.
    assert "asked other prompts" not in page and "No model was run." not in page


def test_a_run_of_controls_shows_their_scores_and_the_remedy(tmp_path) -> None:
    page = a_page(tmp_path, control_scores(), [*READERS], front=FRONT)
    assert "Self-check passed" in page
    assert "No model was run." in page and "--configfile mine.yaml" in page
    assert "</i>oracle</th>" in page
    page = a_page(tmp_path, control_scores(0.9), [*READERS], front=FRONT)
    assert "Self-check passed" not in page
    assert "in 1 of 10 prompts of Made up" in page and "f.model=oracle" in page


def test_every_mean_has_n_and_other_prompts_a_mark(tmp_path) -> None:
    page = full_page(tmp_path, TWO, ["a", "b"])
    assert page.count('<span class="mean"') == len(re.findall(", n 10</span>", page)) > 0
    assert 'b<a class="mark"' in page and 'a<a class="mark"' not in page
    assert "cannot be ranked" in page


@pytest.mark.parametrize("panels", [1, 2])
def test_the_front_says_what_was_run_before_it_shows_cards(tmp_path, panels: int) -> None:
    """A run of a single panel has no card."""
    figure = figure_of(3, 1)
    figure.text(0.1, 0.1, "card")
    save_figure([figure], tmp_path / "results/cards/page/a", ["svg"])
    (tmp_path / "results/cards/a.txt").write_text("a loses <nothing>.\nMethod.\n")
    run = {"files": ["presets/x.yaml"], "models": {"a": "org/a, vllm"}, "readers": {}}
    run["data"] = {"Made up": "a corpus, 10 questions"}
    labels = {"card": "a", "model": "a", "benchmark": "made_up", "axis": "depth", "value": 0.5}
    points = [
        {
            **labels,
            "part": str(part),
            "level": str(level),
            "called": "x",
            "n": 10,
            "n_questions": 10,
        }
        for part in range(panels)
        for level in (0, 1)
    ]
    own = frame("means", list(means("made_up", A, CLOSED_BOOK, ("find",))))
    tables = {**empty(), "means": own, "points": frame("points", points)}
    cards = [tmp_path / "results/cards/page/a.svg"]
    page = a_page(tmp_path, A, ["a"], front=Front(run), cards=cards, tables=tables)
    parts = [
        *("presets/x.yaml", "org/a, vllm", "a corpus, 10 questions", "<dt>Written</dt>"),
        *('href="cards/a.svg"', 'src="cards/page/a.svg"', "a loses &lt;nothing&gt;."),
        *('href="cards/a.pdf"', 'id="made_up"'),
    ]
    if panels == 1:
        assert 'id="cards"' not in page
        return
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_a_failed_run_shows_the_results_that_there_are(tmp_path) -> None:
    page = a_page(tmp_path, A, ["a"])
    assert "A job failed" not in page
    lost = {"file": str(tmp_path / "a.svg"), "numbers": str(tmp_path / "a.csv")}
    own = made_up(tmp_path) | {"figures": {"a": lost}}
    target = tmp_path / "results/index.html"
    write_unfinished({"b": own, "c": {**own, "scores": []}}, ["a"], TEMPLATE, target, Front())
    page = target.read_text("utf-8")
    assert (
        "A job failed, so results are missing" in page and 'id="b"' in page and 'id="c"' not in page
    )


def test_folders_of_this_machine_are_on_no_page() -> None:
    models = {"m": {"backend": "vllm", "name": "/home/me/weights/llama", "revision": None}}
    models["e"] = {"backend": "empty", "name": None, "revision": None}
    run = {"models": ["m", "e"], "benchmarks": [], "notice": None}
    layout = RuleInputs({"run": run, "models": models})
    ran = layout.pages.ran([ROOT / "presets/small.yaml", "/home/me/secret/mine.yaml"], {"run": {}})
    assert ran["files"] == ["presets/small.yaml", "mine.yaml", "run of --config"]
    assert layout.pages.ran([], {})["files"] == ["config.yaml, the demo's"]
    assert (ran["models"], ran["readers"]) == ({"m": "llama, vllm"}, {"e": "empty"})
