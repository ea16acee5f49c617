"""`needlework doctor` on a retriever: verdicts, Ctrl-C and kills, keys."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import needlework_command as command
import warm_snakemake
from needlework.journal import Journal
from needlework.planning.doctor import door
from planted_faults import Fault, Habits, Retriever, planted

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("doctor")]

CONTEXT = 4096
FEW = ("--prompts", "80", "--context", "4k", "--languages", "en")
COMMAND = (sys.executable, str(command.__file__), "doctor")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Retriever]]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Retriever(CONTEXT) as one, Retriever(CONTEXT) as two:
        yield [one, two]


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The command in a folder, in a process group of its own."""
    return subprocess.Popen(
        [*COMMAND, *words, *FEW, "--cores", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


class Doctor:
    """The command in the current folder, with a Snakemake whose processes have imported what they need."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self._said = capsys, ""

    def _run(self, file: str, options: list[str], lock: int) -> int:
        _, *arguments = command._snakemake(["checkups"], [file], options)
        done = warm_snakemake.run(arguments, Path.cwd(), os.environ)
        self._said += done.stdout + done.stderr
        return done.returncode

    def __call__(self, *words: str) -> tuple[int, dict[str, Any], str]:
        """Exit status, report and terminal of a command that comes to a verdict."""
        status = door.doctor([*words, *FEW, "--cores", "2"], self._run)
        self._said += "".join(self._capsys.readouterr())
        report = Path("doctor/doctor.json")
        assert report.exists(), self._said[-3000:]
        return status, json.loads(report.read_text("utf-8")), self._said


@pytest.fixture
def diagnose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    monkeypatch.chdir(tmp_path)
    return Doctor(capsys)


def asked(server: Retriever) -> Counter[str]:
    """How often each prompt of a run was answered, without those of the meeting."""
    bodies = [r.body for r in server.received if r.path.endswith("/chat/completions")]
    return Counter(b["messages"][-1]["content"] for b in bodies if b["max_tokens"] > 1)


def test_sound_servers_are_sound_and_faults_are_named(
    servers, diagnose, tmp_path: Path, monkeypatch
) -> None:
    urls = [server.url for server in servers]
    status, found, said = diagnose(urls[0], "--against", urls[1])
    assert (status, found["verdict"]) == (0, "sound"), said[-3000:]
    assert all(check["verdict"] == "sound" for check in found["checks"])
    page = (tmp_path / "doctor/index.html").read_text(encoding="utf-8")
    assert found["sentence"] in page and found["checks"][0]["title"] in said
    # The same command asks nothing and says the same.
    before = [asked(server) for server in servers]
    assert diagnose(urls[0], "--against", urls[1])[0] == 0
    assert [asked(server) for server in servers] == before
    # What is asked anew is asked with a key, which is in no file and never shown.
    monkeypatch.setenv("MY_KEY", secret := "sk-doctor-0123456789abcdef")
    servers[0].become(planted(CONTEXT)["template"], Habits())
    words = ("--key-env", "MY_KEY", "--anew")
    status, found, said = diagnose(urls[0], "--against", urls[1], *words)
    faults = {check["name"] for check in found["checks"] if check["verdict"] == "fault"}
    assert (status, faults) == (1, {"same_prompts"}) and "tokens" in said
    sent = {
        r.headers.get("authorization", r.headers.get("Authorization")) for r in servers[0].received
    }
    assert sent == {f"Bearer {secret}"} and secret not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if secret.encode() in path.read_bytes()]


def test_what_was_answered_is_never_asked_again(servers, diagnose, tmp_path: Path) -> None:
    """After a Ctrl-C, which loses no answer, and a kill, which loses those on their way."""
    server = servers[0]
    server.become(Fault("none"), Habits(delay=0.05))
    for number, wanted in ((signal.SIGINT, 20), (signal.SIGKILL, 40)):
        with start(tmp_path, server.url) as process:
            while (n_asked := sum(asked(server).values())) < wanted:
                assert process.poll() is None, process.communicate()[0][-3000:]
                time.sleep(0.05)
            os.killpg(process.pid, number)
            process.communicate()
        assert process.returncode != 0
        if number == signal.SIGINT:
            # The second answers to a prompt have a folder of their own.
            folders = (tmp_path / "doctor/journal").glob("**/generations/*")
            kept = sum(1 for folder in folders for _ in Journal(folder).records())
            assert kept == sum(asked(server).values()) >= n_asked
    status, found, _ = diagnose(server.url)
    assert status == found["exit_status"]
    assert sum(asked(server).values()) - found["prompts"] <= 2 * 16
