"""Servers with a planted fault: a retriever, and a proxy in front of another server.

    python perf/planted_faults.py [FAULT] [--before URL] [--context 32768] [--port 8000] [--no-usage]

The retriever answers from the prompt that reached it, as a perfect model would: key-value pairs of Lost in
the Middle, ONERULER's numbers and MLNeedle's questions on the embedded sample. The proxy changes what reaches
and leaves a server that runs elsewhere. Both count tokens and answer in OpenAI's protocol.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import http.client
import json
import random
import re
import string
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from http_server import Received, Reply, Server, refusal  # noqa: E402

# As tokenizers of today split: control tokens, single digits, characters of Han and Hangul, parts of words.
TOKEN = re.compile(
    r"<\|\w+\|>|\d|[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\W\d_\u2e80-\u9fff]{1,6}|[^\w\s]|_"
)
# The tokens of the retriever's chat template around a message.
TEMPLATE = 8


def count(text: str) -> int:
    """The tokens of a text."""
    return len(TOKEN.findall(text))


def kept(text: str, limit: int, part: str) -> str:
    """A text without the tokens that exceed a limit at its "end", "start" or "middle"."""
    tokens = [token.span() for token in TOKEN.finditer(text)]
    if len(tokens) <= limit:
        return text
    head = {"end": limit, "start": 0, "middle": limit // 2}[part]
    tail = limit - head
    begin = text[: tokens[head - 1][1]] if head else ""
    return begin + (text[tokens[-tail][0] :] if tail else "")


# What a prompt asks, and the answer.


class Found(NamedTuple):
    """An answer's parts: the sentence around the value, the value, and where the text holds it (-1: not)."""

    sentence: str
    value: str
    at: int
    # Other values of the kind, which a reader could take for it.
    others: list[str]


_SENTENCES = {
    "en": "The answer is {}.",
    "zh": "答案是{}。",
    "de": "Die Antwort lautet {}.",
    "es": "La respuesta es {}.",
    "vi": "Câu trả lời là {}.",
    "hi": "उत्तर {} है।",
    "ar": "الجواب هو {}.",
}
_PAIR, _KEY = re.compile(r'"([^"\n]+)": "([^"\n]+)"'), re.compile(r'Key: "([^"\n]+)"\n')
_OF_PAIR = {"en": 'The corresponding value is "{}".', "zh": "对应的值是“{}”。"}


def find(text: str, lang: str | None = None) -> Found | None:
    """What a text asks and its answer, in the question's language or in `lang`; None of other texts."""
    if asked := _KEY.findall(text):
        pairs = [(m[1], m[2], m.start(2)) for m in _PAIR.finditer(text)]
        return _found(_OF_PAIR[lang or "en"], asked[-1], pairs, lang or "en")
    for needle, question, of in _oneruler():
        if asked := question.findall(text):
            own = lang or of
            sentence = _niah()[own]["needle_numbers"].format(key=asked[-1], value="{}")
            hidden = [(m[1], m[2], m.start(2)) for m in needle.finditer(text)]
            return _found(sentence, asked[-1], hidden, own)
    end = text[-1500:]
    for row in _sample():
        for of, texts in row.items():
            if texts["question"] in end:
                return _in_passages(text, row, lang or of)
    return None


def _found(sentence: str, asked: str, pairs: list[tuple[str, str, int]], lang: str) -> Found:
    """The answer, from keys, values and the values' places."""
    others = [value for key, value, _ in pairs if key != asked]
    own = [(value, at) for key, value, at in pairs if key == asked]
    return Found(sentence, *(own or [(_none(lang), -1)])[0], others)


def _in_passages(text: str, row: Mapping[str, Mapping[str, str]], lang: str) -> Found:
    """The answer in `lang`, if the text has the sentence that holds it in any language."""
    lang = lang if lang in row else "en"
    others = [other[lang]["answer"] for other in _sample() if lang in other and other is not row]
    for own in row.values():
        sentences = re.split(r"(?<=[.。।])\s*", own["context"])
        holds = next((s for s in sentences if own["answer"] in s), own["answer"])
        if (at := text.find(holds)) >= 0:
            return Found(_SENTENCES[lang], row[lang]["answer"], at, others)
    return Found(_SENTENCES[lang], _none(lang), -1, others)


@cache
def _none(lang: str) -> str:
    """ONERULER's word for what a text does not hold."""
    return _niah().get(lang, _niah()["en"])["none"]


@cache
def _niah() -> dict[str, dict[str, str]]:
    """The sentences of ONERULER's tasks with needles, by language."""
    files = sorted((ROOT / "resources/sample/oneruler").glob("*/niah.json"))
    return {file.parent.name: json.loads(file.read_text("utf-8")) for file in files}


@cache
def _oneruler() -> list[tuple[re.Pattern[str], re.Pattern[str], str]]:
    """The needle (key, value) and the question (key) of each language, as patterns."""
    made = []
    for lang, own in _niah().items():
        parts = {r"\{key\}": r"([^”»\n]+?)", r"\{query1\}": r"([^”»\n]+?)", r"\{value\}": r"(\d+)"}
        needle, question = (
            re.escape(own[n]) for n in ("needle_numbers", "question_single_numbers")
        )
        for name, pattern in parts.items():
            needle, question = needle.replace(name, pattern), question.replace(name, pattern)
        made.append((re.compile(needle), re.compile(question), lang))
    return made


@cache
def _sample() -> list[dict[str, dict[str, str]]]:
    """The sample's questions: language -> question, context, answer."""
    files = [
        ROOT / f"resources/sample/{name}.json"
        for name in ("city", "harbour", "mountain", "english")
    ]
    return [
        row["text"] for file in files for row in json.loads(file.read_text("utf-8"))["questions"]
    ]


# Faults


class Sent(NamedTuple):
    """A right reply before it is sent, the one before it, and the most tokens that were asked for."""

    body: dict[str, Any]
    before: dict[str, Any] | None
    limit: int
    dice: random.Random


@dataclass(frozen=True)
class Fault:
    """What goes wrong between a prompt and its answer."""

    title: str
    # The doctor's checks of which one must name it.
    named_by: tuple[str, ...] = ()
    # The user's text as it reaches the model, which is what the server counts.
    reads: Callable[[str], str] = lambda text: text
    # Of the retriever alone: what it still has of the text when it answers; what it says, of an answer so
    # many tokens away in a prompt of so many; and in which language.
    remembers: Callable[[str], str] = lambda text: text
    says: Callable[[Found, int, int, random.Random], str] = lambda found, away, size, dice: (
        found.value
    )
    lang: str | None = None
    # The body that is sent.
    replies: Callable[[Sent], dict[str, Any]] = lambda sent: sent.body
    # Parameters of llama.cpp's server.
    llama: Mapping[str, Any] = field(default_factory=dict)
    readers: tuple[str, ...] = ("retriever", "smollm2")


def planted(context: int) -> dict[str, Fault]:
    """The faults and their variants, by name, of a server with so many tokens of context."""
    near, far = context // 3, context // 2
    cut = ("whole_prompts", "same_prompts", "places", "lengths")
    return {
        "cut_end": Fault("prompt cut at the end", cut, lambda text: kept(text, near, "end")),
        "cut_start": Fault("prompt cut at the start", cut, lambda text: kept(text, near, "start")),
        "cut_middle": Fault(
            "prompt cut in the middle", cut, lambda text: kept(text, near, "middle")
        ),
        "template": Fault("template doubled", ("same_prompts", "whole_prompts"), _doubled),
        "positions": Fault(
            "positions scaled wrongly",
            ("lengths", "same_texts", "not_worse"),
            says=lambda found, away, size, dice: (
                _mistaken(found, dice) if size > near else found.value
            ),
            llama={"rope_freq_scale": 0.5},
        ),
        "four_bits": Fault(
            "keys and values in 4 bits",
            ("copies", "lengths", "places", "same_texts", "not_worse"),
            says=lambda found, away, size, dice: _blurred(found.value, 0.03 * away / context, dice),
            llama={"cache_type_k": "Q4_0", "cache_type_v": "Q4_0", "flash_attn_type": 1},
        ),
        "evicted": Fault(
            "the middle evicted from the cache",
            ("places", "lengths", "whole_prompts", "not_worse"),
            remembers=lambda text: kept(text, far, "middle"),
            readers=("retriever",),
        ),
        "thoughts": Fault("thoughts use up the answer", ("outcomes",), replies=_thinking),
        "thoughts_marked": Fault(
            "the same, in the answer's text",
            ("outcomes",),
            replies=partial(_thinking, mark="<think>\n"),
        ),
        "errors": Fault("errors in status 200", ("outcomes",), replies=_error),
        "errors_text": Fault("the same, as an answer", ("outcomes",), replies=_error_text),
        "other_answer": Fault(
            "an answer of another request", ("own_answers",), replies=_of_another
        ),
        "language": Fault("answers in English", ("languages",), lang="en", readers=("retriever",)),
        "language_zh": Fault(
            "answers in Chinese", ("languages",), lang="zh", readers=("retriever",)
        ),
    }


def _doubled(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def _mistaken(found: Found, dice: random.Random) -> str:
    """Another value of the kind: one that the text holds, or one that nothing holds."""
    known = found.others and dice.random() < 0.5
    return dice.choice(found.others) if known else _blurred(found.value, 1, dice)


def _blurred(value: str, chance: float, dice: random.Random) -> str:
    """A value of which each digit and letter is another with a chance."""
    kinds = (string.digits, "abcdef", string.ascii_lowercase, string.ascii_uppercase)
    made = []
    for character in value:
        kind = next((kind for kind in kinds if character in kind), None)
        wrong = kind and dice.random() < chance
        made.append(dice.choice(kind.replace(character, "")) if kind and wrong else character)
    return "".join(made)


def _thinking(sent: Sent, mark: str = "") -> dict[str, Any]:
    """Thoughts up to the limit in place of an answer: in a field of their own, or after a mark."""
    thoughts = kept(
        "Let me read the text once more and compare its lines. " * sent.limit, sent.limit, "end"
    )
    own = {"content": mark + thoughts} if mark else {"content": "", "reasoning_content": thoughts}
    message = {"role": "assistant", **own}
    sent.body["choices"][0] |= {"message": message, "finish_reason": "length"}
    sent.body.get("usage", {})["completion_tokens"] = sent.limit
    return sent.body


def _error(sent: Sent) -> dict[str, Any]:
    error = {"message": "The upstream worker ended without an answer", "code": 500}
    return {"error": error} if sent.dice.random() < 0.1 else sent.body


def _error_text(sent: Sent) -> dict[str, Any]:
    if sent.dice.random() < 0.1:
        said = "Error: internal server error (500). Please try again."
        sent.body["choices"][0]["message"]["content"] = said
    return sent.body


def _of_another(sent: Sent) -> dict[str, Any]:
    other = sent.before and sent.dice.random() < 0.1
    return sent.body | {"choices": sent.before["choices"]} if sent.before and other else sent.body


# Servers


@dataclass
class Habits:
    """How a sound server differs from another: none of these changes what an answer is worth."""

    seed: int = 0
    # The longest time that an answer takes, in seconds.
    delay: float = 0.0
    usage: bool = True
    # Usage tells how many tokens a prefix cache had.
    cached: bool = False
    # Only of the retriever. Of its longest prompts it answers this share rightly, of shorter ones more; a
    # share of the answers is drawn anew with each request, as rounding does at temperature 0.
    skill: float = 1.0
    noise: float = 0.0
    # Only of the proxy: the server behind it streams.
    stream: bool = False


class FaultyServer(Server, ABC):
    """Answers chats, with a fault."""

    path = "/v1"

    def __init__(self, context: int, port: int = 0) -> None:
        super().__init__(port)
        self.context = context
        self.become(Fault("none"), Habits())

    def become(self, fault: Fault, habits: Habits) -> None:
        """Have another fault and other habits, and forget all requests."""
        self.fault, self.habits = fault, habits
        self.received.clear()
        self.dice = random.Random(habits.seed)
        self.before: dict[str, Any] | None = None

    def reply_to(self, number: int, received: Received) -> Reply:
        if received.method == "GET" or not received.path.endswith("/chat/completions"):
            return self.other(received)
        messages = [
            {**own, "content": self.fault.reads(own["content"])} if own["role"] == "user" else own
            for own in received.body["messages"]
        ]
        asked = received.body | {"messages": messages}
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or 512
        status, body = self.complete(asked, limit)
        if status != 200:
            return Reply(body, status)
        with self.lock:
            before, self.before = self.before, copy.deepcopy(body)
            body = self.fault.replies(Sent(body, before, limit, self.dice))
            delay = self.dice.uniform(0, self.habits.delay)
        if self.habits.cached and "usage" in body:
            cached = body["usage"]["prompt_tokens"] // 32 * 16
            body["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}
        if not self.habits.usage:
            body.pop("usage", None)
        return Reply(body, delay=delay)

    @abstractmethod
    def other(self, received: Received) -> Reply:
        """The reply to any other request."""

    @abstractmethod
    def complete(self, body: Mapping[str, Any], limit: int) -> tuple[int, dict[str, Any]]:
        """Status and body of the reply to a chat, whose answer may have `limit` tokens."""


class Retriever(FaultyServer):
    """Looks the answer up in the prompt."""

    def other(self, received: Received) -> Reply:
        if received.path.removesuffix("/") != "/v1/models":
            return Reply({"error": {"message": "Not Found"}}, 404)
        model = {"id": "retriever", "object": "model", "max_model_len": self.context}
        return Reply({"object": "list", "data": [model]})

    def complete(self, body: Mapping[str, Any], limit: int) -> tuple[int, dict[str, Any]]:
        text = "\n".join(message["content"] for message in body["messages"])
        size = TEMPLATE + count(text)
        if body["model"] != "retriever":
            return 404, refusal(404, "The model does not exist.", "model_not_found").body
        if size + limit > self.context:
            said = f"This model's maximum context length is {self.context} tokens, {size + limit} were asked."
            return 400, refusal(400, said).body
        answer, end = self.answer(text, size), "stop"
        for stop in [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []:
            answer = answer.partition(stop)[0]
        if count(answer) > limit:
            answer, end = kept(answer, limit, "end"), "length"
        usage = {"prompt_tokens": size, "completion_tokens": count(answer) + (end == "stop")}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": answer}
        choice = {"index": 0, "message": message, "finish_reason": end}
        kind = {"id": "retrieved", "object": "chat.completion", "model": "retriever"}
        return 200, {**kind, "choices": [choice], "usage": usage}

    def answer(self, text: str, size: int) -> str:
        """The answer to a text of so many tokens: the same each time, but for noise."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        with self.lock:
            if self.dice.random() < self.habits.noise:
                digest += str(self.dice.random())
        dice = random.Random(digest)
        read = self.fault.remembers(text)
        found = find(read, self.fault.lang)
        if found is None:
            return " ".join(text.strip().rpartition("\n")[2].split()[-12:])
        value = found.value
        if found.at >= 0:
            if dice.random() > 1 - (1 - self.habits.skill) * size / self.context:
                value = _mistaken(found, dice)
            away = count(read[found.at :])
            value = self.fault.says(found._replace(value=value), away, size, dice)
        return found.sentence.format(value)


class Proxy(FaultyServer):
    """Stands before another server."""

    def __init__(self, behind: str, context: int, port: int = 0) -> None:
        super().__init__(context, port)
        self.point(behind)

    def point(self, behind: str) -> None:
        """Stand before another server than until now."""
        self.behind = urlsplit(behind)

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.behind.netloc, timeout=600)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def other(self, received: Received) -> Reply:
        status, content = self._ask(received.method, received.path, received.body)
        return Reply(content, status)

    def complete(self, body: Mapping[str, Any], limit: int) -> tuple[int, dict[str, Any]]:
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        asked = {**body, **(streamed if self.habits.stream else {})}
        status, content = self._ask("POST", "/v1/chat/completions", asked)
        if status != 200 or not self.habits.stream:
            return status, json.loads(content)
        lines = [line[6:] for line in content.decode().splitlines() if line.startswith("data: {")]
        parts = [json.loads(line) for line in lines]
        deltas = [choice for part in parts for choice in part["choices"]]
        text = "".join(delta["delta"].get("content") or "" for delta in deltas)
        end = next((delta["finish_reason"] for delta in deltas if delta["finish_reason"]), None)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": end,
        }
        usage = next((part["usage"] for part in parts if part.get("usage")), None)
        kind = {key: parts[0][key] for key in ("id", "model")}
        return 200, {**kind, "choices": [choice], **({"usage": usage} if usage else {})}


def main() -> None:
    """Serve until the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fault", nargs="?", choices=["none", *planted(1)], default="none")
    parser.add_argument("--before", metavar="URL", help="the server behind the proxy")
    parser.add_argument("--context", type=int, default=32768)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-usage", action="store_true")
    given = parser.parse_args()
    server = (
        Proxy(given.before, given.context, given.port)
        if given.before
        else Retriever(given.context, given.port)
    )
    fault = planted(given.context).get(given.fault, Fault("none"))
    server.become(fault, Habits(given.seed, usage=not given.no_usage))
    with server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
