"""Merge the answers of a model's shards."""

from needlework.jobs.job import running
from needlework.models.generation import InstanceRequests
from needlework.models.shards import merge
from needlework.prompts.spans import Documents
from needlework.records import read_notes, write_table

with running(snakemake):
    params, given = snakemake.params, snakemake.input
    shards = list(given.shards)
    asked = InstanceRequests(
        given.instances,
        Documents.of(snakemake.wildcards.benchmark, given.corpora, given.documents),
        samples=params.model["samples"],
        lengths=params.lengths,
        only=params.only,
    )
    write_table(
        merge(shards, params.model["max_failed"], asked.sizes()),
        snakemake.output[0],
        inputs=[path for path in given if path not in shards],
        config=[params.model, params.lengths, params.only],
        notes=read_notes(shards[0]),
    )
