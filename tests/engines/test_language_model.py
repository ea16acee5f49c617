"""What SmolLM2 answers in the main job on the embedded sample."""

from __future__ import annotations

import html
import json
import re
import urllib.parse

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from runs import Workflow, copy_workflow, finished_demo
from smollm2 import smollm2

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]


def selected(workflow: Workflow, benchmark: str, prefix: str) -> int:
    """How many examples of a benchmark, by the beginning of their ids, the model is asked."""
    config = yaml.safe_load((workflow.root / "config.yaml").read_text(encoding="utf-8"))
    ids = config["models"]["smollm2"]["only"][benchmark]["example_id"]
    return sum(name.startswith(prefix) for name in ids)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The checkout's run, or a new one of this model."""
    smollm2()
    found = finished_demo(tmp_path_factory.mktemp("demo"))
    if found is None:
        folder = tmp_path_factory.mktemp("demo")
        found = Workflow(copy_workflow(folder), folder)
        found.run("--config", "run={models: [smollm2]}")
    return found


def scores(asked: Workflow, benchmark: str) -> pd.DataFrame:
    return pq.read_table(asked.result(f"scores/smollm2/{benchmark}.parquet")).to_pandas()


def test_it_answers_what_was_selected(asked: Workflow) -> None:
    needles = scores(asked, "mlneedle")
    assert (needles["metric"].value_counts() == selected(asked, "mlneedle", "") * 3).all()
    assert set(needles["needle_lang"]) == {"en"} == set(needles["haystack_lang"])
    answers = scores(asked, "lost_in_the_middle").query("metric != 'careful'")
    documents = answers.query("task == 'multi_document_qa'")
    assert set(documents["gold_index"]) == {0, 4, 9} and set(documents["n_documents"]) == {10}
    assert len(documents) == 3 * selected(asked, "lost_in_the_middle", "english")
    assert not documents["finish_reason"].isin(["error", "skipped"]).any()
    assert len(answers.query("task == 'key_value'")) == 3 * selected(
        asked, "lost_in_the_middle", "10-"
    )
    assert all(scores(asked, name).empty for name in ("oneruler", "mlongrr", "m4le"))
    # It reads: more than the questions that could be guessed.
    assert documents["value"].mean() > 0.1


def test_provenance_says_how_it_answered(asked: Workflow) -> None:
    made = json.loads(asked.result("provenance.json").read_text(encoding="utf-8"))
    settings = made["models"]["smollm2"]["benchmarks"]["lost_in_the_middle"]["ran_on"][0]["engine"]
    assert settings["EXECUTION_MODE_HINT"] == "ACCURACY"
    only = made["configuration"]["models"]["smollm2"]["only"]
    assert only["lost_in_the_middle"]["lang"] == ["en"]


def views(page: str) -> list[tuple[dict[str, list[str]], float]]:
    """The means on a page in percent, and the view of the explorer that each links to."""
    cells = r'<a href="explorer/index\.html#([^"]+)"[^>]*>(?:<b>)?([\d.]+)(?:</b> \[[^]]+\])?</a>'
    return [
        (urllib.parse.parse_qs(html.unescape(view)), float(mean))
        for view, mean in re.findall(cells, page)
    ]


def test_every_mean_on_the_pages_is_pandas_mean(asked: Workflow) -> None:
    """Over the scores that the mean links to."""
    pages = ["index.html", "mlneedle.html", "lost_in_the_middle.html"]
    found = [one for page in pages for one in views(asked.result(page).read_text("utf-8"))]
    assert len(found) >= 5
    for view, mean in found:
        (benchmark,) = view["b"]
        files = asked.result("scores").glob(f"*/{benchmark}.parquet")
        rows = pd.concat([pq.read_table(file).to_pandas() for file in files])
        rows = rows[rows["metric"] == view["m"][0]] if "m" in view else rows
        for name, values in view.items():
            if name.startswith("f."):
                rows = rows[rows[name.removeprefix("f.")].astype(str).isin(values)]
        rows = rows[~rows["finish_reason"].isin(["skipped", "error"])]
        first = rows.drop_duplicates(["model", "instance_id", "sample"])
        assert 100 * first["value"].mean() == pytest.approx(mean, abs=0.51), view


def test_the_title_is_of_the_scores(asked: Workflow) -> None:
    page = asked.result("index.html").read_text("utf-8")
    title = re.search(r'<h1 id="finding-title">(.*)</h1>', page)[1]
    own = scores(asked, "lost_in_the_middle").query("task == 'multi_document_qa'")
    means = {
        (metric, place): 100 * rows["value"].mean()
        for metric in ("best_subspan_em", "careful")
        for place, rows in own.query("metric == @metric").groupby(own["gold_index"] == 4)
    }
    middle, ends = means["best_subspan_em", True], means["best_subspan_em", False]
    assert f"smollm2 loses {ends - middle:.0f} points [" in title
    assert f"{middle:.0f}% there, {ends:.0f}% at the ends (47 questions, " in title
    by_second = f"{means['careful', True]:.0f}% and {means['careful', False]:.0f}%"
    assert f"by the second scorer {by_second}" in title
