"""ROUGE-L recall as M4LE computes it, without recursion and in fast integer arithmetic.

English is the package `rouge` 1.0.1: the share of the reference's different words that stand in a
longest common subsequence of one of its sentences and one of the answer's. Chinese is the package
`rouge-chinese` 1.0.3 on jieba's words: one longest common subsequence of all tokens, as a share of
the reference's. Rows of the table of lengths are bit vectors (Hyyrö 2004): bit j is 0 where the
length grows from column j to j + 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any


# An answer is scored by two metrics, with the same cuts in most tasks.
@lru_cache(maxsize=16)
def recall_en(answer: str, reference: str) -> float:
    """ROUGE-L recall of word types; ValueError where a text has no sentence."""
    hypothesis, gold = (list(map(Sentence, _sentences(text))) for text in (answer, reference))
    if not hypothesis or not gold:
        raise ValueError("a text without a sentence")
    taken: set[str] = set()
    for sentence in gold:
        for other in hypothesis:
            taken.update(sentence.words[place] for place, _ in common(sentence, other))
    return len(taken) / len({word for sentence in gold for word in sentence.words})


@lru_cache(maxsize=16)
def recall_zh(answer: str, reference: str) -> float:
    """ROUGE-L recall of jieba's words; ValueError where a text has no token."""
    hypothesis, gold = _tokens(answer), _tokens(reference)
    if not hypothesis or not gold:
        raise ValueError("a text without a token")
    return _common_length(gold, hypothesis) / len(gold)


def _sentences(text: str) -> list[list[str]]:
    """The words between full stops; a piece of white space only is the word ""."""
    return [piece.split() or [""] for piece in text.split(".") if piece]


# After these a line ends, unless a closing quotation mark follows (rouge-chinese).
_LINE_ENDS = (
    (re.compile(r"([。！？?])([^”’])"), r"\1\n\2"),
    (re.compile(r"(\.{6})([^”’])"), r"\1\n\2"),
    (re.compile(r"(…{2})([^”’])"), r"\1\n\2"),
    (re.compile(r"([。！？?][”’])([^，。！？?])"), r"\1\n\2"),
)


# A task's golds come once a model and metric, its answers twice.
@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    """jieba's words without the spaces; a line of white space only is the token ""."""
    spaced = " ".join(_jieba().cut(text))
    for pattern, replacement in _LINE_ENDS:
        spaced = pattern.sub(replacement, spaced)
    lines = [line for line in spaced.rstrip().split("\n") if line]
    return tuple(word for line in lines for word in line.split() or [""])


@lru_cache(maxsize=1)
def _jieba() -> Any:
    import jieba

    jieba.setLogLevel("WARNING")
    jieba.initialize()
    return jieba


class Sentence:
    """Words, and where each stands: bit j of its mask for words[j]."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.masks: dict[str, int] = {}
        self.full = (1 << len(words)) - 1
        bit = 1
        for word in words:
            self.masks[word] = self.masks.get(word, 0) | bit
            bit <<= 1


def _next_row(row: int, mask: int, full: int) -> int:
    """The row below `row`, by the places where its word matches."""
    both = row & mask
    return ((row + both) | (row - both)) & full


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    other = Sentence(second)
    row = other.full
    for word in first:
        if mask := other.masks.get(word):
            row = _next_row(row, mask, other.full)
    return len(second) - row.bit_count()


def common(first: Sentence, second: Sentence) -> list[tuple[int, int]]:
    """The places in both of the longest common subsequence that is read from the texts' ends.

    Equal words are taken; else `first` steps back where that alone keeps the length.
    """
    masks, full = second.masks, second.full
    if masks.keys().isdisjoint(first.masks):
        return []
    rows = [full]
    for word in first.words:
        mask = masks.get(word)
        rows.append(_next_row(rows[-1], mask, full) if mask else rows[-1])
    taken: list[tuple[int, int]] = []
    words, others = first.words, second.words
    i, j = len(words), len(others)
    while i and j:
        if words[i - 1] == others[j - 1]:
            i, j = i - 1, j - 1
            taken.append((i, j))
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return taken
