"""Compare models on the same prompts."""

from itertools import chain
from pathlib import Path

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results.comparisons import Pair, as_text, compare, prompts_differ, sets_of

with running(snakemake) as logger:
    params = snakemake.params
    pairs = [Pair(*pair) for pair in params.pairs]
    used = dict.fromkeys(chain.from_iterable(pair[:2] for pair in pairs))
    scores = {side: read_table(params.sides[side]).to_pandas() for side in used}
    for first, second, _ in pairs:
        if "/" in first + second:
            how = prompts_differ(scores[first], scores[second])
            if how:
                raise UserError(
                    f"{first} and {second} were not asked the same prompts of {params.benchmark}: {how}."
                )
    table = compare(scores, pairs)
    text = as_text(table, sets_of(table, list(used)))
    logger.info("\n%s", text)
    table.to_csv(snakemake.output.csv, index=False)
    Path(snakemake.output.text).write_text(f"{text}\n", encoding="utf-8")
