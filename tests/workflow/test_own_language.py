"""Runs in one language that is not English: that of docs/your-own-data.md as written, and four scripts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import warm_snakemake
from needlework.prompts.spans import Documents, render
from own_languages import LANGUAGES, LATIN, configuration, write_data
from runs import ROOT, Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("own_language")]

# The last section's data are those of tests/workflow/test_own_data.py.
PAGE = (ROOT / "docs/your-own-data.md").read_text(encoding="utf-8").split("## All benchmarks")[0]
# Blocks of the page: the kind, the name of a file, and the content.
BLOCK = re.compile(r'^```(\w*)(?: title="(my_run/[^"]*)")?\n(.*?)^```', re.M | re.S)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of the page, in a copy of the repository."""
    program, *arguments = shlex.split(command)
    if program == ".venv/bin/snakemake":
        return warm_snakemake.run(arguments, folder, os.environ)
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    """A `text` block is printed by the commands before it, of which the last fails if that is an error."""
    folder = copy_workflow(tmp_path / "copy")
    blocks = BLOCK.findall(PAGE)
    output, ended = "", [0]
    for kind, name, text in blocks:
        if name:
            (folder / name).write_text(text, encoding="utf-8")
        elif kind == "text":
            assert all(line in output for line in text.splitlines()), output[-3000:]
            failed = any(word in text for word in ("lacks the file", "cannot be read"))
            assert bool(ended[-1]) == failed
            ended = [0]
        else:
            assert not any(ended), output[-3000:]
            done = [run(command, folder) for command in text.splitlines()]
            output = "".join(one.stdout + one.stderr for one in done)
            ended = [one.returncode for one in done]
            assert not any(ended[:-1]), output[-3000:]
    assert not any(ended)
    page = (folder / "my_run/results/index.html").read_text(encoding="utf-8")
    assert "72 of 72 rows are used" in page


def test_the_example_runs_with_ten_questions(tmp_path: Path) -> None:
    """What the data are too small for and what is left out are said once each."""
    shutil.copytree(ROOT / "resources/examples/turkish", tmp_path, dirs_exist_ok=True)
    table = tmp_path / "data/sorular.csv"
    head, *rows = table.read_text(encoding="utf-8").splitlines()
    long = f'{rows[0].split("1794")[0]}1794 {"kule " * 400}","[""1794""]"'
    table.write_text("\n".join([head, long, *rows[1:10]]) + "\n", encoding="utf-8")
    for _, name, text in BLOCK.findall(PAGE):
        if name == "my_run/turkish.yaml":
            (tmp_path / "turkish.yaml").write_text(text, encoding="utf-8")
    done = Workflow(ROOT, tmp_path).run("--configfile", str(tmp_path / "turkish.yaml"))
    said = " ".join((done.stdout + done.stderr).split())
    for sentence in (
        "10 of 10 rows are used",
        "too few for 10 documents: add passages, or lower `n_documents`",
        "mlneedle: 12 of 170 prompts are left out, since the context with the answer is longer",
        "lost_in_the_middle: 10 of 10 questions have too few other passages",
    ):
        assert said.count(sentence) == 1, (sentence, done.stderr[-3000:])
    page = (tmp_path / "results/index.html").read_text(encoding="utf-8")
    assert "12 of 170 prompts are left out" in page


# Four scripts

BENCHMARKS = ("mlneedle", "lost_in_the_middle", "oneruler")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """A run in all four, up to the scores."""
    folder = tmp_path_factory.mktemp("scripts")
    workflow = Workflow(ROOT, folder / "run")
    write_data(workflow.directory)
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(configuration()), encoding="utf-8")
    targets = [f"results/scores/spelt/{name}.parquet" for name in BENCHMARKS]
    workflow.run("--configfile", str(path), "--", *targets, "own_data")
    return workflow


def of_language(file: Path, lang: str) -> bool:
    """Whether a file of prompts is of a language."""
    return lang in re.split(r"\W", file.stem)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_latin_letter_stands_in_a_prompt(scored: Workflow, lang: str) -> None:
    corpora = [
        str(path)
        for path in scored.result("corpora").glob("*/*.parquet")
        if {"passage_id", "example_id"} & set(pq.read_schema(path).names)
    ]
    for name in BENCHMARKS:
        made = scored.result(f"documents/{name}/letters").glob("*.parquet")
        documents = Documents.of(name, corpora, map(str, made))
        files = scored.result(f"instances/{name}/letters").glob("*.parquet")
        own = [path for path in files if of_language(path, lang)]
        rows = [row for path in own for row in pq.read_table(path).to_pylist()]
        assert len({row["task"] for row in rows}) >= 3
        for row in rows:
            text = "\n".join([render(row["prompt"], documents), *row["references"]])
            assert not LATIN.search(UUID.sub("", text)), (row["task"], text)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_right_answers_in_the_languages_are_right(scored: Workflow, name: str) -> None:
    rows = pq.read_table(scored.result(f"scores/spelt/{name}.parquet")).to_pylist()
    wrong = [row for row in rows if row["value"] != 1.0]
    assert len(rows) >= 10 * len(LANGUAGES) and not wrong, wrong[:1]
