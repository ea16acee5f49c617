"""That work grows with its input as it should, on a machine of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable


def processor_seconds(work: Callable[[int], object], size: int) -> float:
    """Of this process alone, as other tests run beside it: the lesser of two trials."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        work(size)
        taken.append(time.process_time() - began)
    return min(taken)


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Ten times the input take ten times as long, or up to 30 times; quadratic work takes 100 times."""
    small = max(processor_seconds(work, size), 0.001)
    large = processor_seconds(work, 10 * size)
    assert large < 30 * small, f"{size}: {small:.3f} s, {10 * size}: {large:.3f} s"
