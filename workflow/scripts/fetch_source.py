"""Download one published file and verify it."""

from needlework.data.fetching import fetch
from needlework.data.published_files import SourceFile
from needlework.jobs.job import running
from needlework.services.endpoints import revealed

with running(snakemake) as logger:
    megabytes = snakemake.params.prefix_mb
    record = fetch(
        SourceFile(**snakemake.params.entry),
        snakemake.output.file,
        mirror=revealed({"base_url": snakemake.config["mirror"]})["base_url"],
        prefix=megabytes and megabytes * 1_000_000,
    )
    logger.info("%s", record)
