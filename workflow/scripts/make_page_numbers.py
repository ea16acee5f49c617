"""Make the numbers of cards, page and terminal: means, curves, comparisons, and what became of answers."""

from needlework.atomic import write_csv
from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.results import published
from needlework.results.numbers.made import Scored, ScoreFiles, number_tables
from needlework.results.result import Context
from needlework.results.rows import result_rows, scores_of

with running(snakemake) as logger:
    scored = []
    own: ScoreFiles
    for name, own in snakemake.params.benchmarks.items():
        logger.info("%s", name)
        benchmark = load_benchmark(name)
        paper = published.load(own["published"]) if own["published"] else published.none()
        scored.append(
            Scored(
                name,
                benchmark.shown.card,
                benchmark.shown.closed_book,
                benchmark.shown.designed[1],
                benchmark.asked,
                scores_of(own["scores"]),
                result_rows("scores", own["scores"], benchmark.columns),
                Context(paper, own["run"]),
            )
        )
    for table, rows in number_tables(scored, snakemake.params.models).items():
        write_csv(rows, getattr(snakemake.output, table))
