"""Tabulate numbers and lengths of a tokenizer's prompts, and what could not be built."""

from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results.page.prompts import describe

with running(snakemake):
    spec = load_benchmark(snakemake.wildcards.benchmark).shown.prompts
    describe(spec, snakemake.input).to_csv(snakemake.output[0], index=False)
