"""M4LE's measures of one answer: BLEU, ROUGE, accuracy and F1 of ids, and the newer ROUGE-Lsum and chrF."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.data.words import marks

if TYPE_CHECKING:
    from jieba import Tokenizer
    from sacrebleu.metrics.bleu import BLEU

# BLEU of a set of answers, from statistics of each (M4LE: per bucket).
#
# Corpus BLEU as M4LE computes it: 4-grams, no smoothing, case kept, sacrebleu's tokenizer 13a for
# English and zh for Chinese, as a fraction. sacrebleu makes the tokens; the n-grams are counted here, four
# times as fast.

ORDER = 4


class Statistics(NamedTuple):
    """An answer's contribution to a corpus BLEU: matched and all n-grams (n = 1 to 4), and both lengths."""

    found: tuple[int, ...]
    total: tuple[int, ...]
    answer_length: int
    reference_length: int

    def flat(self) -> list[int]:
        """The ten numbers in one list, as the column `bleu_statistics` of scores holds them."""
        return [*self.found, *self.total, self.answer_length, self.reference_length]


@lru_cache(maxsize=2)
def _bleu(lang: str) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    made = BLEU(tokenize="zh" if lang == "zh" else "13a")
    tokenize = made.tokenizer._post_tokenizer
    # It sets spaces apart from words as if they were punctuation, but no line ends: five times as fast.
    made.tokenizer._post_tokenizer = lambda line: tokenize(line.replace(" ", "\n"))
    return made


@lru_cache(maxsize=1)
def statistics(answer: str, reference: str, lang: str) -> Statistics:
    """The statistics of an answer, as sacrebleu's `corpus_score` computes them; `lang` is "en" or "zh"."""
    tokenizer = _bleu(lang).tokenizer
    found, gold = (tokenizer(text.rstrip()).split() for text in (answer, reference))
    totals = tuple(max(0, len(found) - n) for n in range(ORDER))
    return Statistics(shared_ngrams(found, gold, ORDER), totals, len(found), len(gold))


def sentence(answer: str, reference: str, lang: str) -> float:
    """The BLEU of one answer, in [0, 1]; a short answer counts only the n-gram orders that it has."""
    found, total, answered, gold = statistics(answer, reference, lang)
    scored = _bleu(lang).compute_bleu(
        [*found], [*total], answered, gold, smooth_method="none", effective_order=True
    )
    # sacrebleu's 100 is 100.00000000000004.
    return round(float(scored.score) / 100, 12)


def shared_ngrams(found: Sequence[str], gold: Sequence[str], order: int) -> tuple[int, ...]:
    """How many n-grams two sequences share, for n = 1 to `order`.

    A repeated n-gram counts as often as it occurs in both. Each n-gram is one number, with a digit for each
    of its tokens that both sequences have; after a token that only one has, digits are 0. The numbers are
    sorted, so that n-grams with a common beginning are neighbours.
    """
    kinds = set(found), set(gold)
    shared = kinds[0] & kinds[1]
    bits = len(shared).bit_length()
    if bits * order > 62:
        counts = (
            [Counter(zip(*(own[i:] for i in range(n)), strict=False)) for own in (found, gold)]
            for n in range(1, order + 1)
        )
        return tuple((one & other).total() for one, other in counts)
    digits = dict.fromkeys(kinds[0] | kinds[1], 0) | {token: i for i, token in enumerate(shared, 1)}
    apart = [0] * order
    row = [*map(digits.__getitem__, found), *apart, *map(digits.__getitem__, gold), *apart]
    tokens = np.array(row, np.int64)
    size = len(row) - order
    digit = ngrams = tokens[:size]
    for n in range(1, order):
        digit = tokens[n : n + size] * (digit > 0)
        ngrams = ngrams << bits | digit
    # The lowest bit says in which sequence an n-gram is.
    ngrams = ngrams << 1
    ngrams[len(found) :] |= 1
    ngrams.sort()
    made: list[int] = []
    for n in range(1, order + 1):
        cut = ngrams >> (bits * (order - n) + 1)
        there = cut & ((1 << bits) - 1) > 0
        ngrams, cut = ngrams[there], cut[there]
        if not len(cut):
            break
        starts = np.concatenate(([0], np.flatnonzero(cut[1:] != cut[:-1]) + 1))
        in_gold = np.add.reduceat(ngrams & 1, starts)
        in_both = np.concatenate((starts[1:], [len(cut)])) - starts
        made.append(int(np.minimum(in_both - in_gold, in_gold).sum()))
    return (*made, *[0] * (order - len(made)))


def corpus(rows: npt.ArrayLike) -> float:
    """The BLEU in [0, 1] of several answers, from their rows of `Statistics.flat`; 0 without any text."""
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 2 * ORDER + 2)
    return float(of_sums(table.sum(axis=0, keepdims=True))[0])


def of_sums(sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The BLEU, in [0, 1], of each row of summed statistics (`results.cells.measure_of_sums`)."""
    found, total = sums[:, :ORDER], sums[:, ORDER : 2 * ORDER]
    length, reference = sums[:, -2].astype(float), sums[:, -1].astype(float)
    there = (found > 0).all(axis=1)
    value = np.zeros(len(sums))
    logs = np.log(found[there] / total[there]).mean(axis=1)
    penalty = np.minimum(0.0, 1 - reference[there] / length[there])
    value[there] = np.exp(logs + penalty)
    return value


# ROUGE-L recall as M4LE computes it, without recursion and in fast integer arithmetic.
#
# English is the package `rouge` 1.0.1: the share of the reference's different words that stand in a
# longest common subsequence of one of its sentences and one of the answer's. Chinese is the package
# `rouge-chinese` 1.0.3 on jieba's words: one longest common subsequence of all tokens, as a share of
# the reference's. Rows of the table of lengths are bit vectors (Hyyrö 2004): bit j is 0 where the
# length grows from column j to j + 1.


# An answer is scored by two metrics, with the same cuts in most tasks.
@lru_cache(maxsize=16)
def recall_en(answer: str, reference: str) -> float:
    """ROUGE-L recall of word types; ValueError if a text has no sentence."""
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
    """ROUGE-L recall of jieba's words; ValueError if a text has no token."""
    hypothesis, gold = _tokens(answer), _tokens(reference)
    if not hypothesis or not gold:
        raise ValueError("a text without a token")
    other = Sentences([hypothesis])
    row = other.full
    for word in gold:
        if mask := other.masks.get(word):
            row = _next_row(row, mask, other.full)
    return (len(hypothesis) - row.bit_count()) / len(gold)


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
    """Sentences in one bit mask: bit j belongs to words[j]; a bit between sentences belongs to no word."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self.words: list[str] = []
        self.masks: dict[str, int] = {}
        # The bits of each sentence, and its words.
        self.windows: list[tuple[int, frozenset[str]]] = []
        bit = 1
        for sentence in sentences:
            first = bit
            for word in sentence:
                self.masks[word] = self.masks.get(word, 0) | bit
                bit <<= 1
            self.windows.append((bit - first, frozenset(sentence)))
            bit <<= 1
            self.words += (*sentence, "")
        self.full = sum(bits for bits, _ in self.windows)


# Bits that are worked on at once: few steps for many short sentences, each on a few machine words.
_SIDE_BY_SIDE = 512


def side_by_side(sentences: Iterable[Sequence[str]]) -> list[Sentences]:
    """The sentences in order, packed into groups that are compared at once.

    A sentence that is longer than a group is alone.
    """
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


def common(first: Sequence[str], others: Sentences) -> list[int]:
    """Indices in `Sentences.words` of the words in a longest common subsequence of `first` and each sentence.

    If there are several, the result is that of a scan from the texts' ends. Equal words are taken. Otherwise
    the scan steps back in `first` if only this makes the subsequence shorter, else in the other sentence.
    """
    full = row = others.full
    # Each word of `first`, where it stands, and where it stands or the length grows. A row of a word that
    # stands nowhere is that above it.
    rows: list[tuple[str, int, int]] = []
    for word in first:
        mask = others.masks.get(word, 0)
        if mask:
            row = _next_row(row, mask, full)
        elif rows and not rows[-1][1]:
            continue
        rows.append((word, mask, mask | full ^ row))
    grown = full ^ row
    if not grown:
        return []
    rows.reverse()
    taken: list[int] = []
    for window, own in others.windows:
        if not grown & window:
            continue
        # Whether the row before was of a word that the sentence lacks: another of these changes nothing.
        idle = False
        for word, mask, stops in rows:
            if word in own:
                idle = False
            elif idle:
                continue
            else:
                idle = True
            stops &= window
            if not stops:
                break
            last = stops.bit_length()
            if (mask & window).bit_length() == last:
                last -= 1
                taken.append(last)
            window &= (1 << last) - 1
    return taken


# ROUGE-Lsum F and chrF: the measures of text overlap that are usual today, for any script.
#
# ROUGE-Lsum is that of the package rouge-score, which a test compares; its tables of lengths take 15 to 18
# times as long as our bit vectors.

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# Scripts without spaces between words: each character with its marks is a token. rouge-score's own
# tokenizer keeps a to z and digits only.
_LETTER = rf"[^\W_{_UNSPACED}]"
# The blocks without marks are told first, which is many times faster.
_NO_MARK = r"[\u309b-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_MARK = rf"(?!{_NO_MARK})[\u0300-\U0001ffff](?<=[{marks()}])"
_TOKEN = re.compile(
    rf"{_LETTER}++(?:{_MARK}{_LETTER}*+)*"
    rf"|(?:{_NO_MARK}|[{_UNSPACED}](?<![{marks()}]))(?:{_MARK})*"
)
# The same in ASCII, in a third of the time.
_ASCII_TOKEN = re.compile("[a-z0-9]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class WordTokenizer:
    """Words in lower case, or characters where a script has no spaces."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, as rouge-score asks for them."""
        text = unicodedata.normalize("NFC", text).lower()
        return (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)


def sentences(text: str) -> list[str]:
    """The lines and sentences of a text."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def rouge_lsum(answer: str, reference: str) -> float:
    """ROUGE-Lsum F in [0, 1], sentence by sentence."""
    tokens = [
        [own for part in sentences(text) if (own := WordTokenizer().tokenize(part))]
        for text in (answer, reference)
    ]
    found, gold = tokens
    left = Counter(word for words in found for word in words)
    sizes = [sum(map(len, own)) for own in tokens]
    hits = 0
    for sentences_ in side_by_side(gold):
        places = {place for other in found for place in common(other, sentences_)}
        for word, n in Counter(sentences_.words[place] for place in places).items():
            matched = min(n, left[word])
            left[word] -= matched
            hits += matched
    # 2PR / (P + R), with P = hits / the answer's tokens and R = hits / the reference's.
    return 2 * hits / sum(sizes) if hits else 0.0


_CHARACTERS = 6


def chrf(answer: str, reference: str) -> float:
    """chrF2 in [0, 1], as sacrebleu computes it: of n-grams of 1 to 6 characters, without white space."""
    found, gold = ("".join(text.split()) for text in (answer, reference))
    orders = min(_CHARACTERS, len(found), len(gold))
    hits = shared_ngrams(found, gold, _CHARACTERS)[:orders]
    if not any(hits):
        return 0.0
    # To the last bit, sacrebleu's percentage as a fraction: added one by one, since `sum` rounds otherwise
    # from Python 3.12 on.
    precision = recall = 0.0
    for i, n in enumerate(hits):
        precision += n / (len(found) - i)
        recall += n / (len(gold) - i)
    precision, recall = precision / orders, recall / orders
    return 100 * (5 * precision * recall / (4 * precision + recall)) / 100


# M4LE's accuracy, exact match and F1 of ids, as its released evaluation.py computes them.
#
# The facts are those of KwanWaiChung/M4LE at 47c2af9; the program here is this project's own.


def cut(text: str, marks: Iterable[str]) -> str:
    """The text cut before the first of each of `marks`, one mark after the other; white space is stripped."""
    for mark in marks:
        text = text.split(mark, maxsplit=1)[0].strip()
    return text.strip()


def accurate(answer: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted answer is a part of the answer, ignoring case."""
    return any(text.lower() in answer.lower() for text in accepted)


def equal(answer: str, accepted: Iterable[str]) -> bool:
    """Whether the answer equals an accepted answer, ignoring case and surrounding white space."""
    return any(text.lower().strip() == answer.lower().strip() for text in accepted)


def id_set(text: str, stop: str | None, comma: str) -> set[str]:
    """The ids, separated by `comma`, in the text up to `stop` (None: in the whole text)."""
    before = text if stop is None else text.split(stop, maxsplit=1)[0]
    return {part.strip() for part in before.strip().split(comma)}


def f1(found: set[str], gold: set[str]) -> float:
    """The F1 of two sets of ids, in [0, 1]."""
    right = len(found & gold)
    # 2PR / (P + R), with P = right / found and R = right / gold.
    return 2 * right / (len(found) + len(gold)) if right else 0.0
