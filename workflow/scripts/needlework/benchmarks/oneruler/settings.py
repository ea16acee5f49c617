"""The keys of the benchmark oneruler."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from needlework.benchmarks.oneruler.factors import ARTICLES
from needlework.benchmarks.oneruler.metrics import METRICS
from needlework.scoring.metric import choices, default
from needlework.settings.base import (
    BY_TYPE,
    INTEGER,
    STRING,
    Affects,
    BenchmarkSettings,
    Distinct,
    DistinctPair,
    DistinctSome,
    Language,
    Lines,
    Named,
    Pair,
    Settings,
    Several,
    SomeLines,
    SomeText,
    Text,
    key,
)
from needlework.settings.registered import corpus


class Comparisons(Settings):
    """Models that figures and tables compare."""

    affects: ClassVar[Affects | None] = "results"

    equal_text: Several[Pair[Text]] = key(())
    """Pairs of a model with its own tokenizer and the same model with a common tokenizer (paper,
    appendix D)."""
    reasoning: Distinct[Text] = key(())
    """Reasoning models (paper, Figures 20 and 21)."""


Task = Literal[
    "niah_single",
    "niah_multikey",
    "niah_multivalue",
    "niah_multiquery",
    "niah_none",
    "cwe_easy",
    "cwe_hard",
]


class Oneruler(BenchmarkSettings):
    """The settings of ONERULER."""

    affects: ClassVar[Affects | None] = "prompts"

    data: Literal["oneruler", "sample"] = key("oneruler", chooses_data=True)
    """Books, nouns, dictionaries and prompts: the released ones, or those of the embedded sample."""
    haystack: Annotated[str, corpus("books")] | None = key(None)
    """The texts in which needles are hidden; null is the books of `data`."""
    languages: Distinct[Language] = key(tuple(sorted(ARTICLES)))
    """The languages of prompts whose instruction and context have one language (paper, section 2).
    Write Norwegian as "no", in quotes."""
    cross_lingual: Distinct[DistinctPair[Language]] = key(())
    """Pairs of the instruction's and the context's language; the paper's are the pairs of en, ko and
    pl."""
    tasks: DistinctSome[Task] = key(get_args(Task))
    """Retrieval of needles (paper, section 2.1), and aggregation of common words (section 2.2)."""
    cross_lingual_tasks: DistinctSome[Task] | None = key(None)
    """The tasks of `tasks` that are asked in pairs of languages. Null is all. The paper's are the five
    needle tasks (section 4)."""
    lengths: DistinctSome[Annotated[int, Field(ge=1, le=100_000_000)]] = key(
        (8000, 32000, 64000, 128000)
    )
    """Lengths in tokens of the prompt with room for the answer, counted in the tokenizer that a
    model's entry names. If each model has its own tokenizer, models get equal tokens. If all have the
    same one, they get equal text (paper, appendix D)."""
    examples: int = key(50, ge=1, le=1_000_000)
    """Prompts per cell. A larger number includes all prompts of a smaller one."""
    none_option: DistinctSome[bool] = key((True,))
    """Whether the question ends with the sentence that asks for "none" if there is no such number
    (paper, section 4). Figure 1b compares true and false."""
    without_none_tasks: DistinctSome[
        Literal["niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery"]
    ] = key(("niah_single",))
    """With `none_option` false, the tasks that are asked without that sentence (paper, Figure 14)."""
    without_none_languages: Distinct[Language] | None = key(None)
    """If `none_option` has true and false, the languages that are also asked without that sentence.
    Pairs of languages are then not asked without it. Null is all languages and pairs. The paper's
    Figure 1b is English."""
    multiquery_needles: Literal[2, 4] = key(2)
    """The number of needles of niah_multiquery, of which two are asked for: 2 as in the paper's Figure
    12 and the released code, or 4 as in its section 2.1."""
    cwe_frequencies: Literal["paper", "released"] = key("paper")
    """How often the ten common words and the other words occur in a list of 8000 tokens. `paper` is 30
    and 3 times (cwe_easy), 20 and 10 (cwe_hard), as in its section 2.2. `released` is 10 and 1, 10 and
    5, as in the released code. Longer lists always have the paper's frequencies, shorter lists, which
    have no room for these, the released ones."""
    max_new_tokens: Annotated[
        Annotated[int, Field(ge=1, le=10_000_000), INTEGER]
        | Annotated[Literal["measured", "released"], STRING],
        BY_TYPE,
    ] = key("measured")
    """The limit of the answer, in tokens. The length leaves as much room. `measured` is the longest
    right answer in the tokenizer plus 32 tokens. `released` is 30 for needle tasks and 50 for common
    words, which is too few for ten words in many languages. A number holds for all tasks."""
    full_stops: dict[str, Lines] = key({})
    """The full stops that end a needle, by language, in addition to the released ones ("。" in ja and
    zh, "۔" in fa, "." in all others)."""
    none_words: dict[str, DistinctSome[SomeLines]] = key({}, affects="scores")
    """Words that mean "none", by language, in addition to the known ones."""
    answer_tags: Distinct[SomeText] = key((), affects="scores")
    """Names of the tag around an answer, in addition to those of the 26 languages."""
    wikipedia_articles: dict[str, Annotated[int, Field(ge=0, le=1_000_000_000_000)]] = key(
        {}, affects="results"
    )
    """The number of articles per Wikipedia, by language, in addition to the paper's Table 2. A
    language with less than 250,000 counts as low-resource."""
    metric: Annotated[str, Named(choices(METRICS))] = key(default(METRICS), affects="results")
    """The metric of figures. `strict` reads the answer's tag and whole words or numbers, `released` is
    the released scorer's. Tables have both. `careful` is the second scorer's verdict. The scores
    always have it, tables only if it is named here."""
    comparisons: Comparisons = key(Comparisons, affects="results")
    """Models that figures and tables compare."""
