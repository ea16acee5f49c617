"""The prompt around the text, assembled from the released files of a language's prompts as released.

Keys and placeholders are those of `niah.txt` (an object of strings) and `cwe.txt` (one template).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

# Tokens that an answer may take beyond the question said again and the longest right answer.
SPARE_TOKENS = 32

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Example(NamedTuple):
    """A finished prompt: span numbers, text, tokens and accepted answers. `exhausted`: it has all words."""

    numbers: Sequence[int]
    text: str
    n_tokens: int
    references: list[str]
    exhausted: bool = False


def texts_of(table: pa.Table) -> dict[str, str]:
    """A language's prompts by key, of a table with the columns `key` and `text`.

    What reads the files has checked that each key is there and has its placeholders and no other.
    """
    return dict(zip(table["key"].to_pylist(), table["text"].to_pylist(), strict=True))


def corpus_file(data: str, part: str, lang: str) -> str:
    """The file of a corpus table, for messages. Its log names the files that it was read from."""
    return f"results/corpora/{data}_{part}/{lang}.parquet"


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with values in the place of its placeholders; nothing in it is evaluated."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


@dataclass(frozen=True)
class NeedlePrompt:
    """The prompt of the tasks with needles: `head`, the text with its needles, `middle`, the question, `end`.

    `joint` stands between sentences of the text, and between the sentences of the instruction: as
    released, both follow the context's language. `none` is the answer where nothing was found.
    """

    instruction: Mapping[str, str]
    context: Mapping[str, str]
    joint: str
    full_stop: str

    @property
    def head(self) -> str:
        """The text before the haystack."""
        return self.instruction["task"].partition("{context}")[0]

    @property
    def middle(self) -> str:
        """The text between the haystack and the question."""
        return self.instruction["task"].partition("{context}")[2]

    @property
    def end(self) -> str:
        """The text after the question."""
        return self.instruction["answer_prefix"] + self.joint + self.instruction["answer_numbers"]

    @property
    def around_answer(self) -> str:
        """Texts that an answer may repeat beside its numbers: the question and the format line."""
        question = self.instruction["question_single_numbers"]
        return f"{question}\n{self.instruction['answer_numbers']}"

    @property
    def none(self) -> str:
        """The answer where there is no such number."""
        return self.instruction["none"]

    def question(self, keys: Sequence[str], *, none_option: bool) -> str:
        """The question for one or two keys, with or without the sentence that offers to answer "none".

        That sentence's text also closes the question's tag, which stays (paper, Figure 14).
        """
        names = [f"query{i}" for i in range(1, len(keys) + 1)]
        template = "question_single_numbers" if len(keys) == 1 else "question_multi_numbers"
        asked = filled(self.instruction[template], dict(zip(names, keys, strict=True)))
        listing = asked + self.joint + self.instruction["please_list"]
        sentence = self.instruction["if_no_numbers"]
        if none_option:
            return listing + self.joint + sentence
        tag = sentence.rfind("</")
        return listing + sentence[tag if tag >= 0 else len(sentence.rstrip()) :]

    def needle(self, key: str, value: str) -> str:
        """The sentence that says a key's value."""
        template = self.context["needle_numbers"].rstrip()
        return filled(template, {"key": key, "value": value}) + self.full_stop


@dataclass(frozen=True)
class WordPrompt:
    """The prompt of the tasks of common words: the list is put between every two of its `pieces`.

    The released template has the list once, in Vietnamese twice.
    """

    instruction: Mapping[str, str]

    @property
    def pieces(self) -> list[str]:
        """The texts before, between and after the lists."""
        return self.instruction["cwe"].split("{context}")

    @property
    def around_answer(self) -> str:
        """Texts that an answer may repeat beside its words: the question and the format line."""
        return self.pieces[-1].strip()
