"""The tables between stages: their Arrow schemas, and Parquet files with the digests of their inputs."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from needlework import __version__
from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.installed import LINK


class _NoPandas:
    """Says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


# Arrow imports pandas to see whether a list is one of its Series: half of a small job. It looks but once.
# Where a table becomes a frame, Arrow imports pandas all the same.
if "pandas" not in sys.modules:
    sys.meta_path.insert(0, _NoPandas)
    pa.array([])
    sys.meta_path.remove(_NoPandas)

ROOT = Path(__file__).resolve().parents[3]

PASSAGES = pa.schema([("passage_id", pa.string()), ("text", pa.string())])

# Texts that the construction of prompts made itself: `text`, or the `words` of a numbered list, which
# a dictionary holds in a fraction of the space.
DOCUMENTS = pa.schema(
    [("passage_id", pa.string()), ("text", pa.string()), ("words", pa.list_(pa.string()))]
)

QUESTIONS = pa.schema(
    [
        ("example_id", pa.string()),
        ("title", pa.string()),
        ("context", pa.string()),
        ("question", pa.string()),
        ("answers", pa.list_(pa.string())),
        ("answer_starts", pa.list_(pa.int32())),
    ]
)

# Documents of a user's with what can be asked about them (`benchmarks.m4le.data.rows.Record`).
RECORDS = pa.schema(
    [
        *((name, pa.string()) for name in ("text", "title", "label", "question")),
        *((name, pa.list_(pa.string())) for name in ("answers", "parts")),
    ]
)

DISTRACTORS = pa.schema(
    [
        ("example_id", pa.string()),
        ("retrieval", pa.string()),
        ("rank", pa.int32()),
        ("passage_id", pa.string()),
        ("score", pa.float32()),
    ]
)

SPAN = pa.struct(
    [
        ("role", pa.string()),
        ("source", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("text", pa.string()),
    ]
)

GENERATIONS = pa.schema(
    [
        ("request_key", pa.string()),
        ("instance_id", pa.string()),
        ("sample", pa.int32()),
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("cached_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("reasoning_tokens", pa.int32()),
        ("error", pa.string()),
        # All that the model wrote, if reasoning was removed from `text`.
        ("raw_text", pa.string()),
        # What became of the request, and what else is to be told of it (`answer_states`).
        ("outcome", pa.string()),
        ("remarks", pa.list_(pa.string())),
        # What an endpoint gave beside an empty text.
        ("reasoning", pa.string()),
    ]
)

TRANSLATIONS = pa.schema(
    [
        ("instance_id", pa.string()),
        ("sample", pa.int32()),
        ("lang", pa.string()),
        ("text", pa.string()),
    ]
)


class CheckupCell(TypedDict):
    """A cell of a checkup: a level of a factor ("all", "" for all prompts), and its number of questions."""

    by: str
    level: str
    questions: int


def _columns(factors: Mapping[str, str]) -> list[tuple[str, pa.DataType]]:
    lists = pa.list_(pa.string())
    return [
        (name, lists if kind == "strings" else pa.type_for_alias(kind))
        for name, kind in factors.items()
    ]


def instances_schema(factors: Mapping[str, str]) -> pa.Schema:
    """The schema of a benchmark's instances: one row a prompt, one column a factor.

    `factors` maps their names to those of Arrow types ("string", "int32", "double", "bool"), or "strings".
    """
    return pa.schema(
        [
            ("instance_id", pa.string()),
            ("benchmark", pa.string()),
            ("task", pa.string()),
            *_columns(factors),
            ("example_id", pa.string()),
            ("prompt", pa.list_(SPAN)),
            ("references", pa.list_(pa.string())),
            ("metric", pa.string()),
            ("max_new_tokens", pa.int32()),
            ("n_tokens", pa.int32()),
        ]
    )


def scores_schema(factors: Mapping[str, str]) -> pa.Schema:
    """The schema of a model's scores: one row an answer, with the factors again."""
    return pa.schema(
        [
            ("instance_id", pa.string()),
            ("sample", pa.int32()),
            ("model", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("verdict", pa.string()),
            ("finish_reason", pa.string()),
            ("completion_tokens", pa.int32()),
            ("reasoning_tokens", pa.int32()),
            ("outcome", pa.string()),
            ("answered_in", pa.string()),
            ("example_id", pa.string()),
            ("task", pa.string()),
            *_columns(factors),
        ]
    )


_sorted_json = json.JSONEncoder(sort_keys=True).encode
# The columns of scores that are not factors. The last exists only if a run asks for it.
NO_FACTORS = frozenset({*scores_schema({}).names, "similarity"})


def instance_id(benchmark: str, task: str, factors: Mapping[str, object], prompt: str) -> str:
    """The name of a prompt, from its question, factors and text; the same on every machine."""
    digest = hashlib.sha256()
    for part in (benchmark, task, _sorted_json(factors), prompt):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def config_digest(config: object) -> str:
    """A digest of JSON-able configuration values, independent of the order of keys."""
    canonical = json.dumps(config, sort_keys=True, ensure_ascii=False, default=list)
    return hashlib.sha256(canonical.encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """The sha256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_table(
    table: pa.Table,
    path: str | Path,
    *,
    inputs: Iterable[str | Path] = (),
    config: object = None,
    notes: Mapping[str, object] | None = None,
    page_bytes: int = 1 << 20,
) -> None:
    """Write Parquet atomically, with the workflow's version and the digests of the files it was made from.

    `notes` are further facts for the schema metadata, such as counts of rows that were left out. The bytes
    depend on the arguments alone: no time, host or absolute path is recorded. `page_bytes` is how much of a
    column is compressed as one. Instances repeat whole lists of spans from row to row and gain much from
    large pages.
    """
    digests = {Path(p): file_digest(p) for p in inputs}
    named = {_name(p, digest): digest for p, digest in digests.items()}
    metadata = {
        "needlework.version": __version__,
        "needlework.config": config_digest(config),
        "needlework.inputs": json.dumps(named, sort_keys=True),
        **{f"needlework.{key}": json.dumps(value) for key, value in (notes or {}).items()},
    }
    with (
        atomic_write(path) as part,
        pq.ParquetWriter(
            part,
            table.schema,
            compression="zstd",
            use_dictionary=_repeating(table.schema),
            data_page_size=page_bytes,
            dictionary_pagesize_limit=1 << 22,
            # Arrow's schema as text would be larger than the small tables; Parquet's own suffices.
            store_schema=False,
            write_page_checksum=True,
        ) as writer,
    ):
        writer.write_table(table, row_group_size=max(1, table.num_rows))
        writer.add_key_value_metadata(metadata)


def _name(path: Path, digest: str) -> str:
    """An input's name in the metadata: the same wherever the repository and the working directory are.

    Files elsewhere may share their base names, so the beginning of their digest tells them apart.
    """
    if not path.is_absolute():
        return path.as_posix()
    for base in (Path.cwd() / LINK, Path.cwd(), ROOT):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return f"{path.name}@{digest[:12]}"


def _repeating(schema: pa.Schema) -> list[str]:
    """Columns worth a dictionary: plain strings, and words. Spans compress better without."""
    plain = [field.name for field in schema if pa.types.is_string(field.type)]
    return [*plain, *(f"{field.name}.list.element" for field in schema if field.name == "words")]


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a Parquet file of the workflow.

    Raises UserError if the file is missing, is not Parquet, or lacks one of `columns`.
    """
    missing = sorted(set(columns or ()) - set(read_names(path)))
    if missing:
        raise UserError(
            f"{path} has no column {missing[0]!r}: it was written by another version; delete it and "
            "run again."
        )
    # Not pq.read_table: it imports pandas and more, which in a short job costs more than all else.
    with _reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read(columns)
        # Otherwise text that is not UTF-8 fails where it is used, and the error cannot name the file.
        table.validate(full=True)
    # What decoding took would stay with the process: of long columns, as much as they hold.
    pa.default_memory_pool().release_unused()
    return table if columns is None else table.select(list(columns))


# An Arrow array holds less than 2 GB of text. Columns of more than this are taken in blocks.
LARGE_BYTES = 1 << 30


def taken(table: pa.Table, rows: pa.Array) -> pa.Table:
    """The rows of a table with these numbers, in their order. Texts may be of any total length.

    Arrow's `take` and `sort_by` make one array of a column first, which fails above 2 GB of text.
    """
    columns = [
        column.take(rows) if column.nbytes < LARGE_BYTES else _taken_in_blocks(column, rows)
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _taken_in_blocks(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """The values of a column at these places, in chunks of a quarter of LARGE_BYTES or less."""
    import pyarrow.compute as pc  # a tenth of a second, which few jobs need

    text = pa.types.is_string(column.type)
    longest = (
        pc.max(pc.binary_length(column)).as_py() or 1 if text else column.nbytes // len(column)
    )
    size = max(1, min(1 << 12, LARGE_BYTES // 4 // max(1, longest)))
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    places = rows.to_numpy().astype(np.int64)
    blocks = []
    for first in range(0, len(places), size):
        own = places[first : first + size]
        chunks = np.searchsorted(ends, own, side="right")
        parts, order = [], []
        for number in np.unique(chunks):
            among = np.flatnonzero(chunks == number)
            chunk = column.chunk(int(number))
            parts.append(chunk.take(pa.array(own[among] - (ends[number] - len(chunk)))))
            order.append(among)
        back = np.argsort(np.concatenate(order))
        blocks.append(pa.concat_arrays(parts).take(pa.array(back)))
    return pa.chunked_array(blocks, column.type)


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Say what is wrong with `path` where reading it fails."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: run the rule that makes it.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{path} cannot be read as Parquet ({reason}): it is corrupt; delete it and run again."
        ) from None


def read_names(path: str | Path) -> list[str]:
    """The names of a Parquet file's columns. Raises UserError as `read_table` does."""
    with _reading(path):
        return pq.read_schema(path).names


def read_notes(path: str | Path) -> dict[str, Any]:
    """The notes of `write_table`, by name. Raises UserError as `read_table` does."""
    with _reading(path):
        metadata = pq.read_schema(path).metadata or {}
    reserved = {"version", "config", "inputs"}
    return {
        key: json.loads(value)
        for raw, value in metadata.items()
        if raw.startswith(b"needlework.")
        and (key := raw.decode().removeprefix("needlework.")) not in reserved
    }
