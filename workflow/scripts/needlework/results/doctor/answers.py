"""The answers of a checkup: a row for each prompt of a server, with what its checks read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from needlework.answer_states import UNANSWERED
from needlework.prompts.spans import Documents, Span, render
from needlework.results.doctor.comparison import ANSWER, by_metric

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.result import Context

KEY = ["benchmark", *ANSWER]
# Where a needle stands, in quarters of the prompt.
QUARTERS = 4


@dataclass(frozen=True)
class ServerAnswers:
    """The answers of one server.

    `first` has a row per prompt: `KEY`, `task`, `example_id`, `part` (benchmark and task), `size` (its budget
    in tokens, or its number of documents), `place` (of the needle: 0, 0.25 ... 1; NaN without one), `chars`,
    `asked_in`, `references`, `max_new_tokens`, `value` and `verdict` by the metric, and the columns of
    `records.GENERATIONS`. `again` has `KEY`, `text`, `value` and `given` of second answers.
    """

    name: str
    # The model's name at its server.
    serves: str
    first: pd.DataFrame
    again: pd.DataFrame = field(repr=False)

    @property
    def given(self) -> pd.DataFrame:
        """The prompts that were answered."""
        return self.first[self.first["given"]]

    @property
    def counted(self) -> pd.DataFrame:
        """The prompts whose tokens the server counted."""
        return self.first[self.first["prompt_tokens"].fillna(0) > 0]

    @property
    def read(self) -> int:
        """The tokens of all prompts, by the server's count."""
        return int(self.first["prompt_tokens"].fillna(0).sum())

    def twice(self) -> pd.DataFrame:
        """The prompts with two answers: `text` and `value`, `text_again` and `value_again`."""
        again = self.again[self.again["given"]]
        return self.given.merge(again, on=KEY, suffixes=("", "_again"), validate="one_to_one")


class PromptTexts:
    """The texts of prompts, rendered when they are asked for."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, str], tuple[list[Mapping[str, Any]], Documents]] = {}

    def add(self, benchmark: str, instances: pa.Table, documents: Documents) -> None:
        """Add the prompts of a benchmark."""
        ids = instances["instance_id"].to_pylist()
        for name, spans in zip(ids, instances["prompt"].to_pylist(), strict=True):
            self._spans[benchmark, name] = spans, documents

    def text(self, benchmark: str, name: str) -> str:
        """The text of a prompt."""
        spans, documents = self._spans[benchmark, name]
        return render(spans, documents)

    def parted(self, benchmark: str, name: str) -> list[tuple[str, str]]:
        """The pieces of a prompt: their roles and texts."""
        spans, documents = self._spans[benchmark, name]
        return [(span["role"], render([span], documents)) for span in spans]

    def names(self) -> Iterable[tuple[str, str]]:
        """The benchmarks and ids of all prompts."""
        return self._spans.keys()


def first_answers(
    benchmark: str,
    instances: pa.Table,
    generations: pa.Table,
    scores: pa.Table,
    metric: str | None,
    asked_in: Callable[[pd.DataFrame, Context], pd.Series] | None,
) -> pd.DataFrame:
    """The rows of `ServerAnswers.first` of one benchmark."""
    import pandas as pd

    names = [*ANSWER, "metric", "value", "verdict", "answered_in"]
    rated = by_metric(scores.select(names).to_pandas(), metric)
    asked = instances.drop_columns(["prompt", "metric", "benchmark"]).to_pandas()
    asked["chars"], asked["place"] = _measured(instances["prompt"])
    asked["size"] = asked["length"]
    if "n_documents" in asked:
        asked["size"] = asked["size"].where(asked["size"] > 0, asked["n_documents"])
    asked["part"] = f"{benchmark} " + asked["task"]
    none: Any = None  # No card reads the run.
    asked["asked_in"] = None if asked_in is None else asked_in(asked, none)
    answers = generations.to_pandas().assign(benchmark=benchmark)
    made = answers.merge(asked, on="instance_id", validate="many_to_one")
    made = made.merge(rated, on=ANSWER, how="left", validate="one_to_one")
    made["given"] = ~made["finish_reason"].isin(UNANSWERED)
    return pd.DataFrame(made)


def second_answers(
    benchmark: str, generations: pa.Table, scores: pa.Table, metric: str | None
) -> pd.DataFrame:
    """The rows of `ServerAnswers.again` of one benchmark."""
    import pandas as pd

    rated = by_metric(scores.select([*ANSWER, "metric", "value"]).to_pandas(), metric)
    answers = generations.select([*ANSWER, "text", "finish_reason"]).to_pandas()
    made = answers.merge(rated, on=ANSWER, how="left", validate="one_to_one")
    made["given"] = ~made.pop("finish_reason").isin(UNANSWERED)
    return pd.DataFrame(made.assign(benchmark=benchmark))


def _measured(prompts: pa.ChunkedArray) -> tuple[list[int], npt.NDArray[np.float64]]:
    """The characters of each prompt, and the place of its first needle in quarters of the prompt."""
    chars, places = [], []
    for spans in prompts.to_pylist():
        total, at, needle = 0, -1, 0
        for span in spans:
            found = Span(**span)
            size = len(found.text or "") if found.source is None else found.end - found.start  # type: ignore[operator]  # slices have both
            if found.role == "needle" and at < 0:
                at, needle = total, size
            total += size
        chars.append(total)
        share = at / max(1, total - needle) if at >= 0 else np.nan
        places.append(np.round(share * QUARTERS) / QUARTERS)
    return chars, np.array(places, dtype=np.float64)
