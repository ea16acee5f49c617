"""Killed at any moment, the same command completes the run, and nothing differs."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from http_server import OpenAIServer, Reply, completion
from needlework.jobs.stop import FILE
from needlework.journal import Journal
from needlework.records import read_table
from needlework.seeding import rng
from runs import ROOT, SMALL_MLNEEDLE, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kill")]

CONFIG = {
    # The language model of the demo would take minutes for each of these runs. What is killed and what is
    # taken up again is the same for all benchmarks; these two have documents of their own and distractors.
    "run": {"models": ["lexical"], "benchmarks": ["mlneedle", "oneruler"]},
    "benchmarks": {
        "mlneedle": SMALL_MLNEEDLE,
        "oneruler": {
            "languages": ["en"],
            "cross_lingual": [],
            "lengths": [1000],
            "tasks": ["niah_single", "cwe_easy"],
            "examples": 2,
        },
    },
}
# With each table, its job makes the numbers of all tables and figures.
NUMBERS = ("results/tables/mlneedle/table1.csv", "results/tables/oneruler/accuracy.csv")
# A kill when the first of these files is there: prompts and scores that others follow.
KILLED_AT = ("instances/*/*/*.parquet", "scores/*/*.parquet")


def files_of(workflow: Workflow) -> dict[str, bytes]:
    """What a run made, by name, without what a killed job had begun to write."""
    return {
        str(file.relative_to(workflow.directory)): file.read_bytes()
        for kind in ("corpora", "instances", "generations", "scores", "tables", "figures")
        for file in sorted(workflow.result(kind).rglob("*"))
        if file.is_file() and file.suffix != ".part"
    }


def started(workflow: Workflow, arguments: list[str]) -> psutil.Popen:
    """Snakemake, which leads a process group of its own."""
    return psutil.Popen(
        workflow.command(*arguments),
        cwd=workflow.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_repeated_kills_change_no_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    arguments = ["--configfile", str(config), "--", *NUMBERS]
    undisturbed = Workflow(ROOT, tmp_path / "undisturbed")
    undisturbed.run(*arguments)

    killed = Workflow(ROOT, tmp_path / "killed")
    for pattern in KILLED_AT:
        # Only the last kill leaves a lock behind: to unlock takes a start of Snakemake.
        free = [] if pattern == KILLED_AT[-1] else ["--nolock"]
        process = started(killed, [*free, *arguments])
        while not any(killed.result(".").glob(pattern)):
            assert process.poll() is None, f"the run ended before {pattern}"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    killed.run("--unlock", *arguments)
    killed.run(*arguments)

    expected = files_of(undisturbed)
    assert len(expected) > 40
    found = files_of(killed)
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []
    assert killed.would_run(*arguments) == {}


# What a model's endpoint sees of it

CONCURRENCY, SAMPLES, DELAY = 4, 8, 0.04
# One of each victim.
TRIALS = 3
ANSWERS = "results/generations/served/mlneedle.parquet"


class Endpoint(OpenAIServer):
    """Answers with the prompt's end and the seed, each after a while; counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = self.answer

    def answer(self, number: int, body: Mapping[str, Any]) -> Reply:
        said = completion(body, f"{body['messages'][-1]['content'][-40:]} {body['seed']}")
        return Reply(said.body, delay=DELAY)

    def asked(self, first: int = 0) -> Counter[tuple[str, int]]:
        """How often each request came, from number `first` on. The seed tells samples apart."""
        received = self.received[first:]
        return Counter((r.body["messages"][-1]["content"], r.body["seed"]) for r in received)


def served(url: str, folder: Path) -> list[str]:
    """The arguments of a run of one model behind the endpoint."""
    config = {
        "run": {"models": ["served"]},
        "models": {
            "served": {
                "backend": "openai",
                "tokenizer": "words",
                "context": 4096,
                "name": "made",
                "base_url": url,
                "key_env": None,
                "concurrency": CONCURRENCY,
                "samples": SAMPLES,
            }
        },
        "benchmarks": {"mlneedle": SMALL_MLNEEDLE},
    }
    folder.mkdir()
    (folder / "served.yaml").write_text(yaml.safe_dump(config))
    # The other test unlocks the folder, as a user does; here that would double the time.
    return ["--configfile", str(folder / "served.yaml"), "--nolock", "--", ANSWERS]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has all but the answers; it asked nobody."""
    workflow = Workflow(ROOT, tmp_path_factory.mktemp("prompts") / "run")
    arguments = served("http://127.0.0.1:9", workflow.directory)
    workflow.run(*arguments[:-2], "--until", "build_instances", *arguments[-2:])
    return workflow.directory


def beginning(prompts: Path, folder: Path, server: Endpoint) -> tuple[Workflow, list[str]]:
    """A run in the folder that has all but the answers, and its arguments."""
    arguments = served(server.url, folder)
    for name in ("results", ".snakemake"):
        shutil.copytree(prompts / name, folder / name, symlinks=True)
    return Workflow(ROOT, folder), arguments


def kill_while_it_asks(
    workflow: Workflow, arguments: list[str], server: Endpoint, victim: str, seconds: float
) -> None:
    """Run until the model is asked, and so many seconds more; then SIGKILL the victim."""
    before = len(server.received)
    snakemake = started(workflow, arguments)
    try:
        end = time.monotonic() + 120
        while len(server.received) == before:
            assert snakemake.poll() is None and time.monotonic() < end, "nothing was asked"
            time.sleep(0.01)
        (job,) = (
            process
            for process in snakemake.children(recursive=True)
            if "generate_answers" in " ".join(process.cmdline())
        )
        time.sleep(seconds)
        if victim == "job":
            job.kill()
            assert snakemake.wait(60) == 1
        elif victim == "snakemake":
            snakemake.kill()
        else:
            os.killpg(snakemake.pid, signal.SIGKILL)
        snakemake.wait()
        _, left = psutil.wait_procs([job], timeout=10)
        assert not left, f"the job outlived {victim}"
    finally:
        for process in (snakemake, job):
            if process.is_running():
                process.kill()


def test_no_finished_request_is_sent_again(
    prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills while the model answers: of the job, of Snakemake, and of both at once.

    At most what was under way is sent again: `CONCURRENCY` requests, and on a busy machine as many that were
    answered while an answer was on its way to the disk.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Endpoint() as server, Endpoint() as other:
        killed, arguments = beginning(prompts, tmp_path / "killed", server)
        for trial in range(TRIALS):
            seen, first = server.asked(), len(server.received)
            victim = ("job", "snakemake", "both")[trial]
            seconds = rng("kill", "asking", trial).uniform(0, 0.4)
            kill_while_it_asks(killed, arguments, server, victim, seconds)
            again = server.asked(first).keys() & seen.keys()
            assert len(again) <= 2 * CONCURRENCY, f"after trial {trial}, of {victim}"
        left = len(server.received)
        killed.run(*arguments)
        assert len(server.received) > left, "the last kill came too late"

        undisturbed, others = beginning(prompts, tmp_path / "undisturbed", other)
        undisturbed.run(*others)
        wanted, sent = other.asked(), server.asked()
        assert sent.keys() == wanted.keys()
        assert set(wanted.values()) == {1}

        (folder,) = (killed.directory / "journal/generations").iterdir()
        keys = Counter(record["key"] for record in Journal(folder).records())
        assert set(keys.values()) == {1} and len(keys) == len(wanted)
        assert read_table(killed.directory / ANSWERS).num_rows == len(keys)
        made, expected = (w.directory / ANSWERS for w in (killed, undisturbed))
        assert made.read_bytes() == expected.read_bytes()

        told = len(server.received)
        (killed.directory / ANSWERS).unlink()
        killed.run(*arguments)
        assert len(server.received) == told and made.read_bytes() == expected.read_bytes()


def job_of(snakemake: psutil.Process) -> psutil.Process:
    """The generation job, as soon as its process is there."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for process in snakemake.children(recursive=True):
            try:
                command = process.cmdline()
            except psutil.NoSuchProcess:
                continue
            if len(command) == 2 and "generate_answers" in command[1]:
                return process
        assert snakemake.poll() is None, "the run ended before its job"
        time.sleep(0.005)
    raise AssertionError("no job was started")


@pytest.mark.parametrize("seconds", [0, 0.3])
def test_a_job_whose_snakemake_dies_while_it_starts_asks_nothing(
    prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    loads = []
    with Endpoint() as server:
        workflow, arguments = beginning(prompts, tmp_path / "killed", server)
        snakemake = started(workflow, arguments)
        job = job_of(snakemake)
        try:
            # Load, so that the job's imports take longer than usual.
            for _ in range(2 * (os.cpu_count() or 1)):
                loads.append(psutil.Popen([sys.executable, "-c", "while True: pass"]))
            time.sleep(seconds)
            snakemake.kill()
            snakemake.wait()
            _, left = psutil.wait_procs([job], timeout=30)
            assert not left, "the job outlived Snakemake"
            # At most what was under way in the half second until the job noticed.
            assert len(server.received) <= CONCURRENCY * (1 + 0.5 / DELAY)
        finally:
            for process in (*loads, job):
                if process.is_running():
                    process.kill()


# Signals that can be heard

# Makes a new session's standard input its terminal, and becomes the command that follows.
LEADER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def hang_up(snakemake: psutil.Popen, terminal: int) -> None:
    """Close the run's terminal, as when ssh is lost."""
    os.close(terminal)


def interrupt(snakemake: psutil.Popen, terminal: int) -> None:
    """Press Ctrl-C."""
    os.write(terminal, b"\x03")


def terminate(snakemake: psutil.Popen, terminal: int) -> None:
    snakemake.terminate()


def terminate_all(snakemake: psutil.Popen, terminal: int) -> None:
    os.killpg(snakemake.pid, signal.SIGTERM)


def said_until_end(terminal: int) -> str:
    """What the run says on its terminal, until it ends; "" if the terminal is closed."""
    said = b""
    # Of a terminal that nobody has open any more, EIO.
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            said += part
    return said.decode(errors="replace")


def test_a_signal_stops_requests_and_loses_no_answer(
    prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, SIGTERM to Snakemake and to all, a closed terminal; then the same command, without `--unlock`.

    Every run has the environment of a job of a run that was stopped.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    stale = tmp_path / "stale"
    stale.write_text("SIGTERM")
    monkeypatch.setenv(FILE, str(stale))
    with Endpoint() as server:
        workflow, arguments = beginning(prompts, tmp_path / "stopped", server)
        arguments.remove("--nolock")
        answer, total = server.reply, 0
        server.reply = lambda number, body: replace(answer(number, body), delay=0.5)
        for stop in (terminate, interrupt, terminate_all, hang_up):
            before = len(server.received)
            terminal, own = pty.openpty()
            snakemake = psutil.Popen(
                # A session's first terminal is the one whose keys and end it hears of.
                [sys.executable, "-c", LEADER, *workflow.command(*arguments)],
                cwd=workflow.root,
                **dict.fromkeys(("stdin", "stdout", "stderr"), own),
                start_new_session=True,
            )
            os.close(own)
            try:
                end = time.monotonic() + 120
                while len(server.received) < before + 2 * CONCURRENCY:
                    assert snakemake.poll() is None and time.monotonic() < end, "nothing was asked"
                    time.sleep(0.01)
                stop(snakemake, terminal)
                said = "" if stop is hang_up else said_until_end(terminal)
                assert snakemake.wait(120) == 1, said
            finally:
                if snakemake.is_running():
                    os.killpg(snakemake.pid, signal.SIGKILL)
                if stop is not hang_up:
                    os.close(terminal)
            sent = len(server.received)
            assert server.under_way == 0
            assert sent < before + 10 * CONCURRENCY, f"{stop.__name__} was not heard"
            (folder,) = (workflow.directory / "journal/generations").iterdir()
            journal = Journal(folder)
            assert len([*journal.records()]) == sent, f"{stop.__name__} lost answers"
            assert not (workflow.directory / ANSWERS).exists()
            if said:
                assert "this run is being stopped" in said and "the same command goes on" in said
                total = total or sent + int(
                    re.search(r"([\d,]+) of [\d,]+ requests were not", said)[1]
                )
                assert f"{total - sent} of {total} requests were not sent" in said
        server.reply = answer
        workflow.run(*arguments)
        assert set(server.asked().values()) == {1} and server.asked().total() == total
        assert not [*workflow.directory.glob(".snakemake/locks/*")]


def test_a_signal_stops_its_own_run_alone(
    prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two runs in a folder, with a model and a journal each."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Endpoint() as server, Endpoint() as other:
        folder = tmp_path / "two"
        workflow, arguments = beginning(prompts, folder, server)
        config = yaml.safe_load((folder / "served.yaml").read_text())
        model = config["models"]["served"] | {"base_url": other.url, "name": "other"}
        config |= {"journal": "other", "run": {"models": ["other"]}, "models": {"other": model}}
        (folder / "other.yaml").write_text(yaml.safe_dump(config))
        answers = ANSWERS.replace("served", "other")
        others = ["--configfile", str(folder / "other.yaml"), "--nolock", "--", answers]
        release = threading.Event()
        for each in (server, other):
            each.reply = lambda number, body: replace(completion(body), delay=0.1, after=release)
        runs = [started(workflow, arguments), started(workflow, others)]
        try:
            end = time.monotonic() + 120
            while min(server.under_way, other.under_way) < CONCURRENCY:
                assert time.monotonic() < end, "nothing was asked"
                time.sleep(0.01)
            runs[0].terminate()
            # The run has heard it, and its job will look.
            while not any(file.read_text() for file in (folder / ".snakemake").glob("stop.*")):
                assert time.monotonic() < end, "the signal was not heard"
                time.sleep(0.01)
            release.set()
            assert [run.wait(120) for run in runs] == [1, 0]
        finally:
            for run in runs:
                if run.is_running():
                    os.killpg(run.pid, signal.SIGKILL)
        assert len(server.received) < len(other.received)
        assert read_table(folder / answers).num_rows == len(other.received)
