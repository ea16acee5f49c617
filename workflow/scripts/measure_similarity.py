"""Measure how similar needle and distractors are in the prompts of a benchmark."""

import pyarrow as pa

from needlework.jobs.job import running
from needlework.prompts.similarity import similarities
from needlework.prompts.spans import Documents
from needlework.records import read_table, write_table
from needlework.retrieval.embedders import load_embedder

with running(snakemake):
    wildcards, inputs = snakemake.wildcards, snakemake.input
    name = snakemake.params.name
    embedder = load_embedder(name, snakemake.config["embedders"][name], snakemake.threads)
    documents = Documents.of(wildcards.benchmark, inputs.corpora, inputs.documents)
    columns = ["instance_id", "prompt"]
    instances = pa.concat_tables(read_table(path, columns) for path in inputs.instances)
    table = similarities(instances, documents, embedder)
    config = snakemake.params.embedder
    write_table(table, snakemake.output[0], inputs=inputs, config=config)
