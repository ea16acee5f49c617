"""M4LE's embedded sample: invented texts in English and Chinese, in the form of the source data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.benchmarks.m4le.data.rows import POSITIVE, Document, Question, Record
from needlework.benchmarks.m4le.data.tasks import Task
from needlework.errors import UserError

_Texts = Mapping[str, Any]


def sample_records(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """The sample's documents for a task. UserError if the sample has none for it."""
    texts = {path.stem: safe_yaml.read(path) for path in files}
    if task.name not in _READERS:
        raise UserError(f"m4le's sample has no texts for {task.name}: leave it out of `tasks`.")
    source_lang = "zh" if task.lang == "zh" or task.name.endswith("zh2en") else "en"
    return _READERS[task.name](texts, source_lang)


def _news(texts: _Texts, lang: str) -> Iterator[Record]:
    for item in texts["news"]["news"]:
        own, label = item[lang], texts["news"]["classes"][item["class"]][lang]
        yield Record(own["text"], own["title"], label=label, answers=(own["title"],))


def _reviews(texts: _Texts, lang: str) -> Iterator[Record]:
    for label, languages in texts["reviews"].items():
        for own in languages if lang == "both" else [lang]:
            for text in languages[own]:
                yield Record(text, label=POSITIVE if label == "positive" else "negative")


def _both_reviews(texts: _Texts, lang: str) -> Iterator[Record]:
    return _reviews(texts, "both")


def _entries(texts: _Texts, lang: str) -> Iterator[Record]:
    """Whole entries, with their questions."""
    for entry in texts["entries"]:
        own = entry[lang]
        paragraphs = tuple(Document(text) for text in own["paragraphs"])
        text = (" " if lang == "en" else "").join(own["paragraphs"])
        yield Record(text, own["title"], questions=_questions(own), parts=paragraphs)


def _chosen(texts: _Texts, lang: str) -> Iterator[Record]:
    """Entries whose questions offer four answers, as C3's do."""
    records = list(_entries(texts, lang))
    for place, record in enumerate(records):
        asked = []
        for kind, (text, answers) in enumerate(record.questions):
            others = [records[(place + step) % len(records)] for step in (1, 2, 3)]
            options = [other.questions[kind].answers[0] for other in others]
            options.insert(place % 4, answers[0])
            letters = [
                f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True)
            ]
            asked.append(Question(f"{text} {' '.join(letters)}", (letters[place % 4],)))
        yield record._replace(questions=tuple(asked), parts=())


def _retrieved(texts: _Texts, lang: str) -> Iterator[Record]:
    """Paragraphs that hold an answer, with the paragraphs of other entries."""
    entries = [entry[lang] for entry in texts["entries"]]
    for own in entries:
        others = tuple(
            Document(text, other["title"])
            for place in range(3)
            for other in entries
            if other is not own
            for text in [other["paragraphs"][place]]
        )
        for question in _questions(own):
            for paragraph in own["paragraphs"]:
                if question.answers[0] in paragraph:
                    yield Record(paragraph, own["title"], questions=(question,), parts=others)
                    break


def _hops(texts: _Texts, lang: str) -> Iterator[Record]:
    for hop in texts["hops"]:
        questions = (Question(hop["question"], (hop["answer"],)),)
        parts = tuple(Document(text) for text in hop["paragraphs"])
        # One entry's paragraphs beside them, so that there is something to look through.
        others = tuple(
            Document(t) for entry in texts["entries"][:3] for t in entry["en"]["paragraphs"]
        )
        yield Record("", questions=questions, parts=parts + others)


def _talks(texts: _Texts, lang: str) -> Iterator[Record]:
    other = {"en": "zh", "zh": "en"}[lang]
    for entry in texts["entries"]:
        text, translation = (
            (" " if own == "en" else "").join(entry[own]["paragraphs"][:1]) for own in (lang, other)
        )
        yield Record(text, entry[lang]["title"], answers=(translation,))


def _long(texts: _Texts, lang: str) -> Iterator[Record]:
    for item in texts["long"]:
        text = (" " if lang == "en" else "").join(
            sentences[lang == "zh"] for sentences in item["sentences"]
        )
        yield Record(text, label=item["class"], answers=(item["summary"][lang],))


def _asked_long(texts: _Texts, lang: str) -> Iterator[Record]:
    for record, item in zip(_long(texts, lang), texts["long"], strict=True):
        text, answer = item["question"]
        yield record._replace(questions=(Question(text, (answer,)),))


def _aligned(texts: _Texts, lang: str) -> Iterator[Record]:
    """The longer texts, sentence by sentence, each with its translation."""
    for item in texts["long"]:
        own = int(lang == "zh")
        pairs = tuple(Document(pair[own], pair[1 - own]) for pair in item["sentences"])
        yield Record("", item["title"][lang], parts=pairs)


def _questions(own: _Texts) -> tuple[Question, ...]:
    return tuple(Question(text, (answer,)) for text, answer in own["questions"])


_READERS: dict[str, Callable[[_Texts, str], Iterator[Record]]] = {
    **dict.fromkeys(
        (
            *("mnds-news_explicit-single", "mnds-news_explicit-multiple"),
            *("mnds-news_semantic-multiple", "thucnews_explicit-single"),
            *("thucnews_explicit-multiple", "thucnews_semantic-multiple", "cnnnews", "lcsts"),
        ),
        _news,
    ),
    "marc": _both_reviews,
    "online-shopping": _reviews,
    **dict.fromkeys(
        ("newsqa", "wow", "drcd_explicit-single", "wikitext-103", "wiki2019zh"), _entries
    ),
    "c3": _chosen,
    **dict.fromkeys(("nq-open", "drcd_semantic-single"), _retrieved),
    "hotpotqa": _hops,
    **dict.fromkeys(("tedtalks-en2zh", "tedtalks-zh2en"), _talks),
    **dict.fromkeys(("bigpatent_global_cls", "arxiv", "cnewsum"), _long),
    "triviaqa": _asked_long,
    **dict.fromkeys(("open-subtitles-en2zh", "open-subtitles-zh2en"), _aligned),
}
