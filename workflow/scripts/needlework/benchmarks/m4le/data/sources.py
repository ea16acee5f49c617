"""M4LE's source data sets in their own layout, as records: which reader reads which task's files."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from needlework.benchmarks.m4le.data import sources_texts as texts
from needlework.benchmarks.m4le.data import sources_translated as translated
from needlework.benchmarks.m4le.data.origins import origin
from needlework.benchmarks.m4le.data.records import Document, Question, Record
from needlework.benchmarks.m4le.data.tasks import Task
from needlework.errors import UserError
from needlework.records import RECORDS, read_table

Reader = Callable[[Task, Sequence[Path]], Iterator[Record]]

_READERS: dict[str, Reader] = {
    **dict.fromkeys(
        ("mnds-news_explicit-single", "mnds-news_explicit-multiple", "mnds-news_semantic-multiple"),
        texts.mnds,
    ),
    **dict.fromkeys(
        ("thucnews_explicit-single", "thucnews_explicit-multiple", "thucnews_semantic-multiple"),
        texts.thucnews,
    ),
    "newsqa": texts.newsqa,
    "c3": texts.c3,
    "wow": texts.wow,
    "drcd_explicit-single": texts.drcd_topics,
    "drcd_semantic-single": texts.drcd,
    "cnnnews": texts.cnn,
    "cepsum": texts.cepsum,
    "lcsts": texts.lcsts,
    "ncls": translated.ncls,
    "marc": texts.marc,
    "online-shopping": texts.online_shopping,
    "wikitext-103": texts.wikitext,
    "wiki2019zh": texts.wiki2019zh,
    "duorc": texts.duorc,
    "nq-open": texts.nq_open,
    "dureader": texts.dureader,
    "wikihow": texts.wikihow,
    "news2016": texts.news2016,
    "hotpotqa": texts.hotpotqa,
    **dict.fromkeys(("bigpatent_global_cls", "bigpatent_global_sum"), texts.bigpatent),
    "triviaqa": texts.triviaqa,
    **dict.fromkeys(("arxiv", "pubmed"), texts.papers),
    "booksum": texts.booksum,
    "cnewsum": texts.cnewsum,
    "clts": texts.clts,
    **dict.fromkeys(("tedtalks-en2zh", "tedtalks-zh2en"), translated.tedtalks),
    **dict.fromkeys(("open-subtitles-en2zh", "open-subtitles-zh2en"), translated.subtitles),
    **dict.fromkeys(("news-commentary-en2zh", "news-commentary-zh2en"), translated.commentary),
}

# The released scripts leave these as they are; all other Chinese becomes simplified.
_AS_IT_IS = ("marc", "online-shopping", "wiki2019zh")


def source_records(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """The documents of a task's source, or of a user's table of RECORDS.

    UserError if a file has another layout.
    """
    if files[0].suffix == ".parquet":
        yield from _of_table(task, files[0])
        return
    # The limit is the whole process's.
    usual = csv.field_size_limit(sys.maxsize)
    as_it_is = (
        task.follows in _AS_IT_IS or task.name.startswith("thucnews") or "zh" not in task.lang
    )
    try:
        for record in _READERS[task.follows](task, files):
            yield record if as_it_is else _simplified(record)
    except (
        *(KeyError, IndexError, TypeError, ValueError, AttributeError, OSError, EOFError),
        *(json.JSONDecodeError, csv.Error, ElementTree.ParseError),
    ) as error:
        raise UserError(
            f"m4le's {task.name}: {files[0]}{' and others' if len(files) > 1 else ''} cannot be read as "
            f"{task.source} ({type(error).__name__}: {str(error)[:200]}): get the files anew from "
            f"{origin(task).url}."
        ) from None
    finally:
        csv.field_size_limit(usual)


def _of_table(task: Task, path: Path) -> Iterator[Record]:
    for row in read_table(path, RECORDS.names).to_pylist():
        question, answers = row["question"], tuple(row["answers"])
        if task.task_type.startswith(("QA", "SUM")) and not any(map(str.strip, answers)):
            raise UserError(
                f"m4le's {task.name}: the text {row['text'][:60]!r} of the records has no answer, which the "
                "task needs: add it, or leave the row out."
            )
        yield Record(
            row["text"],
            row["title"],
            "",
            row["label"],
            () if question else answers,
            (Question(question, answers),) if question else (),
            tuple(map(Document, row["parts"])),
        )


def _simplified(record: Record) -> Record:
    convert = texts.simplify
    return Record(
        convert(record.text),
        convert(record.title),
        convert(record.asked),
        convert(record.label),
        tuple(map(convert, record.answers)),
        tuple(Question(convert(q.text), tuple(map(convert, q.answers))) for q in record.questions),
        tuple(Document(convert(part.text), convert(part.title)) for part in record.parts),
    )
