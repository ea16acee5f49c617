"""Filling a prompt to an exact token budget, passage by passage.

A passage is counted once, by itself but between its neighbours' first and last characters; the sum of such
costs predicts a prompt's length. Then the finished prompt is counted, and corrected once if the prediction
was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from needlework.data.words import word_starts
from needlework.prompts.counting.pieces import Pieces


def line(index: int, text: str) -> str:
    """A numbered passage as it stands in a prompt, without the line end."""
    return f"[{index}] {text}"


# Between two lines a passage's tokens are measured: the label before it, and the line behind it.
_LABEL = "\n" + line(0, "")
_STUB = _LABEL + "a"


class LineCosts:
    """The tokens that passages add to a prompt in which each has a line of its own."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self._neighbour = pieces.of_texts(_STUB)
        self._costs: dict[str, int] = {}
        self._labels = np.zeros(1, dtype=np.int64)

    def text(self, text: str) -> int:
        """The tokens of a line (with the number 0) and its end. Each text is counted once."""
        cost = self._costs.get(text)
        if cost is None:
            cost = self._costs[text] = self.pieces.of_texts(_LABEL, text, _STUB) - self._neighbour
        return cost

    def fragment(self, text: str) -> int:
        """As `text`, not remembered: for cut passages."""
        return self.pieces.count(_LABEL + text + _STUB) - self._neighbour

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """The costs of several lines: int64, one a text."""
        return np.fromiter((self.text(text) for text in texts), np.int64, len(texts))

    def labels(self, n: int) -> np.ndarray:
        """Entry k: the tokens that the numbers of lines 0..k-1 have beyond as many zeros; k = 0..n."""
        while len(self._labels) <= n:
            size = 2 * len(self._labels) + 64
            stubs = (f"\n{line(i, 'a')}" for i in range(size))
            extra = [self.pieces.count(stub) - self._neighbour for stub in stubs]
            self._labels = np.concatenate([[0], np.cumsum(extra)])
        return self._labels[: n + 1]


class Frame:
    """The text of a prompt before and behind its passages; `cost` is the number of its tokens."""

    def __init__(self, head: str, tail: str, costs: LineCosts) -> None:
        self.costs = costs
        self.cost = costs.pieces.count(head + line(0, "a.") + tail) - costs.text("a.")


class Candidates:
    """Distractors in the order in which they are taken, with the running sum of their costs."""

    def __init__(self, texts: Sequence[str], costs: LineCosts) -> None:
        self.texts = texts
        self.totals = np.concatenate([[0], np.cumsum(costs.texts(texts))])
        # The prediction for a frame and a budget, for any place of the needle.
        self.predicted: dict[tuple[object, ...], tuple[int, int, int, bool] | None] = {}


class Filling:
    """How much of a list of distractors a prompt holds: `whole` of them, and `cut` characters of the next.

    `n_tokens` is the finished prompt's length, `numbers` its spans; `exhausted` says that the list ended
    before the budget.
    """

    def __init__(self, whole: int, cut: int, n_tokens: int, exhausted: bool) -> None:
        self.whole, self.cut, self.n_tokens, self.exhausted = whole, cut, n_tokens, exhausted
        self.numbers: Sequence[int] = ()


def fill(
    frame: Frame,
    fixed: Sequence[str],
    candidates: Candidates,
    budget: int,
    *,
    truncate_last: bool,
    prompt: Callable[[int, int], Sequence[int]],
) -> Filling | None:
    """Fill a prompt with whole distractors while they fit and, if wanted, the beginning of the next.

    `fixed` are the passages that must stand in the prompt (the needle, or none), `candidates`
    the other passages. `prompt(whole, cut)` gives the span numbers of the finished prompt.
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
        filling.numbers = prompt(filling.whole, filling.cut)
        prompt_tokens = frame.costs.pieces.tokens(filling.numbers)
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
