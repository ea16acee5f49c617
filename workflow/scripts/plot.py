"""Draw one figure of a benchmark, and write the numbers that it shows."""

from importlib import import_module
from pathlib import Path

import pandas as pd

from needlework import published
from needlework.figures.save import save_figure
from needlework.job import running
from needlework.records import read_table

with running(snakemake):
    benchmark, name = snakemake.params.benchmark, snakemake.params.name
    plot = import_module(f"needlework.benchmarks.{benchmark}.figures").FIGURES[name]
    scores = pd.concat([read_table(path).to_pandas() for path in snakemake.input.scores])
    settings = snakemake.params.settings
    data = plot.data(scores, published.load(snakemake.input.published), settings)
    data.to_csv(snakemake.output.csv, index=False)
    save_figure(plot.draw(data, settings), Path(snakemake.output.svg).with_suffix(""))
