"""The most sentences or words that fit into a prompt: predicted from their costs, then counted."""

from __future__ import annotations

from collections.abc import Callable


def fit(
    predict: Callable[[int], int],
    count: Callable[[int], int],
    guess: Callable[[int], int],
    budget: int,
    least: int,
    most: int,
) -> tuple[int, int] | None:
    """The size n of `least` to `most` whose prompt fits while that of n + 1 does not, and its tokens.

    `predict(n)` says the tokens of a prompt of size n, `count(n)` counts the finished prompt, and
    `guess(tokens)` is near the size that has so many. A prediction that the count confirms is trusted
    for its neighbour too, so that a prompt is counted once; where it does not, sizes are counted
    until one fits and the next does not. None if `least` does not fit.
    """

    def predicted(limit: int) -> int:
        size = min(max(guess(limit), least), most)
        while size > least and predict(size) > limit:
            size -= 1
        while size < most and predict(size + 1) <= limit:
            size += 1
        return size

    size = predicted(budget)
    tokens = count(size)
    error = tokens - predict(size)
    if error:
        corrected = predicted(budget - error)
        if corrected != size:
            size, tokens = corrected, count(corrected)
        while size > least and tokens > budget:
            size, tokens = size - 1, count(size - 1)
        while size < most and (more := count(size + 1)) <= budget:
            size, tokens = size + 1, more
    return (size, tokens) if tokens <= budget else None
