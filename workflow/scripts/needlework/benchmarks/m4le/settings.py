"""The keys of the benchmark m4le."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from needlework.benchmarks.m4le.metrics import METRICS
from needlework.scoring.metric import choices, default
from needlework.settings.base import (
    ARRAY,
    BY_TYPE,
    STRING,
    Affects,
    BenchmarkSettings,
    DistinctSome,
    Named,
    PathText,
    Settings,
    Text,
    key,
)
from needlework.settings.registered import Instructions, corpus


class Places(Settings):
    """Further rows in which the asked document moves."""

    places: int = key(0, ge=0, le=10000)
    """The number of places, evenly spaced from the first to the last. 0 makes no such rows."""
    candidates: int = key(20, ge=2, le=100_000)
    """The number of documents, if the source has that many."""
    examples: int = key(100, ge=1, le=1_000_000)
    """The number of questions per task. For the topics of WoW and DRCD, twice as many."""


class M4le(BenchmarkSettings):
    """The settings of M4LE."""

    affects: ClassVar[Affects | None] = "prompts"

    source: Literal["released", "constructed", "sample"] = key("released", chooses_data=True)
    """`released` takes the rows of the hub. `constructed` makes rows from the source data sets by the
    paper's rules, `sample` from the embedded texts in English and Chinese."""
    release: Literal["2023", "2024"] = key("2024")
    """The release of `source: released`. `2024` has lengths up to 128000. `2023` is the paper's and
    has lengths up to 32000."""
    folder: PathText | None = key(None)
    """The folder of the source data sets for `source: constructed`, in the layout of M4LE's raw_data.
    The error for a missing file says where to get it."""
    records: dict[str, Annotated[str, corpus("records")]] = key({})
    """With `source: constructed`, corpora of your own (`corpora`, of the kind `records`) instead of a
    task's source data set, by the task's name. The prompt keeps the task's wording unless
    `instructions` has another."""
    instructions: dict[str, Instructions] = key({})
    """The wording of tasks with `records`, by the language of the records: a folder with a file
    `<name>.txt` for each text, or a block of these texts. A name is a task and a text, such as
    `cnnnews.item`. The texts are those of `instruction`, `opening`, `item`, `end` and `answer` that
    the task's wording has, with its placeholders. `example` may be left out, and so may `late`, an
    example behind the items. A task has the language of its texts, or without texts the paper's
    wording and language."""
    skip_missing: bool = key(False)
    """With `source: constructed`, leave out the tasks whose source is not in the folder, and say
    which."""
    tasks: Annotated[
        Annotated[DistinctSome[Text], ARRAY] | Annotated[Literal["all"], STRING], BY_TYPE
    ] = key("all")
    """The tasks, by the names of their files (paper, Table 2), or `all` of the paper that the source
    has. `source: constructed` also has tasks in further languages, which `all` leaves out: tedtalks,
    open-subtitles and news-commentary from and into ar, cs, de, es, fr, hi, id, it, nl, pt and ru
    (`tedtalks-en2de`, `tedtalks-de2en`), and `marc-de`, `marc-es`, `marc-fr`."""
    lengths: DistinctSome[Annotated[int, Field(ge=100, le=100_000_000)]] = key(
        (1000, 2000, 4000, 6000, 8000)
    )
    """The lengths (the paper's buckets). They count the words of English texts, the characters of
    Chinese texts, or both. Prompts have about 1.4 times as many tokens, and more in tokenizers without
    Chinese."""
    examples: int = key(200, ge=1, le=1_000_000)
    """The number of rows drawn per task and length. All released rows are taken."""
    positions: Places = key(Places)
    """Further rows of ten tasks: the same documents and question, with the asked document at each
    place (paper, Figure 6 and appendix B). Their length is 0. Not possible with `source: released`."""
    closed_book: bool = key(False)
    """Also ask the questions of the six question answering tasks without texts, to check whether a
    model knows the data."""
    max_new_tokens: Literal["released", "types"] = key("released")
    """The limit of the answer. `released` is the length (up to 128000 tokens, most of which scoring
    cuts off). `types` has a limit per task type, above its longest gold answers."""
    metric: Annotated[str, Named(choices(METRICS))] = key(default(METRICS), affects="results")
    """The metric of tables and figures. With `paper`, a gold answer scores 1. `released` has the
    faults of the released scorer (docs/fidelity.md). `careful` is the second scorer's verdict; texts
    without one right answer have none. Scores have all three."""
    reference: Text = key("published", affects="results")
    """The reference scores of normalised scores: a model of this configuration, by its name, or
    `published`, the paper's GPT-3.5-Turbo-16K at the length 1000."""
