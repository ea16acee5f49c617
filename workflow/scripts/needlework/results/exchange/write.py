"""Write a run's records, in the folders of the field's repository: data/<benchmark>/<owner>/<model>/."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.results import published
from needlework.results.artifact import withheld
from needlework.results.exchange import instances, models
from needlework.results.exchange.cells import Shown, cells, evaluation_results


@dataclass(frozen=True)
class Recorded:
    """The input of a benchmark's records.

    paper: its address. data: what the prompts are made of, in words. metric: of rows that name none.
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
    """Write all records below `folder`; how many records and lines there are.

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
    name = models.hub_name(model, entry, engine, settings["names"].get(model))
    # The same results give the same bytes.
    made = str(int(Path(scores).stat().st_mtime))
    labels = {"evaluation_id": f"{own.name}/{name}/{model}/{made}", "model_id": name}
    target = _target(folder, own.name, name, labels["evaluation_id"])
    texts = instances.references_of(prompts) if free else None
    digest, count = hashlib.sha256(), 0
    rows = instances.lines(generations, scores, texts, {**labels, "evaluation_name": own.name})
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
        models.generation_config(entry, engine),
        own.metric,
    )
    record = {
        **_head(labels["evaluation_id"], made),
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_name": "needlework",
            "source_organization_name": settings["organization"],
            "evaluator_relationship": settings["relationship"],
        },
        "eval_library": _library(provenance),
        "model_info": models.model_info(model, known, entry, name),
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
        "eval_library": {"name": own.title, "version": models.UNKNOWN},
        "model_info": {
            "name": "the paper's models, named in each result's details",
            "id": name,
            "additional_details": {
                "deployment_type": models.UNKNOWN,
                "model_availability": models.UNKNOWN,
            },
        },
        "evaluation_results": results,
    }
    _write(_target(folder, own.name, name, identifier), record)


def _head(identifier: str, made: str) -> dict[str, str]:
    return {
        "schema_version": instances.VERSION,
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
