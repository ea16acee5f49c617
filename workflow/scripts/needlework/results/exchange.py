"""Results as records of Every Eval Ever, schema 0.3.0: the format in which the field exchanges results."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.errors import UserError
from needlework.given import given
from needlework.models.engine_arguments import decoding
from needlework.models.logs.logged import NAMED
from needlework.models.selection import READERS
from needlework.records import NO_FACTORS, read_table
from needlework.results import published
from needlework.results.sealed.artifact import withheld

if TYPE_CHECKING:
    import pyarrow as pa

# The cells of a benchmark's tables and figures as results of a record.

# The interval over questions, in tables.
INTERVAL = ("ci_low", "ci_high")
# The columns of which a row has its number in one: lengths stand apart from accuracies.
QUANTITIES = ("value", "tokens")
# What a cell says that has a place of its own in a record.
_PLACED = {"model", "source", "metric", *QUANTITIES, "n", "se_independent", *INTERVAL}


class Shown(NamedTuple):
    """A table or figure: its CSV, its name, and the bounds of its values."""

    file: str
    label: str
    bounds: tuple[float, float] | None


class Cell(NamedTuple):
    """One number of a model, from one row of a result."""

    result: str
    row: Mapping[str, str]
    labels: Mapping[str, str]
    shown: Shown

    @property
    def quantity(self) -> str:
        """The column that has the number."""
        return next(name for name in QUANTITIES if self.row.get(name))

    @property
    def value(self) -> float:
        """The number, to the last digit as the CSV has it."""
        return float(self.row[self.quantity])


def cells(results: Mapping[str, Shown], model: str) -> Iterator[Cell]:
    """All cells of a model: rows with a number of this run that are of this model alone."""
    for name, shown in results.items():
        with Path(shown.file).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if not {"model", "value"} <= set(columns):
                continue
            # Labels stand before the measures.
            named = [c for c in columns[: columns.index("value")] if c not in ("model", "source")]
            for row in reader:
                ours = row["model"] == model and row.get("source", "ours") == "ours"
                if ours and any(row.get(name) for name in QUANTITIES):
                    labels = {column: row[column] for column in named if row[column]}
                    yield Cell(name, row, labels, shown)


def evaluation_results(
    benchmark: str,
    found: Iterator[Cell],
    source: Mapping[str, Any],
    generation: Mapping[str, Any],
    metric: str,
) -> list[dict[str, Any]]:
    """The cells as `evaluation_results`. `metric` is the metric of rows that name none."""
    made, seen = [], Counter[str]()
    for cell in found:
        place = "/".join([benchmark, cell.result, *(f"{k}={v}" for k, v in cell.labels.items())])
        own = cell.row.get("metric") or metric
        seen[place] += 1
        if seen[place] > 1:
            place += f"#{seen[place]}"
        made.append(
            {
                "evaluation_result_id": place,
                "evaluation_name": f"{benchmark}/{cell.result}",
                "source_data": source,
                "metric_config": _metric(
                    benchmark, cell, own if cell.quantity == "value" else cell.quantity
                ),
                "score_details": _score(cell),
                "generation_config": generation,
            }
        )
    return made


def _metric(benchmark: str, cell: Cell, metric: str) -> dict[str, Any]:
    low, high = cell.shown.bounds or (None, None)
    if low is not None and high is not None and not low <= cell.value <= high:
        low = high = None
    return {
        "evaluation_description": cell.shown.label,
        "metric_id": f"{benchmark}.{metric}",
        "metric_name": metric,
        # Shares of kinds of errors.
        "lower_is_better": "error" in cell.labels,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }


def _score(cell: Cell) -> dict[str, Any]:
    """The value with its certainty; all else of the row as text, as the CSV has it."""
    row = cell.row
    uncertainty: dict[str, Any] = {}
    if all(row.get(end) for end in INTERVAL):
        low, high = (float(row[end]) for end in INTERVAL)
        uncertainty["confidence_interval"] = {
            **{"lower": low, "upper": high, "confidence_level": 0.95},
            "method": "over questions (docs/fidelity.md)",
        }
    if row.get("se_independent"):
        uncertainty["standard_error"] = {
            "value": float(row["se_independent"]),
            "method": "over answers",
        }
    if row.get("n"):
        uncertainty["num_samples"] = int(float(row["n"]))
    details = {name: text for name, text in row.items() if text and name not in _PLACED}
    return {
        "score": cell.value,
        **({"uncertainty": uncertainty} if uncertainty else {}),
        "details": details,
    }


# What a record says of a model: its name, its weights, how it ran, and how it decoded.

# A model's name as the hub has it.
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
UNKNOWN = "unknown"
# Which package is the engine of a backend.
_ENGINES = {"vllm": "vllm", "transformers": "transformers", "openvino": "openvino-genai"}


def hub_name(
    model: str, entry: Mapping[str, Any], engine: Mapping[str, Any], given: str | None
) -> str:
    """A model's name as `<owner>/<model>`. `given` is its name in the configuration's section `records`.

    `engine` are the settings with which the model ran; of a replayed log, they name the log's model.
    """
    if entry["backend"] in READERS:
        return f"needlework/{model}"
    for name in (given, entry["name"], engine.get("model")):
        if isinstance(name, str) and HUB_NAME.fullmatch(name):
            return name
    return f"{UNKNOWN}/{re.sub(r'[^A-Za-z0-9_.-]', '-', model)}"


def model_info(
    model: str, known: Mapping[str, Any], entry: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """`known` is what the provenance has of the model for one benchmark: identity and ran_on."""
    ran = known["ran_on"][0] if known["ran_on"] else {}
    backend, hub = entry["backend"], entry["name"] or ""
    weights = backend in _ENGINES and HUB_NAME.fullmatch(hub) is not None
    details = {
        "deployment_type": "self_deployed" if backend in (*_ENGINES, *READERS) else UNKNOWN,
        "model_availability": "open_weights" if weights else UNKNOWN,
        "backend": backend,
        "identity": json.dumps(known["identity"], sort_keys=True, ensure_ascii=False),
    }
    for key in ("revision", "published", "context", "tokenizer"):
        if entry.get(key):
            details[key] = str(entry[key])
    if ran.get("gpus"):
        details["gpus"] = json.dumps(ran["gpus"], ensure_ascii=False)
    info: dict[str, Any] = {"name": model, "id": name, "additional_details": details}
    if name.split("/")[0] != UNKNOWN:
        info["developer"] = name.split("/")[0]
    version = ran.get("software", {}).get("packages", {}).get(_ENGINES.get(backend, ""))
    engine = {"name": backend, **({"version": version} if version else {})}
    return info | ({"inference_engine": engine} if backend in _ENGINES else {})


def generation_config(entry: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """A model's decoding settings; for a replayed log, the log's settings. Built-in readers have none."""
    if entry["backend"] in READERS:
        return {"additional_details": {"decoding": "none: a reader of the references or the text"}}
    if entry["backend"] == "replay":
        told = {key: as_text(value) for key, value in engine.items() if value is not None}
        arguments = {
            key: engine[key]
            for key in ("temperature", "top_p", "top_k")
            if isinstance(engine.get(key), int | float)
        }
        return {"generation_args": arguments, "additional_details": told}
    values = {**entry["sampling"], **entry.get("request", {})}
    return {
        "generation_args": {
            **{key: values[key] for key in ("temperature", "top_p", "top_k")},
            "reasoning": bool(entry["reasoning"]),
        },
        "additional_details": {"decoding": decoding(given(entry)), "chat": as_text(entry["chat"])},
    }


def as_text(value: object) -> str:
    """A value as text for `details`: a text stays as it is, any other value becomes JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# A model's answers to a benchmark as the lines of an instance file: one for each answer and metric.

VERSION = "0.3.0"
_KEY = ("instance_id", "sample")
_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_MORE_USAGE = {"cached_tokens": "input_tokens_cache_read", "reasoning_tokens": "reasoning_tokens"}
_METADATA = ("task", "verdict", "finish_reason", "outcome", "answered_in", "example_id")


def references_of(instances: Sequence[str]) -> dict[str, list[str]]:
    """The references by prompt."""
    found: dict[str, list[str]] = {}
    for file in instances:
        table = read_table(file, ["instance_id", "references"])
        found.update(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    return found


def lines(
    generations: str,
    scores: str,
    references: Mapping[str, list[str]] | None,
    labels: Mapping[str, str],
) -> Iterator[str]:
    """The lines of an instance file, without their line breaks, in the order of the scores.

    `references` are None where licences hold texts back. `labels` are evaluation_id, model_id and the
    benchmark as evaluation_name.
    """
    answers = _rows(read_table(generations))
    table = read_table(scores)
    factors = [name for name in table.column_names if name not in NO_FACTORS]
    answer: Mapping[str, Any] = dict.fromkeys(_KEY)
    for row in _rows(table):
        # Scores are in the order of the answers, several for one answer.
        while any(answer[name] != row[name] for name in _KEY):
            answer = next(answers)
        own = None if references is None else references[row["instance_id"]]
        yield json.dumps(line(row, answer, own, factors, labels), ensure_ascii=False)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, a few at a time."""
    return (row for batch in table.to_batches(max_chunksize=1024) for row in batch.to_pylist())


def line(
    row: Mapping[str, Any],
    answer: Mapping[str, Any],
    references: list[str] | None,
    factors: Sequence[str],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """One score of an answer."""
    text = answer["text"] or ""
    metadata = {name: row[name] for name in (*_METADATA, *factors)}
    metadata |= {"metric": row["metric"], "sample": row["sample"]}
    made = {
        "schema_version": VERSION,
        **labels,
        "evaluation_name": f"{labels['evaluation_name']}/{row['metric']}",
        "sample_id": row["instance_id"],
        "interaction_type": "single_turn",
        "input": {"raw": NAMED + row["instance_id"], "reference": references or []},
        "output": {"raw": [text if answer["raw_text"] is None else answer["raw_text"]]},
        "answer_attribution": [
            {
                **{"turn_idx": 0, "source": "output.raw", "extracted_value": text},
                **{"extraction_method": row["metric"], "is_terminal": True},
            }
        ],
        "evaluation": {"score": row["value"], "is_correct": row["value"] == 1},
        "metadata": {k: as_text(v) for k, v in metadata.items() if v is not None},
    }
    if usage := _usage(answer):
        made["token_usage"] = usage
    if answer["error"]:
        made["error"] = answer["error"]
    return made


def _usage(answer: Mapping[str, Any]) -> dict[str, int] | None:
    """The counts of tokens, if the backend has both of those that the schema wants."""
    counts = {name: answer[own] for own, name in _USAGE.items()}
    if None in counts.values():
        return None
    counts["total_tokens"] = sum(counts.values())
    return counts | {n: answer[own] for own, n in _MORE_USAGE.items() if answer[own] is not None}


# Write a run's records, in the folders of the field's repository: data/<benchmark>/<owner>/<model>/.


@dataclass(frozen=True)
class Recorded:
    """The input of a benchmark's records.

    paper: its address. data: a description of the prompts' data. metric: the metric of rows that name none.
    published: the file of the paper's numbers. answers: by model, the files of answers, scores and prompts.
    """

    name: str
    title: str
    paper: str
    data: str
    metric: str
    published: str | None
    results: Mapping[str, Shown]
    answers: Mapping[str, tuple[str, str, Sequence[str]]]


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """UserError if `records.names` names a model that the configuration does not have."""
    known = list(known)
    for name in names:
        if name not in known:
            raise UserError(
                f"records.names names {name[:80]!r}, which is not in `models` ({', '.join(known)[:200]}): "
                "correct it."
            )


def write_records(
    folder: str | Path,
    benchmarks: Iterable[Recorded],
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, int]:
    """Write all records below `folder`; returns the numbers of records and of lines.

    `settings` is the section `records` of the configuration.
    """
    counts = {"records": 0, "lines": 0}
    free = not withheld(provenance)
    for own in benchmarks:
        for model, files in own.answers.items():
            counts["lines"] += _write_model(
                Path(folder), own, model, files, provenance, settings, free
            )
            counts["records"] += 1
        if own.published:
            _write_paper(Path(folder), own)
            counts["records"] += 1
    return counts


def _write_model(
    folder: Path,
    own: Recorded,
    model: str,
    files: tuple[str, str, Sequence[str]],
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any],
    free: bool,
) -> int:
    """Write a model's record of a benchmark with its instance file; how many lines that has."""
    generations, scores, prompts = files
    entry = provenance["configuration"]["models"][model]
    part = provenance["models"][model]
    known = {**part["benchmarks"][own.name], "identity": part.get("identity")}
    engine = known["ran_on"][0].get("engine", {}) if known["ran_on"] else {}
    name = hub_name(model, entry, engine, settings["names"].get(model))
    # The same results give the same bytes.
    made = str(int(Path(scores).stat().st_mtime))
    labels = {"evaluation_id": f"{own.name}/{name}/{model}/{made}", "model_id": name}
    target = _target(folder, own.name, name, labels["evaluation_id"])
    texts = references_of(prompts) if free else None
    digest, count = hashlib.sha256(), 0
    rows = lines(generations, scores, texts, {**labels, "evaluation_name": own.name})
    with target.with_name(f"{target.stem}_samples.jsonl").open("wb") as file:
        for row in rows:
            content = row.encode("utf-8", "replace") + b"\n"
            digest.update(content)
            file.write(content)
            count += 1
        path = Path(file.name)
    results = evaluation_results(
        own.name,
        cells(own.results, model),
        _source(own),
        generation_config(entry, engine),
        own.metric,
    )
    record = {
        **_head(labels["evaluation_id"], made),
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_name": "needlework",
            "source_organization_name": settings["organization"],
            "evaluator_relationship": "third_party",
        },
        "eval_library": _library(provenance),
        "model_info": model_info(model, known, entry, name),
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": path.relative_to(folder).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": count,
        },
    }
    _write(target, record)
    return count


def _write_paper(folder: Path, own: Recorded) -> None:
    """Write the paper's own numbers as a record of documentation."""
    assert own.published is not None
    name = f"{own.name}/paper"
    made = str(int(Path(own.published).stat().st_mtime))
    identifier = f"{own.name}/{name}/{made}"
    source = {"dataset_name": own.title, "source_type": "url", "url": [own.paper]}
    results = []
    numbers = published.load(own.published).astype({"n": "string"}).fillna({"n": ""})
    for number in numbers.to_dict("records"):
        place = published.cell_name(number["table"], number["row"], number["column"])
        named = ("table", "row", "column", "n", "source", "note")
        details = {key: number[key] for key in named if number[key]}
        results.append(
            {
                "evaluation_result_id": f"{own.name}/{number['source']}/{place}",
                "evaluation_name": f"{own.name}/{number['table']}",
                "source_data": source,
                "metric_config": {
                    **{"metric_name": number["column"], "lower_is_better": False},
                    **{"score_type": "continuous", "min_score": None, "max_score": None},
                },
                "score_details": {"score": number["value"], "details": details},
            }
        )
    record = {
        **_head(identifier, made),
        "source_metadata": {
            "source_type": "documentation",
            "source_name": f"The paper of {own.title}",
            "source_organization_name": "the authors of the paper",
            "source_organization_url": own.paper,
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": own.title, "version": UNKNOWN},
        "model_info": {
            "name": "the paper's models, named in each result's details",
            "id": name,
            "additional_details": {
                "deployment_type": UNKNOWN,
                "model_availability": UNKNOWN,
            },
        },
        "evaluation_results": results,
    }
    _write(_target(folder, own.name, name, identifier), record)


def _head(identifier: str, made: str) -> dict[str, str]:
    return {
        "schema_version": VERSION,
        "evaluation_id": identifier,
        "retrieved_timestamp": made,
    }


def _source(own: Recorded) -> dict[str, Any]:
    """What the prompts are made of."""
    name = f"{own.title}: {own.data}" if own.data else own.title
    if not own.paper:
        return {"dataset_name": name, "source_type": "other"}
    return {"dataset_name": name, "source_type": "url", "url": [own.paper]}


def _library(provenance: Mapping[str, Any]) -> dict[str, Any]:
    workflow = provenance["workflow"]
    more = {key: str(workflow[key]) for key in ("commit", "modified") if workflow[key] is not None}
    return {"name": "needlework", "version": workflow["version"], "additional_details": more}


def _target(folder: Path, benchmark: str, name: str, identifier: str) -> Path:
    """The file of a record; its folder is made. Its name follows from the record's identifier."""
    digest = hashlib.sha256(identifier.encode()).digest()
    owner, _, model = (re.sub(r"[^A-Za-z0-9_./-]", "-", name)).partition("/")
    own = folder / "data" / benchmark / owner / model.replace("/", "-")
    own.mkdir(parents=True, exist_ok=True)
    return own / f"{uuid.UUID(bytes=digest[:16], version=4)}.json"


def _write(path: Path, record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors="replace")
