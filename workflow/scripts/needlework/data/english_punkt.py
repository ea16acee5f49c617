"""Sentences and words of a text as NLTK 3.8.1 cuts them: Punkt with its English model, in every language.

mLongRR's haystacks and needles are placed by them. The rules follow Kiss and Strunk (2006), section 4, as
NLTK 3.8.1 applies them. The trained model is resources/mlongrr/english_punkt.txt. No installed NLTK is used,
since later versions treat curly quotation marks as closing marks and cut elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from needlework.errors import UserError

_PARTS = ("abbreviations", "starters", "collocations", "lower", "lower_or_upper", "lower_first")

# A character that stands in no word, and marks of several characters.
_NO_WORD = r"[)\";}\]*:@'({\[!?]"
_MARKS = r"-{2,}|\.{2,}|(?:\.\s){2,}\."
_TOKEN = re.compile(
    rf"{_MARKS}"
    rf"|[^(\"`{{\[:;&#*@)}}\]\-,\s]\S*?(?=\s|$|{_NO_WORD}|{_MARKS}|,(?=$|\s|{_NO_WORD}|{_MARKS}))"
    r"|\S"
)
_STOP = re.compile(rf"[.?!](?=(?P<after>{_NO_WORD}|\s+(?P<next>\S+)))")
# Only these are white space before a word that may end a sentence.
_SPACE = re.compile(r"[ \t\n\r\x0b\x0c]")
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.\-]*\.?")
_INITIAL = re.compile(r"[^\W\d]\.$")
_ELLIPSIS = re.compile(r"\.\.+")


@dataclass(frozen=True)
class Model:
    """The model of English words, all in small letters."""

    # Without their last stop.
    abbreviations: frozenset[str]
    # Words that often begin a sentence.
    starters: frozenset[str]
    # Pairs of words that a stop between them does not separate.
    collocations: frozenset[tuple[str, str]]
    # Words written with a small letter.
    lower: frozenset[str]
    # Words of `lower` that also have a capital within sentences.
    capital_inside: frozenset[str]
    # Words that begin sentences with a small letter and never have a capital.
    lower_first: frozenset[str]


def load(path: str | Path) -> Model:
    """The model of english_punkt.txt. Raises UserError if it is missing or incomplete."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{path} cannot be read: restore it with `git checkout`.") from None
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        elif not line.startswith("% ") and found:
            found[next(reversed(found))].append(line)
    if tuple(found) != _PARTS:
        raise UserError(
            f"{path} has the parts {', '.join(found) or 'none'} instead of {', '.join(_PARTS)}: restore it "
            "with `git checkout`."
        )
    words = {part: frozenset(" ".join(lines).split()) for part, lines in found.items()}
    pairs = (line.partition(" ") for line in found["collocations"])
    return Model(
        words["abbreviations"],
        words["starters"],
        frozenset((first, second) for first, _, second in pairs),
        words["lower"] | words["lower_or_upper"],
        words["lower_or_upper"],
        words["lower_first"],
    )


def sentences(text: str, model: Model) -> list[tuple[int, int]]:
    """The sentences of `text` as [start, end) in characters, without the white space between them."""
    return list(_realigned(text, _cut(text, model)))


def _cut(text: str, model: Model) -> Iterator[tuple[int, int]]:
    start = 0
    for found, before in _candidates(text):
        if _is_break(before + found.group() + found["after"], model):
            yield start, found.end()
            start = found.start("next") if found["next"] else found.end()
    yield start, len(text.rstrip())


def _candidates(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each stop that may end a sentence, with what stands before it since the last white space.

    Of several in one word the last counts.
    """
    last: tuple[re.Match[str], str] | None = None
    word_start = word_end = 0
    for found in _STOP.finditer(text):
        before = text[word_end : found.start()]
        spaces = list(_SPACE.finditer(before))
        # White space at the very beginning does not count.
        if spaces and spaces[-1].start() > 0:
            start = word_end + spaces[-1].start() + 1
        else:
            start = word_start
        if last and word_end <= start:
            yield last
        word_start, word_end = start, found.start()
        last = found, text[word_start:word_end]
    if last:
        yield last


def _realigned(text: str, cut: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The sentences, each with the closing marks that a cut left to the next one."""
    moved = 0
    for (start, end), following in pairwise([*cut, None]):  # type: ignore[misc]  # the last alone is None
        start += moved
        if following is None:
            if text[start:end]:
                yield start, end
            return
        closing = _CLOSING.match(text[following[0] : following[1]])
        if closing:
            yield start, following[0] + len(closing.group().rstrip())
            moved = closing.end()
        else:
            moved = 0
            if text[start:end]:
                yield start, end


def _is_break(context: str, model: Model) -> bool:
    """Whether a sentence ends within `context`, a word with its stop and what follows."""
    tokens = [
        token for line in context.split("\n") if line.strip() for token in _TOKEN.findall(line)
    ]
    return any(_ends(token, following, model) for token, following in pairwise(tokens))


def _ends(token: str, following: str, model: Model) -> bool:
    """Whether a sentence ends between two tokens (section 4 of the paper)."""
    if not token.endswith("."):
        return token in ("?", "!")
    ellipsis = bool(_ELLIPSIS.fullmatch(token))
    ends = abbreviation = False
    if not token.endswith(".."):
        small = token[:-1].lower()
        known = model.abbreviations
        abbreviation = token != "." and (small in known or small.split("-")[-1] in known)
        ends = not abbreviation
    word, next_word = _type(token), _type(following)
    word = word[:-1] if len(word) > 1 and word[-1] == "." else word
    next_word = _without_stop(following, next_word, model)
    if (word, next_word) in model.collocations:
        return False
    initial = bool(_INITIAL.match(token))
    begins = _begins(following, next_word, model)
    if (abbreviation or ellipsis) and not initial:
        capital = following[0].isupper()
        if begins or (capital and next_word in model.starters):
            return True
    if initial or word == "##number##":
        if begins is False:
            return False
        unknown = begins is None and following[0].isupper()
        if initial and unknown and next_word not in model.lower:
            return False
    return ends


def _type(token: str) -> str:
    small = token.lower()
    return "##number##" if _NUMBER.fullmatch(small) else small


def _without_stop(token: str, word: str, model: Model) -> str:
    """The type of the second token, without the stop that would end a sentence."""
    if token in (".", "?", "!") or not token.endswith(".") or token.endswith(".."):
        return word
    small = token[:-1].lower()
    if small in model.abbreviations or small.split("-")[-1] in model.abbreviations:
        return word
    return word[:-1] if len(word) > 1 and word[-1] == "." else word


def _begins(token: str, word: str, model: Model) -> bool | None:
    """Whether a word begins a sentence, by its first letter; None if that does not tell (4.1.1)."""
    if token in (";", ":", ",", ".", "!", "?"):
        return False
    if token[0].isupper() and word in model.lower and word not in model.capital_inside:
        return True
    if token[0].islower() and word not in model.lower_first:
        return False
    return None


# Where word_tokenize puts spaces, in its order (the Penn Treebank's conventions, and what NLTK added).
_SPACED = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[«“‘„]|`+", r" \g<0> "),
        (r"^\"|(?<=[ (\[{<])(?:\"|'{2})", " `` "),
        (r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)", "' "),
        (r"([^.])(\.)([\])}>\"'»”’ ]*)\s*$", r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"[:,]$|\.{2,}|[;@#$%&]", r" \g<0> "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"(?<=[^'])' ", " ' "),
        (r"[*\[\](){}<>]|--", r" \g<0> "),
        (r"^|$", " "),
        (r"[»”’]|''|\"", r" \g<0> "),
        (r"(?<=[^' ])('[sSmMdD]?) ", r" \1 "),
        (r"(?<=[^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r" \1 "),
        (
            r"(?i)\b(can(?=not\b)|d(?='ye\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|more(?='n\b)"
            r"|wan(?=na\s))",
            r"\1 ",
        ),
        (r"(?i)(?<= )('t)(?=(?:is|was)\b)", r"\1 "),
    )
)


def count_words(text: str, model: Model) -> int:
    """How many words and marks `text` has, as NLTK's word_tokenize counts them."""
    return sum(_count_words(text[start:end]) for start, end in sentences(text, model))


def _count_words(sentence: str) -> int:
    for pattern, replacement in _SPACED:
        sentence = pattern.sub(replacement, sentence)
    return len(sentence.split())
