"""Whether a run has the GPUs that its jobs take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.planning.job_resources import job_gpus

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def check_gpus(config: Configuration, models: Iterable[str], declared: int | None) -> None:
    """Raise UserError if the job of one of `models` takes more GPUs than this run declares.

    Snakemake would silently give such a job the declared number, and start other jobs beside it. `declared`
    is the limit of the resource `gpu`; None if there is no limit. Jobs that take one GPU if there is any are
    not checked: they run without it, or say themselves that they cannot.
    """
    for name in sorted(models):
        model = config.models[name]
        needed = job_gpus(model) if model.backend == "vllm" else 0
        if declared is None or needed <= max(declared, 1):
            continue
        sizes = {
            "tensor_parallel_size": model.engine.tensor_parallel_size,
            "pipeline_parallel_size": model.engine.pipeline_parallel_size,
        }
        arguments = [f"{key} {size}" for key, size in sizes.items() if size > 1]
        raise UserError(
            f"models.{name}.engine takes {needed} GPUs ({' times '.join(arguments)}), and this run "
            f"declares {declared} (the resource `gpu`): run with `--resources gpu={needed} downloads=4`, "
            f"or set `gpu: {needed}` under `resources` in the profile (profiles/default/config.yaml, unless "
            "you name another), where there are so many; or lower `tensor_parallel_size`."
        )
