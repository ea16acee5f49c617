"""Whether Lost in the Middle's configuration can be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.benchmarks.contract import Config, Own, block_of
from needlework.benchmarks.lost_in_the_middle.plan import (
    INSTRUCTIONS,
    NAME,
    NQ_OPEN,
    RELEASED_DOCUMENTS,
    RELEASED_PAIRS,
    read_list,
    settings,
    slices,
    texts_of,
)
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts


def check(config: Config) -> None:
    """Raise UserError where the benchmark's configuration cannot be built.

    Keys that no task of the run reads are not checked.
    """
    own, where = block_of(config, NAME), f"benchmarks.{NAME}"
    _check_corpora(own, where, config["corpora"])
    for task, known, numbers, ablations in (
        (
            "multi_document_qa",
            "n_documents",
            "gold_indices",
            ("query_aware", "random_order", "random_distractors"),
        ),
        ("key_value", "n_pairs", "indices", ("query_aware_pairs",)),
    ):
        if task not in own["tasks"]:
            continue
        _check_places(own[known], f"{where}.{known}", numbers)
        for key in ablations:
            for n in own[key]:
                if n not in (entry["n"] for entry in own[known]):
                    raise UserError(
                        f"{where}.{key} has {n}, which is not among the numbers of {where}.{known}: add "
                        "it there, with the indices that it is to be asked at."
                    )
    if own["unambiguous"] is not None:
        read_list(own["unambiguous"])
    needed: dict[str, list[str]] = {}
    for slice_settings in (settings(own, name, []) for name in slices(own)):
        names = [name for name in texts_of(slice_settings) if name != "title"]
        needed.setdefault(slice_settings["lang"], []).extend(names)
    check_texts(f"{where}.instructions", own["instructions"], INSTRUCTIONS, needed)
    comparisons = own["comparisons"]
    for kind, names in (
        (
            "instruction_tuning",
            [name for pair in comparisons["instruction_tuning"] for name in pair],
        ),
        ("encoder_decoder", comparisons["encoder_decoder"]),
    ):
        check_named(f"{where}.comparisons.{kind}", names, config["models"], "models")


def _check_corpora(own: Own, where: str, corpora: Mapping[str, Any]) -> None:
    """Raise UserError where languages, source and tasks do not fit the corpora."""
    needles, tasks, source = own["needles"], own["tasks"], own["source"]
    qa, pairs = "multi_document_qa" in tasks, "key_value" in tasks
    for key, corpus, read in (
        ("languages", needles, set(tasks) != {"key_value"}),
        ("languages", own["haystack"], qa and own["haystack"]),
        ("key_languages", own["words"], pairs and "words" in own["keys"]),
    ):
        for lang in own[key] if read else ():
            known = languages_of(corpus, corpora)
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: the corpus {corpus} has "
                    f"{', '.join(known)}."
                )
    if own["haystack"] and needles == NQ_OPEN:
        raise UserError(
            f"{where}.haystack is {own['haystack']!r}, but the questions of {NQ_OPEN} come with passages of "
            "their own: leave it out, or set other `needles`."
        )
    if needles != NQ_OPEN:
        for key, value in (("source", "released"), ("random_from", "wikipedia")):
            if qa and own[key] == value and (key == "source" or own["random_distractors"]):
                other = {"source": "constructed", "random_from": "other_questions"}[key]
                raise UserError(
                    f"{where}.{key} is {value!r}, which there is for `needles: {NQ_OPEN}` only: set "
                    f"`{key}: {other}`."
                )
        if "open_domain" in tasks:
            raise UserError(
                f"{where}.tasks has 'open_domain', which needs the released retrieval results: leave it "
                f"out, or set `needles: {NQ_OPEN}`."
            )
    if qa and source == "released":
        for n in (entry["n"] for entry in own["n_documents"]):
            if n > RELEASED_DOCUMENTS:
                raise UserError(
                    f"{where}.n_documents has {n}, but the released files have {RELEASED_DOCUMENTS} "
                    "documents at most: choose a smaller number, or set `source: constructed`."
                )
    if pairs and "uuid" in own["keys"] and source == "released":
        for n in (entry["n"] for entry in own["n_pairs"]):
            if n not in RELEASED_PAIRS:
                raise UserError(
                    f"{where}.n_pairs has {n}, but the released files have "
                    f"{', '.join(map(str, RELEASED_PAIRS))} pairs: choose among them, or set `source: "
                    "constructed`."
                )


def _check_places(entries: list[dict[str, Any]], where: str, key: str) -> None:
    """Raise UserError where a number comes twice, or an index is beyond it."""
    seen = set()
    for entry in entries:
        n = entry["n"]
        if n in seen:
            raise UserError(f"{where} has the number {n} twice: join their `{key}`.")
        seen.add(n)
        for index in entry[key]:
            if index >= n:
                raise UserError(
                    f"{where} has the index {index} for {n}: indices count from 0, so the last is {n - 1}."
                )
