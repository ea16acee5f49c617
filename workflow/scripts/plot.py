"""Draw one figure of a benchmark, and write the numbers that it shows."""

from importlib import import_module
from pathlib import Path

from needlework import published
from needlework.figures.save import save_figure
from needlework.job import running
from needlework.results import result_rows

with running(snakemake):
    params = snakemake.params
    package = f"needlework.benchmarks.{params.benchmark}"
    factors = import_module(f"{package}.plan").FACTORS
    plot = import_module(f"{package}.figures").FIGURES[params.name]
    data = plot.data(
        result_rows(params.needs, snakemake.input.rows, factors),
        published.load(snakemake.input.published),
        params.settings,
    )
    data.to_csv(snakemake.output.csv, index=False)
    save_figure(plot.draw(data, params.settings), Path(snakemake.output.svg).with_suffix(""))
