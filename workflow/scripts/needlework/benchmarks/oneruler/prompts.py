"""ONERULER's prompts of a pair of languages: every task, length and example, to an exact budget."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from needlework.benchmarks.oneruler.cwe import WordTasks
from needlework.benchmarks.oneruler.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.oneruler.haystack import Haystack
from needlework.benchmarks.oneruler.niah import NeedleTasks, nouns
from needlework.benchmarks.oneruler.plan import NAME, NEEDLES, Slice, needles, variants
from needlework.benchmarks.oneruler.plan import haystack as haystack_of
from needlework.benchmarks.oneruler.templates import Example, NeedlePrompt, WordPrompt, texts_of
from needlework.contract import Built, SliceSettings
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer

logger = logging.getLogger(__name__)

# A prompt, and the columns of its row.
Made: TypeAlias = tuple[Example, dict[str, Any]]

Tables = Mapping[str, Mapping[str, pa.Table]]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice, and the lists of words that they refer to.

    `slice_settings` is what `plan.settings` gives; `tables` holds the corpora "books", "nouns", "words" and
    "prompts", each by language; `templates` is empty, since the prompts are data. The count
    `ambiguous_nouns` is the number of nouns that cannot be keys in this pair of languages; the log names
    them.
    """
    own = Slice(**slice_settings)
    pieces = Pieces(tokenizer, max(own.lengths))
    builder = _Builder(own, tables, pieces, tokenizer.reserve)
    n = len(variants(own)) * len(own.lengths) * own.examples
    instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, pieces)
    for made, row in progress(builder.rows(), desc="prompts", unit="prompt", total=n):
        instances.add(made.numbers, made.text, **row)
    return Built(instances.table(), builder.counts, builder.documents())


class _Builder:
    """The tasks of a slice, and the room that their answers take."""

    def __init__(self, own: Slice, tables: Tables, pieces: Pieces, reserve: int) -> None:
        self._own, self._reserve = own, reserve
        instruction, context = own.instruction_lang, own.context_lang
        prompts = {lang: texts_of(table) for lang, table in tables["prompts"].items()}
        self._niah: NeedleTasks | None = None
        self._cwe: WordTasks | None = None
        self.counts: dict[str, int] = {}
        tasks = {task for task, _ in variants(own)}
        if tasks & set(NEEDLES):
            book = tables["books"][context]
            most = max(own.lengths)
            haystack = Haystack(haystack_of(own), context, book, pieces, most)
            prompt = NeedlePrompt(
                prompts[instruction], prompts[context], haystack.joint, own.full_stop
            )
            keys = nouns(tables["nouns"], instruction, context)
            self._niah = NeedleTasks(own, prompt, haystack, keys, pieces)
            self.counts["ambiguous_nouns"] = len(keys.left_out)
            if keys.left_out:
                logger.info(
                    "nouns that are not used as keys (rows from 0): %s", "; ".join(keys.left_out)
                )
        if tasks - set(NEEDLES):
            words = tables["words"][context]["word"].to_pylist()
            self._cwe = WordTasks(own, WordPrompt(prompts[instruction]), words, pieces)

    def rows(self) -> Iterator[Made]:
        """A row of every prompt: each task, length and example."""
        for task, none_option in variants(self._own):
            if task in NEEDLES:
                yield from self._with_needles(task, none_option)
            else:
                yield from self._with_words(task)

    def documents(self) -> pa.Table | None:
        """The lists of words, once all prompts are made."""
        return self._cwe.documents() if self._cwe else None

    def _with_needles(self, task: str, none_option: bool) -> Iterator[Made]:
        assert self._niah is not None
        hidden = needles(self._own, task)
        draws = list(self._niah.draws(task, hidden))
        room = self._own.max_new_tokens["niah"] or self._niah.room()
        for length in self._own.lengths:
            for index, drawn in enumerate(draws):
                made = self._niah.build(
                    drawn, length - room - self._reserve, none_option=none_option
                )
                if made is None:
                    raise self._too_short(task, length, "two sentences")
                factors = {
                    "length": length,
                    "none_option": none_option,
                    "n_needles": len(drawn.needles),
                }
                metric = "numbers" if hidden.present else "none"
                yield self._row(task, index, made, factors, metric, room)

    def _with_words(self, task: str) -> Iterator[Made]:
        assert self._cwe is not None
        room = self._own.max_new_tokens["cwe"] or self._cwe.room()
        for length in self._own.lengths:
            for index in range(self._own.examples):
                made = self._cwe.build(task, length, index, length - room - self._reserve)
                if made is None:
                    raise self._too_short(task, length, "eleven different words")
                factors = {"length": length, "none_option": False, "n_needles": 0}
                yield self._row(task, index, made, factors, "words", room)

    def _row(
        self,
        task: str,
        index: int,
        made: Example,
        factors: Mapping[str, object],
        metric: str,
        room: int,
    ) -> Made:
        own = self._own
        languages = {"instruction_lang": own.instruction_lang, "context_lang": own.context_lang}
        factors = {**languages, **factors, "exhausted": made.exhausted}
        return made, {
            **factors,
            "task": task,
            "example_id": f"{task}-{index:03}",
            "references": made.references,
            "metric": metric,
            "max_new_tokens": room,
            "n_tokens": made.n_tokens,
        }

    def _too_short(self, task: str, length: int, what: str) -> UserError:
        pair = dict.fromkeys([self._own.instruction_lang, self._own.context_lang])
        return UserError(
            f"benchmarks.{NAME}.lengths has {length}, but in language {' and '.join(map(repr, pair))} the "
            f"prompt of {task} with {what} and room for its answer is longer: leave the length out, or "
            "lower max_new_tokens or the tokenizer's `reserve`."
        )
