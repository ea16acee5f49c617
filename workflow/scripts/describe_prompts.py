"""Tabulate what a tokenizer's prompts are like, and what could not be built."""

from importlib import import_module

from needlework.job import running

with running(snakemake):
    benchmark = snakemake.wildcards.benchmark
    prompts = import_module(f"needlework.benchmarks.{benchmark}.prompts")
    prompts.describe(snakemake.input).to_csv(snakemake.output[0], index=False)
