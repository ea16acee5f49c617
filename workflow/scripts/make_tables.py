"""Make the tables of a benchmark that are made of the same rows, each as CSV and as LaTeX."""

from importlib import import_module
from pathlib import Path

from needlework import published
from needlework.job import running
from needlework.results.rows import result_rows

with running(snakemake) as logger:
    params, output = snakemake.params, snakemake.output
    package = f"needlework.benchmarks.{params.benchmark}"
    factors = import_module(f"{package}.plan").FACTORS
    tables = import_module(f"{package}.tables").TABLES
    rows = result_rows(params.needs, snakemake.input.rows, factors)
    numbers = published.load(snakemake.input.published)
    for name, csv, tex in zip(params.names, output.csv, output.tex, strict=True):
        logger.info("%s", name)
        made = tables[name].function(rows, numbers, params.settings)
        made.to_csv(csv, index=False)
        Path(tex).write_text(tables[name].layout(made, tables[name].title), encoding="utf-8")
