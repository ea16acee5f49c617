"""The table of every source of M4LE, the released rows, and the embedded sample."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa

from needlework import safe_yaml
from needlework.benchmarks.m4le.data.tasks import (
    BUCKETS,
    BUCKETS_2023,
    SAMPLED,
    Cut,
    Frame,
    Piece,
    Task,
    cut,
    pieces,
)
from needlework.data.archives import Archive
from needlework.data.corpora.json_lines import MAX_LINE_BYTES, JsonLine, objects, read_lines
from needlework.data.words import word_starts
from needlework.errors import UserError

# Lengths are counted as M4LE counts them, and topics are numbered in words.

# Chinese characters, and the punctuation and full-width forms that stand between them.
_CHINESE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def length(text: str, unit: str) -> int:
    """The length of a text in a `unit`.

    "words" are separated by white space. "characters" are all characters. "mixed" counts Chinese characters
    one by one, and the words between them. "any" counts words; in scripts without spaces, characters.

    The released scripts add up lengths of parts by hand; released rows keep their bucket.
    """
    if unit == "words":
        return len(text.split())
    if unit == "characters":
        return len(text)
    if unit == "any":
        return len(word_starts(text))
    rest, chinese = _CHINESE.subn(" ", text)
    return chinese + len(rest.split())


def beginning(text: str, n: int, unit: str) -> str:
    """The first `n` words or characters of a text."""
    if unit == "words":
        return " ".join(text.split()[:n])
    if unit == "any":
        starts = word_starts(text)
        return text[: starts[n]].rstrip() if n < len(starts) else text
    return text[:n]


_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_DIGITS = "零一二三四五六七八九"
_PLACES = ((1000, "千"), (100, "百"), (10, "十"))


def counted(n: int, lang: str) -> str:
    """A number from 0 to 9999 in English words ("sixty one") or Chinese ones ("六十一"), else in digits."""
    if lang == "zh":
        return _chinese(n)
    return _english(n) if lang == "en" else str(n)


def _english(n: int) -> str:
    if n < 20:
        return _UNITS[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f" {_UNITS[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{_UNITS[n // 100]} hundred" + (f" and {_english(n % 100)}" if n % 100 else "")
    return f"{_english(n // 1000)} thousand" + (f", {_english(n % 1000)}" if n % 1000 else "")


def _chinese(n: int) -> str:
    if n < 10:
        return _DIGITS[n]
    if n < 20:
        return "十" + (_DIGITS[n % 10] if n % 10 else "")
    for place, name in _PLACES:
        if n >= place:
            rest = n % place
            # A missing place is read as one zero.
            gap = "零" if rest and rest < place // 10 else ""
            if rest and 10 <= rest < 20:
                return _DIGITS[n // place] + name + gap + "一" + _chinese(rest)
            return _DIGITS[n // place] + name + (gap + _chinese(rest) if rest else "")
    raise ValueError(n)


# The class of a good review.
POSITIVE = "positive"


class Question(NamedTuple):
    """A question with its accepted answers, best first."""

    text: str
    answers: tuple[str, ...]


class Document(NamedTuple):
    """A document that belongs to a record: one of its own paragraphs, or a retrieved passage."""

    text: str
    title: str = ""


class Record(NamedTuple):
    """A document, and the questions that it can answer."""

    text: str
    title: str = ""
    # The text by which a prompt asks for it, if that is not the title (such as keywords).
    asked: str = ""
    # Its class.
    label: str = ""
    # Its summary or translation.
    answers: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    # Its paragraphs or, for a question, the documents that come with it.
    parts: tuple[Document, ...] = ()


PIECE = pa.struct([("role", pa.string()), ("start", pa.int32()), ("end", pa.int32())])

# `passage_id` is task, bucket and number. `text` is the whole prompt, which `pieces` cover; `gold` are the
# places of the needles among `n_items` items; `length` is that of prompt and answer in the task's own unit.
ROWS = pa.schema(
    [
        ("passage_id", pa.string()),
        ("task", pa.string()),
        ("text", pa.string()),
        ("pieces", pa.list_(PIECE)),
        ("answers", pa.list_(pa.string())),
        ("bucket", pa.int32()),
        ("length", pa.int32()),
        ("gold", pa.list_(pa.int32())),
        ("n_items", pa.int32()),
    ]
)


class Row(NamedTuple):
    """A row of ROWS without its id."""

    task: str
    text: str
    pieces: list[Piece]
    answers: Sequence[str]
    bucket: int
    length: int
    gold: Sequence[int]
    n_items: int


def rows_table(rows: Iterable[Row], what: str) -> pa.Table:
    """ROWS in the given order; UserError if there are no rows."""
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        number = counts[row.task, row.bucket]
        counts[row.task, row.bucket] += 1
        columns["passage_id"].append(f"{row.task}-{row.bucket:06d}-{number:04d}")
        columns["pieces"].append([piece._asdict() for piece in row.pieces])
        for name in ("task", "text", "answers", "bucket", "length", "gold", "n_items"):
            columns[name].append(getattr(row, name))
    if not counts:
        raise UserError(
            f"{what} has no row of the wanted lengths: correct benchmarks.m4le.lengths."
        )
    return pa.table([pa.array(columns[f.name], f.type) for f in ROWS], schema=ROWS)


# M4LE's embedded sample: invented texts in English and Chinese, in the form of the source data sets.

_Texts = Mapping[str, Any]


def sample_records(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """The sample's documents for a task. Raises UserError if the sample has no documents for it."""
    texts = {path.stem: safe_yaml.read(path) for path in files}
    if task.name not in SAMPLED:
        raise UserError(f"m4le's sample has no texts for {task.name}: leave it out of `tasks`.")
    lang = "zh" if task.lang == "zh" or task.name.endswith("zh2en") else "en"
    # A task of reviews in two languages has them all.
    return READERS[task.sample](texts, task.lang if task.sample == "reviews" else lang)


def _news(texts: _Texts, lang: str) -> Iterator[Record]:
    for item in texts["news"]["news"]:
        own, label = item[lang], texts["news"]["classes"][item["class"]][lang]
        yield Record(own["text"], own["title"], label=label, answers=(own["title"],))


def _reviews(texts: _Texts, lang: str) -> Iterator[Record]:
    for label, languages in texts["reviews"].items():
        for own in lang.split(","):
            for text in languages[own]:
                yield Record(text, label=POSITIVE if label == "positive" else "negative")


def _entries(texts: _Texts, lang: str) -> Iterator[Record]:
    """Whole entries, with their questions."""
    for entry in texts["entries"]:
        own = entry[lang]
        paragraphs = tuple(Document(text) for text in own["paragraphs"])
        text = (" " if lang == "en" else "").join(own["paragraphs"])
        yield Record(text, own["title"], questions=_questions(own), parts=paragraphs)


def _choices(texts: _Texts, lang: str) -> Iterator[Record]:
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


def _passages(texts: _Texts, lang: str) -> Iterator[Record]:
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


def _asked(texts: _Texts, lang: str) -> Iterator[Record]:
    for record, item in zip(_long(texts, lang), texts["long"], strict=True):
        text, answer = item["question"]
        yield record._replace(questions=(Question(text, (answer,)),))


def _lines(texts: _Texts, lang: str) -> Iterator[Record]:
    """The longer texts, sentence by sentence, each with its translation."""
    for item in texts["long"]:
        own = int(lang == "zh")
        pairs = tuple(Document(pair[own], pair[1 - own]) for pair in item["sentences"])
        yield Record("", item["title"][lang], parts=pairs)


def _questions(own: _Texts) -> tuple[Question, ...]:
    return tuple(Question(text, (answer,)) for text, answer in own["questions"])


# By `Task.sample`.
READERS: dict[str, Callable[[_Texts, str], Iterator[Record]]] = {
    **{"news": _news, "reviews": _reviews, "entries": _entries, "choices": _choices},
    **{"passages": _passages, "hops": _hops, "talks": _talks, "long": _long, "asked": _asked},
    "lines": _lines,
}


# M4LE as it was released: the hub's JSON Lines, read line by line.

logger = logging.getLogger(__name__)

# The archive of the first release has 1.09 GB of text, compressed.
_MOST_BYTES = 16 << 30
# Members that an error lists.
_MOST_LISTED = 60
_KNOWN = {*BUCKETS, *BUCKETS_2023}


def read_rows(
    task: Task, frame: Frame, path: str | Path, buckets: Collection[int]
) -> Iterator[Row]:
    """The rows of a task's file whose bucket is in `buckets`, in the file's order.

    `path` is a JSON Lines file, or the first release's data.zip. If the frame is not found in a prompt, the
    prompt is one piece of haystack. Such prompts are counted in the log, and so are rows whose gold item is
    not among the items. Raises UserError if a line is not a JSON object, lacks a field, or has an unknown
    bucket or an empty text.
    """
    path = Path(path)
    counts: Counter[str] = Counter()
    for line in _zipped(path, task) if path.suffix == ".zip" else read_lines(path):
        bucket = line.get("length_bucket", int)
        if bucket not in _KNOWN:
            raise line.wrong(f"has the unknown length_bucket {bucket}")
        if bucket not in buckets:
            continue
        instruction, text = line.get("instruction", str), line.get("input", str)
        answers = line.texts("answers")
        if not text.strip() or not any(answer.strip() for answer in answers):
            raise line.wrong("has an empty 'input' or no answer")
        found = cut(frame, instruction, text)
        gold: list[int] = []
        if found is None:
            counts["rows without the task's frame"] += 1
            found_pieces = [Piece("haystack", 0, len(instruction) + 1 + len(text))]
        else:
            gold, missing = _gold(task, line.value, found)
            counts["rows with a gold item that is not there"] += missing
            found_pieces = pieces(frame, found, len(text), gold)
        yield Row(
            task=task.name,
            text=f"{instruction}\n{text}",
            pieces=found_pieces,
            answers=answers,
            bucket=bucket,
            length=line.get("total_length", int),
            gold=gold,
            n_items=len(found.items) if found else 0,
        )
    for what, count in counts.items():
        if count:
            logger.warning("%s: %d %s", task.name, count, what)


def _zipped(path: Path, task: Task) -> Iterator[JsonLine]:
    """The lines of the task's file in an archive, wherever in it the file lies."""
    with Archive(path, max_total=_MOST_BYTES) as archive:
        wanted = [f"{name}.jsonl" for name in task.archived]
        names = [name for name in sorted(archive.names) if PurePosixPath(name).name in wanted]
        if len(names) == 1:
            yield from objects(path / names[0], archive.lines(names[0], MAX_LINE_BYTES))
            return
        # The names are untrusted.
        found = names or sorted(archive.names)
        listed = ", ".join(map(repr, found[:_MOST_LISTED]))
        more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        raise UserError(
            f"{path} has {len(names) or 'no'} members named {' or '.join(wanted)}. It has "
            f"{listed}{more}. Leave {task.name} out of `benchmarks.m4le.tasks`, or set "
            '`benchmarks.m4le.release: "2024"`; another download has the same members.'
        )


def _gold(task: Task, row: Mapping[str, Any], found: Cut) -> tuple[list[int], bool]:
    """The places of the needles among the items, and whether the row names one that is not there."""
    labels = row.get("labels")
    if isinstance(index := row.get("gold_index"), int):
        named: Sequence[Any] = [index]
    elif isinstance(contexts := row.get("ctxs"), list):
        named = [
            i for i, c in enumerate(contexts) if isinstance(c, dict) and c.get("isgold") is True
        ]
    elif task.metric == "f1":
        named = re.findall(r"[0-9A-F]{6}", row["answers"][0])
    elif isinstance(labels, dict) and isinstance(labels.get(found.values.get("question")), list):
        named = labels[found.values["question"]]
    else:
        named = [found.values["gold"]] if found.values.get("gold") else []
    places = {id_: place for place, id_ in enumerate(found.ids)} if any(found.ids) else {}
    there = [
        places.get(name, -1) if isinstance(name, str) else name if isinstance(name, int) else -1
        for name in named
    ]
    gold = sorted({place for place in there if 0 <= place < len(found.items)})
    return gold, len(gold) < len(set(there))
