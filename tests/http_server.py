"""A real HTTP/1.1 server on loopback, whose answers go wrong as a test asks."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Fault:
    """How one answer goes wrong. Without arguments, it goes right."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Close the connection after so many bytes of the body. With `announce_length` the client can
    # tell that bytes are missing; without, it cannot.
    stop_after: int | None = None
    announce_length: bool = True
    # Seconds between the last byte and the close.
    stall: float = 0.0
    # Invert the body's first byte.
    corrupt: bool = False
    ignore_range: bool = False
    # Answer 206 with a range that begins so many bytes later than asked.
    shift_range: int = 0
    send_validators: bool = True
    ignore_if_range: bool = False
    # Seconds before the answer.
    delay: float = 0.0


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]


class LoopbackServer:
    """Serves `files` (path without the first slash -> bytes), with Range, If-Range and ETag.

    `faults[path]` are used up one a request, in order; then `always[path]`, if any, holds.
    `redirects[path]` answers 302 to a URL. `requests` has all that came.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.always: dict[str, Fault] = {}
        self.redirects: dict[str, str] = {}
        self.requests: list[Request] = []
        handler = type("Handler", (_Handler,), {"loopback": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> LoopbackServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def ranges(self) -> list[str | None]:
        """The Range headers that came, in order."""
        return [request.headers.get("Range") for request in self.requests]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves early, or is killed, is no error of the server's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            raise


class _Handler(BaseHTTPRequestHandler):
    loopback: LoopbackServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        server = self.loopback
        path = self.path.partition("?")[0].removeprefix("/")
        server.requests.append(Request(self.path, dict(self.headers)))
        queue = server.faults[path]
        fault = queue.pop(0) if queue else server.always.get(path, Fault())
        time.sleep(fault.delay)
        if path in server.redirects:
            self._answer(302, {"Location": server.redirects[path]}, b"", fault)
        elif fault.status is not None:
            self._answer(fault.status, fault.headers, b"", fault)
        elif path not in server.files:
            self._answer(404, {}, b"", fault)
        else:
            self._answer_file(server.files[path], fault)

    def _answer_file(self, data: bytes, fault: Fault) -> None:
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        headers = {"ETag": etag} if fault.send_validators else {}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        same = fault.ignore_if_range or self.headers.get("If-Range", etag) == etag
        if not asked or not same or fault.ignore_range:
            self._answer(200, headers, data, fault)
            return
        first = int(asked[1]) + fault.shift_range
        last = min(int(asked[2] or len(data)), len(data) - 1)
        if first > last:
            self._answer(416, {"Content-Range": f"bytes */{len(data)}"}, b"", fault)
            return
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        self._answer(206, headers, data[first : last + 1], fault)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, fault: Fault) -> None:
        if fault.corrupt:
            body = bytes([body[0] ^ 0xFF]) + body[1:]
        self.send_response(status)
        for name, value in {**headers, **fault.headers}.items():
            self.send_header(name, value)
        if fault.announce_length:
            self.send_header("Content-Length", str(len(body)))
        self.close_connection = fault.stop_after is not None or not fault.announce_length
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(body[: fault.stop_after])
            time.sleep(fault.stall)
        except OSError:
            # The client left before the end, as one that wants a prefix does.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep tests quiet."""
