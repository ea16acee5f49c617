"""The object BENCHMARK of MLNeedle, its report card, and checks of its configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.mlneedle import figures, plan, tables
from needlework.benchmarks.mlneedle.factors import (
    DEPTH,
    FACTORS,
    LENGTH,
    MULTILINGUAL,
    NEEDLE,
    POSITION,
)
from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.benchmarks.mlneedle.tables import exact
from needlework.contract import block_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts
from needlework.results.cards.card import Card, CardPart
from needlework.results.result import Context, results_in
from needlework.results.tabulate import where

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.mlneedle.settings import Mlneedle
    from needlework.planning.configuration import Configuration


def check(config: Configuration) -> None:
    """Raise UserError if the benchmark's configuration cannot be built."""
    own: Mlneedle = block_of(config, plan.NAME)
    where = f"benchmarks.{plan.NAME}"
    corpora: Any = config.corpora
    question_lang, answer_languages = plan.decided_languages(own)
    needles, haystack = languages_of(own.needles, corpora), languages_of(own.haystack, corpora)
    mixed = own.multilingual if MULTILINGUAL in own.haystack_languages else ()
    for key, languages, known in (
        ("needle_languages", own.needle_languages, needles),
        ("answer_languages", answer_languages, needles),
        ("question_lang", (question_lang,), needles),
        ("haystack_languages", own.haystack_languages, (*haystack, MULTILINGUAL)),
        ("multilingual", mixed, haystack),
    ):
        for lang in languages:
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: the corpus has {', '.join(known)}."
                )
    for key, languages in (
        ("needle_languages", own.needle_languages),
        ("question_lang", (question_lang,)),
    ):
        for lang in languages:
            if lang not in answer_languages:
                raise UserError(
                    f"{where}.{key} has {lang!r}, which is not in {where}.answer_languages: add it there, so "
                    "that answers in that language are accepted and kept out of the haystack."
                )
    if min(own.lengths) <= plan.ANSWER_BUFFER:
        raise UserError(
            f"{where}.lengths has {min(own.lengths)}, of which {plan.ANSWER_BUFFER} tokens are kept for the "
            "answer, which leaves no room for a prompt: raise the length."
        )
    used = {question_lang: plan.texts_of(own.tasks)}
    check_texts(f"{where}.instructions", own.instructions, plan.INSTRUCTIONS, used)
    for kind, pairs in dict(own.comparisons).items():
        names = [name for pair in pairs for name in pair]
        check_named(f"{where}.comparisons.{kind}", names, config.models, "models")


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether a model answers No to "is the answer there?" although it is."""
    there = (rows["task"] == "existence") & (rows["needle_present"] == True)  # noqa: E712 (or None)
    return rows["verdict"].astype(str).str.fullmatch("no(?::.*)?").astype(object).where(there)


# What report cards show.
CARD = Card(
    parts=(
        CardPart(
            lambda rows, run: where(exact(rows), "length > 0"),
            held=(
                *("needle_lang", "haystack_lang", "question_lang"),
                *("depth", "length", "retrieval"),
            ),
            length=replace(LENGTH, label="tokens"),
            depth=DEPTH,
            language=replace(NEEDLE, label="needle"),
        ),
    ),
    asked_in=lambda rows, run: rows["question_lang"].astype(object),
    said_none=said_none,
    baseline=(
        lambda rows, run: where(exact(rows), "length == 0"),
        ("needle_lang", "question_lang"),
    ),
)


BENCHMARK = Benchmark(
    name=plan.NAME,
    title="MLNeedle",
    paper="https://arxiv.org/abs/2408.10151",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        searches=plan.searches,
        search=plan.search,
        baseline_slices=plan.baseline_slices,
        notices=plan.notices,
        spare=plan.spare,
    ),
    scoring=Scoring(
        # The two verdicts of existence, as the prompt words them.
        scored_by=("accepted",),
        metrics=METRICS,
        judged={"existence": "yes_or_no"},
        translated=plan.translated,
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(POSITION.name, ("exact",)),
        card=CARD,
        # Without a haystack: the question alone, or the needle alone.
        closed_book=("length", 0),
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
