"""Set every number that the papers print beside ours: a table, counts by reason, and a picture."""

from pathlib import Path

import pandas as pd

from needlework.atomic import write_csv
from needlework.jobs.job import running
from needlework.records import read_table
from needlework.results import published, reproduction
from needlework.results.drawing import notice
from needlework.results.drawing.save import save_figure


def shown(files: list[str], factors: list[str]) -> dict[str, set[str]]:
    """The values of models, tasks, metrics and factors that scores have."""
    found: dict[str, set[str]] = {}
    for file in files:
        table = read_table(file)
        for name in ("model", "task", "metric", *factors):
            values = table[name].unique().to_pylist()
            found.setdefault(name, set()).update(map(str, values))
    return found


with running(snakemake) as logger:
    params = snakemake.params
    reasons = reproduction.read_reasons(snakemake.input.reasons)
    parts = []
    own: reproduction.Reproduced
    for name, own in params.benchmarks.items():
        if not own["published"]:
            continue
        numbers = published.load(own["published"])
        results = {
            result: pd.read_csv(file, keep_default_na=False, na_values=[""])
            for result, file in own["results"].items()
        }
        values = shown(own["scores"], own["factors"])
        parts.append(reproduction.reproduced(name, numbers, results, reasons.get(name, []), values))
    table = pd.concat(parts) if parts else pd.DataFrame(columns=list(reproduction.COLUMNS))
    if params.beside_alone:
        table = table[table["result"].notna()]
    write_csv(table, snakemake.output.csv)
    write_csv(reproduction.counts(table), snakemake.output.counts)
    logger.info("%s", reproduction.coverage(table))
    titles = {name: own["title"] for name, own in params.benchmarks.items()}
    drawn = reproduction.comparable(table)
    figure = reproduction.picture(table, titles) if drawn else notice(reproduction.coverage(table))
    save_figure([figure], Path(snakemake.output.svg).with_suffix(""))
