"""How much of each source is read, and data sets of users' own."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from needlework.settings.base import (
    CODE,
    QUOTED,
    Affects,
    PathText,
    Settings,
    Several,
    SomePath,
    SomeText,
    Text,
    key,
    wrong,
)


class Mlqa(Settings):
    """What is read of MLQA."""

    affects: ClassVar[Affects | None] = "prompts"

    split: Literal["dev", "test"] = key("test")
    """The split of MLQA that has the needles."""


class Mmarco(Settings):
    """What is read of mMARCO."""

    affects: ClassVar[Affects | None] = "prompts"

    prefix_mb: int | None = key(128, affects="files", ge=1, le=100_000)
    """The number of megabytes to download of each collection, from its beginning. Null downloads the
    whole files (3 to 8 GB per language)."""
    pool: int = key(100_000, ge=1, le=100_000_000)
    """Passages are sampled among ids below this number. `prefix_mb` must reach this id in every
    language. The whole collection has 8841823 passages."""
    passages: int = key(10_000, ge=1, le=100_000_000)
    """The number of sampled passages; the same ids in every language (MLNeedle, appendix A)."""

    @model_validator(mode="after")
    def _the_pool_has_the_passages(self) -> Self:
        if self.passages > self.pool:
            raise wrong(
                ".passages",
                f"is {self.passages}, more than the pool of {self.pool}: raise sources.mmarco.pool.",
            )
        return self


class OnerulerTexts(Settings):
    """Texts for ONERULER."""

    affects: ClassVar[Affects | None] = "prompts"

    folder: PathText | None = key(None, affects="files")
    """A folder with further languages for ONERULER, or other texts for known ones (see
    docs/adding-a-language.md)."""


class MlongrrTexts(Settings):
    """Texts for mLongRR."""

    affects: ClassVar[Affects | None] = "prompts"

    folder: PathText | None = key(None, affects="files")
    """A folder for mLongRR with texts (`<language>/*.txt`) and further needles, cities and prompts
    (needles.csv, cities.csv, prompts.csv, with the columns of the files in resources/mlongrr)."""


class Sources(Settings):
    """How much of each source is read."""

    mlqa: Mlqa = key(Mlqa)
    mmarco: Mmarco = key(Mmarco)
    oneruler: OnerulerTexts = key(OnerulerTexts)
    mlongrr: MlongrrTexts = key(MlongrrTexts)


class Columns(Settings):
    """The columns of a data set, by field."""

    id: Text | None = key(absent=True)
    """The item's id, the same in every language. Without this column, the row's number."""
    title: Text | None = key(absent=True)
    """The item's title."""
    text: Text | None = key(absent=True)
    """The text of a passage, a text or a record."""
    context: Text | None = key(absent=True)
    """The passage that answers the question."""
    question: Text | None = key(absent=True)
    """The question."""
    answers: Text | None = key(absent=True)
    """The accepted answers, one or a list; for questions, those that occur in the context."""
    label: Text | None = key(absent=True)
    """The class of a record."""
    parts: Text | None = key(absent=True)
    """The paragraphs of a record, a list."""


class OwnData(Settings):
    """The data of a language."""

    name: Text | None = key(None)
    """A data set of the Hugging Face hub. HF_ENDPOINT and HF_TOKEN are used."""
    revision: Text | None = key(None)
    """Its commit, 40 digits."""
    subset: Text | None = key(None)
    """Its configuration, if it has several."""
    split: Text = key("train")
    """Its split."""
    files: Several[SomePath] = key(())
    """Local files instead of `name`: all `.parquet`, all `.jsonl` or all `.csv`. `*` in a file's name
    matches any characters; every other character matches itself. A file that several names match is
    read once."""

    @model_validator(mode="after")
    def _data_have_one_place(self) -> Self:
        if (self.name is None) == (not self.files):
            raise wrong("", "needs either `name`, a data set of the hub, or local `files`.")
        if not self.files and not re.fullmatch("[0-9a-f]{40}", self.revision or ""):
            raise wrong(
                ".revision",
                f"is {self.revision!r}, which is not a commit: copy its 40 digits from the data set's page "
                "(Files and versions), so that every run reads the same rows.",
            )
        return self


class OwnCorpus(Settings):
    """A data set of the user's own."""

    affects: ClassVar[Affects | None] = "prompts"

    kind: Literal["questions", "passages", "texts", "records"]
    """`questions` serve as needles (MLNeedle, Lost in the Middle), `passages` as distractors there,
    `texts` as the haystacks of ONERULER and mLongRR, `records` as the source of a task of M4LE."""
    columns: Columns
    """The column of the data set for each field. `questions` need `question`, `context` and `answers`;
    the other kinds need `text`. A dot names a field inside a column, as in `answers.text`, unless a
    column has exactly this name."""
    separator: SomeText | None = key(None)
    """The separator of a list in one text, such as `|` in answers of a CSV file. Null splits nothing.
    In a CSV file, a list can also be JSON."""
    rows: int | None = key(10_000, ge=1, le=1_000_000_000)
    """The number of rows to read per language, from the first. Null reads all."""
    languages: Annotated[dict[str, OwnData], Field(min_length=1)]
    """The data of each language, by its code."""

    @model_validator(mode="after")
    def _columns_are_those_of_the_kind(self) -> Self:
        needed = ("question", "context", "answers") if self.kind == "questions" else ("text",)
        for name in needed:
            if getattr(self.columns, name) is None:
                raise wrong(
                    ".columns", f"lacks {name!r}, which `kind: {self.kind}` needs: name the column."
                )
        return self

    @model_validator(mode="after")
    def _languages_have_codes(self) -> Self:
        for code in self.languages:
            if not re.fullmatch(CODE, code):
                read = f" ({QUOTED})" if code in ("True", "False") else ""
                raise wrong(
                    f".languages.{code}",
                    f"is not a language's code: use small letters and digits{read}.",
                )
        return self
