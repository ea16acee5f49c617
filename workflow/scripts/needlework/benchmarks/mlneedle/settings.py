"""The keys of the benchmark mlneedle."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.scoring.metric import choices, default
from needlework.settings.base import (
    ARRAY,
    BY_TYPE,
    INTEGER,
    STRING,
    Affects,
    BenchmarkSettings,
    DistinctSome,
    Named,
    Pair,
    Settings,
    Several,
    Text,
    key,
)
from needlework.settings.registered import Instructions, corpus


class Comparisons(Settings):
    """Pairs of models for Tables 3 and 4 and Figure 8."""

    affects: ClassVar[Affects | None] = "results"

    instruction_tuning: Several[Pair[Text]] = key(())
    """Pairs of a base model and its instruction-tuned variant."""
    decoding: Several[Pair[Text]] = key(())
    """Pairs of a model with greedy decoding and the same model with sampling."""


class Mlneedle(BenchmarkSettings):
    """The settings of MLNeedle."""

    affects: ClassVar[Affects | None] = "prompts"

    needles: Annotated[str, corpus("needles")] = key("mlqa", chooses_data=True)
    """The corpus of questions and needles."""
    haystack: Annotated[str, corpus("haystack")] = key("mmarco")
    """The corpus of distractors."""
    needle_languages: DistinctSome[Text] = key(("en", "de", "es", "zh", "vi", "hi", "ar"))
    """The needle's language (paper, section 2.1)."""
    haystack_languages: DistinctSome[Text] = key(
        ("en", "de", "es", "zh", "vi", "hi", "ar", "multilingual")
    )
    """The distractors' language. `multilingual` mixes the languages of the key `multilingual`."""
    question_lang: Text | None = key(None)
    """The question's language. Null is English if the corpus of `needles` has it, otherwise the first
    of `needle_languages`."""
    instructions: dict[str, Instructions] = key({})
    """Instructions of your own, by the language of the question: a folder with a file `<name>.txt` per
    text, or a block of these texts. The texts are `exact` and `existence`, with `{passages}` and then
    `{question}`, `closed_book`, with `{question}`, and `yes` and `no`, the two answers that
    `existence` asks for. Languages without an entry have the paper's English instructions."""
    answer_languages: DistinctSome[Text] | None = key(None)
    """Answers in these languages are accepted, and no distractor contains such an answer. Null is all
    languages of the corpus of `needles`. A further needle language then changes no other prompt."""
    questions: Annotated[
        Annotated[int, Field(ge=1, le=10_000_000), INTEGER] | Annotated[Literal["all"], STRING],
        BY_TYPE,
    ] = key(100)
    """The number of questions per needle language, drawn by seed, or `all`."""
    aligned: bool = key(False)
    """Draw only items that all of `answer_languages` have, the same for each needle language, so that
    languages are compared on equal questions. MLQA has no item in all seven languages; XQuAD has all
    items in all of its languages."""
    lengths: DistinctSome[Annotated[int, Field(ge=1, le=100_000_000)]] = key(
        (4096, 8192, 16384, 32768)
    )
    """Prompt lengths in tokens of each model's tokenizer."""
    positions: Annotated[
        Annotated[DistinctSome[Literal["start", "middle", "end"]], ARRAY]
        | Annotated[int, Field(ge=2, le=1000), INTEGER],
        BY_TYPE,
    ] = key(("start", "middle", "end"))
    """The paper's `start`, `middle` and `end`, or a number of equally spaced positions."""
    retrieval: DistinctSome[Literal["semantic", "random"]] = key(("semantic",))
    """Distractors near the question (`semantic`), or drawn by seed (`random`)."""
    tasks: DistinctSome[Literal["exact", "existence", "closed_book"]] = key(("exact",))
    """Exact accuracy, existence accuracy (paper, section 2.4), and closed book (ours)."""
    needle_absent: bool = key(True)
    """Also ask for existence without a needle. The paper does not: there, a model that always says Yes
    has full existence accuracy."""
    truncate_last: bool = key(True)
    """Fill the rest of the budget with the beginning of one more distractor, as the released code
    does."""
    strip_context: bool = key(False)
    """Leave out white space behind the last passage, as the released code does."""
    max_new_tokens: int = key(128, ge=1, le=10_000_000)
    """The limit of the answer, in tokens (released code)."""
    multilingual: DistinctSome[Text] = key(("en", "de", "es", "zh", "vi", "hi", "ar"))
    """The languages that the haystack `multilingual` mixes."""
    metric: Annotated[str, Named(choices(METRICS))] = key(default(METRICS), affects="scores")
    """The metric of tables and figures. `containment` is the paper's exact accuracy, `released` the
    released scorer's. `released_semantic` also accepts answers whose embedding (all-mpnet-base-v2) is
    near a reference's. `careful` is the second scorer's verdict, which the scores always have."""
    comparisons: Comparisons = key(Comparisons, affects="results")
    """Pairs of models for Tables 3 and 4 and Figure 8."""
