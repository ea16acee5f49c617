"""Prompts that a server cut are told from tokenizers that differ."""

from __future__ import annotations

import random

import pytest

from needlework.models.outcomes import Read, cut_prompts, odd_prompts

rng = random.Random(0)


def reads(own: list[int], ratio: float, most: int = 10**9, kind: str = "en", noise: float = 0.0):
    return [
        Read(kind, n, min(most, int(n * ratio * rng.uniform(1 - noise, 1 + noise))), str(i))
        for i, n in enumerate(own)
    ]


def test_a_limit_below_all_prompts_cuts_them_all() -> None:
    prompts = reads(list(range(955, 967)), 1.0, most=300)
    found = cut_prompts(prompts)
    assert len(found) == 12 and "read 300 of 955 tokens" in found[0]


def test_a_limit_is_seen_where_all_prompts_are_equally_long() -> None:
    closed_book = [Read("en", 20, 20, str(n)) for n in range(3)]
    assert sorted(cut_prompts([*closed_book, *reads([960] * 3, 1.0, most=300)])) == [3, 4, 5]


def test_one_question_at_several_positions_has_one_count() -> None:
    prompts = [Read("ta", 960, 250, "q")] * 5 + [Read("ta", 960, 240 + n, str(n)) for n in range(9)]
    assert cut_prompts(prompts) == {}


def test_a_limit_cuts_the_longer_prompts_alone() -> None:
    prompts = reads([100, 200, 295, 500, 960], 1.0, most=300)
    assert sorted(cut_prompts(prompts)) == [3, 4]


def test_a_replica_that_cuts_is_found_beside_whole_ones() -> None:
    prompts = reads([950 + n for n in range(20)], 1.0) + reads([950, 960, 970], 1.0, most=300)
    assert sorted(cut_prompts(prompts)) == [20, 21, 22]


@pytest.mark.parametrize("ratio", [0.26, 0.8, 1.0, 1.3, 3.8])
def test_an_honest_tokenizer_cuts_nothing(ratio) -> None:
    """Between o200k and cl100k, Tamil has a ratio of 0.26 or 3.8, English 1."""
    own = [rng.randint(900, 8000) for _ in range(3000)]
    prompts = reads(own, 1.0, noise=0.1) + reads(own, ratio, kind="ta", noise=0.1)
    assert cut_prompts(prompts) == {}
    assert bool(odd_prompts(prompts)) == (ratio < 0.5)


def test_short_prompts_with_a_long_template_change_no_usual_ratio() -> None:
    prompts = [Read("en", 10, 90, "q")] * 50 + reads([900, 1000, 1100], 1.0)
    assert cut_prompts(prompts) == {}


def test_counts_padded_to_blocks_are_no_cuts() -> None:
    prompts = [Read("en", own, 1024, str(own)) for own in range(950, 1000)]
    assert cut_prompts(prompts) == {}


def test_a_constant_that_is_no_count_is_odd() -> None:
    prompts = [Read("en", own, 3, str(own)) for own in range(300, 1000, 100)]
    assert cut_prompts(prompts) == {}
    assert "counted 3 tokens, our tokenizer 300" in odd_prompts(prompts)[0]
