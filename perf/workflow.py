"""How long Snakemake itself takes: three readers on three benchmarks, the demo, and dry runs.

    python perf/workflow.py [--no-demo]

Three readers on three benchmarks are the demo of the commit `machine.FORMER`, which runs in the same
run. The demo is what `make demo` does after its set-up: the embedded sample from nothing to the report;
`--no-demo` leaves it out. Dry runs are of the papers' presets; what bounds each is a dry run of as many jobs
that do nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "perf"))

import machine  # noqa: E402

# The cells of the former demo, which had no pairs of ten.
THREE_READERS = """\
run:
  models: [lexical, oracle, empty]
  benchmarks: [mlneedle, lost_in_the_middle, oneruler]
benchmarks:
  lost_in_the_middle:
    n_pairs:
      - {n: 75, indices: [0, 37, 74]}
"""
PRESETS = ("mlneedle", "lost_in_the_middle", "oneruler")
# Of a job: Python, Snakemake's part of a script, and the log.
NOTHING = """\
rule all:
    input: expand("{{n}}.txt", n=range({jobs}))
rule one:
    output: "{{n}}.txt"
    script: "nothing.py"
"""
JOBS = 101
# Jobs keep the library compiled, as a user's do; some images forbid it.
ENVIRONMENT = {key: os.environ[key] for key in os.environ.keys() - {"PYTHONDONTWRITEBYTECODE"}}


def snakemake(tree: Path, *arguments: str) -> dict[str, Any]:
    """What a Snakemake command in the folder `tree` takes, and how many jobs it had."""
    with machine.measured() as took:
        said = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
            cwd=tree,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
    if said.returncode:
        sys.exit(said.stdout + said.stderr)
    totals = [line.split() for line in (said.stdout + said.stderr).splitlines()]
    jobs = [int(words[1]) for words in totals if words[:1] == ["total"] and len(words) == 2]
    return {
        **{key: took[key] for key in ("seconds", "cpu_seconds")},
        **({"jobs": jobs[0]} if jobs else {}),
    }


def compared(former: Path, run: Callable[[Path, int], dict[str, Any]]) -> dict[str, Any]:
    """The faster of two runs, in turn with the former way's, and the share that is left of its time."""
    taken = [run(tree, i) for i, tree in enumerate((former, ROOT, former, ROOT))]
    before, now = (min(taken[i::2], key=lambda one: one["cpu_seconds"]) for i in (0, 1))
    shares = {
        f"times_the_former_{key}": round(now[key] / before[key], 2)
        for key in ("seconds", "cpu_seconds")
    }
    return {**now, "former_way": before, **shares}


def nothing(folder: Path, jobs: int) -> Path:
    """A workflow of `jobs` jobs that do nothing, in `folder`."""
    folder.mkdir()
    (folder / "Snakefile").write_text(NOTHING.format(jobs=jobs - 1), encoding="utf-8")
    touch = "import pathlib\npathlib.Path(snakemake.output[0]).touch()\n"
    (folder / "nothing.py").write_text(touch, encoding="utf-8")
    return folder


def demo(folder: Path) -> dict[str, Any]:
    """The demo and its report."""
    here = ["--directory", str(folder)]
    run, report = snakemake(ROOT, *here), snakemake(ROOT, *here, "--report", f"{folder}/r.html")
    return {
        **{key: round(run[key] + report[key], 1) for key in ("seconds", "cpu_seconds")},
        "jobs": run["jobs"],
        "of_which_report_seconds": report["seconds"],
    }


def main() -> None:
    """Measure, and write perf/workflow.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--no-demo", action="store_true")
    args = parser.parse_args()
    result: dict[str, Any] = {"machine": machine.describe(["snakemake"])}
    with tempfile.TemporaryDirectory() as temporary:
        folder, former = Path(temporary), Path(temporary) / "former"
        machine.former_tree(former)
        config = folder / "three_readers.yaml"
        config.write_text(THREE_READERS, encoding="utf-8")

        def readers(tree: Path, i: int) -> dict[str, Any]:
            chosen = ["--configfile", str(config)] if tree == ROOT else []
            return snakemake(tree, "--directory", str(folder / f"readers{i}"), *chosen)

        result["three_readers"] = compared(former, readers)
        result["nothing_changed"] = readers(ROOT, 3)
        result["bound"] = snakemake(nothing(folder / "nothing", JOBS))
        result["dry_runs"] = {}
        for name in PRESETS:

            def planned(tree: Path, i: int, name: str = name) -> dict[str, Any]:
                own = [
                    "--directory",
                    str(folder / f"dry{i}"),
                    "--configfile",
                    f"presets/{name}.yaml",
                ]
                return snakemake(tree, "--dry-run", *own)

            now = compared(former, planned)
            bound = snakemake(nothing(folder / f"as_many_as_{name}", now["jobs"]), "--dry-run")
            result["dry_runs"][name] = {**now, "bound": bound}
        if not args.no_demo:
            result["demo"] = demo(folder / "demo")
    result["limits"] = {
        "demo_seconds": 90,
        "nothing_changed_seconds": 10,
        "dry_run_seconds": 10,
        "three_readers_times_the_former": 0.7,
        "dry_run_times_the_former": 0.5,
    }
    text = json.dumps(result, indent=1)
    (ROOT / "perf/workflow.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
