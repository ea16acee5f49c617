"""Haystacks of a text: its sentences, the tokens that each adds to a prompt, and needles' places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from needlework.benchmarks.mlongrr.corpus import RAW
from needlework.data.words import word_starts
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.tokenizers import Tokenizer

# Of a text whose words were not counted when it was read, so many characters tell its tokens a word.
MEASURED = 300_000


class Haystack:
    """The sentences of a text in one language, up to `most_tokens` tokens.

    `table` is of the schema ARTICLES or BOOKS. If no needle is inside, a haystack keeps the text's own white
    space, as in the released files. Otherwise its sentences are joined by `joint`.
    """

    def __init__(
        self, corpus: str, lang: str, table: pa.Table, pieces: Pieces, most_tokens: int
    ) -> None:
        self.pieces, self._count = pieces, pieces.count
        rows = {row["passage_id"]: row for row in table.to_pylist()}
        joined = list(rows.values())[-1]
        raw = rows.get(RAW, joined)
        self._names = tuple(f"{corpus}/{lang}/{row['passage_id']}" for row in (raw, joined))
        self._raw, self._text = raw["text"], joined["text"]
        starts, raw_starts = joined["sentence_starts"], raw["sentence_starts"]
        self.joint = " " if len(starts) < 2 or self._text[starts[1] - 1] == " " else ""
        ends = [start - len(self.joint) for start in starts[1:]] + [len(self._text)]
        self._places = list(zip(starts, ends, strict=True))
        # With the white space behind each, as the released haystacks have it at their end.
        self._raw_places = list(pairwise([*raw_starts, len(self._raw)]))
        # Tokens of the first n sentences: with their own white space, joined, and each counted alone. The
        # sums are exact where a sentence changes the tokens of no other than its neighbours.
        raw_tokens, tokens, alone = [0], [0], [0]
        both = zip(
            self._gains(self._raw, self._raw_places),
            self._gains(self._text, self._places),
            strict=True,
        )
        for (_, raw_gain), (own, gain) in both:
            raw_tokens.append(raw_tokens[-1] + raw_gain)
            tokens.append(tokens[-1] + gain)
            alone.append(alone[-1] + own)
            if min(raw_tokens[-1], tokens[-1]) > most_tokens:
                break
        self._raw_tokens, self._tokens, self._alone = map(np.array, (raw_tokens, tokens, alone))
        # The sentences whose tokens are counted, and whether these are all.
        self.longest = len(tokens) - 1
        self.all_known = self.longest == len(self._places)
        # With its own white space, and with its sentences joined.
        self.texts = self._raw, self._text

    def _gains(self, text: str, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The tokens of each sentence alone, and what it adds to those before it."""
        before, own = 0, 0
        for i, (start, end) in enumerate(places):
            before, own = own, self._count(text[start:end])
            joined = own if i == 0 else self._count(text[places[i - 1][0] : end])
            yield own, joined - before

    def tokens(self, n: int) -> int:
        """The tokens of a haystack of n sentences with their own white space, without needles."""
        return int(self._raw_tokens[n])

    def most(self, tokens: int) -> int:
        """How many sentences fit into this many tokens, without the white space behind the last."""
        n = int(np.searchsorted(self._raw_tokens, tokens, side="right")) - 1
        while n < self.longest and self._bare(n + 1) <= tokens:
            n += 1
        while n > 0 and self._bare(n) > tokens:
            n -= 1
        return n

    def _bare(self, n: int) -> int:
        return self._count(self._raw[: self._raw_places[n - 1][1]].rstrip())

    def guess(self, tokens: int) -> int:
        """The approximate number of sentences that have at most this many tokens."""
        return int(np.searchsorted(self._tokens, tokens, side="right")) - 1

    def before(self, n: int, depth: int, rule: str) -> int:
        """How many of n sentences stand before a needle at `depth` percent.

        By the rule "gpt4o": the fewest sentences that have at least `depth` percent of the haystack's tokens.
        By the older rule "gpt4": the most sentences whose own tokens sum to no more than this. At 100 all
        sentences stand before the needle, at 0 none.
        """
        if depth in (0, 100):
            return n * depth // 100
        wanted = self.tokens(n) * depth / 100
        if rule == "gpt4":
            return min(n, int(np.searchsorted(self._alone, wanted, side="right")) - 1)
        return min(n, int(np.searchsorted(self._tokens, int(wanted), side="left")))

    def real_depth(self, n: int, before: int) -> float:
        """The percentage of the joined haystack's tokens that stand before the needle."""
        return 100.0 * int(self._tokens[before]) / int(self._tokens[n])

    def numbers(self, n: int, places: Sequence[int], needles: Sequence[str]) -> list[int]:
        """The span numbers of a haystack of n sentences; `places` counts the sentences before each needle."""
        if not needles:
            return [self._whole(n)]
        if len(needles) == 1 and places[0] in (0, n):
            own = self._needle(needles[0])
            return [*own, self._whole(n)] if places[0] == 0 else [self._whole(n), *own]
        numbers: list[int] = []
        start = 0
        for place, needle in zip(places, needles, strict=True):
            numbers += self._joined(start, place) + self._needle(needle)
            start = place
        return numbers + self._joined(start, n)

    def _needle(self, text: str) -> list[int]:
        literal = self.pieces.literal
        joint = [literal("haystack", self.joint)] if self.joint else []
        return [*joint, literal("needle", text), *joint]

    def _whole(self, n: int) -> int:
        end = self._raw_places[n - 1][1]
        return self.pieces.slice("haystack", self._names[0], self._raw, 0, end)

    def _joined(self, start: int, end: int) -> list[int]:
        if start == end:
            return []
        places = self._places[start][0], self._places[end - 1][1]
        return [self.pieces.slice("haystack", self._names[1], self._text, *places)]


def fertility(table: pa.Table, tokenizer: Tokenizer) -> float:
    """Tokens per word of a text (Table 2), over the part whose words were counted when it was read.

    If they were not counted, words are separated by white space; in scripts without spaces, each character is
    a word.
    """
    row = table.to_pylist()[0]
    text = row["text"][: row.get("measured") or MEASURED]
    return tokenizer.count(text) / (row.get("words") or len(word_starts(text)))
