"""Write docs/targets.md from the benchmarks' descriptions of their results.

python docs/generate_targets.py           writes it
python docs/generate_targets.py --check   fails if it is not what the descriptions say
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/targets.md"
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.benchmarks.benchmark import Benchmark, load_benchmark  # noqa: E402
from needlework.benchmarks.parts import names  # noqa: E402

PREAMBLE = """\
<!-- Written by docs/generate_targets.py from the benchmarks' results; change those, not this. -->

# Targets

Each table and figure is a target of its own. A target exists only if the configuration produces its data.
The last column names the conditions; the function `conditions` in the benchmark's `plan.py` defines them.
"""


def page(benchmarks: list[Benchmark]) -> str:
    """The page, in Markdown: a table of all benchmarks' results."""
    lines = [PREAMBLE, "| target | in the paper | what | needs |", "|---|---|---|---|"]
    for benchmark in benchmarks:
        for result in benchmark.results:
            needs = ", ".join(condition.replace("_", " ") for condition in result.when)
            name = f"`{benchmark.name}_{result.name}`"
            lines.append(f"| {name} | {result.place} | {result.title} | {needs} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    written = page([load_benchmark(name) for name in names()])
    if not parser.parse_args().check:
        PAGE.write_text(written, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != written:
        sys.exit("docs/targets.md is out of date: run python docs/generate_targets.py")


if __name__ == "__main__":
    main()
