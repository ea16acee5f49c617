"""Say whether two folders of results have the same prompts, answers and scores, whatever made them.

    python tests/same_scores.py results other/results

What only the first has is not looked at. Ends with an error where a file of the second differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

KINDS = ("corpora", "instances", "generations", "scores")


def main() -> None:
    """Compare the files of the second folder with the first one's."""
    first, second = map(Path, sys.argv[1:])
    files = sorted(file for kind in KINDS for file in (second / kind).rglob("*.parquet"))
    differ = [
        str(file.relative_to(second))
        for file in files
        if not pq.read_table(file).equals(pq.read_table(first / file.relative_to(second)))
    ]
    if differ or not files:
        sys.exit(f"{len(differ)} of {len(files)} files differ: {', '.join(differ[:5])}")
    print(f"{len(files)} files are the same")


if __name__ == "__main__":
    main()
