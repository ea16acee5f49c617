"""The keys of the benchmark mlongrr."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from needlework.benchmarks.mlongrr.metrics import METRICS
from needlework.scoring.metric import choices, default
from needlework.settings.base import (
    Affects,
    AtLeastOne,
    BenchmarkSettings,
    Distinct,
    DistinctSome,
    Language,
    Named,
    Settings,
    Text,
    key,
)
from needlework.settings.registered import corpus


class Needles(Settings):
    """A number of needles, and what is asked about them."""

    n: int = key(ge=1, le=20)
    depths: DistinctSome[Annotated[int, Field(ge=0, le=100)]]
    spread: int | None = key(absent=True, ge=0, le=100)
    questions: DistinctSome[Literal["number", "city"]]


class Mlongrr(BenchmarkSettings):
    """The settings of mLongRR."""

    affects: ClassVar[Affects | None] = "prompts"

    source: Literal["constructed", "released"] = key("constructed", chooses_data=True)
    """`constructed` cuts haystacks from a text. `released` takes the haystacks for GPT-4o in the
    paper's repository, with one and three needles. The files then decide `haystacks`, `data`,
    `examples` (1), `wording`, `budget` and `depth_rule`."""
    haystacks: DistinctSome[Annotated[str, corpus("haystacks")]] = key(("mlongrr_articles",))
    """The texts: the articles of the released files or of your folder, the books of ONERULER, Paul
    Graham's essays (en; Figure 1), or the embedded sample's books. Each further text is compared with
    the first, in the languages of both."""
    data: Literal["mlongrr", "sample"] = key("mlongrr", chooses_data=True)
    """Needles, cities and prompts: those of the paper and of your folder, or those of the embedded
    sample."""
    languages: DistinctSome[Language] = key(("en", "vi", "id", "sw", "so"))
    """The languages of text and needles; the question is in English (paper, section 3.1). The paper's
    repository also has az."""
    lengths: DistinctSome[Annotated[int, Field(ge=1, le=100_000_000)]] = key(
        (2000, 8000, 16000, 32000, 64000)
    )
    """Lengths in tokens of the model's tokenizer; 2K is 2000 (released code)."""
    tasks: AtLeastOne[Needles] = key(
        (
            {"n": 1, "depths": [0, 25, 50, 75, 100], "questions": ["number"]},
            {"n": 2, "depths": [0, 25, 50, 75], "questions": ["number", "city"]},
            {"n": 3, "depths": [0, 25, 50, 75], "questions": ["number", "city"]},
        )
    )
    """Numbers of needles (`n`). `depths` are the depths of the first needle, in percent. The others
    stand within `spread` points behind it (default 25). `questions` ask for the number (the larger of
    two, the largest of more) or for its city. See sections 3.2 and 3.5. With several needles, the
    released files have four depths."""
    absent: Distinct[Annotated[int, Field(ge=1, le=1000)]] = key(())
    """Numbers of needles whose question is also asked, once per length, of a haystack without needles.
    UNANSWERABLE is then right."""
    examples: int = key(1, ge=1, le=1_000_000)
    """Prompts per cell. The paper has one. A larger number includes all prompts of a smaller one."""
    prompts: DistinctSome[Text] = key(("paper",))
    """The prompt templates, by their names in prompts.csv. `paper` is that of section 3.4.
    `released_gpt4`, `released_claude` and `released_yarn` are the notebooks', byte for byte. `prompt2`
    is that of Figure 2. `translated` is in the haystack's language."""
    wording: Literal["paper", "released"] = key("paper")
    """The needle's wording: `paper` has a colon in English and a capital in Indonesian (section
    3.2.1), `released` has neither."""
    budget: Literal["strict", "released"] = key("strict")
    """With `strict`, prompt and answer together fit the length. With `released`, the haystack alone
    has up to 100 tokens less than the length, and needles and prompt come on top."""
    depth_rule: Literal["gpt4o", "gpt4"] = key("gpt4o")
    """The number of sentences before a needle. `gpt4o` is the fewest that have at least the depth's
    percentage of the haystack's tokens (all released files except GPT-4's). `gpt4` is the most that
    have at most this percentage, with each sentence counted alone."""
    max_new_tokens: int = key(50, ge=1, le=10_000_000)
    """The limit of the answer, in tokens (section 3.5)."""
    metric: Annotated[str, Named(choices(METRICS))] = key(default(METRICS), affects="results")
    """The metric of figures. `strict` reads one whole number or city. `released` is the notebooks'
    metric. `released_claude` is that of Claude's notebook, which compares the first two of three
    needles. Tables have all three. `careful` is the second scorer's verdict. The scores always have
    it, tables only if it is named here."""
