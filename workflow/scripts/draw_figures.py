"""Draw the figures of a benchmark that are made of the same rows, each with the numbers that it shows."""

from importlib import import_module
from pathlib import Path

from needlework import published
from needlework.figures.save import save_figure
from needlework.job import running
from needlework.results import result_rows

with running(snakemake) as logger:
    params, output = snakemake.params, snakemake.output
    package = f"needlework.benchmarks.{params.benchmark}"
    factors = import_module(f"{package}.plan").FACTORS
    figures = import_module(f"{package}.figures").FIGURES
    rows = result_rows(params.needs, snakemake.input.rows, factors)
    numbers = published.load(snakemake.input.published)
    for name, csv, svg in zip(params.names, output.csv, output.svg, strict=True):
        logger.info("%s", name)
        data = figures[name].data(rows, numbers, params.settings)
        data.to_csv(csv, index=False)
        save_figure(figures[name].draw(data, params.settings), Path(svg).with_suffix(""))
