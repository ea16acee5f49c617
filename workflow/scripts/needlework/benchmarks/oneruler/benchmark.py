"""The object BENCHMARK of ONERULER, its report card, and checks of its configuration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.oneruler import figures, plan, tables, wording
from needlework.benchmarks.oneruler.factors import (
    CONTEXT_CODE,
    CWE,
    FACTORS,
    LENGTH,
    N_NEEDLES,
    NIAH,
    PRESENT,
)
from needlework.benchmarks.oneruler.metrics import METRICS
from needlework.benchmarks.oneruler.plan import (
    FOLDER_FILES,
    NAME,
    Slice,
    reads,
    settings,
    slice_languages,
    slices,
    user_folder,
    variants,
    word_tasks,
)
from needlework.benchmarks.oneruler.rows import ONE_LANGUAGE, dropped, none_allowed, of_metric
from needlework.contract import block_of
from needlework.data.corpora.registry import folder_languages, languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.results.cards.card import Card, CardPart
from needlework.results.result import Context, results_in
from needlework.results.tabulate import where

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.oneruler.settings import Oneruler
    from needlework.planning.configuration import Configuration


def check(config: Configuration) -> None:
    """Raise UserError if the benchmark's configuration cannot be built."""
    own: Oneruler = block_of(config, NAME)
    where = f"benchmarks.{NAME}"
    if not slices(own):
        raise UserError(
            f"{where}.languages and {where}.cross_lingual are empty: name a language or a pair."
        )
    folder = user_folder(own, config)
    known = [*languages_of(f"{own.data}_prompts"), *folder_languages(folder)]
    for key, languages in (
        ("languages", own.languages),
        ("cross_lingual", [lang for pair in own.cross_lingual for lang in pair]),
        ("without_none_languages", own.without_none_languages or ()),
        ("full_stops", own.full_stops),
        ("none_words", own.none_words),
        ("wikipedia_articles", own.wikipedia_articles),
    ):
        for lang in languages:
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: `data: {own.data}` has "
                    f"{', '.join(known)}."
                )
    if own.haystack:
        texts = languages_of(own.haystack, config.corpora)
        for lang in (slice_languages(name)[1] for name in slices(own)):
            if lang not in texts:
                raise UserError(
                    f"{where}.haystack is {own.haystack}, which has no text in {lang!r}, but "
                    f"{', '.join(texts)}: leave the language out, or take another haystack."
                )
    wording.check(sorted({slice_languages(name)[0] for name in slices(own)}), own.none_words)
    _check_slices(own, folder)
    pairs = own.comparisons.equal_text
    paired = [name for pair in pairs for name in pair]
    for key, names in (("equal_text", paired), ("reasoning", own.comparisons.reasoning)):
        check_named(f"{where}.comparisons.{key}", names, config.models, "models")
    for first, second in pairs:
        if config.models[first].tokenizer == config.models[second].tokenizer:
            raise UserError(
                f"{where}.comparisons.equal_text pairs {first!r} with {second!r}, which are measured in the "
                "same tokenizer: give the second one a common tokenizer, such as cl100k_base."
            )


def _check_slices(own: Oneruler, folder: str | None) -> None:
    """Raise UserError if keys leave nothing to ask or no room, or a user's folder lacks a file."""
    where = f"benchmarks.{NAME}"
    planned = {name: settings(own, name, own.lengths) for name in slices(own)}
    if own.without_none_languages is not None and set(own.none_option) != {True, False}:
        raise UserError(
            f"{where}.without_none_languages chooses among languages that are asked with the sentence too: "
            f"make {where}.none_option [true, false], or leave without_none_languages out."
        )
    if not any(variants(Slice(**slice_settings)) for slice_settings in planned.values()):
        raise UserError(
            f"{where}.none_option is [false], but none of {where}.tasks is in {where}.without_none_tasks: "
            "add one there, or add true."
        )
    if not all(slice_settings["tasks"] for slice_settings in planned.values()):
        raise UserError(
            f"{where}.cross_lingual_tasks has none of {where}.tasks: add one there, or leave "
            "cross_lingual empty."
        )
    least = min(own.lengths)
    for kind, limit in next(iter(planned.values()))["max_new_tokens"].items():
        if limit is not None and least <= limit:
            raise UserError(
                f"{where}.lengths has {least}, and {where}.max_new_tokens ({kind}: "
                f"{limit}) leaves no room for a prompt: raise the length or lower max_new_tokens."
            )
    theirs = folder_languages(folder)
    for name, slice_settings in planned.items():
        for kind, read in reads(slice_settings).items():
            if kind == "books" and own.haystack:
                continue
            # English words are those of a package.
            langs = [lang for _, lang in read if (kind, lang) != ("words", "en")]
            # The prompt of common words is of their tasks alone.
            words = word_tasks(slice_settings["tasks"])
            files = [file for file in FOLDER_FILES[kind] if "cwe" not in file or words]
            for lang, file in ((lang, file) for lang in langs for file in files):
                path = Path(folder or "") / file.format(lang=lang)
                if lang in theirs and not path.is_file():
                    raise UserError(
                        f"sources.oneruler.folder: {path} is missing, which the prompts of {name!r} are made "
                        "of: add it (see docs/adding-a-language.md)."
                    )


def of_tasks(rows: pd.DataFrame, run: Context, tasks: tuple[str, ...]) -> pd.DataFrame:
    """The prompts of `tasks` in one language. Models whose prompts have equal text are included."""
    found = none_allowed(where(of_metric(rows, run), f"{ONE_LANGUAGE} and task in {tasks}"))
    return found[~dropped(found)]


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the instruction."""
    return rows["instruction_lang"].astype(object)


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether the answer is "none" though there are needles."""
    there = rows["task"].isin(PRESENT) & (rows["none_option"] == True)  # noqa: E712 (or None)
    said = rows["verdict"].astype(str).isin(["none_error", "none"])
    return said.astype(object).where(there & rows["metric"].isin(["strict", "careful"]))


def _part(name: str, tasks: tuple[str, ...]) -> CardPart:
    return CardPart(
        partial(of_tasks, tasks=tasks),
        held=("task", "context_lang", "length"),
        name=name,
        length=replace(LENGTH, label="tokens"),
        language=CONTEXT_CODE,
    )


CARD = Card(
    parts=(
        _part("present needles", PRESENT),
        _part("words", tuple(CWE)),
        CardPart(
            partial(of_tasks, tasks=("niah_single", "niah_multikey")),
            held=("context_lang", "length"),
            name="single key",
            needles=N_NEEDLES,
        ),
    ),
    asked_in=asked_in,
    said_none=said_none,
)


BENCHMARK = Benchmark(
    name=plan.NAME,
    title="ONERULER",
    paper="https://arxiv.org/abs/2503.01996",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        # The longest answer takes all reserved tokens of a length.
        spare=lambda own: 0,
    ),
    scoring=Scoring(
        # An answer that quotes a book says nothing.
        scores_read="books",
        metrics=METRICS,
        judged={task: "none" if task == "niah_none" else "list" for task in plan.TASKS},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, tuple(NIAH)),
        card=CARD,
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
