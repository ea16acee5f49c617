"""Every script of perf/ runs on a tiny case, as a user starts it; no number of it means anything."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needlework.records import scores_schema, write_table
from second_scorer import LANGUAGES

ROOT = Path(__file__).resolve().parents[3]
PERF = ROOT / "perf"
PAGE = (ROOT / "docs/results.md").read_text(encoding="utf-8")
SCRIPTS = {
    file.stem for file in PERF.glob("*.py") if '__name__ == "__main__"' in file.read_text("utf-8")
}
# By script: arguments, a key of its result, and what it may end with: so few draws can miss a limit.
TINY = {
    "doctor_statistics": ("--runs 2", "highest_alarm_bound", "of the comparisons may be wrong"),
    "between_papers": ("coverage --runs 1 --every 40", "coverage", ""),
    "claims": ("--pages 1", "found", ""),
    "construction": ("--languages en --lengths 2000 --mirror {mirror}", "tokens_per_second", ""),
    "intervals": ("--runs 3", "intervals", "too seldom, too often or too wide"),
    "journal": ("--answers 200 --batch 20", "read_everything", ""),
    "ordering": ("--files 1 1 --questions 10", "cache", ""),
    "second_scorer": ("{folder} {folder}/answers.jsonl --ablation", "without", ""),
    "shared_journals": ("--seeds 1 --real-seeds 1 --prompts 50 20 --cases '2 equal'", "real", ""),
    "tests": ("{folder}/report.xml", "slow", ""),
}
# Those that read a finished run are below.
OF_RUNS = {"doctor_results", "real_results"}


def test_every_script_is_run_by_a_test() -> None:
    """Here, or in a file of its own that names it."""
    files = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    texts = "\n".join(file.read_text("utf-8") for file in files)
    own = {name for name in SCRIPTS if re.search(rf"\b{name}\.(py|main)\b", texts)}
    assert not SCRIPTS - TINY.keys() - OF_RUNS - own


def run(script: str, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PERF / f"{script}.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **more)


def prepare(folder: Path) -> None:
    """A passage of XQuAD for each language, an answer with a verdict, and a report of tests."""
    (folder / "xquad").mkdir()
    text = "The tower stands in Paris. It was built in 1887."
    question = {"answers": [{"text": "Paris", "answer_start": text.index("Paris")}]}
    data = {"data": [{"paragraphs": [{"context": text, "qas": [question]}]}]}
    for lang in LANGUAGES:
        (folder / f"xquad/xquad.{lang}.json").write_text(json.dumps(data), "utf-8")
    case = {"benchmark": "mlneedle", "task": "exact", "references": ["Paris"]}
    case |= {"answer": "In Paris.", "right": True}
    (folder / "answers.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    (folder / "report.xml").write_text(
        '<testsuites><testsuite tests="1" time="3"><testcase name="test_a@group" file="tests/a.py" '
        'time="2.5"/></testsuite></testsuites>',
        "utf-8",
    )


@pytest.mark.slow
@pytest.mark.parametrize("script", TINY)
def test_a_script_gives_its_result(script: str, request, tmp_path: Path) -> None:
    arguments, key, may_end = TINY[script]
    mirror = request.getfixturevalue("mirror") if "{mirror}" in arguments else ""
    prepare(tmp_path)
    given = [
        one.strip("'").format(mirror=mirror, folder=tmp_path)
        for one in re.findall(r"'[^']+'|\S+", arguments)
    ]
    out = tmp_path / "result.json"
    done = run(script, *given, "--out", str(out))
    assert done.returncode == 0 or (may_end and may_end in done.stderr), done.stderr
    assert json.loads(out.read_text("utf-8"))[key]


def test_the_comparisons_tables_on_the_page_are_their_csvs(tmp_path: Path) -> None:
    for file in sorted((ROOT / "docs/results").glob("audit_*.csv")):
        setting = file.stem.removeprefix("audit_")
        folder = tmp_path / "results/doctor" / setting
        folder.mkdir(parents=True)
        shutil.copy(file, folder / "cells.csv")
    done = run("doctor_results", str(tmp_path), check=True)
    tables = [table for table in done.stdout.split("\n\n") if table.strip()]
    scores, texts = (table.strip().splitlines() for table in tables)
    assert len(scores) == 2 + 12 and all(line in PAGE for line in scores)
    # The page has those of texts over all positions alone.
    shown = [line for line in texts if line in PAGE]
    assert len(shown) == 2 + 3 and all("| all |" in line for line in shown[2:])


def test_a_runs_tables_are_printed(tmp_path: Path) -> None:
    """Of two questions, closed book and with the document alone and among others at three places."""
    import pyarrow as pa

    factors = {"gold_index": "int32", "distractors": "string", "similarity": "double"}
    schema = scores_schema(factors)
    rows = []
    for n in range(2):
        for task, place in [("closed_book", None), ("oracle", None)] + [
            ("multi_document_qa", at) for at in (0, 4, 9)
        ]:
            row = dict.fromkeys(schema.names) | {"task": task, "example_id": f"q{n}", "sample": 0}
            row |= {"model": "smollm2-135m", "instance_id": f"{task}{place}{n}", "verdict": "x"}
            row |= {"metric": "best_subspan_em", "value": float(n), "finish_reason": "stop"}
            row |= {"gold_index": place, "similarity": 0.1 if place is not None else None}
            rows.append(row | {"distractors": "random" if place is not None else "none"})
    path = tmp_path / "results/scores/smollm2-135m/lost_in_the_middle.parquet"
    path.parent.mkdir(parents=True)
    write_table(pa.Table.from_pylist(rows, schema=schema), path)
    done = run("real_results", str(tmp_path), str(ROOT / "presets/smollm2.yaml"), check=True)
    assert "| among nine random ones | 4 | 1 | 2 | 0.500 |" in done.stdout
