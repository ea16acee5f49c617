"""What MLNeedle consists of: its factors, its slices, and what each slice depends on."""

from __future__ import annotations

from typing import NamedTuple

from needlework.benchmarks.contract import (
    Config,
    CorpusTable,
    Own,
    Run,
    Search,
    SliceSettings,
    in_words,
)
from needlework.benchmarks.mlneedle.factors import MULTILINGUAL
from needlework.given import given
from needlework.prompts.wording import papers_instructions, user_texts

NAME = "mlneedle"
TITLE = "MLNeedle"
PAPER = "https://arxiv.org/abs/2408.10151"
BESIDE = ("careful",)
JUDGED = {"existence": "yes_or_no"}
# Without a haystack: the question alone, or the needle alone.
CLOSED_BOOK = ("length", 0)
# The two verdicts of existence, as the prompt words them.
SCORED_BY = ("accepted",)
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
FILLED_BY = {
    name: {f"benchmarks.{NAME}.{key}": value}
    for name, key, value in (
        ("english_answers", "answer_languages", "[en, <your languages>]"),
        ("instruction_tuning", "comparisons.instruction_tuning", "[[<model>, <model>]]"),
        ("decoding", "comparisons.decoding", "[[<model>, <model>]]"),
    )
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
    """A needle position: its name in results, and its place k among n equally spaced places."""

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


def positions(setting: int | list[str]) -> list[Position]:
    """The needle positions of the configuration: the paper's three by name, or n equally spaced positions."""
    if isinstance(setting, int):
        names = {0: "start", setting - 1: "end", (setting - 1) / 2: "middle"}
        return [Position(names.get(k, f"{k}/{setting - 1}"), k, setting) for k in range(setting)]
    return [Position(name, ("start", "middle", "end").index(name), 3) for name in setting]


def data(own: Own) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    texts = (
        own["needles"]
        if own["needles"].startswith("sample")
        else f"needles of {own['needles']} in passages of {own['haystack']}"
    )
    mine = in_words(texts, own["questions"], "questions per language")
    return mine, "needles of mlqa in passages of mmarco, 100 questions per language"


def slices(config: Own) -> list[str]:
    """The slices of the benchmark's configuration: one per pair of needle and haystack language.

    The slice `<needle>-none` holds the prompts without a haystack (baseline and closed book).
    """
    haystacks = [*config["haystack_languages"], NO_HAYSTACK]
    return [f"{needle}-{hay}" for needle in config["needle_languages"] for hay in haystacks]


def baseline_slices(config: Own) -> list[str]:
    """The slices without a haystack, which hold every question of the benchmark."""
    return [f"{needle}-{NO_HAYSTACK}" for needle in config["needle_languages"]]


def slice_languages(name: str) -> tuple[str, str]:
    """The needle and the haystack language of a slice."""
    needle, _, haystack = name.partition("-")
    return needle, haystack


def settings(config: Own, name: str, lengths: list[int]) -> SliceSettings:
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
        "strip_context",
    )
    slice_settings = {key: config[key] for key in shared}
    # In whatever order they were written, the prompts are the same.
    slice_settings["answer_languages"] = sorted(config["answer_languages"])
    slice_settings |= {"needle_lang": needle, "haystack_lang": haystack}
    if haystack != NO_HAYSTACK:
        own = ("positions", "retrieval", "needle_absent", "truncate_last")
        slice_settings |= {key: config[key] for key in own}
        slice_settings["answer_buffer"] = ANSWER_BUFFER
        slice_settings["lengths"] = sorted(lengths)
        slice_settings["tasks"] = [task for task in config["tasks"] if task != "closed_book"]
    used = [name for task in slice_settings["tasks"] for name in texts_of(task)]
    if texts := user_texts(config["instructions"], config["question_lang"], used):
        slice_settings["instructions"] = texts
    if haystack == MULTILINGUAL:
        slice_settings["multilingual"] = sorted(config["multilingual"])
        slice_settings["multilingual_top"] = MULTILINGUAL_TOP
    return slice_settings


def texts_of(task: str) -> list[str]:
    """The names in INSTRUCTIONS of the texts that a task's prompts and verdicts need."""
    return [task, "yes", "no"] if task == "existence" else [task]


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads: questions for needle, question and references; passages."""
    asked = {
        slice_settings["needle_lang"],
        slice_settings["question_lang"],
        *slice_settings["answer_languages"],
    }
    return {
        "questions": [(slice_settings["needles"], lang) for lang in sorted(asked)],
        "passages": [
            (slice_settings["haystack"], lang) for lang in haystack_languages(slice_settings)
        ],
    }


def searches(slice_settings: SliceSettings) -> list[str]:
    """The languages in which a slice needs distractors."""
    return haystack_languages(slice_settings)


def search(config: Own, lang: str) -> Search:
    """The search of distractors in a language."""
    return Search(
        config["needles"],
        config["question_lang"],
        config["haystack"],
        lang,
        config["answer_languages"],
        config["retrieval"],
    )


def haystack_languages(slice_settings: SliceSettings) -> list[str]:
    """The languages whose passages a slice reads."""
    haystack = slice_settings["haystack_lang"]
    if haystack == NO_HAYSTACK:
        return []
    return sorted(slice_settings["multilingual"]) if haystack == MULTILINGUAL else [haystack]


def spare(own: Own) -> int:
    """The tokens of a length reserved for the answer; a chat template may use some (released code)."""
    return ANSWER_BUFFER


def quotes(own: Own) -> list[CorpusTable]:
    """The tables of all needles and passages that the benchmark's prompts can hold."""
    languages = set(own["haystack_languages"])
    if MULTILINGUAL in languages:
        languages = languages - {MULTILINGUAL} | set(own["multilingual"])
    return [
        *((own["needles"], lang) for lang in own["needle_languages"]),
        *((own["haystack"], lang) for lang in sorted(languages)),
    ]


def translated(own: Own) -> bool:
    """Whether answers are scored in English too: if English is accepted, or the answer is Yes or No."""
    worded = own["question_lang"] in own["instructions"]
    return "en" in own["answer_languages"] or ("existence" in own["tasks"] and not worded)


def conditions(config: Config) -> dict[str, bool]:
    """Which results a configuration has data for, by the names that results have (`Result.when`)."""
    own = config["benchmarks"][NAME]
    pairs = {name: bool(models) for name, models in own["comparisons"].items()}
    # What translation loses is measured against the English answers.
    return {"english_answers": "en" in own["answer_languages"], **pairs}


def notices(own: Own) -> list[str]:
    """A notice if instructions are English but the user's questions are not."""
    return papers_instructions(NAME, given(own), [own["question_lang"]])


def run_settings(config: Config) -> Run:
    """The facts on a run that this benchmark's results need, beside the facts that all results get.

    claimed_length: for each model, the context length that its makers claim, in tokens. instruction_tuning:
    pairs [base, instruction-tuned]. greedy_or_sampling: pairs [greedy, sampling]. scored_by: the metric, in
    words.
    """
    own, run = config["benchmarks"][NAME], config["run"]
    comparisons, metric = own["comparisons"], own["metric"]
    called = f"{metric} (the paper's exact accuracy)" if metric == "containment" else metric
    existence = "existence" in own["tasks"] and metric not in BESIDE
    also = ", and Yes or No for existence" if existence else ""
    return {
        "scored_by": called + also,
        "needle_languages": own["needle_languages"],
        "instructions": sorted(own["instructions"]),
        "claimed_length": {m: config["models"][m]["context"] for m in run["models"]},
        "instruction_tuning": comparisons["instruction_tuning"],
        "greedy_or_sampling": comparisons["decoding"],
    }
