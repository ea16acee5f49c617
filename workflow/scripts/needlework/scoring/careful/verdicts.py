"""A careful reader's verdict on an answer, by the kind of its reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from needlework.scoring.careful.choice import Candidate, chosen, listed_only
from needlework.scoring.careful.dates import months
from needlework.scoring.careful.mentions import Span, mentions, part_of
from needlework.scoring.careful.numerals import number_words
from needlework.scoring.careful.phrases import Cue, common, of_text, reads_letters
from needlework.scoring.careful.statements import ASSERTED, Statement
from needlework.scoring.careful.words import (
    ARTICLES,
    COLON,
    COMMA,
    MOST_REFERENCES,
    QUOTE,
    SENTENCE,
    Words,
    bounded,
    read,
    reference,
    unspaced,
)

Verdict = tuple[float, str]
Mention = TypeVar("Mention")
_ENOUGH = 20
# A longer answer is no part of a reference.
_SHORT = 16
_TAGGED = re.compile(r"<\s*([^<>/\s][^<>/]{0,20}?)\s*>(.*?)<\s*/\s*\1\s*>", re.DOTALL)
# A number with fewer digits is none of an answer's, unless it is expected.
_LONG_NUMBER = 6
_NEXT_QUESTION = re.compile(
    # Only white space of one line before it, and little behind: else line breaks without end take seconds.
    r"\n[^\S\n]*(?:#+ |\*\*)?(?:next )?(?:Question|Q|Human|User|Frage|Pregunta|问题|问|प्रश्न|Câu hỏi|سؤال)"
    r"\s{0,3}\d{0,2}\s{0,3}(?:\*\*)?[:：]",
    re.IGNORECASE,
)
_LAYOUT_TAGS = frozenset("b i u em strong p br li ul ol div span code pre h1 h2 h3 sup sub".split())


def of_words(
    text: str, references: Sequence[str], langs: Sequence[str] = (), *, parts: bool = True
) -> Verdict:
    """1.0 if an answer asserts any of the references, and why.

    `langs` are the languages that the answer may be in, beside English and those of its letters.
    """
    said, references = tagged(text), list(dict.fromkeys(references))
    if not said.strip():
        return 0.0, "empty"
    if said.strip() in references:
        return 1.0, ASSERTED
    if said.isascii() and not _may_mention(said, tuple(references)):
        return 0.0, "other"
    words = read(said)
    if not words.words:
        return 0.0, "empty"
    if {each.strip(" .").casefold() for each in references} <= {"yes", "no"}:
        return _yes_or_no(said, words, references[0].strip(" .").casefold(), langs)
    used = of_text(said, langs, words)
    wanted, numbered = _wanted(tuple(references), used)
    if numbered:
        words = words.with_numbers(used)
    for each in wanted:
        if words.words == each.words:
            return 1.0, ASSERTED
    found: list[Span] = []
    for each, original in zip(wanted, references, strict=True):
        found += mentions(words, each, used, original)
    statement = Statement(words, used)
    if found:
        state = statement.asserted(_few(sorted(set(found))))
        return float(state == ASSERTED), state
    if parts and len(words.words) <= _SHORT:
        short = _stripped(words, statement)
        if short and any(part_of(short, each) for each in wanted):
            return 1.0, "part"
    return 0.0, "other"


def _may_mention(text: str, references: tuple[str, ...]) -> bool:
    """Whether an ASCII answer has the letters of a reference; True where it may have it otherwise."""
    sought = _sought(references)
    if sought is None:
        return True
    small = text.lower()
    letters = small.encode().translate(None, _NO_LETTERS).decode()
    if any(all(stem in letters for stem in stems) for stems, _ in sought):
        return True
    if not any(number for _, number in sought):
        return False
    return _has_number_word(small) or _ROMAN.search(text) is not None


_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


@lru_cache(maxsize=MOST_REFERENCES)
def _sought(references: tuple[str, ...]) -> list[tuple[tuple[str, ...], bool]] | None:
    """The letters with which an answer may mention a reference, and whether it is a number.

    None where it may have others. A number may also be in words.
    """
    sought: list[tuple[tuple[str, ...], bool]] = []
    for text in references:
        words = reference(text)
        if not text.isascii() or _UNSURE.search(text) or not words.words:
            return None
        numbered = words.with_numbers(("en",)).words
        digits = tuple(word.replace(".", "") for word in numbered if word[0].isdigit())
        if digits:
            if any(word in months() for word in numbered):
                return None
            sought.append((digits, True))
            continue
        sought.append((words.stems, False))
        if len(words.words) > 1:
            sought.append((words.stems[-1:], False))
            sought.append((("".join(word[0] for word in words.bare),), False))
    return sought


# References that are found by other letters than their own: abbreviations, other spellings.
_UNSURE = re.compile(
    r"\b(?:yes|no|\w+(?:our|ise|isation|re)|[A-Z]{2,5}|[ivxIVX]+|St|Mt|Jr)\b|\b[A-Z]\.|[:/]"
)
_ROMAN = re.compile("[IVX]{2}")
_GLUED = ("hundert", "tausend", "cento", "mila")


def _has_number_word(small: str) -> bool:
    """Whether a text in small letters has a number word of any language in Latin letters."""
    words = small.encode().translate(_SPACES).decode().split()
    return not number_words().isdisjoint(words) or any(part in small for part in _GLUED)


# Letters stay, and all else is a space.
_SPACES = bytes(code if chr(code).isalpha() else ord(" ") for code in range(128)).ljust(256)


def _yes_or_no(said: str, words: Words, gold: str, langs: Sequence[str]) -> Verdict:
    """The verdict on a question whose answer is yes or no."""
    found = of_yes_or_no(said, langs)
    if found is None:
        statement = Statement(words, of_text(said, langs, words))
        if not statement.of("unknown", "vague") and statement.of("not", "denied"):
            found = "no"
    return float(found == gold), ASSERTED if found == gold else found or "unclear"


@lru_cache(maxsize=MOST_REFERENCES)
def _wanted(references: tuple[str, ...], langs: tuple[str, ...]) -> tuple[list[Words], bool]:
    """The references as words, and whether any has a number, in digits or words."""
    wanted = [reference(text) for text in references]
    numbered = [each.with_numbers(langs) for each in wanted]
    if any(word[0].isdigit() for each in numbered for word in each.words):
        return numbered, True
    return wanted, False


def tagged(text: str) -> str:
    """What the last tag around an answer holds, or all up to a further question that a model invents."""
    text = bounded(text)
    if (further := _NEXT_QUESTION.search(text)) and text[: further.start()].strip():
        text = text[: further.start()].rstrip("\n")
    if "<" not in text:
        return text
    found = [m for m in _TAGGED.finditer(text) if m[1].casefold() not in _LAYOUT_TAGS]
    if not found or not found[-1][2].strip():
        return text
    parts = [found[-1]]
    for match in reversed(found[:-1]):
        if any(map(str.isalnum, text[match.end() : parts[-1].start()])):
            break
        parts.append(match)
    return "\n".join(match[2] for match in reversed(parts))


def _stripped(text: Words, statement: Statement) -> Words | None:
    """A short answer without what introduces it; None where it is long."""
    start = max(
        (cue.end for cue in statement.of("answer", "so") if cue.end < len(text.words)), default=0
    )
    words = text.part(start, len(text.words))
    comma = next((i for i in range(1, len(words.words)) if words.gaps[i] >= COMMA), None)
    if comma is not None:
        words = words.part(0, comma)
    known = common(statement.langs) | ARTICLES
    keep = [i for i, word in enumerate(words.bare) if word not in known]
    if not 0 < len(keep) <= 4 or len(words.words) > 8:
        return None
    if statement.of("not", "or", "unknown", "instead"):
        return None
    return words.pick(keep)


def of_numbers(
    text: str,
    gold: Iterable[int],
    langs: Sequence[str] = (),
    *,
    compared: bool = False,
    digits: int = 2,
) -> Verdict:
    """1.0 if the numbers that an answer gives as its own are exactly `gold`, and why.

    `compared` says that the question asks for the larger: then a comparison counts by its conclusion.
    Numbers of fewer than `digits` digits count nowhere.

    A number of fewer than six digits is none of the answer's unless it is expected, or the answer has
    nothing but numbers ("In chapter 12 of the book, ...").
    """
    wanted, said = set(gold), tagged(text)
    found = given_numbers(said, wanted, langs, compared=compared, digits=digits)
    if found == wanted:
        return 1.0, ASSERTED
    if not found:
        return 0.0, "no number" if said.strip() else "empty"
    return 0.0, "several" if wanted < found else "incomplete" if found < wanted else "other"


def given_numbers(
    said: str,
    wanted: set[int],
    langs: Sequence[str],
    *,
    compared: bool = False,
    digits: int = 2,
) -> set[int]:
    """The numbers that an answer gives as its own."""
    plain = read(said)
    used = of_text(said, langs, plain)
    words = plain.with_numbers(used)
    statement = Statement(words, used)
    every = [
        Candidate(word[:400], i, i + 1)
        for i, word in enumerate(words.words)
        if word.isdecimal() and len(word) >= digits
    ]
    if digits > 1 and not listed_only(statement, every):
        every = [c for c in every if len(c.name) >= _LONG_NUMBER or int(c.name[:18]) in wanted]
    return {
        int(name)
        for name in chosen(statement, _few(every), compared=compared, single=len(wanted) == 1)
    }


def has_number(text: str) -> bool:
    """Whether a text has a number of at least six digits."""
    return any(w.isdecimal() and len(w) >= _LONG_NUMBER for w in read(text).words)


def of_names(
    text: str, gold: Sequence[str], others: Iterable[Sequence[str]], langs: Sequence[str] = ()
) -> Verdict:
    """1.0 if an answer chooses the candidate with one of the names `gold`, and none of `others`."""
    said = tagged(text)
    words = read(said)
    used = of_text(said, langs, words)
    if not words.words:
        return 0.0, "empty"
    statement = Statement(words, used)
    found: list[Candidate] = []
    for names in (gold, *others):
        for name in names:
            spans = mentions(words, reference(name), used, name)
            found += [Candidate(names[0], start, end) for start, end in _few(spans)]
    found = _longest(found)
    if not found:
        return 0.0, "refused" if statement.of("unknown") else "other"
    made = chosen(statement, _few(sorted(found, key=lambda c: c.start)), compared=True)
    if made == {gold[0]}:
        spans = [(c.start, c.end) for c in found if c.name == gold[0]]
        state = statement.asserted(spans) if len(_names_of(found)) == 1 else ASSERTED
        return float(state == ASSERTED), state
    return 0.0, "several" if gold[0] in made else "other" if made else "denied"


def _few(found: list[Mention]) -> list[Mention]:
    """The first and the last mentions of many: a text that repeats itself says no more in between."""
    return found if len(found) <= 2 * _ENOUGH else [*found[:_ENOUGH], *found[-_ENOUGH:]]


def _names_of(found: Iterable[Candidate]) -> set[str]:
    return {candidate.name for candidate in found}


def _longest(found: Sequence[Candidate]) -> list[Candidate]:
    """Candidates that are no part of a longer one's mention."""
    return [
        c
        for c in found
        if not any(
            o.start <= c.start and c.end <= o.end and o.end - o.start > c.end - c.start
            for o in found
        )
    ]


def of_yes_or_no(text: str, langs: Sequence[str] = ()) -> str | None:
    """ "yes" or "no", as an answer says whether the passages hold the answer; None where it says neither."""
    said = tagged(text)
    words = read(said)
    used = of_text(said, langs, words)
    statement = Statement(words, used)
    if not words.words:
        return None
    firsts = [0, *(cue.end for cue in statement.of("answer", "so"))]
    # The longest phrase that begins the answer, or stands behind "the answer is".
    opening = [
        cue
        for cue in statement.of("yes", "no", "vague")
        if cue.start in firsts and (cue.kind == "vague" or _stands(words, cue.end))
    ]
    if opening:
        kind = min(opening, key=lambda cue: (cue.start, -cue.end, cue.kind != "vague")).kind
        return None if kind == "vague" else kind
    # A yes or no for each document.
    listed = [
        cue.kind
        for cue in statement.of("yes", "no")
        if words.gaps[cue.start] >= COLON and words.gaps[cue.end] >= COMMA
    ]
    if listed:
        return "yes" if "yes" in listed else "no"
    spoken = _not_within_others(statement.of("present", "absent"))
    if not spoken or any(cue.start <= spoken[0].start for cue in statement.of("vague")):
        return None
    absent = [i for i, cue in enumerate(spoken) if cue.kind == "absent"]
    if not absent:
        return "yes"
    later = absent[-1] + 1 < len(spoken)
    contrast = any(cue.start >= spoken[absent[-1]].end for cue in statement.of("but"))
    return "yes" if later and contrast else "no"


def _not_within_others(found: Sequence[Cue]) -> list[Cue]:
    """Phrases that are no part of a longer one ("the answer is present" in "... is not present")."""
    return [
        cue
        for cue in found
        if not any(
            other.start <= cue.start
            and cue.end <= other.end
            and other.end - other.start > cue.end - cue.start
            for other in found
        )
    ]


def _stands(words: Words, end: int) -> bool:
    """Whether a yes or no stands by itself: in scripts without spaces, before punctuation."""
    return words.gaps[end] >= COMMA or not reads_letters(words)


def of_list(text: str, expected: Sequence[str], langs: Sequence[str] = ()) -> Verdict:
    """1.0 if an answer lists all the expected words, and no other beside them."""
    said = _COUNTED.sub("\n", tagged(text))
    if said.count("・") > 2:
        said = said.replace("・", "、")
    words = read(said)
    if not words.words:
        return 0.0, "empty"
    statement = Statement(words, of_text(said, langs, words))
    spans = {word: mentions(words, reference(word), (), word) for word in expected}
    begun = min((start for each in spans.values() for start, _ in each), default=0)
    if any(cue.end == begun for cue in statement.of("instead")):
        return 0.0, "denied"
    # Without spaces between words, a letter of one may be an "or" elsewhere.
    if reads_letters(words) and (found := _listed(words, spans, statement.punctuated))[0]:
        return found
    return _listed(words, spans, statement.items)


def _listed(words: Words, spans: Mapping[str, Sequence[Span]], items: Sequence[Span]) -> Verdict:
    """The verdict on a list of these items; `spans` are where each expected word stands."""
    missing, hit = 0, set[int]()
    for each in spans.values():
        own = {i for span in each if (i := _item_of(words, items, span)) is not None}
        missing += not own
        hit |= own
    if missing:
        return 0.0, f"missing:{missing}" if missing < len(spans) else "other"
    more = _beside(words, items, hit)
    return (0.0, f"more:{more}") if more else (1.0, ASSERTED)


def _item_of(words: Words, items: Sequence[Span], span: Span) -> int | None:
    """The item of a list that a word is; None where it is only a part of one."""
    for i, (start, end) in enumerate(items):
        if start <= span[0] < end:
            if unspaced(words.words[span[0]]):
                before, behind = (
                    "".join(words.words[start : span[0]]),
                    "".join(words.words[span[1] : end]),
                )
                whole = not behind or _TAIL.fullmatch(behind) is not None
                return i if whole and (not before or _INTRODUCED.search(before)) else None
            return i
    return None


# How often a word occurs, in brackets, and the number of the next item.
_COUNTED = re.compile(r"[(（][^()（）\n]*\d[^()（）\n]*[)）]\s*(?:\d{1,2}[.)、]\s*)?")
# What may stand around the words of a list in Chinese and Japanese.
_TAIL = re.compile("(?:です|など|等|这些词|这些|出现.*)?")
_INTRODUCED = re.compile("(?:[是为は有]|包括|包含|和|与|及|と|\\d)$")


def _beside(words: Words, items: Sequence[Span], hit: set[int]) -> int:
    """How many further items a list has."""
    first, last = min(hit), max(hit)
    lines = sum(words.gaps[start] >= SENTENCE for start, _ in items) * 2 > len(items)
    more = 0
    for i in range(first, len(items)):
        start, end = items[i]
        if i in hit or _counts(words, items[i]):
            continue
        if i > last and (end - start > 2 or (words.gaps[start] > COMMA and not lines)):
            break
        more += 1
    return more


def _counts(words: Words, item: Span) -> bool:
    """Whether an item is a number, or says how often a word occurs."""
    own = words.words[item[0] : item[1]]
    return any(word[0].isdigit() for word in own) and len(own) <= 3


def denies(text: str, nouns: Sequence[str], langs: Sequence[str] = ()) -> bool:
    """Whether an answer without numbers says in a sentence that there is none of `nouns`.

    Not so where it only says that the model does not know.
    """
    words = read(text)
    used = of_text(text, langs, words)
    statement = Statement(words, used)
    if statement.of("unknown", "vague"):
        return False
    for cue in statement.of("not", "absent", "no"):
        start, end = statement.sentence_of(cue.start)
        if set(words.bare[start:end]) & set(nouns):
            return True
    return False


def leaves_out(text: str, langs: Sequence[str] = ()) -> bool:
    """Whether an answer gives its numbers as another word's, and says that the word asked for has none."""
    words = read(text)
    used = of_text(text, langs, words)
    statement = Statement(words, used)
    places = [i for i, w in enumerate(words.words) if w.isdecimal() and len(w) >= _LONG_NUMBER]
    last = places[-1]
    cut = next(
        (
            i
            for i in range(last + 1, len(words.words))
            if words.gaps[i] >= COMMA or any(c.start == i for c in statement.of("but"))
        ),
        None,
    )
    behind = statement.of("not", "absent", "no")
    if cut is not None and any(c.start >= cut for c in behind):
        return not any(c.start >= cut for c in statement.of("further"))
    further = statement.of("further")
    before = [c for c in behind if c.end <= places[0]]
    before = [c for c in before if not any(c.end <= f.start < places[0] for f in further)]
    apart = any(
        words.gaps[i] >= COMMA or words.gaps[i] == QUOTE
        for c in before[:1]
        for i in range(c.end, places[0] + 1)
    )
    only = any(c.start > before[0].start for c in statement.of("only")) if before else False
    return apart and only
