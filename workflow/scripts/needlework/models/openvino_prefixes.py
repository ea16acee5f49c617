"""How many tokens of a prompt OpenVINO GenAI finds in its cache of prefixes.

Version 2026.4.1 does not say it. But it takes a prompt's prefix from the cache when the prompt is added,
before it computes anything, and says after each step how much of the cache is in use. So a prompt is added
and cancelled once before it is sent: what the use grows by in the next step is what it found.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    """Finds `cached` of prompts, on CPUs and without the engine's sparse attention and eviction."""

    def __init__(self, scheduler: Any, device: str) -> None:
        special = scheduler.use_cache_eviction or scheduler.use_sparse_attention
        self._on = scheduler.enable_prefix_caching and device == "CPU" and not special
        self._at_once: int = scheduler.max_num_batched_tokens
        self._block_bytes = 0.0
        # Blocks that the running prompts use; None if that is not known now.
        self._used: int | None = 0

    def to_ask(self, sent: Sent) -> bool:
        """Whether this prompt is to be added and cancelled before the next step."""
        if self._block_bytes == 0 and self._on and not sent.asked:
            sent.asked, sent.cached = True, 0  # the first prompt
        return self._on and not sent.asked and self._used is not None

    def known(self, sent: Sent) -> bool:
        """Whether this prompt may be sent."""
        return sent.asked or not self._on

    def stepped(
        self, metrics: Any, asked: Sent | None, running: Collection[Sent], ended: Collection[Sent]
    ) -> None:
        """Take account of a step on `running`, of which some `ended` in it, and on `asked`, cancelled."""
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
