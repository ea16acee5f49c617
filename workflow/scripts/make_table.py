"""Make one table of a benchmark, as CSV and as LaTeX."""

from importlib import import_module
from pathlib import Path

import pandas as pd

from needlework import published
from needlework.job import running
from needlework.records import read_table

with running(snakemake):
    benchmark, name = snakemake.params.benchmark, snakemake.params.name
    table = import_module(f"needlework.benchmarks.{benchmark}.tables").TABLES[name]
    rows = pd.concat([read_table(path).to_pandas() for path in snakemake.input.rows])
    made = table.function(
        rows, published.load(snakemake.input.published), snakemake.params.settings
    )
    made.to_csv(snakemake.output.csv, index=False)
    Path(snakemake.output.tex).write_text(table.layout(made, table.title), encoding="utf-8")
