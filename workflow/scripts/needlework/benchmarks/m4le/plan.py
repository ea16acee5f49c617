"""What M4LE consists of: its tasks, factors and slices, and what each slice depends on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework.benchmarks.contract import Result
from needlework.corpora.m4le_data.origins import ORIGINS, source_files
from needlework.corpora.m4le_data.sampled import SAMPLED
from needlework.corpora.m4le_data.tasks import ABILITIES, BUCKETS, BUCKETS_2023, SLUGS, TASKS
from needlework.decoding import decoding
from needlework.errors import UserError

NAME = "m4le"
TITLE = "M4LE"
TRANSLATED = False

SAMPLE = "sample"

# Factor columns and their Arrow types, by name: planning needs no Arrow. `length` is the bucket, in the
# task's own unit, and 0 of rows that study places alone; `position` is the asked item's place from 0 to 1,
# null where it has none; `candidates` are the items.
FACTORS: dict[str, str] = {
    "ability": "string",
    "task_type": "string",
    "lang": "string",
    "domain": "string",
    "length": "int32",
    "position": "double",
    "candidates": "int32",
    "source": "string",
}

# Tables and figures are described with the results' engine.
TABLES: dict[str, Result] = {}
FIGURES: dict[str, Result] = {}

# Answers of a task type, in tokens, where the limit is not the released one: above the longest gold
# answers, since all that follows the first cut is dropped. None is the bucket.
LIMITS: dict[str, int | None] = {
    "CLS": 32,
    "CLS+CNT": 16,
    "CLS+RET": 1024,
    "NLI+RET": 32,
    "QA": 320,
    "QA+RET": 128,
    "RET": 64,
    "SUM": 1024,
    "SUM+RET": 512,
    "TRAN": None,
    "TRAN+RET": 1024,
}


def tables(own: Mapping[str, Any]) -> dict[str, Result]:
    """The tables that a configuration of this benchmark fills."""
    return dict(TABLES)


def figures(own: Mapping[str, Any]) -> dict[str, Result]:
    """The figures that a configuration of this benchmark fills."""
    return dict(FIGURES)


def tasks(own: Mapping[str, Any]) -> list[str]:
    """The names of the tasks that are asked, in the paper's order."""
    asked = own["tasks"] if own["tasks"] != "all" else _available(own)
    return [name for name in TASKS if name in asked]


def _available(own: Mapping[str, Any]) -> list[str]:
    """The tasks that the source has: of a folder without all data sets, those whose files are there."""
    if own["source"] == "sample":
        return list(SAMPLED)
    if own["source"] == "constructed" and own["skip_missing"]:
        return [name for name in TASKS if source_files(own["folder"], name)]
    return list(TASKS)


def slices(own: Mapping[str, Any]) -> list[str]:
    """The slices of the benchmark's configuration: a task each; of the small sample, one for all."""
    return [SAMPLE] if own["source"] == "sample" else [TASKS[name].slug for name in tasks(own)]


def corpus(own: Mapping[str, Any]) -> str:
    """The corpus that the rows are of."""
    return f"m4le_{own['release'] if own['source'] == 'released' else own['source']}"


def corpus_settings(own: Mapping[str, Any]) -> dict[str, Any]:
    """What a table of rows depends on besides its files."""
    found: dict[str, Any] = {"lengths": sorted(own["lengths"])}
    if own["source"] != "released":
        found |= {"examples": own["examples"], "seed": own["seed"]}
        if own["positions"]["places"]:
            found["positions"] = dict(own["positions"])
    if own["source"] == "sample":
        found["tasks"] = tasks(own)
    return found


def corpus_files(own: Mapping[str, Any], name: str, slug: str) -> list[str] | None:
    """The files of a task's source data set in the user's folder; None of another corpus.

    UserError, naming the data set and where to get it, where they are not there.
    """
    if name != "m4le_constructed":
        return None
    task = SLUGS[slug]
    if files := source_files(own["folder"], task.name):
        return files
    origin = ORIGINS[task.name]
    where = Path(own["folder"] or "<folder>") / origin.files[0]
    raise UserError(
        f"benchmarks.{NAME}: {task.name} is made of {task.source}, which is not there: get it from "
        f"{origin.url} ({origin.licence}) and put it at {where}; or set skip_missing: true, or leave "
        "the task out of `tasks`."
    )


def settings(own: Mapping[str, Any], name: str, lengths: list[int]) -> dict[str, Any]:
    """All that the instances of a slice depend on, other than files and the tokenizer.

    `lengths` are the buckets wanted by the models that use the tokenizer.
    """
    limits = own["max_new_tokens"]
    by_type = {**LIMITS, **limits["types"]} if limits["preset"] == "types" else {}
    asked = tasks(own) if name == SAMPLE else [SLUGS[name].name]
    return {
        "slice": name,
        "data": corpus(own),
        "source": own["source"],
        "lengths": sorted(lengths),
        "max_new_tokens": {task: by_type.get(TASKS[task].task_type) for task in asked},
    }


def corpora(chosen: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables that a slice reads: the rows of its tasks."""
    return {"rows": [(chosen["data"], chosen["slice"])]}


def searches(chosen: Mapping[str, Any]) -> list[str]:
    """The languages in which a slice needs distractors: none."""
    return []


def documents(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rows that the benchmark's prompts are."""
    return [(corpus(own), slug) for slug in slices(own)]


def scoring_settings(own: Mapping[str, Any]) -> dict[str, Any]:
    """What the scores depend on besides prompts and answers: nothing; every metric is computed."""
    return {}


def result_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables and figures need to know of a run."""
    own, run = config["benchmarks"][NAME], config["run"]
    entries = {model: config["models"][model] for model in run["models"]}
    return {
        "models": run["models"],
        "published": {m: e["published"] for m, e in entries.items() if e["published"]},
        "decoding": {m: decoding(e) for m, e in entries.items()},
        "metric": own["metric"],
        "reference": own["reference"],
        "setup": {key: own[key] for key in ("source", "release", "max_new_tokens")},
        "abilities": list(ABILITIES),
    }


def check(config: Mapping[str, Any]) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    known = list(SAMPLED) if own["source"] == "sample" else list(TASKS)
    for name in own["tasks"] if own["tasks"] != "all" else []:
        if name not in known:
            raise UserError(
                f"{where}.tasks has {name!r}: `source: {own['source']}` has {', '.join(known)}."
            )
    if own["source"] == "released":
        released = BUCKETS_2023 if own["release"] == "2023" else BUCKETS
        for length in own["lengths"]:
            if length not in released:
                raise UserError(
                    f"{where}.lengths has {length}, but the release of {own['release']} has the buckets "
                    f"{', '.join(map(str, released))}."
                )
    if own["source"] == "constructed":
        _check_folder(own, where)
    for kind in own["max_new_tokens"]["types"]:
        if kind not in LIMITS:
            raise UserError(
                f"{where}.max_new_tokens.types has {kind!r}: the task types are {', '.join(LIMITS)}."
            )
    if own["reference"] != "published" and own["reference"] not in config["models"]:
        raise UserError(
            f"{where}.reference is {own['reference']!r}, which is neither `published` nor a model."
        )


def _check_folder(own: Mapping[str, Any], where: str) -> None:
    """Raise UserError where the folder of source data sets is none, or lacks what is asked for."""
    if own["folder"] is None:
        raise UserError(
            f"{where}.folder is missing: `source: constructed` reads the source data sets from there, in "
            "the layout of M4LE's raw_data (docs/configuration.md)."
        )
    if not Path(own["folder"]).is_dir():
        raise UserError(f"{where}.folder: {own['folder']} is no folder: mend the path.")
    names = tasks(own)
    if not names:
        raise UserError(f"{where}.folder: {own['folder']} has the files of no task: mend the path.")
    for name in names:
        corpus_files(own, corpus(own), TASKS[name].slug)
