"""Read a corpus in one language from its source's format."""

from importlib import import_module

from needlework.jobs.job import running
from needlework.records import write_table

with running(snakemake) as logger:
    corpus, lang = snakemake.wildcards.corpus, snakemake.wildcards.lang
    reader = import_module(f"needlework.data.corpora.{snakemake.params.reader}")
    table = reader.table(corpus, lang, list(snakemake.input), snakemake.params.settings)
    logger.info("%d rows", table.num_rows)
    write_table(
        table, snakemake.output[0], inputs=snakemake.input, config=snakemake.params.settings
    )
