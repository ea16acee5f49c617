"""The choices of a configuration: models, benchmarks, and the prompts that each model gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.contract import block_of
from needlework.models.selection import only_of
from needlework.planning.affects import affecting

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration
    from needlework.scoring.metric import Metric


def models_of(config: Configuration) -> Iterator[tuple[str, AnyModel]]:
    """The models of a run, by name."""
    for name in config.run.models:
        yield name, config.models[name]


def benchmarks_of(config: Configuration) -> Iterator[tuple[str, Any]]:
    """The benchmarks of a run, with their blocks."""
    for name in config.run.benchmarks:
        yield name, block_of(config, name)


def known_lengths(config: Configuration, benchmark: str) -> tuple[int, ...] | None:
    """The prompt lengths of a benchmark; None if it has none."""
    return getattr(config.benchmarks[benchmark], "lengths", None)


def metric_of(config: Configuration, benchmark: str) -> str | None:
    """The metric of a benchmark's tables and figures; None if it has only one."""
    return getattr(config.benchmarks[benchmark], "metric", None)


def metrics_of(config: Configuration, benchmark: str) -> list[Metric]:
    """The metrics by which this run scores a benchmark's answers.

    If the key `metric` affects scores, only the metric that it names is used, not the others it could name.
    """
    own, chosen = load_benchmark(benchmark).scoring.metrics, metric_of(config, benchmark)
    settings = affecting(f"benchmarks.{benchmark}", block_of(config, benchmark), "scores")
    only_chosen = "metric" in settings
    return [
        metric
        for name, metric in own.items()
        if name == chosen or metric.beside or not metric.choice or not only_chosen
    ]


def asked_of(config: Configuration, model: str, benchmark: str) -> dict[str, list[object]]:
    """The part of a benchmark's prompts that a model is asked (its `only`); empty if it is asked all."""
    return only_of(config.models[model], benchmark)


def lengths_of(config: Configuration, model: str, benchmark: str) -> list[int]:
    """The prompt lengths that a model gets of a benchmark: its `lengths`, limited to those in `only`."""
    own = config.models[model].lengths
    if isinstance(own, Mapping):
        own = own.get(benchmark)
    lengths = (known_lengths(config, benchmark) or ()) if own is None else own
    wanted = asked_of(config, model, benchmark).get("length", lengths)
    return sorted(length for length in lengths if length in wanted)
