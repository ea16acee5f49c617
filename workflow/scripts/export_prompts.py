"""Write the rendered prompts of a slice for other programs."""

from needlework.jobs.job import running
from needlework.prompts.export import export
from needlework.prompts.spans import Documents

with running(snakemake) as logger:
    documents = Documents.of(
        snakemake.wildcards.benchmark, snakemake.input.corpora, [snakemake.input.documents]
    )
    count = export(
        snakemake.input.instances, documents, snakemake.output.jsonl, snakemake.output.parquet
    )
    logger.info("%d prompts", count)
