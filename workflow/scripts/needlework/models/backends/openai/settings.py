"""The keys of models of the backend `openai`."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from needlework.settings.base import PathText, key, wrong
from needlework.settings.endpoints import KeyVariable, Url
from needlework.settings.models import Remote

# Without the prompt, the model's name or a whole reply there is no answer to score: not even null is allowed.
_NEVER = {
    "messages": "the prompt is the benchmark's; for a system prompt use the key `system`",
    "prompt": "the prompt is the benchmark's",
    "input": "the prompt is the benchmark's",
    "model": "use the key `name`",
    "n": "use the key `samples`",
    "best_of": "use the key `samples`",
    "echo": "the answer would begin with the prompt",
    "suffix": "the prompt is the benchmark's",
}
# Null leaves these out; another value has a key of its own.
_OWN_KEY = {
    "temperature": "use `sampling: {temperature: ...}`",
    "top_p": "use `sampling: {top_p: ...}`",
    "top_k": "use `sampling: {top_k: ...}`",
    "seed": "use `sampling: {seed: ...}`",
    "stop": "use the key `stop`",
}


class Openai(Remote):
    """A model behind an OpenAI-compatible endpoint."""

    backend: Literal["openai"]
    name: PathText
    """The model's name at the endpoint."""
    base_url: Url = key("https://api.openai.com/v1", affects="place")
    """The endpoint's address, up to /v1 and including it. Changing it does not invalidate cached
    answers. Provenance and artifact show only addresses of known public services."""
    key_env: KeyVariable | None = key("OPENAI_API_KEY", affects="nothing")
    """The environment variable that holds the API key; null if the endpoint needs none. Never write
    the key itself into a configuration. Variables that hold no key, such as PATH, are refused."""
    batch: bool = key(False, affects="speed")
    """Send the requests through the endpoint's batch API, often at half the price, and wait for the
    answers, up to a day. After a kill, the job finds its batches again. Changes no answer."""
    batch_tokens: int | None = key(None, affects="speed", ge=4, le=1_000_000_000_000_000)
    """The most prompt tokens in all unfinished batches, a limit of your account at the endpoint. Null
    sets no limit. Changes no answer."""
    request: dict[str, Any] = key({})
    """Further fields of every request, by the endpoint's names, such as `reasoning_effort`. The value
    null leaves out a field that is otherwise sent. Prompts, fields with a key of their own (`model`,
    `n`, `stop`, those of `sampling`) and headers, which may hold a key, are refused. `{stream: true,
    stream_options: {include_usage: true}}` is for models that only stream, and for proxies that give
    up on long prompts. For reasoning models, use `{max_tokens: null, max_completion_tokens: 4096,
    temperature: null, top_p: null, seed: null}` and `sampling: {top_k: null}`."""

    @model_validator(mode="after")
    def _requests_leave_keys_their_own(self) -> Self:
        for field, value in self.request.items():
            name = field.strip().lower()
            if remedy := _NEVER.get(name):
                raise wrong(f".request.{field}", f"cannot be set: {remedy}.")
            if value is not None and (remedy := _OWN_KEY.get(name)):
                raise wrong(
                    f".request.{field}",
                    f"would replace what the workflow sends: {remedy}; null leaves the field out.",
                )
        return self
