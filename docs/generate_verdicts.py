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
    """The generated text: how many numbers of a paper can have a verdict, and why the others cannot."""
    counts = ["| paper | numbers | with a verdict |", "|---|---|---|"]
    why = []
    for name in names():
        if not (ROOT / f"resources/published/{name}.csv").is_file():
            continue
        found = numbers(name)
        never = found[found["reason"] != ""]
        title = load_benchmark(name).title
        counts.append(f"| {title} | {len(found):,} | {len(found) - len(never):,} |")
        for reason, own in never.groupby("reason", sort=False):
            where = called(list(dict.fromkeys(own["table"])))
            why += fill(
                f"- {title}, {len(own):,} of {where}: {reason}.", 118, subsequent_indent="  "
            )
    return "\n".join([*counts, "", *why])


def called(tables: Sequence[str]) -> str:
    """The first and the last name of tables."""
    text = tables[0] if len(tables) == 1 else f"{tables[0]} to {tables[-1]}"
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
