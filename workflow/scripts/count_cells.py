"""Fix the cells of a comparison, whatever is asked of them: their number decides how wide intervals are."""

import json

from needlework.atomic import atomic_write
from needlework.jobs.job import running
from needlework.models.question_draws import asked, cells

with running(snakemake) as logger:
    params = snakemake.params
    found = cells(asked(snakemake.input, params.lengths, params.only), params.factors)
    logger.info("%d cells", len(found))
    with atomic_write(snakemake.output[0]) as part:
        part.write_text(json.dumps(found), encoding="utf-8")
