"""Whether Lost in the Middle's configuration can be built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle.plan import (
    INSTRUCTIONS,
    NAME,
    NQ_OPEN,
    RELEASED_DOCUMENTS,
    RELEASED_PAIRS,
    VARIANTS,
    Slice,
    places,
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

WHERE = f"benchmarks.{NAME}"


def check(config: Configuration) -> None:
    """Raise UserError where the benchmark's configuration cannot be built.

    Keys that no task of the run reads are not checked.
    """
    own: LostInTheMiddle = block_of(config, NAME)
    for said in _complaints(own, config.corpora):
        raise UserError(f"{WHERE}.{said}")
    needed: dict[str, list[str]] = {}
    for made in (Slice(**settings(own, name, [])) for name in slices(own)):
        names = [name for name in texts_of(made) if name != "title"]
        needed.setdefault(made.lang, []).extend(names)
    check_texts(f"{WHERE}.instructions", own.instructions, INSTRUCTIONS, needed)
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
    paper, released = own.needles == NQ_OPEN, own.source == "released"
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
            f"haystack is {own.haystack!r}, but the questions of {NQ_OPEN} come with passages of their own: "
            "leave it out, or set other `needles`."
        )
    wikipedia = own.random_from == "wikipedia" and own.random_distractors
    for key, value, asked, other in (
        ("source", own.source, released, "constructed"),
        ("random_from", own.random_from, wikipedia, "other_questions"),
    ):
        if qa and asked and not paper:
            yield (
                f"{key} is {value!r}, which there is for `needles: {NQ_OPEN}` only: set `{key}: {other}`."
            )
    if "open_domain" in own.tasks and not paper:
        yield (
            "tasks has 'open_domain', which needs the released retrieval results: leave it out, or set "
            f"`needles: {NQ_OPEN}`."
        )
    for n in (entry.n for entry in own.n_documents if qa and released):
        if n > RELEASED_DOCUMENTS:
            yield (
                f"n_documents has {n}, but the released files have {RELEASED_DOCUMENTS} documents at most: "
                "choose a smaller number, or set `source: constructed`."
            )
    for n in (entry.n for entry in own.n_pairs if pairs and "uuid" in own.keys and released):
        if n not in RELEASED_PAIRS:
            yield (
                f"n_pairs has {n}, but the released files have {', '.join(map(str, RELEASED_PAIRS))} pairs: "
                "choose among them, or set `source: constructed`."
            )
    for task in (task for task in VARIANTS if task in own.tasks):
        yield from _numbers(own, task)


def _numbers(own: LostInTheMiddle, task: str) -> Iterator[str]:
    """Numbers that come twice or that no entry has, and indices beyond the last."""
    plain, *ablations = VARIANTS[task]
    indices = "indices" if task == "key_value" else "gold_indices"
    known = set()
    for n, found in places(own, task):
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
