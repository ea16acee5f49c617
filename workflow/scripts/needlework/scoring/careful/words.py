"""A text as words, with the punctuation between them."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from needlework import safe_yaml
from needlework.data.resources import RESOURCES, resource_rows
from needlework.data.words import marks
from needlework.scoring.metrics import UNSPACED_RUN, chinese_number

# The tables below resources/ that careful verdicts are made with.

FOLDERS = ("numbers", "phrases", "writings")


def files() -> list[str]:
    """The tables below resources/ on which the metric "careful" depends."""
    found = (path for folder in FOLDERS for path in (RESOURCES / folder).iterdir())
    return sorted(str(path.relative_to(RESOURCES)) for path in found)


@cache
def mapping(name: str) -> dict[Any, Any]:
    """A YAML file's mapping."""
    return dict(safe_yaml.read(RESOURCES / name))


def split(listed: str) -> list[str]:
    """The phrases of a text in which semicolons separate them."""
    return [phrase.strip() for phrase in listed.split(";") if phrase.strip()]


# An answer without the signs of layout around and inside its words: HTML, Markdown, LaTeX, citations.

# Without any of these, nothing is removed.
_ANY = re.compile("[<>&*_`#\\\\$|\u20e3\ufe0f【†¹²³⁰⁴-⁹\u200b-\u200f\u2060\ufeff~^\\[]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_BREAK = re.compile(r"<(?:br|p|li|div|tr|/p|/li|/div|/tr)\s*/?>", re.IGNORECASE)
_CITATION = re.compile(r"【[^】\n]{0,80}】|\[\^?\d{1,3}\](?=[\s.,;:)]|$)")
_SUPERSCRIPT = re.compile("(?<=[\\w.)])[¹²³⁰⁴-⁹]+")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathbf|mathrm|boxed|emph|textit|mathit)\s*(?=\{)")
# 1{,}234 1\,234 1\ 234
_LATEX_GROUP = re.compile(r"\{([,.])\}|\\([,;: !])")
_LATEX_SIGNS = re.compile(r"\\[()\[\]]|[{}$]")
_EMPHASIS = re.compile(r"\*+|`+|~~+|(?<![^\W_])_+|_+(?![^\W_])")
_LINE_START = re.compile(r"(?m)^[ \t]*(?:#{1,6} |>+ |[-•–] )")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,300}\)")
_INVISIBLE = re.compile("[\u200b\u200d-\u200f\u2060\ufeff\ufe0f\u20e3]")


def plain(text: str) -> str:
    """`text` without layout; a number's groups stay together."""
    if not _ANY.search(text):
        return text
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", _BREAK.sub("\n", text))
    if not text.isascii():
        text = _SUPERSCRIPT.sub("", _INVISIBLE.sub("", text))
    if "【" in text or "[" in text:
        text = _CITATION.sub("", _LINK.sub(r"\1", text))
    if "\\" in text or "$" in text:
        text = _LATEX_GROUP.sub(lambda sign: sign[1] or " ", _LATEX_TEXT.sub("", text))
        text = _LATEX_SIGNS.sub("", text)
    return _EMPHASIS.sub("", _LINE_START.sub("", text))


# One form for each word, however it is written: resources/writings/.
#
# `fold` keeps accents, since another accent is another word; `bare` leaves them out, since many writers do.

# Vowel marks of Arabic and points of Hebrew, and selectors of a glyph.
_AT_WILL = re.compile(
    "[\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufe00-\ufe0f\U000e0100-\U000e01ef\u093c]"
)
# Hindi writes a nasal before a consonant as half a letter or as a dot.
_HALF_NASAL = re.compile("[ङञणनम]\u094d(?=[क-ह])")
# Tamil's au is often typed as e and the letter that its second half looks like.
_TAMIL_AU = re.compile("\u0bc6\u0bb3(?![\u0bbe-\u0bcd])")
# Vietnamese puts a tone mark on either vowel of oa, oe, uy.
_TONE = "\u0300\u0301\u0303\u0309\u0323"
_TONE_FIRST = re.compile(f"([ou])([{_TONE}])([aey])(?![\u0300-\u036f])")
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "đ": "dj"}
    | {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa", "Ø": "Oe", "Đ": "Dj"}
)
# What is written in ASCII as without_umlauts does it.
_IN_ASCII = {"dj": "đ", "aa": "å", "ae": "ä", "oe": "ö", "ue": "ü"}


def fold(text: str) -> str:
    """The text with its letters and digits in one form each, whatever their encoding; letter case stays."""
    if text.isascii():
        return text
    text = _INNER_APOSTROPHE.sub("", unicodedata.normalize("NFKC", text))
    if _COMPOSED_TONE.search(text):
        text = _tones_last(text)
    return _HALF_NASAL.sub("ं", _TAMIL_AU.sub("\u0bcc", text.translate(_LETTER_FORMS)))


def _tones_last(text: str) -> str:
    """Vietnamese tone marks on the last vowel."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _TONE_FIRST.sub(r"\1\3\2", parts))


# Ukrainian writes one within words.
_INNER_APOSTROPHE = re.compile("(?<=[\u0400-\u04ff])['’ʼ](?=[\u0400-\u04ff])")
_COMPOSED_TONE = re.compile("[òóõỏọùúũủụÒÓÕỎỌÙÚŨỦỤ][aeyAEY]")


@lru_cache(maxsize=65536)
def bare(word: str) -> str:
    """A folded word without accents; an accent that stands alone is kept."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    plain = "".join(c for c in parts if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", plain) or word


def cyrillic(word: str) -> bool:
    """Whether a word is in Cyrillic letters."""
    return "\u0400" <= word[0] <= "\u04ff"


@lru_cache(maxsize=65536)
def in_latin(word: str) -> str:
    """A word in small Cyrillic letters, converted to Serbian Latin; other words are unchanged."""
    return word.translate(_latin()) if cyrillic(word) else word


@cache
def _latin() -> dict[int, str]:
    return {ord(letter): latin for letter, latin in resource_rows("writings/cyrillic.tsv")}


def without_umlauts(text: str) -> str:
    """German, Nordic and Serbian letters in ASCII: Röntgen becomes Roentgen."""
    return text.translate(_UMLAUTS)


def with_umlauts(text: str) -> str:
    """German, Nordic and Serbian letters for their writing in ASCII, in small letters."""
    text = text.casefold()
    for ascii_, letter in _IN_ASCII.items():
        text = text.replace(ascii_, letter)
    return text


class _Letters(dict[int, str]):
    """The table of `str.translate`, filled as characters are met."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, str] | None = None

    def __missing__(self, code: int) -> str:
        if self.given is None:
            self.given = {row[0]: row[1] for row in resource_rows("writings/letters.tsv")}
            self.given |= {row[0]: row[1] for row in resource_rows("writings/han.tsv")}
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf" or _AT_WILL.match(character):
            new = ""
        elif category == "Nd":
            new = str(unicodedata.decimal(character))
        elif category == "Zs":
            new = " "
        else:
            # Only small letters are listed.
            small = character.lower()
            found = self.given.get(small, small)
            new = character if found == small else found if small == character else found.title()
        self[code] = new
        return new


_LETTER_FORMS = _Letters()


# Numbers in one form: digits without groups, number words, units (resources/numbers/).

_DIGIT = re.compile("[0-9零一二三四五六七八九十百千〇两십백천]")
# What any of the patterns below asks for in ASCII.
_WRITTEN_OTHERWISE = re.compile(
    r"\d(?:[-,.' _/\n][\d]|[,.]0|(?:st|nd|rd|th|er|[kK])\b|%| ?[kK]\b| ?[AaPp]\.?[Mm]\b|[:.]\d\d ?[AaPp])"
)
# Groups of three with one separator, Indian groups, groups of four.
_GROUPED = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}([,.' _·])\d{3}(?:\1\d{3})*(?![\d]|[.,]\d{1,2}(?!\d))"
)
_GROUPED_CENTS = re.compile(
    r"\d(?<![\d.,]\d)\d{0,2}(?:([,.' _·])\d{3})(?:\1\d{3})*(?=[.,]\d{1,2}(?!\d))"
)
_INDIAN = re.compile(r"\d(?<![\d.,]\d)\d?(?:,\d{2})+,\d{3}(?!\d)")
_FOURS = re.compile(r"\d(?<![\d.,]\d)\d{0,2}(?:([,_ ])\d{4})+(?!\d|\.\d)")
_UNEVEN = re.compile(r"(?<![\d.,_-])(\d{1,3})[-_](\d{3})(?:[-_](\d{3}))*(?![\d_-])")
_ISO_DATE = re.compile(r"(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])")
_DATE = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\d/-]|\.\d)")
_DIGIT_BY_DIGIT = re.compile(r"(?<![\d.,-])\d(?:(?:-\d){3,}|(?: \d){4,})(?![\d-]|[.,]\d)")
_SPACED_LINE = re.compile(r"(?<=\d)\n(?=\d{3}(?!\d))")
_ZEROS = re.compile(r"(?<=\d)[.,]0+(?!\d)(?![.,]\d)")
_DECIMAL_COMMA = re.compile(r",(?<=\d,)(?=\d{1,2}(?!\d|,\d))")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|ème|º|ª|°)\b")
_MYRIADS = re.compile(r"(?<![\d.])(?:(\d{1,4}) ?[억亿億] ?)?(\d{1,4}) ?[만万萬] ?(\d{1,4})?(?!\d)")
# From a run's first digit on, and of few digits: a run without end takes no time, and is no number.
_FACTOR = r"\d(?<!\d\d)\d{0,14}"
_HUNDRED_MILLIONS = re.compile(rf"({_FACTOR}(?:\.\d{{1,15}})?) ?[억亿億](?!\d)")
_DECIMAL_MYRIADS = re.compile(rf"({_FACTOR}\.\d{{1,15}}) ?[만万]")
_THOUSANDS = re.compile(r"(?<=\d) ?[kK]\b(?!\.?[mgb])")
_PM = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d{2}))? ?([AaPp])\.?[Mm]\b\.?")
_HALF_PAST = re.compile(r"(?<=点)半")
_HANGUL_NUMERALS = re.compile(
    "[영공일이삼사오육륙칠팔구십백천만억]{5,}(?: [영공일이삼사오육륙칠팔구십백천만억]{2,})*"
)
_HANGUL_TO_HAN = str.maketrans(
    "영공일이삼사오육륙칠팔구십백천만억", "零零一二三四五六六七八九十百千万亿"
)
_PERCENT = re.compile(r"百分之 ?(\d+(?:\.\d+)?)")
_NUMERALS = re.compile("[〇零一二三四五六七八九十百千万亿两]{2,40}|十")
_SIGNS = str.maketrans({"%": " percent ", "٪": " percent ", "％": " percent "})


# No. 5, № 5, N.º 5; US$5, EUR5
# "No. 10 documents ..." is a no: only a number in the thousands shows that the word is a sign.
_NUMERO = re.compile(
    r"(?:№|\bn\.?[º°]|\b(?:nr|nro|num|núm)\.|\bno\.(?= ?(?:\d{4}|\d{1,3}[.,]\d{3}))) ?(?=\d)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(
    r"\b(?:[A-Z]{1,3}\$|USD|EUR|GBP|JPY|CNY|RMB|INR|CHF|AUD|CAD|KRW|RUB|BRL|MXN|SEK|NOK|DKK|PLN|Rs\.?)(?=\d)"
)
# 1.2e+06, 1.2 × 10^6, 1.2 × 10⁶
_SCIENTIFIC = re.compile(
    r"(?<![\w.,-])(\d{1,3}(?:\.\d{1,15})?)(?:[eE]\+?(\d{1,2})"
    r"| ?(?:[x×*·]|\\times|\\cdot) ?10(?:(?:\^|\*\*)\{?(\d{1,2})\}?|([⁰¹²³⁴-⁹]{1,2})))(?![\w-])"
)


# What any of these three asks for.
_BESIDE_NUMBER = re.compile(r"[A-Za-z$№](?=\d)|[.№º°] ?\d|\d(?:[eE]| ?[x×*·\\])")


def _plainly(text: str) -> str:
    """`text` with its numbers apart from signs and currencies, and none as a power of ten."""
    if not _BESIDE_NUMBER.search(text):
        return text
    text = _CURRENCY.sub(lambda code: code.group().rstrip("$") + " ", _NUMERO.sub("", text))
    return _SCIENTIFIC.sub(_of_power, text)


def _of_power(match: re.Match[str]) -> str:
    """A number in scientific notation in digits, if it is a whole one of at most 16 digits."""
    power = int(unicodedata.normalize("NFKC", match[2] or match[3] or match[4]))
    whole, _, fraction = match[1].partition(".")
    if len(fraction.rstrip("0")) > power or power > 15:
        return match.group()
    return whole + fraction[:power].ljust(power, "0")


def in_digits(text: str) -> str:
    """A folded text whose numbers are in digits, without separators of thousands."""
    if not _DIGIT.search(text) or (text.isascii() and not _WRITTEN_OTHERWISE.search(text)):
        return text
    if "m" in text or "M" in text:
        text = _PM.sub(_of_day, text)
    if "-" in text or "/" in text or "." in text:
        text = _DATE.sub(_day_first, _ISO_DATE.sub(r"\1年\2月\3日", text))
    if not text.isascii():
        text = _HANGUL_NUMERALS.sub(_of_hangul, text)
        text = _NUMERALS.sub(lambda found: str(chinese_number(found.group())), text)
        text = _PERCENT.sub(r"\1%", text)
        text = _HALF_PAST.sub("30分", text)
        text = _DECIMAL_MYRIADS.sub(lambda n: _written(float(n[1]) * 10**4), text)
        text = _MYRIADS.sub(_of_myriads, text)
        text = _HUNDRED_MILLIONS.sub(lambda n: _written(float(n[1]) * 10**8), text)
    if "\n" in text:
        text = _SPACED_LINE.sub(" ", text)
    text = _DIGIT_BY_DIGIT.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    for pattern in (_INDIAN, _GROUPED_CENTS, _GROUPED, _FOURS):
        text = pattern.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _UNEVEN.sub(lambda found: re.sub(r"\D", "", found.group()), text)
    text = _DECIMAL_COMMA.sub(".", _ZEROS.sub("", text))
    return _THOUSANDS.sub("000", _ORDINAL.sub("", text)).translate(_SIGNS)


def _of_hangul(match: re.Match[str]) -> str:
    """A number in Korean letters in digits."""
    return str(chinese_number(match.group().replace(" ", "").translate(_HANGUL_TO_HAN)))


def _of_myriads(match: re.Match[str]) -> str:
    parts = zip(match.groups(default="0"), (10**8, 10**4, 1), strict=True)
    return str(sum(unit * int(part) for part, unit in parts))


def _of_day(match: re.Match[str]) -> str:
    """A time with am or pm as one of 24 hours."""
    hour = int(match[1]) % 12 + 12 * (match[3].lower() == "p")
    return f"{hour}:{match[2] or '00'}"


def _day_first(match: re.Match[str]) -> str:
    """A date in numbers: the day first, unless that can be no month."""
    day, _, month, year = match.groups()
    if int(month) > 12 >= int(day):
        day, month = month, day
    return f"{year}年{int(month)}月{int(day)}日" if 0 < int(month) <= 12 else match.group()


_ROMAN = re.compile("(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")


def _roman(word: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[letter] for letter in word]
    return sum(
        -value if any(later > value for later in values[i + 1 : i + 2]) else value
        for i, value in enumerate(values)
    )


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))


@cache
def _units() -> dict[str, str]:
    table = {}
    for unit, listed in resource_rows("numbers/units.tsv"):
        for word in split(listed):
            table[fold(word).casefold()] = unit
    return table


def in_one_form(words: Sequence[str], capitals: Sequence[bool]) -> list[str]:
    """The words with Roman numerals in digits, and with one form for each unit."""
    made: list[str] = []
    for place, word in enumerate(words):
        roman = capitals[place] and _ROMAN.fullmatch(word)
        named = place and capitals[place - 1] and len(words[place - 1]) > 2
        made.append(
            str(_roman(word)) if roman and (len(word) > 1 or named) else _units().get(word, word)
        )
    return made


# What stands between two words, from loose to firm.
SPACE, QUOTE, COMMA, COLON, SENTENCE, QUESTION = range(6)
_FIRMNESS = {
    **dict.fromkeys('"“”„«»‹›「」『』()（）[]{}《》〈〉|', QUOTE),
    **dict.fromkeys(",、，،", COMMA),
    **dict.fromkeys(":：—=→", COLON),
    **dict.fromkeys(".!\n;。！；؛।۔…", SENTENCE),
    **dict.fromkeys("?？؟", QUESTION),
}
_LETTERS = rf"[^\W\d_]++(?:[\u0300-\U0001ffff](?<=[{marks()}])[^\W\d_]*+)*"
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
    """Words in small letters; `gaps[i]` is the text before word i, and `gaps[-1]` the text after the last."""

    words: list[str]
    gaps: list[int]
    capitals: list[bool]

    @cached_property
    def bare(self) -> list[str]:
        """The words without accents."""
        return [word if word.isascii() else bare(word) for word in self.words]

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stem of each word: the first letters, which all its inflected forms share."""
        return tuple(w if w[0].isdigit() or not w.isalpha() else w[:_STEM] for w in self.bare)

    @cached_property
    def joined(self) -> str:
        """All letters side by side, without accents."""
        return "".join(self.bare)

    @cached_property
    def content(self) -> list[int]:
        """The indices of words that are not articles; of all words if all are articles."""
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
        """The words at the given indices."""
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
        """The words with Cyrillic letters converted to Serbian Latin."""
        return Words([in_latin(word) for word in self.words], self.gaps, self.capitals)

    def part(self, start: int, end: int) -> Words:
        """A slice of the words."""
        return Words(self.words[start:end], self.gaps[start : end + 1], self.capitals[start:end])

    def in_one_form(self) -> Words:
        """The words with Roman numerals as digits, and with one spelling of each unit."""
        return Words(in_one_form(self.words, self.capitals), self.gaps, self.capitals)


def bounded(text: str) -> str:
    """The text; a very long text without its middle."""
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def read(text: str) -> Words:
    """Splits an answer or a reference into words."""
    text = in_digits(fold(plain(_plainly(bounded(text)))))
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
    return dict(resource_rows("writings/spellings.tsv"))


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
    """Whether a word is a character of a script without spaces."""
    return len(word) <= 3 and bool(UNSPACED_RUN.match(word))


def hangul(word: str) -> bool:
    """Whether a word is Korean, so that particles may follow it without a space."""
    return bool(_HANGUL.match(word))


def reference(text: str) -> Words:
    """The words of a reference, without brackets and, unless it has nothing else, without articles."""
    return _remembered(text) if len(text) <= _SHORT else _without_brackets(text)


def _without_brackets(text: str) -> Words:
    whole = read(re.sub(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$", "", text) or text)
    return whole.pick(whole.content)


_remembered = lru_cache(maxsize=65536)(_without_brackets)
