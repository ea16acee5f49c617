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

    split: Literal["dev", "test"] = key("The split of MLQA that has the needles.", "test")


class Mmarco(Settings):
    """What is read of mMARCO."""

    affects: ClassVar[Affects | None] = "prompts"

    prefix_mb: int | None = key(
        "The number of megabytes to download of each collection, from its beginning. Null "
        "downloads the whole files (3 to 8 GB per language).",
        128,
        affects="files",
        ge=1,
        le=100_000,
    )
    pool: int = key(
        "Passages are sampled among ids below this number. `prefix_mb` must reach this id in "
        "every language. The whole collection has 8841823 passages.",
        100_000,
        ge=1,
        le=100_000_000,
    )
    passages: int = key(
        "The number of sampled passages; the same ids in every language (MLNeedle, appendix A).",
        10_000,
        ge=1,
        le=100_000_000,
    )

    @model_validator(mode="after")
    def _the_pool_has_the_passages(self) -> Self:
        if self.passages > self.pool:
            raise wrong(
                ".passages",
                f"is {self.passages}, more than the pool of {self.pool}: raise sources.mmarco.pool.",
            )
        return self


class Oneruler(Settings):
    """Texts for ONERULER."""

    affects: ClassVar[Affects | None] = "prompts"

    folder: PathText | None = key(
        "A folder with further languages for ONERULER, or other texts for known ones (see "
        "docs/adding-a-language.md).",
        None,
        affects="files",
    )


class Mlongrr(Settings):
    """Texts for mLongRR."""

    affects: ClassVar[Affects | None] = "prompts"

    folder: PathText | None = key(
        "A folder for mLongRR with texts (`<language>/*.txt`) and further needles, cities and "
        "prompts (needles.csv, cities.csv, prompts.csv, with the columns of the files in "
        "resources/mlongrr).",
        None,
        affects="files",
    )


class Sources(Settings):
    """How much of each source is read."""

    mlqa: Mlqa = key("", Mlqa)
    mmarco: Mmarco = key("", Mmarco)
    oneruler: Oneruler = key("", Oneruler)
    mlongrr: Mlongrr = key("", Mlongrr)


class Columns(Settings):
    """The columns of a data set, by field."""

    id: Text | None = key(
        "The item's id, the same in every language. Without this column, the row's number.",
        absent=True,
    )
    title: Text | None = key("The item's title.", absent=True)
    text: Text | None = key("The text of a passage, a text or a record.", absent=True)
    context: Text | None = key("The passage that answers the question.", absent=True)
    question: Text | None = key("The question.", absent=True)
    answers: Text | None = key(
        "The accepted answers, one or a list; for questions, those that occur in the context.",
        absent=True,
    )
    label: Text | None = key("The class of a record.", absent=True)
    parts: Text | None = key("The paragraphs of a record, a list.", absent=True)


class OwnData(Settings):
    """The data of a language."""

    name: Text | None = key(
        "A data set of the Hugging Face hub. HF_ENDPOINT and HF_TOKEN are used.", None
    )
    revision: Text | None = key("Its commit, 40 digits.", None)
    subset: Text | None = key("Its configuration, if it has several.", None)
    split: Text = key("Its split.", "train")
    files: Several[SomePath] = key(
        "Local files instead of `name`: all `.parquet`, all `.jsonl` or all `.csv`. `*` in a "
        "file's name matches any characters; every other character matches itself. A file that "
        "several names match is read once.",
        (),
    )

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

    kind: Literal["questions", "passages", "texts", "records"] = key(
        "`questions` serve as needles (MLNeedle, Lost in the Middle), `passages` as distractors "
        "there, `texts` as the haystacks of ONERULER and mLongRR, `records` as the source of a "
        "task of M4LE."
    )
    columns: Columns = key(
        "The column of the data set for each field. `questions` need `question`, `context` and "
        "`answers`; the other kinds need `text`. A dot names a field inside a column, as in "
        "`answers.text`, unless a column has exactly this name."
    )
    separator: SomeText | None = key(
        "The separator of a list in one text, such as `|` in answers of a CSV file. Null splits "
        "nothing. In a CSV file, a list can also be JSON.",
        None,
    )
    rows: int | None = key(
        "The number of rows to read per language, from the first. Null reads all.",
        10_000,
        ge=1,
        le=1_000_000_000,
    )
    languages: Annotated[dict[str, OwnData], Field(min_length=1)] = key(
        "The data of each language, by its code."
    )

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
