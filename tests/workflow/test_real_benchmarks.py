"""Lost in the Middle's released questions and pairs, and ONERULER's books, from files to figures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from factories.lost_in_the_middle import pairs_path, stand_ins
from invariants import check_lengths, check_pairs
from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import file_digest
from runs import ROOT, Workflow, documents_of, prompt_files

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("real_benchmarks")]

BENCHMARKS = ["lost_in_the_middle", "oneruler"]
MODELS = ["lexical", "oracle", "empty"]
MISTRAL = {"kind": "mistral-common", "version": "v1"}


def configuration(mirror: Path) -> dict:
    """Both benchmarks at a part of their size, in Mistral's tokenizer."""
    return {
        "mirror": str(mirror),
        "run": {
            "models": MODELS,
            "benchmarks": BENCHMARKS,
            "tokenizers": ["words"],
        },
        "models": {model: {"tokenizer": "mistral-v1"} for model in MODELS},
        "benchmarks": {
            "lost_in_the_middle": {
                "needles": "nq_open",
                "source": "released",
                "languages": ["en"],
                "tasks": ["closed_book", "oracle", "multi_document_qa", "key_value", "open_domain"],
                "questions": 8,
                "query_aware": [10],
                "random_order": [10],
                "random_distractors": [10],
                "random_from": "other_questions",
                "keys": ["uuid"],
                "n_pairs": [{"n": 75, "indices": [0, 24, 49, 74]}],
                "query_aware_pairs": [75],
                "examples": 4,
            },
            "oneruler": {
                "data": "oneruler",
                "languages": ["hi", "ko", "pl"],
                "cross_lingual": [["pl", "ko"]],
                "lengths": [4000, 8000],
                "examples": 1,
                "none_option": [True, False],
            },
        },
    }


@pytest.fixture(scope="module")
def real(mirror, tmp_path_factory) -> Workflow:
    folder = tmp_path_factory.mktemp("real")
    own = folder / "mirror"
    shutil.copytree(mirror / "oneruler", own / "oneruler", copy_function=shutil.copyfile)
    # The released questions and pairs; the larger files are made of them.
    stand_ins(mirror, own, 120)
    shutil.copyfile(mirror / pairs_path(75), own / pairs_path(75))
    # A mirror says itself what its files are, where they are not the published ones.
    sums = [f"{file_digest(f)}  ./{f.relative_to(own)}\n" for f in own.rglob("*.*") if f.is_file()]
    (own / "SHA256SUMS").write_text("".join(sums))
    (folder / "real.yaml").write_text(yaml.safe_dump(configuration(own)))
    workflow = Workflow(ROOT, folder / "run")
    workflow.run(*arguments(workflow))
    return workflow


def arguments(workflow: Workflow) -> list[str]:
    """Each table and figure; what else a run makes is made of the sample too."""
    files = files_of(workflow)
    targets = [f"{name}_{own.name}" for name in BENCHMARKS for own in files.results.filled(name)]
    return ["--configfile", str(workflow.directory.parent / "real.yaml"), "--", *targets]


@pytest.fixture(scope="module")
def files(real) -> RuleInputs:
    return files_of(real)


def files_of(real: Workflow) -> RuleInputs:
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    mine = yaml.safe_load((real.directory.parent / "real.yaml").read_text(encoding="utf-8"))
    merged = config | {k: v for k, v in mine.items() if k not in ("models", "benchmarks")}
    for name in MODELS:
        merged["models"][name] |= mine["models"][name]
    for name, own in mine["benchmarks"].items():
        merged["benchmarks"][name] |= own
    return RuleInputs(validated(merged))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_table_and_figure_is_drawn(real, files, benchmark) -> None:
    for result in files.results.filled(benchmark):
        numbers = real.result(f"{result.kind}/{benchmark}/{result.name}.csv")
        assert len(pd.read_csv(numbers)), result.name
        if result.kind == "figures":
            assert numbers.with_suffix(".png").stat().st_size > 10_000, result.name


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_oracle_and_empty(real, files, benchmark) -> None:
    scores = pd.concat(
        pq.read_table(real.result(f"scores/{model}/{benchmark}.parquet")).to_pandas()
        for model in MODELS
    )
    cell = ["model", "metric", "task", *load_benchmark(benchmark).columns]
    cells = scores.groupby(cell, dropna=False)["value"].mean()
    assert (cells["oracle"] == 1.0).all()
    assert (cells["empty"] == 0.0).all()


def test_the_prompts_of_oneruler_keep_the_invariants(real, files) -> None:
    made = prompt_files(real, files, "oneruler", "mistral-v1")
    tokenizer = load_tokenizer("mistral-v1", MISTRAL)
    documents = documents_of(real, files, "oneruler", "mistral-v1")
    # Sentences of books are longer than the sample's.
    assert check_lengths(made, documents, tokenizer, longest=1500) == 4 * 2 * 8


def test_the_pairs_keep_the_invariants(real, files) -> None:
    made = prompt_files(real, files, "lost_in_the_middle", "mistral-v1")
    tokenizer = load_tokenizer("mistral-v1", MISTRAL)
    documents = documents_of(real, files, "lost_in_the_middle", "mistral-v1")
    assert check_pairs(made, documents, tokenizer) == 4 * 4 * 2


def test_a_second_run_has_nothing_to_do(real) -> None:
    assert real.would_run(*arguments(real)) == {}
