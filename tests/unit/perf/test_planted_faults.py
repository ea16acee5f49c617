"""The servers of the doctor's trial: a sound one answers rightly, a faulty one as its fault has it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from http_server import Received, Reply, Server
from planted_faults import ROOT, Fault, Habits, Proxy, Retriever, count, kept, planted
from runs import Workflow

CONTEXT = 2400
KEYS = [f"{n:08d}-aaaa-4bbb-8ccc-ddddeeeeffff" for n in range(30)]
PAIRS = ",\n ".join(f'"{key}": "{key[::-1]}"' for key in KEYS)


def pairs(place: int) -> str:
    return f'Extract the value.\n\nJSON data:\n{{{PAIRS}}}\n\nKey: "{KEYS[place]}"\nCorresponding value:'


def ask(url: str, text: str, model: str = "retriever", **more: Any) -> dict[str, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": text}], **more}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def said(reply: dict[str, Any]) -> str:
    return reply["choices"][0]["message"]["content"]


def right(url: str) -> list[bool]:
    return [KEYS[place][::-1] in said(ask(url, pairs(place))) for place in (0, 15, 29)]


@pytest.fixture
def server() -> Any:
    with Retriever(CONTEXT) as own:
        yield own


def plant(server: Retriever, name: str, **habits: Any) -> None:
    server.become(planted(CONTEXT)[name], Habits(**habits))


@pytest.mark.slow
def test_the_retriever_answers_the_benchmarks_prompts_rightly(
    tmp_path: Path, server: Retriever
) -> None:
    benchmarks = {
        "lost_in_the_middle": {
            "tasks": ["key_value"],
            "source": "constructed",
            "keys": ["uuid"],
            "n_pairs": [{"n": 12, "indices": [0, 6, 11]}],
            "examples": 2,
        },
        "oneruler": {
            "data": "sample",
            "languages": ["en", "zh"],
            "cross_lingual": [],
            "tasks": ["niah_single"],
            "none_option": [True],
            "lengths": [650],
            "examples": 3,
        },
        "mlneedle": {
            "needle_languages": ["en", "zh"],
            "haystack_languages": ["en", "zh"],
            "lengths": [512],
            "tasks": ["exact"],
        },
    }
    given = {"run": {"models": ["oracle"], "benchmarks": [*benchmarks]}, "benchmarks": benchmarks}
    (tmp_path / "given.yaml").write_text(yaml.safe_dump(given))
    Workflow(ROOT, tmp_path).run("--configfile", str(tmp_path / "given.yaml"), "--", "export")
    files = [*tmp_path.glob("results/export/*/*/*.jsonl")]
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    assert {row["benchmark"] for row in rows} == {*benchmarks}
    for row in rows:
        limit = {"max_tokens": row["max_new_tokens"]}
        answer = said(ask(server.url, row["messages"][0]["content"], **limit))
        assert any(own in answer for own in row["references"]), (row, answer)


def test_a_cut_keeps_the_tokens_of_its_limit() -> None:
    text = "one two three four five six"
    assert kept(text, 4, "end") == "one two three four"
    assert kept(text, 4, "start") == "three four five six"
    assert kept(text, 4, "middle") == "one two" + "five six"
    assert kept(text, 6, "middle") == text


def test_sound_answers_obey_limit_and_stop(server: Retriever) -> None:
    reply = ask(server.url, pairs(3), max_tokens=5)
    assert (said(reply), reply["choices"][0]["finish_reason"]) == (
        "The corresponding value",
        "length",
    )
    assert said(ask(server.url, pairs(3), stop=["value"])) == "The corresponding "
    usage = ask(server.url, "Hi there")["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (10, 3)
    assert right(server.url) == [True] * 3


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("cut_end", [False] * 3),
        ("cut_start", [False, True, True]),
        ("cut_middle", [True, False, True]),
        ("template", [True] * 3),
        ("positions", [False] * 3),
        ("evicted", [True, False, True]),
        ("thoughts", [False] * 3),
        ("thoughts_marked", [False] * 3),
    ],
)
def test_a_fault_changes_what_is_found(server: Retriever, name: str, found: list[bool]) -> None:
    plant(server, name)
    assert right(server.url) == found


def test_counts_tell_of_cut_and_doubled_prompts_alone(server: Retriever) -> None:
    counts = {}
    for name in ("errors_text", "cut_middle", "template", "evicted"):
        plant(server, name)
        counts[name] = ask(server.url, pairs(0))["usage"]["prompt_tokens"]
    whole = count(pairs(0)) + 8
    assert counts == {
        "errors_text": whole,
        "cut_middle": CONTEXT // 3 + 8,
        "template": whole + 6,
        "evicted": whole,
    }


def test_four_bits_change_more_characters_further_away(server: Retriever) -> None:
    plant(server, "four_bits")
    wrong = [0, 0]
    for far in (False, True):
        for n in range(40):
            text = f"{n}\n" + pairs(0 if far else 29)
            value = KEYS[0 if far else 29][::-1]
            answer = said(ask(server.url, text)).split('"')[1]
            assert len(answer) == len(value)
            wrong[far] += sum(map(str.__ne__, answer, value))
    assert wrong[1] > wrong[0] + 5


def test_a_tenth_of_the_replies_are_errors_or_of_others(server: Retriever) -> None:
    for name in ("errors", "errors_text", "other_answer"):
        plant(server, name, seed=1)
        replies = [ask(server.url, f"Say\nword{n}") for n in range(200)]
        wrong = sum(
            "error" in reply or said(reply) != f"word{n}" for n, reply in enumerate(replies)
        )
        assert 8 <= wrong <= 36, name
        assert any("error" in reply for reply in replies) == (name == "errors")


def test_a_switched_language_keeps_the_answer(server: Retriever) -> None:
    text = "<文本>\n属于“篮子”的秘密号码是8304484。\n</文本>\n\n<问题> 根据上文，属于“篮子”的秘密号码是哪些？"
    assert said(ask(server.url, text)) == "属于“篮子”的秘密号码是8304484"
    plant(server, "language")
    assert said(ask(server.url, text)) == "The secret number that belongs to “篮子” is 8304484"
    plant(server, "language_zh")
    assert said(ask(server.url, pairs(2))) == f"对应的值是“{KEYS[2][::-1]}”。"


def test_habits_change_usage_and_ability_alone(server: Retriever) -> None:
    server.become(Fault("none"), Habits(usage=False))
    assert "usage" not in ask(server.url, pairs(0))
    server.become(Fault("none"), Habits(cached=True, skill=0.0))
    replies = [ask(server.url, f"{n}\n{pairs(0)}") for n in range(40)]
    assert all(reply["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for reply in replies)
    found = sum(KEYS[0][::-1] in said(reply) for reply in replies)
    assert 0 < found < 40


class Streaming(Server):
    """Streams three words."""

    path = "/v1"

    def reply_to(self, number: int, received: Received) -> Reply:
        assert received.body["stream"]
        words = [{"delta": {"content": f"{word} "}, "finish_reason": None} for word in "abc"]
        end: dict[str, Any] = {"delta": {}, "finish_reason": "stop"}
        parts = [{"id": "1", "model": "m", "choices": [choice]} for choice in (*words, end)]
        parts.append({"id": "1", "model": "m", "choices": [], "usage": {"prompt_tokens": 7}})
        return Reply(
            "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode() + b"data: [DONE]"
        )


def test_the_proxy_changes_prompts_and_joins_a_stream(server: Retriever) -> None:
    with Proxy(server.url, CONTEXT) as proxy:
        proxy.become(planted(CONTEXT)["cut_middle"], Habits())
        assert right(proxy.url) == [True, False, True]
        with urllib.request.urlopen(f"{proxy.url}/models") as reply:
            assert json.load(reply)["data"][0]["max_model_len"] == CONTEXT
        with Streaming() as streaming:
            proxy.point(streaming.url)
            proxy.become(Fault("none"), Habits(stream=True))
            reply = ask(proxy.url, "Hi")
            assert (said(reply), reply["usage"]) == ("a b c ", {"prompt_tokens": 7})


def test_a_faulty_server_runs_by_itself() -> None:
    command = [sys.executable, ROOT / "perf/planted_faults.py", "thoughts", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as own:
        try:
            assert own.stdout
            reply = ask(own.stdout.readline().strip(), "Hi", max_tokens=4)
            assert (said(reply), reply["choices"][0]["finish_reason"]) == ("", "length")
        finally:
            own.kill()
