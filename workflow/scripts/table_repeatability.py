"""Tabulate the changed answers of all models."""

import csv
import json
from pathlib import Path

from needlework.atomic import atomic_write
from needlework.jobs.job import running

with running(snakemake):
    rows = [row for path in snakemake.input for row in json.loads(Path(path).read_text("utf-8"))]
    with (
        atomic_write(snakemake.output[0]) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows
        )
