"""Tabulate numbers and lengths of a tokenizer's prompts, and what could not be built."""

from needlework.atomic import write_csv
from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results.numbers.prompt_table import describe

with running(snakemake):
    spec = load_benchmark(snakemake.wildcards.benchmark).shown.prompts
    write_csv(describe(spec, snakemake.input), snakemake.output[0])
