"""The exact tokens of a prompt from those of its documents: running sums, and short windows at the seams.

A tokenizer's proof says where a document is split whatever stands around it. The tokens between two such
places are a difference of running sums, made once a document and tokenizer, and kept on disk; what lies
between the last place of one piece of a prompt and the first of the next is tokenized by itself.
"""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.prompts.counting.kept import KeptNumbers, digest_of, read_kept, write_kept
from needlework.prompts.counting.proofs import Array, Proof, Sure, code_points, supposed
from needlework.prompts.tokenizers import Tokenizer
from needlework.seeding import rng

logger = logging.getLogger(__name__)

# More characters than a token has in running text.
_CHARACTERS = 8
# Documents with fewer characters get no file, and shorter texts no number in one.
_KEPT = 4096
_TEXT = 256
# Of texts that are counted ahead, so many are counted between two looks at what other jobs have counted.
_SHARE = 2048
# The number of characters of a document that are tokenized at once.
_STRETCH = 1 << 17
_ASCII = 128
# The number of windows that are remembered, and the longest of them; those of words.
_WINDOWS, _WINDOW = 1 << 20, 256
_WORDS, _WORD = 1 << 18, 32
_SECOND = "\0"


class Part(NamedTuple):
    """A piece of a prompt: its text up to the first split, the tokens to the last, the text from there.

    A text without splits is all `head`, with `inner` None.
    """

    head: str
    inner: int | None = None
    tail: str = ""


class Document:
    """A text with its running sums: `sums[i]` tokens stand before the character `places[i]`."""

    def __init__(self, text: str, places: Array, sums: Array) -> None:
        self.text = text
        # Lists of a long document would take ten times the memory.
        self.places: Sequence[int] = places.astype(np.int32).data
        self.sums: Sequence[int] = sums.astype(np.int32).data

    def part(self, start: int, end: int) -> Part:
        """The characters [start, end)."""
        first, last = bisect_right(self.places, start), bisect_left(self.places, end) - 1
        if first > last:
            return Part(self.text[start:end])
        inner = self.sums[last] - self.sums[first]
        return Part(
            self.text[start : self.places[first]], inner, self.text[self.places[last] : end]
        )

    @property
    def tokens(self) -> int:
        """The tokens before the last split."""
        return self.sums[-1] if len(self.sums) else 0

    def before(self, place: int) -> int:
        """The tokens before the last split that is not behind the character `place`."""
        i = bisect_right(self.places, place) - 1
        return self.sums[i] if i >= 0 else 0


class _NoWord(Exception):
    """The tokens of a text are not those of its words."""


class _Words(dict[str, int]):
    """The tokens of words, each with the space before it, that are split from the words around them.

    A second space is written as _SECOND, at the beginning of the word behind it.
    """

    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    def __missing__(self, word: str) -> int:
        spaced = f" {word.replace(_SECOND, ' ')}"
        if not word or len(word) > _WORD or not self._proof.splits(spaced[-1], " "):
            raise _NoWord
        tokens = self._proof.within(spaced)
        if len(self) < _WORDS:
            self[word] = tokens
        return tokens


class Counter:
    """Counts prompts from their parts. Exact if the tokenizer has a proof; else an estimate.

    Documents get running sums as far as `most_tokens`, if given.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int | None = None) -> None:
        self._count, self._most_tokens = tokenizer.count, most_tokens
        self.exact = tokenizer.proof is not None
        self.proof = tokenizer.proof or supposed(tokenizer.count)
        # The folder depends on the tokenizer's files, whatever its name, and on this code.
        self._folder = None
        if self.exact and tokenizer.sums:
            self._folder = tokenizer.sums / f"{self.proof.digest[:24]}-{_code()}"
        self._parts: dict[str, Part] = {}
        self._windows: dict[str, int] = {}
        self._words = _Words(self.proof)

    def document(self, text: str) -> Document:
        """A text with its running sums, from the disk where they are there."""
        if self._most_tokens is not None:
            beginning = text[: _CHARACTERS * self._most_tokens]
            places, sums = self._sums(beginning)
            if len(beginning) == len(text) or (len(sums) and sums[-1] > self._most_tokens):
                return Document(text, places, sums)
        return Document(text, *self._sums(text))

    def _sums(self, text: str) -> tuple[Array, Array]:
        """The places and sums of a Document."""
        path = None
        if self._folder is not None and self.is_long(text):
            digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
            path = self._folder / "documents" / digest[:2] / digest
            found = _read(path)
            if found is not None:
                return found
        places = split_places(text, self.proof)
        sums = self._before(text, places)
        if sums is None:
            logger.warning(
                "The tokenizer changes a text of %d characters: the text is tokenized whole.",
                len(text),
            )
            places = sums = np.zeros(0, dtype=np.int64)
        if path is not None:
            write_kept(path, np.stack([places, sums]).astype("<i4").tobytes())
        return places, sums

    @staticmethod
    def is_long(text: str) -> bool:
        """Whether slices of a text are counted from its running sums."""
        return len(text) >= _KEPT

    def _before(self, text: str, places: Array) -> Array | None:
        """The tokens before each of a text's places, stretch by stretch: memory holds one of them."""
        wanted = np.searchsorted(places, np.arange(_STRETCH, len(text), _STRETCH))
        ends = [*np.unique(places[wanted[wanted < len(places)]]).tolist(), len(text)]
        found, start, total, anchor = [np.zeros(0, dtype=np.int64)], 0, 0, ""
        for end in ends:
            own = places[
                np.searchsorted(places, start, "right") : np.searchsorted(places, end, "right")
            ]
            at = np.concatenate([[0], own - start]) + len(anchor)
            tokens = self.proof.before(anchor + text[start:end], at)
            if tokens is None:
                return None
            found.append(total + tokens[1:] - (tokens[0] if start else 0))
            if len(own):
                total = int(found[-1][-1])
            start, anchor = end, self.proof.anchor
        return np.concatenate(found)

    def part(self, text: str) -> Part:
        """A text as a part of prompts; remembered. Longer ones are kept on disk, once `save` is called."""
        found = self._parts.get(text)
        if found is None:
            kept = self._texts if len(text) >= _TEXT else None
            found = self._parts[text] = self.cut(text, kept)
        return found

    def cut(self, text: str, kept: KeptNumbers | None = None) -> Part:
        """A text as a part of prompts. Its inner tokens are looked up in `kept` and added to it."""
        splits = self.proof.splits
        first = next((i for i in range(1, len(text)) if splits(text[i - 1], text[i])), None)
        if first is None:
            return Part(text)
        tail = self._last(text)
        inner = kept.get(text) if kept is not None else None
        if inner is None:
            inner = self._by_words(text[first : len(text) - len(tail)])
            if kept is not None:
                kept.add(text, inner)
        return Part(text[:first], inner, tail)

    def _by_words(self, text: str) -> int:
        """As `within`, from the text's words: most are known."""
        first, *words = text.replace("  ", f" {_SECOND}").split(" ")
        parted = not first or not words or self.proof.splits(first[-1], " ")
        if parted and _SECOND not in text:
            with suppress(_NoWord):
                return sum(map(self._words.__getitem__, words)) + self.within(first)
        return self.proof.within(text)

    @cached_property
    def _texts(self) -> KeptNumbers | None:
        return KeptNumbers(self._folder / "texts") if self._folder else None

    def save(self) -> None:
        """Write the new counts of texts to disk, for other jobs."""
        if self._texts is not None:
            self._texts.save()

    def cut_ahead(self, texts: Iterable[str], *seed: object) -> None:
        """`part` of texts of which prompts will be made, in an order drawn from `seed`, saved now and then.

        Jobs that run at once and have seeds of their own so share the work: each counts what no other has
        counted yet. If nothing is kept on disk, there is nothing to share.
        """
        if self._texts is None:
            return
        for i, text in enumerate(_shuffled(texts, seed), start=1):
            self.part(text)
            if i % _SHARE == 0:
                self.save()
                self._texts.look()

    def sum_ahead(self, texts: Iterable[str], *seed: object) -> None:
        """As `cut_ahead`, the sums of texts that are long enough to be kept as documents."""
        if self._folder is not None:
            for text in _shuffled(filter(self.is_long, texts), seed):
                self.document(text)

    def _last(self, text: str) -> str:
        """A text from its last split; all of it where it has none."""
        splits = self.proof.splits
        places = range(len(text) - 1, 0, -1)
        return text[next((i for i in places if splits(text[i - 1], text[i])), 0) :]

    def tokens(self, parts: Iterable[Part]) -> int:
        """The tokens of a prompt of these pieces, one after the other."""
        total, left, begun = 0, "", False
        known = self._windows.get
        for head, inner, tail in parts:
            if inner is None:
                left += head
                continue
            window = left + head
            found = known(window) if begun else self._count(window)
            total += inner + (self.within(window) if found is None else found)
            left, begun = tail, True
        return total + (self.within(left) if begun else self._count(left))

    def within(self, text: str) -> int:
        """The tokens of a text that stands behind a split, and before one or at the end; remembered."""
        if len(text) > _WINDOW:
            return self.proof.within(text)
        found = self._windows.get(text)
        if found is None:
            if len(self._windows) >= _WINDOWS:
                self._windows.clear()
            found = self._windows[text] = self.proof.within(text)
        return found


def _shuffled(texts: Iterable[str], seed: tuple[object, ...]) -> Iterator[str]:
    """The texts, each once, in an order drawn from `seed`."""
    found = list(dict.fromkeys(texts))
    return (found[i] for i in rng("counting", *seed).permutation(len(found)))


@cache
def _code() -> str:
    here = Path(__file__).parent
    names = ("patterns.py", "proofs.py", "sums.py")
    return digest_of(here / name for name in names)[:8]


def split_places(text: str, proof: Proof) -> Array:
    """The characters of a text before which it is split by the proof: at most one in `proof.gap`."""
    splits, gap = proof.splits, proof.gap
    found = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(text), _STRETCH):
        codes = code_points(text[start : start + _STRETCH + 1]).astype(np.int64)
        if codes.max() < _ASCII:
            sure = _ascii(splits)[codes[:-1], codes[1:]]
        else:
            pairs, which = np.unique(codes[:-1] << 21 | codes[1:], return_inverse=True)
            each = [splits(chr(pair >> 21), chr(pair & 0x1FFFFF)) for pair in pairs.tolist()]
            sure = np.array(each, dtype=bool)[which]
        found.append(_thinned(np.flatnonzero(sure) + 1 + start, gap))
    return _thinned(np.concatenate(found), gap)


@cache
def _ascii(splits: Sure) -> npt.NDArray[np.bool_]:
    """`splits` of all pairs of ASCII's characters."""
    every = [chr(code) for code in range(_ASCII)]
    return np.array([[splits(a, b) for b in every] for a in every])


def _thinned(places: Array, gap: int) -> Array:
    """The first of these sorted places in each `gap` characters."""
    return places[np.diff(places // gap, prepend=-1) > 0]


def _read(path: Path) -> tuple[Array, Array] | None:
    content = read_kept(path)
    if content is None:
        return None
    places, sums = np.frombuffer(content, "<i4").reshape(2, -1)
    return places, sums
