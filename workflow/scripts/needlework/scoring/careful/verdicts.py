"""The second scorer's verdict on an answer, by the kind of its reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from needlework.scoring.careful.mentions import Span, akin, mentions, partly
from needlework.scoring.careful.phrases import Cue, of_text, reads_letters
from needlework.scoring.careful.spelled import (
    is_cardinal,
    is_spelled,
    numbers_of,
    with_digits,
    with_sought,
)
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

# Which of several candidates an answer chooses: numbers, cities, classes.


class Candidate(NamedTuple):
    """A candidate's name and where the answer mentions it."""

    name: str
    start: int
    end: int


def chosen(
    statement: Statement, found: Sequence[Candidate], *, compared: bool, single: bool = True
) -> set[str]:
    """The candidates that an answer gives as its own, after denials, conclusions and comparisons."""
    kept = [c for c in found if not _dismissed(statement, c)]
    if single:
        kept = _behind_but(statement, kept) or kept
    if len(_names(kept)) <= 1:
        return _names(kept)
    for decide in (_concluded, _largest, _settled, _compared) if compared else (_concluded,):
        fewer = decide(statement, kept)
        if len(_names(fewer)) == 1:
            return _names(fewer)
        kept = fewer or kept
    return _names(kept)


# Between a word such as "largest" and its candidate.
_FEW_BETWEEN = 4


def _names(found: Iterable[Candidate]) -> set[str]:
    return {candidate.name for candidate in found}


def _dismissed(statement: Statement, candidate: Candidate) -> bool:
    state = statement.state_of((candidate.start, candidate.end))
    return state in ("denied", "asked")


def _behind_but(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of the last clause that a "but" or a correction begins."""
    for clause in reversed(statement.clauses):
        if clause.lead in ("but", "retract"):
            return [c for c in found if clause.start <= c.start < clause.end]
    return []


def _concluded(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of the last conclusion; none without one."""
    for cue in reversed(statement.of("answer", "so")):
        end = statement.end_of_sentence(cue.end)
        inside = [c for c in found if cue.end <= c.start < end]
        if inside:
            return inside
    return []


def _settled(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The one candidate of the last line or behind the last colon, if it is named before."""
    gaps = statement.text.gaps
    cut = next((i for i in range(len(gaps) - 2, 0, -1) if gaps[i] in (COLON, SENTENCE)), 0)
    last = [c for c in found if c.start >= cut]
    again = _names(last) & _names(c for c in found if c.start < cut)
    few = len(statement.text.words) - cut <= _FEW_BETWEEN
    return last if cut and few and len(_names(last)) == 1 and again else []


def _compared(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The larger of a comparison in the last sentence that has one; none without one."""
    for cue in reversed(statement.of("more", "less")):
        start, end = statement.sentence_of(cue.start)
        before = [c for c in found if start <= c.start and c.end <= cue.start]
        after = [c for c in found if cue.end <= c.start < end]
        if cue.kind == "more" and before and (after or len(_names(before)) > 1):
            return before[-1:]
        if cue.kind == "less" and before and len(_names(after)) == 1:
            return after[:1]
        if not before and after and cue.kind == "more" and len(_names(after)) == 1:
            return after
    return []


def _largest(statement: Statement, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidate that is called the largest: behind "the largest is", else before "the largest"."""
    for cue in reversed(statement.of("largest")):
        start, end = statement.sentence_of(cue.start)
        joints = [c.end for c in statement.of("is") if 0 <= c.start - cue.end <= _FEW_BETWEEN][:1]
        if statement.text.gaps[cue.end] == COLON:
            joints, end = [cue.end], len(statement.text.words)
        for joint in joints:
            behind = [c for c in found if 0 <= c.start - joint <= _FEW_BETWEEN and c.start < end]
            if behind:
                return behind[:1]
        for word, place in (("former", 0), ("latter", -1)):
            if word in statement.text.words[start:end]:
                earlier = [c for c in found if c.start < end]
                return [earlier[place]]
        before = [c for c in found if start <= c.start and c.end <= cue.start]
        if len(_names(before)) == 1 or (before and cue.start - before[-1].end <= _FEW_BETWEEN):
            return before[-1:]
    return []


Verdict = tuple[float | None, str]
# Evidence that an answer is wrong; what else an answer does with a reference decides nothing.
_AGAINST = frozenset({"denied", "refused", "replaced"})
Mention = TypeVar("Mention")
_ENOUGH = 20
# An answer of so many words says yes or no and nothing else.
_FEW = 3
_TAGGED = re.compile(r"<\s*([^<>/\s][^<>/]{0,20}?)\s*>(.*?)<\s*/\s*\1\s*>", re.DOTALL)
# A list's "and" or "or" has at most so many letters.
_LONGEST_JOINT = 4
# A number with fewer digits is none of an answer's, unless it is expected.
_LONG_NUMBER = 6
_NEXT_QUESTION = re.compile(
    # Only white space of one line before it, and little behind: else line breaks without end take seconds.
    r"\n[^\S\n]*(?:#+ |\*\*)?(?:next )?(?:Question|Q|Human|User|Frage|Pregunta|问题|问|प्रश्न|Câu hỏi|سؤال)"
    r"\s{0,3}\d{0,2}\s{0,3}(?:\*\*)?[:：]",
    re.IGNORECASE,
)
_LAYOUT_TAGS = frozenset("b i u em strong p br li ul ol div span code pre h1 h2 h3 sup sub".split())


def judged(state: str) -> float | None:
    """1.0 for an asserted reference, 0.0 if there is evidence against it, None if undecided."""
    return 1.0 if state == ASSERTED else 0.0 if state in _AGAINST else None


def of_words(text: str, references: Sequence[str], langs: Sequence[str] = ()) -> Verdict:
    """1.0 if an answer asserts any of the references, and the verdict.

    `langs` are the languages that the answer may be in, beside English and the languages of its letters.
    """
    said, references = tagged(text), list(dict.fromkeys(references))
    if not said.strip():
        return 0.0, "empty"
    if said.strip() in references:
        return 1.0, ASSERTED
    words = read(said)
    if not words.words:
        return 0.0, "empty"
    if {each.strip(" .").casefold() for each in references} <= {"yes", "no"}:
        return _yes_or_no(said, words, references[0].strip(" .").casefold(), langs)
    used = of_text(said, langs, words)
    wanted, numbered = _wanted(tuple(references), used)
    if numbered:
        numbers = numbers_of(wanted)
        cardinals = frozenset(
            n for n in numbers if any(is_cardinal(reference(r), n, used) for r in references)
        )
        words = with_sought(words.in_one_form(), used, numbers, cardinals)
    for each in wanted:
        if words.words == each.words:
            return 1.0, ASSERTED
    found: list[Span] = []
    for each, original in zip(wanted, references, strict=True):
        found += mentions(words, each, used, original)
    statement = Statement(words, used)
    if found:
        state = statement.asserted(_few(sorted(set(found))))
        if state == ASSERTED and statement.is_passage(found[0]) and _loosely(words, found, wanted):
            return None, "partly"
        return judged(state), state
    if any(partly(words, each) for each in wanted):
        return None, "partly"
    if numbered and _unspelled(said, langs):
        return None, "unspelled"
    return 0.0, "other"


def _loosely(words: Words, found: Sequence[Span], wanted: Sequence[Words]) -> bool:
    """Whether no mention has the letters of a reference: an inflected word, or a family name alone."""
    said = [_letters(words.bare[start:end]) for start, end in found]
    sought = [_letters(each.bare) for each in wanted]
    return not any(each in text or any(map(str.isdigit, each)) for each in sought for text in said)


def _letters(words: Sequence[str]) -> str:
    """Words side by side, without articles."""
    return "".join(word for word in words if word not in ARTICLES)


def _unspelled(said: str, langs: Sequence[str]) -> bool:
    """Whether an answer without digits may have a number in words that nothing here can spell.

    num2words spells Serbian in Latin letters alone.
    """
    if any(map(str.isdigit, said)):
        return False
    return not all(map(is_spelled, langs)) or ("sr" in langs and read(said).cyrillic)


def bare_list(text: str) -> bool:
    """Whether an answer has only numbers, with at most a word such as "and" between them."""
    return sum(map(str.isalpha, tagged(text))) <= _LONGEST_JOINT


def _yes_or_no(said: str, words: Words, gold: str, langs: Sequence[str]) -> Verdict:
    """The verdict on a question whose answer is yes or no."""
    found = of_yes_or_no(said, langs)
    if found is None:
        statement = Statement(words, of_text(said, langs, words))
        if not statement.of("unknown", "vague") and statement.of("not", "denied"):
            found = "no"
    if found is None:
        return None, "unclear"
    return float(found == gold), ASSERTED if found == gold else found


@lru_cache(maxsize=MOST_REFERENCES)
def _wanted(references: tuple[str, ...], langs: tuple[str, ...]) -> tuple[list[Words], bool]:
    """The references as words, and whether any has a number, in digits or words."""
    wanted = [reference(text) for text in references]
    numbered = [with_digits(each.in_one_form(), langs) for each in wanted]
    if any(word[0].isdigit() for each in numbered for word in each.words):
        return numbered, True
    return wanted, False


def tagged(text: str) -> str:
    """The content of the last tag around an answer; without a tag, the text before an invented question."""
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


def of_numbers(
    text: str,
    gold: Iterable[int],
    langs: Sequence[str] = (),
    *,
    compared: bool = False,
    digits: int = 2,
) -> Verdict:
    """1.0 if the numbers that an answer gives as its own are exactly `gold`, and the verdict.

    `compared` means that the question asks for the larger number: then the conclusion of a comparison
    counts. Numbers of fewer than `digits` digits are ignored.

    A number of fewer than six digits counts only if it is expected, or if the answer consists of numbers: "In
    chapter 12 of the book, ..." does not answer 12.
    """
    wanted, said = set(gold), tagged(text)
    found = given_numbers(said, wanted, langs, compared=compared, digits=digits)
    if found == wanted:
        return 1.0, ASSERTED
    if not found and said.strip() and _unspelled(said, langs):
        return None, "unspelled"
    if not found:
        return 0.0, "no number" if said.strip() else "empty"
    if wanted < found:
        return None, "several"
    return 0.0, "incomplete" if found < wanted else "other"


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
    words = with_sought(plain.in_one_form(), used, tuple(wanted))
    statement = Statement(words, used)
    every = [
        Candidate(word[:400], i, i + 1)
        for i, word in enumerate(words.words)
        if word.isdecimal() and len(word) >= digits
    ]
    # A short number beside others is an answer too; in a sentence it counts documents or chapters.
    if digits > 1 and not bare_list(said):
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
    """1.0 if an answer chooses the candidate with one of the names `gold`, and no candidate in `others`."""
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
    if not found:
        return 0.0, "refused" if statement.of("unknown") else "other"
    made = chosen(statement, _few(sorted(found, key=lambda c: c.start)), compared=True)
    if made == {gold[0]}:
        spans = [(c.start, c.end) for c in found if c.name == gold[0]]
        state = statement.asserted(spans) if len({c.name for c in found}) == 1 else ASSERTED
        return judged(state), state
    if gold[0] in made:
        return None, "several"
    return 0.0, "other" if made else "denied"


def _few(found: list[Mention]) -> list[Mention]:
    """The first and the last mentions of many: a text that repeats itself says no more in between."""
    return found if len(found) <= 2 * _ENOUGH else [*found[:_ENOUGH], *found[-_ENOUGH:]]


def of_yes_or_no(text: str, langs: Sequence[str] = ()) -> str | None:
    """The answer's "yes" or "no" to the question whether the passages hold the answer.

    None if it says neither.
    """
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
        first = min(opening, key=lambda cue: (cue.start, -cue.end, cue.kind != "vague"))
        if first.kind == "yes" and any(
            _follows(words, first, c) for c in statement.of("not", "no")
        ):
            # "Certainly not."
            return "no"
        behind = [c.kind for c in statement.of("present", "absent") if c.start >= first.end]
        torn = first.kind == "yes" and behind[:1] == ["absent"]
        return None if first.kind == "vague" or torn else first.kind
    if len(words.words) <= _FEW:
        # "Unfortunately no.", "No doubt, yes."
        last = [c.kind for c in statement.of("yes", "no") if c.end == len(words.words)]
        if last and not statement.of("vague", "unknown"):
            return last[-1]
    # A yes or no for each document.
    listed = [
        cue.kind
        for cue in statement.of("yes", "no")
        if words.gaps[cue.start] >= COLON and words.gaps[cue.end] >= COMMA
    ]
    if listed:
        return "yes" if "yes" in listed else "no"
    spoken = statement.of("present", "absent")
    if not spoken or any(cue.start <= spoken[0].start for cue in statement.of("vague")):
        return None
    absent = [i for i, cue in enumerate(spoken) if cue.kind == "absent"]
    if not absent:
        return "yes"
    later = absent[-1] + 1 < len(spoken)
    contrast = any(cue.start >= spoken[absent[-1]].end for cue in statement.of("but"))
    return "yes" if later and contrast else "no"


def _follows(words: Words, first: Cue, cue: Cue) -> bool:
    """Whether a phrase follows another without a comma, and ends there."""
    return cue.start == first.end and words.gaps[cue.start] < COMMA <= words.gaps[cue.end]


def _stands(words: Words, end: int) -> bool:
    """Whether a yes or no stands by itself: in scripts without spaces, before punctuation."""
    return words.gaps[end] >= COMMA or not reads_letters(words)


def of_list(text: str, expected: Sequence[str], langs: Sequence[str] = ()) -> Verdict:
    """1.0 if an answer lists exactly the expected words; and the verdict."""
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
    """Whether a sentence of an answer without numbers says that the text has none of `nouns`.

    A sentence that only says that the model does not know is no denial.
    """
    words = read(text)
    used = of_text(text, langs, words)
    statement = Statement(words, used)
    if statement.of("unknown", "vague"):
        return False
    for cue in statement.of("not", "absent", "no"):
        start, end = statement.sentence_of(cue.start)
        if any(akin(noun, word) for noun in nouns for word in words.bare[start:end]):
            return True
    return False


def leaves_out(text: str, langs: Sequence[str] = ()) -> bool:
    """Whether an answer ascribes its numbers to another word, and says that the asked word has none."""
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
