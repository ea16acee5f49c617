"""Write what the judge says of undecided answers, and how often it agrees with known verdicts."""

from pathlib import Path

from needlework.atomic import write_csv
from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results.numbers import judge_verdicts
from needlework.scoring.judge import known_cases

with running(snakemake):
    inputs, output = snakemake.input, snakemake.output
    scores: dict[str, list[str]] = {}
    for path in inputs.scores:
        scores.setdefault(Path(path).stem, []).append(path)
    verdicts = judge_verdicts.verdicts(read_table(inputs.prompts), read_table(inputs.replies))
    agreement = judge_verdicts.known_agreement(known_cases(inputs.known), verdicts)
    used = judge_verdicts.unused(verdicts) if judge_verdicts.distrust(agreement) else verdicts
    judged = judge_verdicts.judged_answers(scores, used)
    for table, file in (
        (verdicts, output.verdicts),
        (agreement, output.agreement),
        (judged, output.judged),
    ):
        write_csv(table, file, float_format="%.6g")
