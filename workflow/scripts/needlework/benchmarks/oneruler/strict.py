"""ONERULER's answers read strictly: numbers, lists of words, and answers that say "none"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache

from needlework.benchmarks.oneruler.wording import Wording
from needlework.scoring.metrics import UNSPACED_RUN, numbers, words_of

# Whether an answer to ONERULER says that there is no such number.
#
# A negation is not enough: "I have no idea", "there is no way to tell" and "알 수 없습니다" say nothing about
# the numbers. An answer says so if a word for "none" stands by itself, or if what it denies is a number,
# or that the text mentions one.

_HANGUL = re.compile("[\uac00-\ud7a3]")
# NFKC has made one form of the wide and the narrow ones, and full stops of "…".
_SENTENCE_END = re.compile("[.!?。؟۔।॥;؛\r\n]")
_COMMA = re.compile("[,،、]")
# A dash or an apostrophe that joins no two letters.
_LOOSE = re.compile(r"(?<!\S)['’-]+|['’-]+(?!\S)")
# Marks that may stand within a phrase: other marks and symbols end what stands by itself.
_WITHIN = frozenset(",،、'’-\u2010\u2011/")

_SIGN = re.compile(r"([#…~*^.()|?])")
# No more of them in a row, so that an answer that repeats itself is read in no time.
_MOST_SUCH = 6
_MOST_BETWEEN = 80
# Of `~`: words, or characters of a script without spaces.
_FEW_WORDS = r"(?:[^ ,]+ ){0,6}?"
_FEW_CHARACTERS = "[^,]{0,16}?"


def says_none(
    text: str,
    none_words: Iterable[str | Wording],
    quotes: Callable[[str], bool] = lambda text: False,
) -> bool:
    """Whether `text` says that there is no number, in one of the wordings or plain phrases.

    A plain phrase (a language's configured words, a prompt's own word) counts anywhere as a whole word,
    unless a wording lists it among the phrases that count only by themselves. A Korean word may have an
    ending. In scripts without spaces a phrase may stand within other characters, but a single character
    ("无") must stand alone: in "无法" it is part of another word.

    If the text `quotes` the model's own context, it says nothing, unless it consists of a plain phrase or
    of a phrase that counts by itself.
    """
    given = list(none_words)
    patterns = [_patterns(wording) for wording in given if isinstance(wording, Wording)]
    plain = [words_of(phrase) for phrase in given if isinstance(phrase, str)]
    spoken = words_of(text)

    def by_itself(words: Sequence[str]) -> bool:
        return any(alone.fullmatch(" ".join(words)) for alone, _ in patterns)

    if spoken not in plain and not by_itself(spoken) and quotes(text):
        return False
    text = unicodedata.normalize("NFKC", text)
    # What stands by itself: between marks other than commas, or on a line.
    lines = _LOOSE.sub("\n", text).translate(_ENDS).split("\n")
    pieces = [" ".join(words_of(line)) for line in lines]
    # Sentences as words and commas, which a phrase may end at.
    sentences = [
        " , ".join(" ".join(words_of(part)) for part in _COMMA.split(sentence))
        for sentence in _SENTENCE_END.split(text)
    ]
    for alone, said in patterns:
        if any(map(alone.fullmatch, pieces)) or any(map(said.search, sentences)):
            return True
    return any(_holds(spoken, phrase) for phrase in plain if not by_itself(phrase))


def _holds(spoken: Sequence[str], phrase: Sequence[str]) -> bool:
    if len(phrase) == 1 and _HANGUL.match(phrase[0]):
        return any(word.startswith(phrase[0]) for word in spoken)
    if len(phrase) == 1 and len(phrase[0]) > 1 and UNSPACED_RUN.fullmatch(phrase[0]):
        return any(phrase[0] in word for word in spoken)
    n = len(phrase)
    return n > 0 and any(spoken[i : i + n] == phrase for i in range(len(spoken)))


class _Ends(dict[int, str]):
    """The table of `str.translate` that puts a line's end for each mark that ends what stands by itself."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        ends = character == "\r" or unicodedata.category(character)[0] in "PS"
        self[code] = new = "\n" if ends and character not in _WITHIN else character
        return new


_ENDS = _Ends()


@lru_cache(maxsize=64)
def _patterns(wording: Wording) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What counts by itself, and what counts anywhere."""
    unspaced = bool(UNSPACED_RUN.match(wording.number))
    few = _FEW_CHARACTERS if unspaced else _FEW_WORDS
    such, number = (_either(listed, "", few) for listed in (wording.such, wording.number))
    space = " ?" if unspaced else " "
    any_number = f"(?:{such}{space}){{0,{_MOST_SUCH}}}{number}"
    alone, said = (_either(listed, any_number, few) for listed in (wording.alone, wording.said))
    if not unspaced:
        said = rf"(?<!\S){said}(?!\S)"
    return re.compile(alone), re.compile(said)


def _either(listed: str, number: str, few: str) -> str:
    """A regular expression for any of several phrases; `number` is that of `#`, `few` that of `~`."""
    signs = {
        "#": number,
        "…": f".{{0,{_MOST_BETWEEN}}}?",
        "~": few,
        "*": r"\S*",
        ".": "(?= ,|$)",
        "(": "(?:",
        **{sign: sign for sign in "^)|?"},
    }
    made = []
    for phrase in listed.split(";"):
        made.append("")
        for text in _SIGN.split(phrase.strip()):
            inner = re.escape(" ".join(words_of(text)))
            before = " " if text.startswith(" ") else ""
            after = " " if inner and text.endswith(" ") else ""
            made[-1] += signs.get(text) or before + inner + after
    return f"(?:{'|'.join(made)})"


# ONERULER's answers read strictly: the answer tag, whole numbers, whole words.
#
# The false verdicts of the released rules (`scores`) are not among theirs. In three respects
# they remain the paper's: numbers of one digit do not count, the numbers found must be exactly the
# expected ones, and a list of common words may hold others besides the ten.

# Korean particles and the copula, alone or one behind the other.
_ENDING = re.compile(
    "(?:은|는|이|가|을|를|와|과|랑|이랑|도|만|의|에|에서|에게|로|으로|부터|까지|하고|들|등|이나|나)?"
    "(?:은|는|이|가|을|를|도|만|의)?(?:입니다|이다|이며|이고|이에요|예요|요|다)?"
)

# Before the next tag of a list: a number, or a key in quotation marks or emphasis.
_LABEL = re.compile(
    r"[\s,;.-]*(?:\(?\d{1,2}[.):]|[\"'“”«»„‘’「『*`][^\n<>]{1,60}[\"'“”«»„‘’」』*`])\s*[:：=-]*\s*"
)
_PLACEHOLDER = re.compile(r"\s*(?:\[.*\]|\{.*\}|\(.*\)|\.\.\.)\s*", re.DOTALL)

# What may stand directly before the first and after the last word of a list ("最常见的词是人民"), and
# between two words ("生活和工作"): no such character where it may begin another word of a dictionary
# (和服, 是正), nor a bare 有, which would leave 人 of 持有人.
_COPULAS = re.compile("(?<=.)[是为為は]|包括|包含|[词詞][语語汇彙]?有")
_JOINTS = "以及|[和与與及と]"
_TAILS = ("です", "など", "等")


def answer(text: str, tags: Iterable[str]) -> str:
    """The part of `text` that is its answer.

    If a tag is closed, the answer is the content of the last of the named tags, in any letter case and with
    or without accents. Consecutive tags are read together if only punctuation, list numbers or quoted labels
    stand between them. If no tag is closed, the answer is the text after the last opened tag; without any
    tag, all of the text. So if an answer repeats itself until the output limit, it is read once.
    """
    text = unicodedata.normalize("NFKC", text)
    brackets = text.count("<")
    if not brackets:
        return text
    once, pattern = _tagged(frozenset(tags))
    # Most answers have one tag, which is closed.
    if brackets == 2 and (closed := once.search(text)):
        return closed["inside"]
    found = list(pattern.finditer(text))
    if not found:
        return text
    # Nothing closes the last, or each is closed.
    if len(found) > 1 and found[-1]["end"] is None:
        found.pop()
    # The tag of the format that was asked for, said again.
    if any(map(_has_digit, found)):
        while not _has_digit(found[-1]) and _PLACEHOLDER.fullmatch(found[-1]["inside"]):
            found.pop()
    parts: list[str] = []
    follows = found[-1].end()
    for match in reversed(found):
        between = text[match.end() : follows]
        if any(map(str.isalnum, between)) and not _LABEL.fullmatch(between):
            break
        parts.append(match["inside"])
        follows = match.start()
    return "\n".join(reversed(parts))


def _has_digit(tag: re.Match[str]) -> bool:
    return any(map(str.isdigit, tag["inside"]))


@lru_cache(maxsize=64)
def _tagged(names: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A closed tag around a text without another, and any tag."""
    given = {unicodedata.normalize("NFKC", name) for name in names}
    for name in list(given):
        # A name in Latin letters also without what stands on them.
        plain = "".join(
            x for x in unicodedata.normalize("NFD", name) if not unicodedata.combining(x)
        )
        given |= {plain} if plain.isascii() else set()
    either = "|".join(map(re.escape, sorted(given, key=lambda name: (-len(name), name))))
    opening = rf"<\s*(?:{either})\s*>"
    inside, closing = rf"(?:(?!{opening}).)*?", rf"<\s*/\s*(?:{either})\s*>"
    return (
        re.compile(rf"{opening}(?P<inside>[^<]*){closing}", re.I),
        re.compile(rf"{opening}(?P<inside>{inside})(?:(?P<end>{closing})|\Z)", re.DOTALL | re.I),
    )


def score_numbers(
    text: str,
    expected: Sequence[str],
    none_words: Iterable[str | Wording],
    quotes: Callable[[str], bool] = lambda text: False,
) -> tuple[float, str]:
    """1.0 if an answer has exactly the `expected` numbers, else 0.0; and the verdict.

    The verdict is "correct"; "partial:<right>/<expected>", with "+<others>" if there are wrong numbers;
    "wrong_number" if no number is right; "none_error" if the answer has no number and says that there is
    none; or "no_number". A word for "none" beside numbers means nothing ("1234567, no others").
    """
    found, wanted = numbers(text), {int(number) for number in expected}
    if not found:
        return 0.0, "none_error" if says_none(text, none_words, quotes) else "no_number"
    if found == wanted:
        return 1.0, "correct"
    right, others = len(found & wanted), len(found - wanted)
    if not right:
        return 0.0, "wrong_number"
    return 0.0, f"partial:{right}/{len(wanted)}" + (f"+{others}" if others else "")


def score_none(
    text: str,
    none_words: Iterable[str | Wording],
    quotes: Callable[[str], bool] = lambda text: False,
) -> tuple[float, str]:
    """1.0 if an answer says that there is no number and gives no number, else 0.0; and the verdict.

    If an answer `quotes` its own context, it says nothing (`says_none`). The verdict is "correct";
    "wrong_number" if it gives a number; or "no_number" if it neither gives one nor says that there is none.
    """
    if numbers(text):
        return 0.0, "wrong_number"
    return (1.0, "correct") if says_none(text, none_words, quotes) else (0.0, "no_number")


def score_words(text: str, expected: Sequence[str]) -> tuple[float, str]:
    """1.0 if an answer has all `expected` words as words of their own, else 0.0; and the verdict.

    The verdict is "correct", "partial:<right>/<expected>" or "wrong_words". An expected word with a space is
    not split: if "công" and "công ty" are both expected, "công" is not found in "công ty"; if only "công" is
    expected, it is. In scripts without spaces, a word must stand between marks of punctuation or among other
    expected words. A Korean word may have an ending.
    """
    sought = [_sought(word) for word in expected]
    parts = {part for phrase in sought for part in phrase}
    said = words_of(text)
    if not text.isascii():
        said = [_without_ending(word, parts) for word in said]
    left, found = _cut(said, parts), set()
    if max(map(len, sought), default=0) <= 1:
        # No word of a phrase can be taken for another.
        found = {phrase for phrase in sought if phrase and phrase[0] in left}
    else:
        for phrase in sorted(set(sought), key=lambda phrase: (-len(phrase), phrase)):
            here, left = _take(list(phrase), left)
            if here:
                found.add(phrase)
    right = sum(phrase in found for phrase in sought)
    if right == len(sought):
        return 1.0, "correct"
    return 0.0, f"partial:{right}/{len(sought)}" if right else "wrong_words"


@lru_cache(maxsize=65536)
def _sought(word: str) -> tuple[str, ...]:
    return tuple(words_of(word))


def _without_ending(word: str, parts: Set[str]) -> str:
    """A Korean word without its particle or copula, if one of `parts` is left; else as it is."""
    if word in parts or not word or not "가" <= word[0] <= "힣":
        return word
    stems = (word[:end] for end in range(len(word) - 1, 0, -1))
    return next((s for s in stems if s in parts and _ENDING.fullmatch(word[len(s) :])), word)


def _take(phrase: Sequence[str], words: list[str]) -> tuple[bool, list[str]]:
    """Whether `phrase` stands in `words`, and what is left where it is taken out."""
    if not phrase or phrase[0] not in words:
        return False, words
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
