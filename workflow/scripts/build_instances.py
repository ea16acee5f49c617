"""Build the prompts of one slice of a benchmark."""

from importlib import import_module
from pathlib import Path

from needlework.job import running
from needlework.records import read_table, write_table
from needlework.tokenizers import load_tokenizer

with running(snakemake) as logger:
    construct = import_module(f"needlework.benchmarks.{snakemake.wildcards.benchmark}.construct")
    tokenizer = load_tokenizer(snakemake.wildcards.tokenizer, snakemake.params.tokenizer)
    table, counts = construct.build(
        snakemake.params.settings,
        {
            name: {Path(path).stem: read_table(path) for path in snakemake.input.get(name)}
            for name in ("questions", "passages", "distractors")
        },
        snakemake.input.templates,
        tokenizer,
    )
    logger.info("%d prompts; left out: %s", table.num_rows, counts)
    write_table(
        table,
        snakemake.output[0],
        inputs=snakemake.input,
        config=[snakemake.params.settings, snakemake.params.tokenizer],
        notes={"left_out": counts},
        page_bytes=1 << 26,
    )
