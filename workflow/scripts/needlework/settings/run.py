"""The models and benchmarks of a run, and how many questions it asks."""

from __future__ import annotations

from needlework.settings.base import (
    Distinct,
    DistinctSome,
    Settings,
    Several,
    Text,
    key,
)
from needlework.settings.registered import BenchmarkName


class Checkup(Settings):
    """A served model that the doctor checks."""

    model: Text
    """The model, by its name in `run.models`."""
    against: Text | None = key(absent=True)
    """Another serving of the same model, by its name in `run.models`. The doctor then also compares
    their answers. Both are asked the same prompts."""
    fail_if_worse_by: float | None = key(absent=True, gt=0, le=1)
    """The largest loss of scores against the other model that is no fault (0.02 is two points). Answers
    may then differ. It is a fault if the whole interval of a cell's difference is below minus this share.
    If no cell could have shown such a loss, the doctor cannot tell."""


class Run(Settings):
    """The models and benchmarks of this run."""

    models: DistinctSome[Text]
    """The models to evaluate, by their names under `models`."""
    benchmarks: DistinctSome[BenchmarkName]
    """The benchmarks to run, by their names under `benchmarks`."""
    tokenizers: Distinct[Text] = key(())
    """Further tokenizers, by their names under `tokenizers`. Prompts are built and counted in them
    too, even if no model of this run uses them."""
    doctor: Several[Checkup] = key(())
    """The models that `snakemake doctor` checks, alone or against another serving of the same model.
    See docs/doctor.md."""
    seed: int = key(0, ge=-9223372036854775807, le=9223372036854775807)
    """The seed of every draw of this run: of questions, documents, names and numbers, of the passages
    of mMARCO and Wikipedia, and of the doctor's questions. A model's samples have a seed of their own
    (`sampling.seed`)."""
    notice: Text = key("")
    """A sentence on top of the page of results, for a run that another run continues."""
    limit: int | None = key(None, ge=1, le=1_000_000)
    """The most questions per cell of every benchmark, as `--limit` of lm-eval and inspect_ai. Null asks
    all."""
