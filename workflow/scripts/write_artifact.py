"""Pack the run as a Workflow Run RO-Crate."""

from needlework.jobs.job import running
from needlework.results.sealed.artifact import RulePaths, write_artifact

with running(snakemake) as logger:
    counts = write_artifact(
        snakemake.output[0],
        snakemake.input.provenance,
        [RulePaths(*own) for own in snakemake.params.rules],
        registry=snakemake.input.registry,
        journal=snakemake.config["journal"],
    )
    logger.info("%(files)d results of %(jobs)d jobs", counts)
