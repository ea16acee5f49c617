"""The plan of ONERULER: tasks, factors, slices, and the settings on which each slice depends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.benchmarks.oneruler.factors import LENGTH, LONG
from needlework.contract import CorpusTable, Run, SliceSettings, block_of, in_words
from needlework.data.corpora.registry import folder_languages
from needlework.given import given

if TYPE_CHECKING:
    from needlework.benchmarks.oneruler.settings import Oneruler
    from needlework.planning.configuration import Configuration

NAME = "oneruler"
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    key: f"benchmarks.oneruler.{key}"
    for key in ("data", "haystack", "multiquery_needles", "cwe_frequencies", "max_new_tokens")
}


class Needles(NamedTuple):
    """A task with needles."""

    # The number of keys in the text, and of values of each key.
    keys: int
    values: int
    # How many keys are asked for.
    asked: int
    # Whether the asked key is in the text.
    present: bool = True


class Frequencies(NamedTuple):
    """A task of common words."""

    # How often a common word, and any other word, stands in the list.
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
# Backends of models behind somebody's endpoint.
ENDPOINTS = ("openai", "inspect")
# Keys and values that make a condition hold (`RunFacts.filled_by`).
_ONE_NEEDLE, _ALL_NEEDLES = {"tasks": "[niah_single]"}, {"tasks": f"[{', '.join(NEEDLES)}]"}
FILLED_BY = {
    "endpoint": {"models.<model>.backend": "inspect"},
    "open": {"models.<model>.backend": "vllm"},
    **{
        name: {f"benchmarks.{NAME}.{key}": value for key, value in keys.items()}
        for name, keys in {
            "needles": _ALL_NEEDLES,
            "books": {**_ALL_NEEDLES, "haystack": "null"},
            "present": _ONE_NEEDLE,
            "words": {"tasks": "[cwe_easy, cwe_hard]"},
            "single": {**_ONE_NEEDLE, "none_option": "[true]"},
            "without_none": {**_ONE_NEEDLE, "none_option": "[true, false]"},
            "crossed": {
                **_ONE_NEEDLE,
                "cross_lingual": "[[en, ko]]",
                "cross_lingual_tasks": "[niah_single]",
            },
            "equal_text": {
                **_ALL_NEEDLES,
                "comparisons.equal_text": "[[<model>, <same in cl100k_base>]]",
            },
            "reasoning": {"comparisons.reasoning": "[<model>]"},
        }.items()
    },
}

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
# Tokens that an answer may take beyond the question said again and the longest right answer.
SPARE_TOKENS = 32


class Made(NamedTuple):
    """A finished prompt."""

    # Span numbers (`prompts.counting.pieces`).
    numbers: Sequence[int]
    text: str
    n_tokens: int
    # The accepted answers.
    references: list[str]
    # Whether it has all words of the language.
    exhausted: bool = False


@dataclass(frozen=True)
class Slice:
    """The settings on which the instances of a slice depend, as `settings` returns them."""

    slice: str
    instruction_lang: str
    context_lang: str
    lengths: Sequence[int]
    tasks: Sequence[str]
    data: str
    examples: int
    seed: int
    # The longest answers by kind of task; None is measured in the tokenizer.
    max_new_tokens: Mapping[str, int | None]
    # The texts in which needles are hidden, instead of the books of `data`.
    haystack: str | None = None
    # With needles.
    none_option: Sequence[bool] = ()
    full_stop: str = "."
    without_none_tasks: Sequence[str] = ()
    multiquery_needles: int = 2
    # With common words.
    cwe_frequencies: str = "paper"


def conditions(config: Configuration) -> dict[str, bool]:
    """Whether a configuration has certain prompts and models, by the names in `Result.when`."""
    own: Oneruler = block_of(config, NAME)
    hidden = needle_tasks(own.tasks)
    single = "niah_single" in hidden
    behind = {config.models[name].backend in ENDPOINTS for name in config.run.models}
    return {
        "endpoint": True in behind,
        "open": False in behind,
        "needles": bool(hidden),
        "books": bool(quotes(own)) and own.haystack is None,
        "present": bool(set(hidden) - {"niah_none"}),
        "words": bool(word_tasks(own.tasks)),
        "single": single and True in own.none_option,
        "without_none": single
        and "niah_single" in own.without_none_tasks
        and any(len(_none_options(own, lang, lang)) == 2 for lang in own.languages),
        "crossed": any(needle_tasks(slice_tasks(own, *pair)) for pair in own.cross_lingual),
        "equal_text": bool(hidden) and bool(own.comparisons.equal_text),
        "reasoning": bool(own.comparisons.reasoning),
    }


def needle_tasks(tasks: Iterable[str]) -> list[str]:
    """The tasks with needles among `tasks`."""
    return [task for task in tasks if task in NEEDLES]


def word_tasks(tasks: Iterable[str]) -> list[str]:
    """The tasks of common words among `tasks`."""
    return [task for task in tasks if task in FREQUENCIES]


def data(own: Oneruler) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    corpus = own.haystack or own.data
    return in_words(corpus, own.examples, "examples per cell"), "oneruler, 50 examples per cell"


def slices(own: Oneruler) -> list[str]:
    """The slices of the benchmark's configuration: `<instruction>-<context>`, a pair of languages each."""
    pairs = [*((lang, lang) for lang in own.languages), *own.cross_lingual]
    return [f"{instruction}-{context}" for instruction, context in pairs]


def slice_languages(name: str) -> tuple[str, str]:
    """The instruction's and the context's language of a slice."""
    instruction, _, context = name.partition("-")
    return instruction, context


def settings(own: Oneruler, name: str, lengths: Iterable[int]) -> SliceSettings:
    """The settings on which the instances of a slice depend, besides files and tokenizer.

    `lengths` are the token budgets that the models with this tokenizer want.
    """
    instruction, context = slice_languages(name)
    tasks = slice_tasks(own, instruction, context)
    limit = own.max_new_tokens
    longest: dict[str, int | None] = {**RELEASED_MAX_NEW_TOKENS}
    if limit != "released":
        longest = dict.fromkeys(longest, limit if isinstance(limit, int) else None)
    found: dict[str, Any] = {
        "slice": name,
        "instruction_lang": instruction,
        "context_lang": context,
        "lengths": sorted(lengths),
        "tasks": tasks,
        "data": own.data,
        "examples": own.examples,
        "seed": own.seed,
        **({"haystack": own.haystack} if own.haystack else {}),
        "max_new_tokens": longest,
    }
    if needle_tasks(tasks):
        found["none_option"] = _none_options(own, instruction, context)
        found["full_stop"] = {**FULL_STOPS, **own.full_stops}.get(context, ".")
        if False in found["none_option"]:
            found["without_none_tasks"] = [t for t in tasks if t in own.without_none_tasks]
    if "niah_multiquery" in tasks:
        found["multiquery_needles"] = own.multiquery_needles
    if word_tasks(tasks):
        found["cwe_frequencies"] = own.cwe_frequencies
    return found


def slice_tasks(own: Oneruler, instruction: str, context: str) -> list[str]:
    """The tasks of a slice, in an order that does not depend on the configuration's."""
    crossed = own.cross_lingual_tasks if instruction != context else None
    return [task for task in TASKS if task in own.tasks and (crossed is None or task in crossed)]


def _none_options(own: Oneruler, instruction: str, context: str) -> list[bool]:
    """Whether the questions of a slice offer to answer "none": with, without, or both."""
    options = sorted(own.none_option, reverse=True)
    if False in options and (languages := own.without_none_languages) is not None:
        alone = instruction == context and context in languages
        return options if alone else [True]
    return options


def variants(own: Slice) -> list[tuple[str, bool]]:
    """The tasks of a slice: (task, whether the question offers the answer "none").

    Questions on common words never offer it.
    """
    needles = [
        (task, option)
        for task in needle_tasks(own.tasks)
        for option in own.none_option
        if option or task in own.without_none_tasks
    ]
    return needles + [(task, False) for task in word_tasks(own.tasks)]


def needles(own: Slice, task: str) -> Needles:
    """The needles of a task of a slice."""
    usual = NEEDLES[task]
    return usual._replace(keys=own.multiquery_needles) if task == "niah_multiquery" else usual


def frequencies(own: Slice, task: str, length: int) -> Frequencies:
    """The frequencies of words in the list of a slice's task of common words (paper, section 2.2)."""
    short = length < SHORT or (length == SHORT and own.cwe_frequencies == "released")
    return (SHORT_FREQUENCIES if short else FREQUENCIES)[task]


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: the context's book and words, both languages' nouns and prompts."""
    own = Slice(**slice_settings)
    both = sorted({own.instruction_lang, own.context_lang})
    with_needles = bool(needle_tasks(own.tasks))
    languages = {
        "books": [own.context_lang] if with_needles else [],
        "nouns": both if with_needles else [],
        "words": [own.context_lang] if word_tasks(own.tasks) else [],
        "prompts": both if with_needles else [own.instruction_lang],
    }
    named = {"books": haystack(own)}
    return {
        kind: [(named.get(kind, f"{own.data}_{kind}"), lang) for lang in langs]
        for kind, langs in languages.items()
    }


def haystack(own: Oneruler | Slice) -> str:
    """The corpus of the books."""
    return own.haystack or f"{own.data}_books"


def quotes(own: Oneruler) -> list[CorpusTable]:
    """The books that the benchmark's prompts refer to; lists of words are made by the construction."""
    pairs = map(slice_languages, slices(own))
    contexts = {pair[1] for pair in pairs if needle_tasks(slice_tasks(own, *pair))}
    return [(haystack(own), lang) for lang in sorted(contexts)]


def user_folder(own: Oneruler, config: Configuration) -> str | None:
    """The user's folder of texts, where `data` does not leave it out."""
    return config.sources.oneruler.folder if own.data == NAME else None


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, beside the facts that all results get."""
    own: Oneruler = block_of(config, NAME)
    entries = {name: config.models[name] for name in config.run.models}
    tokenizers = [*config.run.tokenizers, *(entry.tokenizer for entry in entries.values())]
    comparisons: Run = given(own.comparisons)
    long = [n for n in sorted(own.lengths) if n in LONG] or sorted(own.lengths)[-2:]
    return {
        # The languages with texts or full stops of the user's.
        "instructions": [
            *folder_languages(user_folder(own, config)),
            *(n for n, stop in own.full_stops.items() if stop != FULL_STOPS.get(n, ".")),
        ],
        "long_contexts": f"contexts of {' and '.join(map(LENGTH.called, long))}",
        # How each model is run.
        "backends": {name: entry.backend for name, entry in entries.items()},
        # The metric whose values the figures draw.
        "metric": own.metric,
        # The user's numbers of articles by language, beside Table 2.
        "wikipedia_articles": own.wikipedia_articles,
        # equal_text: pairs of entries of a model, with prompts measured in its own tokenizer and in a common
        # one. reasoning: models that reason.
        **comparisons,
        # The tokenizer that measures the texts of which all tokenizers count the tokens, as
        # `planning.inputs.prompts.Prompts.text_tokenizer` chooses it.
        "text_tokenizer": tokenizers[0],
        # The encodings of OpenAI's tokenizers.
        "encodings": {
            name: tokenizer.encoding
            for name in dict.fromkeys(tokenizers)
            if (tokenizer := config.tokenizers[name]).kind == "tiktoken"
        },
    }
