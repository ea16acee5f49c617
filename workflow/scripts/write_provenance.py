"""Write the inputs, software and hardware of the results."""

import os

from needlework.given import given
from needlework.jobs.job import running
from needlework.planning.preflight.secrets import key_variables
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
    variables = key_variables(given(snakemake.config))
    keys = [os.environ.get(name, "").strip() for name in variables]
    write(found, snakemake.output[0], keys)
