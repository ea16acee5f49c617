"""The keys of the benchmark lost_in_the_middle."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from needlework.benchmarks.lost_in_the_middle.metrics import METRICS
from needlework.scoring.metric import choices, default
from needlework.settings.base import (
    BY_TYPE,
    INTEGER,
    STRING,
    Affects,
    AtLeastOne,
    BenchmarkSettings,
    Distinct,
    DistinctSome,
    Language,
    Named,
    Pair,
    Settings,
    Several,
    Text,
    key,
)
from needlework.settings.registered import Instructions, corpus


class Documents(Settings):
    """A number of documents, and where the answer stands among them."""

    n: int = key(ge=1, le=100_000)
    gold_indices: DistinctSome[Annotated[int, Field(ge=0, le=100_000)]]


class Pairs(Settings):
    """A number of pairs, and where the one that is asked for stands."""

    n: int = key(ge=2, le=100_000)
    indices: DistinctSome[Annotated[int, Field(ge=0, le=100_000)]]


class Comparisons(Settings):
    """Models that Figures 11 and 13 compare."""

    affects: ClassVar[Affects | None] = "results"

    instruction_tuning: Several[Pair[Text]] = key(())
    """Pairs of a base model and its instruction-tuned variant."""
    encoder_decoder: Distinct[Text] = key(())
    """Encoder-decoder models."""


class LostInTheMiddle(BenchmarkSettings):
    """The settings of Lost in the Middle."""

    affects: ClassVar[Affects | None] = "prompts"

    metric: Annotated[str, Named(choices(METRICS))] = key(default(METRICS), affects="scores")
    """The metric of tables and figures. `best_subspan_em` is the paper's; key-value pairs have the
    paper's accuracy. `careful` is the second scorer's verdict, which the scores always have."""
    needles: Annotated[str, corpus("questions")] = key("nq_open", chooses_data=True)
    """The corpus of questions and of the passages that answer them. `nq_open` is the paper's, in
    English. `nq_gold` has the same questions, in one file of 1 MB; each stands among the gold passages
    of the other questions. The other corpora have the same tasks in other languages."""
    haystack: Annotated[str, corpus("haystack")] | None = key(None)
    """The corpus of distractors, for `needles` other than `nq_open`. Null is the needles' default: the
    contexts of the other questions, or the sample's passages."""
    source: Literal["released", "constructed"] | None = key(None, chooses_data=True)
    """`released` takes the released prompts. `constructed` builds prompts, from the released results
    of retrieval for `nq_open`, and from our own retrieval for other needles. It draws key-value pairs
    of UUIDs by seed. Null is `released` for the needles `nq_open`, and `constructed` for others."""
    languages: DistinctSome[Text] = key(("en",))
    """The languages of questions and passages."""
    instructions: dict[str, Instructions] = key({})
    """Instructions of your own, by language: a folder with a file `<name>.txt` for each text, or a
    block of these texts. They are `closed_book`, with `{question}`; `documents` and
    `documents_random_order`, with `{documents}` and then `{question}`; `documents_query_aware`, with
    `{question}`, `{documents}` and `{question}`; `document`, the label of a document, with `{number}`;
    `title`, what stands before a document with a title, with `{title}`; `pairs`, with `{pairs}` and
    then `{key}`; `pairs_query_aware`, with `{key}`, `{pairs}` and `{key}`. Languages without an entry
    have the paper's, in English."""
    tasks: DistinctSome[
        Literal["closed_book", "oracle", "multi_document_qa", "key_value", "open_domain"]
    ] = key(("closed_book", "oracle", "multi_document_qa", "key_value", "open_domain"))
    """`closed_book`, `oracle` and `multi_document_qa` ask questions alone, with the answer's passage,
    and among other documents (paper, section 3). `key_value` is key-value retrieval (section 4).
    `open_domain` gives the retrieved passages as they come (section 6)."""
    questions: Annotated[
        Annotated[int, Field(ge=1, le=10_000_000), INTEGER] | Annotated[Literal["all"], STRING],
        BY_TYPE,
    ] = key("all")
    """The number of questions per language, drawn by seed, or `all`."""
    n_documents: AtLeastOne[Documents] = key(
        (
            {"n": 10, "gold_indices": [0, 4, 9]},
            {"n": 20, "gold_indices": [0, 4, 9, 14, 19]},
            {"n": 30, "gold_indices": [0, 4, 9, 14, 19, 24, 29]},
        )
    )
    """Numbers of documents per prompt (`n`), each with the indices, from 0, at which the answer's
    document stands (`gold_indices`). The released prompts have at most 30 documents."""
    query_aware: Distinct[Annotated[int, Field(ge=1, le=100_000)]] | None = key(None)
    """Numbers of documents for which the question also stands before the documents (section 5.2). Null
    is the paper's 20, if `n_documents` has 20 and your own `instructions`, if any, have the text."""
    random_order: Distinct[Annotated[int, Field(ge=1, le=100_000)]] | None = key(None)
    """Numbers of documents for which the distractors are shuffled and the instruction says so
    (appendix C). For `nq_open` with `run.seed` 0, the order is the released code's. Null is the
    paper's 20, if `n_documents` has 20 and your own `instructions`, if any, have the text."""
    random_distractors: Distinct[Annotated[int, Field(ge=1, le=100_000)]] | None = key(None)
    """Numbers of documents for which the distractors are drawn at random (appendix B). Null is the
    paper's 20, if `n_documents` has 20 and `random_from` is possible with these `needles`."""
    random_from: Literal["wikipedia", "other_questions"] = key("wikipedia")
    """The source of random distractors: a sample of Wikipedia, as in the paper (a download of 4.7 GB),
    or passages that were retrieved for other questions."""
    open_domain: DistinctSome[Annotated[int, Field(ge=1, le=100_000)]] = key(
        (5, 10, 20, 30, 40, 50)
    )
    """Numbers of retrieved passages per prompt (section 6)."""
    n_pairs: AtLeastOne[Pairs] = key(
        (
            {"n": 75, "indices": [0, 24, 49, 74]},
            {"n": 140, "indices": [0, 34, 69, 104, 139]},
            {"n": 300, "indices": [0, 49, 99, 149, 199, 249, 299]},
        )
    )
    """Numbers of key-value pairs per prompt (`n`), each with the indices, from 0, at which the pair
    that is asked for stands (`indices`)."""
    query_aware_pairs: Distinct[Annotated[int, Field(ge=2, le=100_000)]] | None = key(None)
    """Numbers of pairs for which the key also stands before the pairs (section 5.2). Null is those of
    the paper's 75, 140 and 300 that `n_pairs` has, if your own `instructions`, if any, have the text."""
    keys: DistinctSome[Literal["uuid", "words"]] = key(("uuid",))
    """The kind of keys and values: `uuid` (the paper's), or `words` of a language."""
    words: Annotated[str, corpus("words")] = key("oneruler_words")
    """The corpus of words for `keys`."""
    key_languages: DistinctSome[Language] = key(("en",))
    """The languages of words. UUIDs have no language: their prompts are in each of these languages
    that has `instructions`, and in English if none has."""
    examples: int = key(500, ge=1, le=1_000_000)
    """Examples per number of pairs. If more are released, a sample is drawn by seed."""
    max_new_tokens: int = key(100, ge=1, le=10_000_000)
    """The limit of the answer, in tokens (released code). With another limit, accuracies are not
    compared with the paper's."""
    comparisons: Comparisons = key(Comparisons, affects="results")
    """Models that Figures 11 and 13 compare."""
