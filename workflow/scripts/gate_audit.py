"""Fail if a cell of an audit is worse than allowed, answers are missing, or no cell could have shown it."""

import csv
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.results.audit_report import beyond, missing, unproven

with running(snakemake) as logger:
    with Path(snakemake.input[0]).open(encoding="utf-8", newline="") as file:
        table: Any = list(csv.DictReader(file))
    limit = snakemake.params.worse_than
    found = beyond(table, limit)
    base, changed = snakemake.wildcards.base, snakemake.wildcards.changed
    if not found and (lost := missing(table, base, changed)):
        raise UserError(
            f"{'; '.join(lost)}: what is missing cannot be compared (run.audits, fail_if_worse_by). "
            "Correct the cause, which the log of audit_answers names, and run again: answers are kept."
        )
    if found:
        raise UserError(
            f"{changed} is worse than {base} by more than {100 * limit:g} points (run.audits, "
            f"fail_if_worse_by): {'; '.join(found)}. "
            f"{snakemake.input[0]} has all cells."
        )
    if why := unproven(table, limit, base):
        raise UserError(
            f"The gate of {changed} against {base} (run.audits, fail_if_worse_by: {limit:g}) does not pass: "
            f"{why}. {snakemake.input[0]} has all cells."
        )
    logger.info("No cell is worse by more than %g points.", 100 * limit)
