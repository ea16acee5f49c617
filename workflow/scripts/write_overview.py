"""Write results/index.html: the run's results on one page."""

from needlework.jobs.job import running
from needlework.results.overview_page import write_page

with running(snakemake):
    write_page(
        snakemake.params.benchmarks,
        snakemake.params.models,
        template=snakemake.input.template,
        target=snakemake.output.page,
        summary=snakemake.output.summary,
        repeated=next(iter(snakemake.input.repeated), None),
    )
