"""Say what was found in the user's own data: rows, what was left out, and for which prompts it is enough."""

from functools import cache
from pathlib import Path

from needlework.data.corpora.found import Found
from needlework.jobs.job import running
from needlework.jobs.progress import tell
from needlework.prompts.data_report import TableSize, Use, report, write_report
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import read_notes, read_table

with running(snakemake):
    files = {f"{Path(path).parent.name}/{Path(path).stem}": path for path in snakemake.input}
    name = snakemake.params.tokenizer
    tokenizer = load_tokenizer(name, snakemake.config["tokenizers"][name])

    @cache
    def size(table: str) -> TableSize:
        """The size of a table of passages or of a book."""
        rows = read_table(files[table])
        tokens = sum(map(tokenizer.count, rows["text"].to_pylist()))
        if "sentence_starts" in rows.column_names:
            return TableSize(sum(map(len, rows["sentence_starts"].to_pylist())), tokens)
        return TableSize(rows.num_rows, tokens)

    # A corpus of questions and the passages made of it are the same rows.
    notes = [read_notes(path).get("found") for path in files.values()]
    found = {own["where"]: Found(**own) for own in notes if own}
    uses = [Use(*use) for use in snakemake.params.uses]
    lines = report(list(found.values()), uses, size, name)
    tell("\n".join(said for said, _ in lines))
    write_report(lines, snakemake.output[0])
