"""Servers that cut, refuse or only reason: what the run says, and what the same command does afterwards."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.records import read_table
from runs import ROOT, Workflow
from smollm2 import smollm2

pytestmark = [pytest.mark.xdist_group("served"), pytest.mark.slow]

ANSWERS = "results/generations/served/mlneedle.parquet"


class Run:
    """Runs of one folder against a server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.name = folder, url, "served"
        self.workflow = Workflow(ROOT, folder / "run")

    def __call__(self, *targets: str, again: Any = (), **changes: Any) -> tuple[int, str]:
        model = {
            **{"backend": "openai", "base_url": self.url, "key_env": None, "name": "made"},
            **{"tokenizer": "words", "context": 131072, "sampling": {"temperature": 0}},
            **changes,
        }
        benchmark = {
            **{"needle_languages": ["en"], "haystack_languages": ["en"], "questions": 3},
            **{"lengths": [1024], "tasks": ["exact"]},
        }
        config = {
            "run": {"models": [self.name], "benchmarks": ["mlneedle"]},
            "models": {self.name: model},
            "benchmarks": {"mlneedle": benchmark},
            "generation": {"again": list(again)},
        }
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        arguments = ["--configfile", str(file), *(targets or ["--", ANSWERS])]
        done = self.workflow.run(*arguments, check=False, env=dict(os.environ))
        return done.returncode, done.stdout + done.stderr

    def left(self, **changes: Any) -> int:
        """The requests that `estimate` says are left."""
        said = self("--", "estimate", **changes)[1]
        found = re.search(r"^served\n +mlneedle +\d+ +(\d+)", said, re.MULTILINE)
        assert found, said[-2000:]
        return int(found[1])

    @property
    def page(self) -> str:
        return self.workflow.result("index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory) -> Path:
    """The folder of a run that has all but the answers; it asked nobody."""
    run = Run(tmp_path_factory.mktemp("prompts"), "http://127.0.0.1:9")
    assert run("--until", "build_instances", "--", ANSWERS)[0] == 0
    return run.workflow.directory


@pytest.fixture
def run(prompts, tmp_path, server) -> Run:
    for name in ("results", ".snakemake"):
        shutil.copytree(prompts / name, tmp_path / "run" / name, symlinks=True)
    return Run(tmp_path, server.url)


def counted(body: Any, most: int = 10**9) -> Reply:
    usage = {"prompt_tokens": min(most, len(prompt_of(body).split())), "completion_tokens": 2}
    return completion(body, "42", usage=usage)


def test_cut_prompts_are_failures_and_asked_again_by_a_key(run, server) -> None:
    server.reply = lambda number, body: counted(body, most=300)
    code, said = run()
    assert code == 1 and "9 of 12 prompts were cut by the server" in said
    assert "read 300 of 960 tokens" in said and "read 300 of 960 tokens" in run.page
    server.reply = lambda number, body: counted(body)
    # They were paid for.
    assert run()[0] == 1 and len(server.received) == 12
    assert run.left(again=["cut"]) == 9
    assert run(again=["cut"])[0] == 0 and len(server.received) == 21
    code, said = run()
    assert code == 0 and "Nothing to be done" in said
    assert set(read_table(run.workflow.directory / ANSWERS)["text"].to_pylist()) == {"42"}


def test_a_run_without_answers_fails_until_the_server_answers(run, server) -> None:
    server.reply = lambda number, body: refusal(400, "maximum context length is 5 tokens")
    code, said = run(max_failed=100)
    assert code == 1 and "all 12 requests that were sent were refused" in said
    assert "12 of 12 requests were refused, though their prompts fit" in run.page
    assert run.left(max_failed=100) == 12
    server.reply = lambda number, body: counted(body)
    code, said = run(max_failed=100)
    assert code == 0 and "; 12 of 12 answered in full." in said


def test_a_run_that_fails_ends_in_few_lines_of_ours(run, server) -> None:
    server.listed = Reply({"data": [{"id": "made"}]})
    server.reply = lambda number, body: refusal(401, "Incorrect API key")
    code, said = run()
    *_, ending = re.split(r"^\d+:\d\d  .* jobs are done.*$|^\d+ jobs\.$", said, flags=re.MULTILINE)
    lines = [line for line in ending.splitlines() if line]
    assert code == 1 and len(lines) <= 25, said
    assert all(one != other for one, other in pairwise(lines))
    reason, block = (
        next(place for place, line in enumerate(lines) if said in line)
        for said in ("status 401: Incorrect API key", "generate_answers failed. Its log: ")
    )
    assert reason < block
    assert not re.search("RuleException|CalledProcess|input:|Traceback", ending)
    assert "The run is not finished. Its answers and files are kept: the same command" in ending


def test_refused_requests_within_max_failed_are_asked_again(run, server) -> None:
    def some(number: int, body: Any) -> Reply:
        long = len(prompt_of(body).split()) > 300
        return refusal(400, "maximum context length is 300 tokens") if long else counted(body)

    server.reply = some
    assert run(max_failed=9)[0] == 0
    server.reply = lambda number, body: counted(body)
    assert run(max_failed=9)[0] == 0 and len(server.received) == 21
    assert "Nothing to be done" in run(max_failed=9)[1]


def test_a_limit_that_the_server_refuses_names_its_key(run, server) -> None:
    said = "'max_tokens' is too large: 32000. This model's maximum context length is 32768 tokens"
    server.reply = lambda number, body: refusal(400, said)
    code, shown = run(request={"max_tokens": 32000})
    assert code == 1 and "`request: max_tokens` (32000)" in shown


def test_the_page_tells_of_empty_answers_and_two_addresses(run, server) -> None:
    """Answers that are all reasoning, of a server that refuses after some and of another one."""

    def reasoned(number: int, body: Any) -> Reply:
        reply = counted(body)
        reply.body["choices"][0]["message"] = {"content": None, "reasoning": "It is 42."}
        return reply

    def some(number: int, body: Any) -> Reply:
        return reasoned(number, body) if number < 5 else refusal(400, "not now")

    server.reply = some
    code, said = run(concurrency=1)
    assert code == 1
    with OpenAIServer() as other:
        other.reply = reasoned
        code, said = run("--", "results/index.html", base_url=other.url)
        assert code == 0, said
        assert run.left(base_url=other.url) == 0
        assert run.left(again=["empty"], base_url=other.url) == 12
    for told in (
        "12 of 12 answers are empty, 12 of them beside reasoning",
        f"Requests: 7 sent now, 5 from the journal, asked at {server.url} (not the configured {other.url})",
    ):
        assert told in said and told in run.page
    rows = read_table(run.workflow.directory / ANSWERS)
    assert set(rows["reasoning"].to_pylist()) == {"It is 42."}


def with_login(url: str) -> str:
    return url.replace("http://", "http://user:pass-4711@") + "?key=query-4711"


def test_another_servers_answers_are_told_to_be_so(run, server, tmp_path) -> None:
    """With address and day; what the documentation says asks everything again."""
    server.reply = lambda number, body: counted(body)
    code, said = run(base_url=with_login(server.url))
    told = "Requests: 12 sent now, 0 from the journal; 12 of 12 answered in full."
    assert code == 0 and told in said
    # A run that asks nothing does not say that it sent something now.
    code, said = run(base_url=with_login(server.url))
    assert code == 0 and "Nothing to be done" in said and "not the configured" not in said
    assert "0 sent now, 12 from the journal, asked at" in said
    today = datetime.now(UTC).date().isoformat()
    with OpenAIServer() as other:
        again = Run(tmp_path / "again", with_login(other.url))
        for name in ("results", ".snakemake", "logs", "journal"):
            shutil.copytree(run.workflow.directory / name, again.workflow.directory / name)
        told = (
            f"Requests: 0 sent now, 12 from the journal, asked at {server.url} (not the configured "
            f"{other.url}) on {today}; 12 of 12 answered in full. To ask a model everything again, set"
        )
        code, said = again()
        assert code == 0 and "Nothing to be done" in said and told in said
        code, said = again("-R", "generate_answers", "--", "results/index.html")
        assert code == 0 and told in said and told in again.page
        assert not other.received
        other.reply = lambda number, body: counted(body)
        # As the documentation says.
        shutil.rmtree(again.workflow.directory / "journal")
        assert again("-R", "generate_answers", "--", ANSWERS)[0] == 0 and len(other.received) == 12
        code, said = again("--", ANSWERS, variant="other")
        assert "12 sent now, 0 from the journal" in said and len(other.received) == 24
    for folder in (run.workflow.directory, again.workflow.directory):
        held = [
            path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 24
        ]
        # Times in Snakemake's records may hold the digits alone.
        secrets = (b"pass-4711", b"query-4711")
        assert [path for path in held if any(s in path.read_bytes() for s in secrets)] == []


def test_an_entry_with_another_name_asks_nothing_again(run, server) -> None:
    """Nor back under the first, nor two at once; a folder of today's journals is found as well."""
    server.reply = lambda number, body: counted(body)
    assert run()[0] == 0 and len(server.received) == 12
    journal = run.workflow.directory / "journal/generations"
    (made,) = journal.iterdir()
    for name in ("renamed", "served", "third"):
        run.name = name
        shutil.rmtree(run.workflow.directory / "results/generations")
        code, said = run("--", f"results/generations/{name}/mlneedle.parquet")
        assert code == 0 and "0 sent now, 12 from the journal" in said, said
        made = made.rename(journal / ("served" if name == "renamed" else "any"))
    assert len(server.received) == 12


def test_the_quick_start_makes_a_page_with_llama_cpp(tmp_path, monkeypatch) -> None:
    """The page's files and its last command as they stand, but for the port and the place of the weights."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install xllamacpp")
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    files = dict(re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```', page, re.M | re.S))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    weights = re.search(r"glob\.glob\(.*\)\[0\]", files["serve.py"])[0]
    serve = files["serve.py"].replace("8080", port).replace(weights, repr(str(smollm2())))
    (tmp_path / "mine.yaml").write_text(files["mine.yaml"].replace("8080", port), encoding="utf-8")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    workflow = Workflow(ROOT, tmp_path / "run")
    with subprocess.Popen([sys.executable, "-c", serve], cwd=tmp_path) as server:
        try:
            done = workflow.run("--configfile", str(tmp_path / "mine.yaml"))
        finally:
            server.kill()
    said = done.stdout + done.stderr
    assert "Requests: 18 of 18 were sent" in said and "name another model" not in said
    rows = read_table(workflow.result("generations/mine/lost_in_the_middle.parquet"))
    assert rows.num_rows == 18 and set(rows["finish_reason"].to_pylist()) <= {"stop", "length"}
    assert "mine" in workflow.result("index.html").read_text(encoding="utf-8")


def test_the_quick_start_types_at_most_twenty_lines() -> None:
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## A page of your own model\n(.*?)^## ", page, re.M | re.S)
    blocks = re.findall(r"^```.*?\n(.*?)^```", section, re.M | re.S)
    assert len(blocks) == 4 and sum(block.count("\n") for block in blocks) <= 20
