"""The simulated cache keeps what vLLM's would, and our order needs hardly more than the least."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.prompts.ordering import PromptStore
from needlework.prompts.spans import render
from needlework.seeding import rng
from prefix_cache import PrefixCache, Work, lower_bound, simulate
from prompt_sets import PromptSet, mirror_set, multi_document_set, sample_set, words

A, B = [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 77, 88, 99]


def test_full_blocks_of_the_same_beginning_are_found() -> None:
    cache = PrefixCache(2, 100)
    assert [cache.ask(p) for p in (A, A, B, B[:5], A[1:])] == [0, 8, 6, 4, 0]
    # The last token is always computed.
    assert [cache.ask(A[:length]) for length in (1, 2, 3, 4, 5)] == [0, 0, 2, 2, 4]
    # A block is one only with all before it.
    assert cache.ask([9, 9, 3, 4, 5]) == 0


def test_the_longest_unused_block_is_evicted_first() -> None:
    cache = PrefixCache(1, 6)
    cache.ask([1, 2, 3])
    cache.ask([11, 12])
    # One block is free, so one of the six must go: the end of the first prompt.
    assert cache.ask([21, 22]) == 0
    assert cache.ask([1, 2, 3]) == 2
    # The second was the longest unused when 3 was computed.
    assert cache.ask([11, 12]) == 1


def test_answers_take_memory() -> None:
    """A prompt beyond the cache is an error."""
    without, full = PrefixCache(2, 6), PrefixCache(2, 6)
    for cache, answer in ((without, 0), (full, 10)):
        cache.ask([1, 2, 3], answer)
        cache.ask([4, 5, 6], answer)
    assert (without.ask([1, 2, 3]), full.ask([1, 2, 3])) == (2, 0)
    with pytest.raises(ValueError, match="exceed"):
        full.ask([1, 2, 3], 11)
    assert PrefixCache(4, 2).ask(list(range(8))) == 0
    with pytest.raises(ValueError, match="9 tokens exceed 2 blocks of 4"):
        PrefixCache(4, 2).ask(list(range(9)))


@pytest.mark.parametrize("block", [1, 3, 16])
def test_a_cache_without_limit_computes_the_least_in_any_order(block: int) -> None:
    """But for prompts whose last block is full and known: no bound is that exact."""
    draw = rng("prefix cache", block)
    prompts = [draw.integers(2, size=48).tolist()[: draw.integers(1, 49)] for _ in range(100)]
    prompts = [prompt for prompt in prompts if len(prompt) % block or block == 1]
    bound = lower_bound(prompts, block)
    for seed in range(3):
        order = rng("prefix cache", seed).permutation(len(prompts))
        found = simulate([prompts[n] for n in order], block, 10_000)
        assert found.tokens == sum(map(len, prompts))
        extra = found.computed - bound
        assert extra == 0 if block > 1 else 0 <= extra <= len(prompts)


def test_the_bound_of_a_few_prompts() -> None:
    # 123, 456, 789; 6 77 88 differs from the third block, and nothing is left over.
    assert lower_bound([A, A, B], 3) == 4 * 3 + 3 - 3
    assert lower_bound([A, B[:8]], 3) == 3 * 3 + 2


# Sets of benchmarks

BLOCK = 16


def orders(made: PromptSet) -> tuple[dict[str, Work], int]:
    """The work in our order, the files' and a random one, with a cache of four prompts; the least."""
    prompts = PromptStore()
    for column in made.columns:
        prompts.add(column)
    known: dict[str, int] = {}
    tokens = [words(render(spans, made.documents), known) for spans in prompts]
    places = {
        "ours": prompts.order(made.documents).places,
        "files": range(len(tokens)),
        "random": rng("orders").permutation(len(tokens)),
    }
    capacity = 4 * -(-max(map(len, tokens)) // BLOCK)
    return {
        name: simulate((tokens[place] for place in order), BLOCK, capacity)
        for name, order in places.items()
    }, lower_bound(tokens, BLOCK)


@pytest.mark.parametrize("name", ["sample", "mirror", "multi-document"])
def test_our_order_computes_hardly_more_than_the_least(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name == "sample":
        made = sample_set([512, 1024], questions=4)
    else:
        mirror: Path = request.getfixturevalue("mirror")
        made = (
            mirror_set(mirror, [512], questions=3)
            if name == "mirror"
            else multi_document_set(mirror, 12, [10, 20], [0, 4, 9, 14, 19])
        )
    work, least = orders(made)
    assert work["ours"].computed <= 1.05 * least
    assert work["ours"].computed < 0.9 * min(work["files"].computed, work["random"].computed)
