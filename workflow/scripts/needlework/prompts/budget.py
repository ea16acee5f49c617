"""Filling a prompt to an exact token budget, passage by passage.

A passage is tokenized once, by itself but between its neighbours' first and last characters; the
sum of such costs predicts a prompt's length. The prediction is exact where the tokenizer provably splits
within each line's label, before and after its number. Otherwise the finished prompt is tokenized, and
corrected once if the prediction was wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from needlework.data.words import word_starts
from needlework.prompts.kept import KeptNumbers
from needlework.prompts.sums import Counter, Part, counter
from needlework.prompts.tokenizers import Tokenizer


def line(index: int, text: str) -> str:
    """A numbered passage as it stands in a prompt, without the line end."""
    return f"[{index}] {text}"


class LineCosts:
    """The tokens that passages add to a prompt in which each has a line of its own.

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
        self._counter = counter(tokenizer)
        self._proved = 0

    @cached_property
    def _kept(self) -> KeptNumbers | None:
        """The costs of texts, where they are kept on disk."""
        if self._counter is None:
            return None
        form = repr((self._label(0), self._stub)).encode()
        return self._counter.numbers(f"lines-{hashlib.sha256(form).hexdigest()[:16]}")

    def save(self) -> None:
        """Write the costs of texts to disk, for other jobs."""
        if self._kept is not None:
            self._kept.save()

    def proved(self, n: int) -> Counter | None:
        """The counter, if the costs of n lines are proved to add up; None if not.

        Each label must be split before and behind its number, with the same text before the first split
        and behind the last: then no line's tokens depend on its number, nor on another line.
        """
        if self._counter is not None and self._proved < n:
            parts = [self._counter.part(self._label(i)) for i in range(self._proved, n)]
            ends = {(part.head, part.tail) for part in [self._edges, *parts]}
            if self._edges.inner is None or len(ends) > 1:
                self._counter = None
            self._proved = n
        return self._counter

    def _label(self, index: int) -> str:
        return "\n" + self._line(index, "")

    @cached_property
    def _edges(self) -> Part:
        """The first label's text before its first split and behind its last, which must be in its line."""
        assert self._counter is not None
        label = self._label(0)
        part = self._counter.part(label)
        return part if len(part.tail) < len(label) - 1 else Part(label)

    def ending(self, text: str, after: str) -> int:
        """The further tokens of a text if it is the last line and `after` follows.

        Only for lines that are proved to add up.
        """
        assert self._counter is not None
        left = self._counter.last(self._edges.tail + text)
        key = (left, after)
        cost = self._ends.get(key)
        if cost is None:
            within = self._counter.proof.within
            cost = self._ends[key] = within(left + after) - within(left + self._edges.head)
        return cost

    @cached_property
    def _neighbour(self) -> int:
        return self._count("\n" + self.stub)

    def text(self, text: str) -> int:
        """The cost of a line with its line's end (and the number 0). Each text is tokenized once."""
        cost = self._costs.get(text)
        if cost is None:
            cost = self._kept.get(text) if self._kept is not None else None
            if cost is None:
                cost = self.fragment(text)
                if self._kept is not None:
                    self._kept.add(text, cost)
            self._costs[text] = cost
        return cost

    def fragment(self, text: str) -> int:
        """As `text`, not remembered: for cut passages."""
        return self._count(f"\n{self._line(0, text)}\n{self.stub}") - self._neighbour

    def last(self, text: str, after: str) -> int:
        """The tokens of a text beyond those of the stub, if it is the last line and `after` follows.

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

    def exact(self, predicted: int, lines: int, last: str) -> int | None:
        """The tokens of a prompt of so many lines, predicted by their costs; None if nothing is proved."""
        found = self.costs.proved(lines)
        if found is None:
            return None
        after = found.part(self.tail).head
        return predicted + self.costs.ending(last, after) - self.costs.ending("a.", after)


class Candidates:
    """Distractors in the order in which they are taken, with the running sum of their costs."""

    def __init__(self, texts: Sequence[str], costs: LineCosts) -> None:
        self.texts = texts
        self.totals = np.concatenate([[0], np.cumsum(costs.texts(texts))])
        # The prediction for a frame and a budget, for any place of the needle.
        self.predicted: dict[tuple[object, ...], tuple[int, int, int, bool] | None] = {}


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
    last: Callable[[int, int], str],
) -> Filling | None:
    """Fill a prompt with whole distractors while they fit and, if wanted, the beginning of the next.

    `fixed` are the passages that must stand in the prompt (the needle, or none), `candidates`
    the others. `render(whole, cut)` gives the finished prompt, `last(whole, cut)` its last passage.
    None if not even the fixed passages fit. A cut falls between words (or characters, in
    scripts without spaces), and the next word would not have fitted.
    """
    allowance = 0
    best: Filling | None = None
    # The first round trusts the predicted costs, the second corrects them by the error that the
    # finished prompt shows; a third is needed only where the error itself depends on the cut.
    for _ in range(4):
        key = (frame, *fixed, budget - allowance, truncate_last)
        if key not in candidates.predicted:
            candidates.predicted[key] = _predict(
                frame, fixed, candidates, budget - allowance, truncate_last
            )
        predicted = candidates.predicted[key]
        if predicted is None:
            break
        filling = Filling(*predicted)
        lines = len(fixed) + filling.whole + (filling.cut > 0)
        at = filling.whole, filling.cut
        prompt_tokens = frame.exact(filling.n_tokens, lines, last(*at)) if lines else None
        if prompt_tokens is None:
            prompt_tokens = frame.count(render(*at))
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
) -> tuple[int, int, int, bool] | None:
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
    return whole, cut, total, exhausted


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
