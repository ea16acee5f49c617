"""`snakemake doctor` against a real server: asked step by step, counted, and refused by its verdict."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from http_server import OpenAIServer, Reply, completion, prompt_of
from runs import ROOT, Workflow

pytestmark = [pytest.mark.xdist_group("doctor"), pytest.mark.slow]

# The needle alone, and at three positions.
PROMPTS = 4


def reply(number: int, body: Any) -> Reply:
    """The base says the prompt, which holds the answer, never twice alike; the changed model says nothing."""
    right = body["model"] == "base"
    return completion(body, f"{prompt_of(body)} {number}" if right else f"no idea {number}")


@pytest.fixture
def server(monkeypatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as running:
        running.reply = reply
        yield running


class Run:
    """Runs of one folder against a server."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        self.folder, self.server = folder, server
        self.workflow = Workflow(ROOT, folder / "run")
        self.model: dict[str, Any] = {}

    def __call__(
        self,
        asked: dict[str, Any],
        checkup: dict[str, Any] | None = None,
        target: str = "doctor",
    ) -> tuple[int, str]:
        model = {
            **{"backend": "openai", "base_url": self.server.url, "key_env": None, "name": "base"},
            **{"tokenizer": "words", "context": 131072, "sampling": {"temperature": 0}},
            **self.model,
        }
        checkups = [{"model": "other", "against": "plain", **(checkup or {})}]
        benchmark = {
            **{"needle_languages": ["en"], "haystack_languages": ["en"], "lengths": [512]},
            **{"tasks": ["exact"], "comparisons": {"instruction_tuning": [], "decoding": []}},
        }
        config = {
            "run": {"models": ["plain", "other"], "benchmarks": ["mlneedle"], "doctor": checkups},
            "models": {"plain": model, "other": {**model, "name": "changed"}},
            "benchmarks": {"mlneedle": benchmark},
            "doctor": asked,
        }
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        arguments = ["--configfile", str(file), "--", target]
        done = self.workflow.run(*arguments, check=False, env=dict(os.environ))
        return done.returncode, done.stdout + done.stderr

    def result(self, name: str) -> Path:
        return self.workflow.result(f"doctor/other/{name}")

    def said(self, check: str) -> str:
        """The verdict and the sentence of a check."""
        found = json.loads(self.result("doctor.json").read_text("utf-8"))
        (own,) = [one for one in found["checks"] if one["name"] == check]
        return f"{own['verdict']}: {own['sentence']}"

    def asked(self) -> Counter[tuple[str, str]]:
        """How often each model got each prompt."""
        bodies = [request.body for request in self.server.received]
        return Counter((body["model"], prompt_of(body)) for body in bodies)


@pytest.fixture
def run(tmp_path, server) -> Run:
    return Run(tmp_path, server)


def test_each_question_is_asked_once_whatever_is_told(run) -> None:
    """An estimate, a run, an estimate, a larger limit, and a gate on the same answers."""

    def left() -> list[list[int]]:
        """All prompts and those left: of the run, and of the doctor."""
        code, said = run({"questions": 3, "again": 2, "by": ["position"]}, target="estimate")
        assert code == 0, said[-3000:]
        found = re.findall(r"^all +([\d,]+) +([\d,]+) ", said, re.MULTILINE)
        return [[int(number.replace(",", "")) for number in one] for one in found]

    before = left()
    assert not run.server.received
    code, said = run({"questions": 3, "again": 2, "by": ["position"]}, target="checkups")
    assert code == 0, said[-3000:]
    first = run.asked()
    assert sorted(first.values()) == [1] * 2 * PROMPTS + [2] * 4 * PROMPTS
    # Two models, three questions once and two of them again.
    sent = len(run.server.received)
    assert before[1] == [2 * 5 * PROMPTS, sent] == [sent, sent]
    once = 2 * 3 * PROMPTS
    assert left() == [[before[0][0], before[0][1] - once], [sent, 0]]
    table = pd.read_csv(run.workflow.result("estimate.csv"))
    assert [name for name in table["benchmark"] if "doctor" in name][:2] == [
        "mlneedle (first of the doctor)",
        "mlneedle (again of the doctor)",
    ]
    table = pd.read_csv(run.result("cells.csv"))
    assert (table["n_questions"] == 3).all() and not table["settled"].any()
    # Nothing but the limit is new: the prompts of before, and their answers, are those of the journal.
    own = {"questions": 9, "again": 2, "by": ["position"]}
    code, said = run(own, target="checkups")
    assert code == 0, said[-3000:]
    asked = run.asked()
    assert sum(asked.values()) == sum(first.values()) + 2 * 6 * PROMPTS
    assert all(asked[key] == n for key, n in first.items())
    table = pd.read_csv(run.result("cells.csv")).set_index("level", drop=False)
    whole = table[table["by"] == "all"].iloc[0]
    assert (whole["n"], whole["n_again"], whole["lost"]) == (9 * PROMPTS, 2 * PROMPTS, 9 * PROMPTS)
    assert whole["difference"] == -1 and whole["sentence"].startswith("worse by")
    # No text comes twice, with or without the setting.
    assert whole["texts_differ"] == whole["texts_floor_base"] == 1 and whole["texts_d"] == 0
    assert {"start", "middle", "end"} < set(table.index)
    assert "`name`: base → changed" in run.result("doctor.md").read_text(encoding="utf-8")
    assert run.said("same_texts").startswith("fault: texts differ on 36 of 36 prompts, and")
    assert not run.result("passed").exists()
    # A fault fails the run and leaves its report.
    code, said = run(own, {"fail_if_worse_by": 0.02})
    assert code == 1 and not run.result("passed").exists() and run.asked() == asked
    said = " ".join(said.split())
    assert "other (changed) against plain (base): a fault." in said
    assert "results/doctor/other/index.html has the evidence." in said
    assert run.said("not_worse").startswith("fault: of 36 prompts, 36 lost and 0 won;")
    assert all(run.result(name).exists() for name in ("cells.csv", "doctor.md", "index.html"))


def test_a_gate_of_equal_apologies_does_not_pass(run) -> None:
    run.server.reply = lambda number, body: completion(body, "I'm sorry, I cannot help with that.")
    code, said = run({"questions": None, "again": 2}, {"fail_if_worse_by": 0.5})
    assert code == 1 and not run.result("passed").exists()
    why = (
        "plain itself scores at most 0.0% in any cell, so no loss of more than 50 points could show"
    )
    assert why in said and run.said("not_worse").startswith("cannot tell: ")


def test_a_gate_passes_on_evidence_alone(run) -> None:
    """First answers are missing; then equal ones to 15 questions show no loss of 2 points, but one of 50."""

    def refuses(number: int, body: Any) -> Reply:
        """The changed model refuses three prompts of four."""
        prompt = prompt_of(body)
        if body["model"] != "base" and hashlib.sha256(prompt.encode()).digest()[0] % 4:
            return Reply({"error": {"message": "content_filter"}}, 400)
        return completion(body, prompt)

    run.server.reply = refuses
    run.model, own = {"max_failed": 1000}, {"questions": None, "again": 2, "by": ["position"]}
    code, said = run(own, {"fail_if_worse_by": 0.5})
    assert code == 1 and not run.result("passed").exists()
    # What is missing is a fault, and nothing that could be compared.
    assert "a fault. Requests end in an answer: no; of 60 requests, " in " ".join(said.split())
    lacks = re.match(r"cannot tell: other lacks (\d+) of 60 answers to ml", run.said("not_worse"))
    assert lacks and 0 < int(lacks[1]) < 60
    table = pd.read_csv(run.result("cells.csv")).set_index("by")
    assert (table["missing_base"] == 0).all()
    assert table.loc["all", "missing_changed"] == int(lacks[1])
    # Only what is missing is asked again.
    run.server.reply, asked = lambda number, body: completion(body, prompt_of(body)), run.asked()
    code, said = run(own, {"fail_if_worse_by": 0.5})
    assert code == 0 and run.result("passed").exists(), said[-3000:]
    again = run.asked() - asked
    assert {model for model, _ in again} == {"changed"} and len(again) == int(lacks[1])
    assert run.said("not_worse").startswith("sound: ")
    # The last line is the answer to the command.
    last = " ".join(" ".join(said.strip().splitlines()[-8:]).split())
    assert "other (changed) against plain (base): cannot tell. No fault in 60 prompts" in last
    assert last.endswith("More: results/doctor/other/index.html")
    # Another limit is judged anew, of the same answers.
    n_asked = len(run.server.received)
    code, said = run(own, {"fail_if_worse_by": 0.02})
    assert code == 1 and not run.result("passed").exists() and len(run.server.received) == n_asked
    why = "no cell could have shown a loss of more than 2 points: mlneedle has plus or minus 36.1 points"
    needed = "about 280 questions of such prompts would be needed: there are 15"
    assert "The gate of other (run.doctor, fail_if_worse_by: 0.02) does not pass: of 60" in said
    for text in (said, run.said("not_worse"), run.result("doctor.md").read_text("utf-8")):
        assert f"{why} from 15 questions (60 prompts)" in text and needed in text
