"""Merge the answers of a model's shards."""

from needlework.jobs.job import running
from needlework.models.generation import InstanceRequests
from needlework.models.shards import merge
from needlework.records import read_notes, write_table

with running(snakemake):
    params, shards = snakemake.params, list(snakemake.input.shards)
    asked = InstanceRequests(
        snakemake.input.instances, {}, lengths=params.lengths, only=params.only
    )
    write_table(
        merge(shards, params.model["max_failed"], asked.sizes()),
        snakemake.output[0],
        inputs=[path for path in snakemake.input if path not in shards],
        config=[params.model, params.lengths, params.only],
        notes=read_notes(shards[0]),
    )
