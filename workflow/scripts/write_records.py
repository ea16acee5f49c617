"""Write the run's results as records of Every Eval Ever."""

import json
from pathlib import Path

from needlework.jobs.job import running
from needlework.results.exchange import Recorded, Shown, check_names, write_records

with running(snakemake) as logger:
    check_names(snakemake.params.settings["names"], snakemake.config["models"])
    provenance = json.loads(Path(snakemake.input.provenance).read_text(encoding="utf-8"))
    benchmarks = [
        Recorded(
            **{
                **own,
                "results": {name: Shown(*shown) for name, shown in own["results"].items()},
            }
        )
        for own in snakemake.params.benchmarks
    ]
    counts = write_records(snakemake.output[0], benchmarks, provenance, snakemake.params.settings)
    logger.info("%(records)d records, %(lines)d scores of answers", counts)
