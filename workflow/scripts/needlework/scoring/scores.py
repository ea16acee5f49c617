"""From answers to scores: each answer is joined with its instance and rated by the benchmark's metric."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from needlework.answer_states import UNANSWERED
from needlework.errors import UserError
from needlework.records import read_table, scores_schema, taken
from needlework.scoring.answer_language import identified_languages
from needlework.scoring.metric import CAREFUL, UNDECIDED, Metric

# The columns of instances that are no factor.
_NOT_FACTORS = {
    *("instance_id", "benchmark", "task", "example_id", "prompt", "references"),
    *("accepted", "metric", "max_new_tokens", "n_tokens"),
}
_OF_ANSWERS = ("finish_reason", "completion_tokens", "reasoning_tokens", "outcome")
# What scores are made of.
ANSWER_COLUMNS = ("instance_id", "sample", "text", "raw_text", *_OF_ANSWERS)
TRANSLATION_COLUMNS = ("instance_id", "sample", "text")

# So many answers, and so many of their bytes, are held as Python's values at once.
_BATCH = 1 << 15
_BATCH_BYTES = 1 << 24

Places = npt.NDArray[np.int64]
# One (value in [0, 1], verdict, metric) for each metric under which an answer is scored.
Rating = list[tuple[float, str, str]]
Rate = Callable[[Mapping[str, Any], str, str | None], Rating]


def second(read: tuple[float | None, str], first: float) -> tuple[float, str, str]:
    """The second scorer's value, verdict and metric. If it is undecided, the value is `first`.

    `first` is the value by the benchmark's default metric, whichever metric the configuration names.
    """
    value, why = read
    return (first, f"{UNDECIDED}:{why}", CAREFUL) if value is None else (value, why, CAREFUL)


def rated_by(
    metrics: Mapping[str, Metric], rate: Callable[[Metric], tuple[float | None, str]]
) -> Rating:
    """An answer's scores by all `metrics`.

    If "careful" leaves an answer open, its value is that of the first metric.
    """
    found: Rating = []
    for name, metric in metrics.items():
        value, verdict = rate(metric)
        if name == CAREFUL:
            found.append(second((value, verdict), found[0][0]))
        else:
            assert value is not None
            found.append((value, verdict, name))
    return found


def read_answers(path: str | Path, columns: Sequence[str], instances: pa.Table) -> pa.Table:
    """The given columns of answers or translations; ids are shared with `instances` to save memory.

    The ids of a million answers would take half of the memory. Raises UserError as `records.read_table`.
    """
    table = read_table(path, columns)
    ids = _one_array(instances["instance_id"])
    rows = _rows_of(table["instance_id"], ids)
    if rows.null_count:
        # `score_rows` says what is wrong.
        return table
    shared = pa.DictionaryArray.from_arrays(_one_array(rows), ids)
    table = table.set_column(table.column_names.index("instance_id"), "instance_id", shared)
    pa.default_memory_pool().release_unused()
    return table


def score_rows(
    instances: pa.Table,
    generations: pa.Table,
    rate: Rate,
    *,
    model: str,
    translations: pa.Table | None = None,
) -> pa.Table:
    """The scores of `generations` (records.scores_schema), in the same order.

    `instances` needs instance_id, task, example_id, references and the factors (not the prompt). `rate(row,
    text, translated)` returns an answer's value, verdict and metric, or several of these, each of which
    becomes a row. Its `row` has the instance's columns, the answer's finish_reason, completion_tokens,
    reasoning_tokens and outcome, and raw_text, the whole text that the model wrote. If no translation differs
    from the text, `translated` is None. If a request was skipped or failed, its value is 0.0, and its verdict
    the finish reason.

    Raises UserError if an instance or an answer occurs twice, an answer belongs to no instance, an instance
    has no answer, or an answer has no translation.
    """
    places = _places(instances, generations)
    english = None
    if translations is not None:
        english = _translated(instances, generations, places, translations)

    counts, rated = _rated(instances, generations, rate, places, translations, english)
    pa.default_memory_pool().release_unused()
    factors = {f.name: str(f.type) for f in instances.schema if f.name not in _NOT_FACTORS}
    schema = scores_schema(factors)
    of_instances = {"instance_id", "example_id", "task", *factors}
    answer = np.repeat(np.arange(len(counts)), counts)
    of_answer, of_instance = pa.array(answer), pa.array(places[answer])
    made = {"model": pa.repeat(pa.scalar(model, pa.string()), len(answer)), **rated}
    for name in schema.names:
        if name not in made:
            table, rows_of = (
                (instances, of_instance) if name in of_instances else (generations, of_answer)
            )
            made[name] = table[name].take(rows_of)
    return pa.table({name: made[name] for name in schema.names}, schema=schema)


def _rated(
    instances: pa.Table,
    generations: pa.Table,
    rate: Rate,
    places: Places,
    translations: pa.Table | None,
    english: Places | None,
) -> tuple[npt.NDArray[np.intc], dict[str, pa.Array]]:
    """How many scores each answer has, and their columns value, verdict, metric and answered_in."""
    names = [*_OF_ANSWERS, *(n for n in instances.column_names if n not in _OF_ANSWERS)]
    counts, values = array("i"), array("d")
    verdicts: list[pa.Array] = []
    metrics: list[pa.Array] = []
    spoken: list[pa.Array] = []
    mean = generations.nbytes // max(1, generations.num_rows)
    size = max(1, min(_BATCH, _BATCH_BYTES // max(1, mean)))
    for start in range(0, generations.num_rows, size):
        own = generations.slice(start, size)
        joined = instances.take(pa.array(places[start : start + size]))
        columns = {name: (own if name in _OF_ANSWERS else joined)[name] for name in names}
        columns["raw_text"] = pc.coalesce(own["raw_text"], own["text"])
        rows = _Columns(columns)
        texts, reasons = own["text"].to_pylist(), rows["finish_reason"]
        others = None
        if english is not None and translations is not None:
            wanted = pa.array(english[start : start + size])
            others = taken(translations.select(["text"]), wanted)["text"].to_pylist()
        own_verdicts: list[str] = []
        own_metrics: list[str] = []
        own_counts: list[int] = []
        for i, (text, reason) in enumerate(zip(texts, reasons, strict=True)):
            row = _ScoredRow(rows, i)
            if reason in UNANSWERED:
                # Rated all the same, for the names of the metrics.
                rated = [(0.0, reason, metric) for *_, metric in rate(row, "", None)]
            else:
                other = others[i] if others is not None and others[i] != text else None
                rated = rate(row, text, other)
            own_counts.append(len(rated))
            for value, verdict, metric in rated:
                values.append(value)
                own_verdicts.append(verdict)
                own_metrics.append(metric)
        verdicts.append(pa.array(own_verdicts, pa.string()))
        metrics.append(pa.array(own_metrics, pa.string()))
        counts.extend(own_counts)
        answered = (
            "" if reason in UNANSWERED else text
            for text, reason in zip(texts, reasons, strict=True)
        )
        langs = pa.array(identified_languages(answered), pa.string())
        spoken.append(langs.take(pa.array(np.repeat(np.arange(len(langs)), own_counts))))
    made = {
        "value": pa.array(np.frombuffer(values, np.float64)),
        "verdict": pa.chunked_array(verdicts, pa.string()).combine_chunks(),
        "metric": pa.chunked_array(metrics, pa.string()).combine_chunks(),
        "answered_in": pa.chunked_array(spoken, pa.string()).combine_chunks(),
    }
    return np.frombuffer(counts, np.intc), made


class _Columns(dict[str, list[Any]]):
    """Columns of some rows, each turned into Python's values when it is first asked for."""

    def __init__(self, columns: Mapping[str, pa.ChunkedArray]) -> None:
        super().__init__()
        self.columns = columns

    def __missing__(self, name: str) -> list[Any]:
        found = self[name] = self.columns[name].to_pylist()
        return found


class _ScoredRow(Mapping[str, Any]):
    """One of the rows: most metrics read two or three of its fields."""

    __slots__ = ("_columns", "_index")

    def __init__(self, columns: _Columns, index: int) -> None:
        self._columns, self._index = columns, index

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.columns)

    def __len__(self) -> int:
        return len(self._columns.columns)


def _places(instances: pa.Table, generations: pa.Table) -> Places:
    """The row of each answer's instance. Raises UserError if they do not fit each other."""
    ids = instances["instance_id"]
    _refuse_doubled("instances", _rows_of(ids, ids).to_numpy(), ids, None)
    found = _rows_of(generations["instance_id"], ids)
    if found.null_count:
        orphan = found.is_null().index(True).as_py()
        shown = _shown(
            generations["instance_id"][orphan].as_py(), generations["sample"][orphan].as_py()
        )
        raise _inconsistent(f"the generations answer {shown}, which no instance file has")
    places = found.to_numpy().astype(np.int64)
    keys = _keys(places, generations)
    _refuse_doubled("generations", keys, generations["instance_id"], generations["sample"])
    answered = np.zeros(instances.num_rows, dtype=bool)
    answered[places] = True
    if not answered.all():
        unanswered = ids.filter(pa.array(~answered))
        raise _inconsistent(
            f"{len(unanswered)} instance(s) have no answer, such as {pc.min(unanswered).as_py()}"
        )
    return places


def _translated(
    instances: pa.Table, generations: pa.Table, places: Places, translations: pa.Table
) -> Places:
    """The row of each answer's translation; 0 where it needs none and has none."""
    found = _rows_of(translations["instance_id"], instances["instance_id"])
    known = found.is_valid()
    rows = np.flatnonzero(known.to_numpy())
    known_places = found.drop_null().to_numpy().astype(np.int64)
    keys = _keys(known_places, translations.select(["sample"]).filter(known))
    ids, samples = translations["instance_id"], translations["sample"]
    _refuse_doubled("translations", keys, ids, samples, rows)
    order = np.argsort(keys)
    wanted = _keys(places, generations)
    at = np.searchsorted(keys[order], wanted)
    at[at == len(keys)] = 0
    has = keys[order][at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    failed = pc.is_in(generations["finish_reason"], value_set=pa.array(UNANSWERED)).to_numpy()
    lacking = np.flatnonzero(~has & ~failed)
    if len(lacking):
        first = int(lacking[0])
        shown = _shown(
            generations["instance_id"][first].as_py(), generations["sample"][first].as_py()
        )
        raise _inconsistent(f"the answer {shown} has no translation")
    return np.where(has, rows[order][at] if len(keys) else 0, 0)


def _rows_of(names: pa.ChunkedArray, ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """The first row of `ids` that has each name; null without any."""
    if pa.types.is_dictionary(names.type):
        shared = _one_array(names.unify_dictionaries())
        rows = _rows_of(shared.dictionary, ids).take(shared.indices)
        return pa.chunked_array([rows])
    rows = pc.index_in(names, ids)
    # The search holds all ids once more.
    pa.default_memory_pool().release_unused()
    return rows


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; without a copy, if it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _keys(places: Places, table: pa.Table) -> Places:
    """A number for each instance and sample."""
    return places << 32 | table["sample"].to_numpy().astype(np.int64)


def _refuse_doubled(
    what: str,
    keys: Places,
    ids: pa.ChunkedArray,
    samples: pa.ChunkedArray | None,
    rows: Places | None = None,
) -> None:
    """Raises UserError if a key comes twice; keys are of all rows, or of these `rows`."""
    seen, first = np.unique(keys, return_index=True)
    if len(seen) < len(keys):
        # The first to come a second time.
        later = np.setdiff1d(np.arange(len(keys)), first)
        i = int(later[0] if rows is None else rows[later[0]])
        shown = _shown(ids[i].as_py(), None if samples is None else samples[i].as_py())
        raise _inconsistent(f"the {what} hold {shown} twice")


def _shown(name: str, sample: int | None) -> str:
    return name if sample is None else f"{name} sample {sample}"


def _inconsistent(what: str) -> UserError:
    return UserError(
        f"{what}: instances, generations and translations were not made from each other; delete the "
        "generations and translations of this model and run again (the journal keeps finished work)."
    )
