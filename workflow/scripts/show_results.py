"""Lay out the tables and draw the figures of a benchmark whose numbers are made of the same rows."""

from pathlib import Path

import pandas as pd

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.drawings import Drawing
from needlework.jobs.job import running
from needlework.results.drawing import NothingToDraw, draw, notice
from needlework.results.figures.save import save_figure
from needlework.results.latex import lay_out

with running(snakemake) as logger:
    params = snakemake.params
    benchmark = load_benchmark(params.benchmark)
    shown = {Path(path).stem: Path(path) for path in [*snakemake.output.tex, *snakemake.output.svg]}
    for name, csv in zip(params.names, snakemake.input, strict=True):
        logger.info("%s", name)
        result, numbers = (
            benchmark.by_name[name],
            pd.read_csv(csv, keep_default_na=False, na_values=[""]),
        )
        if not isinstance(result.shown, Drawing):
            label, asked = f"{params.benchmark}-{name}", params.run.get("asked", "")
            text = lay_out(numbers, result.shown, label, result.title, asked)
            shown[name].write_text(text, encoding="utf-8")
            continue
        try:
            figures = draw(result.shown, numbers, benchmark.called, params.run)
        except NothingToDraw as reason:
            logger.info("%s is not drawn: %s", name, reason)
            figures = [notice(f"Nothing to draw: {reason}")]
        save_figure(figures, shown[name].with_suffix(""))
