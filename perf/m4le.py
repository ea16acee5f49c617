"""M4LE's construction from large sources, and the scoring of 40,000 answers.

    python perf/m4le.py construct FOLDER [--mb 100] [--processes 2]
    python perf/m4le.py score

The first needs a folder with (pieces of) the source data sets in M4LE's layout. What each task's reader
gives is repeated, each copy with a number of its own, up to 100 MB of text; then 5 buckets of 200 rows
are drawn and written. The second makes answers of up to 2,000 words, of every metric in the share that
the 39 tasks have, and scores them by all metrics.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow" / "scripts"))
from needlework.benchmarks.m4le.factors import COLUMNS
from needlework.benchmarks.m4le.scoring import score
from needlework.data.corpora.m4le_data.drawing import Recipe
from needlework.data.corpora.m4le_data.families import construct
from needlework.data.corpora.m4le_data.frames import load_frames
from needlework.data.corpora.m4le_data.origins import source_files
from needlework.data.corpora.m4le_data.records import Record
from needlework.data.corpora.m4le_data.rows import rows_table
from needlework.data.corpora.m4le_data.sources import source_records
from needlework.data.corpora.m4le_data.tasks import PAPER_BUCKETS, TASKS
from needlework.records import GENERATIONS, instances_schema, write_table

ROOT = Path(__file__).parents[1]
ROWS = 200
ANSWERS, LONGEST = 40_000, 2000


def repeated(records: list[Record], megabytes: float) -> Iterator[Record]:
    """The records again and again, up to so much text; each copy is numbered at its end."""
    held, copy = 0, 0
    while held < megabytes * 1e6 and records:
        for record in records:
            mark = f" {copy}" if copy else ""
            record = record._replace(text=record.text + mark, title=record.title + mark)
            held += sum(len(t.encode()) for t in (record.text, *(p.text for p in record.parts)))
            yield record
        copy += 1


def build(task: str, folder: str, megabytes: float) -> dict[str, object]:
    """Draws a task's rows and writes them."""
    start = time.perf_counter()
    frame = load_frames(ROOT / "resources/m4le/frames.yaml")[task]
    files = [Path(file) for file in source_files(folder, task)]
    records = list(repeated(list(source_records(TASKS[task], files)), megabytes))
    read = time.perf_counter()
    rows = construct(TASKS[task], frame, records, Recipe(PAPER_BUCKETS, ROWS, 0))
    table = rows_table(rows, task)
    with tempfile.TemporaryDirectory() as out:
        path = Path(out) / "rows.parquet"
        write_table(table, path)
        size = path.stat().st_size
    return {
        "records": len(records),
        "read_s": round(read - start, 2),
        "drawn_s": round(time.perf_counter() - read, 2),
        "rows": table.num_rows,
        "megabytes": round(size / 1e6, 1),
        "peak_mib": machine.peak_memory_mib(),
    }


def answers() -> tuple[pa.Table, pa.Table]:
    """Instances and answers: half of the words of an answer are its reference's."""
    rng = random.Random(1)
    english = [f"word{rng.randint(0, 3000)}{rng.choice([*[''] * 19, '.'])}" for _ in range(20_000)]
    chinese = list("我们今天在城市里看到新的天气很好大家都去公园经济发展技术教育。，")
    names = list(TASKS)
    rows, found = [], []
    for number in range(ANSWERS):
        task = TASKS[names[number % len(names)]]
        zh = task.answer_lang == "zh"
        space, pool = ("", chinese) if zh else (" ", english)
        gold = rng.choices(pool, k=rng.randint(10, 200))
        size = rng.randint(1, LONGEST)
        text = rng.choices(pool, k=size) + rng.sample(gold, len(gold) // 2)
        rows.append(
            {
                "instance_id": str(number),
                "task": task.name,
                "example_id": str(number),
                "references": [space.join(gold)],
                "accepted": [space.join(gold)],
                "ability": task.ability,
                "task_type": task.task_type,
                "lang": task.lang,
                "domain": task.domain,
                "length": 1000,
                "source": "released",
            }
        )
        answer = {"instance_id": str(number), "sample": 0, "text": space.join(text)}
        found.append({**answer, "finish_reason": "stop"})
    instances = pa.Table.from_pylist(
        rows, schema=instances_schema({**COLUMNS, "accepted": "strings"})
    )
    return instances.drop_columns("prompt"), pa.Table.from_pylist(found, schema=GENERATIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["construct", "score"])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--mb", type=float, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    args = parser.parse_args()
    measured = json.loads(args.out.read_text("utf-8")) if args.out.exists() else {}
    measured["machine"] = machine.describe(["numpy", "pyarrow", "jieba", "sacrebleu"])
    start = time.perf_counter()
    if args.what == "construct":
        n = len(TASKS)
        with ProcessPoolExecutor(args.processes, max_tasks_per_child=1) as pool:
            made = pool.map(build, TASKS, [args.folder] * n, [args.mb] * n)
            tasks = dict(zip(TASKS, made, strict=True))
        measured["construct"] = {
            "megabytes_a_source": args.mb,
            "processes": args.processes,
            "seconds": round(time.perf_counter() - start, 1),
            "peak_mib_of_a_process": max(task["peak_mib"] for task in tasks.values()),
            "tasks": tasks,
        }
    else:
        instances, found = answers()
        start = time.perf_counter()
        table = score(instances, found, model="m", settings={})
        measured["score"] = {
            "answers": ANSWERS,
            "longest_in_words": LONGEST,
            "rows": table.num_rows,
            "seconds": round(time.perf_counter() - start, 1),
            "peak_mib": machine.peak_memory_mib(),
        }
    args.out.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in measured[args.what].items() if k != "tasks"}))


if __name__ == "__main__":
    main()
