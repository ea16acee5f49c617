"""Write the inputs, software and hardware of the results."""

import os

from needlework.jobs.job import running
from needlework.planning.secret_checks import key_variables
from needlework.results.sealed.provenance import collect, write

with running(snakemake):
    found = collect(
        snakemake.params.configuration,
        generations=snakemake.params.generations,
        scores=snakemake.input.scores,
        results=[*snakemake.input.results, *snakemake.input.translations],
        registry=snakemake.input.registry,
        journal=snakemake.config["journal"],
        benchmarks="benchmarks",
    )
    keys = [os.environ.get(name, "").strip() for name in key_variables(snakemake.config)]
    write(found, snakemake.output[0], keys)
