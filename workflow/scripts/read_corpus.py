"""Read a corpus in one language from its source's format."""

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from needlework.data.corpora.found import Found, write_found
from needlework.given import given
from needlework.jobs.job import running
from needlework.records import write_table

with running(snakemake) as logger:
    corpus, lang = snakemake.wildcards.corpus, snakemake.wildcards.lang
    reader = import_module(f"needlework.{snakemake.params.reader}")
    table = reader.table(corpus, lang, list(snakemake.input), given(snakemake.params.settings))
    logger.info("%d rows", table.num_rows)
    notes = {}
    if about := (table.schema.metadata or {}).get(b"needlework.found"):
        found = Found(**json.loads(about))
        notes = {"found": asdict(found)}
        write_found(found, Path(snakemake.log[0]).with_suffix(".json"))
    write_table(
        table.replace_schema_metadata(None),
        snakemake.output[0],
        inputs=snakemake.input,
        config=snakemake.params.settings,
        notes=notes,
    )
