"""Records of a small run: what they hold, what licences hold back, and what a model is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import golden_runs
from described import BENCHMARKS
from eee_schema import errors
from needlework.benchmarks.benchmark import load_benchmark
from needlework.errors import UserError
from needlework.records import GENERATIONS, instances_schema, scores_schema, write_table
from needlework.results import exchange
from needlework.results.exchange import (
    Recorded,
    Shown,
    cells,
    check_names,
    evaluation_results,
    write_records,
)
from needlework.results.result import PERCENT, Grid, Number, Result

MODEL = {
    **{"backend": "vllm", "name": "org/model-1", "revision": "abc", "context": 4096},
    **{"tokenizer": "words", "published": "Model 1", "reasoning": None, "chat": True},
    "sampling": {"temperature": 0, "top_p": None, "top_k": None},
}
SETTINGS = {"organization": "Somewhere", "names": {}}
FREE = {"id": "mlqa/a.json", "licence": "CC-BY-SA-3.0"}
IDS = ["0" * 64, "1" * 64]


def provenance(*sources: dict[str, str]) -> dict[str, Any]:
    ran = {
        "software": {"packages": {"vllm": "0.32.0"}},
        "gpus": [{"name": "H100"}],
        "engine": {},
    }
    return {
        "workflow": {"version": "0.1.0", "commit": "c0ffee", "modified": False},
        "configuration": {"models": {"one": MODEL}},
        "sources": list(sources),
        "models": {"one": {"identity": {"name": "m"}, "benchmarks": {"b": {"ran_on": [ran]}}}},
    }


def recorded(folder: Path) -> Recorded:
    """Two answers, of which one was cut while the model reasoned, and one failed."""
    common = {"sample": 0, "task": "t", "example_id": "e", "lang": "hi"}
    ends = {"finish_reason": "length", "prompt_tokens": 9, "completion_tokens": 3}
    first = {"text": "north", "raw_text": "<t>north", "cached_tokens": 2, **ends}
    second = {"text": "", "finish_reason": "error", "error": "no"}
    rows = {
        "instances": [{"instance_id": name, "references": ["north"]} for name in IDS],
        "answers": [
            {"instance_id": name, "sample": 0, **own}
            for name, own in zip(IDS, (first, second), strict=True)
        ],
        "scores": [
            {"instance_id": name, "metric": metric, "value": value, **common}
            for name, value in zip(IDS, (1.0, 0.0), strict=True)
            for metric in ("exact", "careful")
        ],
    }
    schemas = [instances_schema({}), GENERATIONS, scores_schema({"lang": "string"})]
    for (name, own), schema in zip(rows.items(), schemas, strict=True):
        write_table(pa.Table.from_pylist(own, schema=schema), folder / f"{name}.parquet")
    (folder / "table1.csv").write_text(
        "model,source,lang,value,n,se_independent,ci_low_independent,ci_high_independent,ci_low,ci_high,n_cut,published\n"
        "one,ours,hi,0.30000000000000004,3,0.1,0.2,0.4,0.1,0.5,,0.31\n"
        "one,published,hi,0.31,,,,,,,,\n"
        "two,ours,hi,0.5,3,0.1,0.2,0.4,0.1,0.5,1,\n"
        "one,ours,de,,0,,,,,,,\n"
    )
    (folder / "b.csv").write_text(
        "paper,table,row,column,value,n,source,note\n"
        'b,table1,Model 1,hi,0.31,20,paper,"a, note"\n'
        "b,table1,Model 1,hi,0.32,,repository,\n"
    )
    shown = {"table1": Shown(str(folder / "table1.csv"), "Table 1: means", (0.0, 1.0))}
    instances, answered, scored = (str(folder / f"{name}.parquet") for name in rows)
    own, paper = {"one": (answered, scored, [instances])}, "https://arxiv.org/abs/1"
    return Recorded("b", "B", paper, "a sample", "exact", str(folder / "b.csv"), shown, own)


def made(folder: Path, *sources: dict[str, str]) -> tuple[dict, dict, list[dict]]:
    """The model's record, the paper's, and the lines."""
    own = recorded(folder)
    counts = write_records(folder / "out", [own], provenance(*sources), SETTINGS)
    assert counts == {"records": 2, "lines": 4}
    names = ("org/model-1/*.json", "b/paper/*.json", "org/model-1/*_samples.jsonl")
    ours, paper, lines = (
        path.read_text(encoding="utf-8")
        for name in names
        for path in folder.glob(f"out/data/b/{name}")
    )
    return json.loads(ours), json.loads(paper), list(map(json.loads, lines.split("\n")[:-1]))


def test_records_of_a_small_run_are_valid(tmp_path, mirror) -> None:
    ours, paper, lines = made(tmp_path, FREE)
    assert errors("eval", [ours, paper]) == errors("instance_level_eval", lines) == []


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_cells_of_every_result_are_valid_records(benchmark, tmp_path, mirror) -> None:
    file, source = tmp_path / "a.csv", {"dataset_name": benchmark, "source_type": "other"}
    for result in load_benchmark(benchmark).results:
        data = golden_runs.table(benchmark, result.name)
        if not {"model", "value"} <= set(data):
            continue
        data.to_csv(file, index=False)
        shown = {result.name: Shown(str(file), result.label, result.bounds)}
        if "tokens" in data:
            # Lengths stand in a column of their own.
            data = data.assign(value=data["value"].fillna(data["tokens"].astype("float64")))
        ours = data["source"] == "ours" if "source" in data else True
        for model, own in data[data["value"].notna() & ours].groupby("model", sort=False):
            found = evaluation_results(benchmark, cells(shown, model), source, {}, "metric")
            values = [each["score_details"]["score"] for each in found]
            assert values == own["value"].tolist()
            assert len({each["evaluation_result_id"] for each in found}) == len(found)
            # The schema takes a millisecond a cell; those of a result are alike.
            few = found[len(found) // 2 :][:1]
            assert errors("eval", few, "properties", "evaluation_results", "items") == []


def test_a_record_has_cells_weights_engine_and_decoding(tmp_path) -> None:
    ours, _, _ = made(tmp_path, FREE)
    (cell,) = ours["evaluation_results"]
    score = cell["score_details"]
    assert cell["evaluation_result_id"] == "b/table1/lang=hi"
    assert score["score"] == 0.30000000000000004
    interval = score["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (0.1, 0.5)
    assert score["uncertainty"]["num_samples"] == 3
    # An unknown count is absent.
    ends = {"ci_low_independent": "0.2", "ci_high_independent": "0.4"}
    assert score["details"] == {"lang": "hi", "published": "0.31", **ends}
    assert cell["metric_config"]["max_score"] == 1.0
    told = cell["generation_config"]
    assert told["generation_args"]["temperature"] == 0
    assert told["additional_details"]["decoding"] == "greedy"
    info = ours["model_info"]
    assert (info["id"], info["developer"]) == ("org/model-1", "org")
    assert info["inference_engine"] == {"name": "vllm", "version": "0.32.0"}
    details = info["additional_details"]
    assert details["revision"] == "abc" and details["model_availability"] == "open_weights"
    assert "H100" in details["gpus"]
    assert ours["source_metadata"]["source_organization_name"] == "Somewhere"


def test_a_paper_s_numbers_are_documentation(tmp_path) -> None:
    _, paper, _ = made(tmp_path, FREE)
    assert paper["source_metadata"]["source_type"] == "documentation"
    first, second = paper["evaluation_results"]
    assert first["evaluation_result_id"] == "b/paper/table1 | Model 1 | hi"
    assert second["evaluation_result_id"] == "b/repository/table1 | Model 1 | hi"
    assert first["score_details"]["score"] == 0.31
    assert first["score_details"]["details"]["n"] == "20"
    assert "n" not in second["score_details"]["details"]


def test_a_line_has_answer_reasoning_and_tokens(tmp_path) -> None:
    """References are held back where a licence says so."""
    _, _, lines = made(tmp_path, FREE)
    first, failed = lines[0], lines[2]
    assert first["output"]["raw"] == ["<t>north"]
    assert first["answer_attribution"][0]["extracted_value"] == "north"
    assert first["input"]["reference"] == ["north"]
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    assert first["token_usage"] == usage | {"input_tokens_cache_read": 2}
    assert first["metadata"]["lang"] == "hi"
    assert failed["error"] == "no" and "token_usage" not in failed
    for source in ({"id": "bbc/a", "licence": "none"}, {"id": "x/a", "licence": "for research"}):
        folder = tmp_path / source["id"]
        folder.mkdir(parents=True)
        _, _, lines = made(folder, FREE, source)
        assert [line["input"]["reference"] for line in lines] == [[]] * 4
        assert lines[0]["output"]["raw"] == ["<t>north"]


def test_the_same_results_give_the_same_bytes(tmp_path) -> None:
    own, found = recorded(tmp_path), []
    for name in ("first", "second"):
        write_records(tmp_path / name, [own], provenance(FREE), SETTINGS)
        files = [file for file in (tmp_path / name).rglob("*") if file.is_file()]
        found.append({file.relative_to(tmp_path / name): file.read_bytes() for file in files})
    assert found[0] == found[1] and len(found[0]) == 3


@pytest.mark.parametrize(
    "entry, engine, given, name",
    [
        ({"backend": "oracle", "name": None}, {}, None, "needlework/m"),
        ({"backend": "vllm", "name": "org/m.x-1"}, {}, None, "org/m.x-1"),
        ({"backend": "vllm", "name": "/data/org/m"}, {}, None, "unknown/m"),
        ({"backend": "vllm", "name": "../m"}, {}, None, "unknown/m"),
        ({"backend": "openvino", "name": "package:a/b.gguf"}, {}, "org/m", "org/m"),
        ({"backend": "replay", "name": None}, {"model": "org/m"}, None, "org/m"),
        ({"backend": "replay", "name": None}, {"model": "../../m"}, None, "unknown/m"),
        ({"backend": "replay", "name": None}, {"model": "org/m"}, "org/n", "org/n"),
    ],
)
def test_a_model_is_called_as_the_hub_calls_it(entry, engine, given, name) -> None:
    assert exchange.hub_name("m", entry, engine, given) == name


def test_bounds_follow_from_how_a_table_is_written() -> None:
    def of(*numbers: Number) -> object:
        grids = tuple(Grid(rows=(), number=number) for number in numbers)
        return Result("a", "A", "", lambda rows, run: rows, grids).bounds

    assert of(PERCENT) == (0.0, 1.0)
    assert of(PERCENT, Number(scale=100, signed=True)) == (-1.0, 1.0)
    assert of(Number()) is None


def test_a_name_of_no_model_is_refused() -> None:
    check_names(["one"], ["one"])
    with pytest.raises(UserError, match=r"records.names names 'oen', which is not in `models`"):
        check_names(["oen"], ["one"])


def test_a_length_is_a_cell_of_its_own_metric(tmp_path) -> None:
    table = tmp_path / "table1.csv"
    table.write_text(
        "model,source,column,value,tokens,n\none,ours,4096,0.5,,3\none,ours,claimed_length,,32768,\n"
    )
    found = cells({"table1": Shown(str(table), "Table 1", (0.0, 1.0))}, "one")
    both = evaluation_results("b", found, {}, {}, "containment")
    names = [one["metric_config"]["metric_id"] for one in both]
    assert names == ["b.containment", "b.tokens"]
    assert [one["score_details"]["score"] for one in both] == [0.5, 32768]
    assert both[1]["metric_config"]["max_score"] is None
