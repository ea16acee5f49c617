"""Filling a prompt to an exact token budget, passage by passage.

A passage is tokenized once, by itself but between its neighbours' first and last characters; the
sum of such costs predicts a prompt's length. The prediction is exact for tokenizers that do not
merge across a line's end (every one that this project names); a finished prompt is tokenized all
the same, and mended once where the prediction was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from needlework.tokenizers import Tokenizer, word_starts


def line(index: int, text: str) -> str:
    """A numbered passage as it stands in a prompt, without its line's end."""
    return f"[{index}] {text}"


class LineCosts:
    """What passages add to a prompt in which each stands on a line of its own, in tokens.

    `line(index, text)` is how a passage's line is written; `stub` is a short text in whose neighbourhood
    all others are measured: it begins as they do.
    """

    def __init__(
        self, tokenizer: Tokenizer, line: Callable[[int, str], str] = line, stub: str = "a"
    ) -> None:
        self._count, self._line = tokenizer.count, line
        self.stub = line(0, stub)
        self._stub = stub
        self._costs: dict[str, int] = {}
        self._ends: dict[tuple[str, str], int] = {}
        self._labels = np.zeros(1, dtype=np.int64)

    @cached_property
    def _neighbour(self) -> int:
        return self._count("\n" + self.stub)

    def text(self, text: str) -> int:
        """The cost of a line with its line's end (and the number 0). Each text is tokenized once."""
        cost = self._costs.get(text)
        if cost is None:
            cost = self._costs[text] = self.fragment(text)
        return cost

    def fragment(self, text: str) -> int:
        """As `text`, not remembered: for cut passages."""
        return self._count(f"\n{self._line(0, text)}\n{self.stub}") - self._neighbour

    def last(self, text: str, after: str) -> int:
        """What a text costs more than the stub where it is the last line and `after` follows.

        A line's last characters and what follows can be one token, so this is another cost than that
        of a line between lines. Each text is tokenized once.
        """
        key = (after, text)
        cost = self._ends.get(key)
        if cost is None:
            found = self._count(f"\n{self._line(0, text)}{after}")
            cost = self._ends[key] = found - self._count(f"\n{self.stub}{after}")
        return cost

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """The costs of several lines: int64, one a text."""
        return np.fromiter((self.text(text) for text in texts), np.int64, len(texts))

    def labels(self, n: int) -> np.ndarray:
        """Entry k: what the numbers of lines 0..k-1 cost beyond as many zeros; k = 0..n."""
        while len(self._labels) <= n:
            size = 2 * len(self._labels) + 64
            extra = [
                self._count("\n" + self._line(i, self._stub)) - self._neighbour for i in range(size)
            ]
            self._labels = np.concatenate([[0], np.cumsum(extra)])
        return self._labels[: n + 1]


class Frame:
    """A prompt's fixed text around its passages, and what it costs."""

    def __init__(self, head: str, tail: str, costs: LineCosts, tokenizer: Tokenizer) -> None:
        self.head, self.tail, self.costs, self.count = head, tail, costs, tokenizer.count
        self.cost = self.count(head + line(0, "a.") + tail) - costs.text("a.")


class Candidates:
    """Distractors in the order in which they are taken, with the running sum of their costs."""

    def __init__(self, texts: Sequence[str], costs: LineCosts) -> None:
        self.texts = texts
        self.totals = np.concatenate([[0], np.cumsum(costs.texts(texts))])


class Filling:
    """How much of a list of distractors a prompt holds: `whole` of them, and `cut` characters of the next.

    `n_tokens` is the finished prompt's length; `exhausted` says that the list ended before the budget.
    """

    def __init__(self, whole: int, cut: int, n_tokens: int, exhausted: bool) -> None:
        self.whole, self.cut, self.n_tokens, self.exhausted = whole, cut, n_tokens, exhausted


def fill(
    frame: Frame,
    fixed: Sequence[str],
    candidates: Candidates,
    budget: int,
    *,
    truncate_last: bool,
    render: Callable[[int, int], str],
) -> Filling | None:
    """Fill a prompt with whole distractors while they fit and, if wanted, the beginning of the next.

    `fixed` are the passages that must stand in the prompt (the needle, or none), `candidates`
    the others. `render(whole, cut)` gives the finished prompt.
    None where not even the fixed passages fit. A cut falls between words (or characters, in
    scripts without spaces), and the next word would not have fitted.
    """
    allowance = 0
    best: Filling | None = None
    # The first round trusts the predicted costs, the second corrects them by the error that the
    # finished prompt shows; a third is needed only where the error itself depends on the cut.
    for _ in range(4):
        filling = _predict(frame, fixed, candidates, budget - allowance, truncate_last)
        if filling is None:
            break
        prompt_tokens = frame.count(render(filling.whole, filling.cut))
        error = prompt_tokens - filling.n_tokens
        filling.n_tokens = prompt_tokens
        if prompt_tokens <= budget and (best is None or prompt_tokens > best.n_tokens):
            best = filling
        if error == allowance or (best is filling and prompt_tokens == budget):
            break
        allowance = error
    return best


def _predict(
    frame: Frame,
    fixed: Sequence[str],
    candidates: Candidates,
    budget: int,
    truncate_last: bool,
) -> Filling | None:
    costs = frame.costs
    n_fixed = len(fixed)
    base = frame.cost + int(costs.texts(fixed).sum())
    n_distractors = len(candidates.texts)
    labels = costs.labels(n_fixed + n_distractors + 1)
    # totals[k]: the prompt with k whole distractors.
    totals = base + candidates.totals + labels[n_fixed : n_fixed + n_distractors + 1]
    whole = int(np.searchsorted(totals, budget, side="right")) - 1
    if whole < 0:
        return None
    total, cut = int(totals[whole]), 0
    exhausted = whole == n_distractors
    if truncate_last and not exhausted:
        label = int(labels[n_fixed + whole + 1] - labels[n_fixed + whole])
        cut, cost = _cut(costs, candidates.texts[whole], budget - total - label)
        total += cost + label if cut else 0
    return Filling(whole, cut, total, exhausted)


def _cut(costs: LineCosts, text: str, room: int) -> tuple[int, int]:
    """The longest beginning of `text` that costs at most `room`, as (characters, tokens); (0, 0) if none."""
    ends = [len(text[:start].rstrip()) for start in word_starts(text)[1:]]
    low, high, best = 0, len(ends), (0, 0)
    while low < high:
        middle = (low + high) // 2
        cost = costs.fragment(text[: ends[middle]])
        if cost <= room:
            low, best = middle + 1, (ends[middle], cost)
        else:
            high = middle
    return best
