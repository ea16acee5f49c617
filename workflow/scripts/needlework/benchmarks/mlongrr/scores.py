"""mLongRR's scores: the strict rules, the notebooks' rules, and the second scorer."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.mlongrr.factors import ABSENT, RETRIEVAL
from needlework.benchmarks.mlongrr.metrics import METRICS
from needlework.benchmarks.mlongrr.prompt_files import name_pattern
from needlework.data.resources import RESOURCES, resource_rows
from needlework.scoring.careful.verdicts import (
    Verdict,
    bare_list,
    given_numbers,
    of_names,
    of_numbers,
    tagged,
)
from needlework.scoring.careful.words import split
from needlework.scoring.metrics import numbers
from needlework.scoring.scores import Rating, rated_by, score_rows

if TYPE_CHECKING:
    from needlework.benchmarks.mlongrr.settings import Mlongrr

# mLongRR's answers read strictly: exactly the number, or the city and no other needle's.
#
# Paper, section 3.6: the number or city is extracted and compared. What it leaves open: grouped digits
# count ("8,134,445"), and an answer that lists several needles' numbers is wrong.

_SEVEN = range(10**6, 10**7)


def score_number(
    text: str, gold: str, others: Iterable[str], unanswerable: Iterable[str]
) -> tuple[float, str]:
    """1.0 if `gold` is the only number of seven digits in an answer, else 0.0; and the verdict.

    `others` are the numbers of the other needles. The verdict is "correct"; "several" if the gold is among
    other numbers; "other_needle"; or "wrong_number". If there is no number of seven digits, it is
    "unanswerable" or "no_number". A number of more digits is a wrong number.
    """
    found = {number for number in numbers(text) if number >= _SEVEN.start}
    if not found:
        return 0.0, "unanswerable" if says(text, unanswerable) else "no_number"
    if found == {int(gold)}:
        return 1.0, "correct"
    if int(gold) in found:
        return 0.0, "several"
    return 0.0, "other_needle" if found <= set(map(int, others)) else "wrong_number"


def score_city(
    text: str, gold: Sequence[str], others: Iterable[str], unanswerable: Iterable[str]
) -> tuple[float, str]:
    """1.0 if an answer has one of the names of the `gold` city, else 0.0; and the verdict.

    `others` are the names of the other needles' cities. A name is a whole word, in any letter case. The
    verdict is "correct"; "several" if another needle's city is named too; or "other_needle". If no needle's
    city is named, it is "unanswerable" or "no_city".
    """
    small = unicodedata.normalize("NFKC", text).casefold()
    right = any(_pattern(name).search(small) for name in gold)
    wrong = any(_pattern(name).search(small) for name in set(others) - set(gold))
    if right or wrong:
        return (1.0, "correct") if not wrong else (0.0, "several" if right else "other_needle")
    return 0.0, "unanswerable" if says(text, unanswerable) else "no_city"


def score_absent(text: str, unanswerable: Iterable[str]) -> tuple[float, str]:
    """1.0 if an answer to a question without a needle says so and has no number, and the verdict.

    Verdicts: "correct", "wrong_number", "no_refusal".
    """
    if any(number in _SEVEN for number in numbers(text)):
        return 0.0, "wrong_number"
    return (1.0, "correct") if says(text, unanswerable) else (0.0, "no_refusal")


def says(text: str, words: Iterable[str]) -> bool:
    """Whether `text` contains one of `words` as a whole word, in any letter case."""
    small = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).casefold()
    return any(_pattern(word).search(small) for word in words if word)


def _pattern(name: str) -> re.Pattern[str]:
    return name_pattern(unicodedata.normalize("NFKC", name))


# mLongRR's notebooks' rules, false verdicts included; the metric `strict` has none of them.
#
# The facts are those of the notebooks in PortNLP/mLongRR at f3edbda; the program is this project's own. An
# answer that lists all numbers is right, "8,134,445" is wrong, and "Lima" is found in "Lima belas". With
# several needles the notebooks ask whether any answer of a file holds the number.


def released_accuracy(said: Container[str], gold: Iterable[str]) -> tuple[float, str]:
    """1.0 if one of the texts `gold` is in `said`, and why: "correct", "not_found".

    `said` is an answer, or the needles' numbers in any answer of a file (`numbers_in`).
    """
    found = any(text in said for text in gold)
    return (1.0, "correct") if found else (0.0, "not_found")


def numbers_in(answers: Iterable[str], needles: Collection[str]) -> set[str]:
    """The numbers of `needles` that are part of any answer. Each answer is read once."""
    found: set[str] = set()
    for size in {len(number) for number in needles}:
        # At each place of an answer, so many digits.
        parts = re.compile(rf"(?=(\d{{{size}}}))")
        found.update(part for answer in answers for part in parts.findall(answer))
    return found & set(needles)


def claude_gold(numbers: Sequence[str]) -> int:
    """The needle that Claude's notebook takes for the largest: it compares only the first two.

    So with three needles, a perfect model is right only if the third is not the largest.
    """
    return max(range(min(2, len(numbers))), key=lambda i: int(numbers[i]))


# The second scorer's verdicts on mLongRR's answers.

CITY_NAMES = RESOURCES / "mlongrr/city_names.tsv"


def number_verdict(text: str, gold: str, lang: str) -> Verdict:
    """1.0 if an answer chooses the number `gold`, after any comparison, and the verdict."""
    value, why = of_numbers(text, [int(gold)], [lang], compared=True)
    # The question asks for one number.
    return (0.0 if value is None and why == "several" and bare_list(text) else value), why


def city_verdict(
    text: str,
    gold: Sequence[str],
    cities: Iterable[Sequence[str]],
    lang: str,
    further: Mapping[str, Sequence[str]],
) -> Verdict:
    """1.0 if an answer chooses the gold city by any of its names, and the verdict.

    `cities` are the names of all needles' cities, `further` their names in other languages (`city_names`).
    """

    def named(names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, *(more for n in names for more in further.get(n, ()))]))

    others = [named(names) for names in cities if not set(names) & set(gold)]
    return of_names(text, named(gold), others, [lang])


def absent_verdict(text: str, words: Iterable[str], lang: str) -> Verdict:
    """1.0 if an answer to a question without a needle says so and gives no number, and the verdict."""
    said = tagged(text)
    if given_numbers(said, set(), [lang]):
        return 0.0, "other"
    return (1.0, "right") if says(said, words) else (0.0, "no refusal")


@cache
def read_city_names(path: str | Path = CITY_NAMES) -> dict[str, list[str]]:
    """The names of cities in further languages, by the English name."""
    return {name: split(names) for name, names in resource_rows(Path(path).absolute())}


# A file of the authors' answers: a model's in one language, to one question about so many needles.
_FILE = ("lang", "haystack", "n_needles", "question", "template")


class Asked(NamedTuple):
    """An answer to an instance."""

    # The instance.
    row: Mapping[str, Any]
    # The text without reasoning.
    said: str
    # The whole text.
    raw: str
    # The needles' numbers in any answer of the answer's file.
    file: Container[str]
    # The cities' names in further languages.
    names: Mapping[str, Sequence[str]]

    @property
    def cities(self) -> list[list[str]]:
        """The names of each needle's city."""
        return [city.split("/") for city in self.row["cities"].split("|")]

    @property
    def numbers(self) -> list[str]:
        """The needles' numbers."""
        return list(self.row["numbers"].split())

    @property
    def nothing(self) -> tuple[float, str]:
        """The score of an answer without text."""
        return 0.0, "length" if self.row["finish_reason"] == "length" else "no_answer"


def strict(asked: Asked) -> tuple[float, str]:
    """The strict rules' value and verdict."""
    row, said = asked.row, asked.said
    gold, words = row["references"], (row["unanswerable"],)
    if not said.strip():
        return asked.nothing
    if row["task"] == ABSENT:
        return score_absent(said, (*words, *gold))
    if row["question"] == "city":
        return score_city(said, gold, [name for each in asked.cities for name in each], words)
    return score_number(said, gold[0], asked.numbers, words)


def released(asked: Asked) -> tuple[float, str]:
    """The notebooks' value and verdict."""
    return _by_the_notebooks(asked, asked.row["references"])


def released_claude(asked: Asked) -> tuple[float, str]:
    """The value and verdict by the rules of the notebook for Claude."""
    row = asked.row
    if row["task"] == ABSENT:
        return released(asked)
    largest = claude_gold(asked.numbers)
    golds = asked.cities[largest] if row["question"] == "city" else [asked.numbers[largest]]
    return _by_the_notebooks(asked, golds)


def _by_the_notebooks(asked: Asked, golds: Iterable[str]) -> tuple[float, str]:
    row = asked.row
    if not asked.said.strip() and not asked.raw.strip():
        return asked.nothing
    alone = row["task"] in (ABSENT, RETRIEVAL) or row["question"] == "city"
    return released_accuracy(asked.raw if alone else asked.file, golds)


def careful(asked: Asked) -> Verdict:
    """The second scorer's value and verdict."""
    row, said = asked.row, asked.said
    gold, lang = row["references"], row["lang"]
    if not said.strip():
        return asked.nothing
    if row["task"] == ABSENT:
        read = absent_verdict(said, (row["unanswerable"], *gold), lang)
    elif row["question"] == "city":
        read = city_verdict(said, gold, asked.cities, lang, asked.names)
    else:
        read = number_verdict(said, gold[0], lang)
    if not read[0] and strict(asked)[1] == "unanswerable":
        return 0.0, "unanswerable"
    return read


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: Mlongrr,
    city_names: Sequence[str | Path] = (CITY_NAMES,),
) -> pa.Table:
    """Rows of scores (METRICS) for each row of `generations`.

    `city_names` is the file of the cities' names in further languages. If an answer has no text, its verdict
    is "length" if the output limit cut it off (a model that did not end its reasoning), else "no_answer". The
    notebooks do not remove reasoning, so their rules read it too. Raises UserError as `score_rows` does.
    """
    names = read_city_names(city_names[0])
    files = _files(instances, generations)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        asked = Asked(row, text or "", row["raw_text"] or "", files[_file(row)], names)
        return rated_by(METRICS, lambda metric: globals()[metric.function](asked))

    return score_rows(instances, generations, rate, model=model)


def _file(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[factor] for factor in _FILE)


def _files(instances: pa.Table, generations: pa.Table) -> dict[tuple[Any, ...], set[str]]:
    """The needles' numbers that any answer of each file has."""
    rows = instances.select(["instance_id", *_FILE, "numbers"]).to_pylist()
    of = {row["instance_id"]: _file(row) for row in rows}
    needles: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for row in rows:
        needles[_file(row)].update(row["numbers"].split())
    answers: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    whole = pc.coalesce(generations["raw_text"], generations["text"]).to_pylist()
    for key, text in zip(generations["instance_id"].to_pylist(), whole, strict=True):
        if key in of and text:
            answers[of[key]].append(text)
    return {file: numbers_in(answers[file], own) for file, own in needles.items()}
