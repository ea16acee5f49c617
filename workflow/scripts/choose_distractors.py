"""Write the rankings of a language's passages as each question's list of distractors."""

import pyarrow as pa

from needlework.jobs.job import running
from needlework.records import read_table, write_table
from needlework.retrieval.search import distractors
from needlework.retrieval.vectors import read_array

with running(snakemake):
    example_ids = read_table(snakemake.input.questions, ["example_id"])["example_id"].to_pylist()
    passage_ids = read_table(snakemake.input.passages, ["passage_id"])["passage_id"].to_pylist()
    tables = [
        distractors(retrieval, example_ids, passage_ids, read_array(path))
        for retrieval, path in zip(
            snakemake.params.retrieval, snakemake.input.rankings, strict=True
        )
    ]
    write_table(
        pa.concat_tables(tables),
        snakemake.output[0],
        # The rankings are temporary.
        inputs=[snakemake.input.questions, snakemake.input.passages],
        config=[snakemake.params.retrieval, snakemake.params.top],
    )
