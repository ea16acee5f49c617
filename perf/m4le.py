"""M4LE's construction from large sources, the scoring of 40,000 answers, and a dry run of the preset.

    python perf/m4le.py FOLDER ... [--only construct|score|rouge|plan] [--mb 100] [--processes 2]

Each folder has (pieces of) the source data sets in M4LE's layout; a later one is laid over an earlier.
What each task's reader gives is repeated, each copy with a number of its own, up to 100 MB of text; then
5 buckets of 200 rows are drawn and written. Then answers of up to 2,000 words are made, of every metric in
the share that the 39 tasks have, and scored by all metrics; ROUGE-L of long texts stands beside the released
packages' (`rouge`, `rouge-chinese`). Processor seconds stand beside those of the
clock: a machine that does other things too is slower by the clock alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow" / "scripts"))
from needlework.benchmarks.m4le import measures
from needlework.benchmarks.m4le.data.families import Recipe, construct
from needlework.benchmarks.m4le.data.origins import source_files
from needlework.benchmarks.m4le.data.rows import Record, rows_table
from needlework.benchmarks.m4le.data.sources import source_records
from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, TASKS, load_frames
from needlework.benchmarks.m4le.factors import COLUMNS
from needlework.benchmarks.m4le.scores import score
from needlework.records import GENERATIONS, instances_schema, read_table, write_table
from needlework.scoring.scores import ANSWER_COLUMNS, read_answers

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
    start = time.process_time()
    frame = load_frames(ROOT / "resources/m4le/frames.yaml")[task]
    files = [Path(file) for file in source_files(folder, TASKS[task])]
    records = list(repeated(list(source_records(TASKS[task], files)), megabytes))
    read = time.process_time()
    rows = construct(TASKS[task], frame, records, Recipe(PAPER_BUCKETS, ROWS, 0))
    table = rows_table(rows, task)
    with tempfile.TemporaryDirectory() as out:
        path = Path(out) / "rows.parquet"
        write_table(table, path)
        size = path.stat().st_size
    return {
        "records": len(records),
        "read_cpu_s": round(read - start, 2),
        "drawn_cpu_s": round(time.process_time() - read, 2),
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


def measure_construction(folders: list[str], megabytes: float, processes: int) -> dict[str, object]:
    """All tasks, `processes` at a time."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for part in folders:
            shutil.copytree(part, folder, dirs_exist_ok=True)
        # LCSTS' second part is given by application; the third has the same layout.
        posts = Path(folder) / "summarization/lcsts"
        if not (posts / "PART_II.txt").exists():
            shutil.copy(posts / "PART_III.txt", posts / "PART_II.txt")
        n = len(TASKS)
        with ProcessPoolExecutor(processes, max_tasks_per_child=1) as pool:
            made = pool.map(build, TASKS, [folder] * n, [megabytes] * n)
            tasks = dict(zip(TASKS, made, strict=True))
    cpu = sum(task["read_cpu_s"] + task["drawn_cpu_s"] for task in tasks.values())
    return {
        "megabytes_a_source": megabytes,
        "processes": processes,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_mib_of_a_process": max(task["peak_mib"] for task in tasks.values()),
        "tasks": tasks,
    }


def write_answers(folder: str) -> None:
    """Write instances and answers, as the workflow keeps them."""
    for name, table in zip(("instances", "generations"), answers(), strict=True):
        write_table(table, Path(folder) / f"{name}.parquet")


def score_answers(folder: str) -> dict[str, object]:
    """Score the files of a folder, reading and writing included."""
    with machine.measured() as took:
        instances = read_table(Path(folder) / "instances.parquet").combine_chunks()
        found = read_answers(Path(folder) / "generations.parquet", ANSWER_COLUMNS, instances)
        table = score(instances, found, model="m", settings={})
        write_table(table, Path(folder) / "scores.parquet")
    return {"answers": ANSWERS, "longest_in_words": LONGEST, "rows": table.num_rows, **took}


def measure_scoring() -> dict[str, object]:
    """All answers in one process, which does nothing else."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        pool.submit(write_answers, folder).result()
        return pool.submit(score_answers, folder).result()


def measure_rouge() -> dict[str, object]:
    """ROUGE-L recall of long texts, against the packages of the released scorer; equal values."""
    import jieba
    from rouge import Rouge
    from rouge_chinese import Rouge as RougeChinese

    rng = random.Random(3)
    words = [f"w{rng.randint(0, 400)}" for _ in range(8000)]
    english = [
        " ".join(word + ("." if place % 2000 == 1999 else "") for place, word in enumerate(own))
        for own in (words, rng.sample(words, len(words)))
    ]
    characters = rng.choices("我们今天在城市里看到新的天气很好大家都去公园经济发展技术教育", k=3000)
    chinese = ["".join(own) for own in (characters, rng.sample(characters, len(characters)))]
    measured: dict[str, object] = {}
    for name, ours, package, texts in (
        ("english_8000_words", measures.recall_en, Rouge(metrics=["rouge-l"]), english),
        ("chinese_3000_characters", measures.recall_zh, RougeChinese(metrics=["rouge-l"]), chinese),
    ):
        # jieba reads its dictionary once; values of whole texts are cached.
        ours(*(text[:50] for text in texts))
        start = time.process_time()
        value = ours(*texts)
        seconds = time.process_time() - start
        found: list[float] = []

        def theirs(package=package, texts=texts, name=name, found=found) -> None:
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(1_000_000)
            begin = time.process_time()
            cut = [" ".join(jieba.cut(x)) for x in texts] if name.startswith("ch") else texts
            found.append(package.get_scores(*cut)[0]["rouge-l"]["r"])
            found.append(time.process_time() - begin)
            sys.setrecursionlimit(limit)

        # The packages recurse once a word.
        before = threading.stack_size(512 << 20)
        thread = threading.Thread(target=theirs)
        thread.start()
        thread.join()
        threading.stack_size(before)
        if abs(found[0] - value) > 1e-9:
            sys.exit(f"{name}: {value} here, {found[0]} by the package")
        measured[name] = {
            "cpu_seconds": round(seconds, 4),
            "released_cpu_seconds": round(found[1], 2),
            "times_as_fast": round(found[1] / seconds),
        }
    return measured


def measure_planning() -> dict[str, object]:
    """`snakemake -n` of the preset."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "snakemake", "-n", "--directory", folder]
        preset = ["--configfile", "presets/m4le.yaml"]
        subprocess.run([*command, *preset], cwd=ROOT, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(time.perf_counter() - start, 1), "cpu_seconds": round(cpu, 1)}


def main() -> None:
    """Measure, and write perf/m4le.json; what is not measured stays in it as it was."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--only", choices=["construct", "score", "rouge", "plan"])
    parser.add_argument("--mb", type=float, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    args = parser.parse_args()
    if not args.folders and args.only in (None, "construct"):
        parser.error("construction needs a folder of source data sets")
    measured = json.loads(args.out.read_text("utf-8")) if args.out.exists() else {}
    measured["machine"] = machine.describe(["numpy", "pyarrow", "jieba", "sacrebleu", "snakemake"])
    parts = {
        "construct": lambda: measure_construction(args.folders, args.mb, args.processes),
        "score": measure_scoring,
        "rouge": measure_rouge,
        "plan": measure_planning,
    }
    for name in [args.only] if args.only else parts:
        measured[name] = parts[name]()
        print(name, json.dumps({k: v for k, v in measured[name].items() if k != "tasks"}))
    measured["limits"] = {
        **{"construct_seconds": 600, "construct_mib": 4096},
        **{"score_seconds": 60, "rouge_times_as_fast": 20, "plan_seconds": 10},
    }
    args.out.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
