"""Whether an answer asserts what it mentions, or denies it, doubts it, or lists it among others.

An answer is split into clauses. A mention is denied where a negation stands before it, doubted beside an
"or", superseded where a "but" goes on to something else, one of several in a list of candidates. Where an
answer draws a conclusion, the conclusion counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from needlework.scoring.careful.dates import months
from needlework.scoring.careful.mentions import Span
from needlework.scoring.careful.phrases import Cue, common, cues, reads_letters
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
# A list's items are no longer, and a list of candidates has at least so many.
_ITEM, _ITEM_LETTERS, _FEWEST_ITEMS = 4, 8, 3
# In these, the negation stands behind what it denies.
_VERB_LAST = frozenset({"hi", "ja", "ko", "ta", "fa"})
_DOCUMENTS = frozenset(
    "document documents passage passages text context source sources result results dokument documento"
    " documentos tài liệu दस्तावेज़ above following provided given".split()
)
# Fewer words are no babble.
_BABBLE = 8
ASSERTED = "right"
_STARTS = ("but", "retract", "though", "so")


@dataclass(frozen=True)
class Clause:
    """Words from `start` to `end`, what begins them, and the number of their sentence."""

    start: int
    end: int
    lead: str
    sentence: int


class Statement:
    """An answer's words with its phrases and clauses."""

    def __init__(self, text: Words, langs: tuple[str, ...]) -> None:
        self.text, self.langs = text, langs
        self._of: dict[tuple[str, ...], list[Cue]] = {}
        self.reach, self.item = (
            (_REACH_LETTERS, _ITEM_LETTERS) if reads_letters(text) else (_REACH, _ITEM)
        )

    @cached_property
    def cues(self) -> list[Cue]:
        """The text's phrases, without those within idioms ("no doubt")."""
        found = cues(self.text, self.langs)
        idle = {i for cue in found if cue.kind == "idioms" for i in range(cue.start, cue.end)}
        return [cue for cue in found if cue.start not in idle]

    def of(self, *kinds: str) -> list[Cue]:
        """The phrases of these kinds."""
        if not self.cues:
            return []
        if kinds not in self._of:
            self._of[kinds] = [cue for cue in self.cues if cue.kind in kinds]
        return self._of[kinds]

    @cached_property
    def clauses(self) -> list[Clause]:
        """The clauses: they begin with a sentence, or with "but", "though", "so", or a correction."""
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
        """ "right" where the text asserts one of its mentions, else what it does with the last."""
        if not found:
            return "other"
        plain = not self.cues and not self._listed(found, found) and not self._asked(found[-1])
        if plain and not all(self._beside(mention, found) for mention in found):
            return "several" if self._babbles(found) else ASSERTED
        said = self._concludes(found)
        if said is not None:
            return said
        last = "other"
        for mention in found:
            state = self._state(mention, found)
            if state == ASSERTED:
                return "several" if self._babbles(found) else ASSERTED
            last = state
        return last

    def _state(self, mention: Span, found: Sequence[Span]) -> str:
        """What the text does with a mention."""
        if self._asked(mention):
            return "asked"
        if self._denied(mention):
            return "denied"
        if self._hedged(mention, found):
            return "unsure"
        if self._listed([mention], found) and not self._named(mention):
            return "several"
        if self._bounds(mention) or self._beside(mention, found):
            return "other"
        if self._superseded(mention, found) or self._only(mention):
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

    def _denied(self, mention: Span, reach: int | None = None) -> bool:
        """Whether a negation stands before a mention, or behind it, as the language has it."""
        start, end = mention
        clause = self.clauses[self.clause_of(start)]
        most = self.reach if reach is None else reach
        for cue in self.of("not", "instead", "denied"):
            if cue.lang in _VERB_LAST:
                near = end <= cue.start <= end + min(3, most + 1) and cue.start < clause.end
            elif cue.kind == "denied":
                near = end <= cue.start <= end + min(2, most) and cue.start < clause.end
                near = near and not self._contrasts(cue, mention)
            else:
                near = clause.start <= cue.start and cue.end <= start <= cue.end + most
            between = (end, cue.start) if cue.start >= end else (cue.end, start)
            if near and all(gap < COMMA for gap in self.text.gaps[between[0] : between[1] + 1]):
                return True
        if any(clause.start <= c.start < clause.end for c in self.of("myth")):
            return len(self.clauses) > 1
        return clause.lead == "though" and len(self.clauses) > 1

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
        for cue in self.of("or"):
            behind = 0 <= cue.start - end <= 1 and gaps[end] != QUOTE
            before = 0 <= start - cue.end <= 2 and gaps[cue.start] != QUOTE
            behind = behind and all(gap <= COMMA for gap in gaps[end : cue.end + 1])
            before = before and all(gap <= QUOTE for gap in gaps[cue.end : start + 1])
            if behind and not self._is_mention(cue.end, found):
                return True
            if before and not any(cue.start - 1 <= other[1] <= cue.start for other in found):
                return True
        maybe = [
            c
            for c in self.of("vague")
            if clause.sentence == self.clauses[self.clause_of(c.start)].sentence
        ]
        if len(maybe) > 1 and self._unlike(maybe, found):
            return True
        either = any(clause.start <= cue.start <= start for cue in self.of("either"))
        joined = [cue for cue in self.of("or", "and") if clause.start <= cue.start < clause.end]
        return either and any(cue.start >= end or cue.end <= start for cue in joined)

    def _unlike(self, maybe: Sequence[Cue], found: Sequence[Span]) -> bool:
        """Whether something else than the mentions follows one of several "perhaps"."""
        return any(not any(0 <= m[0] - cue.end <= 3 for m in found) for cue in maybe)

    def _is_mention(self, place: int, found: Sequence[Span]) -> bool:
        return any(0 <= other[0] - place <= 1 for other in found)

    def state_of(self, mention: Span, reach: int) -> str:
        """What the text does with a mention, apart from all others; a negation stands so near."""
        if self._asked(mention):
            return "asked"
        return "denied" if self._denied(mention, reach) else ASSERTED

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
        """What commas, lines, "and" and "or" separate."""
        return self._separated({cue.start: cue.end for cue in self.of("and", "or")})

    @cached_property
    def punctuated(self) -> list[Span]:
        """What commas and lines alone separate: within a word, a letter is no "or"."""
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

    def _named(self, mention: Span) -> bool:
        """Whether a phrase such as "the answer is" stands right before a mention."""
        return any(0 <= mention[0] - cue.end <= 2 for cue in self.of("answer", "so"))

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
            refuses = any(start - 1 <= c.start < end for c in self.of("unknown"))
            if refuses and not [m for m in found if m[0] >= end]:
                return "refused"
            if before and len(before) == len(found):
                if cue.kind == "answer" and self._other_name(start, min(end, start + 6), found):
                    return "other"
                letters = reads_letters(self.text) and end - start > 1
                if cue.kind == "so" and (letters or self._says_other(start, end, found)):
                    return "other"
        return self._ends_with_other(found)

    def _ends_with_other(self, found: Sequence[Span]) -> str | None:
        """ "other" where the last sentence settles on another of the names in the text."""
        count = len(self.text.words)
        start = self.sentence_of(count - 1)[0]
        colon = next((i for i in range(count - 1, start, -1) if self.text.gaps[i] == COLON), None)
        if start and found[-1][1] <= start and self._says_other(start, count, found, known=True):
            return "other"
        begin = start if colon is None else colon
        if begin and found[-1][1] <= begin and count - begin <= self.item:
            own = set(self.text.bare[begin:])
            again = own <= set(self.text.bare[:begin])
            names = all(self.text.capitals[begin:]) or reads_letters(self.text)
            if again and names and self._other_name(begin, count, found, first=True):
                return "other"
        return None

    def _says_other(self, start: int, end: int, found: Sequence[Span], known: bool = False) -> bool:
        """Whether a part says that something "is" a name that is no mention."""
        for cue in self.of("is", "answer"):
            if start <= cue.start < end:
                behind = next(
                    (i for i in range(cue.end, end) if self.text.words[i] not in ARTICLES), end
                )
                named = behind < end and self._other_name(behind, behind + 1, found, first=True)
                if named and (not known or self.text.bare[behind] in self.text.bare[:start]):
                    return True
        return False

    def _other_name(self, start: int, end: int, found: Sequence[Span], first: bool = False) -> bool:
        """Whether words have a name or number that is in no mention."""
        text = self.text
        own = {word for m in found for word in text.bare[m[0] : m[1]]}
        for place in range(start, min(end, len(text.words))):
            word = text.bare[place]
            if word in own or word in _DOCUMENTS:
                continue
            if word[0].isdigit() and not (place and text.bare[place - 1] in _DOCUMENTS):
                return True
            if text.capitals[place] and len(word) > 1 and (first or text.gaps[place] < SENTENCE):
                return True
        return False

    def _new_name(self, start: int, end: int, known_start: int, known_end: int) -> bool:
        """Whether a part has a name or number that another part has not."""
        text = self.text
        known = set(text.bare[known_start:known_end])
        for place in range(start, end):
            word = text.bare[place]
            if word in known or word in _DOCUMENTS:
                continue
            if word[0].isdigit() and not (place and text.bare[place - 1] in _DOCUMENTS):
                return True
            if text.capitals[place] and text.gaps[place] < SENTENCE and len(word) > 1:
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
            if not negated and self._new_name(later.start + 1, later.end, clause.start, clause.end):
                return True
        return False

    def _is_time_or_number(self, mention: Span) -> bool:
        """Whether a mention has a number or a month."""
        words = self.text.bare[mention[0] : mention[1]]
        return any(word[0].isdigit() or word in months() for word in words)

    def _bounds(self, mention: Span) -> bool:
        """Whether a number is named only as a bound ("before 1912")."""
        if not self.text.words[mention[0]][0].isdigit():
            return False
        return any(cue.end == mention[0] for cue in self.of("bounds"))

    def _beside(self, mention: Span, found: Sequence[Span]) -> bool:
        """Whether a mention only tells more of another name ("Dr. Watson, the friend of ...")."""
        text = self.text
        start, _ = self.sentence_of(mention[0])
        cut = next(
            (i for i in range(mention[0], start, -1) if text.gaps[i] in (QUOTE, COMMA, COLON)), None
        )
        tells = [c for c in self.of("relation") if c.end == mention[0]]
        if cut is None or (
            not tells and any(0 <= mention[0] - c.end <= 1 for c in self.of("is", "answer"))
        ):
            return False
        begin = max(
            (c.end for c in self.of("is", "answer") if start <= c.start < cut), default=start
        )
        if any(start <= m[0] < cut for m in found) or not self._names_one(
            begin, cut, begin > start
        ):
            return False
        between = [c for c in self.of("relation") if cut <= c.start and c.end <= mention[0]]
        if reads_letters(text):
            behind = [c for c in self.of("relation") if c.start == mention[1]]
            return bool(between and behind)
        return bool(between) or (
            text.gaps[cut] == QUOTE and cut == mention[0] and self._tells(mention)
        )

    def _tells(self, mention: Span) -> bool:
        """Whether a sentence in brackets goes on behind a mention."""
        end = mention[1]
        return end + 1 < len(self.text.words) and self.text.gaps[end] == 0

    def _names_one(self, start: int, end: int, named: bool) -> bool:
        """Whether words are hardly more than a name: behind "is", any few words."""
        own = [w for w in self.text.words[start:end] if w not in ARTICLES]
        if not own or len(own) > self.item or set(own) & _DOCUMENTS:
            return False
        if named or reads_letters(self.text):
            return True
        return all(
            self.text.capitals[i] for i in range(start, end) if self.text.words[i] not in ARTICLES
        )

    def _only(self, mention: Span) -> bool:
        """Whether a mention "only" did something, behind a sentence about another."""
        near = any(0 <= cue.start - mention[1] <= 1 for cue in self.of("only"))
        return near and self.clauses[self.clause_of(mention[0])].sentence > 0

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
                return True
            if place > own and not self._short(clause, mention):
                return True
            only = any(clause.start <= c.start < clause.end for c in self.of("only"))
            aside = mention[0] - clause.start > 1 or only
            if place < own and clause.lead not in ("but", "retract", "so") and aside:
                return True
        return False

    def _short(self, clause: Clause, mention: Span) -> bool:
        """Whether a clause is hardly more than a mention."""
        return clause.end - clause.start <= mention[1] - mention[0] + 2

    def _babbles(self, found: Sequence[Span]) -> bool:
        """Whether a text is words without a sentence, of which a mention is a small part."""
        text = self.text
        if len(text.words) < _BABBLE or any(gap > QUOTE for gap in text.gaps[1:-1]):
            return False
        if self.reach == _REACH_LETTERS:
            return False
        covered = sum(end - start for start, end in found)
        known = common(self.langs)
        return covered * 2 < len(text.words) and not known & set(text.bare)
