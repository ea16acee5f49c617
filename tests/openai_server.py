"""A real HTTP server on loopback that speaks the protocol of OpenAI's completions, right or wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server does with a request. `body` is JSON, or the bytes as they go out."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    # Seconds before the reply.
    delay: float = 0.0
    # Close the connection after so many bytes of the body; 0 is before the status line.
    stop_after: int | None = None


@dataclass(frozen=True)
class Received:
    """A request as it came (its headers in lower case), and when (monotonic seconds)."""

    path: str
    headers: Mapping[str, str]
    body: Any
    time: float


def prompt_of(body: Mapping[str, Any]) -> str:
    """The prompt in a request of either kind."""
    return body["messages"][-1]["content"] if "messages" in body else body["prompt"]


def completion(body: Mapping[str, Any], text: str | None = None, **changes: Any) -> Reply:
    """The right reply to a request: `text`, or the prompt in angle brackets.

    `changes` are `finish_reason`, `refusal` and `usage`.
    """
    text = f"<{prompt_of(body)}>" if text is None else text
    choice: dict[str, Any] = {"index": 0, "finish_reason": changes.get("finish_reason", "stop")}
    if "messages" in body:
        choice["message"] = {"role": "assistant", "content": text}
        if "refusal" in changes:
            choice["message"] |= {"content": None, "refusal": changes["refusal"]}
    else:
        choice["text"] = text
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return Reply(
        {
            "id": "x",
            "model": body["model"],
            "choices": [choice],
            "usage": changes.get("usage", usage),
        }
    )


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error in the protocol's words."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "code": code}}, status, names)


class OpenAIServer:
    """Answers with `reply(number of the request, its body)`, from several threads.

    `received` has all that came, `most_at_once` the most requests that were under way.
    """

    def __init__(self) -> None:
        self.reply: Callable[[int, Any], Reply] = lambda number, body: completion(body)
        self.received: list[Received] = []
        self.most_at_once = 0
        self._under_way = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, received: Received) -> Reply:
        """What to do with a request that has come."""
        with self._lock:
            number = len(self.received)
            self.received.append(received)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            reply = self.reply(number, received.body)
            time.sleep(reply.delay)
            return reply
        finally:
            with self._lock:
                self._under_way -= 1


class Replies(BaseHTTPRequestHandler):
    """Sends replies, broken off where they say so."""

    protocol_version = "HTTP/1.1"
    # Otherwise a body waits 40 ms for the client to acknowledge the head.
    disable_nagle_algorithm = True

    def send(self, reply: Reply) -> None:
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.close_connection = reply.stop_after is not None
        if reply.stop_after == 0:
            return
        try:
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: reply.stop_after])
        except ConnectionError:
            # The client was killed, or has stopped waiting.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep tests quiet."""


class _Handler(Replies):
    owner: OpenAIServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send(self.owner.take(Received(self.path, headers, body, time.monotonic())))
