"""Draw the figures of a benchmark that are made of the same rows, each with the numbers that it shows."""

from importlib import import_module
from pathlib import Path

from needlework import published
from needlework.figures.save import save_figure
from needlework.job import running
from needlework.results.drawing import NothingToDraw, draw, stated
from needlework.results.rows import result_rows

with running(snakemake) as logger:
    params, output = snakemake.params, snakemake.output
    package = f"needlework.benchmarks.{params.benchmark}"
    factors = import_module(f"{package}.plan").FACTORS
    figures = import_module(f"{package}.figures")
    rows = result_rows(params.needs, snakemake.input.rows, factors)
    numbers = published.load(snakemake.input.published)
    run = {"metric": "strict", **figures.of_run(rows), **params.settings}
    for name, csv, svg in zip(params.names, output.csv, output.svg, strict=True):
        logger.info("%s", name)
        data = figures.FIGURES[name].data(rows, numbers, params.settings)
        data.to_csv(csv, index=False)
        try:
            figure = draw(figures.DRAWINGS[name], data, figures.FACTORS, run)
        except NothingToDraw as reason:
            logger.info("%s is not drawn: %s", name, reason)
            figure = stated(f"Nothing to draw: {reason}")
        save_figure(figure, Path(svg).with_suffix(""))
