"""Check the answers of a served model: report, page, summary, and the cells of a comparison."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from needlework.atomic import atomic_write, write_csv
from needlework.benchmarks.benchmark import load_benchmark
from needlework.jobs.job import running
from needlework.prompts.spans import Documents
from needlework.records import read_notes, read_table
from needlework.results.doctor.answers import (
    PromptTexts,
    ServerAnswers,
    first_answers,
    second_answers,
)
from needlework.results.doctor.checks import checked
from needlework.results.doctor.comparison import (
    ALPHA,
    BASE,
    BASE_AGAIN,
    CHANGED,
    CHANGED_AGAIN,
    MARGIN,
    CellRow,
    CellRules,
    Setting,
    cell_rows,
    compared_answers,
    engine_used,
    joined,
    settings_lines,
)
from needlework.results.doctor.page import write_page
from needlework.results.doctor.report import in_markdown, report
from needlework.results.doctor.seen import Seen

Files = dict[str, dict[str, list[str]]]


def answers(name: str, of: Files, params: Any) -> ServerAnswers:
    """The answers of one model to all benchmarks."""
    first, again = [], []
    for benchmark, own in of.items():
        card, metric = load_benchmark(benchmark).shown.card, params.metrics[benchmark]
        prompts, generations, scores = (
            read_table(own[f"{kind}_first"][0]) for kind in ("prompts", "generations", "scores")
        )
        asked_in = card.asked_in if card else None
        first.append(first_answers(benchmark, prompts, generations, scores, metric, asked_in))
        generations, scores = (
            read_table(own[f"{kind}_again"][0]) for kind in ("generations", "scores")
        )
        again.append(second_answers(benchmark, generations, scores, metric))
    frames = (pd.concat(each, ignore_index=True) for each in (first, again))
    return ServerAnswers(name, params.names[name], *frames)


def compared(files: dict[str, Files], params: Any) -> list[CellRow]:
    """The cells in which two models are compared."""
    served, other = files["served"], files["other"]
    cells = {
        name: json.loads(Path(own["cells"][0]).read_text("utf-8")) for name, own in served.items()
    }
    rules = CellRules(ALPHA / max(1, sum(map(len, cells.values()))), MARGIN, params.again)
    rows: list[CellRow] = []
    for name in served:
        sides = {
            side: compared_answers(
                read_table(of[name][f"scores_{turn}"][0]),
                read_table(of[name][f"generations_{turn}"][0]),
                params.metrics[name],
                params.factors[name],
            )
            for side, of, turn in (
                (BASE, other, "first"),
                (CHANGED, served, "first"),
                (BASE_AGAIN, other, "again"),
                (CHANGED_AGAIN, served, "again"),
            )
        }
        rows += cell_rows(name, joined(sides), cells[name], rules)
    return rows


def engine(model: str, of: Files) -> dict[str, object]:
    """The settings that a model's engine used."""
    journal, used = Path(snakemake.config["journal"]) / "jobs" / model, dict[str, object]()
    for name, own in of.items():
        used |= engine_used(journal, name, read_notes(own["generations_first"][0])["identity"])
    return used


with running(snakemake) as logger:
    params, output, model = snakemake.params, snakemake.output, snakemake.wildcards.model
    files, checkup = params.files, params.checkup
    prompts = PromptTexts()
    for benchmark, own in files["served"].items():
        documents = Documents.of(benchmark, own["corpora"], own["documents"])
        prompts.add(benchmark, read_table(own["prompts_first"][0]), documents)
    served = answers(model, files["served"], params)
    other, rows, settings = None, list[CellRow](), list[str]()
    if "other" in files:
        against = checkup["against"]
        other, rows = answers(against, files["other"], params), compared(files, params)
        used = engine(against, files["other"]), engine(model, files["served"])
        settings = settings_lines(Setting(against, model, params.changes, *used))
    seen = Seen(served, other, prompts, rows, checkup.get("fail_if_worse_by"))
    # The files of answers are as old as their last answer.
    last = max(
        Path(own["generations_first"][0]).stat().st_mtime for own in files["served"].values()
    )
    asked = datetime.fromtimestamp(last, UTC).isoformat(timespec="minutes")
    found = report(seen, checked(seen), asked, settings)
    write_csv(
        pd.DataFrame(rows, columns=list(CellRow.__annotations__)), output.cells, float_format="%.6g"
    )
    for path, text in (
        (output.data, json.dumps(found, ensure_ascii=False, indent=1) + "\n"),
        (output.summary, in_markdown(found)),
    ):
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")
    write_page(found, snakemake.input.templates, output.page)
    logger.info("\n%s", in_markdown(found))
