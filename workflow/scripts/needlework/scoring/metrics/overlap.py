"""ROUGE-Lsum F and chrF: the measures of text overlap that are usual today, for any script.

ROUGE-Lsum is that of the package rouge-score, which a test compares; its tables of lengths take forty
times as long as our bit vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from needlework.scoring.metrics.m4le_rouge import Sentence, common

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
    """chrF2 in [0, 1], which is that of the package sacrebleu: of character n-grams, n = 1 to 6.

    An n-gram of the answer can only be in the reference if the one before its last character is, so few
    places of a long answer are looked at for every n.
    """
    found, gold = _characters(answer), _characters(reference)
    precision = recall = 0.0
    orders = min(_ORDER, len(found), len(gold))
    for hits, n in zip(_hits(found, gold), range(orders), strict=True):
        precision += hits / (len(found) - n)
        recall += hits / (len(gold) - n)
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 5 * precision * recall / (4 * precision + recall)


_ORDER = 6
_Codes = npt.NDArray[np.int64]


@lru_cache(maxsize=1024)
def _characters(text: str) -> _Codes:
    """The characters of a text but white space."""
    joined = "".join(text.split())
    return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)


def _hits(found: _Codes, gold: _Codes) -> Iterator[int]:
    """How many n-grams both have in common, for n = 1 to _ORDER, as long as both have some."""
    letters, gold = np.unique(gold, return_inverse=True)
    # Where an n-gram of the answer that the reference has may begin; its number among these.
    at = np.searchsorted(letters, found)
    at[at == len(letters)] = 0
    found = np.where(letters[at] == found, at, -1) if len(letters) else found * 0 - 1
    starts = np.arange(len(found))
    prefix, own = np.zeros(len(found), np.int64), np.zeros(len(gold), np.int64)
    for n in range(min(_ORDER, len(found), len(gold))):
        starts = starts[starts + n < len(found)]
        prefix = prefix[: len(starts)]
        follows = found[starts + n]
        starts, prefix, follows = (part[follows >= 0] for part in (starts, prefix, follows))
        keys = own[: len(gold) - n] * len(letters) + gold[n:]
        known, own, counts = np.unique(keys, return_inverse=True, return_counts=True)
        wanted = prefix * len(letters) + follows
        place = np.searchsorted(known, wanted)
        place[place == len(known)] = 0
        there = known[place] == wanted
        starts, prefix = starts[there], place[there]
        yield int(np.minimum(np.bincount(prefix, minlength=len(known)), counts).sum())
