"""Download one published file and verify it."""

from needlework.data.registry import SourceFile
from needlework.data.sources import fetch
from needlework.jobs.job import running

with running(snakemake) as logger:
    megabytes = snakemake.params.prefix_mb
    record = fetch(
        SourceFile(**snakemake.params.entry),
        snakemake.output.file,
        mirror=snakemake.config["mirror"],
        prefix=megabytes and megabytes * 1_000_000,
    )
    logger.info("%s", record)
