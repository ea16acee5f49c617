"""ROUGE-L recall as M4LE computes it, without recursion and in fast integer arithmetic.

English is the package `rouge` 1.0.1: the share of the reference's different words that stand in a
longest common subsequence of one of its sentences and one of the answer's. Chinese is the package
`rouge-chinese` 1.0.3 on jieba's words: one longest common subsequence of all tokens, as a share of
the reference's. Rows of the table of lengths are bit vectors (Hyyrö 2004): bit j is 0 where the
length grows from column j to j + 1.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jieba import Tokenizer


# An answer is scored by two metrics, with the same cuts in most tasks.
@lru_cache(maxsize=16)
def recall_en(answer: str, reference: str) -> float:
    """ROUGE-L recall of word types; ValueError where a text has no sentence."""
    hypothesis, gold = _sentences(answer), _sentences(reference)
    if not hypothesis or not gold:
        raise ValueError("a text without a sentence")
    taken: set[str] = set()
    for others in side_by_side(hypothesis):
        for sentence in gold:
            taken.update(others.words[place] for place in common(sentence, others))
    return len(taken) / len(set().union(*gold))


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
    spaced = " ".join(_cut(text))
    if "\n" not in text and "......" not in text:
        # Each line below has a mark, which is a word of its own: the words are these.
        return tuple(spaced.split())
    for pattern, replacement in _LINE_ENDS:
        spaced = pattern.sub(replacement, spaced)
    lines = [line for line in spaced.rstrip().split("\n") if line]
    return tuple(word for line in lines for word in line.split() or [""])


def _cut(text: str) -> list[str]:
    """jieba's words, with our way through its model, which is put back for others that use jieba."""
    tokenizer = _jieba()
    from jieba import finalseg

    theirs, finalseg.viterbi = finalseg.viterbi, _most_probable
    try:
        return list(tokenizer.cut(text))
    finally:
        finalseg.viterbi = theirs


@lru_cache(maxsize=1)
def _jieba() -> Tokenizer:
    with warnings.catch_warnings():
        # It imports pkg_resources, and has escape sequences that Python 3.12 and later warn of.
        warnings.simplefilter("ignore")
        from jieba import Tokenizer

    made = Tokenizer()
    # From its dictionary, and not from a file in the system's temporary folder that anyone may have left.
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


_Table = Mapping[str, Mapping[str, float]]
# What jieba takes for the logarithm of the probability of a character that its model does not have.
_NEVER = -3.14e100


def _most_probable(
    text: str, states: str, start: Mapping[str, float], follows: _Table, emits: _Table
) -> tuple[float, list[str]]:
    """jieba's `finalseg.viterbi`, which takes half of all scoring, three times as fast.

    The states are those of a character in a word: its begin, middle or end, or all of it (B, M, E, S).
    Each can follow two. Sums are in jieba's order, and of equal paths the one is taken whose state has
    the larger letter, so the words are the same.
    """
    b, m, e, s = (start[state] + emits[state].get(text[0], _NEVER) for state in "BMES")
    of_b, of_m, of_e, of_s = (emits[state] for state in "BMES")
    bm, be, mm, me = follows["B"]["M"], follows["B"]["E"], follows["M"]["M"], follows["M"]["E"]
    eb, es, sb, ss = follows["E"]["B"], follows["E"]["S"], follows["S"]["B"], follows["S"]["S"]
    before: list[tuple[bool, bool, bool, bool]] = []
    for character in text[1:]:
        emit = of_b.get(character, _NEVER)
        b_of_e, b_of_s = e + eb + emit, s + sb + emit
        emit = of_m.get(character, _NEVER)
        m_of_b, m_of_m = b + bm + emit, m + mm + emit
        emit = of_e.get(character, _NEVER)
        e_of_b, e_of_m = b + be + emit, m + me + emit
        emit = of_s.get(character, _NEVER)
        s_of_e, s_of_s = e + es + emit, s + ss + emit
        b_s, m_m, e_m, s_s = b_of_s >= b_of_e, m_of_m >= m_of_b, e_of_m >= e_of_b, s_of_s >= s_of_e
        before.append((b_s, m_m, e_m, s_s))
        b, m = b_of_s if b_s else b_of_e, m_of_m if m_m else m_of_b
        e, s = e_of_m if e_m else e_of_b, s_of_s if s_s else s_of_e
    state = "S" if s >= e else "E"
    path = [state]
    for b_s, m_m, e_m, s_s in reversed(before):
        if state == "S":
            state = "S" if s_s else "E"
        elif state == "E":
            state = "M" if e_m else "B"
        elif state == "B":
            state = "S" if b_s else "E"
        else:
            state = "M" if m_m else "B"
        path.append(state)
    return max(s, e), path[::-1]


class Sentences:
    """Sentences side by side: bit j of a mask is for words[j], and a bit between sentences for none."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self.words: list[str] = []
        self.masks: dict[str, int] = {}
        # The bits of each sentence.
        self.windows: list[int] = []
        bit = 1
        for sentence in sentences:
            first = bit
            for word in sentence:
                self.masks[word] = self.masks.get(word, 0) | bit
                bit <<= 1
            self.windows.append(bit - first)
            bit <<= 1
            self.words += (*sentence, "")
        self.full = sum(self.windows)


# Bits that are worked on at once: few steps for many short sentences, each on a few machine words.
_SIDE_BY_SIDE = 512


def side_by_side(sentences: Iterable[Sequence[str]]) -> list[Sentences]:
    """The sentences in order, as many side by side as are fast; a longer one alone."""
    groups: list[list[Sequence[str]]] = []
    room = 0
    for sentence in sentences:
        if len(sentence) > room or not groups:
            groups.append([])
            room = _SIDE_BY_SIDE
        groups[-1].append(sentence)
        room -= len(sentence) + 1
    return [Sentences(group) for group in groups]


def _next_row(row: int, mask: int, full: int) -> int:
    """The row below `row`, by the places where its word matches."""
    both = row & mask
    return ((row + both) | (row - both)) & full


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    other = Sentences([second])
    row = other.full
    for word in first:
        if mask := other.masks.get(word):
            row = _next_row(row, mask, other.full)
    return len(second) - row.bit_count()


def common(first: Sequence[str], others: Sentences) -> list[int]:
    """Which of `others.words` stand in longest common subsequences of `first` and each of `others`.

    Of several, the one that is read from the texts' ends: equal words are taken; else `first` steps
    back where that alone makes it shorter, otherwise the other sentence.
    """
    full = row = others.full
    # Of each word of `first`: where it stands, and where the length grows. A row of a word that
    # stands nowhere is that above it.
    rows: list[tuple[int, int]] = []
    for word in first:
        mask = others.masks.get(word, 0)
        if mask:
            row = _next_row(row, mask, full)
        elif rows and not rows[-1][0]:
            continue
        rows.append((mask, full ^ row))
    grown = full ^ row
    if not grown:
        return []
    rows.reverse()
    taken: list[int] = []
    for window in others.windows:
        if not grown & window:
            continue
        for mask, grows in rows:
            stops = (mask | grows) & window
            if not stops:
                break
            last = stops.bit_length() - 1
            if mask >> last & 1:
                taken.append(last)
                window &= (1 << last) - 1
            else:
                window &= (2 << last) - 1
    return taken
