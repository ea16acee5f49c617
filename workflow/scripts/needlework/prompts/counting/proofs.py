"""Pairs of characters between which a tokenizer always splits text: proved from its own files.

There are two proofs. A tokenizer that splits by a pattern before it merges never merges across two matches.
A tokenizer that merges neighbours into the pieces of a vocabulary never merges two characters that are
neighbours in no piece. If neither applies, there is no proof, and whole texts are tokenized.

A pattern is read as an automaton of positions (Glushkov's). If no path through it reads the character b right
after the character a, the text is split between every a and b. The automaton has more paths than the pattern
has matches (it ignores greed, possession and upper bounds). So a split that holds for the automaton holds for
the pattern too.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import tiktoken
    from sentencepiece import SentencePieceProcessor

Member = Callable[[str], bool]

# Unicode's White_Space; engines agree on these.
SPACES = frozenset(
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + "".join(map(chr, range(0x2000, 0x200B)))
)


class Unproven(Exception):
    """A property of a tokenizer that cannot be proved here; the message names it."""


def is_plain(character: str) -> bool:
    """Whether all versions of Unicode treat a character alike.

    They do if it is assigned, and is not one of the rare control characters.
    """
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
    """The positions of a pattern: the characters that each reads, and the positions that can come next.

    After a position in `asserting`, the pattern looks at the next character. Raises Unproven for a pattern
    that looks back, or has a construct that is not supported here.
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
        """Whether a match never reads `after` right after `before`.

        False if a match depends on the character that follows `before`.
        """
        reading, following = self.reads(before), self.reads(after)
        return not any(i in self.asserting or self.follow[i] & following for i in reading)

    def alone(self, character: str) -> bool:
        """Whether a match is certain to begin at a character, because the character alone can be a match."""
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


Sure = Callable[[str, str], bool]
Array = npt.NDArray[np.int64]
SPACE = "\u2581"  # how vocabularies write a space


@dataclass(frozen=True)
class Proof:
    """Where a tokenizer splits text, as proved from its files.

    A border stands between two characters where the tokenizer always splits.
    """

    # splits(a, b): whether there is a border between a text that ends in a and a text that begins with b. No
    # token crosses it, and the tokens of neither text depend on the other.
    splits: Sure
    # within(text): the number of tokens of a text that begins behind a border.
    within: Callable[[str], int]
    # before(text, places): the number of tokens from the text's beginning to each place; all places are
    # borders. None if the tokens' lengths do not add up to the text.
    before: Callable[[str, Array], Array | None]
    # Identifies the files.
    digest: str
    # Is split from everything: behind it, a text has the same tokens as behind a border.
    anchor: str = ""
    # Running sums of a document are made for at most one place in so many characters.
    gap: int = 16


# Marks of Chinese and Japanese behind which no space stands.
_MARKS = frozenset("。，、；：！？")


def supposed(count: Callable[[str], int]) -> Proof:
    """A Proof that is only assumed: most tokenizers split before spaces and after _MARKS.

    It proves nothing, so its `digest` is empty.
    """
    lead = count("a")

    def splits(a: str, b: str) -> bool:
        if b == " ":
            return not a.isspace()
        return a in _MARKS and b not in _MARKS

    def within(text: str) -> int:
        return count(f"a{text}") - lead

    def before(text: str, places: Array) -> Array:
        ends, at = np.unique(places, return_inverse=True)
        texts = [text[start:end] for start, end in pairwise([0, *ends.tolist()])]
        tokens = {text: within(text) for text in dict.fromkeys(texts)}
        return np.cumsum(np.array([tokens[text] for text in texts], dtype=np.int64))[at]

    return Proof(cache(splits), within, before, digest="", gap=64)


def of_words(pattern: str, starts: Callable[[str], list[int]]) -> Proof:
    """The proof for a tokenizer whose tokens are the matches of a pattern, beginning at `starts`."""
    automaton = Automaton(pattern)

    def before(text: str, places: Array) -> Array:
        return np.searchsorted(np.array(starts(text), dtype=np.int64), places)

    return Proof(
        _known(automaton.splits), lambda text: len(starts(text)), before, _digest("words", pattern)
    )


def of_characters() -> Proof:
    """The proof for the tokenizer whose tokens are characters."""
    return Proof(lambda a, b: True, len, lambda text, places: places, _digest("characters"))


def of_tiktoken(encoding: tiktoken.Encoding, ids: Callable[[str], list[int]]) -> Proof:
    """The proof for a tiktoken.Encoding, by its pattern. `ids(text)` are the encoding's tokens."""
    pattern = encoding._pat_str
    ranks: Mapping[bytes, int] = encoding._mergeable_ranks
    tokens = sorted(ranks, key=ranks.__getitem__)
    widths = np.zeros(max(ranks.values()) + 1, dtype=np.int64)
    widths[[ranks[token] for token in tokens]] = [len(token) for token in tokens]
    return Proof(
        _known(Automaton(pattern).splits),
        lambda text: len(ids(text)),
        lambda text, places: _by_width(text, ids(text), widths, 0, places),
        _digest(
            "tiktoken",
            pattern,
            b"".join(tokens),
            widths.tobytes(),
        ),
    )


def of_sentencepiece(processor: SentencePieceProcessor) -> Proof:
    """The proof for a SentencePieceProcessor that merges (BPE), by its vocabulary.

    Raises Unproven if it normalises text, or has no bytes for unknown characters.
    """
    model = processor.serialized_model_proto()
    pieces: list[str] = []
    trainer: dict[int, Any] = {}
    normaliser: dict[int, Any] = {}
    for number, value in _fields(model):
        if number == 1:
            pieces.append(dict(_fields(value))[1].decode())
        elif number == 2:
            trainer = dict(_fields(value))
        elif number == 3:
            normaliser = dict(_fields(value))
    bpe, byte_fallback, suffix = trainer.get(3, 1) == 2, trainer.get(35, 0), trainer.get(24, 0)
    if not bpe or not byte_fallback or suffix:
        raise Unproven(
            "a SentencePiece model that is no BPE with bytes, or ends words with their space"
        )
    # The normaliser's fields: 2 its rules, 3 whether a space is put before a text, 4 whether spaces are
    # taken out, 5 whether they are written as SPACE.
    if normaliser.get(2) or normaliser.get(4, 1) or not normaliser.get(5, 1):
        raise Unproven("a SentencePiece model that changes its text")
    ids, n = processor.encode, len(pieces)
    widths = np.array(
        [
            1
            if processor.is_byte(i)
            else len(processor.id_to_piece(i).replace(SPACE, " ").encode())
            for i in range(n)
        ],
        dtype=np.int64,
    )
    anchor = _stranger(pieces)
    anchored = len(ids(anchor))
    lead = int(normaliser.get(3, 1))
    return Proof(
        _apart(pieces),
        lambda text: len(ids(anchor + text)) - anchored,
        lambda text, places: _by_width(text.replace(SPACE, " "), ids(text), widths, lead, places),
        _digest("sentencepiece", model),
        anchor,
    )


def of_huggingface(description: str) -> Proof:
    """The proof for a fast tokenizer of Hugging Face, from its description (`tokenizer.json`).

    Raises Unproven if it does not merge (BPE), or has a normaliser, pre-tokenizer or added tokens that are
    not supported here.
    """
    told = json.loads(description)
    model, added = told["model"], told["added_tokens"]
    encode = _merging(told)
    spaces, composed = _normaliser(told["normalizer"])
    stages = list(_stages(told["pre_tokenizer"], spaces))
    if stages and spaces:
        raise Unproven("patterns that find no spaces")
    if stages:
        base = _staged(stages)
    elif model.get("byte_fallback"):
        base = _apart(model["vocab"])
    else:
        raise Unproven("a vocabulary without bytes for characters that it does not know")
    contents = [token["content"] for token in added]
    ends, begins = {text[-1] for text in contents}, {text[0] for text in contents}
    apart = _apart(contents)
    moved = _composed_onto() if composed else frozenset()

    def splits(a: str, b: str) -> bool:
        if a in ends or b in begins or not apart(a, b):
            return False
        # What composition can join or move is read by the pattern as another character.
        if composed and any(
            c in moved or unicodedata.combining(c) or _recomposed(c) for c in (a, b)
        ):
            return False
        return base(a, b)

    anchor = "" if stages else _stranger([*contents, *model["vocab"]])
    anchored = len(encode(anchor))

    def before(text: str, places: Array) -> Array:
        offsets = encode(text).offsets
        return np.searchsorted(np.array([start for start, _ in offsets], dtype=np.int64), places)

    return Proof(
        _known(splits),
        lambda text: len(encode(anchor + text)) - anchored,
        before,
        _digest("huggingface", description),
        anchor,
    )


def _merging(told: Mapping[str, Any]) -> Callable[[str], Any]:
    """The encoding of texts by a fast tokenizer of Hugging Face, without special tokens.

    Raises Unproven if it does not merge (BPE), or its pieces or added tokens are not understood here.
    """
    from tokenizers import Tokenizer

    model = told["model"]
    if model["type"] != "BPE" or model.get("dropout"):
        raise Unproven(f"a model of type {model['type']}")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise Unproven("pieces that are written otherwise within a word")
    if any(
        token["lstrip"] or token["rstrip"] or token["single_word"] for token in told["added_tokens"]
    ):
        raise Unproven("added tokens that take the white space around them")
    # The post-processor adds special tokens and moves offsets; neither is wanted.
    tokenizer = Tokenizer.from_str(json.dumps({**told, "post_processor": None}))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(text: str) -> Any:
        return tokenizer.encode(text, add_special_tokens=False)

    return encode


def _normaliser(told: Mapping[str, Any] | None) -> tuple[bool, bool]:
    """Whether a normaliser of Hugging Face writes spaces as SPACE, and whether it composes (NFC)."""
    if told is None:
        return False, False
    if told["type"] == "NFC":
        return False, True
    parts = told["normalizers"] if told["type"] == "Sequence" else [told]
    spaces = False
    for part in parts:
        if (
            part["type"] == "Replace"
            and part["pattern"] == {"String": " "}
            and part["content"] == SPACE
        ):
            spaces = True
        elif part != {"type": "Prepend", "prepend": SPACE}:
            raise Unproven(f"a normaliser of type {part['type']}")
    return spaces, False


# What the byte-level pre-tokenizer splits by, unless told otherwise (the library has it in its code).
_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _stages(told: Mapping[str, Any] | None, spaces: bool) -> Iterator[Automaton]:
    """The patterns by which a pre-tokenizer of Hugging Face splits, one after the other."""
    if told is None:
        return
    kind = told["type"]
    if kind == "Sequence":
        for part in told["pretokenizers"]:
            yield from _stages(part, spaces)
    elif kind == "ByteLevel" and not told["add_prefix_space"]:
        if told["use_regex"]:
            yield Automaton(_BYTE_LEVEL)
    elif kind == "Split" and told["pattern"] == {"String": " "} and spaces:
        return  # the normaliser has left no space
    elif kind == "Split" and told["behavior"] == "Isolated" and not told["invert"]:
        (how, pattern), *_ = told["pattern"].items()
        if how != "Regex":
            raise Unproven("a pre-tokenizer that splits by a fixed text")
        yield Automaton(pattern)
    else:
        raise Unproven(f"a pre-tokenizer of type {kind}")


def _staged(stages: list[Automaton]) -> Sure:
    """Where patterns split one after the other: none reads on, and in one both characters are read.

    Text that a pattern does not match stays in one piece there.
    """

    def splits(a: str, b: str) -> bool:
        return all(stage.splits(a, b) for stage in stages) and any(
            stage.alone(a) and stage.alone(b) for stage in stages
        )

    return splits


def _known(splits: Sure) -> Sure:
    """`splits`, each pair asked once; no pair of characters on which Unicode's versions differ."""
    usual = cache(is_plain)
    return cache(lambda a, b: usual(a) and usual(b) and splits(a, b))


def _apart(pieces: Iterable[str]) -> Sure:
    """Whether two characters stand side by side in no piece; a space is SPACE."""
    pairs = {pair for piece in pieces for pair in pairwise(piece.replace(" ", SPACE))}

    def splits(a: str, b: str) -> bool:
        return (SPACE if a == " " else a, SPACE if b == " " else b) not in pairs

    return splits


def _stranger(pieces: Iterable[str]) -> str:
    """A character that no piece has: it merges with none."""
    used = set().union(*pieces)
    return next(c for c in map(chr, range(0x4E00, 0x20000)) if c not in used and is_plain(c))


@cache
def _recomposed(character: str) -> bool:
    return not unicodedata.is_normalized("NFC", character)


@cache
def _composed_onto() -> frozenset[str]:
    """The characters that composition can join to the one before."""
    found = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for code in range(0xA0, 0x30000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
    return frozenset(found)


def _by_width(text: str, ids: list[int], widths: Array, lead: int, places: Array) -> Array | None:
    """The tokens before each place, from each token's bytes; `lead` bytes are put before the text."""
    ends = np.cumsum(widths[np.array(ids, dtype=np.int64)]) - lead
    code = code_points(text)
    sizes = 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
    at = np.concatenate([[0], np.cumsum(sizes)])
    if (ends[-1] if len(ends) else 0) != at[-1]:
        return None
    return np.searchsorted(ends, at[places], side="right")


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The characters of a text as numbers."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode() if isinstance(part, str) else part
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The numbered fields of a message in Protocol Buffers' wire format: numbers, or bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(kind) or number()
            yield key >> 3, message[at : at + size]
            at += size
