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


class AuditPair(Settings):
    """A model without and with a setting."""

    base: Text
    """The model as it was, by its name in `run.models`."""
    changed: Text
    """The model with the setting."""
    fail_if_worse_by: float | None = key(absent=True, gt=0, le=1)
    """The audit fails if a cell shows a loss larger than this share (0.02 is two points), that is, if
    the whole interval of its difference is below minus this share. If no cell could have shown such a
    loss, the audit does not pass."""


class Run(Settings):
    """The models and benchmarks of this run."""

    models: DistinctSome[Text]
    """The models to evaluate, by their names under `models`."""
    benchmarks: DistinctSome[BenchmarkName]
    """The benchmarks to run, by their names under `benchmarks`."""
    tokenizers: Distinct[Text] = key(())
    """Further tokenizers, by their names under `tokenizers`. Prompts are built and counted in them
    too, even if no model of this run uses them."""
    audits: Several[AuditPair] = key(())
    """Pairs of models for `snakemake audit`: the same weights without (`base`) and with a setting
    (`changed`). See docs/auditing-a-setting.md."""
    seed: int = key(0, ge=-9223372036854775807, le=9223372036854775807)
    """The seed of every draw of this run: of questions, documents, names and numbers, of the passages
    of mMARCO and Wikipedia, and of an audit's questions. A model's samples have a seed of their own
    (`sampling.seed`)."""
    notice: Text = key("")
    """A sentence on top of the page of results, for a run that another run continues."""
    limit: int | None = key(None, ge=1, le=1_000_000)
    """The most questions per cell of every benchmark, as `--limit` of lm-eval and inspect_ai. Null asks
    all."""
