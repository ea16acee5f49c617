"""Let a model answer a benchmark's prompts or the judge's; answers in the journal are not requested again.

For the doctor, the prompts that are drawn: as in a run, or (`again`) a second time in other company, with a
journal of their own. A judge that fails ends no job: what it has answered is written, and why it failed.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from needlework.given import given
from needlework.jobs.job import running
from needlework.jobs.stop import Stopped
from needlework.journal import Journal
from needlework.models.accounts import account_of, write_account
from needlework.models.answer_folders import journal_of
from needlework.models.backends.base import Backend, load_backend
from needlework.models.engine_arguments import judging
from needlework.models.generation import InstanceRequests, Policy, generate
from needlework.models.job_records import write_job_record
from needlework.models.question_draws import other_batches
from needlework.models.selection import check_room
from needlework.models.thoughts import AnswerRow
from needlework.prompts.spans import Documents
from needlework.records import GENERATIONS, write_table

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

Rows = list[AnswerRow]


def backend_of(job: Any) -> Backend:
    """The backend of a job's model."""
    config: Configuration = given(job.config)
    name = job.wildcards.model
    entry = config.models[name]
    if job.wildcards.benchmark == "judge":
        entry = given({**dict(entry), **judging(entry)})
    if job.wildcards.get("turn") == "again":
        entry = given({**dict(entry), **other_batches(entry)})
    return load_backend(name, entry, config.journal)


def requests_of(job: Any) -> InstanceRequests:
    """The requests of a job, in reverse order if the doctor asks them again."""
    shard, _, shards = job.wildcards.get("shard", "0-of-1").partition("-of-")
    return InstanceRequests(
        job.input.instances,
        Documents.of(job.wildcards.benchmark, job.input.corpora, job.input.documents),
        samples=given(job.params.model).samples,
        lengths=job.params.lengths,
        only=job.params.only,
        shard=(int(shard), int(shards)),
        backwards=job.wildcards.get("turn") == "again",
    )


def folder_of(job: Any) -> Path:
    """The journal's folder for a job: the doctor's second answers are none of a run."""
    folder = Path(job.config["journal"])
    return folder / "audits" if job.wildcards.get("turn") == "again" else folder


def answers_of(
    job: Any, backend: Backend, journal: Journal, told: Callable[[Rows], None]
) -> pa.Table:
    """The answers of a job; `told` gets what became of its requests, also if it fails."""
    config: Configuration = given(job.config)
    requests, entry = requests_of(job), backend.config

    def loaded() -> None:
        """See that prompts fit; write down on what the model runs, and what it is asked first."""
        longest = requests.longest(entry.context)
        reserve = config.tokenizers[entry.tokenizer].reserve
        check_room(backend.model, entry, longest, backend.overhead(), reserve)
        write_job_record(
            folder_of(job) / "jobs" / job.wildcards.model,
            job.wildcards.benchmark,
            backend,
            next(iter(requests)) if requests.shard[0] == 0 else None,
            on_gpus=job.resources.get("gpu", 0) > 0,
        )

    return generate(
        requests,
        backend,
        journal,
        Policy.of(given(job.params.model), config.generation.again),
        known=requests.known(),
        loaded=loaded,
        told=told,
    )


# vLLM starts its engine in a new Python that imports this file.
if __name__ == "__main__":
    with running(snakemake) as logger:
        name, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
        params, is_judge = snakemake.params, benchmark == "judge"
        backend = backend_of(snakemake)
        journal = journal_of(folder_of(snakemake) / "generations", backend.identity(), name)
        rows: Rows = []
        reason = "the job was stopped"
        try:
            with journal:
                answers = answers_of(snakemake, backend, journal, rows.extend)
            reason = ""
        except Stopped as stopped:
            reason = str(stopped)
            raise
        except Exception as error:
            reason = str(error)
            if not is_judge:
                raise
            answers = pa.Table.from_pylist(rows, schema=GENERATIONS)
        finally:
            account = account_of(rows, name, benchmark, backend.asks_a_model)
            account.asked_as, account.address = params.state, backend.address
            account.name, account.failed = secrets.token_hex(8), reason
            account.losses = [*journal.losses.values()]
            for sentence in account.sentences():
                logger.warning("%s.", sentence)
            write_account(account, snakemake.log.account)
        logger.info("%s", account.summary())
        write_table(
            answers,
            snakemake.output[0],
            inputs=snakemake.input,
            config=[params.model, params.lengths, params.only],
            notes={
                "identity": backend.identity(),
                "only": params.only,
                **({"failed": reason} if is_judge else {}),
            },
        )
