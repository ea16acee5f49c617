"""The page on other harnesses as it stands: real inspect_ai and lm-eval, a server on loopback, our scores."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from http_server import OpenAIServer, Reply, completion
from needlework.records import NO_FACTORS
from runs import ROOT, Workflow

HARNESSES = {"inspect": ROOT / ".venv-inspect/bin", "lm_eval": ROOT / ".venv-lm-eval/bin"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.large,
    pytest.mark.xdist_group("harnesses"),
    pytest.mark.skipif(
        not all((folder / name).exists() for name, folder in HARNESSES.items()),
        reason="inspect_ai and lm-eval are not here: run `make setup-harnesses`",
    ),
]

PAGE = (ROOT / "docs/exchange.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```yaml title="(\w+\.yaml)"\n(.*?)^```', PAGE, re.M | re.S))
SHELL = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
OURS = re.findall(r"^\.venv/bin/snakemake (.+)$", PAGE, re.M)
THEIRS = ("by-inspect", "by-lm-eval")
BENCHMARKS = ("mlneedle", "oneruler")


def replies(folder: Path) -> dict[str, tuple[str, str]]:
    """An answer to each exported prompt, and why it ended.

    Answers are right, wrong or cut, with spaces and lines at their ends.
    """
    found = {}
    for path in sorted(folder.glob("*/words/*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            row = json.loads(line)
            number = int(row["instance_id"][:8], 16)
            right = ", ".join(row["references"])
            text = (f" {right}.\n\nA second line \n", "I do not know \u2028é", right)[number % 3]
            (message,) = row["messages"]
            found[message["content"]] = (text, "length" if number % 5 == 0 else "stop")
    return found


def answered(body: dict[str, Any], known: dict[str, tuple[str, str]]) -> Reply:
    """The answers to a request for one, or to lm-eval's with several prompts."""
    chat = "messages" in body
    given = body["messages"][-1]["content"] if chat else body["prompt"]
    prompts = [given] if isinstance(given, str) else given
    replies = [
        completion(body, known[prompt][0], finish_reason=known[prompt][1]).body
        for prompt in prompts
    ]
    read = sum(len(prompt.split()) for prompt in prompts)
    choices = [own["choices"][0] | {"index": n, "logprobs": None} for n, own in enumerate(replies)]
    usage = {"prompt_tokens": read, "completion_tokens": 9, "total_tokens": read + 9}
    usage["prompt_tokens_details"] = {"cached_tokens": min(2, read)}
    kind = "chat.completion" if chat else "text_completion"
    return Reply({**replies[0], "created": 1, "object": kind, "choices": choices, "usage": usage})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workflow]:
    """What the page's commands leave behind, and beside it our own model behind the same server."""
    folder = tmp_path_factory.mktemp("exchange")
    workflow = Workflow(ROOT, folder)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    export, *others = OURS
    workflow.run(*_arguments(export, folder))
    known = replies(folder / "results/export")
    with OpenAIServer() as server:
        server.reply = lambda number, body: answered(body, known)
        for command in SHELL:
            _run(command, folder, server.url)
        asked = {received.body["max_tokens"] for received in server.received}
        own = yaml.safe_load(FILES["theirs.yaml"])
        own["run"]["models"].append("ours")
        own["models"]["ours"] = {
            **{"backend": "openai", "name": "my-model", "base_url": server.url, "key_env": None},
            **{"tokenizer": "words", "context": 131072},
        }
        (folder / "theirs.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
        workflow.run(*_arguments(others[-1], folder))
    # Each prompt's own limit came through.
    assert len(asked) == 3
    return workflow


def _arguments(command: str, folder: Path) -> list[str]:
    """A command's arguments, with the files of the page where they were written."""
    words = [w for w in command.split() if w not in ("--cores", "all")]
    return [str(folder / word) if word in FILES else word for word in words]


def _run(command: str, folder: Path, url: str) -> None:
    path = os.pathsep.join([*map(str, HARNESSES.values()), os.environ["PATH"]])
    env = {
        **{"PATH": path, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "LANG": "C.UTF-8"},
        **{"LOCAL_BASE_URL": url, "LOCAL_API_KEY": "none", "OPENAI_API_KEY": "none"},
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def _table(run: Workflow, kind: str, model: str, benchmark: str) -> list[dict]:
    return pq.read_table(run.result(f"{kind}/{model}/{benchmark}.parquet")).to_pylist()


def _columns(rows: list[dict], *names: str) -> list[list]:
    return [[row[name] for name in names] for row in rows]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_replayed_answers_score_as_our_own_run(run, benchmark) -> None:
    ours = _table(run, "scores", "ours", benchmark)
    same = ["instance_id", "metric", "value", *(ours[0].keys() - NO_FACTORS)]
    for model in THEIRS:
        theirs = _table(run, "scores", model, benchmark)
        assert _columns(theirs, *same) == _columns(ours, *same)
    values = {row["value"] for row in ours if row["metric"] != "careful"}
    assert {0.0, 1.0} <= values


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_harnesses_keep_what_they_say_and_nothing_is_invented(run, benchmark) -> None:
    """Inspect's texts, ends and tokens; of lm-eval, which says no end, the texts."""
    ours, inspect, lm_eval = (
        _table(run, "generations", model, benchmark) for model in ("ours", *THEIRS)
    )
    names = ("text", "finish_reason", "prompt_tokens", "cached_tokens", "completion_tokens")
    assert _columns(inspect, *names) == _columns(ours, *names)
    assert {row["finish_reason"] for row in ours} == {"stop", "length"}
    assert _columns(lm_eval, "text") == _columns(ours, "text")
    assert {row["finish_reason"] for row in lm_eval} == {"unknown"}


def test_the_page_warns_of_the_value_that_lm_eval_prints(run) -> None:
    (path,) = (run.directory / "from-lm-eval").rglob("results_*.json")
    values = {
        value
        for task in json.loads(path.read_text(encoding="utf-8"))["results"].values()
        for name, value in task.items()
        if name.startswith("bypass") and "stderr" not in name
    }
    (printed,) = values
    assert f"The value {printed} that lm-eval prints for every task" in " ".join(PAGE.split())
