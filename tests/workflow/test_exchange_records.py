"""The demo's results as records of Every Eval Ever: valid, and equal to its tables to the digit."""

from __future__ import annotations

import json
from collections import Counter

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from eee_schema import errors
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.records import file_digest
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

FILES = RuleInputs(validated(yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))))
BENCHMARKS = FILES.config["run"]["benchmarks"]


@pytest.fixture(scope="module")
def records(demo: Workflow) -> dict[tuple[str, str], dict]:
    """The records by benchmark and model; those of papers by benchmark and "paper"."""
    demo.run("records")
    found = {}
    for path in demo.result("records").rglob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert path.relative_to(demo.result("records")).parts[0] == "data"
        paper = record["source_metadata"]["source_type"] == "documentation"
        benchmark = record["evaluation_id"].split("/")[0]
        found[benchmark, "paper" if paper else record["model_info"]["name"]] = record
    return found


def lines(demo: Workflow, record: dict) -> list[dict]:
    about = record["detailed_evaluation_results"]
    path = demo.result("records") / about["file_path"]
    assert file_digest(path) == about["checksum"]
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(found) == about["total_rows"]
    return found


def test_every_model_benchmark_and_paper_has_a_valid_record(demo, records, mirror) -> None:
    models = [path.name for path in demo.result("scores").iterdir()]
    assert set(records) == {(b, m) for b in BENCHMARKS for m in [*models, "paper"]}
    assert errors("eval", records.values()) == []


def test_every_instance_is_valid_and_belongs_to_its_record(demo, records, mirror) -> None:
    for (_, model), record in records.items():
        if model in ("lexical", "empty"):
            found = lines(demo, record)
            # The schema takes a millisecond a line; neighbours are alike.
            assert errors("instance_level_eval", found[::97]) == []
            assert {row["evaluation_id"] for row in found} == {record["evaluation_id"]}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_records_read_back_are_the_tables_to_the_digit(demo, records, benchmark) -> None:
    models = [model for name, model in records if name == benchmark and model != "paper"]
    for result in (r for r in FILES.results.filled(benchmark) if r.needs == "scores"):
        table = pd.read_csv(
            demo.result(f"{result.kind}/{benchmark}/{result.name}.csv"), dtype=str, na_filter=False
        )
        if not {"model", "value"} <= set(table):
            continue
        # Lengths stand in a column of their own.
        lengths = table.get("tokens", "")
        table = table.assign(value=table["value"].where(table["value"] != "", lengths))
        for model in models:
            own = table[(table["model"] == model) & (table["value"] != "")]
            own = own[own["source"] == "ours"] if "source" in own else own
            found = [
                each
                for each in records[benchmark, model]["evaluation_results"]
                if each["evaluation_name"] == f"{benchmark}/{result.name}"
            ]
            scores = [each["score_details"] for each in found]
            assert [s["score"] for s in scores] == list(map(float, own["value"]))
            if "n" in own:
                ns = [s.get("uncertainty", {}).get("num_samples", "") for s in scores]
                assert list(map(str, ns)) == own["n"].tolist()
            for row, score in zip(own.to_dict("records"), scores, strict=True):
                interval = score.get("uncertainty", {}).get("confidence_interval")
                if interval:
                    low, high = (row[f"ci_{end}"] for end in ("low", "high"))
                    assert [interval["lower"], interval["upper"]] == [float(low), float(high)]
                assert all(row[name] == text for name, text in score["details"].items())


def test_ids_of_results_tell_all_cells_apart(records) -> None:
    for record in records.values():
        names = Counter(each["evaluation_result_id"] for each in record["evaluation_results"])
        assert all(n == 1 for n in names.values())
        assert not [name for name in names if "#" in name]


def test_a_cell_names_the_paper_s_number_in_its_record(records) -> None:
    for benchmark in BENCHMARKS:
        paper = {
            each["evaluation_result_id"].partition("/paper/")[2]
            for each in records[benchmark, "paper"]["evaluation_results"]
        }
        named = {
            text
            for (name, model), record in records.items()
            if name == benchmark and model != "paper"
            for each in record["evaluation_results"]
            for key, text in each["score_details"]["details"].items()
            if key == "published_cell"
        }
        assert named <= paper


def test_lines_have_the_scores_answers_and_references(demo, records) -> None:
    record = records["mlneedle", "lexical"]
    found = lines(demo, record)
    scores = pq.read_table(demo.result("scores/lexical/mlneedle.parquet"))
    assert [row["evaluation"]["score"] for row in found] == scores["value"].to_pylist()
    assert [row["sample_id"] for row in found] == scores["instance_id"].to_pylist()
    answers = pq.read_table(demo.result("generations/lexical/mlneedle.parquet")).to_pylist()
    texts = {row["instance_id"]: row["text"] for row in answers}
    assert all(row["output"]["raw"] == [texts[row["sample_id"]]] for row in found)
    assert {row["metadata"]["verdict"] for row in found} == set(scores["verdict"].to_pylist())
    # The sample's licence lets its texts be passed on.
    assert all(row["input"]["reference"] for row in found)


def test_a_record_says_what_ran_and_how(records) -> None:
    record = records["mlneedle", "oracle"]
    assert record["eval_library"]["name"] == "needlework"
    assert record["model_info"]["id"] == "needlework/oracle"
    assert "code" in json.loads(record["model_info"]["additional_details"]["identity"])
    source = record["evaluation_results"][0]["source_data"]
    assert source["url"] == ["https://arxiv.org/abs/2408.10151"]
    assert "sample" in source["dataset_name"]
