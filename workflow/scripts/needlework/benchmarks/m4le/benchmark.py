"""The object BENCHMARK of M4LE, its report card, and checks of its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.m4le import figures, plan, tables
from needlework.benchmarks.m4le.corpora import WORDED
from needlework.benchmarks.m4le.data.tasks import (
    BUCKETS,
    BUCKETS_2023,
    CONSTRUCTED,
    OPTIONAL,
    SAMPLED,
    TASKS,
    load_frames,
    texts_of,
)
from needlework.benchmarks.m4le.factors import FACTORS, LENGTH, POSITION, SHORTEST
from needlework.benchmarks.m4le.metrics import METRICS
from needlework.benchmarks.m4le.tables import by_metric
from needlework.contract import block_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.layout import resource
from needlework.prompts.wording import check_texts, user_texts
from needlework.results.cards.card import Card, CardPart
from needlework.results.result import Context, results_in

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.m4le.settings import M4le
    from needlework.planning.configuration import Configuration
    from needlework.settings.sources import OwnCorpus

# Tasks in one language whose gold answers belong to paragraphs.
PAIRED = ("booksum",)
# The columns of records that the types of tasks ask about.
_ASKED = {
    "CLS": ("label",),
    "NLI": ("parts",),
    "QA": ("question", "answers"),
    "RET": ("title",),
    "SUM": ("answers",),
}


def check(config: Configuration) -> None:
    """Raise UserError if the benchmark's configuration cannot be built."""
    own: M4le = block_of(config, plan.NAME)
    where, models = f"benchmarks.{plan.NAME}", config.run.models
    known = {"sample": SAMPLED, "constructed": CONSTRUCTED}.get(own.source, TASKS)
    for name in own.tasks if own.tasks != "all" else []:
        if name not in known:
            raise UserError(
                f"{where}.tasks has {name!r}: `source: {own.source}` has {', '.join(known)}."
            )
    if own.source == "released":
        released = BUCKETS_2023 if own.release == "2023" else BUCKETS
        for length in own.lengths:
            if length not in released:
                raise UserError(
                    f"{where}.lengths has {length}, but the release of {own.release} has the buckets "
                    f"{', '.join(map(str, released))}."
                )
    if own.source == "constructed":
        _check_wording(own, where)
        _check_records(own, where, config.corpora)
        _check_folder(own, where)
    for key, given in (("records", own.records), ("instructions", own.instructions)):
        if given and own.source != "constructed":
            raise UserError(
                f"{where}.{key} needs `source: constructed`: set that, or leave `{key}` out."
            )
    if own.reference not in ("published", *models):
        raise UserError(
            f"{where}.reference is {own.reference!r}, which is neither `published` nor one of "
            f"run.models ({', '.join(models)})."
        )
    if own.reference != "published" and SHORTEST not in own.lengths:
        raise UserError(
            f"{where}.lengths lacks {SHORTEST}, where scores of the reference {own.reference} normalise "
            "all others: add it, or set `reference: published`."
        )


def _check_wording(own: M4le, where: str) -> None:
    """Raise UserError if a user's wording is of a task without records of the user's, or lacks a text."""
    if not (given := own.instructions):
        return
    if not own.records:
        raise UserError(
            f"{where}.instructions needs `records`: only tasks with records of yours have another wording "
            "than the paper's."
        )
    frames = load_frames(resource(WORDED["resources"][0]))
    texts: dict[str, Sequence[str]] = {}
    needed: dict[str, list[str]] = {lang: [] for lang in given}
    for task in (task for task in own.records if task in TASKS):
        own_texts = {f"{task}.{text}": held for text, held in texts_of(frames[task]).items()}
        langs = [lang for lang in given if user_texts(given, lang, list(own_texts))]
        if len(langs) > 1:
            raise UserError(
                f"{where}.instructions has texts of {task} in {' and '.join(langs)}, but a task's records "
                "have one language: leave the others out."
            )
        for lang in langs:
            needed[lang] += [name for name in own_texts if name.split(".")[1] not in OPTIONAL]
        texts |= own_texts
    check_texts(f"{where}.instructions", given, texts, needed)


def _check_records(own: M4le, where: str, corpora: Mapping[str, OwnCorpus]) -> None:
    """Raise UserError if a task is none, or is of other texts, languages or columns than the user's."""
    for name, mine in own.records.items():
        if name not in TASKS:
            raise UserError(f"{where}.records has {name!r}: the tasks are {', '.join(TASKS)}.")
        if "," in TASKS[name].lang or name in PAIRED:
            raise UserError(
                f"{where}.records has {name}, which is made of pairs of texts, unlike records: choose "
                "another task."
            )
        known = languages_of(mine, corpora)
        if (lang := plan.wording(own, name)[0]) not in known:
            raise UserError(
                f"{where}.records.{name} is {mine!r}, which has {', '.join(known)}, but the task is in "
                f"{lang}: write the task's texts in a language of yours (`instructions`), choose another "
                "task, or add the language."
            )
        for column in _ASKED[TASKS[name].task_type.split("+")[0]]:
            if column not in dict(corpora[mine].columns):
                raise UserError(
                    f"corpora.{mine}.columns lacks {column!r}, which {where}.records.{name} asks about: name "
                    "the column, or choose another task."
                )


def _check_folder(own: M4le, where: str) -> None:
    """Raise UserError if the folder of source data sets is none, or lacks what is asked for."""
    needed = [name for name in plan.tasks(own) if name not in own.records]
    if own.folder is None and not needed and own.records:
        return
    if own.folder is None:
        raise UserError(
            f"{where}.folder is missing: `source: constructed` reads the source data sets from there, in "
            "the layout of M4LE's raw_data (docs/configuration.md)."
        )
    if not Path(own.folder).is_dir():
        raise UserError(f"{where}.folder: {own.folder} is not a folder: correct the path.")
    names = plan.tasks(own)
    if not names:
        raise UserError(f"{where}.folder: {own.folder} has no files of any task: correct the path.")
    for name in needed:
        plan.corpus_files(own, plan.corpus(own), CONSTRUCTED[name].slug)


# Report cards: tasks that are right or wrong, those of ROUGE, and those of BLEU.

# The metrics of tasks, by the part of the card that they are in.
ON_CARD = {"": ("accuracy", "match", "f1"), "ROUGE": ("rouge",), "BLEU": ("bleu",)}


def of_metrics(rows: pd.DataFrame, run: Context, metrics: tuple[str, ...]) -> pd.DataFrame:
    """The rows of tasks that have a length, scored by these metrics.

    Texts of a prompt are divided into fifths. The further column `place` has the fifth that holds the asked
    text, from 0 to 1.
    """
    tasks = [name for name, task in CONSTRUCTED.items() if task.metric in metrics]
    rows = by_metric(rows, run)
    rows = rows[rows["task"].isin(tasks) & (rows["length"] > 0)]
    # News Commentary asks for one too, though the paper calls it "global".
    several = rows["ability"].isin(["explicit_multiple", "semantic_multiple"])
    fifth = (rows["position"].astype(float) * 5).clip(upper=4.999) // 1 / 4
    return rows.assign(place=fifth.mask(several))


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the task's answer."""
    langs = {name: task.answer_lang for name, task in CONSTRUCTED.items()}
    return rows["task"].map(langs).astype(object)


CARD = Card(
    parts=tuple(
        CardPart(
            partial(of_metrics, metrics=metrics),
            held=("task", "length"),
            name=name,
            length=LENGTH.renamed("length", label="words"),
            # A summary or a translation is of all that it was asked.
            depth=None if name else POSITION.renamed("place"),
        )
        for name, metrics in ON_CARD.items()
    ),
    asked_in=asked_in,
)


BENCHMARK = Benchmark(
    name=plan.NAME,
    title="M4LE",
    paper="https://arxiv.org/abs/2310.19240",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        notices=plan.notices,
        corpus_settings=plan.corpus_settings,
        corpus_files=plan.corpus_files,
    ),
    scoring=Scoring(
        scored_by=("accepted",),
        metrics=METRICS,
        judged={name: "list" for name, task in CONSTRUCTED.items() if task.metric == "f1"},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, ()),
        card=CARD,
        # Questions that are asked without their texts have none to choose from.
        closed_book=("candidates", 0),
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
