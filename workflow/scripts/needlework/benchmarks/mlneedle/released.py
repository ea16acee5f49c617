"""MLNeedle's released scorer, more lenient than the definition in the paper (`containment`).

The facts are those of `compute_accuracy.py` and `utils.py` in AmeyHengle/
multilingual-needle-in-a-haystack at d2e54e9; the program here is this project's own. Left out is the
third part of the released "accuracy" column, a cosine of at least 0.95 between the embeddings of
answer and reference by all-mpnet-base-v2, which the paper does not mention.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from functools import lru_cache

_JSON_PREAMBLE = "here is the answer in json format:"
_TO_SPACE = str.maketrans("\n\\/", "   ")
# "<" and ">" survive because they mark the empty answer; other scripts' punctuation always does.
_DROP = str.maketrans("", "", "".join(set(string.punctuation) - set("<>")))


def clean(text: str) -> str:
    """`text` as the released scorer compares it.

    Two quirks are kept: pairs of spaces are halved twice instead of until none is left, and an empty
    text becomes "<empty>", so that an empty answer holds the references "empty" and "e".
    """
    text = (text or "<Empty>").lower().replace(_JSON_PREAMBLE, "").strip()
    text = text.translate(_TO_SPACE).replace("  ", " ").replace(",", "")
    return text.replace("  ", " ").translate(_DROP).strip()


_cleaned_reference = lru_cache(maxsize=65536)(clean)


def score(prediction: str, translated: str | None, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the released scorer accepts the answer or its English translation, and why.

    A reference is met if it is part of the text, or if each of its words is a word of the text. Three
    more quirks are kept: a reference that repeats a word cannot be met the second way (the released
    code counts the distinct words that occur and asks for as many as the reference has), a reference
    of which cleaning leaves nothing is part of every text, and parts may begin inside words.

    The verdict is "match:<text>:<i>" (part of the text) or "words:<text>:<i>" (all words occur) with
    the first text ("raw", "translated") and reference to agree, else "no_match", or "empty" where
    there is no text at all.
    """
    texts = (
        {"raw": prediction} if translated is None else {"raw": prediction, "translated": translated}
    )
    references = [_cleaned_reference(reference) for reference in references]
    for name, text in texts.items():
        text = clean(text)
        words = set(text.split())
        for index, reference in enumerate(references):
            if reference in text:
                return 1.0, f"match:{name}:{index}"
            if len(words.intersection(reference.split())) == len(reference.split()):
                return 1.0, f"words:{name}:{index}"
    return 0.0, "no_match" if any(text.strip() for text in texts.values()) else "empty"
