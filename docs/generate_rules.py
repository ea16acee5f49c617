"""Write docs/rules.md: the graph of rules as Snakemake draws it, and what each rule writes.

python docs/generate_rules.py           writes it
python docs/generate_rules.py --check   fails if it is not what the rules say
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/rules.md"
CONFIG = "run: {models: [lexical], benchmarks: [mlneedle]}\n"

PREAMBLE = """\
<!-- Written by docs/generate_rules.py from workflow/rules; change those, not this. -->

# Rules

The graph shows the rules that `snakemake` runs for one model and one benchmark, MLNeedle, on the embedded
sample. An arrow leads from a rule to a rule that reads its output; `all` is left out. The files in
`workflow/rules/` can be read from top to bottom: they contain whole paths, and use functions only for the
languages, slices or models in them.
"""


def graph() -> list[tuple[str, str]]:
    """The arrows of `snakemake --rulegraph`, by the names of the rules."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(CONFIG, encoding="utf-8")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js"),
                *("--directory", folder, "--configfile", str(config), "--", "all"),
            ],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
    names = dict(re.findall(r"^\t(id\d+)\[(.+)\]$", done.stdout, flags=re.M))
    arrows = re.findall(r"^\t(id\d+) --> (id\d+)$", done.stdout, flags=re.M)
    return sorted((names[a], names[b]) for a, b in arrows if names[b] != "all")


def outputs(text: str) -> list[tuple[str, list[str]]]:
    """The rules of a file by name, with the paths that they write."""
    found = []
    for name, block in re.findall(
        r"^(?:use )?rule (?:\w+ as )?(\w+).*?:\n(.*?)(?=^\S|\Z)", text, re.M | re.S
    ):
        own = re.search(r"^ {4}output:\n(.*?)(?=^ {4}\w+:)", block, re.M | re.S)
        found.append((name, re.findall(r'"((?:results|journal)/[^"]+)"', own[1]) if own else []))
    return found


def page() -> str:
    """The page, in Markdown."""
    arrows = "\n".join(f"  {a} --> {b}" for a, b in graph())
    lines = ["| rule | file | writes |", "|---|---|---|"]
    snakefile = (ROOT / "Snakefile").read_text(encoding="utf-8")
    for file in re.findall(r'^include: "(.+)"$', snakefile, flags=re.M):
        for name, paths in outputs((ROOT / file).read_text(encoding="utf-8")):
            # Files that differ only in their endings have their name once.
            stems = [path.rpartition(".")[0] for path in ["", *paths]]
            written = ", ".join(
                f"`{path.removeprefix(before) if before == stem else path}`"
                for before, stem, path in zip(stems, stems[1:], paths, strict=False)
            )
            lines.append(f"| `{name}` | `{Path(file).name}` | {written} |")
    table = "\n".join(lines)
    results = (
        "`results.smk` makes two rules for each benchmark and kind of rows, which write "
        "`results/{tables,figures}/{benchmark}/`, and `comparisons.smk` one for each benchmark, which writes "
        "`results/comparisons/{benchmark}.csv`."
    )
    return f"{PREAMBLE}\n```mermaid\nflowchart LR\n{arrows}\n```\n\n{table}\n\n{results}\n"


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    written = page()
    if not parser.parse_args().check:
        PAGE.write_text(written, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != written:
        sys.exit("docs/rules.md is out of date: run python docs/generate_rules.py")


if __name__ == "__main__":
    main()
