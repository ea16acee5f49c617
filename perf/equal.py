"""Runs every preset on real files with the built-in readers, and compares two such runs.

python perf/equal.py run FOLDER [--mirror ../shared/mirror] [--workflow ROOT]
python perf/equal.py compare FOLDER FOLDER

`run` makes FOLDER/<preset>/results with the code at ROOT (another checkout, such as that of a former commit;
default: this one): each preset with as many of its questions and lengths as take about ten minutes in all on
two cores. A preset's models keep their names, those in the paper and their pairs, but are read by a built-in
reader; the mirror has a part of the sources alone. `compare` lists CSV, LaTeX and SVG files, instances and
scores that differ. Its exit status is 1 if anything does.
"""

from __future__ import annotations

import argparse
import copy
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from lost_in_the_middle_data import pairs_path, stand_ins  # noqa: E402
from needlework.records import file_digest  # noqa: E402

TOKENIZER = "mistral-v1"
# What is less than in the preset: so much fits into the time, or is in the mirror.
PARTS: dict[str, dict[str, Any]] = {
    "mlneedle": {
        "sources": {
            "mlqa": {"split": "dev"},
            "mmarco": {"prefix_mb": None, "pool": 240, "passages": 240},
        },
        "retrieval": {"embedder": "ngram", "top": 100},
        "translation": {"translator": "none"},
        "benchmarks": {
            "mlneedle": {
                "questions": 4,
                "lengths": [4096, 8192],
                "haystack_languages": ["en", "zh", "multilingual"],
                "tasks": ["exact", "existence", "closed_book"],
                "needle_absent": True,
            }
        },
    },
    "lost_in_the_middle": {
        "retrieval": {"embedder": "ngram"},
        "benchmarks": {
            "lost_in_the_middle": {
                "questions": 20,
                "examples": 10,
                "random_from": "other_questions",
                "n_pairs": [{"n": 75, "indices": [0, 24, 49, 74]}],
                "query_aware_pairs": [75],
            }
        },
    },
    "oneruler": {
        "benchmarks": {
            "oneruler": {
                "languages": ["en", "hi", "ko", "pl", "zh"],
                "cross_lingual": [["pl", "ko"], ["ko", "pl"]],
                "lengths": [8000, 16000],
                "examples": 3,
            }
        }
    },
    "mlongrr": {"benchmarks": {"mlongrr": {"lengths": [2000, 8000]}}},
    # Of the archive of 2023, the mirror has no copy; of the release of 2024 some tasks.
    "m4le": {
        "benchmarks": {
            "m4le": {
                "release": "2024",
                "lengths": [1000, 2000, 4000],
                "tasks": ["c3", "dureader", "nq-open", "wiki2019zh", "marc"],
            }
        }
    },
}
SUFFIXES = (".csv", ".tex", ".svg")


def configuration(preset: str, mirror: Path) -> dict[str, Any]:
    """A preset's configuration whose models are built-in readers: the last two are controls."""
    config = yaml.safe_load((ROOT / "presets" / f"{preset}.yaml").read_text(encoding="utf-8"))
    models = {}
    for name, own in config["models"].items():
        kept = {key: own[key] for key in ("context", "lengths", "published", "only") if key in own}
        # Equal text is measured in a tokenizer that is not the models' own.
        tokenizer = "words" if name.endswith("equal-text") else TOKENIZER
        models[name] = {"backend": "lexical", "tokenizer": tokenizer, **kept}
    for control in ("oracle", "empty"):
        models[control] = {"backend": control, "tokenizer": TOKENIZER}
    config["models"], asked = models, [*config["run"]["models"], "oracle", "empty"]
    config["run"] = {"models": asked, "benchmarks": [preset], "tokenizers": ["words"]}
    config.pop("endpoints", None)
    config["tokenizers"] = {TOKENIZER: {"kind": "mistral-common", "version": "v1"}}
    return updated(config | {"mirror": str(mirror)}, PARTS[preset])


def updated(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with these changes, key by key."""
    made = dict(copy.deepcopy(dict(config)))
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = updated(made[key], value) if both else value
    return made


def make_mirror(mirror: Path, folder: Path) -> Path:
    """A mirror with stand-ins for the files of Lost in the Middle that are too large to keep."""
    own = folder / "mirror"
    if not (own / "SHA256SUMS").is_file():
        shutil.rmtree(own, ignore_errors=True)
        for name in ("mlqa", "xquad", "mmarco", "oneruler", "mlongrr", "m4le"):
            shutil.copytree(mirror / name, own / name, copy_function=shutil.copyfile)
        stand_ins(mirror, own, 120)
        shutil.copyfile(mirror / pairs_path(75), own / pairs_path(75))
        files = [file for file in own.rglob("*.*") if file.is_file()]
        sums = [f"{file_digest(file)}  ./{file.relative_to(own)}\n" for file in files]
        (own / "SHA256SUMS").write_text("".join(sums))
    return own


def run(folder: Path, mirror: Path, workflow: Path) -> None:
    """Run all presets with the code of `workflow`; a second call has nothing to do."""
    own = make_mirror(mirror, folder)
    for preset in PARTS:
        place = folder / preset
        place.mkdir(parents=True, exist_ok=True)
        file = place / "config.yaml"
        file.write_text(yaml.safe_dump(configuration(preset, own)), encoding="utf-8")
        command = [
            *(str(Path(sys.executable).parent / "snakemake"), "--cores", "all", "--quiet"),
            *("--snakefile", str(workflow / "Snakefile"), "--directory", str(place)),
            *("--configfile", str(file)),
        ]
        subprocess.run(command, cwd=workflow, check=True)
        print(f"{preset}: finished", flush=True)


def plain(path: Path) -> bytes:
    """A file's content; of a picture without dates and random names."""
    content = path.read_bytes()
    if path.suffix == ".svg":
        content = re.sub(rb"<dc:date>.*?</dc:date>", b"", content)
        content = re.sub(rb"\b[a-z]+[0-9a-f]{10}\b", b"", content)
    return content


def differences(one: Path, two: Path) -> Iterator[str]:
    """What differs between the results of two runs of a preset."""
    for kind in ("tables", "figures"):
        files = {
            path.relative_to(folder / kind)
            for folder in (one, two)
            for path in (folder / kind).rglob("*")
            if path.suffix in SUFFIXES
        }
        for file in sorted(files):
            both = [folder / kind / file for folder in (one, two)]
            if not all(path.is_file() for path in both):
                yield f"{kind}/{file} is on one side alone"
            elif plain(both[0]) != plain(both[1]):
                yield f"{kind}/{file} differs"
    for kind in ("instances", "scores"):
        names = {
            path.relative_to(folder / kind)
            for folder in (one, two)
            for path in (folder / kind).rglob("*.parquet")
        }
        for file in sorted(names):
            both = [folder / kind / file for folder in (one, two)]
            if not all(path.is_file() for path in both):
                yield f"{kind}/{file} is on one side alone"
                continue
            mine, theirs = (pq.read_table(path).replace_schema_metadata() for path in both)
            if not mine.equals(theirs):
                yield f"{kind}/{file} differs"


def main() -> None:
    """Run, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--mirror", type=Path, default=ROOT.parent / "shared/mirror")
    running.add_argument("--workflow", type=Path, default=ROOT)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("folders", type=Path, nargs=2)
    given = parser.parse_args()
    if given.verb == "run":
        return run(given.folder.resolve(), given.mirror.resolve(), given.workflow.resolve())
    found = 0
    for preset in PARTS:
        one, two = (folder / preset / "results" for folder in given.folders)
        listed = list(differences(one, two))
        files = [path for path in one.rglob("*") if path.suffix in (*SUFFIXES, ".parquet")]
        if not files:
            sys.exit(f"{one} has no results: run that first.")
        print(f"{preset}: {len(listed)} of {len(files)} files differ")
        print("".join(f"  {line}\n" for line in listed), end="")
        found += len(listed)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
