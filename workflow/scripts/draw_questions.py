"""Draw the questions of a checkup from a benchmark's prompts, or those of them that are asked again."""

from needlework.jobs.job import running
from needlework.models.question_draws import asked, draw_questions, of_questions
from needlework.records import write_table

with running(snakemake) as logger:
    params = snakemake.params
    instances = asked(snakemake.input, params.lengths, params.only)
    names = instances["example_id"].to_pylist()
    questions = draw_questions(names, None, params.seed, snakemake.wildcards.benchmark)
    for limit in params.limits:
        questions = questions[:limit]
    chosen = of_questions(instances, questions)
    logger.info("%d questions, %d prompts", len(questions), chosen.num_rows)
    settings = [params.limits, params.seed, params.lengths, params.only]
    write_table(chosen, snakemake.output[0], inputs=snakemake.input, config=settings)
