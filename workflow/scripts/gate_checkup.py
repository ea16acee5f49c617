"""Fail if the doctor found a fault, or if a loss that `fail_if_worse_by` names could not have shown."""

import json
from pathlib import Path

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.results.doctor.seen import FAULT, SOUND

with running(snakemake) as logger:
    report = Path(snakemake.input[0])
    found = json.loads(report.read_text("utf-8"))
    page = report.with_name("index.html")
    if found["verdict"] == FAULT:
        raise UserError(f"{found['sentence']} {page} has the evidence.")
    gate = [check for check in found["checks"] if check["name"] == "not_worse"]
    if snakemake.params.worse_by is not None and gate[0]["verdict"] != SOUND:
        raise UserError(
            f"The gate of {found['model']['name']} (run.doctor, fail_if_worse_by: "
            f"{snakemake.params.worse_by:g}) does not pass: {gate[0]['sentence']}. {page} has all checks."
        )
    logger.info("%s", found["sentence"])
