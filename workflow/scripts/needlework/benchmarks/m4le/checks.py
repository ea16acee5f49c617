"""Whether M4LE's configuration can be built."""

from __future__ import annotations

from pathlib import Path

from needlework.benchmarks.contract import Config, Own
from needlework.benchmarks.m4le.factors import SHORTEST
from needlework.benchmarks.m4le.plan import LIMITS, NAME, corpus, corpus_files, tasks
from needlework.data.corpora.m4le_data.sampled import SAMPLED
from needlework.data.corpora.m4le_data.tasks import BUCKETS, BUCKETS_2023, CONSTRUCTED, TASKS
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError


def check(config: Config) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    known = {"sample": SAMPLED, "constructed": CONSTRUCTED}.get(own["source"], TASKS)
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
        _check_records(own, where, config["corpora"])
        _check_folder(own, where)
    elif own["records"]:
        raise UserError(
            f"{where}.records needs `source: constructed`: set that, or leave `records` out."
        )
    for kind in own["max_new_tokens"]["types"]:
        if kind not in LIMITS:
            raise UserError(
                f"{where}.max_new_tokens.types has {kind!r}: the task types are {', '.join(LIMITS)}."
            )
    if own["reference"] not in ("published", *config["run"]["models"]):
        raise UserError(
            f"{where}.reference is {own['reference']!r}, which is neither `published` nor one of "
            f"run.models ({', '.join(config['run']['models'])})."
        )
    if own["reference"] != "published" and SHORTEST not in own["lengths"]:
        raise UserError(
            f"{where}.lengths lacks {SHORTEST}, where scores of the reference {own['reference']} normalise "
            "all others: add it, or set `reference: published`."
        )


def _check_records(own: Own, where: str, corpora: Own) -> None:
    """Raise UserError where a task is none, or is not in a language of the user's corpus."""
    for name, mine in own["records"].items():
        if name not in TASKS:
            raise UserError(f"{where}.records has {name!r}: the tasks are {', '.join(TASKS)}.")
        known = languages_of(mine, corpora)
        if (lang := TASKS[name].lang) not in known:
            raise UserError(
                f"{where}.records.{name} is {mine!r}, which has {', '.join(known)}, but the task is in "
                f"{lang}: choose another task, or add the language."
            )


def _check_folder(own: Own, where: str) -> None:
    """Raise UserError where the folder of source data sets is none, or lacks what is asked for."""
    needed = [name for name in tasks(own) if name not in own["records"]]
    if own["folder"] is None and not needed and own["records"]:
        return
    if own["folder"] is None:
        raise UserError(
            f"{where}.folder is missing: `source: constructed` reads the source data sets from there, in "
            "the layout of M4LE's raw_data (docs/configuration.md)."
        )
    if not Path(own["folder"]).is_dir():
        raise UserError(f"{where}.folder: {own['folder']} is not a folder: correct the path.")
    names = tasks(own)
    if not names:
        raise UserError(
            f"{where}.folder: {own['folder']} has no files of any task: correct the path."
        )
    for name in needed:
        corpus_files(own, corpus(own), CONSTRUCTED[name].slug)
