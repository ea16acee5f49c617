"""Count the gold answers that are still right after the translation of the models' answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from needlework.benchmarks.parts import load_part
from needlework.given import given
from needlework.jobs.job import running
from needlework.records import read_table, write_table
from needlework.scoring.translation import translation_ceiling
from needlework.scoring.translators.base import load_translator

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

with running(snakemake):
    config: "Configuration" = given(snakemake.config)
    # The address, the key and the device too, of which the parameter has none: they change no result.
    entry = config.translators[config.translation.translator]
    metric = load_part(snakemake.wildcards.benchmark, "scores").metric
    questions = {Path(path).stem: read_table(path) for path in snakemake.input.questions}
    asked = {"en": questions["en"]}
    # Of the other languages, only what is asked: a translator costs time or money.
    for path in snakemake.input.instances:
        used = read_table(path, ["needle_lang", "example_id"])
        for lang in set(used["needle_lang"].to_pylist()) - {"en"}:
            table = questions[lang]
            ids = used["example_id"].combine_chunks()
            asked[lang] = table.filter(pc.is_in(table["example_id"], value_set=ids))
    write_table(
        translation_ceiling(
            asked,
            load_translator(entry),
            Path(config.journal) / "translations",
            metric(given(snakemake.params.settings)),
        ),
        snakemake.output[0],
        inputs=[*snakemake.input.questions, *snakemake.input.instances],
        config=[snakemake.params.translator, snakemake.params.settings],
    )
