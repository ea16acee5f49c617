"""OpenVINO GenAI's two engines: many prompts at once on CPUs and GPUs, one after the other on NPUs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from needlework.models.openvino_prefixes import Prefixes, Sent
from needlework.prompts.openvino_runtime import genai


class Ended(NamedTuple):
    """An answer's tokens, and whether the model ended it; `error` says why there is none.

    `cached`: how many tokens of its prompt were in the cache of prefixes, if that is known.
    """

    tokens: list[int]
    stopped: bool
    error: str | None = None
    cached: int | None = None


class Engine(Protocol):
    """Answers prompts that are tensors (1, n) of tokens."""

    def config(self) -> Any:
        """The checkpoint's generation settings."""

    def send(self, place: int, tokens: Any, generation: Any) -> None:
        """Hand over a prompt; its answer comes back with `place`."""

    def ended(self) -> Iterator[tuple[int, Ended]]:
        """Work on the prompts sent for a moment: the answers that have ended since."""


class Together:
    """Continuous batching: prompts share the steps of the engine and the cache of prefixes."""

    def __init__(
        self, folder: Path | str, scheduler: Any, device: str, settings: Mapping[str, Any]
    ) -> None:
        self._engine = genai().ContinuousBatchingPipeline(
            str(folder), scheduler, device, dict(settings)
        )
        self._cache_size = scheduler.cache_size
        self._prefixes = Prefixes(scheduler, device)
        self._waiting: deque[Sent] = deque()
        self._running: dict[int, Sent] = {}

    def config(self) -> Any:
        """The checkpoint's generation settings."""
        return self._engine.get_config()

    def send(self, place: int, tokens: Any, generation: Any) -> None:
        """Add a prompt to the batch once its cached length is known."""
        self._waiting.append(Sent(place, tokens, generation))

    def ended(self) -> Iterator[tuple[int, Ended]]:
        """The answers that a step of the engine has ended."""
        asked = self._next()
        self._engine.step()
        for sent in self._running.values():
            sent.answered += sent.handle.can_read()
        running = genai().GenerationStatus.RUNNING
        done = [s for s in self._running.values() if s.handle.get_status() != running]
        self._prefixes.stepped(self._engine.get_metrics(), asked, self._running.values(), done)
        for sent in done:
            del self._running[sent.place]
            yield sent.place, self._answer(sent)

    def _next(self) -> Sent | None:
        """Start the next prompt, or ask how much of it is in the cache: then it is returned."""
        if not self._waiting:
            return None
        following = self._waiting[0]
        if self._prefixes.to_ask(following):
            # The engine restores a prompt's prefix when it is added, and frees a cancelled prompt unread.
            self._add(following).cancel()
            return following
        if self._prefixes.known(following):
            self._running[following.place] = self._waiting.popleft()
            following.handle = self._add(following)
        return None

    def _add(self, sent: Sent) -> Any:
        return self._engine.add_request(sent.place, sent.tokens, sent.generation)

    def _answer(self, sent: Sent) -> Ended:
        status = sent.handle.get_status()
        if status != genai().GenerationStatus.FINISHED:
            why = f"the engine ended the request with {status.name}: its cache may be too small; raise "
            return Ended(
                [], False, f"{why}`engine: {{cache_size: ...}}` (GB, now {self._cache_size})"
            )
        (output,) = sent.handle.read_all()
        stopped = output.finish_reason == genai().GenerationFinishReason.STOP
        return Ended(list(output.generated_ids), stopped, cached=sent.cached)


class Alone:
    """One prompt after the other, as NPUs need it: their shapes are fixed when the model is compiled.

    A prompt may have as many tokens as the model's `context`, unless `MAX_PROMPT_LEN` sets fewer.
    """

    def __init__(
        self, folder: Path | str, context: int, device: str, settings: Mapping[str, Any]
    ) -> None:
        settings = {"MAX_PROMPT_LEN": context, **settings}
        self._longest = int(settings["MAX_PROMPT_LEN"])
        self._engine = genai().LLMPipeline(str(folder), device, **settings)
        self._sent: list[tuple[int, Any, Any]] = []

    def config(self) -> Any:
        """The checkpoint's generation settings."""
        return self._engine.get_generation_config()

    def send(self, place: int, tokens: Any, generation: Any) -> None:
        """Append a prompt to the prompts already sent."""
        self._sent.append((place, tokens, generation))

    def ended(self) -> Iterator[tuple[int, Ended]]:
        """The answer to the next prompt."""
        place, tokens, generation = self._sent.pop(0)
        if tokens.shape[1] > self._longest:
            long = f"the prompt has {tokens.shape[1]} tokens"
            yield place, Ended([], False, f"{long}: raise `engine: {{MAX_PROMPT_LEN: ...}}`")
            return
        results = self._engine.generate(tokens, generation)
        stopped = results.finish_reasons[0] == genai().GenerationFinishReason.STOP
        yield place, Ended(list(results.tokens[0]), stopped)
