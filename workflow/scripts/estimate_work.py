"""Estimate the rest of a run before a GPU or a paid request is used: a table and a CSV file."""

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from needlework.entry import Entry
from needlework.jobs.job import running
from needlework.journal import Journal, Record
from needlework.models.backends.base import Backend, load_backend
from needlework.models.estimates import PromptSet, Work, as_text, write_csv
from needlework.models.generation import is_answer
from needlework.models.outcomes import Outcomes, Size, best_records
from needlework.models.thoughts import marks
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

    def asked_again(
        best: Mapping[str, Record],
        entry: Entry,
        backend: Backend,
        again: Sequence[str],
        sizes: Mapping[str, Size],
    ) -> set[str]:
        """The requests that were answered and are asked again, as the job decides it."""
        records = {key: best[key] for key in sizes if key in best}
        found = Outcomes(
            records,
            sizes,
            {},
            entry["context"],
            marks(entry),
            bool(entry["reasoning"]),
            backend.asks_a_model,
        )
        return found.retried(again)

    works = []
    for model, lengths in params.lengths.items():
        entry = config["models"][model]
        unit = config["tokenizers"][entry["tokenizer"]]["kind"]
        whole = {**entry, "model": model, "journal": config["journal"]}
        backend = load_backend(entry["backend"], whole)
        answered = Journal(Path(config["journal"]) / "generations" / model).records()
        again, opened = config["generation"]["again"], bool(entry["reasoning"])
        held = (record for record in answered if is_answer(record) and backend.holds(record))
        best = best_records(held, marks(entry), opened) if again else {}
        done = set(best) or {record["key"] for record in held}
        retried = partial(asked_again, best, entry, backend, again)
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
                    retried=retried,
                    counted_in=unit if unit in ("words", "characters") else "tokens",
                )
            )
    rows = [work.estimate() for work in works]
    write_csv(rows, params.table)
    text, limit = as_text(rows), {k: v for k, v in config["run"]["limit"].items() if v is not None}
    if limit:
        part = None
        if not limits.within(rows, limit):
            part = limits.part_within(works, limit, params.asked)
        if part and part.questions:
            limits.write_subset(part, params.only, params.subset)
        text = f"{text}\n\n{limits.as_text(part, rows, limit, params.subset)}"
    logger.info("\n%s", text)
    # In one piece, however many jobs write beside it.
    terminal.write(f"\nLeft to do ({params.table} has more):\n\n{text}\n\n")
    terminal.flush()
