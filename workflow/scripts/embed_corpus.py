"""Embed the questions or the passages of a corpus in one language."""

from needlework.jobs.job import running
from needlework.records import read_names
from needlework.retrieval.embedders import load_embedder
from needlework.retrieval.vectors import embed_texts

with running(snakemake):
    name = snakemake.wildcards.embedder
    embed_texts(
        # The whole entry: the parameter has only what changes vectors.
        load_embedder(name, snakemake.config["embedders"][name], snakemake.threads),
        snakemake.input[0],
        "question" if "question" in read_names(snakemake.input[0]) else "text",
        snakemake.output[0],
    )
