"""Whether Lost in the Middle's configuration can be built."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle.plan import (
    INSTRUCTIONS,
    NAME,
    NQ_OPEN,
    RELEASED_DOCUMENTS,
    RELEASED_PAIRS,
    Slice,
    settings,
    slices,
    texts_of,
)
from needlework.contract import block_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts

if TYPE_CHECKING:
    from needlework.benchmarks.lost_in_the_middle.settings import LostInTheMiddle
    from needlework.planning.configuration import Configuration


def check(config: Configuration) -> None:
    """Raise UserError where the benchmark's configuration cannot be built.

    Keys that no task of the run reads are not checked.
    """
    own: LostInTheMiddle = block_of(config, NAME)
    where = f"benchmarks.{NAME}"
    _check_corpora(own, where, config.corpora)
    if "multi_document_qa" in own.tasks:
        places = [(entry.n, entry.gold_indices) for entry in own.n_documents]
        _check_places(places, f"{where}.n_documents", "gold_indices")
        for key, numbers in (
            ("query_aware", own.query_aware),
            ("random_order", own.random_order),
            ("random_distractors", own.random_distractors),
        ):
            _check_ablation(f"{where}.{key}", numbers or (), f"{where}.n_documents", dict(places))
    if "key_value" in own.tasks:
        places = [(entry.n, entry.indices) for entry in own.n_pairs]
        _check_places(places, f"{where}.n_pairs", "indices")
        numbers = own.query_aware_pairs or ()
        _check_ablation(f"{where}.query_aware_pairs", numbers, f"{where}.n_pairs", dict(places))
    needed: dict[str, list[str]] = {}
    for made in (Slice(**settings(own, name, [])) for name in slices(own)):
        names = [name for name in texts_of(made) if name != "title"]
        needed.setdefault(made.lang, []).extend(names)
    check_texts(f"{where}.instructions", own.instructions, INSTRUCTIONS, needed)
    tuned = [name for pair in own.comparisons.instruction_tuning for name in pair]
    for kind, compared in (
        ("instruction_tuning", tuned),
        ("encoder_decoder", own.comparisons.encoder_decoder),
    ):
        check_named(f"{where}.comparisons.{kind}", compared, config.models, "models")


def _check_corpora(own: LostInTheMiddle, where: str, corpora: Any) -> None:
    """Raise UserError where languages, source and tasks do not fit the corpora."""
    needles, tasks = own.needles, own.tasks
    qa, pairs = "multi_document_qa" in tasks, "key_value" in tasks
    of_questions = set(tasks) != {"key_value"}
    for key, languages, corpus in (
        ("languages", own.languages, needles if of_questions else None),
        ("languages", own.languages, own.haystack if qa else None),
        ("key_languages", own.key_languages, own.words if pairs and "words" in own.keys else None),
    ):
        if not corpus:
            continue
        known = languages_of(corpus, corpora)
        for lang in languages:
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: the corpus {corpus} has "
                    f"{', '.join(known)}."
                )
    if own.haystack and needles == NQ_OPEN:
        raise UserError(
            f"{where}.haystack is {own.haystack!r}, but the questions of {NQ_OPEN} come with passages of "
            "their own: leave it out, or set other `needles`."
        )
    if needles != NQ_OPEN:
        for key, value, wrong, other in (
            ("source", "released", own.source == "released", "constructed"),
            (
                "random_from",
                "wikipedia",
                own.random_from == "wikipedia" and own.random_distractors,
                "other_questions",
            ),
        ):
            if qa and wrong:
                raise UserError(
                    f"{where}.{key} is {value!r}, which there is for `needles: {NQ_OPEN}` only: set "
                    f"`{key}: {other}`."
                )
        if "open_domain" in tasks:
            raise UserError(
                f"{where}.tasks has 'open_domain', which needs the released retrieval results: leave it "
                f"out, or set `needles: {NQ_OPEN}`."
            )
    if qa and own.source == "released":
        for n in (entry.n for entry in own.n_documents):
            if n > RELEASED_DOCUMENTS:
                raise UserError(
                    f"{where}.n_documents has {n}, but the released files have {RELEASED_DOCUMENTS} "
                    "documents at most: choose a smaller number, or set `source: constructed`."
                )
    if pairs and "uuid" in own.keys and own.source == "released":
        for n in (entry.n for entry in own.n_pairs):
            if n not in RELEASED_PAIRS:
                raise UserError(
                    f"{where}.n_pairs has {n}, but the released files have "
                    f"{', '.join(map(str, RELEASED_PAIRS))} pairs: choose among them, or set `source: "
                    "constructed`."
                )


def _check_ablation(where: str, numbers: Sequence[int], key: str, known: Collection[int]) -> None:
    """Raise UserError where an ablation is asked of a number that is not among those of `key`."""
    for n in numbers:
        if n not in known:
            raise UserError(
                f"{where} has {n}, which is not among the numbers of {key}: add it there, with the indices "
                "that it is to be asked at."
            )


def _check_places(places: Sequence[tuple[int, Sequence[int]]], where: str, key: str) -> None:
    """Raise UserError where a number comes twice, or an index is beyond it."""
    seen = set()
    for n, indices in places:
        if n in seen:
            raise UserError(f"{where} has the number {n} twice: join their `{key}`.")
        seen.add(n)
        for index in indices:
            if index >= n:
                raise UserError(
                    f"{where} has the index {index} for {n}: indices count from 0, so the last is {n - 1}."
                )
