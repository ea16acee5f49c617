"""Count the tokens of each language's whole books in a tokenizer."""

from needlework.jobs.job import running
from needlework.prompts.book_counts import token_counts
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import write_table

with running(snakemake):
    name, config = snakemake.wildcards.tokenizer, snakemake.params.tokenizer
    tokenizer = load_tokenizer(name, config, whole=True)
    table = token_counts(snakemake.params.books, name, tokenizer)
    write_table(table, snakemake.output[0], inputs=list(snakemake.input), config=config)
