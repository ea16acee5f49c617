"""Make the numbers of a benchmark's results that are made of the same rows: a tidy CSV each."""

from needlework.atomic import write_csv
from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results import published
from needlework.results.result import Context
from needlework.results.rows import result_rows

with running(snakemake) as logger:
    params = snakemake.params
    benchmark = load_benchmark(params.benchmark)
    rows = result_rows(params.needs, snakemake.input.rows, benchmark.columns)
    printed = snakemake.input.published
    context = Context(published.load(printed[0]) if printed else published.none(), params.run)
    for name, csv in zip(params.names, snakemake.output, strict=True):
        logger.info("%s", name)
        write_csv(benchmark.by_name[name](rows, context), csv)
