"""What mLongRR consists of: its tasks, its slices, and what each slice depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.benchmarks.mlongrr import prompt_files
from needlework.benchmarks.mlongrr.factors import ABSENT, QUESTIONS, REASONING, RETRIEVAL
from needlework.contract import CorpusTable, Run, SliceSettings, block_of, in_words
from needlework.data.corpora.registry import CORPORA, folder_languages, languages_of
from needlework.folders import entries

if TYPE_CHECKING:
    from needlework.benchmarks.mlongrr.settings import Mlongrr, Needles
    from needlework.planning.configuration import Configuration

NAME = "mlongrr"
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    key: f"benchmarks.mlongrr.{key}" for key in ("source", "data", "depth_rule", "max_new_tokens")
}
# The models of the paper that have a figure of their own, 7 to 11.
DETAILED = ("GPT-4", "Gemini-1.5", "Claude-3", "Llama-3", "GPT-4o")
# Percent points behind the first needle up to which the others stand (paper, section 3.2.2).
SPREAD = 25
RELEASED_LENGTHS = (2000, 8000, 16000, 32000, 64000)
RELEASED_DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}
# Tokens that a haystack leaves free of its length (released code).
RELEASED_MARGIN = 100
# The share of a length that may stay free where the text ends before a haystack counts as exhausted.
FREE = 0.01
ARTICLES = "mlongrr_articles"
# The encodings of the paper's models.
ENCODINGS = {"cl100k_base": "GPT-4", "o200k_base": "GPT-4o"}


# Keys and values that make a condition hold (`RunFacts.filled_by`).
_ONE = {"tasks": "[{n: 1, depths: [0, 25, 50, 75, 100], questions: [number]}]"}
FILLED_BY = {
    **{model: {"models.<model>.published": model} for model in DETAILED},
    **{
        name: {f"benchmarks.{NAME}.{key}": value for key, value in keys.items()}
        for name, keys in {
            "one": _ONE,
            "number": _ONE,
            "city": {"tasks": "[{n: 2, depths: [0, 25, 50, 75], questions: [number, city]}]"},
            "english": {"languages": "[en]"},
            "absent": {**_ONE, "absent": "[1]"},
            "texts": {"haystacks": f"[{ARTICLES}, paul_graham_essays]", "languages": "[en]"},
            "prompts": {**_ONE, "prompts": "[paper, prompt2]"},
        }.items()
    },
}


@dataclass(frozen=True)
class Slice:
    """What the instances of a slice depend on, as `settings` gives it."""

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


class Cell(NamedTuple):
    """A task with its question and prompt: `n` needles, the first at `depth` percent.

    The other needles stand up to `spread` percentage points behind the first. `depth` is None without a
    needle.
    """

    task: str
    n: int
    question: str
    depth: int | None
    spread: int
    template: str


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


def slices(own: Mlongrr) -> list[str]:
    """The slices: one per language and haystack, named `<language>-<haystack>`."""
    return [f"{lang}-{_short(haystack)}" for haystack, lang in texts(own)]


def texts(own: Mlongrr) -> list[tuple[str, str]]:
    """The haystacks' corpora with their languages, in the order of the configuration.

    A further haystack is used in those languages of the configuration that it has.
    """
    first, *further = own.haystacks
    pairs = [(first, lang) for lang in own.languages]
    return pairs + [
        (haystack, lang)
        for haystack in further
        for lang in own.languages
        # The check has seen that a user's corpus has all.
        if haystack not in CORPORA or lang in languages_of(haystack)
    ]


def _short(haystack: str) -> str:
    return haystack.replace("_", "-")


def settings(own: Mlongrr, name: str, lengths: Iterable[int]) -> SliceSettings:
    """All that the instances of a slice depend on, other than files and the tokenizer: fields of `Slice`.

    `lengths` are the token budgets wanted by the models that use the tokenizer.
    """
    haystack, lang = next(
        (haystack, lang) for haystack, lang in texts(own) if name == f"{lang}-{_short(haystack)}"
    )
    found: dict[str, Any] = {
        "slice": name,
        "lang": lang,
        "haystack": haystack,
        "lengths": sorted(lengths),
        "source": own.source,
        "data": own.data,
        "tasks": list(own.tasks),
        "prompts": list(own.prompts),
        "absent": list(own.absent),
        "examples": own.examples,
        "wording": own.wording,
        "max_new_tokens": own.max_new_tokens,
        "seed": own.seed,
    }
    if own.source == "constructed":
        found |= {"budget": own.budget, "depth_rule": own.depth_rule}
    return found


def cells(own: Slice) -> Iterator[Cell]:
    """The cells of a slice at each length, in an order that does not depend on the configuration's.

    English has no translated prompt, since the paper's own is in English.
    """
    prompts = [name for name in own.prompts if (name, own.lang) != ("translated", "en")]
    for prompt in sorted(prompts):
        for task in sorted(own.tasks, key=lambda task: task.n):
            n = task.n
            kind = RETRIEVAL if n == 1 else REASONING
            for question in (q for q in QUESTIONS if q in task.questions):
                for depth in sorted(task.depths):
                    yield Cell(kind, n, question, depth, spread(task), prompt)
                if n in own.absent:
                    yield Cell(ABSENT, n, question, None, 0, prompt)


def spread(task: Needles) -> int:
    """Percent points behind the first needle up to which the others stand."""
    return SPREAD if task.spread is None else task.spread


def chance(n_needles: int, task: str) -> float | None:
    """The accuracy of guessing among the needles in the prompt, for the reasoning task; otherwise None."""
    return 1 / n_needles if task == REASONING else None


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: the text, its needles, and the released haystacks."""
    own = Slice(**slice_settings)
    read = {"needles": (f"{own.data}_needles", own.lang), "haystack": (own.haystack, own.lang)}
    return {kind: [table] for kind, table in (read | released_haystacks(own)).items()}


def released_haystacks(own: Slice) -> dict[str, CorpusTable]:
    """The tables of released haystacks that a slice reads, by input name."""
    counts = needle_counts(own) if own.source == "released" else []
    return {f"released_{n}": (_released(n), own.lang) for n in counts}


def needle_counts(own: Mlongrr | Slice) -> list[int]:
    """How many needles the tasks have."""
    return sorted(task.n for task in own.tasks)


def _released(n: int) -> str:
    return {1: "mlongrr_released_one", 3: "mlongrr_released_three"}[n]


def spare(own: Mlongrr) -> int | None:
    """0 tokens: the longest answer takes all reserved tokens. None if lengths do not bound prompts."""
    strict = own.source == "constructed" and own.budget == "strict"
    return 0 if strict else None


def quotes(own: Mlongrr) -> list[CorpusTable]:
    """The texts that the benchmark's prompts are cut from."""
    if own.source == "released":
        return [(_released(n), lang) for n in needle_counts(own) for lang in own.languages]
    return texts(own)


def conditions(config: Configuration) -> dict[str, bool]:
    """Which prompts and models a configuration has, by the names that results have (`Result.when`)."""
    own: Mlongrr = block_of(config, NAME)
    found = needle_counts(own)
    asked = {question for task in own.tasks for question in task.questions}
    named = {config.models[name].published for name in config.run.models}
    return {
        **{model: model in named for model in DETAILED},
        "one": 1 in found,
        "number": "number" in asked,
        "city": asked == set(QUESTIONS),
        "english": "en" in own.languages,
        "absent": bool(own.absent),
        "texts": len(own.haystacks) > 1,
        "prompts": len(set(own.prompts) - {"translated"}) > 1,
    }


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, beside the facts that all results get.

    metric: the metric of the figures. instructions: the languages with tables or texts of the user's. spread:
    of the needles, in percent points, by their number.
    haystack, template: the first text and the first prompt of the configuration. counted_as: the paper's
    model that has a tokenizer. other_tokenizers: why a tokenizer is not the one of that model after all.
    """
    own: Mlongrr = block_of(config, NAME)
    prompts = sorted(own.prompts, key=lambda name: (name != "paper", name == "translated"))
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
        "instructions": _own_languages(own, config.sources.mlongrr.folder),
        "metric": own.metric,
        "spread": {task.n: spread(task) for task in own.tasks},
        "haystack": own.haystacks[0],
        "template": prompts[0],
        "counted_as": named,
        "other_tokenizers": dict.fromkeys(merging, "ignore_merges is not false, as it was in 2024"),
    }


def _own_languages(own: Mlongrr, folder: str | None) -> list[str]:
    """The languages of the user's folder; all, if it has English prompts, which are asked of all texts."""
    if folder is None or own.data == "sample":
        return []
    files = entries(folder, ".csv")
    english = any(key.lang == "en" for key in prompt_files.prompts(files))
    every = own.languages if english else ()
    return sorted({*prompt_files.languages(files), *folder_languages(folder, NAME), *every})
