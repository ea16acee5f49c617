"""A real HTTP server on loopback that speaks OpenAI's files and batches, right or wrong."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from openai_server import Replies, Reply, completion

PAGE = 2


class BatchServer:
    """Holds files and batches; a batch is answered by `answer` once `works` is true.

    `fault(number, method, path)` may give a reply instead of the right one, before (or, where `after`
    is true, after) the right thing is done; a batch's creation is told `stall` seconds late. `calls`
    has the method and path of all that came, and `asked` how often each request was in a batch.
    """

    def __init__(self) -> None:
        self.answer: Callable[[Any], Reply] = completion
        self.finish: Callable[[dict[str, Any]], None] = lambda batch: None
        self.fault: Callable[[int, str, str], Reply | None] = lambda number, method, path: None
        self.after = False
        self.stall = 0.0
        self.works = True
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []
        self._lock = threading.RLock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> BatchServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

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
        return sum(m == method and p.startswith(path) for m, p in self.calls)

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
        for field, lines in (("output_file_id", right), ("error_file_id", wrong)):
            if lines:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
                found[field] = self.upload(text.encode("utf-8", "surrogatepass"))["id"]
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

    def respond(self, method: str, path: str, content: bytes, kind: str) -> Reply:
        """The reply to a call."""
        with self._lock:
            number = len(self.calls)
            parts = urlsplit(path)
            name = parts.path.removeprefix("/v1")
            self.calls.append((method, name))
            self.bodies.append(content)
            fault = self.fault(number, method, name)
            if fault is not None and not self.after:
                return fault
            reply = self._right(method, name, parse_qs(parts.query), content, kind)
            return reply if fault is None else fault

    def _right(self, method: str, name: str, query: Any, content: bytes, kind: str) -> Reply:
        if (method, name) == ("POST", "/files"):
            return Reply(self.upload(_file(content, kind)))
        if (method, name) == ("POST", "/batches"):
            return Reply(self.create(json.loads(content)), delay=self.stall)
        if (method, name) == ("GET", "/batches"):
            return Reply(self.list(query.get("after", [None])[0]))
        if found := re.fullmatch(r"/files/([\w-]+)/content", name):
            return Reply(self.files.get(found[1], b""))
        batch = self.retrieve(name.removeprefix("/batches/"))
        return Reply(batch) if batch else Reply({"error": {"message": "No such batch."}}, 404)


def _file(content: bytes, kind: str) -> bytes:
    """The one file in a body of several parts."""
    boundary = b"--" + re.search(r"boundary=(\S+)", kind)[1].encode()
    (part,) = [p for p in content.split(boundary) if b'filename="' in p]
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")


class _Handler(Replies):
    owner: BatchServer

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self) -> None:
        self._answer(b"")

    def _answer(self, content: bytes) -> None:
        kind = self.headers.get("Content-Type", "")
        reply = self.owner.respond(self.command, self.path, content, kind)
        time.sleep(reply.delay)
        self.send(reply)
