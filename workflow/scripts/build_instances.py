"""Build the prompts of one slice of a benchmark, and the texts in them that no corpus has."""

from pathlib import Path

from needlework.benchmarks.parts import load_part
from needlework.data.corpora.found import Found, naming_left_out
from needlework.given import given
from needlework.jobs.job import running
from needlework.prompts.tokenizers import TOKEN_SUMS, load_tokenizer
from needlework.records import DOCUMENTS, read_notes, read_table, write_table

with running(snakemake) as logger:
    params = snakemake.params
    files = {name: list(snakemake.input.get(name)) for name in params.tables}
    # What was left out of the user's data, if these tables are of them.
    notes = [read_notes(path).get("found") for paths in files.values() for path in paths]
    with naming_left_out(Found(**found) for found in notes if found):
        built = load_part(snakemake.wildcards.benchmark, "prompts").build(
            given(params.settings),
            {
                name: {Path(path).stem: read_table(path) for path in paths}
                for name, paths in files.items()
            },
            snakemake.input.templates,
            load_tokenizer(snakemake.wildcards.tokenizer, params.tokenizer, TOKEN_SUMS),
        )
    logger.info("%d prompts; left out: %s", built.instances.num_rows, built.counts)
    config = [params.settings, params.tokenizer]
    documents = DOCUMENTS.empty_table() if built.documents is None else built.documents
    write_table(documents, snakemake.output.documents, inputs=snakemake.input, config=config)
    write_table(
        built.instances,
        snakemake.output.instances,
        inputs=snakemake.input,
        config=config,
        notes={"left_out": built.counts},
        page_bytes=1 << 26,
    )
