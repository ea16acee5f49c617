"""A tokenizer's regular expression as an automaton of positions (Glushkov's).

A tokenizer that splits text by a pattern never merges across two matches. Where no path through the
pattern reads the character b right after the character a, the text is split between every a and b, whatever
stands around them. The automaton has more paths than the pattern has matches (it ignores greed, possession
and upper bounds). So what the automaton rules out, the pattern rules out too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Member = Callable[[str], bool]

# Unicode's White_Space; engines agree on these.
SPACES = frozenset(
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + "".join(map(chr, range(0x2000, 0x200B)))
)


class Unproven(Exception):
    """A property of a tokenizer for which there is no proof here; the message names it."""


def plain(character: str) -> bool:
    """Whether engines of different Unicode versions agree on a character: assigned, and no odd control."""
    if character in "\t\n\r":
        return True
    return unicodedata.category(character) not in ("Cn", "Cc", "Co", "Cs")


@dataclass
class _Part:
    """A part of a pattern: its first and last positions, and what it can do without reading.

    `empty`: match nothing. `asserts`: look around before it reads.
    """

    empty: bool = True
    asserts: bool = False
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()


@dataclass
class Automaton:
    """The positions of a pattern: which characters each reads, and which positions can come next.

    `asserting` are those after which the pattern looks at what follows. Raises Unproven for a pattern
    that looks back, or has what is not understood here.
    """

    pattern: str
    members: list[Member] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    asserting: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._at, self._possessive = 0, False
        self._whole = self._alternatives(ignore_case=False)
        if self._at < len(self.pattern):
            raise Unproven(f"the pattern {self.pattern!r} has a ) too many")
        self._known: dict[str, frozenset[int]] = {}

    def reads(self, character: str) -> frozenset[int]:
        """The positions that read a character."""
        found = self._known.get(character)
        if found is None:
            found = frozenset(i for i, member in enumerate(self.members) if member(character))
            self._known[character] = found
        return found

    def splits(self, before: str, after: str) -> bool:
        """Whether no match goes on from one character to the other, nor depends on what follows the first."""
        reading, following = self.reads(before), self.reads(after)
        return not any(i in self.asserting or self.follow[i] & following for i in reading)

    def alone(self, character: str) -> bool:
        """Whether some match is sure to begin at a character, as it can be that one alone."""
        if self._possessive or self._whole.asserts:
            return False
        single = self._whole.first & self._whole.last - self.asserting
        return bool(self.reads(character) & single)

    # The pattern, from left to right.

    def _alternatives(self, *, ignore_case: bool) -> _Part:
        parts = [self._sequence(ignore_case)]
        while self._next("|"):
            parts.append(self._sequence(ignore_case))
        return _Part(
            any(part.empty for part in parts),
            any(part.asserts for part in parts),
            frozenset().union(*(part.first for part in parts)),
            frozenset().union(*(part.last for part in parts)),
        )

    def _sequence(self, ignore_case: bool) -> _Part:
        made = _Part()
        while self._at < len(self.pattern) and self.pattern[self._at] not in "|)":
            made = self._joined(made, self._repeated(self._atom(ignore_case)))
        return made

    def _joined(self, left: _Part, right: _Part) -> _Part:
        for i in left.last:
            self.follow[i] |= right.first
        if right.asserts:
            self.asserting |= left.last
        return _Part(
            left.empty and right.empty,
            left.asserts or (left.empty and right.asserts),
            left.first | (right.first if left.empty else frozenset()),
            right.last | (left.last if right.empty else frozenset()),
        )

    def _repeated(self, part: _Part) -> _Part:
        found = re.compile(r"[*+?]|\{(\d+)(,?)(\d*)\}").match(self.pattern, self._at)
        if not found:
            return part
        self._at = found.end()
        least = int(found[1]) if found[1] else int(found[0] == "+")
        once = found[0] == "?" or (found[1] == "1" and not found[2])
        # Lazy or possessive: the same paths, or fewer.
        if self._next("+"):
            self._possessive = True
        else:
            self._next("?")
        if not once:
            self._joined(part, part)
        return _Part(part.empty or least == 0, part.asserts, part.first, part.last)

    def _atom(self, ignore_case: bool) -> _Part:
        if self._next("(?:"):
            return self._group(ignore_case=ignore_case)
        if self._next("(?i:"):
            return self._group(ignore_case=True)
        if self._next("(?>"):
            return self._group(ignore_case=ignore_case)
        if self._next("(?!") or self._next("(?="):
            # Its body reads ahead from where it stands; the pattern goes on from the same place.
            self._group(ignore_case=ignore_case)
            return _Part(asserts=True)
        if self._next("$"):
            return _Part(asserts=True)
        if self.pattern.startswith("(?", self._at) or self.pattern[self._at] in "^.*+?{":
            raise Unproven(f"the pattern {self.pattern!r} has {self.pattern[self._at :][:4]!r}")
        if self._next("("):
            return self._group(ignore_case=ignore_case)
        return self._position(
            self._class(ignore_case) if self._next("[") else self._one(ignore_case)
        )

    def _group(self, *, ignore_case: bool) -> _Part:
        made = self._alternatives(ignore_case=ignore_case)
        if not self._next(")"):
            raise Unproven(f"the pattern {self.pattern!r} lacks a )")
        return made

    def _position(self, member: Member) -> _Part:
        self.members.append(member)
        self.follow.append(set())
        here = frozenset([len(self.members) - 1])
        return _Part(False, False, here, here)

    def _class(self, ignore_case: bool) -> Member:
        negated, members, first = self._next("^"), [], self._at
        if negated and ignore_case:
            raise Unproven(f"the pattern {self.pattern!r} negates without regard to case")
        while not (self.pattern[self._at : self._at + 1] == "]" and self._at > first):
            if self.pattern.startswith(("[", "&&", "--"), self._at) or self._at >= len(
                self.pattern
            ):
                raise Unproven(f"the pattern {self.pattern!r} has classes within classes")
            start = self._at
            member = self._one(ignore_case)
            low = self.pattern[start : self._at]
            if self.pattern.startswith("-", self._at) and self.pattern[self._at + 1 :][:1] != "]":
                self._at += 1
                start = self._at
                self._one(ignore_case)
                member = _range(
                    _character(low), _character(self.pattern[start : self._at]), ignore_case
                )
            members.append(member)
        self._at += 1
        if negated:
            return lambda character: not any(member(character) for member in members)
        return lambda character: any(member(character) for member in members)

    def _one(self, ignore_case: bool) -> Member:
        """A character, or a class that an escape names."""
        found = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))|\\([sSdD])").match(
            self.pattern, self._at
        )
        if not found:
            found = _CHARACTER.match(self.pattern, self._at)
            if not found:
                raise Unproven(f"the pattern {self.pattern!r} has {self.pattern[self._at :][:4]!r}")
            self._at = found.end()
            character = _character(found[0])
            return _range(character, character, ignore_case)
        self._at = found.end()
        if found[5]:
            inside: Member = SPACES.__contains__ if found[5] in "sS" else _category("Nd")
            negated = found[5].isupper()
        else:
            if ignore_case:
                raise Unproven(
                    f"the pattern {self.pattern!r} has {found[0]} without regard to case"
                )
            inside = _category(found[3] or found[4])
            negated = (found[1] == "P") != bool(found[2])
        return (lambda character: not inside(character)) if negated else inside

    def _next(self, text: str) -> bool:
        if self.pattern.startswith(text, self._at):
            self._at += len(text)
            return True
        return False


_CHARACTER = re.compile(
    r"\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[nrtfv]|\\[^\w\s]|[^\\]",
    re.DOTALL,
)
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_CATEGORIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp".split()
)


def _character(source: str) -> str:
    """The character that a pattern writes so."""
    if not source.startswith("\\"):
        return source
    if source[1] in "xuU":
        return chr(int(source[2:].strip("{}"), 16))
    return _NAMED.get(source[1], source[1])


def _range(low: str, high: str, ignore_case: bool) -> Member:
    if len(low) != 1 or len(high) != 1:
        raise Unproven(f"a class from {low!r} to {high!r}")
    if not ignore_case:
        return lambda character: low <= character <= high
    return lambda character: any(
        low <= form <= high for form in (character, *_cases(character)) if len(form) == 1
    )


def _cases(character: str) -> Iterable[str]:
    folded = character.casefold()
    return character.lower(), character.upper(), folded, folded.upper()


def _category(name: str) -> Member:
    if name not in _CATEGORIES:
        raise Unproven(f"the class {name!r}")
    return lambda character: unicodedata.category(character).startswith(name)
