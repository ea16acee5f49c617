"""ONERULER's prompts of a pair of languages: every task, length and example, to an exact budget."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from needlework.benchmarks.oneruler.cwe import WordTasks
from needlework.benchmarks.oneruler.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.oneruler.niah import Haystack, NeedleTasks, nouns
from needlework.benchmarks.oneruler.plan import NAME, NEEDLES, Made, Slice, needles, variants
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

    `slice_settings` is what `plan.settings` gives; `tables` holds the corpora "books", "nouns", "words" and
    "prompts", each by language; `templates` is empty, since the prompts are data. The count
    `ambiguous_nouns` is the number of nouns that cannot be keys in this pair of languages; the log names
    them.
    """
    own = Slice(**slice_settings)
    instruction, context = own.instruction_lang, own.context_lang
    pieces = Pieces(tokenizer, max(own.lengths))
    asked, counts = variants(own), {}
    prompts = {
        lang: dict(zip(table["key"].to_pylist(), table["text"].to_pylist(), strict=True))
        for lang, table in tables["prompts"].items()
    }
    if any(task in NEEDLES for task, _ in asked):
        book = tables["books"][context]
        haystack = Haystack(haystack_of(own), context, book, pieces, max(own.lengths))
        keys = nouns(tables["nouns"], instruction, context)
        niah = NeedleTasks(own, prompts, haystack, keys, pieces)
        counts["ambiguous_nouns"] = len(keys.left_out)
        if keys.left_out:
            logger.info(
                "nouns that are not used as keys (rows from 0): %s", "; ".join(keys.left_out)
            )
    cwe = None
    if any(task not in NEEDLES for task, _ in asked):
        words = tables["words"][context]["word"].to_pylist()
        cwe = WordTasks(own, prompts[instruction]["cwe"], words, pieces)

    def rows() -> Iterator[tuple[Made, dict[str, Any]]]:
        """Each prompt, and the columns of its row."""
        for task, none_option in asked:
            hidden = needles(own, task) if task in NEEDLES else None
            if hidden is not None:
                draws = niah.draws(task, hidden)
                room = own.max_new_tokens["niah"] or niah.room()
                metric = "numbers" if hidden.present else "none"
                n_needles, least = hidden.keys * hidden.values, "two sentences"
            else:
                assert cwe is not None
                room = own.max_new_tokens["cwe"] or cwe.room()
                metric, n_needles, least = "words", 0, "eleven different words"
            for length in own.lengths:
                for index in range(own.examples):
                    budget = length - room - tokenizer.reserve
                    if hidden is not None:
                        made = niah.build(draws[index], budget, none_option=none_option)
                    else:
                        assert cwe is not None
                        made = cwe.build(task, length, index, budget)
                    if made is None:
                        pair = " and ".join(map(repr, dict.fromkeys([instruction, context])))
                        raise UserError(
                            f"benchmarks.{NAME}.lengths has {length}, but in language {pair} the prompt of "
                            f"{task} with {least} and room for its answer is longer: leave the length "
                            "out, or lower max_new_tokens or the tokenizer's `reserve`."
                        )
                    yield (
                        made,
                        {
                            "instruction_lang": instruction,
                            "context_lang": context,
                            "length": length,
                            "none_option": none_option,
                            "n_needles": n_needles,
                            "exhausted": made.exhausted,
                            "task": task,
                            "example_id": f"{task}-{index:03}",
                            "references": made.references,
                            "metric": metric,
                            "max_new_tokens": room,
                            "n_tokens": made.n_tokens,
                        },
                    )

    n = len(asked) * len(own.lengths) * own.examples
    instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, pieces)
    for made, row in progress(rows(), desc="prompts", unit="prompt", total=n):
        instances.add(made.numbers, made.text, **row)
    return Built(instances.table(), counts, cwe.documents() if cwe else None)
