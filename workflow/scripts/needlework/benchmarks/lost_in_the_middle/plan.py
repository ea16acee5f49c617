"""What Lost in the Middle consists of: its factors, its slices, and what each slice depends on.

Paper: Liu et al., arXiv:2307.03172. Sections 3 (multi-document question answering), 4 (key-value
retrieval), 5.2 (the query before and after the data), 6 (open-domain case study), appendices A to C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from needlework.contract import (
    CorpusTable,
    Run,
    Search,
    SliceSettings,
    block_of,
    in_words,
)
from needlework.data.corpora.registry import OWN_PASSAGES
from needlework.given import given
from needlework.prompts.wording import papers_instructions, user_texts

if TYPE_CHECKING:
    from needlework.benchmarks.lost_in_the_middle.settings import LostInTheMiddle
    from needlework.planning.configuration import Configuration

NAME = "lost_in_the_middle"
BESIDE = ("careful",)
# Where the configuration has what the paper's numbers depend on.
SETUP = {
    "corpus": "benchmarks.lost_in_the_middle.needles",
    **{
        key: f"benchmarks.lost_in_the_middle.{key}"
        for key in ("source", "max_new_tokens", "metric")
    },
}

# The questions of the paper, and where distractors of other questions come from.
NQ_OPEN = "nq_open"
HAYSTACKS = {
    "mlqa": "mlqa_passages",
    "xquad": "xquad_passages",
    "nq_gold": "nq_gold_passages",
    "sample_questions": "sample_passages",
}
# Passages of the sample have no titles, so its prompts name none: the gold passage would stand out.
UNTITLED = ("sample_questions",)
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
# How the words of a slice's name after its language read.
_VARIANTS: dict[str, dict[str, str | bool]] = {
    "plain": {},
    "query-aware": {"query_aware": True},
    "random-order": {"order": "random"},
    "random-distractors": {"order": "random", "distractors": "random"},
}
_DOCUMENTS = "documents"
_PAIRS = "pairs"
# What the released files hold (paper, sections 3.3 and 4.2).
RELEASED_DOCUMENTS = 30
RELEASED_PAIRS = (75, 140, 300)
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
    """What the instances of a slice depend on, as `settings` gives it."""

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


def decided(own: LostInTheMiddle) -> dict[str, Any]:
    """The values of the keys that are null: the paper's, as far as the other keys leave them possible."""
    found: dict[str, Any] = {}
    if own.source is None:
        found["source"] = "released" if own.needles == NQ_OPEN else "constructed"
    documents, pairs = _sizes(own), [entry.n for entry in own.n_pairs]
    # The paper's numbers of each ablation (section 5.2, appendices B and C), the run's numbers, and the text
    # that its prompts take.
    for key, value, papers, asked, text in (
        ("query_aware", own.query_aware, (20,), documents, "documents_query_aware"),
        ("random_order", own.random_order, (20,), documents, "documents_random_order"),
        ("random_distractors", own.random_distractors, (20,), documents, "documents"),
        ("query_aware_pairs", own.query_aware_pairs, RELEASED_PAIRS, pairs, "pairs_query_aware"),
    ):
        if value is None:
            found[key] = [n for n in papers if n in asked and _can_ask(own, key, text)]
    return found


def _can_ask(own: LostInTheMiddle, ablation: str, text: str) -> bool:
    """Whether the run's data and instructions have what the prompts of an ablation are made of."""
    if ablation == "random_distractors":
        return own.needles == NQ_OPEN or own.random_from != "wikipedia"
    pairs = ablation == "query_aware_pairs"
    languages = [lang for keys in own.keys for lang in _key_languages(own, keys)]
    worded = {*own.instructions} & {*(languages if pairs else own.languages)}
    return all(user_texts(own.instructions, lang, [text]) for lang in worded)


def slices(own: LostInTheMiddle) -> list[str]:
    """The slices of the benchmark's configuration: one per language, task and ablation.

    `<lang>-documents-<variant>` and `<lang>-pairs-<keys>-<variant>` hold all numbers of documents or
    pairs of that variant, so that each document is tokenized once for all of them.
    """
    tasks = own.tasks
    found = []
    for lang in own.languages:
        kinds = [task.replace("_", "-") for task in ("closed_book", "oracle") if task in tasks]
        if "multi_document_qa" in tasks:
            kinds += [f"{_DOCUMENTS}-{variant}" for variant in _document_numbers(own)]
        if "open_domain" in tasks:
            kinds.append("open-domain")
        found += [f"{lang}-{kind}" for kind in kinds]
    if "key_value" in tasks:
        found += [
            f"{lang}-{_PAIRS}-{keys}-{variant}"
            for keys in own.keys
            for lang in _key_languages(own, keys)
            for variant in _pair_numbers(own)
        ]
    return found


def _document_numbers(own: LostInTheMiddle) -> dict[str, list[int]]:
    """The variants of multi-document question answering, with the numbers of documents of each."""
    numbers = {
        "plain": _sizes(own),
        "query-aware": own.query_aware,
        "random-order": own.random_order,
        "random-distractors": own.random_distractors,
    }
    return {variant: sorted(found) for variant, found in numbers.items() if found}


def _pair_numbers(own: LostInTheMiddle) -> dict[str, list[int]]:
    """The variants of key-value retrieval, with the numbers of pairs of each."""
    numbers = {
        "plain": [entry.n for entry in own.n_pairs],
        "query-aware": own.query_aware_pairs,
    }
    return {variant: sorted(found) for variant, found in numbers.items() if found}


def _key_languages(own: LostInTheMiddle, keys: str) -> list[str]:
    """The languages of keys and values.

    UUIDs are in none: their prompts are in the languages of the user's instructions, otherwise in English.
    """
    if keys == "words":
        return list(own.key_languages)
    worded = [lang for lang in own.key_languages if lang in own.instructions]
    return worded or [_ENGLISH]


def settings(own: LostInTheMiddle, name: str, lengths: list[int]) -> SliceSettings:
    """All that the instances of a slice depend on, other than files and the tokenizer: fields of `Slice`.

    `lengths` is not used: the number of documents or pairs decides how long a prompt is.
    """
    found = _settings(own, name)
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


def _settings(own: LostInTheMiddle, name: str) -> dict[str, Any]:
    """The settings of a slice but for the user's instructions."""
    lang, kind, *rest = name.split("-", 2)
    found: dict[str, Any] = {
        "slice": name,
        "lang": lang,
        "seed": own.seed,
        "max_new_tokens": own.max_new_tokens,
    }
    if kind == _PAIRS:
        keys, _, variant = rest[0].partition("-")
        places = {entry.n: sorted(entry.indices) for entry in own.n_pairs}
        return found | {
            "task": "key_value",
            "keys": keys,
            "source": own.source,
            "words": own.words if keys == "words" else None,
            "examples": own.examples,
            "query_aware": variant == "query-aware",
            "places": [[n, places[n]] for n in _pair_numbers(own)[variant]],
        }
    found |= {"needles": own.needles, "questions": own.questions}
    if own.haystack:
        found["haystack"] = own.haystack
    if kind != _DOCUMENTS:
        found["task"] = name.partition("-")[2].replace("-", "_")
        if found["task"] == "open_domain":
            found["n_passages"] = sorted(own.open_domain)
        return found
    (variant,) = rest
    places = {entry.n: sorted(entry.gold_indices) for entry in own.n_documents}
    found |= {
        "task": "multi_document_qa",
        "source": own.source,
        "query_aware": False,
        "order": "relevance",
        "distractors": "retrieved",
        "places": [[n, places[n]] for n in _document_numbers(own)[variant]],
        **_VARIANTS[variant],
    }
    if found["distractors"] == "random":
        found["random_from"] = own.random_from
    return found


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
    return own.haystack or HAYSTACKS.get(own.needles, f"{own.needles}{OWN_PASSAGES}")


def searches(slice_settings: SliceSettings) -> list[str]:
    """The languages in which a slice needs distractors of our own retrieval."""
    own = Slice(**slice_settings)
    return [own.lang] if own.needles != NQ_OPEN and own.distractors == "retrieved" else []


def search(own: LostInTheMiddle, lang: str) -> Search:
    """The search of distractors in a language: questions, answers and passages are all in it."""
    return Search(own.needles, lang, haystack(own), lang, [lang], ["semantic"], "subspan_screen")


def quotes(own: LostInTheMiddle) -> list[CorpusTable]:
    """Every table that a prompt of this configuration can refer to."""
    found = [
        table
        for name in slices(own)
        for kind, tables in reads(settings(own, name, [])).items()
        if kind != "words"
        for table in tables
    ]
    return list(dict.fromkeys(found))


def conditions(config: Configuration) -> dict[str, bool]:
    """Which prompts a configuration asks, by the names that results have (`Result.when`)."""
    own: LostInTheMiddle = block_of(config, NAME)
    variants, sizes = _document_numbers(own), _sizes(own)
    questions = "multi_document_qa" in own.tasks
    # The paper's figures are of English questions, and of UUIDs.
    english = questions and _ENGLISH in own.languages
    uuids = "key_value" in own.tasks and "uuid" in own.keys
    return {
        "levels": "closed_book" in own.tasks or "oracle" in own.tasks,
        "questions": questions,
        **{f"{n}_documents": questions and n in sizes for n in (10, 20, 30)},
        "english": english,
        "pairs": "key_value" in own.tasks,
        "uuids": uuids,
        "encoder_decoder": english and bool(own.comparisons.encoder_decoder),
        "instruction_tuning": english and bool(own.comparisons.instruction_tuning),
        "query_aware": (english and "query-aware" in variants)
        or (uuids and "query-aware" in _pair_numbers(own)),
        "open_domain": "open_domain" in own.tasks and _ENGLISH in own.languages,
        "random_distractors": english and "random-distractors" in variants,
        "random_order": english and "random-order" in variants,
    }


def _sizes(own: LostInTheMiddle) -> list[int]:
    return [entry.n for entry in own.n_documents]


def notices(own: LostInTheMiddle) -> list[str]:
    """A notice if instructions are English but the user's questions are not."""
    return papers_instructions(NAME, own.needles, own.instructions, own.languages)


def run_settings(config: Configuration) -> Run:
    """The facts on a run that this benchmark's results need, beside those that all results get.

    instruction_tuning: pairs [base, instruction-tuned]. encoder_decoder: models of that architecture.
    tokenizers: all tokenizers, in the order of rows. published_tokenizers: tokenizer to its row in the
    paper's Tables 2 to 4. scored_by: the metric, in words.
    """
    own: LostInTheMiddle = block_of(config, NAME)
    pairs = "key_value" in own.tasks and own.metric not in BESIDE
    used = [config.models[model].tokenizer for model in config.run.models]
    tokenizers = list(dict.fromkeys([*used, *config.run.tokenizers]))
    entries = {name: config.tokenizers[name] for name in tokenizers}
    comparisons: Run = given(own.comparisons)
    return {
        **comparisons,
        "scored_by": own.metric + (", and key_value_accuracy for pairs" if pairs else ""),
        "instructions": sorted(own.instructions),
        "tokenizers": tokenizers,
        # The paper's token counts of GPT-3.5-Turbo are those of its encoding (appendix F).
        "published_tokenizers": {
            name: "GPT-3.5-Turbo"
            for name, entry in entries.items()
            if entry.kind == "tiktoken" and entry.encoding == "cl100k_base"
        },
    }
