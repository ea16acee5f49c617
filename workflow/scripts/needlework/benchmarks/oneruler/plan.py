"""What ONERULER consists of: its tasks, factors and slices, and what each slice depends on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from needlework.benchmarks.contract import Result
from needlework.benchmarks.oneruler import none_words
from needlework.config import check_named
from needlework.corpora.languages import CORPUS_LANGUAGES, folder_languages
from needlework.decoding import decoding
from needlework.errors import UserError

NAME = "oneruler"
TITLE = "ONERULER"
TRANSLATED = False
# What scoring alone reads beside prompts and answers: its data, and the books, whose sentences are no
# answers of a model.
SCORING_FILES = {"phrases": ("oneruler/none_phrases.yaml",)}
SCORES_QUOTATIONS = True

# Factor columns and their Arrow types, by name: planning needs no Arrow.
FACTORS: dict[str, str] = {
    "instruction_lang": "string",
    "context_lang": "string",
    "length": "int32",
    "none_option": "bool",
    "n_needles": "int32",
    "exhausted": "bool",
}


class Needles(NamedTuple):
    """A task with needles: the keys in the text, the values of each, and how many keys are asked.

    `present` is False where the asked key is none of them.
    """

    keys: int
    values: int
    asked: int
    present: bool = True


class Frequencies(NamedTuple):
    """A task of common words: how often a common and any other word stand in the list."""

    common: int
    other: int


# Paper, section 2.1; released configuration (synthetic.yaml).
NEEDLES = {
    "niah_single": Needles(1, 1, 1),
    "niah_multikey": Needles(4, 1, 1),
    "niah_multivalue": Needles(1, 4, 1),
    "niah_multiquery": Needles(2, 1, 2),
    "niah_none": Needles(4, 1, 1, present=False),
}
# Paper, section 2.2: at each of its lengths, of which SHORT is the least. The released code has others in
# lengths up to SHORT. In shorter ones, which the paper has not, the paper's are too many to fit.
FREQUENCIES = {"cwe_easy": Frequencies(30, 3), "cwe_hard": Frequencies(20, 10)}
SHORT_FREQUENCIES = {"cwe_easy": Frequencies(10, 1), "cwe_hard": Frequencies(10, 5)}
SHORT = 8000
COMMON_WORDS = 10
TASKS = (*NEEDLES, *FREQUENCIES)

# Rows of the list of nouns that the released code leaves out where two languages meet.
AMBIGUOUS_NOUNS = (21, 28, 42, 64, 65)
# What ends a needle (released code).
FULL_STOPS = {"fa": "۔", "ja": "。", "zh": "。"}
# What a user's folder must have of a language that it brings, by what slices read.
FOLDER_FILES = {
    "books": ("{lang}/book.txt",),
    "nouns": ("nouns.tsv",),
    "words": ("{lang}/words.csv",),
    "prompts": ("{lang}/niah.json", "{lang}/cwe.txt"),
}
# The longest answers of the released code, in tokens.
RELEASED_MAX_NEW_TOKENS = {"niah": 30, "cwe": 50}

TABLES = {
    "accuracy": Result("Accuracy of every cell, by both metrics"),
    "languages": Result("Accuracy by language"),
    "lengths_tau": Result("Rank agreement of equal tokens and equal text"),
    "errors": Result("Errors where the answer is in the text"),
}
FIGURES = {
    "figure1a": Result("Figure 1a: languages with large and small Wikipedias"),
    "figure1b": Result("Figure 1b: with and without the option to answer none"),
    "figure3": Result("Figure 3: accuracy by language and length"),
    "figure4a": Result("Figure 4a: long contexts by model"),
    "figure4b": Result("Figure 4b: long contexts by language"),
    "figure5": Result("Figure 5: accuracy by task"),
    "figure6a": Result("Figure 6a: cross-lingual accuracy"),
    "figure6b": Result("Figure 6b: errors with a single needle"),
    "figure17": Result("Figure 17: accuracy by model and length"),
    "figure18": Result("Figure 18: errors in long contexts, models behind endpoints"),
    "figure19": Result("Figure 19: errors in long contexts, open models"),
    "figure20": Result("Figure 20: reasoning tokens of right and wrong answers"),
    "figure21": Result("Figure 21: answers cut by the output limit"),
    "figure22": Result("Figure 22: common words by length"),
    "figure23": Result("Figure 23: right words in wrong answers"),
    "figure24": Result("Figure 24: one text in several tokenizers", "token_counts"),
    "figure25": Result("Figure 25: equal text by language and length"),
}


def tables(own: Mapping[str, Any]) -> dict[str, Result]:
    """The tables that a configuration of this benchmark fills."""
    left_out = set()
    if not own["comparisons"]["equal_text"] or not _needle_tasks(own):
        left_out.add("lengths_tau")
    if not set(_needle_tasks(own)) - {"niah_none"}:
        left_out.add("errors")
    return {name: table for name, table in TABLES.items() if name not in left_out}


def figures(own: Mapping[str, Any]) -> dict[str, Result]:
    """The figures that a configuration of this benchmark fills."""
    single = "niah_single" in own["tasks"]
    needles = bool(_needle_tasks(own))
    words = bool(_word_tasks(own))
    ablated = single and "niah_single" in own["without_none_tasks"]
    both = any(len(_none_options(own, lang, lang)) == 2 for lang in own["languages"])
    crossed = any(_needle_tasks({"tasks": _tasks(own, *pair)}) for pair in own["cross_lingual"])
    equal_text, reasoning = (own["comparisons"][key] for key in ("equal_text", "reasoning"))
    with_none = single and True in own["none_option"]
    fills = {
        "figure1a": with_none,
        "figure1b": ablated and both,
        **dict.fromkeys(("figure3", "figure4a", "figure4b", "figure17"), needles),
        "figure6a": crossed,
        **dict.fromkeys(("figure6b", "figure18", "figure19"), with_none),
        "figure20": needles and bool(reasoning),
        "figure21": words and bool(reasoning),
        **dict.fromkeys(("figure22", "figure23"), words),
        "figure25": needles and bool(equal_text),
    }
    return {name: figure for name, figure in FIGURES.items() if fills.get(name, True)}


def _needle_tasks(own: Mapping[str, Any]) -> list[str]:
    return [task for task in own["tasks"] if task in NEEDLES]


def _word_tasks(own: Mapping[str, Any]) -> list[str]:
    return [task for task in own["tasks"] if task in FREQUENCIES]


def slices(own: Mapping[str, Any]) -> list[str]:
    """The slices of the benchmark's configuration: `<instruction>-<context>`, a pair of languages each."""
    pairs = [*((lang, lang) for lang in own["languages"]), *own["cross_lingual"]]
    return [f"{instruction}-{context}" for instruction, context in pairs]


def slice_languages(name: str) -> tuple[str, str]:
    """The instruction's and the context's language of a slice."""
    instruction, _, context = name.partition("-")
    return instruction, context


def settings(own: Mapping[str, Any], name: str, lengths: list[int]) -> dict[str, Any]:
    """All that the instances of a slice depend on, other than files and the tokenizer.

    `lengths` are the token budgets wanted by the models that use the tokenizer.
    """
    instruction, context = slice_languages(name)
    tasks = _tasks(own, instruction, context)
    chosen: dict[str, Any] = {
        "slice": name,
        "instruction_lang": instruction,
        "context_lang": context,
        "lengths": sorted(lengths),
        "tasks": tasks,
        **{key: own[key] for key in ("data", "examples", "seed")},
        "max_new_tokens": _max_new_tokens(own["max_new_tokens"], {instruction, context}),
    }
    if _needle_tasks(chosen):
        chosen["none_option"] = _none_options(own, instruction, context)
        chosen["full_stop"] = {**FULL_STOPS, **own["full_stops"]}.get(context, ".")
        if False in chosen["none_option"]:
            chosen["without_none_tasks"] = [t for t in tasks if t in own["without_none_tasks"]]
    if "niah_multiquery" in tasks:
        chosen["multiquery_needles"] = own["multiquery_needles"]
    if _word_tasks(chosen):
        chosen["cwe_frequencies"] = own["cwe_frequencies"]
    return chosen


def _tasks(own: Mapping[str, Any], instruction: str, context: str) -> list[str]:
    """The tasks of a slice: in whatever order they were written, the prompts are the same."""
    crossed = own["cross_lingual_tasks"] if instruction != context else None
    return [task for task in TASKS if task in own["tasks"] and (crossed is None or task in crossed)]


def _none_options(own: Mapping[str, Any], instruction: str, context: str) -> list[bool]:
    """Whether the questions of a slice offer to answer "none": with, without, or both."""
    options = sorted(own["none_option"], reverse=True)
    if False in options and (languages := own["without_none_languages"]) is not None:
        alone = instruction == context and context in languages
        return options if alone else [True]
    return options


def _max_new_tokens(limits: Mapping[str, Any], languages: set[str]) -> dict[str, int | None]:
    """The longest answers of a slice, by kind of task; None is measured in the tokenizer."""
    chosen: dict[str, int | None] = {}
    for kind, released in RELEASED_MAX_NEW_TOKENS.items():
        given = [
            limit
            for lang in sorted(languages)
            if (limit := limits["languages"].get(lang, {}).get(kind)) is not None
        ]
        general = limits[kind]
        if general is None and limits["preset"] == "released":
            general = released
        chosen[kind] = max(given, default=general)
    return chosen


def variants(chosen: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """The tasks of a slice, each with whether the question offers to answer "none".

    There is no such sentence in the tasks of common words.
    """
    without = chosen.get("without_none_tasks", [])
    options = [
        (task, option)
        for task in _needle_tasks(chosen)
        for option in chosen["none_option"]
        if option or task in without
    ]
    return options + [(task, False) for task in _word_tasks(chosen)]


def needles(chosen: Mapping[str, Any], task: str) -> Needles:
    """The needles of a task of a slice."""
    own = NEEDLES[task]
    return own._replace(keys=chosen["multiquery_needles"]) if task == "niah_multiquery" else own


def frequencies(chosen: Mapping[str, Any], task: str, length: int) -> Frequencies:
    """How often words stand in the list of a slice's task of common words (paper, section 2.2)."""
    short = length < SHORT or (length == SHORT and chosen["cwe_frequencies"] == "released")
    return (SHORT_FREQUENCIES if short else FREQUENCIES)[task]


def corpora(chosen: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables that a slice reads: the context's book and words, both languages' nouns and prompts."""
    context = chosen["context_lang"]
    both = sorted({chosen["instruction_lang"], context})
    with_needles = bool(_needle_tasks(chosen))
    languages = {
        "books": [context] if with_needles else [],
        "nouns": both if with_needles else [],
        "words": [context] if _word_tasks(chosen) else [],
        "prompts": both if with_needles else [chosen["instruction_lang"]],
    }
    return {
        kind: [(f"{chosen['data']}_{kind}", lang) for lang in langs]
        for kind, langs in languages.items()
    }


def searches(chosen: Mapping[str, Any]) -> list[str]:
    """The languages in which a slice needs distractors: none."""
    return []


def documents(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The books that the benchmark's prompts are cut from; lists of words are made, not read."""
    pairs = map(slice_languages, slices(own))
    contexts = {pair[1] for pair in pairs if _needle_tasks({"tasks": _tasks(own, *pair)})}
    return [(f"{own['data']}_books", lang) for lang in sorted(contexts)]


def scoring_settings(own: Mapping[str, Any]) -> dict[str, Any]:
    """What the scores depend on besides prompts and answers."""
    return {key: own[key] for key in ("none_words", "answer_tags")}


def result_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables and figures need to know of a run (`factors.Settings`)."""
    own, run = config["benchmarks"][NAME], config["run"]
    entries = {model: config["models"][model] for model in run["models"]}
    tokenizers = [*run["tokenizers"], *(entry["tokenizer"] for entry in entries.values())]
    return {
        "models": run["models"],
        "published": {m: e["published"] for m, e in entries.items() if e["published"]},
        "decoding": {m: decoding(e) for m, e in entries.items()},
        "backends": {m: e["backend"] for m, e in entries.items()},
        "metric": own["metric"],
        "wikipedia_articles": own["wikipedia_articles"],
        **own["comparisons"],
        # As `layout.Layout.text_tokenizer` chooses it.
        "text_tokenizer": tokenizers[0],
        "encodings": {
            name: config["tokenizers"][name]["encoding"]
            for name in dict.fromkeys(tokenizers)
            if config["tokenizers"][name]["kind"] == "tiktoken"
        },
        "setup": {key: own[key] for key in ("data", "multiquery_needles", "cwe_frequencies")},
    }


def check(config: Mapping[str, Any]) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    if not slices(own):
        raise UserError(f"{where}.languages is empty, and so is {where}.cross_lingual: name one.")
    known = list(CORPUS_LANGUAGES[f"{own['data']}_prompts"])
    folder = config["sources"].get(NAME, {}).get("folder") if own["data"] == NAME else None
    known += folder_languages(folder)
    for key, languages in (
        ("languages", own["languages"]),
        ("cross_lingual", [lang for pair in own["cross_lingual"] for lang in pair]),
        ("without_none_languages", own["without_none_languages"] or []),
        ("max_new_tokens.languages", own["max_new_tokens"]["languages"]),
        ("full_stops", own["full_stops"]),
        ("none_words", own["none_words"]),
        ("wikipedia_articles", own["wikipedia_articles"]),
    ):
        for lang in languages:
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: `data: {own['data']}` has "
                    f"{', '.join(known)}."
                )
    none_words.check(sorted({slice_languages(name)[0] for name in slices(own)}), own["none_words"])
    _check_variants(own, where)
    _check_room(own, where)
    if folder is not None:
        _check_folder(own, folder)
    comparisons = own["comparisons"]
    paired = [name for pair in comparisons["equal_text"] for name in pair]
    for key, names in (("equal_text", paired), ("reasoning", comparisons["reasoning"])):
        check_named(f"{where}.comparisons.{key}", names, config["models"], "models")
    for first, second in comparisons["equal_text"]:
        if config["models"][first]["tokenizer"] == config["models"][second]["tokenizer"]:
            raise UserError(
                f"{where}.comparisons.equal_text pairs {first!r} with {second!r}, which are measured in the "
                "same tokenizer: give the second one a common tokenizer, such as cl100k_base."
            )


def _check_folder(own: Mapping[str, Any], folder: str) -> None:
    """Raise UserError where a user's folder lacks a file that the prompts are made of."""
    theirs = folder_languages(folder)
    for name in slices(own):
        for kind, read in corpora(settings(own, name, own["lengths"])).items():
            # English words are those of a package.
            langs = [lang for _, lang in read if (kind, lang) != ("words", "en")]
            for lang, file in ((lang, file) for lang in langs for file in FOLDER_FILES[kind]):
                path = Path(folder) / file.format(lang=lang)
                if lang in theirs and not path.is_file():
                    raise UserError(
                        f"sources.oneruler.folder: {path} is missing, which the prompts of {name!r} are made "
                        "of: add it (see docs/adding-a-language.md)."
                    )


def _check_variants(own: Mapping[str, Any], where: str) -> None:
    """Raise UserError where keys leave each other nothing to ask."""
    if own["without_none_languages"] is not None and set(own["none_option"]) != {True, False}:
        raise UserError(
            f"{where}.without_none_languages chooses among languages that are asked with the sentence too: "
            f"make {where}.none_option [true, false], or leave without_none_languages out."
        )
    if not any(variants(settings(own, name, own["lengths"])) for name in slices(own)):
        raise UserError(
            f"{where}.none_option is [false], but none of {where}.tasks is in {where}.without_none_tasks: "
            "add one there, or add true."
        )
    for pair in own["cross_lingual"]:
        if not _tasks(own, *pair):
            raise UserError(
                f"{where}.cross_lingual_tasks has none of {where}.tasks: add one there, or leave "
                "cross_lingual empty."
            )


def _check_room(own: Mapping[str, Any], where: str) -> None:
    """Raise UserError where the answer leaves no room for a prompt."""
    for name in slices(own):
        limits = settings(own, name, own["lengths"])["max_new_tokens"]
        for kind, limit in limits.items():
            if limit is not None and min(own["lengths"]) <= limit:
                raise UserError(
                    f"{where}.lengths has {min(own['lengths'])}, of which {where}.max_new_tokens ({kind}: "
                    f"{limit}) leaves nothing: raise the one or lower the other."
                )
