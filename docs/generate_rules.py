"""Write docs/rules.md, what each rule writes, and docs/rules.svg, the graph of rules.

python docs/generate_rules.py           writes it
python docs/generate_rules.py --check   fails if it is not what the rules say
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs/rules.md", ROOT / "docs/rules.svg"
# Pixels: a box with a rule's name, and the gaps between boxes.
WIDTH, HEIGHT, GAP_X, GAP_Y = 210, 26, 16, 44
CONFIG = "run: {models: [lexical], benchmarks: [mlneedle]}\n"

PREAMBLE = """\
<!-- Written by docs/generate_rules.py from workflow/rules; change those, not this. -->

# Rules

The graph shows the rules that `snakemake` runs for one model and one benchmark, MLNeedle, on the embedded
sample. A line leads down from a rule to a rule that reads its output. The graph leaves out `all`, and lines
between rules that other lines join. The files in `workflow/rules/` can be read from top to bottom: they
contain whole paths. Where a rule reads the files of several languages, slices or models, a function in
`planning/inputs/` lists them.

![The rules of a run, from reading corpora at the top to the page of results at the bottom](rules.svg)
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


def levels(arrows: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The row of each rule in the picture: below all rules whose output it reads."""
    found = dict.fromkeys([name for arrow in arrows for name in arrow], 0)
    for _ in found:
        for first, second in arrows:
            found[second] = max(found[second], found[first] + 1)
    return found


def shortest(arrows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The arrows without those that a longer way replaces."""

    def reached(name: str) -> set[str]:
        return {c for a, b in arrows if a == name for c in {b, *reached(b)}}

    after = {name: reached(name) for arrow in arrows for name in arrow}
    return [
        (a, b) for a, b in arrows if not any(b in after[c] for x, c in arrows if x == a and c != b)
    ]


def picture(arrows: Sequence[tuple[str, str]]) -> str:
    """The graph as SVG: a row of boxes per level, and a line per arrow, which passes between boxes."""
    level = levels(arrows)
    lines = [
        [a, *(f"{a} to {b} {k}" for k in range(level[a] + 1, level[b])), b]
        for a, b in shortest(arrows)
    ]
    steps = [step for line in lines for step in pairwise(line)]
    rows: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for line in lines:
        for k, name in enumerate(line, level[line[0]]):
            if name not in rows[k]:
                rows[k].append(name)
    wide = {name: WIDTH if name in level else 0 for row in rows for name in row}
    across = max(sum(wide[name] + GAP_X for name in row) for row in rows) + GAP_X
    place: dict[str, tuple[float, float]] = {}
    for k, row in enumerate(rows):
        # A rule stands near the rules above it, so that few lines cross.
        above = {name: [place[a][0] for a, b in steps if b == name] for name in row}
        row.sort(key=lambda name: (sum(above[name]) / max(len(above[name]), 1), name))
        x = (across - sum(wide[name] + GAP_X for name in row) + GAP_X) / 2
        for name in row:
            place[name] = (x + wide[name] / 2, 10 + k * (HEIGHT + GAP_Y))
            x += wide[name] + GAP_X
    down = len(rows) * (HEIGHT + GAP_Y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" font-family="sans-serif"'
        ' font-size="12" text-anchor="middle">',
        f'<rect width="{across}" height="{down}" fill="#fff"/>',
    ]
    for line in lines:
        x, y = place[line[0]]
        path = f"M{x:g} {y:g}"
        for name in line[1:]:
            y += HEIGHT
            to_x, to_y = place[name]
            half = (y + to_y) / 2
            path += f"V{y:g}C{x:g} {half:g} {to_x:g} {half:g} {to_x:g} {to_y:g}"
            x, y = to_x, to_y
        parts.append(f'<path d="{path}" fill="none" stroke="#777"/>')
    for name in level:
        x, y = place[name]
        parts.append(
            f'<rect x="{x - WIDTH / 2:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="4"'
            ' fill="#eef2f7" stroke="#557"/>'
        )
        parts.append(f'<text x="{x:g}" y="{y + 17:g}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


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
    lines, collecting = ["| rule | file | writes |", "|---|---|---|"], list[str]()
    snakefile = (ROOT / "Snakefile").read_text(encoding="utf-8")
    for file in re.findall(r'^include: "(.+)"$', snakefile, flags=re.M):
        for name, paths in outputs((ROOT / file).read_text(encoding="utf-8")):
            # Files that differ only in their endings have their name once.
            stems = [path.rpartition(".")[0] for path in ["", *paths]]
            written = ", ".join(
                f"`{path.removeprefix(before) if before == stem else path}`"
                for before, stem, path in zip(stems, stems[1:], paths, strict=False)
            )
            if written:
                lines.append(f"| `{name}` | `{Path(file).name}` | {written} |")
            else:
                collecting.append(f"`{name}`")
    table = "\n".join(lines)
    results = (
        "`results.smk` makes two rules for each benchmark and kind of rows, which write "
        "`results/{tables,figures}/{benchmark}/`, and one for each benchmark, which writes "
        "`results/comparisons/{benchmark}.csv`. These rules write no result of their own: "
        f"{', '.join(collecting)}."
    )
    return f"{PREAMBLE}\n{table}\n\n{results}\n"


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    check = parser.parse_args().check
    for path, written in ((PAGE, page()), (PICTURE, picture(graph()))):
        if not check:
            path.write_text(written, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != written:
            sys.exit(f"docs/{path.name} is out of date: run python docs/generate_rules.py")


if __name__ == "__main__":
    main()
