"""Let a model answer the prompts of a benchmark; what the journal holds is not asked again."""

from pathlib import Path

from needlework.backends.base import load_backend
from needlework.generation import InstanceRequests, generate
from needlework.job import running
from needlework.journal import Journal
from needlework.prompt import Documents
from needlework.records import write_table

# vLLM starts its engine in a new Python that imports this file.
if __name__ == "__main__":
    with running(snakemake) as logger:
        model = snakemake.params.model
        name = snakemake.wildcards.model
        requests = InstanceRequests(
            snakemake.input.instances,
            Documents.of(
                snakemake.wildcards.benchmark, snakemake.input.corpora, snakemake.input.documents
            ),
            samples=model["samples"],
            lengths=snakemake.params.lengths,
        )
        with Journal(Path(snakemake.config["journal"]) / "generations" / name) as journal:
            answers = generate(
                requests,
                load_backend(model["backend"], {**snakemake.config["models"][name], "model": name}),
                journal,
                context=model["context"],
                max_failed=model["max_failed"],
            )
        logger.info("%d answers", answers.num_rows)
        write_table(
            answers,
            snakemake.output[0],
            inputs=snakemake.input,
            config=[model, snakemake.params.lengths],
        )
