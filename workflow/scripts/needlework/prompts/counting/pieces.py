"""The spans of prompts by number, and the exact tokens of prompts made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from needlework.prompts.counting.fitting import fit
from needlework.prompts.counting.sums import Counter, Part
from needlework.prompts.instances import Spans
from needlework.prompts.spans import Span
from needlework.prompts.tokenizers import Tokenizer

# Documents whose running sums are in memory at once.
_DOCUMENTS = 64


class Fitted(NamedTuple):
    """The largest prompt within a budget: its size, its tokens, and the numbers of its spans."""

    size: int
    n_tokens: int
    numbers: Sequence[int]


class Pieces(Spans):
    """Spans by number, their texts, and the tokens of prompts for one tokenizer.

    `most_tokens` is the most tokens of one document that a prompt can hold: running sums go about so far.
    `count(text)` tokenizes a text, and `document(text)` gives its running sums. `sums` shares counts with
    other jobs: `cut_ahead` and `sum_ahead` before prompts are built, `save` after them.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int | None = None) -> None:
        super().__init__()
        self.sums = Counter(tokenizer, most_tokens)
        self.count = tokenizer.count
        self._texts: dict[int, str] = {}
        self._slices: dict[int, tuple[str, int, int]] = {}
        self._parts: dict[int, Part] = {}
        self.document = lru_cache(_DOCUMENTS)(self.sums.document)

    def literal(self, role: str, text: str) -> int:
        """The number of a span that holds its own text."""
        number = self.number(Span(role, text=text))
        self._texts[number] = text
        return number

    def slice(self, role: str, source: str, document: str, start: int, end: int) -> int:
        """The number of the span [start, end) of the text `document`, which is named `source`."""
        number = self.number(Span(role, source, start, end))
        self._slices[number] = document, start, end
        if end - start == len(document):
            self._texts[number] = document
        return number

    def text(self, numbers: Iterable[int]) -> str:
        """The text of a prompt: the texts of its spans, one after the other."""
        texts = self._texts
        return "".join([texts[n] if n in texts else self._sliced(n) for n in numbers])

    def _sliced(self, number: int) -> str:
        document, start, end = self._slices[number]
        return document[start:end]

    def tokens(self, numbers: Sequence[int]) -> int:
        """The exact tokens of a prompt of these spans."""
        return self._sum(numbers) if self.sums.exact else self.count(self.text(numbers))

    def of_texts(self, *texts: str) -> int:
        """The exact tokens of short texts that recur, one after the other; each is tokenized once."""
        if self.sums.exact:
            return self.sums.tokens([*map(self.sums.part, texts)])
        return self.count("".join(texts))

    def fit(
        self,
        prompt: Callable[[int], Sequence[int]],
        guess: Callable[[int], int],
        budget: int,
        least: int,
        most: int,
    ) -> Fitted | None:
        """The largest prompt of `least` to `most` sentences within the budget; None if `least` do not fit.

        `prompt(n)` gives the span numbers of a prompt of n sentences; `guess(tokens)` is near the number of
        sentences that have so many tokens.
        """
        prompt = cache(prompt)
        predict = cache(lambda n: self._sum(prompt(n)))
        count = predict if self.sums.exact else lambda n: self.count(self.text(prompt(n)))
        fitted = fit(predict, count, guess, budget, least, most)
        return fitted and Fitted(*fitted, prompt(fitted[0]))

    def _sum(self, numbers: Sequence[int]) -> int:
        """The tokens of a prompt by the sums of its spans; without a proof, about."""
        parts = self._parts
        for number in numbers:
            if number not in parts:
                parts[number] = self._part(number)
        return self.sums.tokens([parts[number] for number in numbers])

    def _part(self, number: int) -> Part:
        document, start, end = self._slices.get(number, ("", 0, 0))
        if self.sums.is_long(document):
            return self.document(document).part(start, end)
        if number in self._texts:
            return self.sums.part(self._texts[number])
        return self.sums.cut(document[start:end])
