"""ONERULER's answers read strictly: the answer tag, whole numbers, whole words.

The false verdicts of the released rules (`released_oneruler`) are not among theirs. In three respects
they remain the paper's: numbers of one digit do not count, the numbers found must be exactly the
expected ones, and a list of common words may hold others besides the ten.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from needlework.metrics.oneruler_none import says_none
from needlework.metrics.oneruler_wording import Wording
from needlework.metrics.oneruler_words import UNSPACED_RUN, words_of

# What stands between groups of digits: 1,234,567 1.234.567 1 234 567 1'234'567, in India 12,34,567.
_GROUPED = re.compile(r"(?<!\d)\d{1,3}([,.' ])\d{3}(?:\1\d{3})*(?!\d)")
_GROUPED_INDIAN = re.compile(r"(?<!\d)\d{1,2}(?:,\d{2})+,\d{3}(?!\d)")
_SEPARATORS = str.maketrans({"\u066c": ",", "\u060c": ",", "\u066b": ".", "\u2019": "'"})

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)

# What may stand directly before the first and after the last word of a list ("最常见的词是人民"), and
# between two words ("生活和工作"): no such character where it may begin another word of a dictionary
# (和服, 是正), nor a bare 有, which would leave 人 of 持有人.
_COPULAS = re.compile("(?<=.)[是为為は]|包括|包含|[词詞][语語汇彙]?有")
_JOINTS = "以及|[和与與及と]"
_TAILS = ("です", "など", "等")


def spoken(text: str) -> str:
    """`text` without what a reasoning model thought (<think>...</think>)."""
    return _THOUGHTS.sub("", text).rpartition("</think>")[2]


def answer(text: str, tags: Iterable[str]) -> str:
    """The part of `text` that is its answer.

    That is what stands in the last of the named tags, whatever their case; in several where nothing
    but punctuation is between them; where no tag is closed, after the last that is opened; or else all
    of the text. So an answer that says itself again until the output limit cuts it is read once.
    """
    text = unicodedata.normalize("NFKC", text)
    found = list(_tagged(frozenset(tags)).finditer(text))
    if not found:
        return text
    # Nothing closes the last, or each is closed.
    if len(found) > 1 and found[-1].group(2) is None:
        found.pop()
    parts: list[str] = []
    follows = found[-1].end()
    for match in reversed(found):
        if any(character.isalnum() for character in text[match.end() : follows]):
            break
        parts.append(match.group(1))
        follows = match.start()
    return "\n".join(reversed(parts))


@lru_cache(maxsize=64)
def _tagged(names: frozenset[str]) -> re.Pattern[str]:
    either = "|".join(re.escape(unicodedata.normalize("NFKC", name)) for name in sorted(names))
    opening = rf"<\s*(?:{either})\s*>"
    inside = rf"(?:(?!{opening}).)*?"
    return re.compile(rf"{opening}({inside})(?:(<\s*/\s*(?:{either})\s*>)|\Z)", re.DOTALL | re.I)


def numbers(text: str) -> set[int]:
    """The numbers of two digits or more in `text`, in any script's digits, grouped or not."""
    text = unicodedata.normalize("NFKC", text)
    text = text.translate(_DIGITS).translate(_SEPARATORS)
    for pattern in (_GROUPED_INDIAN, _GROUPED):
        text = pattern.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    return {int(digits) for digits in re.findall("[0-9]+", text) if len(digits) > 1}


class _Digits(dict):
    """The table of `str.translate` for digits of any script, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        value = unicodedata.decimal(character, None)
        if value is not None:
            new = str(value)
        else:
            new = "" if unicodedata.category(character) == "Cf" else character
        self[code] = new
        return new


_DIGITS = _Digits()


def score_numbers(
    text: str, expected: Sequence[str], none_words: Iterable[str | Wording]
) -> tuple[float, str]:
    """1.0 if the numbers in an answer are exactly the `expected` ones, and why.

    Verdicts: "correct"; "partial:<right>/<expected>", with "+<others>" where there are wrong ones;
    "wrong_number" where none is right; "none_error" where the answer has no number and says that there
    is none; "no_number". A word for "none" beside numbers means nothing ("1234567, no others").
    """
    found, wanted = numbers(text), {int(number) for number in expected}
    if not found:
        return 0.0, "none_error" if says_none(text, none_words) else "no_number"
    if found == wanted:
        return 1.0, "correct"
    right, others = len(found & wanted), len(found - wanted)
    if not right:
        return 0.0, "wrong_number"
    return 0.0, f"partial:{right}/{len(wanted)}" + (f"+{others}" if others else "")


def score_none(text: str, none_words: Iterable[str | Wording]) -> tuple[float, str]:
    """1.0 if an answer says that there is no number, and gives none, and why.

    Verdicts: "correct", "wrong_number" where it gives a number, "no_number" where it does neither.
    """
    if numbers(text):
        return 0.0, "wrong_number"
    return (1.0, "correct") if says_none(text, none_words) else (0.0, "no_number")


def score_words(text: str, expected: Sequence[str]) -> tuple[float, str]:
    """1.0 if all `expected` words stand in an answer, each as a word of its own, and why.

    Verdicts: "correct", "partial:<right>/<expected>", "wrong_words". A word that is written with
    spaces stands for itself alone if it is expected: "công" is not found in "công ty" if both are, but
    it is if "công ty" is only what the model answered. In scripts without spaces a word stands between
    marks of punctuation, or among other expected words.
    """
    sought = [tuple(words_of(word)) for word in expected]
    left, found = _cut(words_of(text), {part for phrase in sought for part in phrase}), set()
    for phrase in sorted(set(sought), key=lambda phrase: (-len(phrase), phrase)):
        here, left = _take(list(phrase), left)
        if here:
            found.add(phrase)
    right = sum(phrase in found for phrase in sought)
    if right == len(sought):
        return 1.0, "correct"
    return 0.0, f"partial:{right}/{len(sought)}" if right else "wrong_words"


def _take(phrase: Sequence[str], words: list[str]) -> tuple[bool, list[str]]:
    """Whether `phrase` stands in `words`, and what is left where it is taken out."""
    if not phrase or phrase[0] not in words:
        return False, words
    if len(phrase) == 1:
        return True, ["" if word == phrase[0] else word for word in words]
    left: list[str] = []
    found, i = False, 0
    while i < len(words):
        here = words[i : i + len(phrase)] == phrase
        # Something remains in its place, so that its neighbours do not become each other's.
        left.append("" if here else words[i])
        i += len(phrase) if here else 1
        found = found or here
    return found, left


def _cut(words: Iterable[str], parts: Iterable[str]) -> list[str]:
    """`words`, with runs that consist of `parts`, and of what joins these, cut into them."""
    unspaced = sorted((p for p in parts if UNSPACED_RUN.fullmatch(p)), key=lambda p: (-len(p), p))
    if not unspaced:
        return list(words)
    one = re.compile("|".join(map(re.escape, unspaced)))
    listed = re.compile(f"(?:以及)?(?:{one.pattern})(?:(?:{_JOINTS})?(?:{one.pattern}))*")
    cut: list[str] = []
    for word in words:
        for start in (0, *(found.end() for found in _COPULAS.finditer(word))):
            rest = word[start:]
            ends = [rest, *(rest.removesuffix(tail) for tail in _TAILS)]
            match = next((end for end in ends if listed.fullmatch(end)), None)
            if match is not None:
                cut += one.findall(match)
                break
        else:
            cut.append(word)
    return cut
