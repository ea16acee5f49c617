"""Let a model answer a benchmark's prompts or the judge's; answers in the journal are not requested again.

Of an audit, those that are drawn: as in a run, or (`again`) a second time in other company, with a journal of
their own. A judge that fails ends no job: what it has answered is written, and why it failed.
"""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.jobs.job import running
from needlework.journal import Journal
from needlework.models.accounts import Account, account_of, write_account
from needlework.models.audits import other_batches
from needlework.models.backends.base import load_backend
from needlework.models.engine_arguments import judging
from needlework.models.generation import InstanceRequests, generate
from needlework.models.job_records import remember
from needlework.models.room import check_room
from needlework.models.thoughts import marks
from needlework.prompts.spans import Documents
from needlework.records import GENERATIONS, write_table

# vLLM starts its engine in a new Python that imports this file.
if __name__ == "__main__":
    with running(snakemake) as logger:
        model, inputs = snakemake.params.model, snakemake.input
        name, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
        shard, _, shards = snakemake.wildcards.get("shard", "0-of-1").partition("-of-")
        second = snakemake.wildcards.get("turn") == "again"
        folder = Path(snakemake.config["journal"])
        entry = {**snakemake.config["models"][name], "model": name, "journal": str(folder)}
        is_judge = benchmark == "judge"
        if is_judge:
            entry |= judging(entry)
        if second:
            entry |= other_batches(entry)
            folder /= "audits"
        backend = load_backend(model["backend"], entry)
        requests = InstanceRequests(
            inputs.instances,
            Documents.of(benchmark, inputs.corpora, inputs.documents),
            samples=model["samples"],
            lengths=snakemake.params.lengths,
            only=snakemake.params.only,
            shard=(int(shard), int(shards)),
            backwards=second,
        )

        def loaded() -> None:
            """See that prompts fit; write down on what the model runs, and what it is asked first."""
            reserve = snakemake.config["tokenizers"][entry["tokenizer"]]["reserve"]
            check_room(entry, requests.longest(model["context"]), backend.overhead(), reserve)
            remember(
                folder / "jobs" / name,
                benchmark,
                backend,
                next(iter(requests)) if shard == "0" else None,
                on_gpus=snakemake.resources.get("gpu", 0) > 0,
            )

        def told(rows: Sequence[Mapping[str, object]]) -> None:
            """Take what became of the requests."""
            found[:] = rows
            accounts.append(account_of(rows, name, benchmark, backend.asks_a_model))

        accounts: list[Account] = []
        found: list[Mapping[str, object]] = []
        reason = "the job was stopped"
        try:
            with Journal(folder / "generations" / name) as journal:
                answers = generate(
                    requests,
                    backend,
                    journal,
                    context=model["context"],
                    max_failed=model["max_failed"],
                    known=requests.known(),
                    marks=marks(model),
                    opened=bool(model["reasoning"]),
                    loaded=loaded,
                    again=snakemake.config["generation"]["again"],
                    told=told,
                )
            reason = ""
        except Exception as error:
            reason = str(error)
            if not is_judge:
                raise
            answers = pa.Table.from_pylist(found, schema=GENERATIONS)
        finally:
            account = accounts[-1] if accounts else Account(name, benchmark)
            account.asked_as = snakemake.params.state
            account.name, account.failed = secrets.token_hex(8), reason
            for sentence in account.sentences():
                logger.warning("%s.", sentence)
            write_account(account, snakemake.log.account)
        logger.info("%s", account.summary())
        write_table(
            answers,
            snakemake.output[0],
            inputs=snakemake.input,
            config=[model, snakemake.params.lengths, snakemake.params.only],
            notes={
                "identity": backend.identity(),
                "only": snakemake.params.only,
                **({"failed": reason} if is_judge else {}),
            },
        )
