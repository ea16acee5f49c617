"""Compare models on the same prompts."""

from itertools import chain
from pathlib import Path

from needlework.atomic import write_csv
from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results.comparisons import (
    ComparedPair,
    as_latex,
    as_text,
    compare,
    figure,
    in_a_line,
    prompts_differ,
    sets_of,
)
from needlework.results.drawing.save import save_figure

with running(snakemake) as logger:
    params, output = snakemake.params, snakemake.output
    pairs = [ComparedPair(*pair) for pair in params.pairs]
    used = dict.fromkeys(chain.from_iterable(pair[:2] for pair in pairs))
    scores = {side: read_table(params.sides[side]).to_pandas() for side in used}
    for first, second, _ in pairs:
        if "/" in first + second:
            how = prompts_differ(scores[first], scores[second], params.factors)
            if how:
                raise UserError(
                    f"{first} and {second} were not asked the same prompts of {params.benchmark}: {how}."
                )
    table = compare(scores, pairs, params.factors)
    sets = sets_of(table, list(used))
    text = f"{in_a_line(table, params.title)}\n{as_text(table, sets)}"
    logger.info("\n%s", text)
    write_csv(table, output.csv)
    Path(output.text).write_text(f"{text}\n", encoding="utf-8")
    latex = as_latex(table, sets, params.benchmark, params.title)
    Path(output.tex).write_text(latex, encoding="utf-8")
    save_figure([figure(table, sets, params.title)], Path(output.svg).with_suffix(""))
