"""Compare a model with a setting with the same without it: table, figure, and a summary in Markdown."""

import json
from pathlib import Path

import pandas as pd

from needlework.atomic import atomic_write, write_csv
from needlework.given import given
from needlework.jobs.job import running
from needlework.records import read_notes, read_table
from needlework.results.audit_report import (
    ALPHA,
    MARGIN,
    SIDES,
    AuditRow,
    AuditRules,
    Setting,
    audit_answers,
    audit_rows,
    audit_summary,
    engine_used,
    joined,
    pages,
)
from needlework.results.drawing.save import save_figure

with running(snakemake) as logger:
    params, output = snakemake.params, snakemake.output
    audit = given(params.audit)
    base, changed = snakemake.wildcards.base, snakemake.wildcards.changed
    cells = {
        name: json.loads(Path(own["cells"]).read_text("utf-8"))
        for name, own in params.files.items()
    }
    n_cells = sum(map(len, cells.values()))
    rules = AuditRules(ALPHA / max(1, n_cells), MARGIN, audit.again)
    table: list[AuditRow] = []
    used: dict[str, dict[str, object]] = {base: {}, changed: {}}
    for benchmark, own in params.files.items():
        factors = params.factors[benchmark]
        sides = {
            side: audit_answers(
                read_table(own[side][0]),
                read_table(own[side][1]),
                params.metrics[benchmark],
                factors,
            )
            for side in SIDES
        }
        table += audit_rows(benchmark, joined(sides), cells[benchmark], rules)
        for model, (_, generations) in ((base, own["base"]), (changed, own["changed"])):
            identity = read_notes(generations)["identity"]
            journal = Path(snakemake.config["journal"]) / "jobs" / model
            used[model] |= engine_used(journal, benchmark, identity)
    write_csv(pd.DataFrame(table), output.csv, float_format="%.6g")
    setting = Setting(base, changed, params.changes, used[base], used[changed], params.worse_than)
    text = audit_summary(table, setting, audit)
    with atomic_write(output.summary) as part:
        part.write_text(text, encoding="utf-8")
    logger.info("\n%s", text)
    save_figure(pages(table, base, changed, rules.margin), Path(output.svg).with_suffix(""))
