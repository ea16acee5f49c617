"""What an engine's prefix cache saves: a simulator, and the least that must be computed.

The cache is vLLM's (0.32, vllm/v1/core). A prompt's tokens are cut into blocks. A full block is known
by a hash of all tokens up to its end, and stays until its memory is needed, the longest unused first
and of one prompt the last first. What is left at the end of a prompt, and in any case its last token
with that token's block, is always computed.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np


class Work(NamedTuple):
    """How many tokens prompts have, and how many of them were computed: not found in the cache."""

    tokens: int
    computed: int


class PrefixCache:
    """A cache of `capacity` blocks of `block` tokens, for one prompt at a time."""

    def __init__(self, block: int, capacity: int) -> None:
        self.block, self.capacity = block, capacity
        # By the hash of each block, the longest unused first.
        self._blocks: OrderedDict[bytes, None] = OrderedDict()
        self._answers = 0

    def ask(self, tokens: Sequence[int], answer: int = 0) -> int:
        """How many of a prompt's tokens are cached. Then they all are, and `answer` new ones.

        No prompt goes on with an answer, but it takes memory. ValueError where the cache is smaller.
        """
        # The last token of an answer is not read again.
        length = len(tokens) + max(0, answer - 1)
        needed = -(-length // self.block)
        if needed > self.capacity:
            raise ValueError(f"{length} tokens exceed {self.capacity} blocks of {self.block}")
        names = list(block_hashes(tokens, self.block))
        hits = 0
        for name in names[: max(0, len(tokens) - 1) // self.block]:
            if name not in self._blocks:
                break
            del self._blocks[name]
            hits += 1
        while len(self._blocks) + needed > self.capacity:
            self._blocks.popitem(last=False)
        for _ in range(length // self.block - len(names)):
            self._answers += 1
            names.append(b"answer %d" % self._answers)
        for name in reversed(names):
            self._blocks[name] = None
            self._blocks.move_to_end(name)
        return hits * self.block


def simulate(prompts: Iterable[Sequence[int]], block: int, capacity: int) -> Work:
    """What prompts cost that are asked in this order, each as its tokens, with an empty cache at first."""
    cache = PrefixCache(block, capacity)
    total = computed = 0
    for tokens in prompts:
        total += len(tokens)
        computed += len(tokens) - cache.ask(tokens)
    return Work(total, computed)


def lower_bound(prompts: Iterable[Sequence[int]], block: int) -> int:
    """The least number of tokens that any order can compute, however large the cache.

    Each distinct block once, where a block is distinct with all before it, and the rest of each prompt.
    """
    seen: set[bytes] = set()
    rest = 0
    for tokens in prompts:
        seen.update(block_hashes(tokens, block))
        rest += len(tokens) % block
    return len(seen) * block + rest


def block_hashes(tokens: Sequence[int], block: int) -> Iterator[bytes]:
    """For each full block, a hash of the tokens from the first of the prompt to the block's last."""
    data = np.asarray(tokens, np.int64).tobytes()
    size = 8 * block
    digest = hashlib.blake2b(digest_size=16)
    for end in range(size, len(data) + 1, size):
        digest.update(data[end - size : end])
        yield digest.digest()
