"""ROUGE-Lsum F and chrF: the measures of text overlap that are usual today, for any script.

ROUGE-Lsum is that of the package rouge-score, which a test compares; its tables of lengths take 15 to 18
times as long as our bit vectors. chrF is sacrebleu's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from needlework.benchmarks.m4le.rouge import common, side_by_side
from needlework.data.words import marks

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# Scripts without spaces between words: each character with its marks is a token. rouge-score's own
# tokenizer keeps a to z and digits only.
_LETTER = rf"[^\W_{_UNSPACED}]"
# The blocks without marks are told first, which is many times faster.
_NO_MARK = r"[\u309b-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_MARK = rf"(?!{_NO_MARK})[\u0300-\U0001ffff](?<=[{marks()}])"
_TOKEN = re.compile(
    rf"{_LETTER}++(?:{_MARK}{_LETTER}*+)*+"
    rf"|(?:{_NO_MARK}|[{_UNSPACED}](?<![{marks()}]))(?:{_MARK})*+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Tokenizer:
    """Words in lower case, or characters where a script has no spaces."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, as rouge-score asks for them."""
        return _TOKEN.findall(unicodedata.normalize("NFC", text).lower())


def sentences(text: str) -> list[str]:
    """The lines and sentences of a text."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def rouge_lsum(answer: str, reference: str) -> float:
    """ROUGE-Lsum F in [0, 1], sentence by sentence."""
    tokens = [
        [own for part in sentences(text) if (own := Tokenizer().tokenize(part))]
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


def chrf(answer: str, reference: str) -> float:
    """chrF2 in [0, 1] of the package sacrebleu: of character n-grams, n = 1 to 6."""
    return float(_chrf().sentence_score(answer, [reference]).score) / 100


@lru_cache(maxsize=1)
def _chrf() -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()
