"""OpenVINO GenAI's engine, which answers many prompts at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from needlework.prompts.openvino_runtime import genai

# How many tokens of a prompt OpenVINO GenAI finds in its cache of prefixes.
#
# Version 2026.4.1 does not say it. But it takes a prompt's prefix from the cache when the prompt is added,
# before it computes anything, and says after each step how much of the cache is in use. So a prompt is added
# and cancelled once before it is sent: what the use grows by in the next step is what it found.

# Tokens, on CPUs. The cache holds whole blocks.
BLOCK = 32


@dataclass(eq=False)
class Sent:
    """A prompt, a tensor (1, n) of tokens, that an engine is to answer."""

    place: int
    tokens: Any
    generation: Any
    handle: Any = None
    # Tokens of the answer.
    answered: int = 0
    # Whether it was asked how many tokens are in the cache, and how many; None if that cannot be said.
    asked: bool = False
    cached: int | None = None
    ids: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.ids = np.array(self.tokens.data[0])


class Prefixes:
    """Finds how many tokens of each prompt were cached (`cached`).

    Works on CPUs, without the engine's sparse attention and eviction.
    """

    def __init__(self, scheduler: Any, device: str) -> None:
        special = scheduler.use_cache_eviction or scheduler.use_sparse_attention
        self._on = scheduler.enable_prefix_caching and device == "CPU" and not special
        self._at_once: int = scheduler.max_num_batched_tokens
        self._block_bytes = 0.0
        # Blocks that the running prompts use; None if that is not known now.
        self._used: int | None = 0

    def to_ask(self, sent: Sent) -> bool:
        """Whether to add the prompt and cancel it before the next step."""
        if self._block_bytes == 0 and self._on and not sent.asked:
            sent.asked, sent.cached = True, 0  # the first prompt
        return self._on and not sent.asked and self._used is not None

    def known(self, sent: Sent) -> bool:
        """Whether this prompt may be sent."""
        return sent.asked or not self._on

    def stepped(
        self, metrics: Any, asked: Sent | None, running: Collection[Sent], ended: Collection[Sent]
    ) -> None:
        """Update the state after a step of the engine.

        Of the `running` prompts, `ended` have ended, and `asked` was cancelled.
        """
        if not self._on:
            return
        used_bytes = metrics.cache_usage / 100 * metrics.cache_size_in_bytes
        if self._block_bytes == 0:
            # Caches of hybrid models, of attention and of states, have one figure for both.
            self._on = metrics.la_peak_pool_blocks == 0
            (first,) = running
            self._block_bytes = used_bytes / _blocks(min(first.ids.size, self._at_once))
        used = round(used_bytes / self._block_bytes)
        if asked is not None and self._used is not None:
            asked.asked = True
            own = self._used + sum(_grown(sent) for sent in running)
            shared = max((_shared(asked, sent) for sent in running), default=0)
            found = shared + used - own
            # Where the cache is full, the engine may have put a running prompt back.
            room = round(metrics.cache_size_in_bytes / self._block_bytes) - used
            if shared <= found <= _blocks(asked.ids.size) and room >= len(running):
                # Of a prompt that is known whole, the last token is computed again.
                asked.cached = min(found * BLOCK, asked.ids.size - 1)
            used = own
        if len(ended) == len(running):
            self._used = 0
        elif ended or not all(sent.answered for sent in running):
            # The step's use has the blocks of those that ended, or a prompt is not read to its end.
            self._used = None
        else:
            self._used = used


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK)


def _grown(sent: Sent) -> bool:
    """Whether the last step took a block for another token of the answer; its last token is in none yet."""
    return (sent.ids.size + sent.answered - 2) % BLOCK == 0


def _shared(asked: Sent, sent: Sent) -> int:
    """Blocks of a prompt that a running one has in use too."""
    both = min(asked.ids.size, sent.ids.size)
    differ = np.flatnonzero(asked.ids[:both] != sent.ids[:both])
    return int(differ[0] if differ.size else both) // BLOCK


class EndedPrompt(NamedTuple):
    """The end of a prompt: an answer, or an error."""

    # The answer's tokens.
    tokens: list[int]
    # Whether the model ended the answer.
    stopped: bool
    # Why there is no answer.
    error: str | None = None
    # How many of the prompt's tokens were in the cache of prefixes, if that is known.
    cached: int | None = None


class OpenvinoEngine:
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
        """Add a prompt to the batch, as soon as the length of its cached prefix is known."""
        self._waiting.append(Sent(place, tokens, generation))

    def ended(self) -> Iterator[tuple[int, EndedPrompt]]:
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

    def _answer(self, sent: Sent) -> EndedPrompt:
        status = sent.handle.get_status()
        if status != genai().GenerationStatus.FINISHED:
            why = f"the engine ended the request with {status.name}: its cache may be too small; raise "
            return EndedPrompt(
                [], False, f"{why}`engine: {{cache_size: ...}}` (GB, now {self._cache_size})"
            )
        (output,) = sent.handle.read_all()
        stopped = output.finish_reason == genai().GenerationFinishReason.STOP
        return EndedPrompt(list(output.generated_ids), stopped, cached=sent.cached)
