"""Lay out the tables and draw the figures of a benchmark whose numbers are made of the same rows."""

from pathlib import Path

import pandas as pd

from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results.drawing import NothingToDraw, draw, notice
from needlework.results.drawing.save import save_figure, save_notes
from needlework.results.drawing.style import Printing
from needlework.results.result import Drawing, Run, told, without_controls, without_incomparable
from needlework.results.written_tables import html_table, lay_out

with running(snakemake) as logger:
    params = snakemake.params
    facts: Run = params.run
    benchmark = load_benchmark(params.benchmark)
    shown = {Path(path).stem: Path(path) for path in [*snakemake.output.tex, *snakemake.output.svg]}
    for name, csv in zip(params.names, snakemake.input, strict=True):
        logger.info("%s", name)
        result, numbers = (
            benchmark.by_name[name],
            pd.read_csv(csv, keep_default_na=False, na_values=[""]),
        )
        # The page says once for all results what a benchmark's data are.
        said = told(result, {**facts, "data": ""})
        drawn = without_controls(numbers, facts)
        if not isinstance(result.shown, Drawing):
            printed = told(result, facts)
            if len(drawn) < len(numbers):
                controls = ", ".join(facts["controls"])
                printed = f"{printed} Only the CSV has the controls ({controls}).".strip()
            label = f"{params.benchmark}-{name}"
            text = lay_out(drawn, result.shown, label, result.title, printed)
            shown[name].write_text(text, encoding="utf-8")
            html = html_table(without_incomparable(drawn), result.shown, result.title)
            shown[name].with_suffix(".html").write_text(html, encoding="utf-8")
            continue
        if (own := without_incomparable(drawn)) is not drawn:
            drawn, said = (
                own,
                f"{said} The CSV has the paper's numbers: none can be compared with ours.".strip(),
            )
        try:
            run: Run = {**facts, "asked": said}
            printing = Printing(**params.figures)
            figures = draw(result.shown, drawn, benchmark.called, run, printing)
        except NothingToDraw as reason:
            logger.info("%s is not drawn: %s", name, reason)
            figures = [notice(f"Nothing to draw: {reason}")]
        save_figure(figures, shown[name].with_suffix(""))
        save_notes(figures, shown[name].with_suffix(".txt"))
