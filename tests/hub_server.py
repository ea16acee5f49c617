"""A Hugging Face hub on loopback with data sets of ours: the API that `datasets` asks, and the files."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote


@dataclass
class Hub:
    """`files` by data set and revision: path to bytes. `private` data sets want the token.

    `asked` has what came: method and path.
    """

    files: dict[tuple[str, str], dict[str, bytes]]
    private: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def allows(self, name: str, authorization: str) -> bool:
        """Whether a request may read a data set."""
        return authorization == f"Bearer {self.private[name]}" if name in self.private else True


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve `hub` on loopback at `hub.url`."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


_API = re.compile(
    r"/api/datasets/(?P<name>[^/]+/[^/]+)/(?P<what>revision|tree|paths-info)/(?P<revision>[^/]+)/?(?P<path>.*)"
)
_FILE = re.compile(r"/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        self.hub.asked.append(f"{self.command} {self.path}")
        found = _FILE.fullmatch(unquote(path)) or _API.fullmatch(unquote(path))
        if found is None:
            self._send(404, b"{}")
        elif not self.hub.allows(found["name"], self.headers.get("Authorization", "")):
            self._send(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif (found["name"], found["revision"]) not in self.hub.files:
            known = any(name == found["name"] for name, _ in self.hub.files)
            code = "RevisionNotFound" if known else "RepoNotFound"
            self._send(404, b"{}", {"X-Error-Code": code})
        else:
            files = self.hub.files[found["name"], found["revision"]]
            if "what" not in found.groupdict():
                self._file(files, found)
                return
            asked = body if "json" in self.headers.get("Content-Type", "") else _form(body)
            answer = {
                "revision": lambda: _info(found, files),
                "tree": lambda: _tree(files, found["path"], "recursive=true" in query.lower()),
                "paths-info": lambda: _paths(files, asked),
            }[found["what"]]()
            if answer is None:
                self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"})
            else:
                self._send(200, json.dumps(answer).encode())

    do_HEAD = do_POST = do_GET

    def _file(self, files: dict[str, bytes], found: re.Match[str]) -> None:
        if found["path"] not in files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        data = files[found["path"]]
        headers = {
            "ETag": f'"{_digest(data)}"',
            "X-Repo-Commit": found["revision"],
            "Accept-Ranges": "bytes",
        }
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            self._send(200, data, headers)
            return
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        self._send(206, data[first : last + 1], headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output free of requests."""


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _form(body: str) -> str:
    return json.dumps(parse_qs(body))


def _info(found: re.Match[str], files: dict[str, bytes]) -> dict[str, Any]:
    siblings = [{"rfilename": path} for path in files]
    name, revision = found["name"], found["revision"]
    more = {"private": False, "disabled": False, "gated": False, "downloads": 0, "likes": 0}
    return {"id": name, "_id": "0", "sha": revision, "tags": [], "siblings": siblings, **more}


def _file_entry(path: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(data), "oid": _digest(data)}


def _tree(files: dict[str, bytes], folder: str, deep: bool) -> list[dict[str, Any]] | None:
    prefix = f"{folder}/" if folder else ""
    below = {path: data for path, data in files.items() if path.startswith(prefix)}
    if folder and not below:
        return None
    made = [_file_entry(p, d) for p, d in below.items() if deep or "/" not in p[len(prefix) :]]
    folders = {prefix + p[len(prefix) :].split("/")[0] for p in below if "/" in p[len(prefix) :]}
    return made + [{"type": "directory", "path": p, "oid": "0"} for p in sorted(folders)]


def _paths(files: dict[str, bytes], body: str) -> list[dict[str, Any]]:
    made = []
    for path in json.loads(body)["paths"]:
        if path in files:
            made.append(_file_entry(path, files[path]))
        elif any(name.startswith(f"{path}/") for name in files):
            made.append({"type": "directory", "path": path, "oid": "0"})
    return made
