"""Compare the papers' printed numbers with each other, and with a run's scores where there are any."""

from pathlib import Path

from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results.figures.save import save_figure
from needlework.results.printed.agreement import COLUMNS, Scores, between, scores
from needlework.results.printed.numbers import labels, table
from needlework.results.printed.page import draw, page


def of_the_run(files: list[str]) -> dict[str, Scores]:
    """The shares of languages of a run's models, by model and benchmark."""
    found = {}
    for file in files:
        rows = read_table(file).to_pandas()
        side = "needle_lang" if "needle_lang" in rows else "context_lang"
        answered = rows[rows["score"].notna()]
        for model, own in answered.groupby("model"):
            cells = own.groupby(side)["score"].agg(["mean", "size"]).reset_index()
            cells = cells.rename(columns={"mean": "value", "size": "n"}).assign(precision=0.0)
            found[f"{model}, {Path(file).stem}"] = scores(cells, side)
    return found


with running(snakemake) as logger:
    numbers = table(snakemake.input.published, labels(snakemake.input.labels))
    found = between(numbers, of_the_run(snakemake.input.scores))
    output = snakemake.output
    found.to_csv(output.csv, columns=list(COLUMNS), index=False, lineterminator="\n")
    measured = "".join(Path(path).read_text("utf-8") for path in snakemake.input.factors)
    Path(output.page).write_text(page(found, measured), encoding="utf-8")
    save_figure([draw(found)], Path(output.svg).with_suffix(""))
    logger.info("%d comparisons", len(found))
