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


def recall_en(answer: str, reference: str) -> float:
    """ROUGE-L recall of word types; ValueError where a text has no sentence."""
    hypothesis, gold = _sentences(answer), _sentences(reference)
    if not hypothesis or not gold:
        raise ValueError("a text without a sentence")
    taken: set[str] = set()
    for sentence in gold:
        for other in hypothesis:
            taken |= _common_words(sentence, other)
    return len(taken) / len({word for sentence in gold for word in sentence})


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
def _jieba():
    import jieba

    jieba.setLogLevel("WARNING")
    jieba.initialize()
    return jieba


def _masks(words: Sequence[str]) -> dict[str, int]:
    """Where each word stands: bit j of its mask for words[j]."""
    masks: dict[str, int] = {}
    bit = 1
    for word in words:
        masks[word] = masks.get(word, 0) | bit
        bit <<= 1
    return masks


def _next_row(row: int, mask: int, full: int) -> int:
    """The row below `row`, by the places where its word matches."""
    both = row & mask
    return ((row + both) | (row - both)) & full


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    masks, full = _masks(second), (1 << len(second)) - 1
    row = full
    for word in first:
        if mask := masks.get(word):
            row = _next_row(row, mask, full)
    return len(second) - row.bit_count()


def _common_words(first: Sequence[str], second: Sequence[str]) -> set[str]:
    """The words of the longest common subsequence that is read from the texts' ends.

    Equal words are taken; else `first` steps back where that alone keeps the length.
    """
    masks, full = _masks(second), (1 << len(second)) - 1
    if not any(word in masks for word in first):
        return set()
    rows = [full]
    for word in first:
        mask = masks.get(word)
        rows.append(_next_row(rows[-1], mask, full) if mask else rows[-1])
    taken: set[str] = set()
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            taken.add(first[i - 1])
            i, j = i - 1, j - 1
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return taken
