"""Write the tasks with which inspect_ai and lm-eval ask the exported prompts."""

from needlework.jobs.job import running
from needlework.prompts.export import write_tasks

with running(snakemake):
    write_tasks(
        snakemake.wildcards.benchmark,
        snakemake.wildcards.tokenizer,
        snakemake.input.prompts,
        (snakemake.input.inspect_task, snakemake.input.lm_eval),
        snakemake.output.inspect_task,
        snakemake.output.lm_eval,
    )
