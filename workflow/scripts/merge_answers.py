"""Merge the answers of a model's shards."""

from needlework.given import given
from needlework.jobs.job import running
from needlework.models.generation import InstanceRequests
from needlework.models.shards import merge
from needlework.prompts.spans import Documents
from needlework.records import read_notes, write_table

with running(snakemake):
    params, inputs = snakemake.params, snakemake.input
    model, shards = given(params.model), list(inputs.shards)
    asked = InstanceRequests(
        inputs.instances,
        Documents.of(snakemake.wildcards.benchmark, inputs.corpora, inputs.documents),
        samples=model.samples,
        lengths=params.lengths,
        only=params.only,
    )
    write_table(
        merge(shards, model.max_failed, asked.sizes()),
        snakemake.output[0],
        inputs=[path for path in inputs if path not in shards],
        config=[params.model, params.lengths, params.only],
        notes=read_notes(shards[0]),
    )
