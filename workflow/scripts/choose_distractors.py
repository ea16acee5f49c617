"""Merge the rankings of a language's shards into each question's list of distractors."""

from pathlib import Path

import pyarrow as pa

from needlework.jobs.job import running
from needlework.records import read_table, write_table
from needlework.retrieval.search import distractors, merge
from needlework.retrieval.shards import read_array

with running(snakemake):
    example_ids = read_table(snakemake.input.questions, ["example_id"])["example_id"].to_pylist()
    passage_ids = read_table(snakemake.input.passages, ["passage_id"])["passage_id"].to_pylist()
    tables = []
    for retrieval in snakemake.params.retrieval:
        parts = [path for path in snakemake.input.rankings if f".{retrieval}." in Path(path).name]
        ranking = merge([read_array(path) for path in parts], snakemake.params.top)
        tables.append(distractors(retrieval, example_ids, passage_ids, ranking))
    write_table(
        pa.concat_tables(tables),
        snakemake.output[0],
        # Not the rankings: their number and names are those of the shards, which change no result.
        inputs=[snakemake.input.questions, snakemake.input.passages],
        config=[snakemake.params.retrieval, snakemake.params.top],
    )
