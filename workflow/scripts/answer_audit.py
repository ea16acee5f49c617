"""Let a model answer the prompts of an audit: as in a run, or a second time in other company.

Answers of a run are taken from its journal. Second ones are in a journal of their own.
"""

from pathlib import Path

from needlework.jobs.job import running
from needlework.journal import Journal
from needlework.models.accounts import account_of
from needlework.models.audits import other_batches
from needlework.models.backends.base import load_backend
from needlework.models.generation import InstanceRequests, generate
from needlework.models.job_records import remember
from needlework.models.room import check_room
from needlework.models.thoughts import marks
from needlework.prompts.spans import Documents
from needlework.records import write_table

# vLLM starts its engine in a new Python that imports this file.
if __name__ == "__main__":
    with running(snakemake) as logger:
        model, inputs = snakemake.params.model, snakemake.input
        name, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
        again = snakemake.wildcards.turn == "again"
        journals = Path(snakemake.config["journal"])
        entry = {**snakemake.config["models"][name], "model": name, "journal": str(journals)}
        if again:
            entry |= other_batches(entry)
        kept = journals / "audits" if again else journals
        backend = load_backend(model["backend"], entry)
        requests = InstanceRequests(
            inputs.instances,
            Documents.of(benchmark, inputs.corpora, inputs.documents),
            samples=model["samples"],
            backwards=again,
        )

        def loaded() -> None:
            """See that prompts fit; write down on what the model runs."""
            reserve = snakemake.config["tokenizers"][entry["tokenizer"]]["reserve"]
            check_room(entry, requests.longest(model["context"]), backend.overhead(), reserve)
            on_gpus = snakemake.resources.get("gpu", 0) > 0
            remember(kept / "jobs" / name, benchmark, backend, on_gpus=on_gpus)

        with Journal(kept / "generations" / name) as journal:
            answers = generate(
                requests,
                backend,
                journal,
                context=model["context"],
                max_failed=model["max_failed"],
                marks=marks(model),
                opened=bool(model["reasoning"]),
                loaded=loaded,
            )
        account = account_of(answers.to_pylist(), name, benchmark, backend.asks_a_model)
        for sentence in account.sentences():
            logger.warning("%s.", sentence)
        logger.info("%s", account.summary())
        write_table(
            answers,
            snakemake.output[0],
            inputs=snakemake.input,
            config=model,
            notes={"identity": backend.identity()},
        )
