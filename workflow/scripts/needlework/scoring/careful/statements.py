"""Whether an answer asserts the reference that it mentions, denies it, doubts it, or lists it among others.

An answer is split into clauses. A mention is denied if a negation stands before it, doubted if it stands
beside an "or", superseded if a "but" goes on to something else, and one of several in a list of candidates.
If an answer draws a conclusion, the conclusion counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from needlework.scoring.careful.mentions import Span, months
from needlework.scoring.careful.phrases import Cue, cues, reads_letters
from needlework.scoring.careful.words import (
    ARTICLES,
    COLON,
    COMMA,
    QUESTION,
    QUOTE,
    SENTENCE,
    Words,
)

# So many words may stand between a negation and what it denies.
_REACH, _REACH_LETTERS = 4, 6
# Between a negation and what it surely denies.
_NEAR, _NEAR_LETTERS = 1, 1
# A list's items are no longer, and a list of candidates has at least so many.
_ITEM, _ITEM_LETTERS, _FEWEST_ITEMS = 4, 8, 3
# In these, the negation stands behind what it denies.
_VERB_LAST = frozenset({"hi", "ja", "ko", "ta", "fa"})
_DOCUMENTS = frozenset(
    "document documents passage passages text context source sources result results dokument documento"
    " documentos tài liệu दस्तावेज़ above following provided given".split()
)
# A longer text is a passage rather than an answer.
_SHORT = 20
ASSERTED = "right"
_STARTS = ("but", "retract", "though", "so")


@dataclass(frozen=True)
class Clause:
    """Words from `start` to `end`, the word or mark that begins them, and the number of their sentence."""

    start: int
    end: int
    lead: str
    sentence: int


class Statement:
    """An answer's words with its phrases and clauses."""

    def __init__(self, text: Words, langs: tuple[str, ...]) -> None:
        self.text, self.langs = text, langs
        self._of: dict[tuple[str, ...], list[Cue]] = {}
        letters = reads_letters(text)
        self.near = _NEAR_LETTERS if letters else _NEAR
        # Without capitals, any words may look like a list of names.
        self.most = 2 * _SHORT if letters else _SHORT if any(text.capitals) else _SHORT // 2
        self.reach, self.item = (_REACH_LETTERS, _ITEM_LETTERS) if letters else (_REACH, _ITEM)

    @cached_property
    def cues(self) -> list[Cue]:
        """The text's phrases, except phrases within idioms ("no doubt")."""
        found = cues(self.text, self.langs)
        idle = {i for cue in found if cue.kind == "idioms" for i in range(cue.start, cue.end)}
        return [cue for cue in found if cue.start not in idle]

    def of(self, *kinds: str) -> list[Cue]:
        """The statement's phrases of these kinds."""
        if not self.cues:
            return []
        if kinds not in self._of:
            self._of[kinds] = [cue for cue in self.cues if cue.kind in kinds]
        return self._of[kinds]

    @cached_property
    def clauses(self) -> list[Clause]:
        """The clauses. A clause begins with a sentence, or with "but", "though", "so", or a correction."""
        leads = {cue.start: cue.kind for cue in self.of(*_STARTS)}
        made: list[Clause] = []
        start, lead, sentence = 0, "", 0
        gaps = self.text.gaps
        for place in range(1, len(self.text.words) + 1):
            ends = gaps[place] >= SENTENCE
            if place < len(self.text.words) and not ends:
                # What "though" begins ends at the comma.
                after_though = lead == "though" and gaps[place] >= COMMA
                if place not in leads and not after_though:
                    continue
            made.append(Clause(start, place, leads.get(start, lead), sentence))
            sentence += ends
            start, lead = place, leads.get(place, "")
        return made

    def clause_of(self, place: int) -> int:
        """The index of the clause that has a word."""
        return bisect_right(self._ends, place)

    @cached_property
    def _ends(self) -> list[int]:
        return [clause.end for clause in self.clauses]

    def asserted(self, found: Sequence[Span]) -> str:
        """The state of the last mention, or "right" if the text asserts any mention."""
        if not found:
            return "other"
        said = self._concludes(found)
        if said is not None:
            return said
        last = "other"
        for mention in found:
            state = self._state(mention, found)
            if state == ASSERTED:
                return ASSERTED
            last = state
        return last

    def _state(self, mention: Span, found: Sequence[Span]) -> str:
        """What the text does with a mention."""
        if self._asked(mention):
            return "asked"
        if self._denied(mention):
            return "denied"
        if self._doubted(mention):
            return "doubted"
        if self._hedged(mention, found):
            return "unsure"
        if self._listed([mention], found):
            return "several"
        if self._led(mention, found):
            return "led"
        if self._superseded(mention, found):
            return "superseded"
        return "refused" if self._refused(mention) else ASSERTED

    def _asked(self, mention: Span) -> bool:
        """Whether a mention stands in a question."""
        end = next(
            c.end
            for c in self.clauses[self.clause_of(mention[0]) :]
            if self.text.gaps[c.end] >= SENTENCE
        )
        return self.text.gaps[end] == QUESTION and end < len(self.text.words)

    def _denied(self, mention: Span) -> bool:
        """Whether a negation governs a mention: right before it, or right behind, at the clause's end."""
        start, end = mention
        clause = self.clauses[self.clause_of(start)]
        for cue in self.of("not", "instead", "denied", "absent", "unknown"):
            if not clause.start <= cue.start < clause.end:
                continue
            if cue.start >= end:
                closes = cue.kind != "instead" and self._closes(cue)
                near = cue.start - end <= (self.near if not closes else self.reach)
                behind = cue.lang in _VERB_LAST or cue.kind == "denied" or closes
                near = near and behind and not self._contrasts(cue, mention)
            else:
                near = cue.end <= start <= cue.end + self.near
                near = near and (cue.lang not in _VERB_LAST or cue.start == clause.start)
            if near and self._together(mention, cue):
                return True
        return False

    def _closes(self, cue: Cue) -> bool:
        """Whether a negation ends its clause, but for one word, and stands in no brackets."""
        gaps = self.text.gaps
        return gaps[cue.start] != QUOTE and any(gap >= COMMA for gap in gaps[cue.end : cue.end + 2])

    def _together(self, mention: Span, cue: Cue) -> bool:
        """Whether no comma stands between a mention and a phrase."""
        start, end = min(mention[1], cue.end), max(mention[0], cue.start)
        return all(gap < COMMA for gap in self.text.gaps[start : end + 1])

    def _doubted(self, mention: Span) -> bool:
        """Whether a mention is conceded, or near a negation that may be of something else."""
        start, end = mention
        clause = self.clauses[self.clause_of(start)]
        if clause.lead == "though" and self.text.gaps[clause.start] >= SENTENCE:
            return len(self.clauses) > 1
        for cue in self.of("myth", "not", "instead"):
            if cue.kind == "myth" and clause.start <= cue.start < clause.end:
                return len(self.clauses) > 1
            if cue.kind == "myth" or not self._together(mention, cue):
                continue
            if clause.start <= cue.start and cue.end <= start <= cue.end + self.reach // 2:
                return cue.lang not in _VERB_LAST
            # "Edison did not invent it": the mention is what the clause speaks of.
            if start - clause.start <= 1 and end <= cue.start <= end + 2:
                return True
        return False

    def _contrasts(self, cue: Cue, mention: Span) -> bool:
        """Whether a negation behind a mention denies the name or number that follows it."""
        if cue.end >= len(self.text.words) or self.text.gaps[cue.end] >= COMMA:
            return False
        if any(0 <= mention[0] - other.end <= 1 for other in self.of("is", "answer")):
            return True
        following = self.text.words[cue.end]
        return following[0].isdigit() or (
            self.text.capitals[cue.end] and not self._caseless(following)
        )

    def _caseless(self, word: str) -> bool:
        return word[0].upper() == word[0].lower()

    def _hedged(self, mention: Span, found: Sequence[Span]) -> bool:
        start, end = mention
        gaps = self.text.gaps
        clause = self.clauses[self.clause_of(start)]
        if len([c for c in self.of("vague") if clause.start <= c.start < clause.end]) > 1:
            return True
        for cue in self.of("or") if self._chooses(mention) else ():
            behind = 0 <= cue.start - end <= 1 and gaps[end] != QUOTE
            before = 0 <= start - cue.end <= 2 and gaps[cue.start] != QUOTE
            behind = behind and all(gap <= COMMA for gap in gaps[end : cue.end + 1])
            before = before and all(gap <= QUOTE for gap in gaps[cue.end : start + 1])
            if behind and not self._is_mention(cue.end, found):
                return True
            if before and not any(cue.start - 1 <= other[1] <= cue.start for other in found):
                return True
        either = self._chooses(mention) and any(
            clause.start <= cue.start <= start for cue in self.of("either")
        )
        joined = [cue for cue in self.of("or", "and") if clause.start <= cue.start < clause.end]
        return either and any(cue.start >= end or cue.end <= start for cue in joined)

    def _chooses(self, mention: Span) -> bool:
        """Whether a list or an "or" beside a mention is of candidates: in a short sentence."""
        start, end = self.sentence_of(mention[0])
        return end - start <= self.most

    def is_passage(self, mention: Span) -> bool:
        """Whether a mention's sentence is so long that a model quotes it rather than chooses words."""
        return not self._chooses(mention)

    def _is_mention(self, place: int, found: Sequence[Span]) -> bool:
        return any(0 <= other[0] - place <= 1 for other in found)

    def state_of(self, mention: Span) -> str:
        """The state of one mention ("asked", "denied" or "right"), regardless of other mentions."""
        if self._asked(mention):
            return "asked"
        return "denied" if self._denied(mention) else ASSERTED

    @cached_property
    def _sentence_ends(self) -> list[int]:
        count = len(self.text.words)
        return [i for i in range(1, count) if self.text.gaps[i] >= SENTENCE] + [count]

    def end_of_sentence(self, place: int) -> int:
        """Where the sentence of a word ends."""
        ends = self._sentence_ends
        return ends[min(bisect_right(ends, place), len(ends) - 1)]

    def sentence_of(self, place: int) -> Span:
        """The span of a word's sentence."""
        ends = self._sentence_ends
        at = min(bisect_right(ends, place), len(ends) - 1)
        return (ends[at - 1] if at else 0), ends[at]

    @cached_property
    def items(self) -> list[Span]:
        """The parts of the text between commas, line ends, "and" and "or"."""
        return self._separated({cue.start: cue.end for cue in self.of("and", "or")})

    @cached_property
    def punctuated(self) -> list[Span]:
        """The parts between commas and line ends only; in some scripts, an "or" may be part of a word."""
        return self._separated({})

    def _separated(self, cuts: Mapping[int, int]) -> list[Span]:
        made: list[Span] = []
        start, place, count = 0, 0, len(self.text.words)
        while place < count:
            if place in cuts:
                made.append((start, place))
                place = start = cuts[place]
                continue
            if place > start and self.text.gaps[place] >= COMMA:
                made.append((start, place))
                start = place
            place += 1
        made.append((start, count))
        return [item for item in made if item[1] > item[0]]

    def _listed(self, of: Sequence[Span], found: Sequence[Span]) -> bool:
        """Whether each of some mentions is an item of a list that has others than mentions."""
        return bool(of) and all(self._in_list(mention, found) for mention in of)

    def _in_list(self, mention: Span, found: Sequence[Span]) -> bool:
        if not self._chooses(mention):
            return False
        items = self.items
        own = next((i for i, item in enumerate(items) if item[0] <= mention[0] < item[1]), None)
        if own is None or mention[1] > items[own][1]:
            return False
        start, end = items[own]
        introduced = mention[0] - start > 3
        if end - mention[1] > 1 or (introduced and not self._closed(items, own)):
            return False
        shape = self._shape(mention)
        alike = 0
        for step in (-1, 1):
            at = own + step
            while 0 <= at < len(items) and self._like(items[at], shape, step):
                if self.text.gaps[items[at if step > 0 else at + 1][0]] == COLON:
                    break
                begin, close = items[at]
                # Another reference is no other candidate.
                alike += not any(begin <= each[0] < close for each in found)
                at += step
        return alike + 1 >= _FEWEST_ITEMS

    def _closed(self, items: Sequence[Span], own: int) -> bool:
        """Whether "and" or "or" stands before a later item of a list."""
        joints = {cue.end for cue in self.of("and", "or")}
        return any(start in joints for start, _ in items[own + 1 :])

    def _like(self, item: Span, shape: str, step: int) -> bool:
        start, end = item
        if shape == "number" and step < 0:
            # "Candidates are 1887, 1888": what introduces a list ends with its first item.
            start = max(start, end - 1)
        if end - start > self.item:
            if step > 0 or self.text.gaps[end] >= SENTENCE:
                return False
            start = end - 1
        return self._shape((start, end)) == shape

    def _shape(self, span: Span) -> str:
        words = self.text.words[span[0] : span[1]]
        if any(word[0].isdigit() for word in words):
            return "number" if sum(w[0].isdigit() for w in words) * 2 >= len(words) else "mixed"
        first = next((i for i in range(*span) if self.text.words[i] not in ARTICLES), span[0])
        return "name" if self.text.capitals[first] else "word"

    def _concludes(self, found: Sequence[Span]) -> str | None:
        """What the last conclusion says; None where none decides."""
        for cue in reversed(self.of("answer", "so")):
            start = cue.end
            end = self.end_of_sentence(start)
            content = self.text.bare[start:end]
            if not content or content[0] in _DOCUMENTS:
                continue
            inside = [m for m in found if start <= m[0] < end]
            if inside:
                states = [self._state(m, found) for m in inside]
                return ASSERTED if ASSERTED in states else states[-1]
            before = [m for m in found if m[0] < start]
            refuses = any(start - 1 <= c.start <= start + 2 for c in self.of("unknown"))
            if refuses and not [m for m in found if m[0] >= end]:
                return "refused"
            if before and len(before) == len(found):
                named = {word for m in found for word in self.text.bare[m[0] : m[1]]}
                if cue.kind == "answer" and self._other_name(start, min(end, start + 6), named):
                    return "replaced"
                if cue.kind == "so" and self._says_other(start, end, found):
                    return "replaced"
        return None

    def _says_other(self, start: int, end: int, found: Sequence[Span]) -> bool:
        """Whether a part says that something "is" a name that is no mention."""
        for cue in self.of("is", "answer"):
            if start <= cue.start < end:
                behind = next(
                    (i for i in range(cue.end, end) if self.text.words[i] not in ARTICLES), end
                )
                named = {word for m in found for word in self.text.bare[m[0] : m[1]]}
                if behind < end and self._other_name(behind, behind + 1, named, first=True):
                    return True
        return False

    def _other_name(self, start: int, end: int, own: set[str], first: bool = False) -> bool:
        """Whether words have a name or number that is not known."""
        text = self.text
        for place in range(start, min(end, len(text.words))):
            word = text.bare[place]
            if word in own or word in _DOCUMENTS:
                continue
            if word[0].isdigit() and not (place and text.bare[place - 1] in _DOCUMENTS):
                return True
            if text.capitals[place] and len(word) > 1 and (first or text.gaps[place] < SENTENCE):
                return True
        return False

    def _superseded(self, mention: Span, found: Sequence[Span]) -> bool:
        """Whether a "but" behind a mention goes on to something else."""
        own = self.clause_of(mention[0])
        clause = self.clauses[own]
        if any(clause.start <= c.start <= mention[0] for c in self.of("answer")):
            return False
        for later in self.clauses[own + 1 :]:
            if later.sentence > clause.sentence + 1 or later.lead not in ("but", "retract"):
                continue
            # "Founded in 1929, but rebuilt in 1950" takes nothing back; "sorry, in 1950" does.
            if later.lead == "but" and self._is_time_or_number(mention):
                continue
            if any(later.start <= m[0] < later.end for m in found):
                return False
            negated = any(
                later.start <= c.start < later.end for c in self.of("not", "denied", "unknown")
            )
            known = set(self.text.bare[clause.start : clause.end])
            if not negated and self._other_name(later.start + 1, later.end, known):
                return True
        return False

    def _is_time_or_number(self, mention: Span) -> bool:
        """Whether a mention has a number or a month."""
        words = self.text.bare[mention[0] : mention[1]]
        return any(word[0].isdigit() or word in months() for word in words)

    def _led(self, mention: Span, found: Sequence[Span]) -> bool:
        """Whether a short answer is of another name that a mention tells more of.

        So are "Nanga Parbat (not far from K2)" and "Einstein's colleague Bohr".
        """
        text, count = self.text, len(self.text.words)
        if count > _SHORT:
            return False
        if text.words[mention[1] : mention[1] + 1] == ["s"] and mention[1] + 1 < count:
            return True
        # "Longer than the Nile", "500 km west of Tokyo"; but "nothing is longer than the Nile".
        beside = [c.start for c in self.of("beside") if 0 <= mention[0] - c.end <= 1]
        if beside and not any(c.start < beside[0] for c in self.of("not", "no", "absent")):
            return True
        start = max((c.end for c in self.of("answer", "is") if c.end <= mention[0]), default=0)
        end = next((i for i in range(start + 1, count) if text.gaps[i] >= QUOTE), count)
        names = [i for i in range(start, end) if text.words[i] not in ARTICLES]
        if mention[0] < end or not 0 < len(names) <= self.item or any(m[0] < end for m in found):
            return False
        if {text.bare[i] for i in names} & _DOCUMENTS or self._cued(start, end):
            return False
        firm = text.gaps[end] != COMMA or len(names) > 1
        return firm and all(text.capitals[i] for i in names)

    def _cued(self, start: int, end: int) -> bool:
        """Whether a phrase stands among words."""
        return any(start <= cue.start < end for cue in self.cues)

    def _refused(self, mention: Span) -> bool:
        """Whether the text says that it has no answer, and the mention takes that back nowhere."""
        own = self.clause_of(mention[0])
        clause = self.clauses[own]
        for cue in self.of("unknown"):
            place = self.clause_of(cue.start)
            other = self.clauses[place]
            if other.lead == "though":
                continue
            if place == own:
                return self.text.gaps[cue.start] >= COMMA or cue.start - clause.start <= self.item
            if place > own and clause.end - clause.start > mention[1] - mention[0] + 2:
                return True
            only = any(clause.start <= c.start < clause.end for c in self.of("only"))
            aside = mention[0] - clause.start > 1 or only
            if place < own and clause.lead not in ("but", "retract", "so") and aside:
                return True
        return False
