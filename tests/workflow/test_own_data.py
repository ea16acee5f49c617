"""The documented configuration of a user's own domain, in all benchmarks, from files and a loopback hub."""

from __future__ import annotations

import io
import json
import os
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from http_server import Hub
from needlework.prompts.spans import Documents, render
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("own_data")]

TOWNS = (
    "Arnow Belith Corvane Dunmere Eskel Fenwick Galtry Hobren Ister Jorvale Kelmar Lothby".split()
)
BENCHMARKS = ("mlneedle", "lost_in_the_middle", "oneruler", "mlongrr", "m4le")
MODELS = ("oracle", "empty")
# What keeps the run short; the rest is the page's.
SHORT = {
    "mlneedle": {"lengths": [256], "questions": 4},
    "oneruler": {"lengths": [1000], "examples": 1},
    "mlongrr": {"lengths": [500]},
    "m4le": {"lengths": [500], "examples": 3},
}


def _questions() -> bytes:
    rows = [
        {
            "key": f"q{place:02d}",
            "heading": f"The pump of {town}",
            "section": f"The pump of {town} was built in {1700 + 7 * place} and feeds two wells.",
            "question": f"In which year was the pump of {town} built?",
            "answers": {"text": [str(1700 + 7 * place)], "answer_start": [28 + len(town)]},
        }
        for place, town in enumerate(TOWNS)
    ]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def _write_data(folder: Path) -> None:
    rng = random.Random(0)
    folder.mkdir()
    sections = [
        f"Close the valve of {town} before step {n}." for town in TOWNS for n in range(1, 6)
    ]
    for part in range(2):
        pq.write_table(
            pa.table({"section": sections[part::2]}), folder / f"sections-{part}.parquet"
        )
    bodies = [
        f"On day {day} the valve of {rng.choice(TOWNS)} leaked. "
        f"A {rng.choice(['red', 'blue'])} seal was sent."
        for day in range(500)
    ]
    (folder / "tickets.jsonl").write_text(
        "".join(json.dumps({"body": body}) + "\n" for body in bodies), encoding="utf-8"
    )
    lines = ["body,summary"]
    for number in range(80):
        town = rng.choice(TOWNS)
        body = " ".join(rng.choice(bodies) for _ in range(5))
        lines.append(f'"Report {number} of {town}. {body}","{town} had {number} leaks"')
    (folder / "reports.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """A run of the page's configuration, up to the scores."""
    folder = tmp_path_factory.mktemp("own_data")
    page = (ROOT / "docs/your-own-data.md").read_text(encoding="utf-8")
    block = re.search(r'```yaml title="domain.yaml"\n(.*?)```', page, re.DOTALL)
    config = yaml.safe_load(block[1])
    config["run"] = {"models": list(MODELS), "benchmarks": list(BENCHMARKS)}
    for name, own in SHORT.items():
        config["benchmarks"][name] |= own
    path = folder / "domain.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    workflow = Workflow(ROOT, folder / "run")
    workflow.directory.mkdir()
    _write_data(workflow.directory / "data")
    asked = config["corpora"]["manuals_questions"]["languages"]["en"]
    files = {"data/validation-00000-of-00001.parquet": _questions()}
    targets = [f"results/scores/{m}/{b}.parquet" for m in MODELS for b in BENCHMARKS]
    with Hub({(asked["name"], asked["revision"]): files}) as hub:
        env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hub")}
        workflow.run("--configfile", str(path), "--", *targets, env=env)
    return workflow


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_benchmark_runs_on_the_users_data(domain: Workflow, benchmark: str) -> None:
    for model, value in zip(MODELS, (1.0, 0.0), strict=True):
        scores = pq.read_table(domain.result(f"scores/{model}/{benchmark}.parquet")).to_pylist()
        # Claude's notebook of mLongRR looks at two of three needles.
        own = [row["value"] for row in scores if row["metric"] != "released_claude"]
        assert len(own) >= 3 and set(own) == {value}


@pytest.mark.parametrize(
    ("benchmark", "wanted"),
    [
        ("mlneedle", ("The pump of ", "Close the valve of ")),
        ("lost_in_the_middle", ("(Title: The pump of ", "feeds two wells")),
        ("oneruler", ("On day ", "A red seal was sent.")),
        ("mlongrr", ("On day ", "A red seal was sent.")),
        ("m4le", ("Report ", "On day ")),
    ],
)
def test_prompts_quote_the_users_data(
    domain: Workflow, benchmark: str, wanted: tuple[str, ...]
) -> None:
    corpora = [
        str(path)
        for path in domain.result("corpora").glob("*/*.parquet")
        if {"passage_id", "example_id"} & set(pq.read_schema(path).names)
    ]
    made = domain.result(f"documents/{benchmark}/words").glob("*.parquet")
    documents = Documents.of(benchmark, corpora, map(str, made))
    texts = [
        render(spans, documents)
        for path in domain.result(f"instances/{benchmark}/words").glob("*.parquet")
        for spans in pq.read_table(path)["prompt"].to_pylist()
    ]
    whole = "\n".join(texts)
    assert all(words in whole for words in wanted)
