"""Fail if a cell of an audit is worse than the configuration allows."""

import csv
from pathlib import Path

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.results.audits import beyond

with running(snakemake) as logger:
    with Path(snakemake.input[0]).open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    limit = snakemake.params.worse_than
    found = beyond(table, limit)
    if found:
        raise UserError(
            f"{snakemake.wildcards.changed} is worse than {snakemake.wildcards.base} by more than "
            f"{100 * limit:g} points (run.audits, fail_if): {'; '.join(found)}. "
            f"{snakemake.input[0]} has all cells."
        )
    logger.info("No cell is worse by more than %g points.", 100 * limit)
