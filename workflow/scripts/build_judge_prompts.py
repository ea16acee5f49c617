"""Write the judge's prompts: answers that the second scorer leaves undecided, and known ones."""

from functools import cache, partial

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.prompts.spans import Documents
from needlework.prompts.tokenizers import load_tokenizer
from needlework.records import write_table
from needlework.scoring import judge

with running(snakemake) as logger:
    params, config = snakemake.params, snakemake.config
    cases = judge.known_cases(snakemake.input.known)
    known = len(cases)
    for benchmark, own in params.files.items():
        for tokenizer, files in own["prompts"].items():
            documents = cache(
                partial(Documents.of, benchmark, files["corpora"], files["documents"])
            )
            for model, answers in own["answers"].items():
                if answers["tokenizer"] == tokenizer and model not in own["controls"]:
                    cases += judge.undecided(
                        benchmark,
                        model,
                        answers["scores"],
                        answers["generations"],
                        files["instances"],
                        documents,
                        params.kinds[benchmark],
                    )
    logger.info("%d undecided answers, %d of known verdict", len(cases) - known, known)
    try:
        counting = load_tokenizer(params.tokenizer, config["tokenizers"][params.tokenizer])
    except UserError as error:
        # A judge that cannot be asked stops no other result.
        logger.warning("The judge's prompts are counted in words: %s", error)
        counting = load_tokenizer("words", {"kind": "words"})
    write_table(
        judge.prompts(cases, judge.read_templates(snakemake.input.templates), counting),
        snakemake.output[0],
        inputs=snakemake.input,
    )
