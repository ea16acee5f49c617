"""The rows of Lost in the Middle's instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.lost_in_the_middle.plan import NAME, Slice
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa


class Factors(NamedTuple):
    """The factors of a prompt, as it has them without documents or pairs."""

    lang: str
    n_documents: int = 0
    gold_index: int | None = None
    distractors: str = "none"
    order: str = "none"
    query_aware: bool = False
    answer_present: bool | None = None
    keys: str = "none"
    length: int = 0


class Rows:
    """Collects the instances of a slice; its fields are the values that all rows share."""

    def __init__(self, own: Slice, tokenizer: Tokenizer) -> None:
        self.pieces = Pieces(tokenizer)
        self._own = own
        self._instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, self.pieces)

    def add(
        self, numbers: Sequence[int], example_id: str, references: list[str], factors: Factors
    ) -> None:
        """Add a prompt: the numbers of its spans, and its factors."""
        task, columns = self._own.task, factors._asdict()
        self._instances.add(
            numbers,
            self.pieces.text(numbers),
            # Two questions of one wording are two prompts. Ids are made of a column that went, too.
            {"example": example_id, "unambiguous": None},
            n_tokens=self.pieces.tokens(numbers),
            task=task,
            example_id=example_id,
            references=references,
            metric="key_value" if task == "key_value" else "best_subspan_em",
            max_new_tokens=self._own.max_new_tokens,
            **columns,
        )

    def table(self) -> pa.Table:
        """The rows so far; the token counts of their texts are kept for other jobs."""
        self.pieces.sums.save()
        return self._instances.table()
