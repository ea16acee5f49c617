"""A small server on loopback that answers prompts as a test says, as OpenAI-compatible endpoints do."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """What is answered to a prompt, and why it ended."""

    text: str
    reason: str = "stop"


class AnsweringServer:
    """Answers (chat) completions by the prompt; `requests` has all that came, without prompts."""

    def __init__(self, replies: Mapping[str, Reply]) -> None:
        self.requests: list[dict[str, Any]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chat = "messages" in asked
                given = asked.pop("messages") if chat else asked.pop("prompt")
                prompts = (
                    [given[-1]["content"]] if chat else [given] * isinstance(given, str) or given
                )
                owner.requests.append({"path": self.path, **asked})
                replies_ = [replies[prompt] for prompt in prompts]
                choices = [
                    {
                        "index": i,
                        "finish_reason": reply.reason,
                        **(
                            {"message": {"role": "assistant", "content": reply.text}}
                            if chat
                            else {"text": reply.text, "logprobs": None}
                        ),
                    }
                    for i, reply in enumerate(replies_)
                ]
                read = sum(len(prompt.split()) for prompt in prompts)
                usage = {"prompt_tokens": read, "completion_tokens": 9, "total_tokens": read + 9}
                usage["prompt_tokens_details"] = {"cached_tokens": min(2, read)}
                body = {
                    **{"id": "x", "created": 1, "model": "served", "choices": choices},
                    "object": "chat.completion" if chat else "text_completion",
                    "usage": usage,
                }
                content = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Keep tests quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> AnsweringServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
