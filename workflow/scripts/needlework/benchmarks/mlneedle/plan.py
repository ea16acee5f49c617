"""The plan of MLNeedle: its prompts, the data that they are made of, and facts on a run for results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from needlework.benchmarks.mlneedle.factors import MULTILINGUAL, POSITIONS
from needlework.contract import CorpusTable, Run, Search, SliceSettings, block_of, in_words
from needlework.given import given
from needlework.prompts.wording import papers_instructions, user_texts

if TYPE_CHECKING:
    from needlework.benchmarks.mlneedle.settings import Mlneedle
    from needlework.planning.configuration import Configuration

NAME = "mlneedle"
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    **{
        key: f"benchmarks.mlneedle.{key}"
        for key in (
            *("needles", "haystack", "aligned", "truncate_last"),
            *("metric", "answer_languages", "max_new_tokens", "multilingual"),
        )
    },
    "mlqa_split": "sources.mlqa.split",
    "passages": "sources.mmarco.passages",
    "top": "retrieval.top",
    "embedder": "embedder",
    "translator": "translator",
}
NO_HAYSTACK = "none"
# As in the released code: the tokens of a length that are kept for the answer, and the distractors in the
# list of all languages.
ANSWER_BUFFER, MULTILINGUAL_TOP = 64, 500
# Keys and values that make a condition hold (`RunFacts.filled_by`).
PAIR = "[[<model>, <model>]]"
FILLED_BY = {
    "english_answers": {"benchmarks.mlneedle.answer_languages": "[en, <your languages>]"},
    "instruction_tuning": {"benchmarks.mlneedle.comparisons.instruction_tuning": PAIR},
    "decoding": {"benchmarks.mlneedle.comparisons.decoding": PAIR},
}
# The texts of a language's instructions. The words of the verdict are of `existence` alone.
INSTRUCTIONS = {
    "exact": ("passages", "question"),
    "existence": ("passages", "question"),
    "closed_book": ("question",),
    "yes": (),
    "no": (),
}


class Position(NamedTuple):
    """Where the needle is: place `k` (from 0) of `n` equally spaced places."""

    # In results.
    name: str
    k: int
    n: int

    @property
    def depth(self) -> float:
        """The depth of the needle: 0 before all distractors, 1 after them."""
        return self.k / (self.n - 1)

    def place(self, n_distractors: int) -> int:
        """The number of distractors before the needle."""
        if self.name == "middle":  # the released code's middle, whatever n is
            return n_distractors // 2
        return round(self.k * n_distractors / (self.n - 1))


@dataclass(frozen=True)
class Slice:
    """The settings on which the instances of a slice depend, as `settings` returns them."""

    needles: str
    haystack: str
    seed: int
    aligned: bool
    question_lang: str
    questions: int | Literal["all"]
    tasks: Sequence[str]
    answer_languages: Sequence[str]
    max_new_tokens: int
    strip_context: bool
    needle_lang: str
    haystack_lang: str
    # With a haystack.
    positions: int | Sequence[str] = ()
    retrieval: Sequence[str] = ()
    needle_absent: bool = False
    truncate_last: bool = False
    answer_buffer: int = 0
    lengths: Sequence[int] = ()
    # The user's texts, by name.
    instructions: Mapping[str, str] = field(default_factory=dict)
    # With the haystack of this name.
    multilingual: Sequence[str] = ()
    multilingual_top: int | None = None

    @property
    def haystack_languages(self) -> list[str]:
        """The languages whose passages the slice reads."""
        if self.haystack_lang == NO_HAYSTACK:
            return []
        mixed = self.haystack_lang == MULTILINGUAL
        return sorted(self.multilingual) if mixed else [self.haystack_lang]


def positions(setting: int | Sequence[str]) -> list[Position]:
    """The needle positions of the configuration: the paper's three by name, or n equally spaced positions."""
    if isinstance(setting, int):
        names = {0: "start", setting - 1: "end", (setting - 1) / 2: "middle"}
        return [Position(names.get(k, f"{k}/{setting - 1}"), k, setting) for k in range(setting)]
    return [Position(name, POSITIONS.index(name), len(POSITIONS)) for name in setting]


def decided_languages(own: Mlneedle) -> tuple[str, tuple[str, ...]]:
    """The language of questions and the languages of answers. Planning has replaced null by a choice."""
    assert own.question_lang is not None and own.answer_languages is not None
    return own.question_lang, own.answer_languages


def data(own: Mlneedle) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    of_sample = own.needles.startswith("sample")
    texts = own.needles if of_sample else f"needles of {own.needles} in passages of {own.haystack}"
    mine = in_words(texts, own.questions, "questions per language")
    return mine, "needles of mlqa in passages of mmarco, 100 questions per language"


def slices(own: Mlneedle) -> list[str]:
    """The slices of the benchmark's configuration: one per pair of needle and haystack language.

    The slice `<needle>-none` holds the prompts without a haystack (baseline and closed book).
    """
    haystacks = [*own.haystack_languages, NO_HAYSTACK]
    return [f"{needle}-{hay}" for needle in own.needle_languages for hay in haystacks]


def baseline_slices(own: Mlneedle) -> list[str]:
    """The slices without a haystack, which hold every question of the benchmark."""
    return [f"{needle}-{NO_HAYSTACK}" for needle in own.needle_languages]


def settings(own: Mlneedle, name: str, lengths: list[int]) -> SliceSettings:
    """The settings on which the instances of a slice depend, besides files and tokenizer.

    `lengths` are the token budgets that the models with this tokenizer want.
    """
    needle, _, haystack = name.partition("-")
    question_lang, answer_languages = decided_languages(own)
    tasks = [task for task in own.tasks if haystack == NO_HAYSTACK or task != "closed_book"]
    found: dict[str, Any] = {
        "needles": own.needles,
        "haystack": own.haystack,
        "seed": own.seed,
        "aligned": own.aligned,
        "question_lang": question_lang,
        "questions": own.questions,
        "tasks": tasks,
        # In whatever order they were written, the prompts are the same.
        "answer_languages": sorted(answer_languages),
        "max_new_tokens": own.max_new_tokens,
        "strip_context": own.strip_context,
        "needle_lang": needle,
        "haystack_lang": haystack,
    }
    if haystack != NO_HAYSTACK:
        found |= {
            "positions": own.positions,
            "retrieval": own.retrieval,
            "needle_absent": own.needle_absent,
            "truncate_last": own.truncate_last,
            "answer_buffer": ANSWER_BUFFER,
            "lengths": sorted(lengths),
        }
    if texts := user_texts(own.instructions, question_lang, texts_of(tasks)):
        found["instructions"] = texts
    if haystack == MULTILINGUAL:
        found |= {"multilingual": sorted(own.multilingual), "multilingual_top": MULTILINGUAL_TOP}
    return given(found)


def texts_of(tasks: Iterable[str]) -> list[str]:
    """The names of the texts in INSTRUCTIONS that prompts and verdicts of these tasks need."""
    needed = {"existence": ["existence", "yes", "no"]}
    return [name for task in tasks for name in needed.get(task, [task])]


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: questions for needle, question and references; passages."""
    own = Slice(**slice_settings)
    asked = {own.needle_lang, own.question_lang, *own.answer_languages}
    return {
        "questions": [(own.needles, lang) for lang in sorted(asked)],
        "passages": [(own.haystack, lang) for lang in own.haystack_languages],
    }


def searches(slice_settings: SliceSettings) -> list[str]:
    """The languages in which a slice needs distractors."""
    return Slice(**slice_settings).haystack_languages


def search(own: Mlneedle, lang: str) -> Search:
    """The search of distractors in a language."""
    question_lang, answer_languages = decided_languages(own)
    return Search(
        own.needles,
        question_lang,
        own.haystack,
        lang,
        list(answer_languages),
        list(own.retrieval),
    )


def spare(own: Mlneedle) -> int:
    """How many tokens of a length are reserved for the answer.

    A chat template may use some of them, as in the released code.
    """
    return ANSWER_BUFFER


def quotes(own: Mlneedle) -> list[CorpusTable]:
    """The tables of all needles and passages that the benchmark's prompts can hold."""
    languages = set(own.haystack_languages)
    if MULTILINGUAL in languages:
        languages = languages - {MULTILINGUAL} | set(own.multilingual)
    return [
        *((own.needles, lang) for lang in own.needle_languages),
        *((own.haystack, lang) for lang in sorted(languages)),
    ]


def translated(own: Mlneedle) -> bool:
    """Whether answers are scored in English too: if English is accepted, or the answer is Yes or No."""
    question_lang, answer_languages = decided_languages(own)
    existence = "existence" in own.tasks and question_lang not in own.instructions
    return "en" in answer_languages or existence


def conditions(config: Configuration) -> dict[str, bool]:
    """The conditions of results (`Result.when`), and whether the configuration fulfils them."""
    own: Mlneedle = block_of(config, NAME)
    pairs = {name: bool(models) for name, models in dict(own.comparisons).items()}
    # What translation loses is measured against the English answers.
    return {"english_answers": "en" in decided_languages(own)[1], **pairs}


def notices(own: Mlneedle) -> list[str]:
    """A notice if instructions are English but the user's questions are not."""
    return papers_instructions(NAME, own.needles, own.instructions, [decided_languages(own)[0]])


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, besides the facts that all results get.

    - `claimed_length`: for each model, the context length that its makers claim, in tokens.
    - `instruction_tuning`: pairs [base, instruction-tuned].
    - `greedy_or_sampling`: pairs [greedy, sampling].
    """
    own: Mlneedle = block_of(config, NAME)
    return {
        "needle_languages": list(own.needle_languages),
        "instructions": sorted(own.instructions),
        "claimed_length": {model: config.models[model].context for model in config.run.models},
        "instruction_tuning": [list(pair) for pair in own.comparisons.instruction_tuning],
        "greedy_or_sampling": [list(pair) for pair in own.comparisons.decoding],
    }
