"""Tabulate what a tokenizer's prompts are like, and what could not be built."""

from importlib import import_module

from needlework.job import running
from needlework.results.prompts import describe

with running(snakemake):
    benchmark = snakemake.wildcards.benchmark
    spec = import_module(f"needlework.benchmarks.{benchmark}.layouts").PROMPTS
    describe(spec, snakemake.input).to_csv(snakemake.output[0], index=False)
