"""Put the answers of a model's shards together."""

from needlework.jobs.job import running
from needlework.models.generation import merge
from needlework.records import read_notes, write_table

with running(snakemake):
    params = snakemake.params
    write_table(
        merge(snakemake.input.shards, params.model["max_failed"]),
        snakemake.output[0],
        inputs=snakemake.input.prompts,
        config=[params.model, params.lengths, params.only],
        notes=read_notes(snakemake.input.shards[0]),
    )
