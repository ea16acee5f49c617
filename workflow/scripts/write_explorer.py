"""Write the explorer: every prompt, answer and verdict of the run, as static files."""

from needlework.jobs.job import running
from needlework.results.explorer.data import Answers, Prompts
from needlework.results.explorer.page import write_explorer

with running(snakemake) as logger:
    benchmarks = {
        name: (
            own["title"],
            own["asked"],
            {tokenizer: Prompts(**files) for tokenizer, files in own["prompts"].items()},
            {model: Answers(**files) for model, files in own["answers"].items()},
        )
        for name, own in snakemake.params.files.items()
    }
    counts = write_explorer(
        snakemake.output[0],
        benchmarks,
        program=snakemake.input.program,
        style=snakemake.input.style,
    )
    logger.info("%(instances)d instances, %(answers)d answers, %(documents)d documents", counts)
