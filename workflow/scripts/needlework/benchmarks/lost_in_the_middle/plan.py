"""The plan of Lost in the Middle: its slices, and the settings on which each slice depends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from needlework.contract import CorpusTable, Run, Search, SliceSettings, block_of, in_words
from needlework.data.corpora.registry import OWN_PASSAGES
from needlework.given import given
from needlework.prompts.wording import papers_instructions, user_texts

if TYPE_CHECKING:
    from needlework.benchmarks.lost_in_the_middle.settings import LostInTheMiddle
    from needlework.planning.configuration import Configuration

NAME = "lost_in_the_middle"
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    "corpus": f"benchmarks.{NAME}.needles",
    "source": f"benchmarks.{NAME}.source",
    "max_new_tokens": f"benchmarks.{NAME}.max_new_tokens",
    "metric": f"benchmarks.{NAME}.metric",
}

# The questions of the paper.
NQ_OPEN = "nq_open"
# Passages of the sample have no titles, so its prompts name none: the gold passage would stand out.
UNTITLED = "sample_questions"
# The texts of a language's instructions. `document` and `title` are what stands before a document.
INSTRUCTIONS = {
    "closed_book": ("question",),
    "documents": ("documents", "question"),
    "documents_random_order": ("documents", "question"),
    "documents_query_aware": ("question", "documents", "question"),
    "document": ("number",),
    "title": ("title",),
    "pairs": ("pairs", "key"),
    "pairs_query_aware": ("key", "pairs", "key"),
}
# What the released files hold (paper, sections 3.3 and 4.2).
RELEASED_DOCUMENTS = 30
RELEASED_PAIRS = (75, 140, 300)


class Variant(NamedTuple):
    """A way to ask a task: as the paper does, or with one thing changed."""

    # The words in a slice's name.
    name: str
    # The key that has its numbers of documents or pairs.
    key: str
    # The text among INSTRUCTIONS that its prompts take.
    text: str
    # What it changes in the settings of a slice.
    changes: Mapping[str, Any] = {}
    # The paper's numbers (section 5.2, appendices B and C).
    papers: tuple[int, ...] = (20,)


_AWARE, _SHUFFLED = {"query_aware": True}, {"order": "random"}
# By task; the first is the paper's setting.
VARIANTS = {
    "multi_document_qa": (
        Variant("plain", "n_documents", "documents"),
        Variant("query-aware", "query_aware", "documents_query_aware", _AWARE),
        Variant("random-order", "random_order", "documents_random_order", _SHUFFLED),
        Variant(
            "random-distractors",
            "random_distractors",
            "documents",
            {**_SHUFFLED, "distractors": "random"},
        ),
    ),
    "key_value": (
        Variant("plain", "n_pairs", "pairs"),
        Variant("query-aware", "query_aware_pairs", "pairs_query_aware", _AWARE, RELEASED_PAIRS),
    ),
}
# The tasks whose prompts have no documents.
ALONE = ("closed_book", "key_value")
# The one language of the paper's questions.
_ENGLISH = "en"
# Keys and values that make a condition hold (`RunFacts.filled_by`).
_QUESTIONS = {"tasks": "[multi_document_qa]"}
_ENGLISH_QUESTIONS = {**_QUESTIONS, "languages": "[en]"}
FILLED_BY = {
    name: {f"benchmarks.{NAME}.{key}": value for key, value in keys.items()}
    for name, keys in {
        "levels": {"tasks": "[closed_book, oracle]"},
        "questions": _QUESTIONS,
        **{
            f"{n}_documents": {**_QUESTIONS, "n_documents": f"[{{n: {n}, gold_indices: {where}}}]"}
            for n, where in ((10, "[0, 4, 9]"), (20, "[0, 9, 19]"), (30, "[0, 14, 29]"))
        },
        "english": _ENGLISH_QUESTIONS,
        "pairs": {"tasks": "[key_value]"},
        "uuids": {"tasks": "[key_value]", "keys": "[uuid]"},
        "encoder_decoder": {**_ENGLISH_QUESTIONS, "comparisons.encoder_decoder": "[<model>]"},
        "instruction_tuning": {
            **_ENGLISH_QUESTIONS,
            "comparisons.instruction_tuning": "[[<model>, <model>]]",
        },
        "query_aware": {**_ENGLISH_QUESTIONS, "query_aware": "[20]"},
        "open_domain": {"tasks": "[open_domain]", "languages": "[en]", "needles": NQ_OPEN},
        "random_distractors": {
            **_ENGLISH_QUESTIONS,
            "needles": NQ_OPEN,
            "random_distractors": "[20]",
        },
        "random_order": {**_ENGLISH_QUESTIONS, "random_order": "[20]"},
    }.items()
}


@dataclass(frozen=True)
class Slice:
    """The settings on which the instances of a slice depend, as `settings` returns them."""

    slice: str
    lang: str
    seed: int
    max_new_tokens: int
    task: str
    # The user's texts, by name.
    instructions: Mapping[str, str] = field(default_factory=dict)
    # Of documents and pairs: each number of them, with the indices of the gold one.
    source: str = ""
    places: Sequence[tuple[int, Sequence[int]]] = ()
    query_aware: bool = False
    # Of pairs.
    keys: str = "none"
    words: str | None = None
    examples: int = 0
    # Of questions.
    needles: str = ""
    haystack: str | None = None
    questions: int | Literal["all"] = 0
    # Of questions with documents.
    order: str = "none"
    distractors: str = "none"
    random_from: str | None = None
    # Of the open domain: the numbers of retrieved passages.
    n_passages: Sequence[int] = ()


def data(own: LostInTheMiddle) -> tuple[str, str]:
    """Descriptions of the data of the run's prompts and of the paper's."""
    papers = own.questions == "all" and own.needles == NQ_OPEN
    number = "2,655" if papers else own.questions
    return in_words(own.needles, number, "questions"), f"{NQ_OPEN}, 2,655 questions"


def places(own: LostInTheMiddle, task: str) -> list[tuple[int, Sequence[int]]]:
    """For each number of documents or pairs of a task's prompts, the indices of the asked one."""
    if task == "key_value":
        return [(entry.n, entry.indices) for entry in own.n_pairs]
    return [(entry.n, entry.gold_indices) for entry in own.n_documents]


def decided(own: LostInTheMiddle) -> dict[str, Any]:
    """The values of keys that are null: the paper's values, if the other keys allow them."""
    found: dict[str, Any] = {}
    if own.source is None:
        found["source"] = "released" if own.needles == NQ_OPEN else "constructed"
    for task, (_, *ablations) in VARIANTS.items():
        asked = dict(places(own, task))
        for variant in ablations:
            if getattr(own, variant.key) is None:
                possible = _can_ask(own, task, variant)
                found[variant.key] = [n for n in variant.papers if n in asked and possible]
    return found


def _can_ask(own: LostInTheMiddle, task: str, variant: Variant) -> bool:
    """Whether the run's data and instructions have what a variant's prompts are made of."""
    if variant.key == "random_distractors":
        return own.needles == NQ_OPEN or own.random_from != "wikipedia"
    languages = {*own.languages}
    if task == "key_value":
        languages = {lang for keys in own.keys for lang in _key_languages(own, keys)}
    worded = languages.intersection(own.instructions)
    return all(user_texts(own.instructions, lang, [variant.text]) for lang in worded)


def slices(own: LostInTheMiddle) -> list[str]:
    """The slices of the benchmark's configuration: one per language, task and variant.

    A slice `<lang>-documents-<variant>` or `<lang>-pairs-<keys>-<variant>` has all numbers of documents or
    pairs of its variant, so that each document is tokenized only once.
    """
    return list(_slices(own))


def _slices(own: LostInTheMiddle) -> dict[str, dict[str, Any]]:
    """The settings of each slice, but its name and the user's instructions, by its name."""
    found: dict[str, dict[str, Any]] = {}
    every: dict[str, Any] = {"seed": own.seed, "max_new_tokens": own.max_new_tokens}
    shared = every | {"needles": own.needles, "questions": own.questions}
    if own.haystack:
        shared["haystack"] = own.haystack
    for lang in own.languages:
        asked = shared | {"lang": lang}
        for task, name in (("closed_book", "closed-book"), ("oracle", "oracle")):
            if task in own.tasks:
                found[f"{lang}-{name}"] = asked | {"task": task}
        for name, changes in _asked(own, "multi_document_qa"):
            usual = {"source": own.source, "order": "relevance", "distractors": "retrieved"}
            documents = asked | usual | changes
            if documents["distractors"] == "random":
                documents["random_from"] = own.random_from
            found[f"{lang}-documents-{name}"] = documents
        if "open_domain" in own.tasks:
            passages = {"task": "open_domain", "n_passages": sorted(own.open_domain)}
            found[f"{lang}-open-domain"] = asked | passages
    for keys in own.keys:
        shared = every | {"source": own.source, "examples": own.examples, "keys": keys}
        shared["words"] = own.words if keys == "words" else None
        for lang in _key_languages(own, keys):
            for name, changes in _asked(own, "key_value"):
                found[f"{lang}-pairs-{keys}-{name}"] = shared | {"lang": lang} | changes
    return found


def _asked(own: LostInTheMiddle, task: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of the variants of a task that the run asks, and their settings."""
    plain, *_ = VARIANTS[task]
    indices = {n: sorted(found) for n, found in places(own, task)}
    for variant in VARIANTS[task] if task in own.tasks else ():
        if numbers := sorted(indices if variant == plain else getattr(own, variant.key) or ()):
            asked = {"task": task, "places": [[n, indices[n]] for n in numbers]}
            yield variant.name, asked | {"query_aware": False, **variant.changes}


def _key_languages(own: LostInTheMiddle, keys: str) -> list[str]:
    """The languages of keys and values.

    UUIDs are in none: their prompts are in the languages of the user's instructions, otherwise in English.
    """
    worded = [lang for lang in own.key_languages if lang in own.instructions]
    return list(own.key_languages) if keys == "words" else worded or [_ENGLISH]


def settings(own: LostInTheMiddle, name: str, lengths: list[int]) -> SliceSettings:
    """The settings on which the instances of a slice depend, besides files and tokenizer.

    `lengths` is not used: the number of documents or pairs decides how long a prompt is.
    """
    found = {"slice": name, **_slices(own)[name]}
    made = Slice(**found)
    if texts := user_texts(own.instructions, made.lang, texts_of(made)):
        found["instructions"] = texts
    return given(found)


def texts_of(own: Slice) -> list[str]:
    """The names in INSTRUCTIONS of the texts that a slice's prompts need."""
    return [template(own), *(("document", "title") if own.task not in ALONE else ())]


def template(own: Slice) -> str:
    """The name of a slice's template among INSTRUCTIONS."""
    aware = "_query_aware" if own.query_aware else ""
    if own.task == "key_value":
        return f"pairs{aware}"
    if own.task == "closed_book":
        return "closed_book"
    shuffled = own.order == "random" and own.distractors == "retrieved"
    return f"documents{aware or ('_random_order' if shuffled else '')}"


def reads(slice_settings: SliceSettings) -> dict[str, list[CorpusTable]]:
    """The tables that a slice reads, by input name.

    `questions`; `passages`, the source of distractors; `words`; and `pairs_<n>`, the released key-value
    pairs.
    """
    own = Slice(**slice_settings)
    if own.task == "key_value":
        if own.words is not None:
            return {"words": [(own.words, own.lang)]}
        if own.source == "constructed":
            return {}
        return {f"pairs_{n}": [(f"key_value_{n}", _ENGLISH)] for n, _ in own.places}
    found = {"questions": [(question_corpus(own), own.lang)]}
    if (passages := passage_corpus(own)) is not None:
        found["passages"] = [(passages, own.lang)]
    return found


def question_corpus(own: Slice) -> str:
    """The corpus of a slice's questions and gold passages."""
    if own.needles != NQ_OPEN or own.task in ("closed_book", "oracle"):
        return own.needles
    retrieved = own.task == "open_domain" or own.source == "constructed"
    return f"{NQ_OPEN}_{'retrieved' if retrieved else 'released'}"


def passage_corpus(own: Slice) -> str | None:
    """The corpus of a slice's other passages, if it has any."""
    if own.task in ("closed_book", "oracle"):
        return None
    if own.random_from == "wikipedia":
        return "wikipedia"
    if own.needles == NQ_OPEN:
        return f"{question_corpus(own)}_passages"
    return haystack(own)


def haystack(own: LostInTheMiddle | Slice) -> str:
    """The corpus of our own retrieval."""
    needles = "sample" if own.needles == UNTITLED else own.needles
    return own.haystack or f"{needles}{OWN_PASSAGES}"


def searches(slice_settings: SliceSettings) -> list[str]:
    """The languages in which a slice needs distractors of our own retrieval."""
    own = Slice(**slice_settings)
    return [own.lang] if own.needles != NQ_OPEN and own.distractors == "retrieved" else []


def search(own: LostInTheMiddle, lang: str) -> Search:
    """The search of distractors in a language: questions, answers and passages are all in it."""
    return Search(own.needles, lang, haystack(own), lang, [lang], ["semantic"], "subspan_screen")


def quotes(own: LostInTheMiddle) -> list[CorpusTable]:
    """Every table that a prompt of this configuration can refer to."""
    read = [reads(given({"slice": name, **found})) for name, found in _slices(own).items()]
    tables = [t for each in read for kind, found in each.items() if kind != "words" for t in found]
    return list(dict.fromkeys(tables))


def conditions(config: Configuration) -> dict[str, bool]:
    """Whether a configuration asks certain prompts, by the conditions of results (`Result.when`)."""
    own: LostInTheMiddle = block_of(config, NAME)
    sizes = dict(places(own, "multi_document_qa"))
    questions, pairs = "multi_document_qa" in own.tasks, "key_value" in own.tasks
    # The paper's figures are of English questions, and of UUIDs.
    english = questions and _ENGLISH in own.languages
    uuids = pairs and "uuid" in own.keys
    query_aware = (english and own.query_aware) or (uuids and own.query_aware_pairs)
    return {
        "levels": not {"closed_book", "oracle"}.isdisjoint(own.tasks),
        "questions": questions,
        **{f"{n}_documents": questions and n in sizes for n in (10, 20, 30)},
        "english": english,
        "pairs": pairs,
        "uuids": uuids,
        "encoder_decoder": english and bool(own.comparisons.encoder_decoder),
        "instruction_tuning": english and bool(own.comparisons.instruction_tuning),
        "query_aware": bool(query_aware),
        "open_domain": "open_domain" in own.tasks and _ENGLISH in own.languages,
        "random_distractors": english and bool(own.random_distractors),
        "random_order": english and bool(own.random_order),
    }


def notices(own: LostInTheMiddle) -> list[str]:
    """A notice if instructions are English but the user's questions are not."""
    return papers_instructions(NAME, own.needles, own.instructions, own.languages)


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, besides those that all results get.

    - `instruction_tuning`: pairs [base, instruction-tuned].
    - `encoder_decoder`: models of that architecture.
    - `tokenizers`: all tokenizers, in the order of rows.
    - `published_tokenizers`: tokenizer to its row in the paper's Tables 2 to 4.
    """
    own: LostInTheMiddle = block_of(config, NAME)
    used = [config.models[model].tokenizer for model in config.run.models]
    tokenizers = list(dict.fromkeys([*used, *config.run.tokenizers]))
    entries = {name: config.tokenizers[name] for name in tokenizers}
    comparisons: Run = given(own.comparisons)
    return {
        **comparisons,
        "instructions": sorted(own.instructions),
        "tokenizers": tokenizers,
        # The paper's token counts of GPT-3.5-Turbo are those of its encoding (appendix F).
        "published_tokenizers": {
            name: "GPT-3.5-Turbo"
            for name, entry in entries.items()
            if entry.kind == "tiktoken" and entry.encoding == "cl100k_base"
        },
    }
