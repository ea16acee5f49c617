"""Score a model's answers."""

from importlib import import_module

import pyarrow as pa
import pyarrow.compute as pc

from needlework.job import running
from needlework.records import read_names, read_table, write_table

with running(snakemake) as logger:
    benchmark = snakemake.wildcards.benchmark
    plan = import_module(f"needlework.benchmarks.{benchmark}.plan")
    scoring = import_module(f"needlework.benchmarks.{benchmark}.scoring")
    columns = ["instance_id", "task", "example_id", "references", *plan.FACTORS]
    # A benchmark whose questions have several answers beside the oracle's.
    if "accepted" in read_names(snakemake.input.instances[0]):
        columns.append("accepted")
    instances = pa.concat_tables(read_table(path, columns) for path in snakemake.input.instances)
    # The model does not get every length that the instance files hold; 0 has no length.
    lengths = pa.array([0, *snakemake.params.lengths], pa.int32())
    instances = instances.filter(pc.is_in(instances["length"], value_set=lengths))
    translations = snakemake.input.get("translations")
    scores = scoring.score(
        instances,
        read_table(snakemake.input.generations),
        read_table(translations) if translations else None,
        model=snakemake.wildcards.model,
        settings=snakemake.params.settings,
    )
    logger.info("%d answers, mean %.3f", scores.num_rows, pc.mean(scores["value"]).as_py())
    write_table(
        scores, snakemake.output[0], inputs=snakemake.input, config=snakemake.params.settings
    )
