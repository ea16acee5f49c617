"""presets/small.yaml to its tables, with a smaller model in the place of the one that it downloads."""

from __future__ import annotations

import os

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from engines.tiny_model import make_model, make_tokenizer
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("small")]

MODEL, NEW_TOKENS = "qwen2.5-0.5b-instruct", 8


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The preset to a table; its model and tokenizer are small, and answers have few tokens.

    On one core: threads of PyTorch that wait for each other take most of the time otherwise.
    """
    folder = tmp_path_factory.mktemp("small")
    make_tokenizer(folder / "tiny")
    make_model(folder / "tiny")
    name = str(folder / "tiny")
    local = {"models": {MODEL: {"name": name}}, "tokenizers": {"qwen2.5": {"name": name}}}
    local["benchmarks"] = {"mlneedle": {"max_new_tokens": NEW_TOKENS}}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(local))
    workflow = Workflow(ROOT, folder / "run")
    workflow.run(
        *("mlneedle_table2", "results/tables/mlneedle/prompts-qwen2.5.csv"),
        *("--configfile", str(ROOT / "presets/small.yaml"), str(folder / "tiny.yaml")),
        *("--cores", "1"),
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    return workflow


def test_the_model_answers_every_prompt_and_skips_none(small) -> None:
    prompts = pd.read_csv(small.result("tables/mlneedle/prompts-qwen2.5.csv"))
    # The small tokenizer takes twice the tokens, so that some needles do not fit into 512.
    left_out = prompts["task"].str.startswith("left out: needle_too_long")
    assert prompts["prompts"].sum() == 112, "the number that the preset's head names"
    answers = pq.read_table(small.result(f"generations/{MODEL}/mlneedle.parquet")).to_pandas()
    assert len(answers) == prompts.loc[~left_out, "prompts"].sum() > 60
    assert set(answers["finish_reason"]) == {"stop", "length"}
    assert answers["completion_tokens"].between(1, NEW_TOKENS).all()
    assert answers["text"].nunique() > 10
    log = (small.directory / f"logs/generate_answers/{MODEL}/mlneedle.log").read_text()
    assert "The first prompt, " in log and ":\n<s>[user] Write a" in log, "in its chat template"


def test_small_model_and_reader_share_their_prompts(small) -> None:
    scores = {
        model: pq.read_table(small.result(f"scores/{model}/mlneedle.parquet")).to_pandas()
        for model in (MODEL, "lexical")
    }
    assert set(scores[MODEL]["instance_id"]) == set(scores["lexical"]["instance_id"])
    # Random weights know nothing; the reader does, so there was something to know.
    assert scores[MODEL]["value"].mean() < 0.1 < scores["lexical"]["value"].mean()
    rows = pd.read_csv(small.result("tables/mlneedle/table2.csv"))
    longest = rows[(rows["source"] == "ours") & (rows["length"] == "1024")]
    assert sorted(longest["model"]) == ["lexical", "lexical", MODEL, MODEL]
    assert (longest["n"] == 8 * 3).all(), "questions and positions"


def test_the_preset_states_its_size_and_needs() -> None:
    head = (ROOT / "presets/small.yaml").read_text(encoding="utf-8").split("\nrun:")[0]
    assert "112 prompts" in head and "make setup" in head
