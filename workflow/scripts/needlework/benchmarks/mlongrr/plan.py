"""The plan of mLongRR: tasks, slices, the settings of each slice, and prompts that cannot be built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from needlework.benchmarks.mlongrr import prompt_files
from needlework.benchmarks.mlongrr.factors import (
    ABSENT,
    QUESTIONS,
    REASONING,
    RETRIEVAL,
)
from needlework.benchmarks.mlongrr.prompt_files import PromptKey
from needlework.contract import CorpusTable, Run, SliceSettings, block_of, in_words
from needlework.data.corpora.registry import CORPORA, folder_languages, languages_of
from needlework.folders import entries

if TYPE_CHECKING:
    from needlework.benchmarks.mlongrr.settings import Mlongrr, Needles
    from needlework.planning.configuration import Configuration

NAME = "mlongrr"
HERE = f"benchmarks.{NAME}"
# Where the configuration has what the paper's numbers depend on.
SETUP = {key: f"{HERE}.{key}" for key in ("source", "data", "depth_rule", "max_new_tokens")}
# The models of the paper that have a figure of their own, 7 to 11.
DETAILED = ("GPT-4", "Gemini-1.5", "Claude-3", "Llama-3", "GPT-4o")
# Percent points behind the first needle up to which the others stand (paper, section 3.2.2).
SPREAD = 25
ARTICLES = "mlongrr_articles"
# The corpora of released haystacks, by the number of needles.
RELEASED = {1: "mlongrr_released_one", 3: "mlongrr_released_three"}
# The encodings of the paper's models.
ENCODINGS = {"cl100k_base": "GPT-4", "o200k_base": "GPT-4o"}

# Keys and values that make a condition hold (`RunFacts.filled_by`).
_ONE = {f"{HERE}.tasks": "[{n: 1, depths: [0, 25, 50, 75, 100], questions: [number]}]"}
FILLED_BY = {
    **{model: {"models.<model>.published": model} for model in DETAILED},
    "one": _ONE,
    "number": _ONE,
    "city": {f"{HERE}.tasks": "[{n: 2, depths: [0, 25, 50, 75], questions: [number, city]}]"},
    "english": {f"{HERE}.languages": "[en]"},
    "absent": {**_ONE, f"{HERE}.absent": "[1]"},
    "texts": {
        f"{HERE}.haystacks": f"[{ARTICLES}, paul_graham_essays]",
        f"{HERE}.languages": "[en]",
    },
    "prompts": {**_ONE, f"{HERE}.prompts": "[paper, prompt2]"},
}


@dataclass(frozen=True)
class Slice:
    """The settings on which the instances of a slice depend, as `settings` returns them."""

    slice: str
    lang: str
    haystack: str
    lengths: Sequence[int]
    source: str
    data: str
    tasks: Sequence[Needles]
    prompts: Sequence[str]
    absent: Sequence[int]
    examples: int
    wording: str
    max_new_tokens: int
    seed: int
    # Of constructed haystacks.
    budget: str = ""
    depth_rule: str = ""


class PromptKind(NamedTuple):
    """What distinguishes the prompts of a slice, besides length and example."""

    task: str
    # How many needles the question speaks of, and "number" or "city".
    n_needles: int
    question: str
    # Percent of the haystack before the first needle; None where the haystack has none.
    depth: int | None
    # Percent points behind the first needle up to which the others stand.
    spread: int
    # The name of the prompt, and its key among the texts of prompts.
    template: str
    key: PromptKey


def decided(own: Mlongrr) -> dict[str, object]:
    """The keys that `source: released` determines, with the values of the released files."""
    if own.source != "released":
        return {}
    text = {"haystacks": [ARTICLES], "data": NAME, "examples": 1, "wording": "released"}
    return {**text, "budget": "released", "depth_rule": "gpt4o"}


def data(own: Mlongrr) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    n = own.examples
    mine = in_words(own.haystacks[0], n, f"example{'s' * (n != 1)} per cell")
    return mine, f"{ARTICLES}, 1 example per cell"


def texts(own: Mlongrr) -> dict[str, CorpusTable]:
    """The haystack and language of each slice, in the configuration's order, by `<language>-<haystack>`.

    A further haystack is used only in the configuration's languages that it has.
    """
    return {
        f"{lang}-{haystack.replace('_', '-')}": (haystack, lang)
        for haystack in own.haystacks
        for lang in own.languages
        # The check has seen that the first haystack and a user's corpus have all.
        if haystack == own.haystacks[0] or haystack not in CORPORA or lang in languages_of(haystack)
    }


def slices(own: Mlongrr) -> list[str]:
    """The slices: one per language and haystack."""
    return list(texts(own))


def settings(own: Mlongrr, name: str, lengths: Iterable[int]) -> SliceSettings:
    """The settings on which the instances of a slice depend, besides files and tokenizer.

    `lengths` are the token budgets that the models with this tokenizer want.
    """
    haystack, lang = texts(own)[name]
    keys = ["source", "data", "tasks", "prompts", "absent", "examples", "wording"]
    keys += ["max_new_tokens", "seed"]
    keys += ["budget", "depth_rule"] if own.source == "constructed" else []
    found = {"slice": name, "lang": lang, "haystack": haystack, "lengths": sorted(lengths)}
    values = dict(own)
    return found | {key: values[key] for key in keys}


def prompt_kinds(own: Slice) -> Iterator[PromptKind]:
    """The prompts of a slice at each length, in an order that does not depend on the configuration's.

    English has no translated prompt, since the paper's own is in English.
    """
    for template in sorted(own.prompts):
        lang = own.lang if template == "translated" else "en"
        if template == "translated" and lang == "en":
            continue
        for task in sorted(own.tasks, key=lambda task: task.n):
            n = task.n
            kind = RETRIEVAL if n == 1 else REASONING
            for question in (q for q in QUESTIONS if q in task.questions):
                asked = template, PromptKey(template, min(n, prompt_files.MANY), question, lang)
                for depth in sorted(task.depths):
                    yield PromptKind(kind, n, question, depth, spread(task), *asked)
                if n in own.absent:
                    yield PromptKind(ABSENT, n, question, None, 0, *asked)


def spread(task: Needles) -> int:
    """Percent points behind the first needle up to which the others stand."""
    return SPREAD if task.spread is None else task.spread


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: needles, text, and the released haystacks by number of needles."""
    own = Slice(**slice_settings)
    read = {"needles": f"{own.data}_needles", "haystack": own.haystack}
    if own.source == "released":
        read |= {f"released_{n}": RELEASED[n] for n in sorted(task.n for task in own.tasks)}
    return {kind: [(corpus, own.lang)] for kind, corpus in read.items()}


def spare(own: Mlongrr) -> int | None:
    """The spare tokens of a length: 0, since the longest answer takes all reserved tokens.

    None if lengths do not bound prompts.
    """
    strict = own.source == "constructed" and own.budget == "strict"
    return 0 if strict else None


def quotes(own: Mlongrr) -> list[CorpusTable]:
    """The texts that the benchmark's prompts are cut from."""
    if own.source == "released":
        counts = sorted(task.n for task in own.tasks)
        return [(RELEASED[n], lang) for n in counts for lang in own.languages]
    return list(texts(own).values())


def conditions(config: Configuration) -> dict[str, bool]:
    """Whether a configuration has certain prompts and models, by the names in `Result.when`."""
    own: Mlongrr = block_of(config, NAME)
    asked = {question for task in own.tasks for question in task.questions}
    named = {config.models[name].published for name in config.run.models}
    return {
        **{model: model in named for model in DETAILED},
        "one": any(task.n == 1 for task in own.tasks),
        "number": "number" in asked,
        "city": asked == set(QUESTIONS),
        "english": "en" in own.languages,
        "absent": bool(own.absent),
        "texts": len(own.haystacks) > 1,
        "prompts": len(set(own.prompts) - {"translated"}) > 1,
    }


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, beside the facts that all results get."""
    own: Mlongrr = block_of(config, NAME)
    folder = config.sources.mlongrr.folder
    instructions: set[str] = set()
    if folder is not None and own.data != "sample":
        files = entries(folder, ".csv")
        instructions = {*prompt_files.languages(files), *folder_languages(folder, NAME)}
        # All texts are asked with English prompts.
        if any(key.lang == "en" for key in prompt_files.prompts(files)):
            instructions.update(own.languages)
    named = {e.tokenizer: e.published for e in config.models.values() if e.published}
    named |= {
        name: ENCODINGS[entry.encoding]
        for name, entry in config.tokenizers.items()
        if entry.kind == "tiktoken" and entry.encoding in ENCODINGS
    }
    merging = [
        name
        for name, model in named.items()
        if model == "Llama-3"
        and not (
            (entry := config.tokenizers[name]).kind == "huggingface"
            and entry.ignore_merges is False
        )
    ]
    return {
        # The languages with tables or texts of the user's.
        "instructions": sorted(instructions),
        # The metric of the figures.
        "metric": own.metric,
        # Of the needles, in percent points, by their number.
        "spread": {task.n: spread(task) for task in own.tasks},
        # The first text, and the prompt that is nearest to the paper's.
        "haystack": own.haystacks[0],
        "template": min(own.prompts, key=lambda name: (name != "paper", name == "translated")),
        # The paper's models by their tokenizers, and why a tokenizer is not the one of its model after all.
        "counted_as": named,
        "other_tokenizers": dict.fromkeys(merging, "ignore_merges is not false, as it was in 2024"),
    }
