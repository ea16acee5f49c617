"""What docs/adding-a-metric.md and its sisters on results and keys add, added to a copy and tested there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runs import ROOT, copy_workflow

pytestmark = pytest.mark.slow

PAGES = ("adding-a-metric", "adding-a-result", "adding-a-key")
# A block of a file: its path, and where it goes: above the first line that begins so, or at the end.
BLOCK = re.compile(
    r'^```python title="([^",]+)(?:, ([^"]+))?"\n(.*?)^```$', re.MULTILINE | re.DOTALL
)


def text_of(page: str) -> str:
    return (ROOT / f"docs/{page}.md").read_text("utf-8")


def with_block(before: str, place: str, block: str, path: str) -> str:
    """A file's text with a block."""
    if place in ("", "at the end"):
        return before + block
    start = place.removeprefix("above ")
    lines = before.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.strip().startswith(start)]
    assert found, f"{path} has no line that begins with {start!r}: correct the page"
    return "".join([*lines[: found[0]], block, *lines[found[0] :]])


def applied(page: str, folder: Path) -> Path:
    """A copy of the workflow and its tests with all blocks of a page."""
    root = copy_workflow(folder)
    for name in ("tests", "perf"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, place, block in BLOCK.findall(text_of(page)):
        path = root / name
        assert path.is_file() == bool(place), f"{page} names {name}: correct the page"
        before = path.read_text("utf-8") if place else ""
        path.write_text(with_block(before, place, block, name), "utf-8")
    return root


def run(root: Path, *command: str) -> str:
    """What a command of this Python prints in a copy."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**env, "PYTHONPATH": f"{root}/workflow/scripts:{root}/tests"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def passes(root: Path, page: str, *more: str) -> None:
    """The page's own tests, and `more`, pass in the copy."""
    own = [name for name, place, _ in BLOCK.findall(text_of(page)) if not place]
    assert own, "the page has no test"
    run(root, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *own, *more)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_two_screens_long(page: str) -> None:
    assert len(text_of(page).splitlines()) <= 125


def test_a_line_that_is_gone_is_told() -> None:
    with pytest.raises(AssertionError, match=r"a\.py has no line that begins with 'b'"):
        with_block("a\n", "above b", "c\n", "a.py")


RECORDS = "tests/unit/scoring/test_metric_records.py"


def test_a_metric_is_a_record_and_a_function(tmp_path) -> None:
    root = applied("adding-a-metric", tmp_path / "copy")
    passes(root, "adding-a-metric", RECORDS)
    said = run(
        root,
        "-c",
        "from factories import configuration\n"
        "from needlework.planning.config import validated\n"
        "from needlework.planning.rule_inputs import RuleInputs\n"
        "files = RuleInputs(validated(configuration('mlneedle', {'metric': 'first_words'})))\n"
        "print(files.facts.metrics('mlneedle'))\n"
        "print(files.explorer.explored('mlneedle')['meanings']['late'].words)\n",
    )
    name, late = said.splitlines()
    assert name.startswith("first_words (the answer begins with a reference)")
    assert late == "late"
    records = root / "workflow/scripts/needlework/benchmarks/mlneedle/metrics.py"
    text = records.read_text("utf-8")
    records.write_text(text.replace('"late": Meaning', '"later": Meaning'), "utf-8")
    with pytest.raises(AssertionError, match=r"first_words gives \{'late'\}"):
        passes(root, "adding-a-metric", RECORDS)


GOLDEN = """
import sys, golden_runs
sys.argv[1:] = ["mlneedle"]
golden_runs.main()
"""
# The ids of MLNeedle's prompts without a haystack, and their columns.
IDS = """
from pathlib import Path
from factories import templates
from factories.mlneedle import LANGS, settings
from needlework.benchmarks.mlneedle.prompts import build
from needlework.data.corpora import sample
from needlework.prompts.tokenizers import load_tokenizer
files = sorted(Path("resources/sample").glob("*.json"))
tables = {"questions": {lang: sample.read_questions(lang, files) for lang in LANGS}}
words = load_tokenizer("words", {"kind": "words"})
tables |= {"passages": {}, "distractors": {}}
made = build(settings("en-none", (512,)), tables, templates("mlneedle"), words)[0]
print(*made["instance_id"].to_pylist(), sep="\\n")
print("question_words" in made.column_names)
"""


def test_a_column_and_a_result_change_no_id(tmp_path) -> None:
    root = applied("adding-a-result", tmp_path / "copy")
    golden = root / "tests/golden/mlneedle"
    before = {path.name: path.read_bytes() for path in golden.iterdir()}
    *with_it, there = run(root, "-c", GOLDEN + IDS).splitlines()
    after = {path.name: path.read_bytes() for path in golden.iterdir()}
    assert after.keys() - before.keys() == {"question_length.csv"}
    assert before.items() <= after.items()
    passes(root, "adding-a-result", "tests/unit/results/test_golden.py", "-k", "question")
    *without, lacking = run(ROOT, "-c", IDS).splitlines()
    assert (there, lacking) == ("True", "False")
    assert with_it == without and len(without) > 10


def test_a_key_is_sent_and_refused_elsewhere(tmp_path) -> None:
    root = applied("adding-a-key", tmp_path / "copy")
    passes(root, "adding-a-key")
