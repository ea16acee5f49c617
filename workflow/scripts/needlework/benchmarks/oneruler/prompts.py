"""ONERULER's prompts of a pair of languages: every task, length and example, to an exact budget."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import product

import pyarrow as pa

from needlework.benchmarks.oneruler.cwe import WordTasks
from needlework.benchmarks.oneruler.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.oneruler.niah import Haystack, NeedleTasks, nouns
from needlework.benchmarks.oneruler.plan import NAME, NEEDLES, Slice, variants
from needlework.benchmarks.oneruler.plan import haystack as haystack_of
from needlework.contract import Built, SliceSettings
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer

logger = logging.getLogger(__name__)

Tables = Mapping[str, Mapping[str, pa.Table]]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice, and the lists of words that they refer to.

    `slice_settings` is the result of `plan.settings`. `tables` holds the corpora "books", "nouns", "words"
    and "prompts", each by language. `templates` is empty, since the prompts are data. The count
    `ambiguous_nouns` is the number of nouns that cannot be keys in this pair of languages; the log names
    them.
    """
    own = Slice(**slice_settings)
    pieces = Pieces(tokenizer, max(own.lengths))
    asked, counts = variants(own), dict[str, int]()
    prompts = {
        lang: dict(zip(table["key"].to_pylist(), table["text"].to_pylist(), strict=True))
        for lang, table in tables["prompts"].items()
    }
    if any(task in NEEDLES for task, _ in asked):
        niah = _needle_tasks(own, tables, prompts, pieces, counts)
        draws = {task: niah.draws(task) for task, _ in asked if task in NEEDLES}
    cwe = None
    if any(task not in NEEDLES for task, _ in asked):
        words = tables["words"][own.context_lang]["word"].to_pylist()
        cwe = WordTasks(own, prompts[own.instruction_lang]["cwe"], words, pieces)
    instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, pieces)
    each = list(product(asked, own.lengths, range(own.examples)))
    for (task, none_option), length, index in progress(each, desc="prompts", unit="prompt"):
        if cwe is not None and task not in NEEDLES:
            room, metric, n_needles, least = cwe.room, "words", 0, "eleven different words"
            made = cwe.build(task, length, index, length - room - tokenizer.reserve)
        else:
            drawn = draws[task][index]
            room, n_needles, least = niah.room, len(drawn.needles), "two sentences"
            metric = "numbers" if NEEDLES[task].present else "none"
            budget = length - room - tokenizer.reserve
            made = niah.build(drawn, budget, none_option=none_option)
        if made is None:
            pair = " and ".join(map(repr, dict.fromkeys([own.instruction_lang, own.context_lang])))
            raise UserError(
                f"benchmarks.{NAME}.lengths has {length}, but in language {pair} the prompt of {task} with "
                f"{least} and room for its answer is longer: leave the length out, or lower max_new_tokens "
                "or the tokenizer's `reserve`."
            )
        instances.add(
            made.numbers,
            made.text,
            instruction_lang=own.instruction_lang,
            context_lang=own.context_lang,
            length=length,
            none_option=none_option,
            n_needles=n_needles,
            exhausted=made.exhausted,
            task=task,
            example_id=f"{task}-{index:03}",
            references=made.references,
            metric=metric,
            max_new_tokens=room,
            n_tokens=made.n_tokens,
        )
    return Built(instances.table(), counts, cwe.documents() if cwe else None)


def _needle_tasks(
    own: Slice,
    tables: Tables,
    prompts: Mapping[str, Mapping[str, str]],
    pieces: Pieces,
    counts: dict[str, int],
) -> NeedleTasks:
    """The tasks with needles, which hide and ask nouns; those that cannot be keys are counted and logged."""
    context = own.context_lang
    book = tables["books"][context]
    haystack = Haystack(haystack_of(own), context, book, pieces, max(own.lengths))
    keys = nouns(tables["nouns"], own.instruction_lang, context)
    counts["ambiguous_nouns"] = len(keys.left_out)
    if left_out := "; ".join(keys.left_out):
        logger.info("nouns that are not used as keys (rows from 0): %s", left_out)
    return NeedleTasks(own, prompts, haystack, keys, pieces)
