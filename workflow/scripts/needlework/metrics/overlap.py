"""ROUGE-Lsum F and chrF: the measures of text overlap that are usual today, for any script.

ROUGE-Lsum is that of the package rouge-score, which a test compares; its tables of lengths take forty
times as long as our bit vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from needlework.metrics.m4le_rouge import Sentence, common

if TYPE_CHECKING:
    from sacrebleu.metrics import CHRF

# Scripts without spaces between words: each character is a token. rouge-score's own tokenizer keeps
# a to z and digits only.
_TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Tokenizer:
    """Words in lower case, or characters where a script has no spaces."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, as rouge-score asks for them."""
        return _TOKEN.findall(text.lower())


@lru_cache(maxsize=1)
def _chrf() -> CHRF:
    from sacrebleu.metrics import CHRF

    return CHRF()


def sentences(text: str) -> list[str]:
    """The lines and sentences of a text."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def rouge_lsum(answer: str, reference: str) -> float:
    """ROUGE-Lsum F in [0, 1], sentence by sentence."""
    tokens = [
        [own for part in sentences(text) if (own := Tokenizer().tokenize(part))]
        for text in (answer, reference)
    ]
    found, gold = ([Sentence(words) for words in own] for own in tokens)
    left = [Counter(word for words in own for word in words) for own in tokens]
    sizes = [counts.total() for counts in left]
    hits = 0
    for sentence in gold:
        places = {place for other in found for _, place in common(other, sentence)}
        for place in sorted(places):
            word = sentence.words[place]
            if left[0][word] > 0 and left[1][word] > 0:
                left[0][word] -= 1
                left[1][word] -= 1
                hits += 1
    # 2PR / (P + R), with P = hits / the answer's tokens and R = hits / the reference's.
    return 2 * hits / sum(sizes) if hits else 0.0


def chrf(answer: str, reference: str) -> float:
    """chrF2 in [0, 1] (sacrebleu)."""
    return _chrf().sentence_score(answer, [reference]).score / 100
