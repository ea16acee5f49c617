"""Score a model's answers."""

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.parts import load_part
from needlework.given import given
from needlework.jobs.job import running
from needlework.models.selection import mask
from needlework.records import read_table, write_table
from needlework.scoring.scores import ANSWER_COLUMNS, TRANSLATION_COLUMNS, read_answers

with running(snakemake) as logger:
    score = load_part(snakemake.wildcards.benchmark, "scores").score
    columns = ["instance_id", "task", "example_id", "references", *snakemake.params.factors]
    instances = pa.concat_tables(read_table(path, columns) for path in snakemake.input.instances)
    # The model does not get every length that the instance files hold; 0 has no length.
    lengths = pa.array([0, *snakemake.params.lengths], pa.int32())
    instances = instances.filter(pc.is_in(instances["length"], value_set=lengths))
    instances = instances.filter(mask(instances, snakemake.params.only))
    if beside := snakemake.input.similarity:
        measured = read_table(beside[0])
        rows = pc.index_in(instances["instance_id"], measured["instance_id"])
        instances = instances.append_column("similarity", measured["similarity"].take(rows))
    # Their ids are shared.
    instances = instances.combine_chunks()
    translations = snakemake.input.translations
    more = {name: snakemake.input.get(name) for name in snakemake.params.more}
    scores = score(
        instances,
        read_answers(snakemake.input.generations, ANSWER_COLUMNS, instances),
        read_answers(translations[0], TRANSLATION_COLUMNS, instances) if translations else None,
        model=snakemake.wildcards.model,
        settings=given(snakemake.params.settings),
        **more,
    )
    logger.info("%d answers, mean %s", scores.num_rows, pc.mean(scores["value"]).as_py())
    # Metrics of rows that no table is made of.
    write_table(
        scores,
        snakemake.output[0],
        inputs=snakemake.input,
        config=snakemake.params.settings,
        notes={"beside": snakemake.params.beside},
    )
