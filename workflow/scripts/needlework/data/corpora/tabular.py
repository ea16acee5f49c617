"""A user's own data sets as corpora: of the Hugging Face hub, or local Parquet, JSON Lines and CSV files.

The package `datasets` streams them, so only the rows that are read are downloaded. The configuration maps
the columns (`corpora.<name>.columns`); a dot names a field inside a column (`answers.text`), unless a
column has that very name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from needlework.data import sentences
from needlework.data.corpora.extractive import questions_table
from needlework.data.corpora.oneruler import book_table
from needlework.data.corpora.registry import OWN_FORMATS, OWN_PASSAGES
from needlework.data.corpora.titled import passages
from needlework.entry import Entry
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.records import PASSAGES, RECORDS

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 1000
"""Of a Parquet file, held in memory as Python's objects."""


class Row(NamedTuple):
    """A row of a data set: its place, from 0, its columns, and what errors call the data set."""

    place: int
    values: Mapping[str, object]
    columns: Mapping[str, str]
    where: str

    def texts(self, key: str) -> list[str]:
        """The texts in the column of `key`: none if it is not mapped or empty."""
        if key not in self.columns:
            return []
        name = self.columns[key]
        path = [name] if name in self.values else name.split(".")
        found = self._inside(self.values, path, name)
        return [text for value in found if (text := self._text(value, name)).strip()]

    def text(self, key: str) -> str:
        """The text in the column of `key`, or "". UserError if it has several."""
        found = self.texts(key)
        if len(found) > 1:
            raise self.wrong(f"has several texts in the column {self.columns[key]!r}")
        return found[0] if found else ""

    def _inside(self, value: object, path: Sequence[str], name: str) -> Iterator[object]:
        """What is at the end of a path, in each element of a list on the way."""
        if isinstance(value, list | tuple):
            for each in value:
                yield from self._inside(each, path, name)
        elif not path:
            yield value
        elif value is None:
            return
        elif isinstance(value, Mapping) and path[0] in value:
            yield from self._inside(value[path[0]], path[1:], name)
        else:
            known = ", ".join(value) if isinstance(value, Mapping) else "none"
            raise UserError(
                f"{self.where} has no column {name!r}: it has {known}: correct `columns` in the "
                "configuration."
            )

    def _text(self, value: object, name: str) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.wrong(f"has a {type(value).__name__} in the column {name!r}, which is not text")

    def wrong(self, what: str) -> UserError:
        """An error that names the data set and the row."""
        return UserError(
            f"{self.where}, row {self.place + 1} {what}: map another column, or correct the row."
        )

    @property
    def name(self) -> str:
        """The row's id: that of its column, or its place, which is the same in every language."""
        return self.text("id") or f"{self.place:08d}"


def table(corpus: str, lang: str, files: Sequence[str], settings: Entry) -> pa.Table:
    """The corpus in `lang`, as the rule `read_corpus` asks for it; `settings` are the layout's.

    `questions` (QUESTIONS), `<corpus>_passages` with their contexts (TITLED, or PASSAGES without
    titles), `passages` (PASSAGES), `texts` (BOOKS) or `records` (RECORDS). Rows that lack what the kind
    needs are left out, and counted in the log. UserError if the data set cannot be read, or no row is
    left.
    """
    base = corpus.removesuffix(OWN_PASSAGES) if settings["kind"] == "questions" else corpus
    where = f"corpora.{base}.languages.{lang}"
    rows = _rows(files, settings, where)
    kinds: dict[str, Callable[[Iterator[Row], str, str], pa.Table]] = {
        "questions": _questions,
        "passages": _passages,
        "texts": _texts,
        "records": _records,
    }
    made = kinds[settings["kind"]](rows, lang, where)
    if base == corpus:
        return made
    titled = passages(made)
    if "title" in settings["columns"]:
        return titled
    ids, contexts = (made[name].to_pylist() for name in ("example_id", "context"))
    texts = dict(zip(ids, contexts, strict=True))
    kept = titled["passage_id"].to_pylist()
    return pa.table([kept, [texts[name] for name in kept]], schema=PASSAGES)


def _questions(rows: Iterator[Row], lang: str, where: str) -> pa.Table:
    found, lacking, elsewhere = [], 0, 0
    for row in rows:
        context, question = row.text("context"), row.text("question")
        given = list(dict.fromkeys(row.texts("answers")))
        answers = [answer for answer in given if answer in context]
        if not (context and question and given):
            lacking += 1
        elif not answers:
            elsewhere += 1
        else:
            found.append(
                {
                    "example_id": row.name,
                    "title": row.text("title"),
                    "context": context,
                    "question": question,
                    "answers": answers,
                    "answer_starts": [context.find(answer) for answer in answers],
                }
            )
    if lacking or elsewhere:
        logger.warning(
            "%s: %d rows without context, question or answer, and %d whose answer does not stand in the "
            "context, are left out of %d",
            *(where, lacking, elsewhere, len(found) + lacking + elsewhere),
        )
    _refuse_none(found, where, "question whose answer stands in its context")
    return questions_table(found, where)


def _passages(rows: Iterator[Row], lang: str, where: str) -> pa.Table:
    found: dict[str, str] = {}
    lacking = 0
    for row in rows:
        if text := row.text("text"):
            if row.name in found:
                raise row.wrong(f"has the id {row.name!r} of an earlier one")
            found[row.name] = text
        else:
            lacking += 1
    if lacking:
        logger.warning("%s: %d rows without a text are left out", where, lacking)
    _refuse_none(found, where, "text")
    names = sorted(found)
    return pa.table([names, [found[name] for name in names]], schema=PASSAGES)


def _texts(rows: Iterator[Row], lang: str, where: str) -> pa.Table:
    text = "\n".join(filter(None, (row.text("text") for row in rows)))
    return book_table(text, lang, sentences.rules(lang), where)


def _records(rows: Iterator[Row], lang: str, where: str) -> pa.Table:
    found = []
    for row in rows:
        own = {key: row.text(key) for key in ("text", "title", "label", "question")}
        lists = {key: row.texts(key) for key in ("answers", "parts")}
        if own["text"]:
            found.append({**own, **lists})
    _refuse_none(found, where, "text")
    return pa.Table.from_pylist(found, schema=RECORDS)


def _refuse_none(found: object, where: str, what: str) -> None:
    if not found:
        raise UserError(f"{where} has no {what}: correct `columns`, or raise `rows`.")


def _rows(files: Sequence[str], settings: Entry, where: str) -> Iterator[Row]:
    """The rows of a data set, as many as the settings ask for."""
    columns = settings["columns"]
    shown = progress(_streamed(files, settings, where), desc=where, unit="row")
    for place, values in enumerate(shown):
        yield Row(place, values, columns, where)


def _of_parquet(files: Sequence[str]) -> Iterator[Mapping[str, object]]:
    """The rows of Parquet files, read without threads.

    The scanner that `datasets` uses leaves threads behind. If one of them releases the file while Python
    ends, it aborts the job (apache/arrow issue 45214, with PyArrow 26).
    """
    import fsspec  # comes with datasets

    for name in files:
        with fsspec.open(name) as file:
            parquet = pq.ParquetFile(file, pre_buffer=False)
            for batch in parquet.iter_batches(ROWS_AT_ONCE, use_threads=False):
                yield from batch.to_pylist()


def _streamed(files: Sequence[str], settings: Entry, where: str) -> Iterator[Mapping[str, object]]:
    try:
        import datasets
    except ImportError:
        raise UserError(
            f"{where} needs the package datasets, which is not installed: run `make setup`, or Snakemake "
            "with --use-conda."
        ) from None
    datasets.disable_progress_bars()
    columns = [name for path in settings["columns"].values() for name in (path, path.split(".")[0])]
    try:
        if files:
            kind, split = OWN_FORMATS[Path(files[0]).suffix], "train"
            builder = datasets.load_dataset_builder(kind, data_files=list(files))
        else:
            split = settings["split"]
            builder = datasets.load_dataset_builder(
                settings["name"], settings["subset"], revision=settings["revision"]
            )
        if hasattr(builder.config, "converters"):
            # Of a CSV file: the text as it is, not as pandas would convert it.
            builder.config.converters = dict.fromkeys(columns, str)
            builder.config.na_filter = False
        named = (builder.config.data_files or {}).get(split, [])
        parquet = named and all(name.endswith(".parquet") for name in named)
        rows = _of_parquet(named) if parquet else builder.as_streaming_dataset(split=split)
        yield from islice(rows, settings["rows"])
    except Exception as error:
        # The package passes on the exceptions of many other packages.
        reason = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        what = f"the files {files[0]}, ..." if files else f"the data set {settings['name']}"
        raise UserError(
            f"{where}: {what} cannot be read ({reason}): correct the entry, or log in with the environment "
            "variable HF_TOKEN if the data set is private."
        ) from None
