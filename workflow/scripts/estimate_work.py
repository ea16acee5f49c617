"""Estimate the rest of a run before a GPU or a paid request is used: a table and a CSV file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from needlework.benchmarks.contract import Entry
from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.journal import Record
from needlework.models.answer_folders import journal_of
from needlework.models.audits import draw, other_batches
from needlework.models.backends.base import Backend, load_backend
from needlework.models.engine_arguments import judging
from needlework.models.estimates import Answering, Estimate, PromptSet, Work, as_text, write_csv
from needlework.models.generation import is_answer
from needlework.models.outcomes import Outcomes, Size, best_records
from needlework.models.selection import Selection
from needlework.models.thoughts import marks
from needlework.prompts.spans import Documents
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import write_table
from needlework.scoring import judge

# A benchmark, its prompts, and those that the model gets of them.
Asked = tuple[str, PromptSet, Sequence[int], Selection | None]

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

    def works_of(
        model: str,
        entry: Entry,
        asked: Iterable[Asked],
        journal: str | Path = config["journal"],
        drawn: Callable[..., list[str]] | None = None,
    ) -> list[Work]:
        """The requests of a model, by benchmark. `drawn` gives the questions of some, by benchmark."""
        unit = config["tokenizers"][entry["tokenizer"]]["kind"]
        whole = {**entry, "model": model, "journal": config["journal"]}
        backend = load_backend(entry["backend"], whole)
        folder = Path(journal) / "generations"
        answered = journal_of(folder, backend.identity(), model).records()
        again, opened = config["generation"]["again"], bool(entry["reasoning"])
        held = (record for record in answered if is_answer(record) and backend.holds(record))
        best = best_records(held, marks(entry), opened) if again else {}
        done = set(best) or {record["key"] for record in held}
        answering = Answering(
            model,
            entry,
            backend,
            params.gpus[model],
            unit if unit in ("words", "characters") else "tokens",
            done,
            partial(asked_again, best, entry, backend, again),
        )
        return [Work(answering, *each, drawn and partial(drawn, each[0])) for each in asked]

    def asked_of(model: str) -> list[Asked]:
        """What a model is asked in each benchmark."""
        tokenizer, only = config["models"][model]["tokenizer"], params.only[model]
        lengths = params.lengths[model]
        return [(name, prompts(name, tokenizer), own, only[name]) for name, own in lengths.items()]

    def of_audits() -> list[Estimate]:
        """What `snakemake audit` takes: of each model the questions that are drawn, and some again."""
        rows = []
        for model, (turn, limits) in product(params.audited, params.audit_questions.items()):
            entry, journal = config["models"][model], Path(config["journal"])
            if turn == "again":
                entry, journal = {**entry, **other_batches(entry)}, journal / "audits"

            def drawn(
                benchmark: str, questions: Sequence[str], limits: Sequence[int | None] = limits
            ) -> list[str]:
                found = draw(questions, None, config["run"]["seed"], benchmark)
                for limit in limits:
                    found = found[:limit]
                return found

            for work in works_of(model, entry, asked_of(model), journal, drawn):
                found = work.estimate()
                rows.append(replace(found, benchmark=f"{found.benchmark} ({turn} in audits)"))
        return rows

    def of_judge(rows: Sequence[Estimate]) -> Estimate:
        """What the judge takes: of prompts that are made, or else of those that are expected."""
        name, judged = config["judge"], [row for row in rows if row.model not in params.readers]
        entry = {**config["models"][name], **judging(config["models"][name])}
        made = Path(f"results/judge/{name}/prompts.parquet")
        if made.is_file() and not any(row.left_prompts for row in judged):
            return works_of(name, entry, [("judge", PromptSet([made], {}), [], None)])[0].estimate()
        with TemporaryDirectory() as folder:
            cases = judge.known_cases(params.judge["known"])
            counting = load_tokenizer("words", {"kind": "words"})
            with suppress(UserError):
                counting = load_tokenizer(
                    entry["tokenizer"], config["tokenizers"][entry["tokenizer"]]
                )
            known = Path(folder) / "prompts.parquet"
            templates = judge.read_templates(params.judge["templates"])
            write_table(judge.prompts(cases, templates, counting), known)
            (work,) = works_of(name, entry, [("judge", PromptSet([known], {}), [], None)])
        return work.with_more(round(judge.EXPECTED * sum(row.prompts for row in judged)))

    rows = [
        work.estimate()
        for model in params.lengths
        for work in works_of(model, config["models"][model], asked_of(model))
    ]
    if config["judge"]:
        rows.append(of_judge(rows))
    audits = of_audits()
    write_csv([*rows, *audits], params.table)
    text = as_text(rows)
    if audits:
        text = (
            f"{text}\n\nLeft to do by `snakemake audit`; its first answers are also the run's:"
            f"\n\n{as_text(audits)}"
        )
    logger.info("\n%s", text)
    # In one piece, however many jobs write beside it.
    terminal.write(f"\nLeft to do ({params.table} has more):\n\n{text}\n\n")
    terminal.flush()
