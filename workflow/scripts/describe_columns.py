"""Write what each column of each CSV of tables and figures is."""

import csv

from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results.columns import described, read_meanings

with running(snakemake):
    own = {
        factor.name: factor.label
        for name in snakemake.params.benchmarks
        for factor in load_benchmark(name).factors
    }
    files = zip(snakemake.input.numbers, snakemake.params.titles, strict=True)
    rows = described(files, read_meanings(snakemake.input.meanings), own)
    with open(snakemake.output[0], "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("file", "column", "meaning"), *rows])
