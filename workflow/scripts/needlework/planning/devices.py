"""How many GPUs and CPU cores a job takes, by what runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.models.engine_arguments import gpus

# What runs a neural network here: on a GPU where there is one, unless its `device` is the CPU.
_NEURAL = {"vllm", "transformers", "sentence-transformers", "nllb"}
# What runs one on processors, whatever its `device`: Snakemake's GPUs are NVIDIA's.
_ON_PROCESSORS = {"openvino"}
# CPU cores of a network without a GPU; more help a CPU little. Snakemake lowers it to `--cores`.
CPU_THREADS = 16


def job_gpus(entry: Mapping[str, Any]) -> int:
    """How many GPUs the job of a model, an embedder or a translator asks for; `entry` is its block."""
    kind = entry.get("backend") or entry["kind"]
    if kind == "vllm":
        return gpus(entry["engine"])
    return int(kind in _NEURAL and entry["device"] != "cpu")


def job_threads(entry: Mapping[str, Any]) -> int:
    """How many CPU cores it asks for: one where nothing is computed but requests and words.

    Beside GPUs, cores load the weights, cut texts into tokens, and feed each GPU.
    """
    kind = entry.get("backend") or entry["kind"]
    if kind not in _NEURAL | _ON_PROCESSORS:
        return 1
    own = job_gpus(entry)
    return 4 + 2 * own if own else CPU_THREADS
