"""Make one table of a benchmark, as CSV and as LaTeX."""

from importlib import import_module
from pathlib import Path

from needlework import published
from needlework.job import running
from needlework.results import result_rows

with running(snakemake):
    params = snakemake.params
    package = f"needlework.benchmarks.{params.benchmark}"
    factors = import_module(f"{package}.plan").FACTORS
    table = import_module(f"{package}.tables").TABLES[params.name]
    made = table.function(
        result_rows(params.needs, snakemake.input.rows, factors),
        published.load(snakemake.input.published),
        params.settings,
    )
    made.to_csv(snakemake.output.csv, index=False)
    Path(snakemake.output.tex).write_text(table.layout(made, table.title), encoding="utf-8")
