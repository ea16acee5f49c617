"""Neighbours share the longest prefix, whatever their spans; shards are cut where they share least."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.prompts import ordering
from needlework.prompts.ordering import PromptStore, common, cut
from needlework.prompts.spans import Span, literal, render
from needlework.records import SPAN
from needlework.seeding import rng

WORDS = ("ab", "abc", "a", "b", "ba", "", "abcab")


def prompts_of(*prompts: list[Span], parts: int = 1) -> PromptStore:
    """Prompts from files of as many prompts each."""
    made, size = PromptStore(), max(1, -(-len(prompts) // parts))
    for start in range(0, len(prompts), size):
        rows = [[span._asdict() for span in prompt] for prompt in prompts[start : start + size]]
        made.add(pa.chunked_array([rows], pa.list_(SPAN)))
    return made


def total_shared(texts: list[str]) -> int:
    return sum(common(*pair) for pair in pairwise(texts))


def test_spans_come_back_and_roles_count_for_nothing() -> None:
    prompts = [
        [literal("instruction", "x"), Span("needle", "a/en/1", 0, 5), literal("question", "")],
        [],
        [Span("distractor", "a/en/1", 0, 5), Span("needle", "a/en/1", 2, 5)],
    ]
    for parts in (1, 2, 3):
        made = prompts_of(*prompts, parts=parts)
        assert list(made) == prompts and len(made) == 3
    column = pa.chunked_array([[[literal("task", x)._asdict()] for x in "01234"]], pa.list_(SPAN))
    made = PromptStore()
    made.add(column.slice(3))
    assert [p[0].text for p in made] == ["3", "4"]
    empty = PromptStore()
    assert empty.order({}).places == [] and len(empty.order({}).shared) == 0
    made = prompts_of(
        [Span("needle", "d", 0, 4), literal("question", "z")],
        [literal("question", "m")],
        [Span("distractor", "d", 0, 4), literal("question", "y")],
    )
    order = made.order({"d": "text"})
    assert order.places == [1, 2, 0] and order.shared.tolist() == [0, 0, 4]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=40))
def test_literal_prompts_share_as_much_as_sorted_texts_do(drawn: list[list[str]]) -> None:
    """Few spans at a time, so that the order goes through several rounds."""
    prompts = [[literal("haystack", f"{word}.") for word in words] for words in drawn]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "FIRST_SPANS", 1)
        order = prompts_of(*prompts).order({})
    texts = [render(prompts[place], {}) for place in order.places]
    assert sorted(order.places) == list(range(len(prompts)))
    assert total_shared(texts) == total_shared(sorted(texts))
    assert order.shared.tolist() == [0, *(common(*pair) for pair in pairwise(texts))][: len(texts)]
    assert order.characters.tolist() == [*map(len, texts)]
    for place, text in zip(order.places, texts, strict=True):
        others = [render(own, {}) for own in prompts[:place] + prompts[place + 1 :]]
        most = max((common(text, other) for other in others), default=0)
        assert order.shares()[place] == most / max(1, len(text))


def test_documents_of_one_text_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"q/en/1": "same context", "p/en/2": "other", "q/en/3": "same context"}
    ask = literal("question", "?")
    made = prompts_of(*([Span("needle", source, 0, len(texts[source])), ask] for source in texts))
    assert made.order(texts).places == [1, 0, 2]
    # Beyond the head too, where nothing else lies between.
    monkeypatch.setattr(ordering, "HEAD", 4)
    order = made.order(texts)
    assert order.places in ([1, 0, 2], [1, 2, 0]) and order.shared[2] == 4
    # A slice has its own length, wherever it begins.
    order = prompts_of([Span("needle", "q/en/1", 5, 12), ask], [ask]).order(texts)
    assert sorted(order.characters) == [1, 8]


@pytest.mark.parametrize("ends", [[4000, 700, 2500, 100], [40_000, 70_000, 25_000]])
def test_slices_of_a_book_stand_by_their_ends(ends: list[int]) -> None:
    books = {"books/en/1": "x" * 70_000, "books/en/2": "y" * 70_000}
    prompts = [[Span("haystack", x, 0, n), literal("needle", f"{n}")] for n in ends for x in books]
    order = prompts_of(*prompts).order(books)
    found = [prompts[place][0] for place in order.places]
    assert [span.source for span in found] == [book for book in books for _ in ends]
    assert [span.end for span in found] == 2 * sorted(ends)
    shared = order.shared[1 : len(ends)].tolist()
    assert shared[1:] == sorted(ends)[1:-1] and shared[0] in (sorted(ends)[0], 100)


def test_order_looks_at_no_long_documents_or_other_prompts() -> None:
    class Closed(dict):
        def __getitem__(self, source: str) -> str:
            raise AssertionError(source)

    words = [Span("haystack", f"oneruler/en-en/{n}", 0, 100_000) for n in (2, 0, 1)]
    made = prompts_of(*([span, literal("question", "?")] for span in words))
    assert made.order(Closed()).places == [1, 2, 0]
    draw = rng("ordering", "others")
    texts = {f"d{n}": f"{n % 7} {draw.integers(10)}" for n in range(30)}
    prompts = [
        [Span("haystack", f"d{n}", 0, len(texts[f"d{n}"])) for n in draw.integers(30, size=3)]
        for _ in range(50)
    ]
    whole = prompts_of(*prompts).order(texts).places
    half = prompts_of(*prompts[:25]).order(texts).places
    assert [place for place in whole if place < 25] == half
    assert prompts_of(*prompts, parts=3).order(texts).places == whole


def test_shards_are_cut_where_least_is_shared() -> None:
    tokens, shared = [10] * 100, [9] * 100
    shared[0] = shared[31] = shared[48] = shared[70] = 0
    assert cut(tokens, shared, 2) == [range(48), range(48, 100)]
    # 31 is 21 tokens from a third of 1000, more than half of a tenth of it: nearest wins.
    assert cut(tokens, shared, 3)[0] == range(33)
    assert cut(tokens, shared, 3, tolerance=0.2)[0] == range(31)
    assert cut(tokens, shared, 1) == [range(100)]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_shards_are_everything_once_and_balanced(n: int) -> None:
    for seed in range(5):
        draw = rng("cut", seed)
        tokens, shared = draw.integers(50, 150, size=1000), draw.integers(0, 100, size=1000)
        shards = cut(tokens, shared, n)
        assert [place for shard in shards for place in shard] == list(range(1000))
        share = tokens.sum() / n
        assert all(abs(tokens[list(shard)].sum() - share) <= 0.1 * share for shard in shards)
        at_cuts = [shared[shard.start] for shard in shards[1:]]
        assert not at_cuts or np.mean(at_cuts) < 15, "the least of a dozen and more, of up to 100"


@pytest.mark.parametrize("tokens", [[], [7], [1, 1000, 1], [0, 0, 0]])
def test_few_prompts_in_many_shards(tokens: list[int]) -> None:
    shards = cut(tokens, np.zeros(len(tokens)), 5)
    assert len(shards) == 5
    assert [place for shard in shards for place in shard] == list(range(len(tokens)))
