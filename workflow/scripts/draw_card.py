"""Draw the report card of a model, and write its sentence."""

from pathlib import Path

from needlework.jobs.job import running
from needlework.results.cards.drawn import draw_card, legend, said
from needlework.results.drawing.save import save_figure
from needlework.results.numbers.tables import read

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
    words = said(model, points, compared, answers, titles)
    logger.info("%s", words)
    text = f"{words}\n{legend(model, points, answers)}\n"
    Path(snakemake.output.text).write_text(text, encoding="utf-8")
    shown = model, points, compared, answers, titles
    colour = snakemake.params.colours[model]
    save_figure([draw_card(*shown, colour=colour)], Path(snakemake.output.svg).with_suffix(""))
    # The page of results has the sentence as text.
    for path in map(Path, snakemake.output.forms):
        picture = draw_card(*shown, colour=colour, form=path.parent.name)
        save_figure([picture], path.with_suffix(""), ["svg"])
