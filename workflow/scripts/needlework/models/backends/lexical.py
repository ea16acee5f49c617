"""A reader without a neural network: it answers with the sentence that overlaps the question most.

Like a model, it sees the question and all texts that may hold the answer. It does not know which passage is
the needle. It needs no download and reads millions of tokens a second, so a demo and a test can run the whole
workflow with answers that are right for a reason.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from needlework.models.backends.base import Answer, Reader, Request

PASSAGE_ROLES = ("needle", "distractor", "haystack")

# The share of the question's weight that one sentence must cover for the answer Yes.
EXISTENCE_COVERAGE = 0.4

# Western marks end a sentence before white space, so 3.14 is whole, and not after an initial or an
# ordinal (J. Quill, 17. Juli); the marks of other scripts end one wherever they stand.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b\w\.)(?<!\b\d\d\.)\s+|(?<=[。！？।؟۔])|\n")
# A word is letters and digits with the marks that some scripts write vowels and tones with.
_WORD = re.compile(
    r"(?:[^\W_]|[\u0300-\u036f\u064b-\u0655\u0900-\u0963\u0980-\u0dff\u0e30-\u0e4e])+"
)
# Scripts that do not part words.
_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


class Sentences(NamedTuple):
    """The sentences of a text with their features in one array, and the number per sentence."""

    texts: tuple[str, ...]
    features: np.ndarray  # uint32, sorted within a sentence, each once
    counts: tuple[int, ...]


class Lexical(Reader):
    """Answers with a sentence of the passages, or with Yes or No if the task is existence."""

    module = __name__

    def depends_on(self, request: Request) -> list[Any]:
        """The task, and which part of the text is the question and which are passages."""
        return [request.task, *((_seen_as(role), len(text)) for role, text in request.parts())]

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The answer to each request."""
        return (Answer(_answer(request)) for request in batch)

    def close(self) -> None:
        """Forget the passages and words read."""
        read_sentences.cache_clear()
        _word_features.cache_clear()


def _seen_as(role: str) -> str:
    if role in PASSAGE_ROLES:
        return "passage"
    return "question" if role == "question" else "rest"


def _answer(request: Request) -> str:
    parts = request.parts()
    question = " ".join(text for role, text in parts if role == "question")
    sentence, coverage = best_sentence(question, [t for role, t in parts if role in PASSAGE_ROLES])
    if request.task != "existence" or not sentence:
        return sentence
    return "Yes" if coverage >= EXISTENCE_COVERAGE else "No"


def best_sentence(question: str, passages: Sequence[str]) -> tuple[str, float]:
    """The sentence of the passages that overlaps the question most, and the share of the question it covers.

    Of equal sentences, the first. A feature of the question weighs the logarithm of its rarity among the
    sentences. ("", 0.0) if there are no passages or nothing overlaps.
    """
    wanted = np.array(sorted(set(features(question))), dtype=np.uint32)
    read = [read_sentences(passage) for passage in passages]
    texts = [text for sentences in read for text in sentences.texts]
    if not texts or not wanted.size:
        return "", 0.0
    found = np.concatenate([sentences.features for sentences in read])
    owner = np.repeat(
        np.arange(len(texts)), [count for sentences in read for count in sentences.counts]
    )
    place = np.minimum(np.searchsorted(wanted, found), wanted.size - 1)
    hit = wanted[place] == found
    place, owner = place[hit], owner[hit]
    frequency = np.bincount(place, minlength=wanted.size)
    # Whole numbers, so that equal overlaps are equal on every machine.
    weight = np.rint(1000 * np.log(1 + len(texts) / np.maximum(frequency, 1)))
    overlap = np.bincount(owner, weights=weight[place], minlength=len(texts))
    best = int(overlap.argmax())
    return (texts[best], float(overlap[best] / weight.sum())) if overlap[best] > 0 else ("", 0.0)


@lru_cache(maxsize=100_000)
def read_sentences(text: str) -> Sentences:
    """The sentences of a passage. They are cached, since passages occur in prompt after prompt."""
    texts = tuple(
        stripped for piece in _SENTENCE_END.split(text) if (stripped := (piece or "").strip())
    )
    each = [sorted(set(features(sentence))) for sentence in texts]
    return Sentences(
        texts,
        np.fromiter(chain.from_iterable(each), np.uint32),
        tuple(map(len, each)),
    )


def features(text: str) -> list[int]:
    """The features of a text, as hashes: its words and their character trigrams."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return list(chain.from_iterable(map(_word_features, words)))


@lru_cache(maxsize=100_000)
def _word_features(word: str) -> list[int]:
    """The features of a word. Kept, since most words come again.

    Scripts that do not part words give character bigrams and trigrams instead. A number is one
    word and no trigrams, since 1912 and 1913 have nothing to do with each other.
    """
    names: list[str] = []
    if _UNPARTED.search(word):
        for run in _UNPARTED.findall(word):
            names += [run[i : i + n] for n in (2, 3) for i in range(len(run) - n + 1)]
        names += _UNPARTED.sub(" ", word).split()
    else:
        names.append(word)
        if not word.isdigit():
            names += [word[i : i + 3] + "*" for i in range(len(word) - 2)]
    return [zlib.crc32(name.encode()) for name in names]


BACKEND = Lexical
