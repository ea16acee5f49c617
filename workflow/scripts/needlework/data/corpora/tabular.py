"""A user's own data sets as corpora: from the Hugging Face hub, or local Parquet, JSON Lines and CSV files.

Files of these formats are read here, so that texts stay as they are. The package `datasets` finds the files
on the hub, and reads all other formats. All files are streamed: only rows that are read are downloaded. The
configuration maps the columns (`corpora.<name>.columns`). A dot names a field inside a column
(`answers.text`), unless a column has exactly this name.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import accumulate, chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from needlework.data import sentences
from needlework.data.budgets import ROW_BYTES, VALUE_BYTES, Budget, check_records
from needlework.data.corpora.books import book_table
from needlework.data.corpora.extractive import ExtractiveQuestion, questions_table
from needlework.data.corpora.found import Found, shortened, with_left_out
from needlework.data.corpora.json_lines import MAX_LINE_BYTES, objects
from needlework.data.corpora.registry import OWN_PASSAGES, base_of
from needlework.data.corpora.titled import passages
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.records import PASSAGES, RECORDS

if TYPE_CHECKING:
    from needlework.settings.sources import OwnCorpus, OwnData

    class OwnTable(OwnCorpus, OwnData):
        """The data of a language, with what its corpus says of all languages."""


# Where an answer stands in its context, up to Unicode's normal forms and the kind and number of spaces.


class SearchedContext:
    """A context that is searched for answers. It is normalised at the first search."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._form = ""
        self._starts: list[int] = []

    def find(self, answer: str) -> tuple[int, int] | None:
        """The first place of an answer, as (start, end) in the context; None if it is not there."""
        if (start := self.text.find(answer)) >= 0:
            return start, start + len(answer)
        wanted = "".join(_form(part) for part in _clusters(" ".join(answer.split())))
        if not wanted:
            return None
        if not self._starts:
            self._read()
        at = self._form.find(wanted)
        while at >= 0:
            start, end = self._starts[at], self._starts[at + len(wanted)]
            # Both ends are those of whole characters, so not of the half of one.
            if (at == 0 or self._starts[at - 1] < start) and self._starts[
                at + len(wanted) - 1
            ] < end:
                return start, end
            at = self._form.find(wanted, at + 1)
        return None

    def _read(self) -> None:
        """Put the text into one form, in which every character knows where it comes from."""
        parts: list[str] = []
        starts: list[int] = []
        clusters = _clusters(self.text)
        ends = [0, *accumulate(map(len, clusters))]
        for cluster, start in zip(clusters, ends, strict=False):
            form = " " if cluster.isspace() else _form(cluster)
            # A run of spaces is one.
            if form == " " and parts and parts[-1] == " ":
                continue
            parts.append(form)
            starts += [start] * len(form)
        self._form = "".join(parts)
        self._starts = [*starts, len(self.text)]


def _form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _clusters(text: str) -> list[str]:
    """The text in the shortest pieces whose forms, one after the other, are the form of the whole."""
    pieces: list[str] = []
    for character in text:
        if pieces and not (character.isascii() and pieces[-1].isascii()):
            joined = pieces[-1] + character
            if _form(joined) != _form(pieces[-1]) + _form(character):
                pieces[-1] = joined
                continue
        pieces.append(character)
    return pieces


ROWS_AT_ONCE = 1000
"""Held in memory as Python's objects, if they are short."""
BYTES_AT_ONCE = 1 << 26


# Of the fields of a CSV file; and a line behind its last, which a quote that none closes would hold.
_SEPARATORS, _END = ",;\t|", "\0"

# The lists of a row, and where a table's metadata have what was found.
LISTS = ("answers", "parts")
FOUND = "needlework.found"
ELSEWHERE = "whose answers do not stand in the context"


class ListForm(NamedTuple):
    """How a text holds a list: as JSON, or with a separator."""

    json: bool
    separator: str | None

    def parted(self, text: str) -> list[str]:
        """The texts of a list that is written as one text; the text itself if it is not a list."""
        if self.json and text.lstrip().startswith("["):
            try:
                found = json.loads(text)
            except ValueError:
                found = None
            if isinstance(found, list) and all(isinstance(each, str | int) for each in found):
                return [str(each) for each in found]
        return text.split(self.separator) if self.separator else [text]


class DataRow(NamedTuple):
    """A row of a data set."""

    # Its index, from 0.
    place: int
    values: Mapping[str, object]
    # The data set's columns, by the key that maps them.
    columns: Mapping[str, str]
    # The data set's name in errors.
    where: str
    # How its texts hold lists.
    lists: ListForm

    def texts(self, key: str) -> list[str]:
        """The texts in the column of `key`; empty if it is not mapped or has no value."""
        if key not in self.columns:
            return []
        name = self.columns[key]
        inside = self._inside(self.values, self._path(name), name)
        found = [self._text(value, name) for value in inside]
        if key in LISTS:
            found = [each.strip() for text in found for each in self.lists.parted(text)]
        return [text for text in found if text.strip()]

    def text(self, key: str) -> str:
        """The text in the column of `key`, or "". Raises UserError if it has several."""
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
        elif not isinstance(value, Mapping):
            raise self.no_column(name)

    def has(self, name: str) -> bool:
        """Whether the row has a column, with a value or without."""
        return _reaches(self.values, self._path(name))

    def no_column(self, name: str) -> UserError:
        """The error of a column that is not there."""
        return UserError(
            f"{self.where} has no column {name!r}: it has {', '.join(self.values)}: correct `columns` in the "
            "configuration."
        )

    def _path(self, name: str) -> list[str]:
        return [name] if name in self.values else name.split(".")

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

    def shown(self, key: str) -> str:
        """The row's name and its value in the column of `key`, for errors."""
        name = self.columns[key if key in self.columns else f"{key}s"]
        return f"row {self.place + 1}, whose column {name!r} is empty"

    @property
    def name(self) -> str:
        """The row's id: its value in the id column, or its number, which is the same in every language."""
        return self.text("id") or f"{self.place:08d}"


def _reaches(value: object, path: Sequence[str]) -> bool:
    """Whether a path ends in a value; of a list, in one of its elements. None and [] may hold anything."""
    if isinstance(value, list | tuple):
        return not value or any(_reaches(each, path) for each in value)
    if not path or value is None:
        return True
    return isinstance(value, Mapping) and path[0] in value and _reaches(value[path[0]], path[1:])


def table(corpus: str, lang: str, files: Sequence[str], settings: OwnTable) -> pa.Table:
    """The corpus in `lang`, as the rule `read_corpus` asks for it; `settings` are the layout's.

    The schema depends on the corpus. `questions` is QUESTIONS, and `<corpus>_passages` has their contexts as
    TITLED, or as PASSAGES without titles (`<corpus>_paragraphs` never has titles). `passages` is PASSAGES,
    `texts` BOOKS, `records` RECORDS. Rows that lack a needed column are left out, and counted in the table's
    metadata (FOUND). Raises UserError if the data set cannot be read, or no row is left.
    """
    base = base_of(corpus) if settings.kind == "questions" else corpus
    where = f"corpora.{base}.languages.{lang}"
    found = Found(where)
    rows = _rows(files, settings, found)
    kinds: dict[str, Callable[[Iterator[DataRow], str, Found], pa.Table]] = {
        "questions": _questions,
        "passages": _passages,
        "texts": _texts,
        "records": _records,
    }
    made = kinds[settings.kind](rows, lang, found)
    about = {FOUND: json.dumps(asdict(found))}
    if base == corpus:
        return made.replace_schema_metadata(about)
    titled = passages(made)
    if "title" in dict(settings.columns) and corpus.endswith(OWN_PASSAGES):
        return titled.replace_schema_metadata(about)
    ids, contexts = (made[name].to_pylist() for name in ("example_id", "context"))
    texts = dict(zip(ids, contexts, strict=True))
    kept = titled["passage_id"].to_pylist()
    plain = pa.table([kept, [texts[name] for name in kept]], schema=PASSAGES)
    return plain.replace_schema_metadata(about)


def _questions(rows: Iterator[DataRow], lang: str, found: Found) -> pa.Table:
    kept: list[ExtractiveQuestion] = []
    # Answers in another spelling than the context's, or in other words, such as a number's.
    given: dict[str, dict[str, int]] = {}
    for row in rows:
        context, question = row.text("context"), row.text("question")
        wanted = list(dict.fromkeys(row.texts("answers")))
        lacks = [
            key
            for key, has in (("context", context), ("question", question), ("answer", wanted))
            if not has
        ]
        if lacks:
            found.leave_out(f"without {lacks[0]}", f"the first is {row.shown(lacks[0])}")
            continue
        reader = SearchedContext(context)
        places = {answer: reader.find(answer) for answer in wanted}
        absent = [answer for answer, place in places.items() if place is None]
        if len(absent) == len(wanted):
            first = f"{shortened(absent[0])!r} is not in {shortened(context)!r}"
            found.leave_out(ELSEWHERE, f"the first is row {row.place + 1}: {first}")
            continue
        stand = {context[start:end]: start for start, end in filter(None, places.values())}
        given[row.name] = {
            answer: place[0] if place else -1
            for answer, place in places.items()
            if answer not in stand
        }
        kept.append(
            {
                "example_id": row.name,
                "title": row.text("title"),
                "context": context,
                "question": question,
                "answers": list(stand),
                "answer_starts": list(stand.values()),
            }
        )
    _refuse_none(kept, found, "question whose answer stands in its context")
    return _with_spellings(questions_table(kept, found.where), given)


def _with_spellings(table: pa.Table, given: Mapping[str, Mapping[str, int]]) -> pa.Table:
    """QUESTIONS with the answers that only the user has behind those of the contexts; -1 is no start.

    A model may answer with either, and not every metric takes one for the other.
    """
    rows = table.to_pylist()
    for row in rows:
        row["answers"] += given[row["example_id"]]
        row["answer_starts"] += given[row["example_id"]].values()
    return pa.Table.from_pylist(rows, schema=table.schema)


def _passages(rows: Iterator[DataRow], lang: str, found: Found) -> pa.Table:
    kept: dict[str, str] = {}
    for row in rows:
        if text := _only_text(row, found):
            if row.name in kept:
                raise row.wrong(f"has the id {row.name!r} of an earlier one")
            kept[row.name] = text
    _refuse_none(kept, found, "text")
    names = sorted(kept)
    return pa.table([names, [kept[name] for name in names]], schema=PASSAGES)


def _texts(rows: Iterator[DataRow], lang: str, found: Found) -> pa.Table:
    kept = [text for row in rows if (text := _only_text(row, found))]
    _refuse_none(kept, found, "text")
    return book_table(kept, lang, sentences.rules(lang), found.where)


def _records(rows: Iterator[DataRow], lang: str, found: Found) -> pa.Table:
    kept = []
    for row in rows:
        own = {key: row.text(key) for key in ("title", "label", "question")}
        lists = {key: row.texts(key) for key in ("answers", "parts")}
        if text := _only_text(row, found):
            kept.append({"text": text, **own, **lists})
    _refuse_none(kept, found, "text")
    return pa.Table.from_pylist(kept, schema=RECORDS)


def _only_text(row: DataRow, found: Found) -> str:
    """The text of a row; "" if there is none, which is counted."""
    text = row.text("text")
    if not text:
        found.leave_out("without text", f"the first is row {row.place + 1}")
    return text


def _refuse_none(kept: object, found: Found, what: str) -> None:
    if not kept:
        error = UserError(f"{found.where} has no {what}: correct `columns`, or raise `rows`.")
        raise with_left_out(error, [found])


# A column that so many rows lack is misspelt.
_ENOUGH_ROWS = 1000


def _rows(files: Sequence[str], settings: OwnTable, found: Found) -> Iterator[DataRow]:
    """The rows of a data set, as many as the settings ask for; they are counted."""
    columns, where = dict(settings.columns), found.where
    lists = ListForm(bool(files) and Path(files[0]).suffix == ".csv", settings.separator)
    stored = sum(Path(file).stat().st_size for file in files) if files else None
    budget = Budget(files, stored, where)
    shown = progress(_streamed(files, settings, where, budget), desc=where, unit="row")
    # The columns that no row had so far: a row of JSON Lines may leave some out.
    lacking, row = list(columns.values()), None
    for place, values in enumerate(shown):
        budget.take(place, values)
        found.rows = place + 1
        found.limited = found.rows == settings.rows
        row = DataRow(place, values, columns, where, lists)
        lacking = [name for name in lacking if not row.has(name)]
        if lacking and found.rows == _ENOUGH_ROWS:
            raise row.no_column(lacking[0])
        yield row
    if row and lacking:
        raise row.no_column(lacking[0])


def _of_parquet(files: Sequence[str], budget: Budget) -> Iterator[Mapping[str, object]]:
    """The rows of Parquet files, read without threads. Texts that repeat are held once.

    The scanner that `datasets` uses leaves threads behind. If one of them releases the file while Python
    ends, it aborts the job (apache/arrow issue 45214, with PyArrow 26).
    """
    import fsspec  # comes with datasets

    for name in files:
        with fsspec.open(name) as file:
            parquet = pq.ParquetFile(file, pre_buffer=False)
            about, size = parquet.metadata, 0
            for number in range(about.num_row_groups):
                group = about.row_group(number)
                chunks = [group.column(place) for place in range(group.num_columns)]
                size += sum(
                    chunk.total_uncompressed_size + VALUE_BYTES * chunk.num_values
                    for chunk in chunks
                )
            budget.declared(size)
            texts = [field.name for field in parquet.schema_arrow if _is_text(field.type)]
            file.seek(0)
            parquet = pq.ParquetFile(file, pre_buffer=False, read_dictionary=texts)
            mean = size // max(1, about.num_rows)
            rows = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(1, mean)))
            for batch in parquet.iter_batches(rows, use_threads=False):
                yield from _rows_of(batch)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _rows_of(batch: pa.RecordBatch) -> Iterator[Mapping[str, object]]:
    """The rows of a batch, whose values of a dictionary are shared."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            known = [*column.dictionary.to_pylist(), None]
            places = column.indices.fill_null(len(known) - 1).to_pylist()
            columns.append([known[place] for place in places])
        else:
            columns.append(column.to_pylist())
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def _of_json(files: Sequence[str]) -> Iterator[Mapping[str, object]]:
    """The objects of JSON Lines, or of one list. Texts stay texts: Arrow would make times of dates."""
    import fsspec

    for name in files:
        with fsspec.open(name, "r", encoding="utf-8-sig") as file:
            whole = file.read(1) == "["
            file.seek(0)
            lines = iter(partial(file.readline, MAX_LINE_BYTES), "")
            rows = map(json.dumps, json.load(file)) if whole else lines
            yield from (line.value for line in objects(Path(name), rows))


def _of_csv(files: Sequence[str], wanted: set[str], where: str) -> Iterator[Mapping[str, object]]:
    """The rows of CSV files; the separator is the one that gives the most of the `wanted` columns.

    Excel writes semicolons where the comma is the decimal sign. A row may lack its last fields, or have empty
    ones behind them; UserError if it has more, since it cannot be known which belong together.
    """
    import fsspec

    before = csv.field_size_limit(ROW_BYTES)
    try:
        for name in files:
            with fsspec.open(name, "r", encoding="utf-8-sig", newline="") as file:
                yield from _of_csv_file(file, name, wanted, where)
    finally:
        # It is one for all readers of a process.
        csv.field_size_limit(before)


def _of_csv_file(
    file: TextIO, name: str, wanted: set[str], where: str
) -> Iterator[Mapping[str, object]]:
    heads = {}
    for separator in _SEPARATORS:
        file.seek(0)
        heads[separator] = next(filter(None, csv.reader(file, delimiter=separator)), [])
    own = max(heads, key=lambda s: (len(wanted.intersection(heads[s])), len(heads[s])))
    head = [column or f"Unnamed: {place}" for place, column in enumerate(heads[own])]
    if twice := [column for column in sorted(wanted) if head.count(column) > 1]:
        raise UserError(f"{where}: {name} has two columns {twice[0]!r}: rename one.")
    file.seek(0)
    rows = filter(None, csv.reader(chain(file, [_END]), delimiter=own))
    for number, row in enumerate(islice(rows, 1, None), start=1):
        wrong = ""
        if row == [_END]:
            break
        if row[-1].endswith(_END):
            wrong = "has a quote that none closes: close it"
        elif any(field.strip() for field in row[len(head) :]):
            wrong = (
                f"has {len(row)} fields, the head has {len(head)}: put a field that holds {own!r} in "
                "quotes, or correct the row"
            )
        if wrong:
            raise UserError(f"{where}: {name}, row {number} {wrong}.")
        yield dict(zip_longest(head, row[: len(head)]))


def _of_files(
    files: Sequence[str], wanted: set[str], where: str, budget: Budget
) -> Iterator[Mapping[str, object]] | None:
    """The rows of files, local or of the hub; None if they are of no kind that is read here."""
    endings = {Path(name).suffix for name in files}
    if endings == {".parquet"}:
        return _of_parquet(files, budget)
    if endings == {".jsonl"}:
        return _of_json(files)
    if endings in ({".csv"}, {".tsv"}):
        return _of_csv(files, wanted, where)
    return None


def _of_hub(
    settings: OwnTable, wanted: set[str], where: str, budget: Budget
) -> Iterator[Mapping[str, object]]:
    try:
        import datasets
    except ImportError:
        raise UserError(
            f"{where} needs the package datasets, which is not installed: run `make setup`, or Snakemake "
            "with --use-conda."
        ) from None
    datasets.disable_progress_bars()
    split = settings.split
    builder = datasets.load_dataset_builder(
        settings.name, settings.subset, revision=settings.revision
    )
    named = (builder.config.data_files or {}).get(split, [])
    rows = _of_files(named, wanted, where, budget)
    return rows or iter(builder.as_streaming_dataset(split=split))


def _streamed(
    files: Sequence[str], settings: OwnTable, where: str, budget: Budget
) -> Iterator[Mapping[str, object]]:
    wanted = set(dict(settings.columns).values())
    try:
        for file in files:
            if not Path(file).stat().st_size:
                raise UserError(f"{where}: the file {file} is empty: correct it, or leave it out.")
            if not file.endswith(".parquet"):
                check_records(file, where, quoted=file.endswith(".csv"))
        rows = (
            _of_files(files, wanted, where, budget)
            if files
            else _of_hub(settings, wanted, where, budget)
        )
        yield from islice(rows or (), settings.rows)
    except UserError:
        raise
    except Exception as error:
        # The package passes on the exceptions of many other packages.
        reason = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        if files:
            raise UserError(
                f"{where}: the files {files[0]}, ... cannot be read ({reason}): correct the files, or the "
                "entry."
            ) from None
        raise UserError(
            f"{where}: the data set {settings.name} cannot be read ({reason}): correct the entry, or log "
            "in with the environment variable HF_TOKEN if the data set is private."
        ) from None
