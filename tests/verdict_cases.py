"""Answers with a human's verdict (tests/data/verdicts), and what the second scorer says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from needlework.benchmarks.lost_in_the_middle import scores as lost_in_the_middle
from needlework.benchmarks.m4le import scores as m4le
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.mlneedle import scores as mlneedle
from needlework.benchmarks.mlongrr import scores as mlongrr
from needlework.benchmarks.oneruler import scores as oneruler
from needlework.benchmarks.oneruler.wording import PHRASES, phrases
from needlework.models.thoughts import without_reasoning

Case = dict[str, Any]
FOLDER = Path(__file__).parent / "data/verdicts"
# The answers of M4LE's classifications, which a run knows from its instances.
CLASSES = {
    "thucnews_explicit-single": tuple(
        "体育 财经 房产 家居 教育 科技 时尚 时政 游戏 娱乐 彩票 股票 星座 社会".split()
    ),
    "mnds-news_explicit-single": (
        *("crime, law and justice", "arts, culture, entertainment and media", "politics", "sport"),
        *("economy, business and finance", "disaster, accident and emergency incident"),
        *("education", "environment", "health", "human interest", "labour"),
        *("lifestyle and leisure", "weather", "religion and belief", "science and technology"),
        *("society", "conflict, war and peace"),
    ),
}


def cases(file: Path) -> Iterator[Case]:
    """The cases of a file, one JSON object a line."""
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def verdict(case: Case) -> tuple[float | None, str]:
    """The metric's verdict on a case."""
    return _JUDGES[case["benchmark"]](case, without_reasoning(case["answer"]))


def _mlneedle(case: Case, answer: str) -> tuple[float | None, str]:
    langs = [case["lang"]] if "lang" in case else []
    if case["task"] == "existence":
        return mlneedle.existence_verdict(
            answer, case.get("translation"), case["references"][0], langs
        )
    return mlneedle.exact_verdict(answer, case.get("translation"), case["references"], langs)


def _lost_in_the_middle(case: Case, answer: str) -> tuple[float | None, str]:
    if case["task"] == "key_value":
        return lost_in_the_middle.pair_verdict(answer, case["references"][0])
    return lost_in_the_middle.question_verdict(answer, case["references"])


def _oneruler(case: Case, answer: str) -> tuple[float | None, str]:
    lang, references = case["lang"], case["references"]
    none = phrases(PHRASES).get(lang, ())
    if case["task"] == "cwe":
        return oneruler.common_words_verdict(answer, references, lang)
    if case["task"] == "none":
        return oneruler.none_verdict(answer, (*none, *references), lang)
    return oneruler.needles_verdict(answer, references, none, lang)


def _mlongrr(case: Case, answer: str) -> tuple[float | None, str]:
    lang, references = case.get("lang", "en"), case["references"]
    if case["task"] == "number":
        return mlongrr.number_verdict(answer, references[0], lang)
    names = case["cities"]
    cities = [names[i : i + 2] for i in range(0, len(names), 2)]
    return mlongrr.city_verdict(answer, references, cities, lang, mlongrr.read_city_names())


def _m4le(case: Case, answer: str) -> tuple[float | None, str]:
    task = case["task"]
    found = m4le.task_verdict(CONSTRUCTED[task], answer, case["references"], CLASSES.get(task, ()))
    assert found is not None, f"{task} has no one right answer"
    return found


_JUDGES = {
    "mlneedle": _mlneedle,
    "lost_in_the_middle": _lost_in_the_middle,
    "oneruler": _oneruler,
    "mlongrr": _mlongrr,
    "m4le": _m4le,
}
