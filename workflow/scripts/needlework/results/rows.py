"""The rows from which a table or figure is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from needlework.records import read_notes, read_table
from needlework.results.published import load

if TYPE_CHECKING:
    import pandas as pd


def result_rows(needs: str, files: Sequence[str], factors: Mapping[str, str]) -> pd.DataFrame:
    """The rows of `files` in one frame; `needs` says which rows a result needs (`results.result.Result`).

    Rows of instances have the columns task, example_id, n_tokens and the benchmark's `factors`, but no
    prompts. Rows of instances and of token counts get the column `tokenizer`. The paper's numbers are as
    `published.load` returns them.
    """
    if needs == "published":
        return load(files[0])
    tables = []
    for file in files:
        if needs == "instances":
            columns = ["task", "example_id", "n_tokens", *factors]
            table = read_table(file, columns)
            tokenizer = pa.repeat(pa.scalar(Path(file).parent.name), table.num_rows)
            table = table.append_column("tokenizer", tokenizer)
        else:
            table = read_table(file)
            # Scores may hold metrics beside the one that results are made of.
            if beside := read_notes(file).get("beside"):
                table = table.filter(pc.invert(pc.is_in(table["metric"], pa.array(beside))))
        tables.append(table)
    return categorical_frame(pa.concat_tables(tables, promote_options="default"))


def scores_of(files: Sequence[str]) -> pd.DataFrame:
    """The scores in `files`, by every metric."""
    import pandas as pd

    return pd.concat([read_table(file).to_pandas() for file in files], ignore_index=True)


def categorical_frame(table: pa.Table) -> pd.DataFrame:
    """A table as a frame whose texts are categories, which pandas selects and counts as whole numbers.

    All columns have the same sorted categories, since pandas compares only columns with equal categories.
    """
    import pandas as pd

    texts = [column.unique() for column in table.columns if pa.types.is_string(column.type)]
    known = pa.concat_arrays([pa.array([], pa.string()), *texts]).unique().drop_null().sort()
    category = pd.CategoricalDtype(known.to_numpy(zero_copy_only=False))

    def series(column: pa.ChunkedArray) -> pd.Series:
        if not pa.types.is_string(column.type):
            return column.to_pandas()
        codes = pc.index_in(column, known).fill_null(-1).to_numpy()
        return pd.Series(pd.Categorical.from_codes(codes, dtype=category))

    return pd.DataFrame({name: series(table[name]) for name in table.column_names})
