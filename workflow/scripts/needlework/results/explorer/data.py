"""Turns the files of a benchmark into the explorer's shards: an index in columns, texts, and details.

The index has a row for each instance and one for each answer; the page needs only the index to filter and
count. Detail shards have what a view of one instance shows: its spans, references and full answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from needlework.answer_states import ANSWERED, CUT, EMPTY, ERROR, FAILED, LENGTH, SKIPPED
from needlework.errors import UserError
from needlework.factor import Factor
from needlework.prompts.spans import Documents
from needlework.records import instances_schema, read_table
from needlework.results.explorer.data_files import column_shard, json_bytes, smallest
from needlework.results.explorer.documents import DocumentShards, Sharded, spans
from needlework.results.numbers.misreads import reading
from needlework.scoring.metric import CAREFUL

# A model's answers to a benchmark, with their scores and translations, by instance.

# What the outcome is of answers of versions that did not write it.
_OUTCOMES = {LENGTH: CUT, ERROR: FAILED, SKIPPED: SKIPPED}


@dataclass(frozen=True)
class ShownAnswers:
    """The files of a model's answers to a benchmark."""

    tokenizer: str
    generations: str
    scores: str
    translations: str | None = None


class ModelAnswers:
    """A model's answers, scores and translations, by instance."""

    def __init__(self, files: ShownAnswers) -> None:
        self.file = files.generations
        table = read_table(files.generations)
        self.columns = {column: table[column].to_pylist() for column in table.column_names}
        self.rows: dict[str, list[int]] = {}
        for row, instance in enumerate(self.columns["instance_id"]):
            self.rows.setdefault(instance, []).append(row)
        self.translations: dict[tuple[str, int], tuple[str | None, str | None]] = {}
        if files.translations:
            own = read_table(files.translations)
            keys = zip(own["instance_id"].to_pylist(), own["sample"].to_pylist(), strict=True)
            texts = zip(own["lang"].to_pylist(), own["text"].to_pylist(), strict=True)
            self.translations = dict(zip(keys, texts, strict=True))
        scores = read_table(
            files.scores, ["instance_id", "sample", "metric", "value", "verdict"]
        ).to_pydict()
        self.scores: dict[tuple[str, int], list[tuple[str, float, str]]] = {}
        for instance, sample, *score in zip(*scores.values(), strict=True):
            self.scores.setdefault((instance, sample), []).append(tuple(score))
        self._used = 0

    def take(self, instance: str) -> list[int]:
        """The rows of an instance's answers."""
        rows = self.rows.get(instance, [])
        self._used += len(rows)
        return rows

    def detail(self, row: int) -> dict[str, object]:
        """The fields of an answer in the view of one prompt, without empty fields."""
        instance, sample, text = (
            self.columns[name][row] for name in ("instance_id", "sample", "text")
        )
        lang, english = self.translations.get((instance, sample), (None, None))
        raw = self._value("raw_text", row)
        answer = {
            "sample": sample,
            "text": text,
            "lang": lang,
            "translation": None if english == text else english,
            # All that the model wrote, where its thoughts were parted from its answer.
            "raw": None if raw == text else raw,
            # What an endpoint gave beside an empty text.
            "reasoning": self._value("reasoning", row),
            "error": self.columns["error"][row],
            "remarks": self.remarks(row) or None,
        }
        return {key: value for key, value in answer.items() if value is not None}

    def unused(self) -> int:
        """The number of answers that belong to no instance."""
        return len(self.columns["instance_id"]) - self._used

    def outcome(self, row: int) -> str:
        """The outcome of a row's request."""
        if found := self._value("outcome", row):
            return str(found)
        otherwise = ANSWERED if self.columns["text"][row] else EMPTY
        return _OUTCOMES.get(self.columns["finish_reason"][row], otherwise)

    def remarks(self, row: int) -> list[str]:
        """The remarks on the answer."""
        return self._value("remarks", row) or []

    def _value(self, column: str, row: int) -> Any:
        """A value of a column that files of older versions lack."""
        return self.columns[column][row] if column in self.columns else None


# The columns of instances and answers by which the page filters and counts.

# Characters of an answer that the table shows and the search sees; of a question and of references.
PREVIEW = 1000
_ASKED = 200
# Of an instance file, what is no factor and no detail.
_FIXED = set(instances_schema({}).names)
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
MISSING = -1


@dataclass
class Coded:
    """A column of values as codes, in order of first appearance."""

    codes: list[int] = field(default_factory=list)
    values: dict[Any, int] = field(default_factory=dict)

    def code(self, value: Any) -> int:
        """The code of a value."""
        return self.values.setdefault(value, len(self.values))

    def fill(self, size: int) -> None:
        """Append None until there are `size` codes."""
        if len(self.codes) < size:
            self.codes += [self.code(None)] * (size - len(self.codes))

    def add(self, value: Any) -> None:
        """Append a value."""
        self.codes.append(self.code(value))

    def extend(self, column: pa.ChunkedArray) -> None:
        """Append a column of an Arrow table."""
        for chunk in column.chunks:
            encoded_chunk = chunk.dictionary_encode(null_encoding="encode")
            own = [self.code(_short(value)) for value in encoded_chunk.dictionary.to_pylist()]
            self.codes += np.asarray(own, dtype=np.int64)[encoded_chunk.indices.to_numpy()].tolist()

    def array(self) -> np.ndarray:
        """The codes, in the smallest type."""
        return smallest(self.codes, max(1, len(self.values)))


def _short(value: Any) -> Any:
    """A measured number in four digits: more tell no reader anything, and none could be filtered by."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _reading(scores: Sequence[tuple[str, float, str]]) -> str:
    """How the first metric of an answer stands beside the second scorer's verdict."""
    second = next(
        ((value, verdict) for metric, value, verdict in scores if metric == CAREFUL), None
    )
    if second is None or scores[0][0] == CAREFUL:
        return "no verdict"
    return reading(scores[0][1], *second)


class Index:
    """The columns of instances and answers, as they are read."""

    def __init__(self, factors: Sequence[str], percent: Mapping[str, float]) -> None:
        self.factors, self.percent = list(factors), percent
        # Of instances.
        self.columns: dict[str, Coded] = {}
        self.tokenizer, self.example, self.twin = Coded(), Coded(), Coded()
        self.ids: list[bytes] = []
        self.n_tokens: list[int] = []
        self.needle: list[int] = []
        # Of answers.
        self.instance: list[int] = []
        self.model: list[int] = []
        self.sample: list[int] = []
        self.finish, self.outcome, self.remarks = Coded(), Coded(), Coded()
        # Beginnings of answers, questions and references share one list of texts.
        self.texts = Coded()
        self.text: list[int] = []
        self.question: list[int] = []
        self.reference: list[int] = []
        self.tokens: dict[str, list[int]] = {name: [] for name in _TOKENS}
        self.values: dict[str, dict[int, float]] = {}
        self.verdicts: dict[str, dict[int, int]] = {}
        self.verdict = Coded()
        self.reading = Coded()

    def add_instances(self, table: pa.Table, tokenizer: str) -> None:
        """Add the rows of an instance file, without the columns that follow from the prompts."""
        before = len(self.ids)
        more = (n for n in table.column_names if n not in _FIXED)
        names = ["task", *(n for n in more if not pa.types.is_list(table[n].type))]
        for name in names:
            column = self.columns.setdefault(name, Coded())
            column.fill(before)
            column.extend(table[name])
        self.example.extend(table["example_id"])
        self.tokenizer.codes += [self.tokenizer.code(tokenizer)] * table.num_rows
        # The same question under the same factors, whichever tokenizer its prompt was built in.
        keys = zip(
            self.example.codes[before:],
            *(self.columns[name].codes[before:] for name in self.factors if name in names),
            strict=True,
        )
        for key in keys:
            self.twin.add(key)
        self.ids += [
            bytes.fromhex(identifier[:16]) for identifier in table["instance_id"].to_pylist()
        ]
        self.n_tokens += [MISSING if n is None else n for n in table["n_tokens"].to_pylist()]

    def add_prompt(self, total: int, at: int, asked: str, references: Sequence[str]) -> int:
        """Add the spans of the next instance (`documents.spans`), and return the instance's number."""
        number = len(self.needle)
        # In thousandths of the prompt's characters.
        self.needle.append(MISSING if at < 0 else round(1000 * at / max(1, total)))
        self.question.append(self.texts.code(asked[:_ASKED]))
        self.reference.append(self.texts.code(" | ".join(references[:_ASKED])[:_ASKED]))
        return number

    def add_answer(self, instance: int, model: int, read: ModelAnswers, row: int) -> None:
        """Add an answer and its scores."""
        place, own = len(self.instance), read.columns
        self.instance.append(instance)
        self.model.append(model)
        self.sample.append(own["sample"][row])
        self.finish.add(own["finish_reason"][row])
        self.outcome.add(read.outcome(row))
        kinds = sorted(remark.partition(": ")[0] for remark in read.remarks(row))
        self.remarks.add(", ".join(kinds))
        self.text.append(self.texts.code((own["text"][row] or "")[:PREVIEW]))
        for name in _TOKENS:
            value = own[name][row]
            self.tokens[name].append(MISSING if value is None else value)
        scores = read.scores.get((own["instance_id"][row], own["sample"][row]), ())
        self.reading.add(_reading(scores))
        for metric, value, verdict in scores:
            self.values.setdefault(metric, {})[place] = value
            self.verdicts.setdefault(metric, {})[place] = self.verdict.code(verdict)

    def payload(self) -> bytes:
        """The index as a shard."""
        for column in self.columns.values():
            column.fill(len(self.ids))
        n = len(self.instance)
        arrays: dict[str, np.ndarray] = {
            "id": np.frombuffer(b"".join(self.ids), dtype=np.uint8),
            "n_tokens": np.asarray(self.n_tokens, dtype=np.int32),
            "needle": np.asarray(self.needle, dtype=np.int32),
            "example": self.example.array(),
            "tokenizer": self.tokenizer.array(),
            "twin": self.twin.array(),
            "instance": smallest(self.instance, max(1, len(self.ids))),
            "model": smallest(self.model, 256),
            "sample": np.asarray(self.sample, dtype=np.uint32),
            "finish": self.finish.array(),
            "outcome": self.outcome.array(),
            "remarks": self.remarks.array(),
            "text": smallest(self.text, max(1, len(self.texts.values))),
            "question": smallest(self.question, max(1, len(self.texts.values))),
            "reference": smallest(self.reference, max(1, len(self.texts.values))),
            "reading": self.reading.array(),
        }
        for i, column in enumerate(self.columns.values()):
            arrays[f"factor{i}"] = column.array()
        for name, values in self.tokens.items():
            # Most backends count no cached or reasoning tokens.
            if any(value != MISSING for value in values):
                arrays[name] = np.asarray(values, dtype=np.int32)
        for i, (metric, scored) in enumerate(self.values.items()):
            dense = np.full(n, np.nan, dtype=np.float32)
            dense[list(scored)] = list(scored.values())
            # The last code says that the metric does not score this answer.
            codes = np.full(n, len(self.verdict.values), dtype=np.uint32)
            codes[list(self.verdicts[metric])] = list(self.verdicts[metric].values())
            arrays[f"value{i}"] = dense
            arrays[f"verdict{i}"] = smallest(codes, len(self.verdict.values) + 1)
        header = {
            "columns": list(self.columns),
            "factors": self.factors,
            "values": [list(column.values) for column in self.columns.values()],
            "labels": {
                name: [
                    None if v is None else Factor(name, percent=one).called(v)
                    for v in column.values
                ]
                for name, column in self.columns.items()
                if (one := self.percent.get(name))
            },
            "examples": list(self.example.values),
            "finish": list(self.finish.values),
            "outcomes": list(self.outcome.values),
            "remarks": list(self.remarks.values),
            "metrics": list(self.values),
            "verdicts": list(self.verdict.values),
            "readings": list(self.reading.values),
            "preview": PREVIEW,
        }
        return column_shard(header, arrays)

    def beginnings(self) -> bytes:
        """A shard with the beginnings of all distinct texts: their UTF-8 bytes, and the offset of each."""
        texts = [text.encode("utf-8", "replace") for text in self.texts.values]
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.uint32)
        return column_shard(
            {}, {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), dtype=np.uint8)}
        )


Write = Callable[[str, bytes], None]


@dataclass(frozen=True)
class ShownPrompts:
    """The files of the prompts that a benchmark has in one tokenizer."""

    instances: Sequence[str]
    corpora: Sequence[str]
    documents: Sequence[str]


@dataclass(frozen=True)
class Explored:
    """A benchmark: its title, its files and what the page opens on."""

    title: str
    # The columns that tell what was asked (`Benchmark.asked`).
    asked: Sequence[str]
    # By tokenizer.
    prompts: Mapping[str, ShownPrompts]
    # By model.
    answers: Mapping[str, ShownAnswers]
    # What a value of 1 is in percent, by column (`Factor.percent`).
    percent: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    # A factor and tasks (`Shown.designed`).
    designed: tuple[str, Sequence[str]] = ("", ())
    # The label of the factor to which `designed` does not apply.
    without: str = ""
    # The columns that report cards hold constant (`Card.held`).
    held: Sequence[str] = ()
    # Models that the first view leaves out.
    controls: Sequence[str] = ()
    # What the verdicts of the benchmark's metrics mean (`scoring.metric.Meaning`).
    meanings: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Designed(TypedDict):
    """The factor that prompts were made to vary, and the tasks that ask for it; see Explored."""

    factor: str
    tasks: list[str]
    without: str
    held: list[str]


class Described(TypedDict):
    """What the page needs to know of a benchmark."""

    name: str
    title: str
    models: list[str]
    controls: list[str]
    designed: Designed
    tokenizers: list[str]
    instances: int
    answers: int
    # The first instance of each shard of details.
    details: list[int]


def write_benchmark(name: str, own: Explored, documents: DocumentShards, write: Write) -> Described:
    """Write a benchmark's shards with `write(name, payload)`; return the description for the page.

    Raises UserError if an answer belongs to no instance.
    """
    read = {model: ModelAnswers(files) for model, files in own.answers.items()}
    details = Sharded(lambda n, values: write(f"{name}-details-{n}", json_bytes(values)))
    index = Index(own.asked, own.percent)
    for tokenizer, files in own.prompts.items():
        texts = Documents.of(name, files.corpora, files.documents)
        # What some model of this tokenizer was asked; others share the files, but want other lengths.
        models = [
            (place, read[model])
            for place, (model, answers) in enumerate(own.answers.items())
            if answers.tokenizer == tokenizer
        ]
        for file in files.instances:
            table = read_table(file)
            ids = table["instance_id"].to_pylist()
            wanted = [any(name in one.rows for _, one in models) for name in ids]
            # Of a file without prompts, the list would be of no type.
            table = table.filter(pa.array(wanted, pa.bool_()))
            if table.num_rows:
                index.add_instances(table, tokenizer)
                made = spans(table["prompt"], f"{name}/{tokenizer}", texts, documents)
                _add_details(table, made, models, index, details)
    details.flush()
    for model in read.values():
        if model.unused():
            raise UserError(
                f"{model.file} answers {model.unused()}, which no instance file has: delete the "
                "generations of this model and run again (the journal keeps finished work)."
            )
    write(f"{name}-index", index.payload())
    write(f"{name}-texts", index.beginnings())
    return {
        "name": name,
        "title": own.title,
        "models": list(own.answers),
        "controls": list(own.controls),
        "designed": {
            "factor": own.designed[0],
            "tasks": list(own.designed[1]),
            "without": own.without,
            "held": list(own.held),
        },
        "tokenizers": list(own.prompts),
        "instances": len(index.needle),
        "answers": len(index.instance),
        "details": details.starts,
    }


def _add_details(
    table: pa.Table,
    prompts: Any,
    models: Sequence[tuple[int, ModelAnswers]],
    index: Index,
    details: Sharded,
) -> None:
    """Add the instances' prompts and answers."""
    names = ("instance_id", "references", "metric", "max_new_tokens")
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    for (instance, references, metric, limit), (found, total, at, asked) in zip(
        rows, prompts, strict=True
    ):
        number = index.add_prompt(total, at, asked, references)
        own, size = [], sum(len(span[1]) if isinstance(span[1], str) else 8 for span in found)
        for place, read in models:
            for row in read.take(instance):
                index.add_answer(number, place, read, row)
                answer = read.detail(row) | {"model": place}
                own.append(answer)
                size += sum(len(v) for v in answer.values() if isinstance(v, str))
        details.add(
            {
                "id": instance,
                "prompt": found,
                "references": references,
                "metric": metric,
                "limit": limit,
                "answers": own,
            },
            size,
        )
