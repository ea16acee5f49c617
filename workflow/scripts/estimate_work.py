"""Estimate the rest of a run before a GPU or a paid request is used: a table and a CSV file."""

import os
from functools import cache
from pathlib import Path

from needlework.jobs.job import running
from needlework.journal import Journal
from needlework.models.backends.base import load_backend
from needlework.models.estimates import PromptSet, Work, as_text, write_csv
from needlework.prompts.spans import Documents
from needlework.results import limits

# The job's own output goes to its log.
terminal = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")

with running(snakemake) as logger:
    config, params = snakemake.config, snakemake.params

    @cache
    def prompts(benchmark: str, tokenizer: str) -> PromptSet:
        files = params.files[benchmark][tokenizer]
        documents = Documents.of(benchmark, files["corpora"], files["documents"])
        return PromptSet(files["instances"], documents, params.factors[benchmark])

    works = []
    for model, lengths in params.lengths.items():
        entry = config["models"][model]
        whole = {**entry, "model": model, "journal": config["journal"]}
        backend = load_backend(entry["backend"], whole)
        answered = Journal(Path(config["journal"]) / "generations" / model).records()
        done = {record["key"] for record in answered if backend.holds(record)}
        for benchmark, own in lengths.items():
            works.append(
                Work(
                    entry,
                    prompts(benchmark, entry["tokenizer"]),
                    own,
                    backend,
                    done,
                    names=(model, benchmark),
                    gpus=params.gpus[model],
                    guess=config["estimate"],
                    only=params.only[model][benchmark],
                )
            )
    rows = [work.estimate() for work in works]
    write_csv(rows, params.table)
    text, limit = as_text(rows), {k: v for k, v in config["run"]["limit"].items() if v is not None}
    if limit:
        part = None
        if not limits.within(rows, limit):
            part = limits.part_within(works, limit, params.asked)
        if part:
            limits.write_subset(part, params.only, params.subset)
        text = f"{text}\n\n{limits.as_text(part, rows, limit, params.subset)}"
    logger.info("\n%s", text)
    # In one piece, however many jobs write beside it.
    terminal.write(f"\nLeft to do ({params.table} has more):\n\n{text}\n\n")
    terminal.flush()
