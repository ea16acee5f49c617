"""Write results/index.html: the run's results on one page."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc

from needlework.jobs.job import running
from needlework.models.accounts import Account, account_of, read_account, summed
from needlework.prompts.data_report import LeftOut, left_out, read_report
from needlework.records import read_notes, read_table
from needlework.results.numbers import judge_verdicts
from needlework.results.numbers.tables import read
from needlework.results.page.overview_page import Front, Ran, write_page
from needlework.results.page.terminal import (
    OF_MEANS,
    TerminalCell,
    cell_of,
    lines_of_lower_tasks,
    lines_of_models,
    lines_to_paste,
    wrapped,
)
from needlework.results.sealed.clone import workflow

RUN: Ran = snakemake.params.run


def account(path: str) -> Account:
    """What became of the requests of a file of answers."""
    model, benchmark = Path(path).parent.name, Path(path).stem
    rows = read_table(path, ["outcome", "remarks", "error"]).to_pylist()
    found = account_of(rows, model, benchmark, model not in RUN["readers"])
    # Where and when requests were sent, which no file of answers depends on.
    n = snakemake.config["models"][model]["shards"]
    shards = [f".{number}-of-{n}" for number in range(n)] if n > 1 else [""]
    folder = Path("logs/generate_answers", model)
    told = [read_account(folder / f"{benchmark}{shard}.json") for shard in shards]
    for own in summed(one for one in told if one):
        sent = {name: getattr(own, name) for name in ("sent_now", "origins", "new_origins")}
        found = replace(found, **sent, address=own.address, losses=own.losses)
    return found


def own_data() -> list[tuple[str, bool]]:
    """What the user's data held, and what was left out of the prompts that were built from them."""
    if not snakemake.input.own_data:
        return []
    return [*read_report(snakemake.input.own_data), *((said, False) for said in left_out_prompts())]


def left_out_prompts() -> list[str]:
    """What was left out of the prompts that were built from the user's data."""
    slices = []
    for path in map(Path, snakemake.input.instances):
        questions = read_table(path, ["example_id"])["example_id"]
        of = path.parent.parent.name, path.parent.name, path.stem
        counts = read_notes(path).get("left_out", {})
        slices.append(LeftOut(*of, len(questions), pc.count_distinct(questions).as_py(), counts))
    return left_out(slices)


def last_lines(means: pd.DataFrame) -> list[str]:
    """The run's last lines: what each model scores in each benchmark."""
    found: dict[str, dict[str, TerminalCell | None]] = {
        model: {
            own["title"]: cell_of(
                means[(means["model"] == model) & (means["benchmark"] == benchmark)]
            )
            for benchmark, own in snakemake.params.benchmarks.items()
        }
        for model in snakemake.params.shown
    }
    readers, version = RUN["readers"], workflow()
    lower = lines_of_lower_tasks(found, readers)
    commit = (version["commit"] or version["version"])[:7] + "+" * bool(version["modified"])
    if lines := lines_to_paste(found, readers, commit):
        return ["", f"Mean {OF_MEANS}", *lines, *lower]
    means = {
        model: {title: f"{one.mean}, n = {one.n:,}" if one else "-" for title, one in own.items()}
        for model, own in found.items()
    }
    return [*lines_of_models(means, readers), *lower]


with running(snakemake):
    judging = judge_verdicts.summary(snakemake.input.judged) if snakemake.input.judged else None
    unused = [wrapped(judging["unused"])] if judging and judging["unused"] else []
    tables = {Path(path).stem: read(path) for path in snakemake.input.numbers}
    lines = [*map(wrapped, left_out_prompts()), *last_lines(tables["means"]), *unused]
    Path(snakemake.output.lines).write_text("\n".join(lines), encoding="utf-8")
    front = Front(
        run=RUN,
        accounts=[account(path) for path in snakemake.input.generations],
        own_data=own_data(),
        judge=judging,
    )
    write_page(
        snakemake.params.benchmarks,
        snakemake.params.models,
        template=snakemake.input.template,
        target=snakemake.output.page,
        summary=snakemake.output.summary,
        reproduction=snakemake.input.reproduction,
        front=front,
        cards=snakemake.input.cards,
        tables=tables,
    )
