"""Draw the report card of a model, and write its sentence."""

from pathlib import Path

from needlework.jobs.job import running
from needlework.results.cards.drawn import draw
from needlework.results.cards.numbers import read
from needlework.results.cards.words import METHOD, sentence
from needlework.results.figures.save import save_figure

with running(snakemake) as logger:
    model, titles = snakemake.wildcards.model, snakemake.params.titles
    points, compared, answers = (
        table[table[column] == model]
        for table, column in (
            (read(snakemake.input.points), "card"),
            (read(snakemake.input.comparisons), "card"),
            (read(snakemake.input.answers), "model"),
        )
    )
    said = sentence(model, compared, titles)
    logger.info("%s", said)
    Path(snakemake.output.text).write_text(f"{said}\n{METHOD}\n", encoding="utf-8")
    figure = draw(model, points, compared, answers, titles)
    save_figure([figure], Path(snakemake.output.svg).with_suffix(""))
