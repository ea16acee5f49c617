"""MLQA's development split among XQuAD's paragraphs, from the sources' own files to the figures."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from invariants import check_instances, corpora_of
from needlework.benchmarks.benchmark import load_benchmark
from needlework.prompts.tokenizers import load_tokenizer
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("real")]

LANGUAGES = ["en", "ar", "hi", "zh"]
# Those that are asked in: with spaces between words and without, written from the left and the right.
ASKED = ["en", "ar", "zh"]
# "multilingual" has the passages of all languages.
HAYSTACKS = ["en", "multilingual"]
MODELS = ["lexical", "oracle", "empty"]
QUESTIONS = 6
LENGTHS = [1024, 2048]
# Each table and figure; what else a run makes is made of the sample too.
TARGETS = [f"mlneedle_{result.name}" for result in load_benchmark("mlneedle").results]
CELL = ["needle_lang", "haystack_lang", "position", "length"]


@pytest.fixture(scope="module")
def real(mirror, tmp_path_factory) -> Workflow:
    folder = tmp_path_factory.mktemp("real")
    config = {
        "mirror": str(mirror),
        "run": {"models": MODELS, "benchmarks": ["mlneedle"]},
        "sources": {
            "mlqa": {"split": "dev"},
            # The mirror's stand-in for mMARCO has 240 passages.
            "mmarco": {"prefix_mb": None, "pool": 240, "passages": 240},
        },
        "models": {model: {"tokenizer": "mistral-v1"} for model in MODELS},
        "benchmarks": {
            "mlneedle": {
                "needles": "mlqa",
                "haystack": "mmarco",
                "needle_languages": ASKED,
                "answer_languages": LANGUAGES,
                "haystack_languages": HAYSTACKS,
                "multilingual": LANGUAGES,
                "questions": QUESTIONS,
                "aligned": False,
                "lengths": LENGTHS,
                "tasks": ["exact"],
                "comparisons": {
                    "instruction_tuning": [["empty", "lexical"]],
                    "decoding": [["lexical", "oracle"]],
                },
            }
        },
    }
    (folder / "real.yaml").write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, folder / "run")
    workflow.run(*arguments(workflow))
    return workflow


def arguments(workflow: Workflow) -> list[str]:
    """One target of each job that makes tables and figures."""
    return ["--configfile", str(workflow.directory.parent / "real.yaml"), "--", *TARGETS]


def test_every_table_and_figure_is_drawn(real) -> None:
    for result in load_benchmark("mlneedle").results:
        # Nobody was asked about existence, or without passages.
        unasked = result.name in ("existence", "closed_book")
        numbers = real.result(f"{result.kind}/mlneedle/{result.name}.csv")
        assert (len(pd.read_csv(numbers)) > 0) != unasked, result.name
        if result.kind == "figures":
            assert numbers.with_suffix(".png").stat().st_size > 10_000, result.name


def test_every_prompt_keeps_the_invariants(real) -> None:
    files = sorted(real.result("instances/mlneedle/mistral-v1").glob("*.parquet"))
    tokenizer = load_tokenizer("mistral-v1", {"kind": "mistral-common", "version": "v1"})
    checked = check_instances(files, corpora_of(real, "mlqa", "mmarco"), tokenizer)
    assert checked == len(ASKED) * QUESTIONS * (len(HAYSTACKS) * 3 * len(LENGTHS) + 1)


def test_oracle_and_empty(real) -> None:
    scores = pd.concat(
        pq.read_table(real.result(f"scores/{model}/mlneedle.parquet")).to_pandas()
        for model in MODELS
    )
    cells = scores.groupby(["model", "metric", *CELL])["value"].agg(["mean", "size"])
    assert (cells.loc["oracle", "mean"] == 1.0).all()
    assert (cells.loc["empty", "mean"] == 0.0).all()
    assert (cells["size"] == QUESTIONS).all()
    # A reader that matches words reads English best.
    lexical = cells.loc["lexical", "mean"].groupby("needle_lang").mean()
    assert lexical.idxmax() == "en"
    assert lexical["en"] > 0.4


def test_sources_are_recorded(real) -> None:
    records = sorted(real.result("sources").glob("*/**/*.json"))
    assert len(records) == 1 + len(LANGUAGES)
    assert all('"via": "mirror"' in record.read_text() for record in records)


def test_passages_are_the_same_in_every_language(real) -> None:
    ids = [
        pq.read_table(file, columns=["passage_id"])["passage_id"].to_pylist()
        for file in sorted(real.result("corpora/mmarco").glob("*.parquet"))
    ]
    assert len(ids) == len(LANGUAGES)
    assert all(own == ids[0] and len(own) == 240 for own in ids)


def test_tables_say_that_these_are_not_the_papers_models(real) -> None:
    table = pd.read_csv(real.result("tables/mlneedle/table1.csv"))
    ours = table[table["source"] == "ours"]
    assert ours["comparison"].str.startswith("cannot tell").all()
    assert {"Llama3-8B-Instruct", "Mistral-7B-Instruct-v0.2"} <= set(table["model"])


def test_a_second_run_has_nothing_to_do(real) -> None:
    assert real.would_run(*arguments(real)) == {}
