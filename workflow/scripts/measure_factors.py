"""Measure what the prompts of each benchmark hold constant."""

from pathlib import Path

import pandas as pd

from needlework.atomic import write_csv
from needlework.jobs.job import running
from needlework.results.printed.numbers import FACTOR_COLUMNS, factors, table_of

with running(snakemake):
    made = [
        factors(name, own["instances"], own["corpora"], own["documents"])
        for name, own in snakemake.params.benchmarks.items()
    ]
    found = pd.DataFrame(made, columns=list(FACTOR_COLUMNS)).round(4)
    write_csv(found, snakemake.output.csv)
    Path(snakemake.output.page).write_text(table_of(found) + "\n", encoding="utf-8")
