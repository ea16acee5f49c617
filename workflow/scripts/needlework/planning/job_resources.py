"""The GPUs and cores that jobs ask for."""

from __future__ import annotations

from typing import Any

from needlework.models.engine_arguments import gpus

# Backends and kinds that run a neural network: on a GPU if there is one, unless `device` is the CPU.
_NEURAL = {"vllm", "transformers", "sentence-transformers", "nllb"}
# Backends that run one without an NVIDIA GPU, which is what Snakemake's resource `gpu` counts.
_ON_PROCESSORS = {"openvino"}
# CPU cores for a network without a GPU; more make it little faster. Snakemake lowers it to `--cores`.
CPU_THREADS = 16


def job_gpus(entry: Any) -> int:
    """How many GPUs the job of a model, an embedder or a translator asks for, by its block."""
    kind = _kind(entry)
    if kind == "vllm":
        return gpus(entry.engine)
    return int(kind in _NEURAL and entry.device != "cpu")


def job_threads(entry: Any) -> int:
    """How many CPU cores a job of this entry asks for: one if it runs no neural network.

    With GPUs, cores load the weights, tokenize texts, and feed each GPU.
    """
    if _kind(entry) not in _NEURAL | _ON_PROCESSORS:
        return 1
    own = job_gpus(entry)
    return 4 + 2 * own if own else CPU_THREADS


def _kind(entry: Any) -> str:
    return getattr(entry, "backend", None) or entry.kind
