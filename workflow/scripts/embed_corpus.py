"""Embed the questions or the passages of a corpus in one language, or a shard of them."""

from needlework.jobs.job import running
from needlework.records import read_names
from needlework.retrieval.embedders import load_embedder
from needlework.retrieval.shards import embed_shard

with running(snakemake):
    _, _, shard = snakemake.wildcards.part.partition(".")
    name = snakemake.wildcards.embedder
    number, _, of = (shard or "0-of-1").partition("-of-")
    embed_shard(
        # The whole entry: the parameter has only what changes vectors.
        load_embedder(name, snakemake.config["embedders"][name], snakemake.threads),
        snakemake.input[0],
        "question" if "question" in read_names(snakemake.input[0]) else "text",
        snakemake.output[0],
        int(number),
        int(of),
    )
