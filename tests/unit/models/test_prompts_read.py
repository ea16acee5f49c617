"""Prompts that a server cut are told from tokenizers that differ."""

from __future__ import annotations

import random

import pytest

from needlework.models.outcomes import Read, cut_prompts, odd_prompts


def reads(own: list[int], ratio: float, most: int = 10**9, kind: str = "en", noise: float = 0.0):
    """What a server read of prompts with so many tokens of ours."""
    dice = random.Random(0)
    counted = [int(n * ratio * dice.uniform(1 - noise, 1 + noise)) for n in own]
    return [
        Read(kind, n, min(most, m), str(i))
        for i, (n, m) in enumerate(zip(own, counted, strict=True))
    ]


TWENTY = reads(list(range(950, 970)), 1.0)


@pytest.mark.parametrize(
    ("prompts", "cut"),
    [
        (reads(list(range(955, 967)), 1.0, most=300), list(range(12))),
        # All are equally long.
        ([Read("en", 20, 20, str(n)) for n in range(3)] + reads([960] * 3, 1.0, 300), [3, 4, 5]),
        # The longer ones alone.
        (reads([100, 200, 295, 500, 960], 1.0, most=300), [3, 4]),
        # A replica that cuts, beside whole ones.
        (TWENTY + reads([950, 960, 970], 1.0, most=300), [20, 21, 22]),
        # One question at several positions has one count.
        (
            [Read("ta", 960, 250, "q")] * 5 + [Read("ta", 960, 240 + n, str(n)) for n in range(9)],
            [],
        ),
        # Short prompts with a long template change no usual ratio.
        ([Read("en", 10, 90, "q")] * 50 + reads([900, 1000, 1100], 1.0), []),
        # Counts are padded to blocks.
        ([Read("en", own, 1024, str(own)) for own in range(950, 1000)], []),
    ],
)
def test_only_prompts_that_a_limit_cut_are_told(prompts, cut) -> None:
    found = cut_prompts(prompts)
    assert sorted(found) == cut
    assert all(
        f"read {prompts[place].counted} of {prompts[place].own} tokens" in said
        for place, said in found.items()
    )


@pytest.mark.parametrize("ratio", [0.26, 0.8, 1.0, 1.3, 3.8])
def test_an_honest_tokenizer_cuts_nothing(ratio) -> None:
    """Between o200k and cl100k, Tamil has a ratio of 0.26 or 3.8, English 1."""
    dice = random.Random(1)
    own = [dice.randint(900, 8000) for _ in range(3000)]
    prompts = reads(own, 1.0, noise=0.1) + reads(own, ratio, kind="ta", noise=0.1)
    assert cut_prompts(prompts) == {}
    assert bool(odd_prompts(prompts)) == (ratio < 0.5)


def test_a_constant_that_is_no_count_is_odd() -> None:
    prompts = [Read("en", own, 3, str(own)) for own in range(300, 1000, 100)]
    assert cut_prompts(prompts) == {}
    assert "counted 3 tokens, our tokenizer 300" in odd_prompts(prompts)[0]
