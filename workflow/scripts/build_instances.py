"""Build the prompts of one slice of a benchmark, and the texts in them that no corpus has."""

from pathlib import Path

from needlework.hooks import load_hook
from needlework.jobs.job import running
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import DOCUMENTS, read_table, write_table

with running(snakemake) as logger:
    params = snakemake.params
    built = load_hook(params.build)(
        params.settings,
        {
            name: {Path(path).stem: read_table(path) for path in snakemake.input.get(name)}
            for name in params.tables
        },
        snakemake.input.templates,
        # How tokens are counted changes no prompt, so it is no parameter of the rule.
        load_tokenizer(
            snakemake.wildcards.tokenizer, params.tokenizer, snakemake.config["counting"]
        ),
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
