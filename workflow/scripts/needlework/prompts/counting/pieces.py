"""The spans of prompts by number, the exact tokens of prompts made of them, and prompts filled to a budget.

A prompt's tokens are counted from its documents: running sums, and short windows at the seams. A tokenizer's
proof says where a document is always split, whatever stands around it. The tokens between two such places are
a difference of running sums, which are made once per document and tokenizer and kept on disk. The text
between the last place of one piece of a prompt and the first place of the next is tokenized by itself.

Anyone may delete the kept numbers at any time, and several jobs may write them. A file is its content after
the content's digest. If a file is damaged, it counts as missing; if it cannot be written, it is left out.

A prompt is filled passage by passage. Each passage is counted once, by itself but between its neighbours'
first and last characters; the sum of these costs predicts a prompt's length. Then the finished prompt is
counted, and corrected once if the prediction was wrong.
"""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.atomic import atomic_write
from needlework.data.words import word_starts
from needlework.errors import UserError
from needlework.folders import entries
from needlework.prompts.counting.proofs import Array, Proof, Sure, code_points, supposed
from needlework.prompts.instances import Spans
from needlework.prompts.spans import Span
from needlework.prompts.tokenizers import Tokenizer
from needlework.seeding import rng

logger = logging.getLogger(__name__)

_DIGEST = 32
_KEY = 16
_RECORD = np.dtype([("key", f"V{_KEY}"), ("number", "<i8")])


def read_kept(path: Path) -> bytes | None:
    """The content that `write_kept` has written; None if the file is missing or damaged."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    content = found[_DIGEST:]
    return content if hashlib.sha256(content).digest() == found[:_DIGEST] else None


def write_kept(path: Path, content: bytes) -> None:
    """Write a file atomically; if the disk refuses, log a warning."""
    try:
        with atomic_write(path) as part:
            part.write_bytes(hashlib.sha256(content).digest() + content)
    except OSError as error:
        logger.warning("%s cannot be written (%s): it will be made again next time.", path, error)


class KeptNumbers:
    """A number for each of many texts, kept in a folder.

    A job with new numbers adds a file when it saves.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[bytes, int] = {}
        self._new: dict[bytes, int] = {}
        self._read: set[Path] = set()
        self.look()

    def look(self) -> None:
        """Read the files that were added to the folder since the last look, if it can be read."""
        try:
            added = set(entries(self._folder)) - self._read
        except UserError:
            # Nothing that is kept here is missed, so it stops nothing.
            return
        for path in sorted(added):
            content = read_kept(path)
            if content is not None and len(content) % _RECORD.itemsize == 0:
                found = np.frombuffer(content, _RECORD)
                self._known.update(
                    zip(found["key"].tolist(), found["number"].tolist(), strict=True)
                )
        self._read |= added

    def get(self, text: str) -> int | None:
        """The number of a text; None if it is not known."""
        return self._known.get(_key(text))

    def add(self, text: str, number: int) -> None:
        """Set the number of a text."""
        key = _key(text)
        self._known[key] = self._new[key] = number

    def save(self) -> None:
        """Write the new numbers."""
        if not self._new:
            return
        records = np.array(list(self._new.items()), _RECORD)
        content = records.tobytes()
        path = self._folder / hashlib.sha256(content).hexdigest()[:_KEY]
        write_kept(path, content)
        self._read.add(path)
        self._new = {}


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_KEY).digest()


def digest_of(paths: Iterable[Path]) -> str:
    """A digest of files' bytes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


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


class CountedText(NamedTuple):
    """A piece of a prompt, counted between its first and its last split."""

    # The text up to the first split; all of it if there is no split.
    head: str
    # The tokens between the first and the last split; None if there is no split.
    inner: int | None = None
    # The text behind the last split.
    tail: str = ""


class SummedDocument:
    """A text with its running sums: `sums[i]` tokens stand before character number `places[i]`."""

    def __init__(self, text: str, places: Array, sums: Array) -> None:
        self.text = text
        # Lists of a long document would take ten times the memory.
        self.places: Sequence[int] = places.astype(np.int32).data
        self.sums: Sequence[int] = sums.astype(np.int32).data

    def part(self, start: int, end: int) -> CountedText:
        """The characters [start, end) as a part of a prompt."""
        first, last = bisect_right(self.places, start), bisect_left(self.places, end) - 1
        if first > last:
            return CountedText(self.text[start:end])
        inner = self.sums[last] - self.sums[first]
        return CountedText(
            self.text[start : self.places[first]], inner, self.text[self.places[last] : end]
        )

    @property
    def tokens(self) -> int:
        """The tokens before the last split."""
        return self.sums[-1] if len(self.sums) else 0

    def before(self, place: int) -> int:
        """The number of tokens before the last split at or before the character `place`."""
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
    """Counts prompts from their parts: exactly if the tokenizer has a proof, otherwise approximately.

    Documents get running sums up to `most_tokens` tokens, if that is given.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int | None = None) -> None:
        self._count, self._most_tokens = tokenizer.count, most_tokens
        self.exact = tokenizer.proof is not None
        self.proof = tokenizer.proof or supposed(tokenizer.count)
        # The folder depends on the tokenizer's files, whatever its name, and on this code.
        self._folder = None
        if self.exact and tokenizer.sums:
            self._folder = tokenizer.sums / f"{self.proof.digest[:24]}-{_code()}"
        self._parts: dict[str, CountedText] = {}
        self._windows: dict[str, int] = {}
        self._words = _Words(self.proof)

    def document(self, text: str) -> SummedDocument:
        """A text with its running sums of tokens, read from disk if they are there."""
        if self._most_tokens is not None:
            beginning = text[: _CHARACTERS * self._most_tokens]
            places, sums = self._sums(beginning)
            if len(beginning) == len(text) or (len(sums) and sums[-1] > self._most_tokens):
                return SummedDocument(text, places, sums)
        return SummedDocument(text, *self._sums(text))

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

    def part(self, text: str) -> CountedText:
        """A text as a part of prompts; cached. Long texts are kept on disk after `save`."""
        found = self._parts.get(text)
        if found is None:
            kept = self._texts if len(text) >= _TEXT else None
            found = self._parts[text] = self.cut(text, kept)
        return found

    def cut(self, text: str, kept: KeptNumbers | None = None) -> CountedText:
        """A text as a part of prompts. Its inner tokens are looked up in `kept` and added to it."""
        splits = self.proof.splits
        first = next((i for i in range(1, len(text)) if splits(text[i - 1], text[i])), None)
        if first is None:
            return CountedText(text)
        tail = self._last(text)
        inner = kept.get(text) if kept is not None else None
        if inner is None:
            inner = self._by_words(text[first : len(text) - len(tail)])
            if kept is not None:
                kept.add(text, inner)
        return CountedText(text[:first], inner, tail)

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
        """Count the texts that prompts will be made from, in an order drawn from `seed`; save now and then.

        Jobs that run at the same time with different seeds share the work: each counts texts that no other
        job has counted yet. Does nothing if nothing is kept on disk.
        """
        if self._texts is None:
            return
        for i, text in enumerate(_shuffled(texts, seed), start=1):
            self.part(text)
            if i % _SHARE == 0:
                self.save()
                self._texts.look()

    def sum_ahead(self, texts: Iterable[str], *seed: object) -> None:
        """Make the running sums of texts that are long enough to be documents, as `cut_ahead` does."""
        if self._folder is not None:
            for text in _shuffled(filter(self.is_long, texts), seed):
                self.document(text)

    def _last(self, text: str) -> str:
        """A text from its last split; all of it where it has none."""
        splits = self.proof.splits
        places = range(len(text) - 1, 0, -1)
        return text[next((i for i in places if splits(text[i - 1], text[i])), 0) :]

    def tokens(self, parts: Iterable[CountedText]) -> int:
        """The number of tokens of a prompt that consists of `parts`, in order."""
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
        """The number of tokens of a text that stands between two splits, or between a split and the end.

        Numbers are cached.
        """
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
    names = ("proofs.py", "pieces.py")
    return digest_of(here / name for name in names)[:8]


def split_places(text: str, proof: Proof) -> Array:
    """The places in a text where the proof says that it is split: indices of the characters after them.

    There is at most one in `proof.gap` characters.
    """
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


def fit(
    predict: Callable[[int], int],
    count: Callable[[int], int],
    guess: Callable[[int], int],
    budget: int,
    least: int,
    most: int,
) -> tuple[int, int] | None:
    """The largest size from `least` to `most` whose prompt fits, and its tokens; None if none fits.

    `predict(n)` estimates the tokens of a prompt of size n, `count(n)` counts the finished prompt, and
    `guess(tokens)` estimates the size that has this many tokens. If the count confirms a prediction, the
    prediction for the next size is trusted too, so only one prompt is counted. Otherwise sizes are counted
    until one fits and the next does not.
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


# Documents whose running sums are in memory at once.
_DOCUMENTS = 64


class Fitted(NamedTuple):
    """The largest prompt within a budget."""

    size: int
    n_tokens: int
    # The numbers of its spans.
    numbers: Sequence[int]


class Pieces(Spans):
    """Spans by number, their texts, and the tokens of prompts for one tokenizer.

    `count(text)` tokenizes a text, and `document(text)` returns its running sums. Running sums end at
    `most_tokens`, the largest number of tokens of one document that a prompt can hold. `sums` shares counts
    with other jobs: call `cut_ahead` and `sum_ahead` before prompts are built, `save` after them.
    """

    def __init__(self, tokenizer: Tokenizer, most_tokens: int | None = None) -> None:
        super().__init__()
        self.sums = Counter(tokenizer, most_tokens)
        self.count = tokenizer.count
        self._texts: dict[int, str] = {}
        self._slices: dict[int, tuple[str, int, int]] = {}
        self._parts: dict[int, CountedText] = {}
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
        """The exact number of tokens of a prompt that consists of these spans."""
        return self._sum(numbers) if self.sums.exact else self.count(self.text(numbers))

    def of_texts(self, *texts: str) -> int:
        """The exact tokens of short texts, one after the other; a text that recurs is tokenized once."""
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

        `prompt(n)` gives the span numbers of a prompt of n sentences; `guess(tokens)` estimates the number of
        sentences with so many tokens.
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

    def _part(self, number: int) -> CountedText:
        document, start, end = self._slices.get(number, ("", 0, 0))
        if self.sums.is_long(document):
            return self.document(document).part(start, end)
        if number in self._texts:
            return self.sums.part(self._texts[number])
        return self.sums.cut(document[start:end])


_DIGITS = "0123456789"


class NumberedLists:
    """Counts the tokens of prompts with a numbered list of `words` between two of the texts `around`.

    A list is split twice per entry: behind its number (`cut` characters behind the digits) and behind its
    word. Each word and each number is tokenized once. `costs` are the tokens of each word beyond those of the
    word "a".
    """

    def __init__(self, pieces: Pieces, words: Sequence[str], around: Sequence[str]) -> None:
        self._pieces, self._texts, self._around = pieces, words, around
        cut, self._proof = _cut_words(pieces.sums.proof, words), pieces.sums.proof
        self._exact = pieces.sums.exact and cut is not None
        if not self._exact:
            cut, self._proof = 1, supposed(pieces.count)
        self._at = len("1") + (cut or 0)
        self._words, self._stub = self._word_tokens()
        self.costs = self._words - self._stub
        self._labels: list[str] = []
        # Entry i: the tokens from one word to the next one's number i; and the tokens of i entries "a".
        self._numbers = self._totals = np.zeros(1, dtype=np.int64)
        self._first = pieces.count("1. a")
        self._frame = pieces.count("1. a".join(around)) - (len(around) - 1) * self._first

    def text(self, ids: Array) -> str:
        """The numbered list of the words `ids`."""
        self._grow(len(ids))
        texts = [""] * (2 * len(ids))
        texts[::2] = self._labels[: len(ids)]
        texts[1::2] = map(self._texts.__getitem__, ids.tolist())
        return "".join(texts)[1:]

    def tokens(self, ids: Array) -> int:
        """The exact number of tokens of the prompt with the numbered list of the words `ids`."""
        if not self._exact:
            return self._pieces.count(self.text(ids).join(self._around))
        self._grow(len(ids))
        between = int(self._numbers[2 : len(ids) + 1].sum()) + int(self._words[ids[:-1]].sum())
        label = "1. "
        part = self._pieces.sums.part
        listed = CountedText(label[: self._at], between, label[self._at :] + self._texts[ids[-1]])
        first, *others = map(part, self._around)
        return self._pieces.sums.tokens([first, *chain(*((listed, other) for other in others))])

    def predict(self, entries: int, costs: int) -> int:
        """Estimate the tokens of a prompt whose list has this many `entries`.

        `costs` are the tokens of all its words.
        """
        self._grow(entries)
        return self._frame + (len(self._around) - 1) * (costs + int(self._totals[entries]))

    def _word_tokens(self) -> tuple[Array, int]:
        """The tokens from its number to its end of each word, and of "a"."""
        listed = [*self._texts, "a"]
        ends = np.cumsum([len(word) + len(" 1. ") for word in listed])
        starts = np.concatenate([[0], ends[:-1]]) + len(" ") + self._at
        # An entry more: the last word, too, has its space.
        text = "".join(f" 1. {word}" for word in listed) + " 1."
        *words, stub = self._between(text, starts, ends)
        return np.array(words), int(stub)

    def _grow(self, n: int) -> None:
        """Count the numbers to n and some more."""
        if len(self._totals) > n:
            return
        last = 2 * n + 1024
        self._labels = [f" {i}. " for i in range(1, last + 1)]
        widths = np.array([len(str(i)) for i in range(1, last + 1)])
        ends = np.cumsum(widths + len(". a "))[:-1]
        text = " ".join(f"{i}. a" for i in range(1, last + 1)) + " "
        found = self._between(text, ends - 1, ends + widths[1:] + self._at - 1)
        self._numbers = np.concatenate([[0, 0], found])
        self._totals = np.concatenate(
            [[0, self._first], self._first + np.cumsum(found + self._stub)]
        )

    def _between(self, text: str, starts: Array, ends: Array) -> Array:
        """The tokens between each two places of a text, all of which are split."""
        found = self._proof.before(text, np.concatenate([starts, ends]))
        assert found is not None, "a proof counts lists"
        return found[len(starts) :] - found[: len(starts)]


def _cut_words(proof: Proof, words: Sequence[str]) -> int | None:
    """The place of the split behind each number: before or behind its "."; None where there is none."""
    if all(proof.splits(word[-1], " ") for word in [*words, "a"]):
        if all(proof.splits(digit, ".") for digit in _DIGITS):
            return 0
        if proof.splits(".", " "):
            return 1
    return None


def line(index: int, text: str) -> str:
    """A numbered passage as it stands in a prompt, without the line end."""
    return f"[{index}] {text}"


# Between two lines a passage's tokens are measured: the label before it, and the line behind it.
_LABEL = "\n" + line(0, "")
_STUB = _LABEL + "a"


class LineCosts:
    """The tokens that passages add to a prompt in which each passage has its own line."""

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
        """The result of `text`, but not cached: for passages that are cut."""
        return self.pieces.count(_LABEL + text + _STUB) - self._neighbour

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """The tokens of several lines (int64, one per text)."""
        return np.fromiter((self.text(text) for text in texts), np.int64, len(texts))

    def labels(self, n: int) -> np.ndarray:
        """For k = 0..n: the tokens of the numbers of lines 0..k-1, less the tokens of k zeros."""
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
    """Distractors in the order of use, with the running sum of their tokens."""

    def __init__(self, texts: Sequence[str], costs: LineCosts) -> None:
        self.texts = texts
        self.totals = np.concatenate([[0], np.cumsum(costs.texts(texts))])
        # The prediction for a frame and a budget, for any place of the needle.
        self.predicted: dict[tuple[object, ...], tuple[int, int, int, bool] | None] = {}


class Filling:
    """A prompt filled with distractors: `whole` of them, and `cut` characters of the next one.

    `n_tokens` is the finished prompt's length, `numbers` are its spans. If `exhausted`, the list of
    distractors ended before the budget.
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
    """Fill a prompt with whole distractors while they fit; if wanted, also with the beginning of the next.

    `fixed` are the passages that must stand in the prompt (the needle, or none), `candidates` the other
    passages. `prompt(whole, cut)` returns the span numbers of the finished prompt. None if the fixed passages
    do not fit. A cut falls between words (or characters, in scripts without spaces), as late as fits.
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
