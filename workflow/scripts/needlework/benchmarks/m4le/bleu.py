"""BLEU of a set of answers, from statistics of each (M4LE: per bucket).

Corpus BLEU as M4LE computes it: 4-grams, no smoothing, case kept, sacrebleu's tokenizer 13a for
English and zh for Chinese, as a fraction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.benchmarks.m4le.ngrams import hits

ORDER = 4


class Statistics(NamedTuple):
    """What an answer adds to a corpus' BLEU: n-grams found and in all (n = 1 to 4), and both lengths."""

    found: tuple[int, ...]
    total: tuple[int, ...]
    answer_length: int
    reference_length: int

    def flat(self) -> list[int]:
        """The ten numbers in one list, as the column `bleu_statistics` of scores holds them."""
        return [*self.found, *self.total, self.answer_length, self.reference_length]


@lru_cache(maxsize=2)
def _tokenizer(lang: str) -> Callable[[str], str]:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="zh" if lang == "zh" else "13a").tokenizer


def statistics(answer: str, reference: str, lang: str) -> Statistics:
    """The statistics of an answer, those of sacrebleu's `corpus_score`; `lang` is "en" or "zh"."""
    tokenize = _tokenizer(lang)
    found, gold = (tokenize(text.rstrip()).split() for text in (answer, reference))
    codes = {token: code for code, token in enumerate(dict.fromkeys(gold))}
    of_answer = np.array([codes.get(token, -1) for token in found], np.int64)
    of_reference = np.array([codes[token] for token in gold], np.int64)
    return Statistics(
        tuple(hits(of_answer, of_reference, ORDER)),
        tuple(max(0, len(found) - n) for n in range(ORDER)),
        len(found),
        len(gold),
    )


def sentence(own: Statistics) -> float:
    """The BLEU of one answer, in [0, 1]; of a short one, of the n-grams that it has."""
    orders = [(found, total) for found, total in zip(own.found, own.total, strict=True) if total]
    if not orders or not own.reference_length or not all(found for found, _ in orders):
        return 0.0
    logs = sum(float(np.log(found / total)) for found, total in orders) / len(orders)
    return float(np.exp(logs)) * _brevity(own.answer_length, own.reference_length)


def _brevity(length: float, reference: float) -> float:
    return float(np.exp(min(0.0, 1 - reference / length))) if length else 0.0


def corpus(rows: npt.ArrayLike) -> float:
    """The BLEU, in [0, 1], of answers whose `Statistics.flat` are the rows; 0 of none or of empty ones."""
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 2 * ORDER + 2)
    return float(of_sums(table.sum(axis=0, keepdims=True))[0])


def of_sums(sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The BLEU, in [0, 1], of each row of summed statistics (`results.measures.of_sums`)."""
    found, total = sums[:, :ORDER], sums[:, ORDER : 2 * ORDER]
    length, reference = sums[:, -2].astype(float), sums[:, -1].astype(float)
    there = (found > 0).all(axis=1)
    value = np.zeros(len(sums))
    logs = np.log(found[there] / total[there]).mean(axis=1)
    penalty = np.minimum(0.0, 1 - reference[there] / length[there])
    value[there] = np.exp(logs + penalty)
    return value
