"""The plan of M4LE: its tasks and slices, and the settings on which each slice depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.m4le.data.origins import origin, source_files
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED, SAMPLED, SLUGS, TASKS, TEXTS
from needlework.benchmarks.m4le.factors import RANGES
from needlework.contract import CorpusTable, Run, SliceSettings, block_of, in_words
from needlework.data.corpora.registry import corpus_table
from needlework.errors import UserError
from needlework.prompts.wording import user_texts

if TYPE_CHECKING:
    from needlework.benchmarks.m4le.settings import M4le
    from needlework.planning.configuration import Configuration

NAME = "m4le"
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    key: f"benchmarks.{NAME}.{key}" for key in ("source", "release", "reference", "max_new_tokens")
}
SAMPLE = "sample"

# Keys and values that make a condition hold (`RunFacts.filled_by`).
FILLED_BY = {
    name: {f"benchmarks.{NAME}.{key}": value for key, value in keys.items()}
    for name, keys in {
        "closed_book": {"closed_book": "true", "tasks": "all"},
        "places": {
            "source": "constructed",
            "folder": "<folder>",
            "positions": "{places: 5, candidates: 20, examples: 100}",
        },
        **{name: {"lengths": f"[{lengths[0]}]"} for name, (_, lengths) in RANGES.items()},
    }.items()
}

# Answers of a task type, in tokens, where the limit is not the released one: above the longest gold
# answers, since all that follows the first cut is dropped. None is the bucket.
LIMITS: dict[str, int | None] = {
    "CLS": 32,
    "CLS+CNT": 16,
    "CLS+RET": None,
    "NLI+RET": 32,
    "QA": 640,
    "QA+RET": 128,
    "RET": 64,
    "SUM": 1024,
    "SUM+RET": 512,
    "TRAN": None,
    "TRAN+RET": 1024,
}


@dataclass(frozen=True)
class Slice:
    """The settings on which the instances of a slice depend, as `settings` returns them."""

    slice: str
    data: str
    source: str
    lengths: Sequence[int]
    closed_book: bool
    # The longest answers by task; None is the bucket.
    max_new_tokens: Mapping[str, int | None]
    # The language of a user's wording.
    lang: str | None = None


def tasks(own: M4le) -> list[str]:
    """The names of the asked tasks: the paper's tasks in its order, then tasks in further languages."""
    asked, missing = _asked(own)
    return [name for name in asked if name not in missing]


def _asked(own: M4le) -> tuple[list[str], list[str]]:
    """The tasks that the configuration names, or all of the source; and those that the folder lacks."""
    every = SAMPLED if own.source == "sample" else TASKS
    named = every if own.tasks == "all" else own.tasks
    asked = [name for name in CONSTRUCTED if name in named]
    if own.source != "constructed" or not own.skip_missing:
        return asked, []
    of_source = [name for name in asked if name not in own.records]
    return asked, [name for name in of_source if not source_files(own.folder, CONSTRUCTED[name])]


def notices(own: M4le) -> list[str]:
    """A sentence on the tasks that are left out, if there are any."""
    asked, missing = _asked(own)
    if not missing:
        return []
    return [
        f"benchmarks.{NAME}: {len(missing)} of {len(asked)} tasks are left out, since "
        f"{own.folder} lacks their sources: {', '.join(missing)}."
    ]


def data(own: M4le) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    mine = {
        "released": (f"M4LE's release of {own.release}", 200),
        "sample": ("sample", own.examples),
        "constructed": ("rows built from sources", own.examples),
    }[own.source]
    rows = "rows per task and length"
    return in_words(*mine, rows), f"M4LE's release of 2023, 200 {rows}"


def slices(own: M4le) -> list[str]:
    """The slices of the benchmark's configuration: one per task, or a single one for the small sample."""
    return [SAMPLE] if own.source == "sample" else [CONSTRUCTED[name].slug for name in tasks(own)]


def corpus(own: M4le) -> str:
    """The corpus that the rows belong to."""
    return f"m4le_{own.release if own.source == 'released' else own.source}"


def wording(own: M4le, task: str) -> tuple[str, dict[str, str]]:
    """The language of a task's wording, and the user's texts for it, by their names in `texts_of`.

    If there are no user's texts, the language is the task's own.
    """
    names = [f"{task}.{text}" for text in TEXTS]
    for lang in own.instructions:
        if found := user_texts(own.instructions, lang, names):
            return lang, {name.removeprefix(f"{task}."): text for name, text in found.items()}
    return CONSTRUCTED[task].lang, {}


def corpus_settings(own: M4le, slug: str) -> SliceSettings:
    """The settings that a table of rows depends on besides its files: fields of `corpus.Making`."""
    found: dict[str, Any] = {"lengths": sorted(own.lengths)}
    if own.source != "released":
        found |= {"examples": own.examples, "seed": own.seed}
        if own.positions.places:
            found["positions"] = dict(own.positions)
    if own.source == "sample":
        found["tasks"] = tasks(own)
        return found
    lang, texts = wording(own, SLUGS[slug].name)
    return found | ({"lang": lang, "wording": texts} if texts else {})


def corpus_files(own: M4le, name: str, slug: str) -> list[str] | None:
    """The files of a task's source data set in the user's folder, or the table of the user's records.

    Empty for any other corpus. If the files are missing, raises UserError, which names the data set and where
    to get it.
    """
    if name != "m4le_constructed":
        return None
    task = SLUGS[slug]
    if records := own.records.get(task.name):
        return [corpus_table(records, wording(own, task.name)[0])]
    if files := source_files(own.folder, task):
        return files
    found = origin(task)
    where = Path(own.folder or "<folder>") / found.files[0]
    raise UserError(
        f"benchmarks.{NAME}: {task.name} is made of {task.source}, which is not there: get it from "
        f"{found.url} ({found.licence}) and put it at {where}; or set skip_missing: true, or leave "
        "the task out of `tasks`."
    )


def settings(own: M4le, name: str, lengths: list[int]) -> SliceSettings:
    """The settings on which the instances of a slice depend, besides files and tokenizer.

    `lengths` are the buckets that the models with this tokenizer want.
    """
    by_type = LIMITS if own.max_new_tokens == "types" else {}
    asked = tasks(own) if name == SAMPLE else [SLUGS[name].name]
    lang, texts = wording(own, asked[0])
    return {
        **({"lang": lang} if texts else {}),
        "slice": name,
        "data": corpus(own),
        "source": own.source,
        "lengths": sorted(lengths),
        "closed_book": own.closed_book and any(map(asks_alone, asked)),
        "max_new_tokens": {task: by_type.get(CONSTRUCTED[task].task_type) for task in asked},
    }


def asks_alone(task: str) -> bool:
    """Whether a task's question makes sense without the texts, since it refers to none of them."""
    return CONSTRUCTED[task].task_type == "QA"


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: the rows of its tasks."""
    own = Slice(**slice_settings)
    return {"rows": [(own.data, own.slice)]}


def quotes(own: M4le) -> list[CorpusTable]:
    """The tables of rows that prompts refer to."""
    return [(corpus(own), slug) for slug in slices(own)]


def conditions(config: Configuration) -> dict[str, bool]:
    """Whether a configuration asks certain prompts, by the conditions of results (`Result.when`)."""
    own: M4le = block_of(config, NAME)
    return {
        "closed_book": own.closed_book and any(map(asks_alone, tasks(own))),
        "places": own.source != "released" and own.positions.places > 0,
        **{table: bool({*own.lengths} & {*lengths}) for table, (_, lengths) in RANGES.items()},
    }


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, beside the facts that all results get."""
    own: M4le = block_of(config, NAME)
    printed = own.reference == "published"
    return {
        "metric": own.metric,
        # The model by which scores are normalised, and its name.
        "reference": own.reference,
        "reference_name": "GPT-3.5-Turbo-16K" if printed else own.reference,
        # The tasks with a user's texts.
        "instructions": [task for task in own.records if wording(own, task)[1]],
        # The buckets, in order.
        "lengths": sorted(own.lengths),
        # The number of places that are studied.
        "places": own.positions.places,
        # The models whose prompts go through a chat template.
        "chat": [name for name in config.run.models if config.models[name].chat],
    }
