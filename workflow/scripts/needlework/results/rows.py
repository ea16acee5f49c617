"""The rows that a table or figure is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from needlework.records import read_notes, read_table

if TYPE_CHECKING:
    import pandas as pd


def result_rows(needs: str, files: Sequence[str], factors: Mapping[str, str]) -> pd.DataFrame:
    """The rows of `files` in one frame, by what a result needs (`benchmarks.result.Result`).

    Of instances, the columns task, example_id, n_tokens and the benchmark's `factors`, without the
    prompts; they and token counts get the column `tokenizer`.
    """
    import pandas as pd

    frames = []
    for file in files:
        if needs == "instances":
            columns = ["task", "example_id", "n_tokens", *factors]
            frames.append(read_table(file, columns).to_pandas())
            frames[-1]["tokenizer"] = Path(file).parent.name
        else:
            table = read_table(file)
            # Scores may hold metrics beside the one that results are made of.
            if beside := read_notes(file).get("beside"):
                table = table.filter(pc.invert(pc.is_in(table["metric"], pa.array(beside))))
            frames.append(_frame(table))
    return pd.concat(frames, ignore_index=True)


def _frame(table: pa.Table) -> pd.DataFrame:
    """A table as a frame whose texts are Python's, each once: cells ask for them again and again."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series(column.to_numpy(), dtype=object)
            if pa.types.is_string(column.type)
            else column.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
