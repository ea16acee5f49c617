"""ROUGE-Lsum F and chrF: the measures of text overlap that are usual today, for any script."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import CHRF

# Scripts without spaces between words: each character is a token. rouge-score's own tokenizer keeps
# a to z and digits only.
_TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


class _Tokenizer:
    """Words in lower case, or characters where a script has no spaces."""

    def tokenize(self, text: str) -> list[str]:
        return _TOKEN.findall(text.lower())


@lru_cache(maxsize=1)
def _rouge() -> RougeScorer:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeLsum"], tokenizer=_Tokenizer())


@lru_cache(maxsize=1)
def _chrf() -> CHRF:
    from sacrebleu.metrics import CHRF

    return CHRF()


def rouge_lsum(answer: str, reference: str) -> float:
    """ROUGE-Lsum F in [0, 1] (rouge-score), sentence by sentence."""
    texts = ("\n".join(_SENTENCE_END.split(text)) for text in (reference, answer))
    return float(_rouge().score(*texts)["rougeLsum"].fmeasure)


def chrf(answer: str, reference: str) -> float:
    """chrF2 in [0, 1] (sacrebleu)."""
    return _chrf().sentence_score(answer, [reference]).score / 100
