"""Compare the papers' printed numbers with each other, and with a run's scores where there are any."""

from pathlib import Path

from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results.drawing.save import save_figure
from needlework.results.printed.agreement import COLUMNS, Scores, between, of_the_run
from needlework.results.printed.numbers import labels, table
from needlework.results.printed.page import draw, page

with running(snakemake) as logger:
    numbers = table(snakemake.input.published, labels(snakemake.input.labels))
    run: dict[str, Scores] = {}
    for path in snakemake.input.scores:
        run |= of_the_run(read_table(path).to_pandas(), Path(path).stem)
    found = between(numbers, run)
    output = snakemake.output
    found.to_csv(output.csv, columns=list(COLUMNS), index=False, lineterminator="\n")
    measured = "".join(Path(path).read_text("utf-8") for path in snakemake.input.factors)
    Path(output.page).write_text(page(found, measured), encoding="utf-8")
    save_figure([draw(found)], Path(output.svg).with_suffix(""))
    logger.info("%d comparisons", len(found))
