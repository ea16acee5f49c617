"""What MLNeedle consists of: its factors, its slices, and what each slice depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from needlework.benchmarks.contract import Result, Search
from needlework.config import check_named
from needlework.corpora.languages import CORPUS_LANGUAGES
from needlework.decoding import decoding
from needlework.errors import UserError

NAME = "mlneedle"
TITLE = "MLNeedle"
# Answers are scored in English.
TRANSLATED = True

# Factor columns and their Arrow types, by name: planning needs no Arrow.
FACTORS: dict[str, str] = {
    "needle_lang": "string",
    "haystack_lang": "string",
    "question_lang": "string",
    "position": "string",
    "depth": "double",
    "length": "int32",
    "retrieval": "string",
    "needle_present": "bool",
}

# Names and titles of what is made of the scores.
TABLES = {
    "table1": Result("Table 1: accuracy by context length"),
    "table2": Result("Table 2: needle and haystack language"),
    "table3": Result("Table 3: instruction tuning"),
    "table4": Result("Table 4: decoding"),
    "existence": Result("Existence accuracy, with and without the needle"),
    "closed_book": Result("Accuracy without passages"),
    "translation_ceiling": Result("Gold answers that survive translation", "ceilings"),
}
FIGURES = {
    "figure1": Result("Figure 1: monolingual accuracy"),
    "figure3": Result("Figure 3: needle language"),
    "figure4": Result("Figure 4: needle position"),
    "figure5": Result("Figure 5: sample size"),
    "figure6": Result("Figure 6: exact and existence accuracy"),
    "figure7": Result("Figure 7: haystack language"),
    "figure8": Result("Figure 8: decoding"),
}
MULTILINGUAL = "multilingual"
NO_HAYSTACK = "none"


class Position(NamedTuple):
    """A needle position: its name in results, and its place k of n equally spaced ones."""

    name: str
    k: int
    n: int

    @property
    def depth(self) -> float:
        """0 before all distractors, 1 after them."""
        return self.k / (self.n - 1)

    def index(self, n_distractors: int) -> int:
        """How many distractors stand before the needle."""
        if self.name == "middle":  # the released code's middle, whatever n is
            return n_distractors // 2
        return round(self.k * n_distractors / (self.n - 1))


def positions(setting: int | list[str]) -> list[Position]:
    """The positions of the configuration: names of the paper's three, or a number of equally spaced ones."""
    if isinstance(setting, int):
        names = {0: "start", setting - 1: "end", (setting - 1) / 2: "middle"}
        return [Position(names.get(k, f"{k}/{setting - 1}"), k, setting) for k in range(setting)]
    return [Position(name, ("start", "middle", "end").index(name), 3) for name in setting]


def slices(config: Mapping[str, Any]) -> list[str]:
    """The slices of the benchmark's configuration: one a pair of needle and haystack language.

    The slice `<needle>-none` holds the prompts without a haystack (baseline and closed book).
    """
    haystacks = [*config["haystack_languages"], NO_HAYSTACK]
    return [f"{needle}-{hay}" for needle in config["needle_languages"] for hay in haystacks]


def baseline_slices(config: Mapping[str, Any]) -> list[str]:
    """The slices without a haystack, which hold every question of the benchmark."""
    return [f"{needle}-{NO_HAYSTACK}" for needle in config["needle_languages"]]


def slice_languages(name: str) -> tuple[str, str]:
    """The needle and the haystack language of a slice."""
    needle, _, haystack = name.partition("-")
    return needle, haystack


def settings(config: Mapping[str, Any], name: str, lengths: list[int]) -> dict[str, Any]:
    """All that the instances of a slice depend on, other than files and the tokenizer.

    `lengths` are the token budgets wanted by the models that use the tokenizer.
    """
    needle, haystack = slice_languages(name)
    shared = (
        "needles",
        "haystack",
        "seed",
        "aligned",
        "question_lang",
        "questions",
        "tasks",
        "answer_languages",
        "max_new_tokens",
    )
    chosen = {key: config[key] for key in shared}
    # In whatever order they were written, the prompts are the same.
    chosen["answer_languages"] = sorted(config["answer_languages"])
    chosen |= {"needle_lang": needle, "haystack_lang": haystack}
    if haystack != NO_HAYSTACK:
        own = ("positions", "retrieval", "needle_absent", "truncate_last", "answer_buffer")
        chosen |= {key: config[key] for key in own}
        chosen["lengths"] = sorted(lengths)
        chosen["tasks"] = [task for task in config["tasks"] if task != "closed_book"]
    if haystack == MULTILINGUAL:
        chosen["multilingual"] = sorted(config["multilingual"])
        chosen["multilingual_top"] = config["multilingual_top"]
    return chosen


def tables(config: Mapping[str, Any]) -> dict[str, Result]:
    """The tables that a configuration of this benchmark fills."""
    return TABLES


def figures(config: Mapping[str, Any]) -> dict[str, Result]:
    """The figures that a configuration of this benchmark fills."""
    return FIGURES


def corpora(chosen: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables that a slice reads: questions for needle, question and references; passages."""
    asked = {chosen["needle_lang"], chosen["question_lang"], *chosen["answer_languages"]}
    return {
        "questions": [(chosen["needles"], lang) for lang in sorted(asked)],
        "passages": [(chosen["haystack"], lang) for lang in haystack_languages(chosen)],
    }


def searches(chosen: Mapping[str, Any]) -> list[str]:
    """The languages in which a slice needs distractors."""
    return haystack_languages(chosen)


def search(config: Mapping[str, Any], lang: str) -> Search:
    """The search of distractors in a language."""
    return Search(
        config["needles"],
        config["question_lang"],
        config["haystack"],
        lang,
        config["answer_languages"],
        config["retrieval"],
    )


def haystack_languages(chosen: Mapping[str, Any]) -> list[str]:
    """The languages whose passages a slice reads."""
    haystack = chosen["haystack_lang"]
    if haystack == NO_HAYSTACK:
        return []
    return sorted(chosen["multilingual"]) if haystack == MULTILINGUAL else [haystack]


def documents(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tables of all needles and passages that the benchmark's prompts can hold."""
    languages = set(config["haystack_languages"])
    if MULTILINGUAL in languages:
        languages = languages - {MULTILINGUAL} | set(config["multilingual"])
    return [
        *((config["needles"], lang) for lang in config["needle_languages"]),
        *((config["haystack"], lang) for lang in sorted(languages)),
    ]


def scoring_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the scores depend on besides prompts and answers."""
    own = ["metric"] + ["semantic_model"] * (config["metric"] == "released_semantic")
    return {key: config[key] for key in own}


def result_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables and figures need to know of a run (`cells.Settings`)."""
    own, models = config["benchmarks"][NAME], config["run"]["models"]
    entries = {model: config["models"][model] for model in models}
    embedder = config["embedders"][config["retrieval"]["embedder"]]
    return {
        "models": models,
        "published": {m: e["published"] for m, e in entries.items() if e["published"]},
        "decoding": {m: decoding(e) for m, e in entries.items()},
        "claimed_length": {m: e["context"] for m, e in entries.items()},
        "instruction_tuning": own["comparisons"]["instruction_tuning"],
        "greedy_or_sampling": own["comparisons"]["decoding"],
        "setup": {
            **{key: own[key] for key in ("needles", "haystack", "aligned", "truncate_last")},
            **{"metric": own["metric"], "answer_languages": sorted(own["answer_languages"])},
            "mlqa_split": config["sources"]["mlqa"]["split"],
            "passages": config["sources"]["mmarco"]["passages"],
            "embedder": embedder.get("name", embedder["kind"]),
            "translator": config["translators"][config["translation"]["translator"]]["kind"],
        },
    }


def check(config: Mapping[str, Any]) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    needles, haystack = CORPUS_LANGUAGES[own["needles"]], CORPUS_LANGUAGES[own["haystack"]]
    for key, known in (
        ("needle_languages", needles),
        ("answer_languages", needles),
        ("question_lang", needles),
        ("haystack_languages", [*haystack, MULTILINGUAL]),
        ("multilingual", haystack),
    ):
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
    if min(own["lengths"]) <= own["answer_buffer"]:
        raise UserError(
            f"{where}.lengths has {min(own['lengths'])}, of which {where}.answer_buffer "
            f"({own['answer_buffer']}) leaves nothing: raise the one or lower the other."
        )
    for kind, pairs in own["comparisons"].items():
        names = [name for pair in pairs for name in pair]
        check_named(f"{where}.comparisons.{kind}", names, config["models"], "models")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
