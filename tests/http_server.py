"""Real HTTP/1.1 servers on loopback, right or wrong as a test asks.

`FileServer` has files, `Hub` a Hugging Face hub's data sets, `OpenAIServer` the completions and `BatchServer`
the files and batches of OpenAI's protocol.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Reply:
    """What a server does with a request. `body` is JSON, or the bytes as they go out."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    # Seconds before the reply, and what must happen before it.
    delay: float = 0.0
    after: threading.Event | None = None
    # Close the connection after so many bytes of the body; 0 is before the status line. With
    # `announce_length` the client can tell that bytes are missing; without, it cannot.
    stop_after: int | None = None
    announce_length: bool = True
    # Seconds between the last byte and the close.
    stall: float = 0.0


@dataclass(frozen=True)
class Received:
    """A request as it came (its headers in lower case), and when (monotonic seconds)."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes
    # The content, if it is JSON.
    body: Any
    time: float


class Server(ABC):
    """Gives each request its reply, from several threads.

    `received` has all that came, `most_at_once` the most requests that were under way, `under_way` those that
    are.
    """

    path = ""

    def __init__(self, port: int = 0) -> None:
        self.received: list[Received] = []
        self.most_at_once = self.under_way = 0
        self.lock = threading.RLock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.address}{self.path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, received: Received) -> Reply:
        """Count a request that has come, and wait with its reply."""
        with self.lock:
            number = len(self.received)
            self.received.append(received)
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            reply = self.reply_to(number, received)
            time.sleep(reply.delay)
            if reply.after:
                reply.after.wait(60)
            return reply
        finally:
            with self.lock:
                self.under_way -= 1

    @abstractmethod
    def reply_to(self, number: int, received: Received) -> Reply:
        """The reply to a request, the `number`th from 0."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves early, or is killed, is no error of the server's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            raise


class _Handler(BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"
    # Otherwise a body waits 40 ms for the client to acknowledge the head.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        announced = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(announced)
        if len(content) < announced:
            # The client was killed while it sent: no request came.
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_json = content and "json" in headers.get("content-type", "")
        body, now = json.loads(content) if is_json else None, time.monotonic()
        received = Received(self.command, self.path, headers, content, body, now)
        self._send(self.owner.take(received))

    do_HEAD = do_POST = do_GET

    def _send(self, reply: Reply) -> None:
        is_json = not isinstance(reply.body, bytes)
        content = json.dumps(reply.body).encode() if is_json else reply.body
        self.close_connection = reply.stop_after is not None or not reply.announce_length
        if reply.stop_after == 0:
            return
        try:
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            if reply.announce_length:
                self.send_header("Content-Length", str(len(content)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[: reply.stop_after])
            time.sleep(reply.stall)
        except OSError:
            # The client was killed, or left before the end, as one that wants a prefix does.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep tests quiet."""


# Files


@dataclass(frozen=True)
class Fault(Reply):
    """How one answer with a file goes wrong. Without arguments, it goes right."""

    status: int | None = None
    # Invert the body's first byte.
    corrupt: bool = False
    ignore_range: bool = False
    # Answer 206 with a range that begins so many bytes later than asked.
    shift_range: int = 0
    send_validators: bool = True
    ignore_if_range: bool = False


class FileServer(Server):
    """Serves `files` (path without the first slash -> bytes), with Range, If-Range and ETag.

    `faults[path]` are used up one a request, in order; then `always[path]`, if any, holds.
    `redirects[path]` answers 302 to a URL.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.always: dict[str, Fault] = {}
        self.redirects: dict[str, str] = {}

    def ranges(self) -> list[str | None]:
        """The Range headers that came, in order."""
        return [received.headers.get("range") for received in self.received]

    def reply_to(self, number: int, received: Received) -> Reply:
        path = received.path.partition("?")[0].removeprefix("/")
        queue = self.faults[path]
        fault = queue.pop(0) if queue else self.always.get(path, Fault())
        status, headers, body = 404, {}, b""
        if path in self.redirects:
            status, headers = 302, {"Location": self.redirects[path]}
        elif fault.status is not None:
            status = fault.status
        elif path in self.files:
            status, headers, body = self._file(self.files[path], received.headers, fault)
        if fault.corrupt:
            body = bytes([body[0] ^ 0xFF]) + body[1:]
        headers = {"Content-Type": "application/octet-stream", **headers, **fault.headers}
        return replace(fault, body=body, status=status, headers=headers)

    def _file(
        self, data: bytes, asked: Mapping[str, str], fault: Fault
    ) -> tuple[int, dict[str, str], bytes]:
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        headers = {"ETag": etag} if fault.send_validators else {}
        same = fault.ignore_if_range or asked.get("if-range", etag) == etag
        if not same or fault.ignore_range:
            return 200, headers, data
        return part(data, asked, headers, fault.shift_range)


def part(
    data: bytes, asked: Mapping[str, str], headers: dict[str, str], shift: int = 0
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a file, or of the range that the request's headers ask for."""
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.get("range", ""))
    if found is None:
        return 200, headers, data
    first, last = int(found[1]) + shift, min(int(found[2] or len(data)), len(data) - 1)
    if first > last:
        return 416, {"Content-Range": f"bytes */{len(data)}"}, b""
    headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return 206, headers, data[first : last + 1]


# A Hugging Face hub


class Hub(Server):
    """The API that `datasets` asks, and files by data set and revision: path to bytes.

    `private` data sets want the token.
    """

    _API = re.compile(
        r"/api/datasets/(?P<name>[^/]+/[^/]+)/(?P<what>revision|tree|paths-info)/(?P<revision>[^/]+)/?(?P<path>.*)"
    )
    _FILE = re.compile(r"/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")

    def __init__(
        self,
        files: Mapping[tuple[str, str], Mapping[str, bytes]],
        private: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.files, self.private = files, private or {}

    @property
    def asked(self) -> list[str]:
        """Method and path of what came."""
        return [f"{received.method} {received.path}" for received in self.received]

    def reply_to(self, number: int, received: Received) -> Reply:
        path, _, query = received.path.partition("?")
        found = self._FILE.fullmatch(unquote(path)) or self._API.fullmatch(unquote(path))
        if found is None:
            return Reply({}, 404)
        name, token = found["name"], received.headers.get("authorization", "")
        if name in self.private and token != f"Bearer {self.private[name]}":
            return Reply({}, 401, {"X-Error-Code": "RepoNotFound"})
        if (name, found["revision"]) not in self.files:
            known = any(name == other for other, _ in self.files)
            code = "RevisionNotFound" if known else "RepoNotFound"
            return Reply({}, 404, {"X-Error-Code": code})
        files = self.files[name, found["revision"]]
        what = found.groupdict().get("what")
        if what is None and found["path"] in files:
            data = files[found["path"]]
            headers = {
                "ETag": f'"{_digest(data)}"',
                "X-Repo-Commit": found["revision"],
                "Accept-Ranges": "bytes",
            }
            status, headers, body = part(data, received.headers, headers)
            return Reply(body, status, headers)
        answer = None
        if what == "revision":
            answer = _info(found, files)
        elif what == "tree":
            answer = _tree(files, found["path"], "recursive=true" in query.lower())
        elif what == "paths-info":
            asked = received.body or parse_qs(received.content.decode())
            answer = _paths(files, asked["paths"])
        if answer is None:
            return Reply({}, 404, {"X-Error-Code": "EntryNotFound"})
        return Reply(answer)


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _info(found: re.Match[str], files: Mapping[str, bytes]) -> dict[str, Any]:
    siblings = [{"rfilename": path} for path in files]
    name, revision = found["name"], found["revision"]
    more = {"private": False, "disabled": False, "gated": False, "downloads": 0, "likes": 0}
    return {"id": name, "_id": "0", "sha": revision, "tags": [], "siblings": siblings, **more}


def _file_entry(path: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(data), "oid": _digest(data)}


def _tree(files: Mapping[str, bytes], folder: str, deep: bool) -> list[dict[str, Any]] | None:
    prefix = f"{folder}/" if folder else ""
    below = {path: data for path, data in files.items() if path.startswith(prefix)}
    if folder and not below:
        return None
    made = [_file_entry(p, d) for p, d in below.items() if deep or "/" not in p[len(prefix) :]]
    folders = {prefix + p[len(prefix) :].split("/")[0] for p in below if "/" in p[len(prefix) :]}
    return made + [{"type": "directory", "path": p, "oid": "0"} for p in sorted(folders)]


def _paths(files: Mapping[str, bytes], paths: list[str]) -> list[dict[str, Any]]:
    made = []
    for path in paths:
        if path in files:
            made.append(_file_entry(path, files[path]))
        elif any(name.startswith(f"{path}/") for name in files):
            made.append({"type": "directory", "path": path, "oid": "0"})
    return made


# OpenAI's protocol


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


class OpenAIServer(Server):
    """Answers with `reply(number of the request, its body)`.

    What a run asks before its first job is in `asked_first`: the list of models, which is `listed`, and a
    prompt of one word, answered by `first_reply`.
    """

    path = "/v1"

    def __init__(self) -> None:
        super().__init__()
        self.reply: Callable[[int, Any], Reply] = lambda number, body: completion(body)
        self.listed = Reply({"error": {"message": "no such address"}}, 404)
        self.first_reply: Callable[[Any], Reply] = lambda body: completion(body)
        self.asked_first: list[Received] = []

    def take(self, received: Received) -> Reply:
        if received.method == "GET":
            self.asked_first.append(received)
            return self.listed
        if isinstance(received.body, dict) and received.body.get("max_tokens") == 1:
            self.asked_first.append(received)
            return self.first_reply(received.body)
        return super().take(received)

    def reply_to(self, number: int, received: Received) -> Reply:
        return self.reply(number, received.body)


# How many batches a list of them has.
PAGE = 2


class BatchServer(Server):
    """Holds files and batches; a batch is answered by `answer` once `works` is true.

    `fault(number, method, path)` may give a reply instead of the right one, before (or, where `after`
    is true, after) the right thing is done; a batch's creation is told `stall` seconds late.
    """

    path = "/v1"

    def __init__(self) -> None:
        super().__init__()
        self.answer: Callable[[Any], Reply] = completion
        self.finish: Callable[[dict[str, Any]], None] = lambda batch: None
        self.fault: Callable[[int, str, str], Reply | None] = lambda number, method, path: None
        self.after = False
        self.stall = 0.0
        self.works = True
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}

    @property
    def asked(self) -> Counter[str]:
        """How often each request was submitted, by its key."""
        return Counter(
            line["custom_id"] for batch in self.batches.values() for line in self.lines(batch)
        )

    def lines(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """The requests of a batch."""
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def count(self, method: str, path: str) -> int:
        """How many calls came whose path begins so."""
        return sum(r.method == method and _name(r).startswith(path) for r in self.received)

    # What the endpoint does

    def upload(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {"id": name, "object": "file", "bytes": len(content), "purpose": "batch"}

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["completion_window"] == "24h"
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "status": "in_progress",
            "created_at": int(time.time()),
            **body,
        }
        return self.batches[name]

    def retrieve(self, name: str) -> dict[str, Any] | None:
        batch = self.batches.get(name)
        if batch and self.works and batch["status"] == "in_progress":
            self.work(batch)
            self.finish(batch)
        return batch

    def work(self, batch: dict[str, Any], first: int | None = None) -> None:
        """Answer a batch's requests (the first ones alone), last first, as an endpoint may."""
        right, wrong = [], []
        for line in reversed(self.lines(batch)[:first]):
            reply = self.answer(line["body"])
            response = {"status_code": reply.status, "request_id": "r", "body": reply.body}
            result = {"custom_id": line["custom_id"], "response": response, "error": None}
            (right if reply.status == 200 else wrong).append(result)
        batch |= self.results(right, wrong)
        batch["status"] = "completed"
        batch["request_counts"] = {
            "total": len(self.lines(batch)),
            "completed": len(right),
            "failed": len(wrong),
        }

    def results(self, right: list[Any], wrong: list[Any]) -> dict[str, Any]:
        """Store the two files of results; the batch's fields that name them."""
        found = {}
        for name, lines in (("output_file_id", right), ("error_file_id", wrong)):
            if lines:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
                found[name] = self.upload(text.encode("utf-8", "surrogatepass"))["id"]
        return found

    def list(self, after: str | None) -> dict[str, Any]:
        newest = [*reversed(self.batches.values())]
        start = 1 + [b["id"] for b in newest].index(after) if after else 0
        page = newest[start : start + PAGE]
        return {
            "object": "list",
            "data": page,
            "has_more": start + PAGE < len(newest),
            "last_id": page[-1]["id"] if page else None,
        }

    def reply_to(self, number: int, received: Received) -> Reply:
        with self.lock:
            name = _name(received)
            fault = self.fault(number, received.method, name)
            if fault is not None and not self.after:
                return fault
            reply = self._right(name, received)
            return reply if fault is None else fault

    def _right(self, name: str, received: Received) -> Reply:
        if (received.method, name) == ("POST", "/files"):
            return Reply(self.upload(_file(received)))
        if (received.method, name) == ("POST", "/batches"):
            return Reply(self.create(received.body), delay=self.stall)
        if (received.method, name) == ("GET", "/batches"):
            query = parse_qs(urlsplit(received.path).query)
            return Reply(self.list(query.get("after", [None])[0]))
        if found := re.fullmatch(r"/files/([\w-]+)/content", name):
            return Reply(self.files.get(found[1], b""))
        batch = self.retrieve(name.removeprefix("/batches/"))
        return Reply(batch) if batch else Reply({"error": {"message": "No such batch."}}, 404)


def _name(received: Received) -> str:
    return urlsplit(received.path).path.removeprefix("/v1")


def _file(received: Received) -> bytes:
    """The one file in a body of several parts."""
    boundary = b"--" + re.search(r"boundary=(\S+)", received.headers["content-type"])[1].encode()
    (found,) = [p for p in received.content.split(boundary) if b'filename="' in p]
    return found.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
