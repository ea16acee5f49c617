"""How many gold answers survive the translation that the models' answers go through."""

from importlib import import_module
from pathlib import Path

from needlework.job import running
from needlework.records import read_table, write_table
from needlework.translation import translation_ceiling
from needlework.translators.base import load_translator

with running(snakemake):
    scoring = import_module(f"needlework.benchmarks.{snakemake.wildcards.benchmark}.scoring")
    write_table(
        translation_ceiling(
            {Path(path).stem: read_table(path) for path in snakemake.input},
            load_translator(snakemake.params.translator),
            Path(snakemake.config["journal"]) / "translations",
            scoring.METRICS[snakemake.params.metric],
        ),
        snakemake.output[0],
        inputs=snakemake.input,
        config=[snakemake.params.translator, snakemake.params.metric],
    )
