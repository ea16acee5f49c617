"""Whether MLNeedle's configuration can be built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlneedle.factors import MULTILINGUAL
from needlework.benchmarks.mlneedle.plan import (
    ANSWER_BUFFER,
    INSTRUCTIONS,
    NAME,
    decided_languages,
    texts_of,
)
from needlework.contract import block_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts

if TYPE_CHECKING:
    from needlework.benchmarks.mlneedle.settings import Mlneedle
    from needlework.planning.configuration import Configuration


def check(config: Configuration) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own: Mlneedle = block_of(config, NAME)
    where = f"benchmarks.{NAME}"
    question_lang, answer_languages = decided_languages(own)
    corpora: Any = config.corpora
    needles = languages_of(own.needles, corpora)
    haystack = languages_of(own.haystack, corpora)
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
    if min(own.lengths) <= ANSWER_BUFFER:
        raise UserError(
            f"{where}.lengths has {min(own.lengths)}, of which {ANSWER_BUFFER} tokens are kept for the "
            "answer, which leaves no room for a prompt: raise the length."
        )
    used = [name for task in own.tasks for name in texts_of(task)]
    check_texts(f"{where}.instructions", own.instructions, INSTRUCTIONS, {question_lang: used})
    for kind, pairs in dict(own.comparisons).items():
        names = [name for pair in pairs for name in pair]
        check_named(f"{where}.comparisons.{kind}", names, config.models, "models")
