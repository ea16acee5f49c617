"""BLEU of a set of answers, from statistics of each (M4LE: per bucket).

Corpus BLEU as M4LE computes it: 4-grams, no smoothing, case kept, sacrebleu's tokenizer 13a for
English and zh for Chinese, as a fraction. sacrebleu counts; only the mean over many bootstrap samples is
computed here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU, BLEUScore

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
def _bleu(lang: str) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    tokenizer = "zh" if lang == "zh" else "13a"
    return BLEU(tokenize=tokenizer, smooth_method="none", effective_order=True)


@lru_cache(maxsize=1)
def _scored(answer: str, reference: str, lang: str) -> BLEUScore:
    return _bleu(lang).sentence_score(answer, [reference])


def statistics(answer: str, reference: str, lang: str) -> Statistics:
    """The statistics of an answer, those of sacrebleu's `corpus_score`; `lang` is "en" or "zh"."""
    scored = _scored(answer, reference, lang)
    return Statistics(tuple(scored.counts), tuple(scored.totals), scored.sys_len, scored.ref_len)


def sentence(answer: str, reference: str, lang: str) -> float:
    """The BLEU of one answer, in [0, 1]; of a short one, of the n-grams that it has."""
    # sacrebleu's 100 is 100.00000000000004.
    return round(float(_scored(answer, reference, lang).score) / 100, 12)


def corpus(rows: npt.ArrayLike) -> float:
    """The BLEU, in [0, 1], of answers whose `Statistics.flat` are the rows; 0 of none or of empty ones."""
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
