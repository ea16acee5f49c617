"""Runs Python files in processes forked from one that has imported vLLM: see jobs.py.

To import vLLM takes seconds, and a job of vLLM has three processes. Each line of standard input is JSON: a
file or a module to run, its arguments, and the file for all that it says. For each, two lines are written:
the process's id, and its exit status once it has ended.
"""

import gc
import json
import multiprocessing
import os
import runpy
import sys
import threading
from importlib import import_module
from typing import Any

MODULES = (
    *("pyarrow.parquet", "vllm.v1.engine.core", "vllm.v1.executor.multiproc_executor"),
    *("vllm.v1.worker.cpu_worker", "vllm.v1.attention.backends.cpu_attn", "vllm.lora.request"),
    *("vllm.model_executor.models.llama", "vllm.entrypoints.openai.api_server"),
    *("transformers.models.llama.modeling_llama", "vllm.tokenizers.hf"),
)


def forking(method: str | None = None) -> Any:
    """The context of processes: for vLLM's engine and its workers too, which it starts anew on a CPU."""
    return contexts("fork" if method == "spawn" else method)


def run(asked: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    for stream, place in ((0, os.devnull), (1, asked["terminal"]), (2, asked["terminal"])):
        os.dup2(os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND), stream)
    os.setsid()
    os.environ.update(asked["environment"])
    sys.argv[:] = [asked["run"], *asked["arguments"]]
    if asked["is_module"]:
        runpy.run_module(asked["run"], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(asked["run"], run_name="__main__")


for module in MODULES:
    import_module(module)
contexts, multiprocessing.get_context = multiprocessing.get_context, forking
gc.freeze()
# A fork has only the thread that forks.
assert threading.active_count() == 1
asked = None
for line in sys.stdin:
    child = os.fork()
    if not child:
        asked = json.loads(line)
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
if asked is not None:
    run(asked)
