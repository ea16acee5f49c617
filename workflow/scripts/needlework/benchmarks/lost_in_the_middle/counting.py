"""The exact lengths of prompts that are made of the same lines again and again.

Where the tokenizer's splits are proved, a prompt is counted from its spans (`needlework.prompts.sums`).
Elsewhere a line is tokenized once, between neighbours that begin and end as its own do, and a prompt's
length is a sum. It is exact for tokenizers in which nothing crosses a line's end into the beginning of the
next line, which is the same for all lines of a task. Prompts of some of the questions are tokenized as a
whole to see that this is so; where it is not, all are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from needlework.benchmarks.lost_in_the_middle.rows import Pieces
from needlework.prompts.budget import LineCosts
from needlework.prompts.tokenizers import Tokenizer

logger = logging.getLogger("needlework")

# Of every so many questions, one has its prompts tokenized as a whole.
EVERY = 50


class Prompt(NamedTuple):
    """A prompt: the numbers of its spans, its text, and its length by the sum of its lines.

    The last is 0 where lengths are counted from spans.
    """

    numbers: list[int]
    text: str
    predicted: int


class Sums:
    """Costs of lines in prompts of the form: head, lines, then tails that all begin with `after`.

    `line(index, text)` is how a line is written, `stub` the text of a short one (see `LineCosts`).
    """

    def __init__(
        self, tokenizer: Tokenizer, line: Callable[[int, str], str], stub: str, after: str
    ) -> None:
        self.costs = LineCosts(tokenizer, line, stub)
        self._count, self._after = tokenizer.count, after

    def frame(self, head: str, tail: str) -> int:
        """What a prompt costs without its lines, if `last` of its last line is added."""
        return self._count(head + self.costs.stub + tail)

    def last(self, text: str) -> int:
        """The cost of the last line, to be added to `frame`."""
        return self.costs.last(text, self._after)

    def lines(self, texts: Sequence[str]) -> int:
        """The cost of numbered lines, to be added to `frame`."""
        labels = int(self.costs.labels(len(texts))[len(texts)])
        return sum(map(self.costs.text, texts[:-1])) + self.last(texts[-1]) + labels


Item = TypeVar("Item")


def counter(
    tokenizer: Tokenizer,
    pieces: Pieces,
    items: Sequence[Item],
    prompts: Callable[[Item], Iterable[tuple[Any, Prompt]]],
) -> Callable[[Prompt], int]:
    """A function that gives a prompt's exact length.

    It is counted from the spans, where that is proved; else the sum, where the sums of a sample are right.
    """
    if pieces.exact is not None:
        return lambda prompt: pieces.tokens(prompt.numbers)
    for item in items[::EVERY]:
        for _, prompt in prompts(item):
            if tokenizer.count(prompt.text) != prompt.predicted:
                logger.warning(
                    "The tokenizer %s joins lines: each prompt is tokenized as a whole, which takes "
                    "about twice as long.",
                    tokenizer.name,
                )
                return lambda prompt: tokenizer.count(prompt.text)
    return lambda prompt: prompt.predicted
