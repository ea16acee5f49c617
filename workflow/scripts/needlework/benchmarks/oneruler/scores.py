"""ONERULER's scores: the strict rules, the released scorer, and the second scorer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.metrics import METRICS
from needlework.benchmarks.oneruler.strict import says_none
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, PHRASES, Wording, check
from needlework.benchmarks.oneruler.wording import phrases as read_phrases
from needlework.records import read_table
from needlework.scoring.careful.verdicts import (
    Verdict,
    bare_list,
    denies,
    has_number,
    leaves_out,
    of_list,
    of_numbers,
)
from needlework.scoring.careful.words import bounded, read, split
from needlework.scoring.metric import Metric
from needlework.scoring.metrics import number_of
from needlework.scoring.scores import Rating, rated_by, score_rows

if TYPE_CHECKING:
    from needlework.benchmarks.oneruler.settings import Oneruler

# ONERULER's released rules, false verdicts included; the metric `strict` has none of them.
#
# The facts are those of `OneRuler/eval/evaluate.py` in mungg/OneRuler at a3fe6af; the program here is
# this project's own. The false verdicts, each with a test: "1,234,567" is read as 234 and 567; a right
# answer that holds a word for "none" is wrong ("inga andra"), unless in other capitals; an answer to the
# "none" task that gives a number is right if it holds such a word; common words count inside other words
# ("art" in "party"); a list of words that is written in another Unicode form is wrong.

# What the released program looks for, by the language of the instructions.
NONE_WORDS: dict[str, tuple[str, ...]] = {
    "cs": ("žádné", "žádná"),
    "da": ("ingen",),
    "de": ("Keine vorhanden",),
    "en": ("none",),
    "es": ("ninguno",),
    "fa": ("هیچ کدام",),
    "fi": ("ei mikään",),
    "fr": ("aucun",),
    "hi": ("कोई नहीं",),
    "hu": ("nincs",),
    "it": ("nessuno",),
    "ja": ("なし", "数字はありません"),
    "ko": ("없음",),
    "nl": ("geen",),
    "no": ("ingen",),
    "pl": ("brak",),
    "pt": ("nenhum",),
    "ru": ("нет",),
    "sr": ("nema",),
    "st": ("ha ho letho",),
    "sv": ("inga",),
    "sw": ("hakuna",),
    "ta": ("ஏதுமில்லை",),
    "uk": ("немає", "Нема"),
    "vi": ("Không có",),
    "zh": ("无",),
}
_ANSWER = re.compile("<Answer>.*?</Answer>")


def answer(text: str, model: str) -> str:
    """The part of `text` that the released scorer reads: for Deepseek, the first one-line <Answer>."""
    found = _ANSWER.search(text) if "deepseek" in model.lower() else None
    return found.group() if found else text


def score_numbers(
    text: str, expected: Sequence[str], none_words: Iterable[str]
) -> tuple[float, str]:
    """1.0 if the numbers of two digits or more are exactly the `expected` numbers, and the verdict.

    Verdicts: "correct", "none_word" (the answer holds a word for "none"), "no_number", "wrong_number".
    """
    text = unicodedata.normalize("NFKC", text)
    if any(word in text or _squeezed(word) in text for word in none_words):
        return 0.0, "none_word"
    digits = dict.fromkeys(re.findall(r"\d+", text))
    found = [number_of(number) for number in digits if len(number) > 1]
    if not found:
        return 0.0, "no_number"
    # As many numbers as expected ones, before those that differ in leading zeros become one.
    same = len(found) == len(expected) and set(found) == {int(number) for number in expected}
    return (1.0, "correct") if same else (0.0, "wrong_number")


def score_none(text: str, none_words: Iterable[str]) -> tuple[float, str]:
    """1.0 if an answer has a word for "none" anywhere, and the verdict: "correct" or "no_none_word"."""
    text = re.sub(r"\b\d\b", "", _squeezed(unicodedata.normalize("NFKC", text)))
    found = any(_squeezed(word) in text for word in none_words)
    return (1.0, "correct") if found else (0.0, "no_none_word")


def score_words(text: str, expected: Sequence[str]) -> tuple[float, str]:
    """1.0 if all `expected` words are part of an answer, and why: "correct", "partial:8/10"."""
    text = text.strip().lower()
    right = sum(word.strip().lower() in text for word in expected)
    return float(right == len(expected)), (
        "correct" if right == len(expected) else f"partial:{right}/{len(expected)}"
    )


def _squeezed(text: str) -> str:
    """`text` in lower case, without spaces and zero-width non-joiners."""
    return text.strip().lower().replace("\u200c", "").replace(" ", "")


# The second scorer's verdicts on ONERULER's answers.

_NONE = "none"


def needles_verdict(
    text: str, expected: Sequence[str], none_words: Iterable[str | Wording], lang: str
) -> Verdict:
    """1.0 if an answer gives exactly the expected numbers, and the verdict."""
    value, why = of_numbers(text, map(int, expected), [lang])
    if why in ("no number", "unspelled") and says_none(bounded(text), none_words):
        return 0.0, _NONE
    # The question asks for the numbers of one word.
    return (0.0 if value is None and why == "several" and bare_list(text) else value), why


def none_verdict(
    text: str,
    none_words: Iterable[str | Wording],
    lang: str,
    quotes: Callable[[str], bool] = lambda text: False,
) -> Verdict:
    """1.0 if an answer says that there is no number and gives none for the asked word, and the verdict."""
    if not text.strip():
        return 0.0, "empty"
    text, words = bounded(text), list(none_words)
    if has_number(text):
        return (1.0, "right") if leaves_out(text, [lang]) else (0.0, "other")
    said = says_none(text, words, quotes) or (
        not quotes(text) and denies(text, _nouns(words), [lang])
    )
    return (1.0, "right") if said else (0.0, "no number")


def _nouns(none_words: Iterable[str | Wording]) -> list[str]:
    """A language's words for a number."""
    listed = (each.number for each in none_words if isinstance(each, Wording))
    return [word for each in listed for noun in split(each) for word in read(noun).bare]


def common_words_verdict(text: str, expected: Sequence[str], lang: str) -> Verdict:
    """1.0 if an answer lists exactly the expected words, and the verdict."""
    return of_list(text, expected, [lang])


# The words for "none" in a language: ours, and those of the released scorer.
_Denials = tuple[tuple[str | Wording, ...], tuple[str, ...]]


class Asked(NamedTuple):
    """An answer to an instance."""

    # The instance.
    row: Mapping[str, Any]
    # The text without reasoning and tag.
    said: str
    # The text as the released rules read it.
    raw: str
    # Returns a language's words for "none".
    denials: Callable[[str], _Denials]
    # Returns whether a text is a part of the context.
    quotes: Callable[[str], bool]

    @property
    def kind(self) -> str:
        """The kind of the task: "words", "none" or "numbers"."""
        task = self.row["task"]
        return "words" if task.startswith("cwe") else "none" if task == "niah_none" else "numbers"

    @property
    def lang(self) -> str:
        """The language of the instructions."""
        return str(self.row["instruction_lang"])


def strictly(asked: Asked) -> tuple[float, str]:
    """The strict rules' value and verdict."""
    expected, said, lang = asked.row["references"], asked.said, asked.lang
    if asked.kind == "words":
        return strict.score_words(said, expected)
    words = asked.denials(lang)[0]
    if asked.kind == "none":
        return strict.score_none(said, (*words, *expected), asked.quotes)
    # Models also say "none" in English if the prompt is not. Either way the answer is wrong.
    either = words if lang == "en" else (*words, *asked.denials("en")[0])
    return strict.score_numbers(said, expected, either, asked.quotes)


def released(asked: Asked) -> tuple[float, str]:
    """The released scorer's value and verdict."""
    expected, theirs = asked.row["references"], asked.denials(asked.lang)[1]
    if asked.kind == "words":
        return score_words(asked.raw, expected)
    if asked.kind == "none":
        return score_none(asked.raw, theirs)
    return score_numbers(asked.raw, expected, theirs)


def careful(asked: Asked) -> Verdict:
    """The second scorer's value and verdict."""
    expected, said, lang = asked.row["references"], asked.said, asked.lang
    if asked.kind == "words":
        return common_words_verdict(said, expected, lang)
    words = asked.denials(lang)[0]
    if asked.kind == "none":
        return none_verdict(said, (*words, *expected), lang, asked.quotes)
    return needles_verdict(said, expected, words, lang)


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: Oneruler,
    phrases: Sequence[str | Path] = (PHRASES,),
    books: Sequence[str | Path] = (),
) -> pa.Table:
    """Rows of scores: for each row of `generations`, one row per metric of METRICS.

    `phrases` is the file of the languages' words for "none". `books` are the corpora of the contexts: if an
    answer quotes its book, the quotation does not say "none" (`Books`). `settings` has none_words and
    answer_tags. If an answer has no text, its verdict is "length" if the output limit cut it off (a model
    that did not end its reasoning), else "no_answer". The released code does not remove reasoning, so its
    rules read it too.

    Raises UserError as `score_rows` does, and if the language of an instruction has no words for "none".
    """
    more = settings.none_words
    check(sorted(set(instances["instruction_lang"].to_pylist())), more)
    wordings, shelf = read_phrases(phrases[0]), Books(books)
    tags = (*ANSWER_TAGS, *settings.answer_tags)

    @cache
    def denials(lang: str) -> _Denials:
        own = tuple(more.get(lang, ()))
        return (*wordings.get(lang, ()), *own), NONE_WORDS.get(lang, own)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        nothing = 0.0, "length" if row["finish_reason"] == "length" else "no_answer"
        whole, raw = text or "", row["raw_text"] or ""

        def quotes(said: str) -> bool:
            return shelf.hold(row["context_lang"], said)

        asked = Asked(row, strict.answer(whole, tags), answer(raw, model), denials, quotes)

        def rated(metric: Metric) -> Verdict:
            blank = not (raw if metric.raw else whole).strip()
            found: Verdict = nothing if blank else globals()[metric.function](asked)
            return found

        return rated_by(METRICS, rated)

    return score_rows(instances, generations, rate, model=model)


class Books:
    """The contexts' texts by language.

    A book is read when the first answer is searched for in it.
    """

    def __init__(self, files: Sequence[str | Path]) -> None:
        self._files = {Path(file).stem: file for file in files}
        self._texts: dict[str, str] = {}

    def hold(self, lang: str, answer: str) -> bool:
        """Whether an answer is, word for word, a part of a language's book."""
        if lang not in self._files:
            return False
        if lang not in self._texts:
            texts = read_table(self._files[lang], ["text"])["text"].to_pylist()
            self._texts[lang] = " ".join(" ".join(texts).split())
        said = " ".join(answer.split()).strip("\"'«»“”„‘’「」")
        return bool(said) and said in self._texts[lang]
