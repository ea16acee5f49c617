"""Whether MLNeedle's configuration can be built."""

from __future__ import annotations

from needlework.benchmarks.contract import Config
from needlework.benchmarks.mlneedle.factors import MULTILINGUAL
from needlework.benchmarks.mlneedle.plan import ANSWER_BUFFER, INSTRUCTIONS, NAME, texts_of
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.planning.known_names import check_named
from needlework.prompts.wording import check_texts


def check(config: Config) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    needles, haystack = (
        languages_of(own[key], config["corpora"]) for key in ("needles", "haystack")
    )
    for key, known in (
        ("needle_languages", needles),
        ("answer_languages", needles),
        ("question_lang", needles),
        ("haystack_languages", [*haystack, MULTILINGUAL]),
        ("multilingual", haystack if MULTILINGUAL in own["haystack_languages"] else None),
    ):
        if known is None:
            continue
        for lang in _listed(own[key]):
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: the corpus has {', '.join(known)}."
                )
    for key in ("needle_languages", "question_lang"):
        for lang in _listed(own[key]):
            if lang not in own["answer_languages"]:
                raise UserError(
                    f"{where}.{key} has {lang!r}, which is not in {where}.answer_languages: add it there, so "
                    "that answers in that language are accepted and kept out of the haystack."
                )
    if min(own["lengths"]) <= ANSWER_BUFFER:
        raise UserError(
            f"{where}.lengths has {min(own['lengths'])}, of which {ANSWER_BUFFER} tokens are kept for the "
            "answer, which leaves no room for a prompt: raise the length."
        )
    used = [name for task in own["tasks"] for name in texts_of(task)]
    check_texts(
        f"{where}.instructions", own["instructions"], INSTRUCTIONS, {own["question_lang"]: used}
    )
    for kind, pairs in own["comparisons"].items():
        names = [name for pair in pairs for name in pair]
        check_named(f"{where}.comparisons.{kind}", names, config["models"], "models")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
