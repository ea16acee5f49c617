"""The form in which best_subspan_em compares answers.

The choice of distractors uses it too, so it is apart from the scores: a change of scoring does not rebuild
prompts. The rules follow `metrics.py` in nelson-liu/lost-in-the-middle at 29b8a6d; no code is copied.
"""

from __future__ import annotations

import re
import string

_DROP = str.maketrans("", "", string.punctuation)
# ASCII is translated as bytes, ten times as fast.
_DROP_BYTES = string.punctuation.encode()
# A combining accent belongs to its letter, as in the released code's `regex`: "a" in a decomposed "à" is
# no article. Python's `re` alone would part the two.
_IN_WORD = r"[\w\u0300-\u036f]"
# It looks back only behind a first letter: the search for one is many times faster so.
_ARTICLE = re.compile(rf"(?:a(?<!{_IN_WORD}a)n?|t(?<!{_IN_WORD}t)he)(?!{_IN_WORD})")


def normalise(text: str) -> str:
    """`text` in lower case, without ASCII punctuation and the articles a, an, the, with white space folded.

    Punctuation is deleted first ("U.S." -> "us", "and/or" -> "andor"), then articles ("a.m." -> "am"). Other
    scripts' punctuation stays. The articles are deleted in every language.
    """
    if text.isascii():
        kept = text.lower().encode().translate(None, _DROP_BYTES).decode()
    else:
        kept = text.lower().translate(_DROP)
    return " ".join(_ARTICLE.sub(" ", kept).split())
