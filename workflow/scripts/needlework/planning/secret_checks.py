"""Output that must not be asked for where it would hold keys."""

from __future__ import annotations

import os

from needlework.benchmarks.contract import Config
from needlework.errors import UserError
from needlework.planning.effective_config import key_variables


def check_verbose(config: Config, executor: str, verbose: bool) -> None:
    """Raise UserError where a run's debugging output would hold a key that is in the environment.

    Every job that the Slurm plugin starts writes its whole environment to its log at that level.
    """
    if executor != "slurm" or not verbose:
        return
    found = [name for name in key_variables(config) if os.environ.get(name, "").strip()]
    if found:
        raise UserError(
            f"--verbose would write {' and '.join(found)} into .snakemake/slurm_logs: the Slurm plugin logs "
            "each job's whole environment then. Run without it (`verbose` in a profile is the same), or "
            "unset what holds a key, where this run needs none."
        )
