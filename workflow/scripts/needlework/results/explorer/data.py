"""From the files of a benchmark to the explorer's shards: an index in columns, texts, and details.

The index has a row for each instance and one for each answer; the page filters and counts with it alone.
What one view shows of one instance (its spans, references and full answers) is in detail shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from needlework.errors import UserError
from needlework.prompts.spans import Documents
from needlework.records import instances_schema, read_table
from needlework.results.explorer.documents import DocumentShards, Sharded, spans
from needlework.results.explorer.shards import columns, encoded, smallest

# Characters of an answer that the table shows and the search sees.
PREVIEW = 1000
# Of an instance file, what is no factor and no detail.
_FIXED = set(instances_schema({}).names)
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
MISSING = -1

Write = Callable[[str, str], None]


@dataclass(frozen=True)
class Prompts:
    """The files of the prompts that a benchmark has in one tokenizer."""

    instances: Sequence[str]
    corpora: Sequence[str]
    documents: Sequence[str]


@dataclass(frozen=True)
class Answers:
    """The files of a model's answers to a benchmark."""

    tokenizer: str
    generations: str
    scores: str
    translations: str | None = None


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


def write_benchmark(
    name: str,
    title: str,
    asked: Sequence[str],
    prompts: Mapping[str, Prompts],
    answers: Mapping[str, Answers],
    documents: DocumentShards,
    write: Write,
) -> dict[str, Any]:
    """Write a benchmark's shards with `write(name, text)`; what the page must know of it.

    `asked` are the columns that tell what was asked (`Benchmark.asked`), `prompts` are by tokenizer,
    `answers` by model.

    Raises UserError where an answer belongs to no instance.
    """
    read = {model: _Read(files) for model, files in answers.items()}
    details = Sharded(lambda n, payload: write(f"{name}-details-{n}", encoded(payload)))
    index = _Index(asked)
    for tokenizer, own in prompts.items():
        texts = Documents.of(name, own.corpora, own.documents)
        # What some model of this tokenizer was asked; others share the files, but want other lengths.
        models = [
            (place, read[model])
            for place, (model, files) in enumerate(answers.items())
            if files.tokenizer == tokenizer
        ]
        for file in own.instances:
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
    write(f"{name}-index", encoded(index.payload()))
    write(f"{name}-texts", encoded(index.texts()))
    return {
        "name": name,
        "title": title,
        "models": list(answers),
        "tokenizers": list(prompts),
        "instances": len(index.needle),
        "answers": len(index.instance),
        "details": details.starts,
    }


class _Read:
    """A model's answers, scores and translations, by instance."""

    def __init__(self, files: Answers) -> None:
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

    def raw(self, row: int) -> str | None:
        """All that the model wrote, where its thoughts were parted from its answer."""
        # Files of versions that did not part them lack the column.
        raw = self.columns["raw_text"][row] if "raw_text" in self.columns else None
        return None if raw == self.columns["text"][row] else raw

    def unused(self) -> int:
        """How many answers nobody took."""
        return len(self.columns["instance_id"]) - self._used


class _Index:
    """The columns of instances and answers, as they are read."""

    def __init__(self, factors: Sequence[str]) -> None:
        self.factors = list(factors)
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
        self.finish, self.text = Coded(), Coded()
        self.tokens: dict[str, list[int]] = {name: [] for name in _TOKENS}
        self.values: dict[str, dict[int, float]] = {}
        self.verdicts: dict[str, dict[int, int]] = {}
        self.verdict = Coded()

    def add_instances(self, table: pa.Table, tokenizer: str) -> None:
        """Add the rows of an instance file, but for what their prompts tell."""
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

    def add_answer(self, instance: int, model: int, read: _Read, row: int) -> None:
        """Add an answer and its scores."""
        place, own = len(self.instance), read.columns
        self.instance.append(instance)
        self.model.append(model)
        self.sample.append(own["sample"][row])
        self.finish.add(own["finish_reason"][row])
        self.text.add((own["text"][row] or "")[:PREVIEW])
        for name in _TOKENS:
            value = own[name][row]
            self.tokens[name].append(MISSING if value is None else value)
        for metric, value, verdict in read.scores.get(
            (own["instance_id"][row], own["sample"][row]), ()
        ):
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
            "text": self.text.array(),
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
            "examples": list(self.example.values),
            "finish": list(self.finish.values),
            "metrics": list(self.values),
            "verdicts": list(self.verdict.values),
            "preview": PREVIEW,
        }
        return columns(header, arrays)

    def texts(self) -> bytes:
        """The beginnings of all distinct answers as a shard: bytes in UTF-8, and where each begins."""
        texts = [text.encode("utf-8", "replace") for text in self.text.values]
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.uint32)
        return columns(
            {}, {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), dtype=np.uint8)}
        )


def _add_details(
    table: pa.Table,
    prompts: Any,
    models: Sequence[tuple[int, _Read]],
    index: _Index,
    details: Sharded,
) -> None:
    """Add the instances' prompts and answers."""
    names = ("instance_id", "references", "metric", "max_new_tokens")
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    for (instance, references, metric, limit), (found, total, at) in zip(
        rows, prompts, strict=True
    ):
        number = len(index.needle)
        # In thousandths of the prompt's characters.
        index.needle.append(MISSING if at < 0 else round(1000 * at / max(1, total)))
        own, size = [], sum(len(span[1]) if isinstance(span[1], str) else 8 for span in found)
        for place, read in models:
            for row in read.take(instance):
                index.add_answer(number, place, read, row)
                sample, text = read.columns["sample"][row], read.columns["text"][row]
                lang, english = read.translations.get((instance, sample), (None, None))
                answer = {
                    "model": place,
                    "sample": sample,
                    "text": text,
                    "lang": lang,
                    "translation": None if english == text else english,
                    "raw": read.raw(row),
                    "error": read.columns["error"][row],
                }
                own.append({key: value for key, value in answer.items() if value is not None})
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
