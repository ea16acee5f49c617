"""The pieces of which Lost in the Middle's prompts are made, and its rows of instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.contract import SliceSettings
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.plan import NAME
from needlework.prompts.instances import Instances, Spans
from needlework.prompts.spans import Span
from needlework.prompts.sums import Counter, Document, Part, counter
from needlework.prompts.tokenizers import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa


class Pieces(Spans):
    """Spans by number, with their texts; and, if that is proved, what they count."""

    def __init__(self, exact: Counter | None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.exact = exact
        self._parts: dict[int, Part] = {}
        self._summed: tuple[str, Document] | None = None

    def literal(self, role: str, text: str) -> int:
        """The number of a span that holds its own text."""
        return self._named(Span(role, text=text), text)

    def slice(self, role: str, source: str, document: str, start: int, end: int) -> int:
        """The number of the span [start, end) of a document."""
        known = len(self.texts)
        number = self._named(Span(role, source, start, end), document[start:end])
        if number == known and self.exact is not None:
            self._parts[number] = self._document(self.exact, document).part(start, end)
        return number

    def _document(self, exact: Counter, text: str) -> Document:
        """A text with its sums; that of the last one asked for is at hand."""
        if self._summed is None or self._summed[0] is not text:
            self._summed = (text, exact.document(text))
        return self._summed[1]

    def whole(self, role: str, source: str, document: str) -> int:
        """The number of the span of a whole document."""
        return self._named(Span(role, source, 0, len(document)), document)

    def _named(self, span: Span, text: str) -> int:
        number = self.number(span)
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def text(self, numbers: Iterable[int]) -> str:
        """The spans' texts, one after the other."""
        return "".join(map(self.texts.__getitem__, numbers))

    def tokens(self, numbers: Sequence[int]) -> int:
        """The tokens of a prompt of these spans. Only where that is proved."""
        assert self.exact is not None
        for number in numbers:
            if number not in self._parts:
                self._parts[number] = self.exact.part(self.texts[number])
        return self.exact.tokens(list(map(self._parts.__getitem__, numbers)))


class Rows:
    """The instances of a slice: what their rows have in common."""

    def __init__(self, slice_settings: SliceSettings, tokenizer: Tokenizer) -> None:
        self.pieces = Pieces(counter(tokenizer))
        self._slice_settings = slice_settings
        self._instances = Instances(NAME, COLUMNS, tokenizer, self.pieces)

    def add(
        self,
        numbers: list[int],
        text: str,
        n_tokens: int,
        example_id: str,
        references: list[str],
        **factors: Any,
    ) -> None:
        """Add a prompt: the numbers of its spans, its text, its length, and the factors that it has.

        Factors that are not named are those of a prompt without documents.
        """
        task = self._slice_settings["task"]
        factors = {
            "lang": self._slice_settings["lang"],
            "n_documents": 0,
            "gold_index": None,
            "distractors": "none",
            "order": "none",
            "query_aware": False,
            "answer_present": None,
            "unambiguous": None,
            "keys": "none",
            "length": 0,
            **factors,
        }
        self._instances.add(
            numbers,
            text,
            # Two questions of one wording are two prompts.
            named={**factors, "example": example_id},
            n_tokens=n_tokens,
            task=task,
            example_id=example_id,
            references=references,
            metric="key_value" if task == "key_value" else "best_subspan_em",
            max_new_tokens=self._slice_settings["max_new_tokens"],
            **factors,
        )

    def table(self) -> pa.Table:
        """The rows so far; what was learned of their texts is kept."""
        if self.pieces.exact is not None:
            self.pieces.exact.save()
        return self._instances.table()
