"""Write the papers' numbers as one data set, with what contradicts itself, metadata and records."""

import json
from pathlib import Path

from needlework.jobs.job import running
from needlework.results.printed.agreement import errata, marked
from needlework.results.printed.numbers import labels, table
from needlework.results.printed.write import croissant, write_records, write_table

with running(snakemake) as logger:
    known = labels(snakemake.input.labels)
    numbers = table(snakemake.input.published, known)
    found = errata(numbers)
    numbers = marked(numbers, found)
    output = snakemake.output
    write_table(numbers, output.csv, output.parquet)
    found.to_csv(output.errata, index=False, lineterminator="\n")
    metadata = croissant(output.csv, output.parquet, known["papers"])
    text = json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"
    Path(output.croissant).write_text(text, encoding="utf-8")
    records = write_records(output.records, numbers, known["papers"])
    logger.info("%d numbers, %d errata, %d records", len(numbers), len(found), records)
