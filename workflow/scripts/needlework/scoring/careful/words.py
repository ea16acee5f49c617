"""A text as words, with the punctuation between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from needlework.data.words import marks
from needlework.scoring.careful import markup, numerals
from needlework.scoring.careful.tables import rows
from needlework.scoring.careful.writings import bare, cyrillic, fold, in_latin
from needlework.scoring.metrics.words import UNSPACED_RUN

# What stands between two words, from loose to firm.
SPACE, QUOTE, COMMA, COLON, SENTENCE, QUESTION = range(6)
_FIRMNESS = {
    **dict.fromkeys('"“”„«»‹›「」『』()（）[]{}《》〈〉|', QUOTE),
    **dict.fromkeys(",、，،", COMMA),
    **dict.fromkeys(":：—=→", COLON),
    **dict.fromkeys(".!\n;。！；؛।۔…", SENTENCE),
    **dict.fromkeys("?？؟", QUESTION),
}
_LETTERS = rf"[^\W\d_]++(?:[\u0300-\U0001ffff](?<=[{marks()}])[^\W\d_]*+)*+"
# An id such as AB12CD is one word.
_ID = r"[A-Za-z]++\d[A-Za-z\d]*+|\d++[A-Za-z]++\d[A-Za-z\d]*+"
_TOKEN = re.compile(rf"{_ID}|\d++(?:\.\d+)?|{_LETTERS}|[^\w\s]|\n|_")
_WITH_MARKS = re.compile(rf".[{marks()}]*")
_DASH = re.compile(r"(?<=\s)-{1,3}(?=\s)|(?<=\w)--(?=\w)")
# Arabic's "for" before an article, which loses its first letter.
_ARABIC_TO_THE = re.compile(r"(?<![\u0600-\u06ff])لل(?=[\u0600-\u06ff]{3})")
_BEFORE_LATIN = re.compile(
    UNSPACED_RUN.pattern.replace("[", "(?<=[", 1).removesuffix("+") + ")(?=[A-Za-z0-9])"
)
_HANGUL = re.compile("[가-힣]")
ARTICLES = frozenset(
    "a an the el la los las un una le les l der die das den dem des ein eine lo il gli i o os as het "
    "de".split()
)
# So many letters of a word stay in all its forms.
_STEM = 4
# Between the numbers of a range.
_TO = frozenset("to until till through bis hasta a à al until đến sampai hadi से إلى 至 到".split())
_SKIPPED = ARTICLES | _TO
# Of a longer text only the beginning and the end are read: it is no answer, and reading takes its time.
MOST_CHARACTERS = 8_000
# So many lists of references are remembered, and more of single ones: a long one takes kilobytes.
MOST_REFERENCES, _SHORT = 4096, 200


@dataclass
class Words:
    """Words in small letters; `gaps[i]` is what stands before word i, and `gaps[-1]` behind the last."""

    words: list[str]
    gaps: list[int]
    capitals: list[bool]
    # Whether all letters of the text are capitals.
    acronym: bool = False

    @cached_property
    def bare(self) -> list[str]:
        """The words without accents."""
        return [word if word.isascii() else bare(word) for word in self.words]

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """What each word begins with in any of its forms."""
        return tuple(w if w[0].isdigit() or not w.isalpha() else w[:_STEM] for w in self.bare)

    @cached_property
    def joined(self) -> str:
        """All letters side by side, without accents."""
        return "".join(self.bare)

    @cached_property
    def proper(self) -> list[bool]:
        """Whether each word may be a name: in scripts without capitals, any."""
        pairs = zip(self.words, self.capitals, strict=True)
        return [capital or word[0].upper() == word[0] for word, capital in pairs]

    @cached_property
    def content(self) -> list[int]:
        """The places of words that are no articles; of all, where there is nothing else."""
        kept = [
            i
            for i, word in enumerate(self.words)
            # Within a name, an article is a part of it (De Niro).
            if (word not in _SKIPPED or (i > 0 and self.capitals[i] and word in ARTICLES))
            or (word in ARTICLES and self._initial(i))
            or (word not in ARTICLES and not self._joins_numbers(i))
        ]
        return kept or list(range(len(self.words)))

    @cached_property
    def begun(self) -> dict[str, list[int]]:
        """The indices within `content` by the first letter of the word."""
        found: dict[str, list[int]] = {}
        for index, place in enumerate(self.content):
            found.setdefault(self.bare[place][0], []).append(index)
        return found

    def _initial(self, place: int) -> bool:
        """Whether a word is a letter of an abbreviation (U.S.A.)."""
        letter = len(self.words[place]) == 1 and self.capitals[place]
        return letter and place > 0 and len(self.words[place - 1]) == 1

    def _joins_numbers(self, place: int) -> bool:
        """Whether a word stands for the dash of a range ("from 1914 to 1918")."""
        if self.words[place] not in _TO or not 0 < place < len(self.words) - 1:
            return False
        return self.words[place - 1][0].isdigit() and self.words[place + 1][0].isdigit()

    def pick(self, places: Sequence[int]) -> Words:
        """The words at these places."""
        return Words(
            [self.words[i] for i in places],
            [self.gaps[i] for i in places] + self.gaps[-1:],
            [self.capitals[i] for i in places],
        )

    @cached_property
    def cyrillic(self) -> bool:
        """Whether any word is in Cyrillic letters."""
        return not self.joined.isascii() and any(map(cyrillic, self.words))

    def in_latin(self) -> Words:
        """The words with Cyrillic letters as Serbian Latin ones."""
        return Words([in_latin(word) for word in self.words], self.gaps, self.capitals)

    def part(self, start: int, end: int) -> Words:
        """Some of the words."""
        return Words(self.words[start:end], self.gaps[start : end + 1], self.capitals[start:end])

    def in_one_form(self) -> Words:
        """The words with Roman numerals in digits, and units in one form."""
        return Words(numerals.in_one_form(self.words, self.capitals), self.gaps, self.capitals)


def bounded(text: str) -> str:
    """A text, without its middle if it is very long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def read(text: str) -> Words:
    """The words of an answer or a reference."""
    text = numerals.in_digits(fold(markup.plain(bounded(text))))
    if "-" in text:
        text = _DASH.sub("—", text)
    if not text.isascii():
        text = _ARABIC_TO_THE.sub("ال", _BEFORE_LATIN.sub(" ", text))
    words, gaps, capitals = _split_text(text)
    gaps[-1] = max(gaps[-1], SENTENCE)
    return Words(words, gaps, capitals)


def _split_text(text: str) -> tuple[list[str], list[int], list[bool]]:
    """Words, gaps and capitals."""
    words: list[str] = []
    gaps = [SENTENCE]
    capitals: list[bool] = []
    spellings = _spellings()
    for token in _TOKEN.findall(text):
        first = token[0]
        if first.isalnum():
            if token.isascii():
                small = token.lower()
                capital = first.isupper()
                if capital:
                    small = _ABBREVIATED.get(small, small)
                words.append(spellings.get(small, small))
                capitals.append(capital)
                gaps.append(SPACE)
                continue
            for word in _split(token):
                words.append(word.casefold())
                capitals.append(word[0].isupper())
                gaps.append(SPACE)
        elif (firm := _FIRMNESS.get(first, SPACE)) > gaps[-1]:
            if first == "." and words and _abbreviates(words[-1]):
                continue
            gaps[-1] = firm
    return words, gaps, capitals


def _abbreviates(word: str) -> bool:
    """Whether a full stop behind a word ends no sentence ("Dr. Curie", "U.S. Army")."""
    return (len(word) == 1 and word.isalpha() and word.isascii()) or word in _TITLES


@cache
def _spellings() -> dict[str, str]:
    return dict(rows("writings/spellings.tsv"))


_ABBREVIATED = {"st": "saint", "mt": "mount", "ft": "fort", "jr": "junior"}
_TITLES = frozenset(
    "saint mount fort junior dr mr mrs ms st prof jr sr vs no nr ca approx etc mt ft u s gen col capt "
    "lt rev".split()
)


def _split(token: str) -> list[str]:
    """A run of letters; in scripts without spaces letter by letter, since any may begin a word."""
    found: list[str] = []
    position = 0
    for run in UNSPACED_RUN.finditer(token):
        if token[position : run.start()]:
            found.append(token[position : run.start()])
        letters = run.group()
        found += letters if letters.isalpha() else _WITH_MARKS.findall(letters)
        position = run.end()
    if token[position:]:
        found.append(token[position:])
    return found


def unspaced(word: str) -> bool:
    """Whether a word is a letter of a script without spaces."""
    return len(word) <= 3 and bool(UNSPACED_RUN.match(word))


def hangul(word: str) -> bool:
    """Whether a word is Korean: particles follow its words without a space."""
    return bool(_HANGUL.match(word))


def reference(text: str) -> Words:
    """The words of a reference, without articles where there is anything else, and without brackets."""
    return _remembered(text) if len(text) <= _SHORT else _without_brackets(text)


def _without_brackets(text: str) -> Words:
    whole = read(re.sub(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$", "", text) or text)
    made = whole.pick(whole.content)
    made.acronym = text.isupper()
    return made


_remembered = lru_cache(maxsize=65536)(_without_brackets)
