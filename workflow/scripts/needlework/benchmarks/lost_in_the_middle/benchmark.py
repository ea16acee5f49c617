"""The object BENCHMARK of Lost in the Middle, its report card, and checks of its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.lost_in_the_middle import figures, plan, tables
from needlework.benchmarks.lost_in_the_middle.factors import FACTORS, INDEX, LANG, PAIRS, QA, SIZE
from needlework.benchmarks.lost_in_the_middle.metrics import METRICS
from needlework.contract import block_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.factor import Factor
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts
from needlework.results.cards.card import Card, CardPart
from needlework.results.result import Context, results_in

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.lost_in_the_middle.settings import LostInTheMiddle
    from needlework.planning.configuration import Configuration

WHERE = f"benchmarks.{plan.NAME}"


def check(config: Configuration) -> None:
    """Raise UserError if the benchmark's configuration cannot be built.

    Keys that no task of the run reads are not checked.
    """
    own: LostInTheMiddle = block_of(config, plan.NAME)
    for said in _complaints(own, config.corpora):
        raise UserError(f"{WHERE}.{said}")
    needed: dict[str, list[str]] = {}
    for made in (plan.Slice(**plan.settings(own, name, [])) for name in plan.slices(own)):
        names = [name for name in plan.texts_of(made) if name != "title"]
        needed.setdefault(made.lang, []).extend(names)
    check_texts(f"{WHERE}.instructions", own.instructions, plan.INSTRUCTIONS, needed)
    compared = own.comparisons
    tuned = [name for pair in compared.instruction_tuning for name in pair]
    for kind, models in (
        ("instruction_tuning", tuned),
        ("encoder_decoder", compared.encoder_decoder),
    ):
        check_named(f"{WHERE}.comparisons.{kind}", models, config.models, "models")


def _complaints(own: LostInTheMiddle, corpora: Any) -> Iterator[str]:
    """What keeps the benchmark's own keys from being built, each after the key that it is said of."""
    qa, pairs = "multi_document_qa" in own.tasks, "key_value" in own.tasks
    paper, released = own.needles == plan.NQ_OPEN, own.source == "released"
    of_words = pairs and "words" in own.keys
    for key, languages, corpus in (
        ("languages", own.languages, set(own.tasks) != {"key_value"} and own.needles),
        ("languages", own.languages, qa and own.haystack),
        ("key_languages", own.key_languages, of_words and own.words),
    ):
        known = languages_of(corpus, corpora) if corpus else languages
        for lang in (lang for lang in languages if lang not in known):
            listed = ", ".join(known)
            yield f"{key} has the unknown language {lang!r}: the corpus {corpus} has {listed}."
    if own.haystack and paper:
        yield (
            f"haystack is {own.haystack!r}, but the questions of {plan.NQ_OPEN} come with passages of their "
            "own: leave it out, or set other `needles`."
        )
    wikipedia = own.random_from == "wikipedia" and own.random_distractors
    for key, value, asked, other in (
        ("source", own.source, released, "constructed"),
        ("random_from", own.random_from, wikipedia, "other_questions"),
    ):
        if qa and asked and not paper:
            yield (
                f"{key} is {value!r}, which there is for `needles: {plan.NQ_OPEN}` only: set "
                f"`{key}: {other}`."
            )
    if "open_domain" in own.tasks and not paper:
        yield (
            "tasks has 'open_domain', which needs the released retrieval results: leave it out, or set "
            f"`needles: {plan.NQ_OPEN}`."
        )
    for n in (entry.n for entry in own.n_documents if qa and released):
        if n > plan.RELEASED_DOCUMENTS:
            yield (
                f"n_documents has {n}, but the released files have {plan.RELEASED_DOCUMENTS} documents at "
                "most: choose a smaller number, or set `source: constructed`."
            )
    for n in (entry.n for entry in own.n_pairs if pairs and "uuid" in own.keys and released):
        if n not in plan.RELEASED_PAIRS:
            listed = ", ".join(map(str, plan.RELEASED_PAIRS))
            yield (
                f"n_pairs has {n}, but the released files have {listed} pairs: choose among them, or set "
                "`source: constructed`."
            )
    for task in (task for task in plan.VARIANTS if task in own.tasks):
        yield from _numbers(own, task)


def _numbers(own: LostInTheMiddle, task: str) -> Iterator[str]:
    """Numbers that come twice or that no entry has, and indices beyond the last."""
    plain, *ablations = plan.VARIANTS[task]
    indices = "indices" if task == "key_value" else "gold_indices"
    known = set()
    for n, found in plan.places(own, task):
        if n in known:
            yield f"{plain.key} has the number {n} twice: join their `{indices}`."
        known.add(n)
        for index in (index for index in found if index >= n):
            yield (
                f"{plain.key} has the index {index} for {n}: indices count from 0, so the last is {n - 1}."
            )
    for ablation in ablations:
        for n in getattr(own, ablation.key) or ():
            if n not in known:
                yield (
                    f"{ablation.key} has {n}, which is not among the numbers of {WHERE}.{plain.key}: add it "
                    "there, with the indices that it is to be asked at."
                )


def of_task(rows: pd.DataFrame, run: Context, task: str) -> pd.DataFrame:
    """The rows of a task, with the depth of the gold document or pair in quarters, which all sizes share."""
    rows = rows[rows["task"] == task]
    last = (rows["n_documents"].astype(float) - 1).clip(lower=1)
    return rows.assign(depth=(rows["gold_index"].astype(float) / last * 4).round() / 4)


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the question; None for keys and values, which are in no language."""
    return rows["lang"].astype(object).where(rows["task"] != PAIRS)


HELD = (
    *("lang", "n_documents", "depth", "distractors", "order"),
    *("query_aware", "answer_present", "keys"),
)
CARD = Card(
    parts=tuple(
        CardPart(
            partial(of_task, task=task),
            held=HELD,
            name=name,
            length=SIZE.renamed("n_documents", label=name),
            depth=Factor("depth", "double"),
            language=language,
        )
        for task, name, language in ((QA, "documents", LANG), (PAIRS, "pairs", None))
    ),
    asked_in=asked_in,
)

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="Lost in the Middle",
    paper="https://arxiv.org/abs/2307.03172",
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
        decided=plan.decided,
        notices=plan.notices,
    ),
    scoring=Scoring(metrics=METRICS),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(INDEX.name, (QA,)),
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
