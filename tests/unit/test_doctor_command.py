"""`needlework doctor` up to its configuration, and the verdict that it prints; the run is a stand-in."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import needlework_command as command
from http_server import OpenAIServer, Received, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.planning.doctor import door, meeting
from needlework.planning.doctor.questions import plan
from needlework.planning.doctor.sample_texts import ASKED, HIDDEN

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-verysecret0123456789"


class ServedModels(OpenAIServer):
    """Counts a token for a run of letters, a digit and a sign each, with 11 of its template."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = listed("mine", max_model_len=4096)
        self.props = Reply({}, 404)
        self.first_reply = lambda body: completion(
            body, "x", usage={"prompt_tokens": 11 + tokens(prompt_of(body))}
        )

    def take(self, received: Received) -> Reply:
        if received.path.startswith("/v1/"):
            return super().take(received)
        return self.props if received.path == "/props" else Reply({}, 404)


def tokens(text: str) -> int:
    return len(re.findall(r"[^\W\d_]+|\d|[^\w\s]", text))


def listed(*names: str, **fields: Any) -> Reply:
    return Reply({"object": "list", "data": [{"id": name, **fields} for name in names]})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MINE_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ServedModels]:
    with ServedModels() as running:
        yield running


@pytest.fixture
def other() -> Iterator[ServedModels]:
    with ServedModels() as running:
        yield running


class Run:
    """Stands for Snakemake: `found` is written as the run's verdict, and `given` has what it was told."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []
        self.status = 0
        self.found: dict[str, Any] | None = {
            **{"verdict": "sound", "exit_status": 0, "sentence": "It answers as it should."},
            **{"asked": "2026-11-28T22:00:00", "checks": [CHECK]},
        }

    def __call__(self, file: str, options: list[str], lock: int) -> int:
        os.fstat(lock)
        self.given.append([file, *options])
        folder = Path("doctor/results/doctor/served")
        if self.found is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("index.html", "doctor.md"):
                (folder / name).write_text("page", encoding="utf-8")
            (folder / "doctor.json").write_text(json.dumps(self.found), encoding="utf-8")
        return self.status


CHECK = {
    **{"name": "lengths", "title": "Long prompts", "sentence": "As good as short ones."},
    **{"verdict": "sound", "more": ""},
}


def ask(*words: str, run: Run | None = None) -> int:
    return door.doctor(list(words), run or Run())


def written() -> Any:
    return yaml.safe_load(Path("doctor/doctor.yaml").read_text(encoding="utf-8"))


# The address and the model


@pytest.mark.parametrize("form", ["http://{}/v1", "http://{}/v1/", "http://{}", "{}", "{}/v1"])
def test_v1_and_the_scheme_may_be_left_out(server: ServedModels, form: str, capsys) -> None:
    assert ask(form.format(server.address)) == 0
    assert written()["models"]["served"]["base_url"] == server.url
    said = f"The server's address is {server.url}." in capsys.readouterr().err
    assert said == (form not in ("http://{}/v1", "http://{}/v1/"))


STATUSES = [
    (401, [], "asks for a key (status 401): set --key-env to the environment variable"),
    (401, ["--key-env", "MINE_KEY"], "refuses the key in MINE_KEY (status 401): set the"),
    (403, [], 'refuses (status 403: {"error": {"message": "no ***'),
    (503, [], "answers with status 503 ("),
    (429, [], "answers with status 429 ("),
]


@pytest.mark.parametrize(("status", "words", "said"), STATUSES)
@pytest.mark.parametrize("where", ["listed", "first_reply"])
def test_a_refusal_is_one_sentence(server: ServedModels, status, words, said, where, capsys):
    reply = refusal(status, f"no {KEY}" if "***" not in said else "no ***")
    setattr(server, where, reply if where == "listed" else lambda body: reply)
    assert refused(capsys, server.url, *words).startswith(f"{server.url} {said}")


def refused(capsys: Any, *words: str) -> str:
    """The one sentence of a command without a verdict, which starts no run and writes nothing."""
    run = Run()
    assert ask(*words, run=run) == 2
    assert not run.given and not Path("doctor/doctor.yaml").exists()
    out, err = capsys.readouterr()
    assert not out and KEY not in err
    *notices, sentence = err.splitlines()
    assert sentence.startswith("Error: ") and not any(n.startswith("Error") for n in notices)
    return sentence.removeprefix("Error: ")


def test_a_server_that_is_down_is_told(capsys) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    said = refused(capsys, f"http://{address}/v1")
    assert "cannot be reached (Connection refused): start the server, or correct" in said
    assert "cannot be reached" in refused(capsys, address)


def test_a_public_host_is_never_asked_in_the_clear() -> None:
    assert {a.partition("://")[0] for a in meeting._addresses("api.example.com")} == {"https"}
    assert {a.partition("://")[0] for a in meeting._addresses("10.0.0.7:80")} == {"http", "https"}


def test_a_slow_server_is_told(server: ServedModels, capsys, monkeypatch) -> None:
    monkeypatch.setattr(meeting, "ANSWER_S", 0.3)
    ready = threading.Event()
    server.listed = Reply({}, after=ready)
    server.take = lambda received: ready.wait(20) and Reply()
    assert "gave no answer in 0.3 s: wait until" in refused(capsys, server.url)
    ready.set()


@pytest.mark.parametrize(
    ("names", "words", "said"),
    [
        (["a", "b"], [], "serves several models: name one with --model (a, b)."),
        (
            ["a", "b"],
            ["--model", "c"],
            "does not serve 'c': name with --model what it serves (a, b).",
        ),
        ([], [], "lists no models at "),
        ([], ["--model", "c"], "gives no chat completions of 'c' (status 404: "),
        (["a"], ["--context", "8k"], "takes 4,096 tokens, and --context is 8,192: start it"),
        (["a"], ["--context", "256"], "A context of 256 tokens is too short"),
        (["a"], ["--prompts", "20"], "--prompts 20 is too few for these languages"),
        (["a"], ["--fail-if-worse-by", "2"], "need --against URL"),
        (["a"], ["--context", "much"], "'much' is no number of tokens, such as 32k"),
        (["a"], ["--key-env", "PATH"], "holds no key"),
        (["a"], ["--key-env", KEY], "is not the name of an environment variable"),
        (["a"], ["--key-env", "NO_SUCH_KEY"], "set the environment variable NO_SUCH_KEY."),
    ],
)
def test_a_wrong_question_is_one_sentence(server, names, words, said, capsys) -> None:
    server.listed = listed(*names, max_model_len=4096)
    if not names:
        server.first_reply = lambda body: refusal(404, "not found")
    assert said in refused(capsys, server.url, *words)


def test_a_login_in_the_address_is_refused_unshown(server: ServedModels, capsys) -> None:
    for url in (f"http://me:{KEY}@{server.address}/v1", f"{server.url}?key={KEY}"):
        assert "name with --key-env" in refused(capsys, url)
    assert not server.asked_first


def test_an_address_without_chat_is_told(server: ServedModels, capsys) -> None:
    server.first_reply = lambda body: refusal(404, "no such address")
    assert "gives no chat completions of 'mine' (status 404: " in refused(capsys, server.url)


def test_a_named_model_is_asked_without_a_list(server: ServedModels) -> None:
    server.listed = refusal(404, "no list")
    assert ask(server.url, "--model", "hidden") == 0
    assert written()["models"]["served"] | {"variant": ""} == {
        **{"backend": "openai", "name": "hidden", "base_url": server.url, "key_env": None},
        **{"tokenizer": "words", "context": 8192, "sampling": {"temperature": 0}, "variant": ""},
        "max_failed": 1_000_000,
    }


def test_the_compared_server_may_name_it_otherwise(server, other, capsys) -> None:
    other.listed = listed("its-own", max_model_len=2048)
    assert ask(server.url, "--against", other.url, "--fail-if-worse-by", "2") == 0
    assert f"{other.url} calls its model its-own, not mine." in capsys.readouterr().err
    made = written()
    assert made["run"]["doctor"] == [
        {"model": "served", "against": "other", "fail_if_worse_by": 0.02}
    ]
    found = {name: (m["name"], m["context"]) for name, m in made["models"].items()}
    # The shorter limit holds for both, and each has answers of its own.
    assert found == {"served": ("mine", 2048), "other": ("its-own", 2048)}
    assert len({m["variant"] for m in made["models"].values()}) == 2


@pytest.mark.slow
def test_snakemake_gets_the_folder_and_no_key(server: ServedModels, folder: Path) -> None:
    words = ["doctor", server.url, "--key-env", "MINE_KEY", "-n"]
    done = subprocess.run(
        [sys.executable, command.__file__, *words], capture_output=True, text=True
    )
    assert done.returncode == 2 and "Error: " in done.stderr.splitlines()[-1]
    asked = "--cores all --configfile doctor/doctor.yaml --nolock --directory doctor -n\n"
    assert "snakemake checkups --snakefile" in done.stderr and asked in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not any(KEY.encode() in p.read_bytes() for p in folder.rglob("*") if p.is_file())
    assert not server.received


# What is asked


@pytest.mark.parametrize(
    ("fields", "props", "words", "context"),
    [
        ({"max_model_len": 4096}, {}, [], 4096),
        ({"meta": {"n_ctx_train": 8192}}, {"n_ctx": 2048}, [], 2048),
        ({"meta": {"n_ctx_train": 4096}}, {}, [], 8192),
        ({"max_model_len": 4096}, {}, ["--context", "2k"], 2048),
    ],
)
def test_the_limit_is_the_servers(server, fields, props, words, context, capsys) -> None:
    server.listed = listed("mine", **fields)
    server.props = Reply({"default_generation_settings": props})
    assert ask(server.url, *words) == 0
    assert written()["models"]["served"]["context"] == context
    assert ("names no limit" in capsys.readouterr().err) == (context == 8192)


@pytest.mark.parametrize(
    ("context", "lengths"),
    [
        (2048, [415, 933, 1866]),
        (8192, [1024, 4096, 7702]),
        (32768, [1024, 4096, 16384, 31050]),
        (131072, [1024, 4096, 16384, 65536, 124438]),
    ],
)
def test_copying_reaches_from_short_to_the_context(context: int, lengths: list[int]) -> None:
    made = plan(context, meeting.Tokens(110, 45, {"en": 1.3}, False), 300)
    pairs = made.benchmarks["lost_in_the_middle"]["n_pairs"]
    for entry, wanted in zip(pairs, lengths, strict=True):
        assert wanted - 45 < 110 + 45 * entry["n"] <= wanted
        first, *_, last = entry["indices"]
        assert (first, last) == (0, entry["n"] - 1) and len({*entry["indices"]}) == 5
    assert made.longest == 110 + 45 * pairs[-1]["n"]


def test_sizes_are_in_the_servers_own_tokens(server: ServedModels, capsys) -> None:
    def longest() -> int:
        return max(e["n"] for e in written()["benchmarks"]["lost_in_the_middle"]["n_pairs"])

    ask(server.url)
    measured = longest()
    counted = server.first_reply

    def without_usage(body: Any) -> Reply:
        return completion(body, "x", usage=None)

    server.first_reply = without_usage
    ask(server.url, "--anew")
    assert "The server counts no tokens of prompts: 45 for each pair" in capsys.readouterr().err
    assert longest() == int((0.95 * 4096 - 80 - 120) / 45)
    # A tokenizer of half as many tokens.
    server.first_reply = lambda body: Reply(
        counted(body).body | {"usage": {"prompt_tokens": tokens(prompt_of(body)) // 2}}
    )
    ask(server.url, "--anew")
    assert 1.9 * measured < longest() < 2.2 * measured


def test_meeting_costs_one_token_an_answer(server: ServedModels) -> None:
    ask(server.url)
    prompts = [received.body for received in server.asked_first if received.body]
    assert len(prompts) == 4 and not server.received
    assert {(body["max_tokens"], body["model"]) for body in prompts} == {(1, "mine")}


@pytest.mark.parametrize("prompts", [60, 100, 300, 1000])
@pytest.mark.parametrize("languages", [["en"], ["en", "zh"]])
@pytest.mark.parametrize("context", [2048, 32768])
def test_never_more_prompts_than_asked(prompts: int, languages: list[str], context: int) -> None:
    measured = meeting.Tokens(110, 45, dict.fromkeys(languages, 1.5), False)
    try:
        found = plan(context, measured, prompts)
    except UserError as error:
        assert prompts == 60 and "give " in str(error)
        prompts = int(str(error).partition("give ")[2].split()[0])
        found = plan(context, measured, prompts)
    pairs, hidden, asked = found.benchmarks.values()
    # Prompts of a question: a pair at five places; a needle in all lengths and languages.
    each = [
        5,
        len(languages) * len(hidden["lengths"]),
        len(languages) * (1 + len(asked["lengths"])),
    ]
    questions = [len(pairs["n_pairs"]) * pairs["examples"], hidden["examples"], asked["questions"]]
    total = sum(a * (b + min(found.again, b)) for a, b in zip(each, questions, strict=True))
    assert total == found.prompts <= prompts
    if prompts >= 300:
        assert total > 0.9 * prompts
        assert 0.35 < 5 * questions[0] / prompts < 0.5


def test_languages_that_cannot_be_asked_are_named(server: ServedModels, capsys) -> None:
    counted = server.first_reply

    def many(body: Any) -> Reply:
        """Counts 20 tokens for a letter of Chinese."""
        prompt = prompt_of(body)
        more = 20 * sum("\u4e00" <= letter <= "\u9fff" for letter in prompt)
        return Reply(counted(body).body | {"usage": {"prompt_tokens": tokens(prompt) + more}})

    server.first_reply = many
    assert ask(server.url, "--languages", "en,zh,xx,ru") == 0
    left_out = "Languages that are left out: xx (not in the sample), zh (does not fit)."
    assert left_out in capsys.readouterr().err
    made = written()["benchmarks"]
    assert made["oneruler"]["languages"] == ["en", "ru"]
    assert made["mlneedle"]["needle_languages"] == ["en"]


def test_the_languages_are_the_samples() -> None:
    sample = ROOT / "resources/sample"
    assert {path.parent.name for path in sample.glob("oneruler/*/book.txt")} == {*HIDDEN}
    passages = json.loads((sample / "city.json").read_text("utf-8"))["passages"]
    assert all({*passage["text"]} == {*ASKED} for passage in passages)


def test_a_word_is_never_less_than_a_token() -> None:
    """The entry's context is in words."""
    made = plan(4096, meeting.Tokens(110, 45, {"zh": 0.5}, False), 300).benchmarks
    assert max(made["oneruler"]["lengths"] + made["mlneedle"]["lengths"]) < 4096


# The same command again


def test_the_same_command_goes_on(server: ServedModels, capsys) -> None:
    run = Run()
    run.status, run.found = 1, None
    assert ask(server.url, run=run) == 2
    assert "without a verdict (status 1): the same command goes on." in capsys.readouterr().err
    before = Path("doctor/doctor.yaml").read_bytes()
    server.asked_first.clear()
    # Snakemake's options are none of the doctor's.
    assert ask(server.url, "--cores", "2", run=(second := Run())) == 0
    assert Path("doctor/doctor.yaml").read_bytes() == before
    assert not any(received.body for received in server.asked_first)
    assert second.given == [
        ["doctor/doctor.yaml", "--nolock", "--directory", "doctor", "--cores", "2"]
    ]


def test_more_prompts_keep_the_answers_so_far(server: ServedModels) -> None:
    ask(server.url, "--prompts", "150")
    first = written()
    run = Run()
    run.found = None
    # The first verdict is not the second's.
    assert ask(server.url, run=run) == 2
    second = written()
    assert second["models"] == first["models"] and second["benchmarks"] != first["benchmarks"]


def test_anew_asks_under_a_new_stamp(server: ServedModels, monkeypatch) -> None:
    ask(server.url)
    first = written()
    path = Path("doctor/doctor.yaml")
    old = first["models"]["served"]["variant"]
    path.write_text(path.read_text("utf-8").replace(old, "2020-01-01T00:00:00 served"), "utf-8")
    ask(server.url, "--anew")
    assert written()["models"]["served"]["variant"] > "2026"


def test_another_model_or_address_needs_anew(server, other, capsys) -> None:
    ask(server.url)
    before = Path("doctor/doctor.yaml").read_bytes()
    server.listed = listed("changed")
    for url, is_now in (
        (server.url, f"changed at {server.url}"),
        (other.url, f"mine at {other.url}"),
    ):
        run = Run()
        capsys.readouterr()
        assert ask(url, run=run) == 2 and not run.given
        said = f"was written for mine at {server.url}, and this is {is_now}: name --anew"
        assert said in capsys.readouterr().err
    assert Path("doctor/doctor.yaml").read_bytes() == before
    assert ask(server.url, "--anew") == 0 and written()["models"]["served"]["name"] == "changed"


def test_a_damaged_configuration_is_told(server: ServedModels, capsys) -> None:
    Path("doctor").mkdir()
    for text in ("", "a: [", "models: {served: 1}", "[1]"):
        Path("doctor/doctor.yaml").write_text(text, "utf-8")
        assert ask(server.url) == 2
        assert "is not as the doctor writes it" in capsys.readouterr().err
        assert Path("doctor/doctor.yaml").read_text("utf-8") == text


def test_a_folder_takes_one_command_at_a_time(server: ServedModels, capsys) -> None:
    """Until Snakemake has ended, even if the command was killed."""
    with door._locked() as lock:
        snakemake = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock])
    assert ask(server.url, run=(run := Run())) == 2 and not run.given
    assert "doctor/ is in use by another run of the doctor: wait" in capsys.readouterr().err
    snakemake.communicate()
    assert ask(server.url) == 0


def test_no_key_is_in_any_file(server: ServedModels, folder: Path, capsys) -> None:
    assert ask(server.url, "--key-env", "MINE_KEY") == 0
    assert server.asked_first[-1].headers["authorization"] == f"Bearer {KEY}"
    assert written()["models"]["served"]["key_env"] == "MINE_KEY"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files and not any(KEY.encode() in path.read_bytes() for path in files)
    assert KEY not in "".join(capsys.readouterr())


# The verdict


@pytest.mark.parametrize(("verdict", "status"), [("sound", 0), ("fault", 1), ("cannot tell", 2)])
def test_the_verdict_is_printed_and_is_the_status(server, verdict, status, capsys) -> None:
    run = Run()
    more = {**CHECK, "title": "Places", "more": "80 more prompts would say."}
    run.found = {**(run.found or {}), "verdict": verdict, "exit_status": status}
    run.found["checks"] = [CHECK, more]
    assert ask(server.url, run=run) == status
    assert capsys.readouterr().out.splitlines() == [
        f"{verdict}: It answers as it should.",
        "",
        "Long prompts: As good as short ones.",
        "Places: As good as short ones. 80 more prompts would say.",
        "",
        "doctor/index.html (asked 2026-11-28T22:00:00)",
    ]
    for name in ("index.html", "doctor.md", "doctor.json"):
        assert Path("doctor", name).read_text("utf-8")


def test_a_dry_run_has_no_verdict(server: ServedModels, capsys) -> None:
    assert ask(server.url) == 0
    assert ask(server.url, "-n") == 2
    assert "A dry run has no verdict" in capsys.readouterr().err
