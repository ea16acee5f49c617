"""The main job on the embedded sample, and the design's invariants on what it made."""

from __future__ import annotations

import json
from collections import Counter

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from invariants import check_instances, corpora_of
from needlework.benchmarks.mlneedle.plan import FIGURES, TABLES
from needlework.tokenizers import load_tokenizer
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

CELL = ["task", "needle_lang", "haystack_lang", "position", "length", "needle_present"]


@pytest.fixture(scope="session")
def scores(demo) -> pd.DataFrame:
    files = sorted(demo.result("scores").glob("*/mlneedle.parquet"))
    return pd.concat([pq.read_table(file).to_pandas() for file in files])


def test_every_table_and_figure_is_there(demo) -> None:
    for name in TABLES:
        rows = pd.read_csv(demo.result(f"tables/mlneedle/{name}.csv"))
        assert len(rows), name
        assert demo.result(f"tables/mlneedle/{name}.tex").read_text().count("tabular") >= 2
    for name in FIGURES:
        for kind, magic in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
            file = demo.result(f"figures/mlneedle/{name}.{kind}")
            assert file.read_bytes().startswith(magic)


def test_the_oracle_is_right_and_the_empty_answer_wrong_in_every_cell(scores) -> None:
    """Invariant 1."""
    cells = scores.groupby(["model", *CELL], dropna=False)["value"].mean()
    assert (cells["oracle"] == 1.0).all()
    assert (cells["empty"] == 0.0).all()
    lexical = cells["lexical"].xs("exact", level="task").xs("en", level="needle_lang")
    assert 0.2 < lexical.mean() < 1.0, "the lexical reader reads English, and not perfectly"


def test_a_reader_without_passages_knows_nothing(scores) -> None:
    """The sample's facts are invented: closed-book accuracy is a leak."""
    closed = scores[(scores["task"] == "closed_book") & (scores["model"] == "lexical")]
    assert len(closed) == 7 * 15
    assert closed["value"].sum() == 0


def test_every_prompt_keeps_the_invariants(demo) -> None:
    """Invariants 2 and 3, on every prompt of the run."""
    files = sorted(demo.result("instances/mlneedle/words").glob("*.parquet"))
    assert len(files) == 7 * 9
    tokenizer = load_tokenizer("words", {"kind": "words"})
    checked = check_instances(files, corpora_of(demo, "sample"), tokenizer)
    # Per needle language: 8 haystacks x 3 lengths x (3 exact + 4 existence), and 3 without haystack.
    assert checked == 7 * 15 * (8 * 3 * 7 + 3)


def test_every_model_answers_every_prompt_once(demo) -> None:
    ids = [
        identifier
        for file in sorted(demo.result("instances/mlneedle/words").glob("*.parquet"))
        for identifier in pq.read_table(file, columns=["instance_id"])["instance_id"].to_pylist()
    ]
    assert len(set(ids)) == len(ids)
    for model in ("lexical", "oracle", "empty"):
        answered = pq.read_table(demo.result(f"generations/{model}/mlneedle.parquet"))
        assert Counter(answered["instance_id"].to_pylist()) == Counter(ids)


def test_a_second_run_has_nothing_to_do(demo) -> None:
    assert demo.would_run() == {}


def test_every_file_says_what_made_it(demo) -> None:
    files = sorted(demo.result(".").glob("**/*.parquet"))
    assert len(files) > 90
    for file in files:
        metadata = {k.decode(): v.decode() for k, v in pq.read_schema(file).metadata.items()}
        assert metadata["needlework.version"]
        assert len(metadata["needlework.config"]) == 64
        inputs = json.loads(metadata["needlework.inputs"])
        assert inputs
        assert not any(name.startswith("/") for name in inputs)


@pytest.mark.parametrize("shards", [1, 3])
def test_neither_cores_nor_shards_change_anything(demo, tmp_path, shards) -> None:
    """Invariants 4 and 7."""
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"retrieval": {"shards": shards}}))
    other = Workflow(ROOT, tmp_path / "run")
    names = ["hi-zh", "de-multilingual", "en-none"]
    targets = [f"results/instances/mlneedle/words/{name}.parquet" for name in names]
    other.run("--cores", "1", "--configfile", str(config), "--", *targets)
    made = [
        f for kind in ("distractors", "instances") for f in other.result(kind).rglob("*.parquet")
    ]
    assert len(made) == 7 + 3
    for file in made:
        same = demo.directory / file.relative_to(other.directory)
        assert pq.read_table(file).equals(pq.read_table(same))
        # The metadata holds the digests of the inputs, which are other files where shards are.
        assert shards > 1 or file.read_bytes() == same.read_bytes()


def test_a_report_is_built_offline(demo, tmp_path) -> None:
    report = tmp_path / "report.html"
    demo.run("--report", str(report))
    text = report.read_text(encoding="utf-8")
    assert "MLNeedle" in text
    for result in [*TABLES.values(), *FIGURES.values()]:
        assert result.title in text
