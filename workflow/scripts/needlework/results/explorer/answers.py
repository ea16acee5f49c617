"""A model's answers to a benchmark, with their scores and translations, by instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from needlework.models.accounts import ANSWERED, CUT, EMPTY, ERROR, FAILED, LENGTH, SKIPPED
from needlework.records import read_table

# What the outcome is of answers of versions that did not write it.
_OUTCOMES = {LENGTH: CUT, ERROR: FAILED, SKIPPED: SKIPPED}


@dataclass(frozen=True)
class Answers:
    """The files of a model's answers to a benchmark."""

    tokenizer: str
    generations: str
    scores: str
    translations: str | None = None


class ModelAnswers:
    """A model's answers, scores and translations, by instance."""

    def __init__(self, files: Answers) -> None:
        self.file = files.generations
        table = read_table(files.generations)
        self.columns = {column: table[column].to_pylist() for column in table.column_names}
        self.rows: dict[str, list[int]] = {}
        for row, instance in enumerate(self.columns["instance_id"]):
            self.rows.setdefault(instance, []).append(row)
        self.translations: dict[tuple[str, int], tuple[str | None, str | None]] = {}
        if files.translations:
            own = read_table(files.translations)
            keys = zip(own["instance_id"].to_pylist(), own["sample"].to_pylist(), strict=True)
            texts = zip(own["lang"].to_pylist(), own["text"].to_pylist(), strict=True)
            self.translations = dict(zip(keys, texts, strict=True))
        scores = read_table(
            files.scores, ["instance_id", "sample", "metric", "value", "verdict"]
        ).to_pydict()
        self.scores: dict[tuple[str, int], list[tuple[str, float, str]]] = {}
        for instance, sample, *score in zip(*scores.values(), strict=True):
            self.scores.setdefault((instance, sample), []).append(tuple(score))
        self._used = 0

    def take(self, instance: str) -> list[int]:
        """The rows of an instance's answers."""
        rows = self.rows.get(instance, [])
        self._used += len(rows)
        return rows

    def detail(self, row: int) -> dict[str, Any]:
        """The fields of an answer in the view of one prompt, without empty fields."""
        instance, sample, text = (
            self.columns[name][row] for name in ("instance_id", "sample", "text")
        )
        lang, english = self.translations.get((instance, sample), (None, None))
        raw = self._value("raw_text", row)
        answer = {
            "sample": sample,
            "text": text,
            "lang": lang,
            "translation": None if english == text else english,
            # All that the model wrote, where its thoughts were parted from its answer.
            "raw": None if raw == text else raw,
            # What an endpoint gave beside an empty text.
            "reasoning": self._value("reasoning", row),
            "error": self.columns["error"][row],
            "remarks": self.remarks(row) or None,
        }
        return {key: value for key, value in answer.items() if value is not None}

    def unused(self) -> int:
        """How many answers nobody took."""
        return len(self.columns["instance_id"]) - self._used

    def outcome(self, row: int) -> str:
        """What became of the request."""
        if found := self._value("outcome", row):
            return str(found)
        otherwise = ANSWERED if self.columns["text"][row] else EMPTY
        return _OUTCOMES.get(self.columns["finish_reason"][row], otherwise)

    def remarks(self, row: int) -> list[str]:
        """What else is to be told of the answer."""
        return self._value("remarks", row) or []

    def _value(self, column: str, row: int) -> Any:
        """A value of a column that files of older versions lack."""
        return self.columns[column][row] if column in self.columns else None
