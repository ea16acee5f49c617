"""Count the same texts in a tokenizer: a prompt of each task and combination of factors."""

import pyarrow as pa

from needlework.jobs.job import running
from needlework.jobs.progress import progress
from needlework.prompts.spans import Documents, render
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import read_table, write_table

with running(snakemake):
    cell, asked = ["task", *snakemake.params.factors], snakemake.input
    name, config = snakemake.wildcards.tokenizer, snakemake.params.tokenizer
    tokenizer = load_tokenizer(name, config, whole=True)
    documents = Documents.of(snakemake.wildcards.benchmark, asked.corpora, asked.documents)
    counted = []
    for path in progress(asked.instances, desc="files", unit="file"):
        table = read_table(path, [*cell, "example_id", "prompt"])
        first: dict[tuple[object, ...], int] = {}
        for i, values in enumerate(
            zip(*(table[factor].to_pylist() for factor in cell), strict=True)
        ):
            first.setdefault(values, i)
        chosen = table.take(list(first.values()))
        counts = [tokenizer.count(render(spans.as_py(), documents)) for spans in chosen["prompt"]]
        chosen = chosen.drop_columns("prompt").append_column("n_tokens", pa.array(counts, "int32"))
        names = pa.array([name] * len(counts), "string")
        counted.append(chosen.append_column("tokenizer", names))
    write_table(
        pa.concat_tables(counted),
        snakemake.output[0],
        inputs=[*asked.instances, *asked.corpora, *asked.documents],
        config=config,
    )
