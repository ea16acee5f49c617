"""The server of OpenAI's completions, which also speaks Anthropic's and Google's own protocols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from http_server import OpenAIServer, Received, Reply

_ANTHROPIC_ENDS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_GOOGLE_ENDS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


class ProviderServer(OpenAIServer):
    """Takes requests of three protocols as OpenAI's, and sends the replies in the protocol that asked."""

    @property
    def host(self) -> str:
        """The address without the path of OpenAI's protocol."""
        return self.url.removesuffix("/v1")

    def take(self, received: Received) -> Reply:
        """What to do with a request of any of the protocols."""
        path, body = received.path, received.body
        if path.startswith("/v1/messages"):
            asked = {"model": body["model"], "messages": _plain(body["messages"])}
            reply = super().take(replace(received, body=asked | {"sent": body}))
            return _as_anthropic(reply, bool(body.get("stream")))
        if ":generateContent" in path or ":streamGenerateContent" in path:
            text = body["contents"][-1]["parts"][0]["text"]
            model = path.rpartition("/")[2].partition(":")[0]
            asked = {"model": model, "messages": [{"role": "user", "content": text}]}
            reply = super().take(replace(received, body=asked | {"sent": body}))
            return _as_google(reply, "stream" in path)
        return super().take(replace(received, body=body | {"messages": _plain(body["messages"])}))


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose content is text."""
    return [
        {**own, "content": own["content"] if isinstance(own["content"], str) else _joined(own)}
        for own in messages
    ]


def _joined(message: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["content"])


def _parts(body: Mapping[str, Any]) -> tuple[str, str, str, Mapping[str, Any]]:
    """Text, reasoning, end and usage of a completion in OpenAI's protocol."""
    (choice,) = body["choices"]
    message = choice["message"]
    text, thoughts = message.get("content") or "", message.get("reasoning_content") or ""
    return text, thoughts, choice["finish_reason"], body.get("usage", {})


def _reasoned(usage: Mapping[str, Any]) -> int:
    return usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)


def _as_anthropic(reply: Reply, stream: bool) -> Reply:
    if isinstance(reply.body, bytes):
        return reply
    if "error" in reply.body:
        own = reply.body["error"]
        error = {"type": own.get("type", "invalid_request_error"), "message": own["message"]}
        return replace(reply, body={"type": "error", "error": error})
    text, thoughts, end, usage = _parts(reply.body)
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    counts = {
        "input_tokens": usage.get("prompt_tokens", 0) - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.get("completion_tokens", 0),
        "output_tokens_details": {"thinking_tokens": _reasoned(usage)},
    }
    content = [{"type": "thinking", "thinking": thoughts, "signature": "s"}] * bool(thoughts)
    content += [{"type": "text", "text": text}] * bool(text)
    reason = _ANTHROPIC_ENDS[end]
    head = {"id": "m", "type": "message", "role": "assistant", "model": reply.body["model"]}
    whole = {**head, "content": content, "stop_reason": reason, "usage": counts}
    if not stream:
        return replace(reply, body=whole)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(content):
        field = "thinking" if block["type"] == "thinking" else "text"
        delta = {"type": f"{field}_delta", field: block[field]}
        events += [
            {"type": "content_block_start", "index": index, "content_block": {**block, field: ""}},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": reason, "stop_sequence": None}
    written = {"output_tokens": counts["output_tokens"]}
    events += [{"type": "message_delta", "delta": ended, "usage": written}]
    events += [{"type": "message_stop"}]
    sent = "".join(f"event: {own['type']}\ndata: {json.dumps(own)}\n\n" for own in events)
    return replace(
        reply, body=sent.encode(), headers={**reply.headers, "Content-Type": "text/event-stream"}
    )


def _as_google(reply: Reply, stream: bool) -> Reply:
    if isinstance(reply.body, bytes):
        return reply
    if "error" in reply.body:
        message = reply.body["error"]["message"]
        return replace(reply, body={"error": {"code": reply.status, "message": message}})
    text, thoughts, end, usage = _parts(reply.body)
    parts: list[dict[str, Any]] = [{"text": thoughts, "thought": True}] * bool(thoughts)
    parts += [{"text": text}] * bool(text)
    reasoned = _reasoned(usage)
    body = {
        "candidates": [
            {
                "content": {"role": "model", "parts": parts},
                "finishReason": _GOOGLE_ENDS[end],
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": usage.get("prompt_tokens", 0),
            "cachedContentTokenCount": usage.get("prompt_tokens_details", {}).get(
                "cached_tokens", 0
            ),
            "candidatesTokenCount": usage.get("completion_tokens", 0) - reasoned,
            "thoughtsTokenCount": reasoned,
            "totalTokenCount": usage.get("total_tokens", 0),
        },
        "modelVersion": reply.body["model"],
    }
    if not stream:
        return replace(reply, body=body)
    headers = {**reply.headers, "Content-Type": "text/event-stream"}
    return replace(reply, body=f"data: {json.dumps(body)}\n\n".encode(), headers=headers)
