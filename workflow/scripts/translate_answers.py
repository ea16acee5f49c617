"""Translate a model's answers into English; cached translations are not requested again."""

from pathlib import Path
from typing import TYPE_CHECKING

from needlework.given import given
from needlework.jobs.job import running
from needlework.records import read_table, write_table
from needlework.scoring.translation import translate_generations
from needlework.scoring.translators.base import load_translator

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

with running(snakemake):
    config: "Configuration" = given(snakemake.config)
    # The address, the key and the device too, of which the parameter has none: they change no result.
    entry = config.translators[config.translation.translator]
    generations = read_table(snakemake.input[0], ["instance_id", "sample", "text"])
    write_table(
        translate_generations(
            generations,
            load_translator(entry),
            Path(config.journal) / "translations",
        ),
        snakemake.output[0],
        inputs=snakemake.input,
        config=snakemake.params.translator,
    )
