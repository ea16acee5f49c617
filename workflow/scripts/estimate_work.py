"""Estimate the rest of a run before a GPU or a paid request is used: a table and a CSV file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.given import given
from needlework.jobs.job import running
from needlework.journal import Record
from needlework.models.answer_folders import journal_of
from needlework.models.backends.base import Backend, load_backend
from needlework.models.engine_arguments import judging
from needlework.models.estimates import Answering, PromptSet, Work, WorkRow, as_text, save_estimates
from needlework.models.generation import Policy, is_answer
from needlework.models.outcomes import Outcomes, PromptSize, best_records
from needlework.models.question_draws import draw_questions, other_batches
from needlework.models.selection import Selection
from needlework.prompts.spans import Documents
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import write_table
from needlework.scoring import judge

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration

# A benchmark, its prompts, and those that the model gets of them.
Asked = tuple[str, PromptSet, Sequence[int], Selection | None]

# The job's own output goes to its log.
terminal = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")

with running(snakemake) as logger:
    config: "Configuration" = given(snakemake.config)
    params = snakemake.params

    @cache
    def prompts(benchmark: str, tokenizer: str) -> PromptSet:
        files = params.files[benchmark][tokenizer]
        documents = Documents.of(benchmark, files["corpora"], files["documents"])
        return PromptSet(files["instances"], documents, params.factors[benchmark])

    def asked_again(
        best: Mapping[str, Record],
        policy: Policy,
        backend: Backend,
        sizes: Mapping[str, PromptSize],
    ) -> set[str]:
        """The requests that were answered and are asked again, as the job decides it."""
        records = {key: best[key] for key in sizes if key in best}
        found = Outcomes(
            records,
            sizes,
            {},
            policy.context,
            policy.marks,
            policy.opened,
            backend.asks_a_model,
        )
        return found.retried(policy.again)

    def works_of(
        model: str,
        entry: "AnyModel",
        asked: Iterable[Asked],
        journal: str | Path = config.journal,
        drawn: Callable[..., list[str]] | None = None,
    ) -> list[Work]:
        """The requests of a model, by benchmark. `drawn` gives the questions of some, by benchmark."""
        unit = config.tokenizers[entry.tokenizer].kind
        backend = load_backend(model, entry, config.journal)
        folder = Path(journal) / "generations"
        answered = journal_of(folder, backend.identity(), model).records()
        policy = Policy.of(entry, config.generation.again)
        held = (record for record in answered if is_answer(record) and backend.holds(record))
        best = best_records(held, policy.marks, policy.opened) if policy.again else {}
        done = set(best) or {record["key"] for record in held}
        answering = Answering(
            model,
            entry,
            backend,
            params.gpus[model],
            unit if unit in ("words", "characters") else "tokens",
            done,
            partial(asked_again, best, policy, backend),
        )
        return [Work(answering, *each, drawn and partial(drawn, each[0])) for each in asked]

    def asked_of(model: str) -> list[Asked]:
        """What a model is asked in each benchmark."""
        tokenizer, only = config.models[model].tokenizer, params.only[model]
        lengths = params.lengths[model]
        return [(name, prompts(name, tokenizer), own, only[name]) for name, own in lengths.items()]

    def of_checkups() -> list[WorkRow]:
        """What `snakemake doctor` takes: of each model the questions that are drawn, and some again."""
        rows = []
        for model, (turn, limits) in product(params.checked, params.checkup_questions.items()):
            entry, journal = config.models[model], Path(config.journal)
            if turn == "again":
                entry = given({**dict(entry), **other_batches(entry)})
                journal = journal / "audits"

            def drawn(
                benchmark: str, questions: Sequence[str], limits: Sequence[int | None] = limits
            ) -> list[str]:
                found = draw_questions(questions, None, config.run.seed, benchmark)
                for limit in limits:
                    found = found[:limit]
                return found

            for work in works_of(model, entry, asked_of(model), journal, drawn):
                found = work.estimate()
                rows.append(replace(found, benchmark=f"{found.benchmark} ({turn} of the doctor)"))
        return rows

    def of_judge(name: str, rows: Sequence[WorkRow]) -> WorkRow:
        """What the judge takes: of prompts that are made, or else of those that are expected."""
        judged = [row for row in rows if row.model not in params.readers]
        entry: AnyModel = given({**dict(config.models[name]), **judging(config.models[name])})
        made = Path(f"results/judge/{name}/prompts.parquet")
        if made.is_file() and not any(row.left_prompts for row in judged):
            return works_of(name, entry, [("judge", PromptSet([made], {}), [], None)])[0].estimate()
        with TemporaryDirectory() as folder:
            cases = judge.known_cases(params.judge["known"])
            counting = load_tokenizer("words", {"kind": "words"})
            with suppress(UserError):
                counting = load_tokenizer(entry.tokenizer, dict(config.tokenizers[entry.tokenizer]))
            known = Path(folder) / "prompts.parquet"
            templates = judge.read_templates(params.judge["templates"])
            write_table(judge.prompts(cases, templates, counting), known)
            (work,) = works_of(name, entry, [("judge", PromptSet([known], {}), [], None)])
        return work.with_more(round(judge.EXPECTED * sum(row.prompts for row in judged)))

    rows = [
        work.estimate()
        for model in params.lengths
        for work in works_of(model, config.models[model], asked_of(model))
    ]
    if config.judge:
        rows.append(of_judge(config.judge, rows))
    checkups = of_checkups()
    save_estimates([*rows, *checkups], params.table)
    text = as_text(rows)
    if checkups:
        text = (
            f"{text}\n\nLeft to do by `snakemake doctor`; its first answers are also the run's:"
            f"\n\n{as_text(checkups)}"
        )
    logger.info("\n%s", text)
    # In one piece, however many jobs write beside it.
    terminal.write(f"\nLeft to do ({params.table} has more):\n\n{text}\n\n")
    terminal.flush()
