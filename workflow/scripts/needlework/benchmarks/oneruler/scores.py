"""ONERULER's scores: answers by the strict rules, by the released ones, and the second scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.benchmarks.oneruler import careful, released, strict
from needlework.benchmarks.oneruler.none_words import ANSWER_TAGS, PHRASES, check
from needlework.benchmarks.oneruler.none_words import phrases as read_phrases
from needlework.benchmarks.oneruler.wording import Wording
from needlework.records import read_table
from needlework.scoring.scores import CAREFUL, Rating, score_rows, second

METRICS = ("strict", "released", CAREFUL)


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: Own,
    phrases: Sequence[str | Path] = (PHRASES,),
    books: Sequence[str | Path] = (),
) -> pa.Table:
    """Three rows of scores (METRICS) for each row of `generations`.

    `phrases` is the file of the languages' words for "none", `books` are the corpora of the contexts: an
    answer that quotes one says nothing (`Books`). `settings` may have none_words (language to words for
    "none", beside ours) and answer_tags (names of tags, beside ours). An answer without text has the
    verdict "length" where the output limit cut it off (a model that did not end its reasoning), else
    "no_answer". The released rules see the model's thoughts too, as the released code does.

    Raises UserError as `score_rows` does, and where the language of an instruction has no words for
    "none".
    """
    more: Mapping[str, Sequence[str]] = settings.get("none_words", {})
    check(sorted(set(instances["instruction_lang"].to_pylist())), more)
    wordings, shelf = read_phrases(phrases[0]), Books(books)
    tags = (*ANSWER_TAGS, *settings.get("answer_tags", ()))

    @cache
    def denials(lang: str) -> tuple[tuple[str | Wording, ...], tuple[str, ...]]:
        """Our words for "none" in a language, and the released ones."""
        own = tuple(more.get(lang, ()))
        return (*wordings.get(lang, ()), *own), released.NONE_WORDS.get(lang, own)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        nothing = 0.0, "length" if row["finish_reason"] == "length" else "no_answer"
        read, raw = strict.answer(text or "", tags), row["raw_text"] or ""
        text, whole = released.answer(raw, model), text or ""
        reader: careful.Verdict
        lang, expected = row["instruction_lang"], row["references"]
        words, theirs = denials(lang)

        def quotes(said: str) -> bool:
            return shelf.hold(row["context_lang"], said)

        task = row["task"]
        if task.startswith("cwe"):
            ours, others = strict.score_words(read, expected), released.score_words(text, expected)
            reader = careful.common_words(read, expected, lang)
        elif task == "niah_none":
            ours = strict.score_none(read, (*words, *expected), quotes)
            others = released.score_none(text, theirs)
            reader = careful.none(read, (*words, *expected), lang, quotes)
        else:
            # Models also say "none" in English if the prompt is not. Either way the answer is wrong.
            either = words if lang == "en" else (*words, *denials("en")[0])
            ours = strict.score_numbers(read, expected, either, quotes)
            others = released.score_numbers(text, expected, theirs)
            reader = careful.needles(read, expected, words, lang)
        if not whole.strip():
            ours = reader = nothing
        theirs_rated = others if raw.strip() else nothing
        return [(*ours, METRICS[0]), (*theirs_rated, METRICS[1]), second(reader, ours[0])]

    return score_rows(instances, generations, rate, model=model)


class Books:
    """The contexts' texts by language, read when an answer is first looked for in one."""

    def __init__(self, files: Sequence[str | Path]) -> None:
        self._files = {Path(file).stem: file for file in files}
        self._texts: dict[str, str] = {}

    def hold(self, lang: str, answer: str) -> bool:
        """Whether an answer stands in a language's book word for word, as a sentence of it."""
        if lang not in self._files:
            return False
        if lang not in self._texts:
            texts = read_table(self._files[lang], ["text"])["text"].to_pylist()
            self._texts[lang] = " ".join(" ".join(texts).split())
        said = " ".join(answer.split()).strip("\"'«»“”„‘’「」")
        return bool(said) and said in self._texts[lang]
