"""Make the numbers of all report cards: curves, comparisons, and what became of answers."""

from typing import Any

import pandas as pd

from needlework.atomic import write_csv
from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results import published
from needlework.results.cards.numbers import FACTS, Curve, curves, facts, tables
from needlework.results.result import Context
from needlework.results.rows import result_rows

with running(snakemake) as logger:
    params = snakemake.params
    found: list[Curve] = []
    answers: list[dict[str, Any]] = []
    for name, own in params.benchmarks.items():
        logger.info("%s", name)
        benchmark = load_benchmark(name)
        rows = result_rows("scores", own["scores"], benchmark.columns)
        paper = published.load(own["published"]) if own["published"] else published.none()
        assert benchmark.shown.card is not None, "the others are left out"
        asked = name, benchmark.shown.card, rows, Context(paper, own["run"]), params.models
        found += curves(*asked)
        answers += facts(*asked)
    points, compared = tables(found)
    write_csv(points, snakemake.output.points)
    write_csv(compared, snakemake.output.comparisons)
    write_csv(pd.DataFrame(answers, columns=list(FACTS)), snakemake.output.answers)
