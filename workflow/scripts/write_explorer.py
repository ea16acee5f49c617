"""Write the explorer: every prompt, answer and verdict of the run, as static files."""

from needlework.jobs.job import running
from needlework.results.explorer.data import Explored, ShownAnswers, ShownPrompts
from needlework.results.explorer.page import write_explorer

with running(snakemake) as logger:
    benchmarks = {
        name: Explored(
            **own
            | {
                "prompts": {name: ShownPrompts(**files) for name, files in own["prompts"].items()},
                "answers": {name: ShownAnswers(**files) for name, files in own["answers"].items()},
            }
        )
        for name, own in snakemake.params.files.items()
    }
    counts = write_explorer(
        snakemake.output[0],
        benchmarks,
        program=snakemake.input.program,
        style=snakemake.input.style,
        threads=snakemake.threads,
    )
    logger.info("%(instances)d instances, %(answers)d answers, %(documents)d documents", counts)
