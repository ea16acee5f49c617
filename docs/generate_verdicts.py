"""Write "Numbers and verdicts" of docs/fidelity.md from the papers' numbers and resources/reasons.csv.

python docs/generate_verdicts.py           writes it
python docs/generate_verdicts.py --check   fails if it is not what these files say
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap as fill

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/fidelity.md"
BEGIN, END = "<!-- Written by docs/generate_verdicts.py. -->", "<!-- The end of what it writes. -->"
sys.path.insert(0, str(ROOT / "workflow/scripts"))

import pandas as pd  # noqa: E402

from needlework.benchmarks.benchmark import load_benchmark  # noqa: E402
from needlework.benchmarks.parts import names  # noqa: E402
from needlework.results import published  # noqa: E402
from needlework.results.reproduction import read_reasons, reason_of  # noqa: E402


def numbers(benchmark: str) -> pd.DataFrame:
    """A paper's numbers, each once, with the reason why no run can have a verdict on it (or "")."""
    found = published.load(ROOT / f"resources/published/{benchmark}.csv")
    found = found.drop_duplicates(["table", "row", "column"])
    reasons = read_reasons(ROOT / "resources/reasons.csv").get(benchmark, [])
    places = zip(found["table"], found["row"], found["column"], found["note"], strict=True)
    return found.assign(reason=[reason_of(reasons, *place) or "" for place in places])


def section() -> str:
    """The generated text: the counts of each paper by table, then the reasons."""
    parts = []
    for name in names():
        if not (ROOT / f"resources/published/{name}.csv").is_file():
            continue
        found = numbers(name)
        found = found.assign(verdict=found["reason"] == "")
        head = (
            f"{load_benchmark(name).title}: {found['verdict'].sum():,} of {len(found):,} numbers."
        )
        lines = [head, "", "| numbers of | numbers | with a verdict |", "|---|---|---|"]
        by_table = found.groupby("table", sort=False)["verdict"].agg(["size", "sum"])
        alike: dict[tuple[int, int], list[str]] = {}
        for table, size, verdicts in by_table.itertuples():
            alike.setdefault((size, verdicts), []).append(table)
        for counts, some in alike.items():
            each = " each" if len(some) > 1 else ""
            lines.append(
                f"| {called(some, list(by_table.index))} | {counts[0]:,}{each} | {counts[1]:,}{each} |"
            )
        lines.append("")
        for reason, own in found[~found["verdict"]].groupby("reason", sort=False):
            where = called(list(dict.fromkeys(own["table"])))
            lines += fill(f"- {len(own):,} of {where}: {reason}.", 118, subsequent_indent="  ")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def called(tables: Sequence[str], every: Sequence[str] = ()) -> str:
    """Names of tables: the first and the last, or, with `every` table in order, of each unbroken row."""
    runs: list[list[str]] = []
    for table in tables:
        if runs and (not every or every.index(table) == every.index(runs[-1][-1]) + 1):
            runs[-1].append(table)
        else:
            runs.append([table])
    text = ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
    return re.sub(r"(?<= )table(?=\d)", "", text) if text.startswith("table") else text


def main() -> None:
    """Write the section, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    written = f"{head}{BEGIN}\n\n{section()}\n\n{END}{tail}"
    if not parser.parse_args().check:
        PAGE.write_text(written, encoding="utf-8")
    elif text != written:
        sys.exit("docs/fidelity.md is out of date: run python docs/generate_verdicts.py")


if __name__ == "__main__":
    main()
